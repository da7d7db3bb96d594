"""Measure the short study on Linux and a part of the long one, 38,628 runs: `make bench`.

The runs are those of *Twenty years later* as it first was: each path of hurtig-2006/linux-short once, and
nine of the paths of hurtig-2006/linux-long once. They run in guests on all cores and, as a measure of the
machine, on the model, which leaves the settings of the kernel out. Nothing is stored. Time is the whole call:
guests boot within it, and tables come out of it. Processor time is of this process and of all guests, so that
other work on the machine moves it less. Everything is also written to `build/bench/linux_studies.json`.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from dataclasses import asdict, dataclass

import rexmit
from bench import OUT, machine
from rexmit.kernel import KernelError, find_kernel

NINE = {
    "path.rate": ["160 kbit/s", "1000 kbit/s", "10000 kbit/s"],
    "path.delay": ["5 ms", "40 ms", "300 ms"],
}
"""The paths of the long study: a slow, a middle and a fast one, near, farther and far."""


@dataclass(frozen=True)
class Took:
    """How long so many runs took: seconds by the clock, and of processors."""

    runs: int
    seconds: float
    processor_seconds: float


def studies() -> list[rexmit.Study]:
    """What is run: 27,720 and 10,908 runs."""
    short, long = (rexmit.Study.load(f"hurtig-2006/linux-{name}") for name in ("short", "long"))
    for key, levels in NINE.items():
        long = long.set(key, levels)
    return [study.set("design.replications", 1) for study in (short, long)]


def measure(backend: str) -> Took:
    """All of it on this backend."""
    runs, began, used = 0, time.monotonic(), processor_seconds()
    for study in studies():
        runs += len(study.run(backend=backend, progress=False, allow_unsupported=True))
    return Took(runs, time.monotonic() - began, processor_seconds() - used)


def processor_seconds() -> float:
    """Of this process and of those that it started and that have ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


def main() -> int:
    """Measure and print; 1 where no kernel is built."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=3, help="rounds; that of least processor time counts")
    rounds = options.parse_args().rounds
    try:
        kernel = find_kernel()
    except KernelError as error:
        print(f"kernel with a virtual clock: not measured: {error}")
        return 1
    print(f"\nstudies on Linux {kernel.version}, HZ {kernel.hz}, on all cores, {machine()}")
    found: dict[str, list[Took]] = {"uml": [], "model": []}
    for _ in range(rounds):
        for backend, took in found.items():
            took.append(measure(backend))
    for backend, took in found.items():
        best = min(took, key=lambda one: one.processor_seconds)
        each = 1e6 * best.processor_seconds / best.runs
        asked = ", 20 s asked for" if backend == "uml" else ""
        print(
            f"{best.runs:,} runs on {backend}: {best.seconds:.1f} s{asked}; of processors "
            f"{best.processor_seconds:.1f} s, {each:.0f} us a run"
        )
    OUT.mkdir(parents=True, exist_ok=True)
    told = {backend: [asdict(one) for one in took] for backend, took in found.items()}
    (OUT / "linux_studies.json").write_text(json.dumps({"kernel": kernel.version, **told}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
