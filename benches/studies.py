"""Time the published studies on the model, whole: `make bench`.

Each study is run as a user runs it (`rexmit run`, `rexmit compare`, on every core) in processes of its own.
A comparison that measures captures repeats the runs, and its time counts. Packets are those that the paths
took. Everything is also written to `build/bench/studies.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import rexmit
from bench import OUT, machine


@dataclass(frozen=True)
class Asked:
    """A study, its files, and the seconds that its issue allows on two cores."""

    name: str
    files: tuple[str, ...]
    seconds: float
    compared: bool = True


STUDIES = [
    Asked(
        "klaver-2005",
        ("klaver-2005/controlled", "klaver-2005/acks", "klaver-2005/cycles", "klaver-2005/enschede"),
        20,
    ),
    Asked("merritt-2010", ("merritt-2010/two-way",), 20),
    Asked(
        "pedersen-2006",
        (
            "pedersen-2006/thin",
            "pedersen-2006/thick",
            "pedersen-2006/tcp-thin",
            "pedersen-2006/tcp-thick",
            "pedersen-2006/enhancements",
            "pedersen-2006/burst",
        ),
        60,
    ),
    Asked("deboer-2005", ("deboer-2005/buffers", "deboer-2005/sack", "deboer-2005/newreno"), 600),
]


def rexmit_command(*arguments: str) -> float:
    """Seconds that a command took; 1 is what `compare` answers where something is outside its tolerance."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    began = time.monotonic()
    done = subprocess.run(
        ["rexmit", *arguments], env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"rexmit {' '.join(arguments)}: {done.stderr.strip()}")
    return time.monotonic() - began


def measure(asked: Asked, work: Path) -> dict[str, float]:
    """Seconds of running and of comparing, runs, and packets."""
    folders = [str(work / name.replace("/", "-")) for name in asked.files]
    run = sum(
        rexmit_command("run", name, "--out", folder)
        for name, folder in zip(asked.files, folders, strict=True)
    )
    compare = rexmit_command("compare", *folders) if asked.compared else 0.0
    tables = [rexmit.open_results(folder).table() for folder in folders]
    directions = ("packets_down", "packets_up")
    packets = sum(int(table[name].sum()) for table in tables for name in directions)
    return {
        "run_s": run,
        "compare_s": compare,
        "runs": sum(table.height for table in tables),
        "packets": packets,
    }


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", choices=[asked.name for asked in STUDIES], help="one study alone")
    chosen = options.parse_args()
    print(f"\npublished studies on the model, {machine()}")
    found = {}
    for asked in STUDIES:
        if chosen.only not in (None, asked.name):
            continue
        with tempfile.TemporaryDirectory() as work:
            told = measure(asked, Path(work))
        whole, millions = told["run_s"] + told["compare_s"], told["packets"] / 1e6
        verdict = "as asked" if whole <= asked.seconds else "MISSED"
        print(
            f"{asked.name}: {told['runs']:.0f} runs in {told['run_s']:.1f} s, {millions:.1f} million packets,"
            f" {millions / told['run_s']:.2f} million/s; compared in {told['compare_s']:.1f} s;"
            f" {whole / asked.seconds:.2f} of the {asked.seconds:.0f} s asked for: {verdict}"
        )
        found[asked.name] = told | {"asked_s": asked.seconds}
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "studies.json").write_text(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
