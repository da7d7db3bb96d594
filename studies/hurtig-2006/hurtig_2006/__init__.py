"""The published numbers of hurtig-2006 beside those of a run: called by `rexmit compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit import Results
from rexmit.analyse import Check, Comparison, Published, load_published

from .flows import Evidence, Uncovered
from .numbers import NUMBERS
from .packets import PACKETS
from .statements import STATEMENTS

PUBLISHED = Path(__file__).parent.parent / "published.csv"


def compare(results: Sequence[Results]) -> Comparison:
    """Checks every row of published.csv that these results (short flows, long flows or both) cover."""
    evidence = Evidence(results)
    return Comparison("hurtig-2006", [_check(published, evidence) for published in load_published(PUBLISHED)])


def _check(published: Published, evidence: Evidence) -> Check:
    check = (NUMBERS | STATEMENTS | PACKETS)[published.id]
    try:
        return check(published, evidence)
    except Uncovered as gap:
        return Check.not_covered(published, str(gap))
