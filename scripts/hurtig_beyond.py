"""Writes the pages on what chapter 5 of hurtig-2006 proposes: SCTP, the send buffer, the duplicate threshold.

Runs each on the model (SCTP also on usrsctp), some 10 seconds together, and puts the table and the figure of
each into its page. With names, only those: `scripts/hurtig_beyond.py sctp`.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rexmit.analyse.study_code import study_module

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "studies"
IMAGES = ROOT / "docs" / "img"
BEYOND = study_module("hurtig-2006", "beyond")


def main() -> None:
    """Run, draw, write."""
    makers = {"sctp": sctp, "buffers": buffers, "thresholds": thresholds}
    for name in sys.argv[1:] or makers:
        if name not in makers:
            raise SystemExit(f"{name}: no page of this; there are {', '.join(makers)}")
        makers[name]()
        print(f"hurtig-2006: {name}")


def sctp() -> None:
    """Section 5.2."""
    runs = {name: BEYOND.sctp_runs(name) for name in BEYOND.SCTP}
    BEYOND.draw_sctp(runs, IMAGES)
    _write("hurtig-sctp.md", "sctp", BEYOND.sctp_table(runs))


def buffers() -> None:
    """Section 5.7."""
    runs = {size: BEYOND.buffer_runs(size) for size in BEYOND.BUFFERS}
    BEYOND.draw_buffers(runs, IMAGES)
    _write("hurtig-send-buffer.md", "buffers", BEYOND.buffer_table(runs))


def thresholds() -> None:
    """Section 5.8."""
    runs = {threshold: BEYOND.threshold_runs(threshold) for threshold in BEYOND.THRESHOLDS}
    BEYOND.draw_thresholds(runs, IMAGES)
    _write("hurtig-threshold.md", "thresholds", BEYOND.threshold_table(runs))


def _write(page: str, name: str, text: str) -> None:
    path = PAGES / page
    before, _, rest = path.read_text().partition(f"<!-- {name} -->\n")
    _, _, after = rest.partition(f"<!-- /{name} -->")
    path.write_text(f"{before}<!-- {name} -->\n{text}<!-- /{name} -->{after}")


if __name__ == "__main__":
    main()
