"""The published studies on the model, from nothing to figures: `make studies`.

Runs every file of each study that needs no real kernel into `results/studies`, sets the published numbers
beside ours and draws the figures. Goes on with `--resume` after an interruption. Ends with 1 where a number
lies outside its tolerance, or a row came out differently from what its study says.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
    "appenzeller-2004": ("table", "hosts", "least", "one", "few", "short", "completion"),
    "hurtig-2006": ("short", "long", "earlier"),
    "klaver-2005": (
        *("controlled", "acks", "cycles", "enschede", "window", "conditions", "random", "shared", "absent"),
    ),
    "merritt-2010": ("two-way", "in-order"),
    "deboer-2005": (
        *("buffers", "sack", "newreno", "dummynet", "acks", "queue", "reassembly"),
        *("order", "queue-order", "connections", "writes", "again", "base"),
    ),
    "who-shares": ("pairs",),
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
    # Figures and comparisons of what has been run need one core, while what comes next is run.
    with ThreadPoolExecutor(1) as beside:
        drawn, found = [], {}
        for study, parts in STUDIES.items():
            for part in parts:
                folder = str(OUT / study / part)
                command("run", f"{study}/{part}", "--out", folder, *([] if fresh else ["--resume"]))
                drawn.append(beside.submit(plot, folder))
            folders = [str(OUT / study / part) for part in parts if f"{study}/{part}" in compared]
            found[study] = beside.submit(compare, folders)
        for one in drawn:
            one.result()
        for study, comparison in found.items():
            if not comparison.result().passed:
                outside.append(study)
            changed += otherwise(study, comparison.result())
    print(f"\nmake studies: done in {time.monotonic() - started:.0f} s, results in {OUT}")
    for study in outside:
        print(f"  {study}: some numbers lie outside their tolerance")
    for line in changed:
        print(f"  {line}")
    return 1 if outside or changed else 0


def plot(folder: str) -> None:
    """Draws the figures of a folder, and says all of it at once, since other commands speak meanwhile."""
    done = subprocess.run(
        [sys.executable, "-m", "rexmit", "plot", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    print(f"\n$ rexmit plot {folder}\n{done.stdout}{done.stderr}", end="", flush=True)
    if done.returncode:
        raise SystemExit(done.returncode)


def compare(folders: Sequence[str]) -> Comparison:
    """Sets the published numbers beside those of a study's folders, and prints the table."""
    results = [rexmit.open_results(ROOT / folder) for folder in folders]
    comparison = comparison_of(results[0])(results)
    print(f"\n$ rexmit compare {' '.join(folders)}", flush=True)
    print_comparison(comparison)
    return comparison


def otherwise(study: str, comparison: Comparison) -> list[str]:
    """The rows that came out differently from the study's `verdicts.csv`, a line each."""
    stored = read_verdicts(ROOT / "studies" / study)
    found = verdicts_of(comparison)
    return [
        f"{study}: {tag} is {found[tag]!r}, and {stored[tag]!r} in verdicts.csv"
        for tag in stored
        if found[tag] != stored[tag]
    ]


if __name__ == "__main__":
    sys.exit(main())
