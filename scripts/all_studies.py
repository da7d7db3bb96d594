"""The five published studies on the model, from nothing to figures: `make studies`.

Runs every file of each study that needs no real kernel into `results/studies`, sets the published numbers
beside ours and draws the figures. Goes on with `--resume` after an interruption. Ends with 1 where a number
lies outside its tolerance, or a row came out otherwise than its study says.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import rexmit
from demo import ROOT
from demo import rexmit as command
from rexmit.analyse import Comparison
from rexmit.analyse.study_code import comparison_of
from rexmit.analyse.verdicts import read_verdicts, verdicts_of
from rexmit.cli.compare import print_comparison

OUT = Path("results") / "studies"
STUDIES = {
    "hurtig-2006": ("short", "long", "earlier"),
    "klaver-2005": (
        *("controlled", "acks", "cycles", "enschede", "window", "conditions", "random", "shared", "absent"),
    ),
    "merritt-2010": ("two-way", "in-order"),
    "deboer-2005": (
        *("buffers", "sack", "newreno", "dummynet", "acks", "queue", "reassembly"),
        *("order", "queue-order", "connections", "writes", "again", "base"),
    ),
    "pedersen-2006": (
        *("thin", "thick", "tcp-thin", "tcp-thick", "enhancements", "burst", "restart", "rto", "switches"),
        *("switches-today", "today", "tcp-thin-reno", "tcp-thick-reno", "figure-4-03", "figure-5-01"),
        *("window", "clocks"),
    ),
}


def main() -> int:
    """Run, compare, draw; stops at the first command that fails."""
    started = time.monotonic()
    fresh = "--resume" not in sys.argv[1:]
    if fresh:
        # The folder is this command's own.
        shutil.rmtree(ROOT / OUT, ignore_errors=True)
    outside: list[str] = []
    changed: list[str] = []
    # The others are today's beside the published ones.
    compared = {
        entry.name for entry in rexmit.list_studies() if entry.source.startswith(entry.path.parent.name)
    }
    for study, parts in STUDIES.items():
        for part in parts:
            folder = str(OUT / study / part)
            command("run", f"{study}/{part}", "--out", folder, *([] if fresh else ["--resume"]))
            command("plot", folder)
        folders = [str(OUT / study / part) for part in parts if f"{study}/{part}" in compared]
        print(f"\n$ rexmit compare {' '.join(folders)}", flush=True)
        results = [rexmit.open_results(ROOT / folder) for folder in folders]
        comparison = comparison_of(results[0])(results)
        print_comparison(comparison)
        if not comparison.passed:
            outside.append(study)
        changed += otherwise(study, comparison)
    print(f"\nmake studies: done in {time.monotonic() - started:.0f} s, results in {OUT}")
    for study in outside:
        print(f"  {study}: some numbers lie outside their tolerance")
    for line in changed:
        print(f"  {line}")
    return 1 if outside or changed else 0


def otherwise(study: str, comparison: Comparison) -> list[str]:
    """The rows that came out otherwise than `verdicts.csv` of the study has it, a line each."""
    stored = read_verdicts(ROOT / "studies" / study)
    found = verdicts_of(comparison)
    return [
        f"{study}: {tag} is {found[tag]!r}, and {stored[tag]!r} in verdicts.csv"
        for tag in stored
        if found[tag] != stored[tag]
    ]


if __name__ == "__main__":
    sys.exit(main())
