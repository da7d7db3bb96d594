"""Measure runs a second on the kernel with a virtual clock: `make bench`.

The flow is that of hurtig-2006: 20 packets from the server, one of them lost, over 1 Mbit/s and 10 ms.
One guest, and one for each core; booting is measured alone and left out of the rate. Everything is also
written to `build/bench/kernels.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time

import rexmit
from bench import OUT, machine
from rexmit.kernel import KernelError, check_boot, find_kernel

TARGET = 30
"""Runs a second that were asked for, on two cores."""


def study(runs: int) -> rexmit.Study:
    """The flow, `runs` times."""
    scenario = {
        "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
        "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets", "down": {"drop": 18}},
        "transfers": [{"from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes"}],
    }
    return rexmit.Study.from_dict({"scenario": scenario, "design": {"replications": runs}}, "flow")


def rate(runs: int, jobs: int, boot: float) -> float:
    """Runs a second with `jobs` guests, the first boot of each left out."""
    began = time.monotonic()
    results = study(runs).run(backend="uml", jobs=jobs, progress=False)
    seconds = time.monotonic() - began
    assert results.table()["completed"].all()
    return runs / max(seconds - boot, 0.001)


def main() -> int:
    """Measure and print; 1 where no kernel is built."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=400, help="runs of a round")
    options.add_argument("--rounds", type=int, default=5, help="rounds; the median counts")
    chosen = options.parse_args()
    try:
        kernel = find_kernel()
    except KernelError as error:
        print(f"kernel with a virtual clock: not measured: {error}")
        return 1
    boot = statistics.median(check_boot(kernel).seconds for _ in range(chosen.rounds))
    print(f"\nreal kernels, {machine()}")
    print(f"Linux {kernel.version}, HZ {kernel.hz}, in virtual time; boot {boot:.2f} s")
    measured: dict[int, list[float]] = {}
    for jobs in sorted({1, os.cpu_count() or 1}):
        rates = [rate(chosen.runs, jobs, boot) for _ in range(chosen.rounds)]
        median = statistics.median(rates)
        spread = f"{min(rates):.0f} to {max(rates):.0f}"
        print(
            f"{jobs} guest(s): {median:.0f} runs/s ({spread}), {median / TARGET:.1f} x the {TARGET} asked for"
        )
        measured[jobs] = rates
    OUT.mkdir(parents=True, exist_ok=True)
    found = {"kernel": kernel.version, "hz": kernel.hz, "boot_s": boot, "runs_per_s": measured}
    (OUT / "kernels.json").write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
