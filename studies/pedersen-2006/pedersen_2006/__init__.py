"""The published numbers of pedersen-2006 beside those of a run: called by `rexmit compare`.

The thesis ran everything once. A published number is judged as one more run beside ours: it is `within`
where it lies in the interval that would hold one more run of ours with probability 99 %, its tolerance
added on either side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rexmit import Results
from rexmit.analyse import OUTSIDE, RECORDED, Check, Comparison, Published, load_published

from .evidence import Evidence, Uncovered
from .numbers import number
from .statements import STATEMENTS

PUBLISHED = Path(__file__).parent.parent / "published.csv"


def compare(results: Sequence[Results]) -> Comparison:
    """Checks every row of published.csv that these parts of the study cover."""
    evidence = Evidence(results)
    return Comparison(
        "pedersen-2006", [_check(published, evidence) for published in load_published(PUBLISHED)]
    )


def _check(published: Published, evidence: Evidence) -> Check:
    check = STATEMENTS.get(published.id, number)
    try:
        found = check(published, evidence)
    except Uncovered as gap:
        return Check.not_covered(published, str(gap))
    if found.verdict == OUTSIDE and not published.value and published.deviation:
        # A statement that is known not to hold.
        return replace(found, verdict=RECORDED)
    return found
