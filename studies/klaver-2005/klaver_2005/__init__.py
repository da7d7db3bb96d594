"""The published numbers of klaver-2005 beside those of a run: called by `rexmit compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit import Results
from rexmit.analyse import Check, Comparison, Published, load_published

from .checks import CHECKS, point
from .evidence import Evidence, Uncovered

PUBLISHED = Path(__file__).parent.parent / "published.csv"


def compare(results: Sequence[Results]) -> Comparison:
    """Checks every row of published.csv that these parts of the study cover."""
    evidence = Evidence(results)
    return Comparison("klaver-2005", [_check(published, evidence) for published in load_published(PUBLISHED)])


def _check(published: Published, evidence: Evidence) -> Check:
    check = CHECKS.get(published.id, point)
    try:
        return check(published, evidence)
    except Uncovered as gap:
        return Check.not_covered(published, str(gap))
