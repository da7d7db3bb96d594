"""Wrong systems through the comparison of each published study: `make power`.

Writes `power.csv` beside `published.csv` of each study and what it says into the study's README, between
`<!-- power -->` and `<!-- /power -->`. With names, only those studies: `scripts/power.py klaver-2005`.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from rexmit import Study
from rexmit.analyse.power import POWER, STUDIES, Power, measure, power_of

ROOT = Path(__file__).resolve().parent.parent
MARKS = ("<!-- power -->\n", "<!-- /power -->")


def main() -> int:
    """Measure, print and write."""
    began = time.monotonic()
    for study in sys.argv[1:] or STUDIES:
        power = run(study)
        folder = ROOT / "studies" / study
        (folder / POWER).write_text(power.csv())
        page = folder / "README.md"
        page.write_text(between(page.read_text(), power.page()))
    print(f"make power: done in {time.monotonic() - began:.0f} s")
    return 0


def run(study: str) -> Power:
    """The power of a study's comparison, reported as it is measured."""
    comparisons = []
    started = time.monotonic()
    for system, comparison in measure(study, Study.load):
        what = "the right system" if system is None else system.what
        counts = ", ".join(f"{n} {verdict}" for verdict, n in sorted(comparison.counts().items()))
        print(f"{study}: {what}: {counts} ({time.monotonic() - started:.0f} s)", flush=True)
        comparisons.append((system, comparison))
        started = time.monotonic()
    power = power_of(study, comparisons)
    print(f"{study}: {power.text()}")
    return power


def between(page: str, text: str) -> str:
    """The page with this text between its marks."""
    before, found, rest = page.partition(MARKS[0])
    _, ended, after = rest.partition(MARKS[1])
    if not found or not ended:
        raise SystemExit(f"the page has no {MARKS[0].strip()} ... {MARKS[1]}")
    return f"{before}{found}{text}{ended}{after}"


if __name__ == "__main__":
    sys.exit(main())
