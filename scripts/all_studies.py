"""The five published studies on the model, from nothing to figures: `make studies`.

Runs every file of each study that needs no real kernel into `results/studies`, sets the published numbers
beside ours and draws the figures. Goes on with `--resume` after an interruption. Ends with 1 where a number
lies outside its tolerance.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

from demo import ROOT, rexmit

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
    outside = []
    for study, parts in STUDIES.items():
        folders = [str(OUT / study / part) for part in parts]
        for part, folder in zip(parts, folders, strict=True):
            rexmit("run", f"{study}/{part}", "--out", folder, *([] if fresh else ["--resume"]))
            rexmit("plot", folder)
        if rexmit("compare", *folders, allowed=(0, 1)):
            outside.append(study)
    print(f"\nmake studies: done in {time.monotonic() - started:.0f} s, results in {OUT}")
    for study in outside:
        print(f"  {study}: some numbers lie outside their tolerance")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
