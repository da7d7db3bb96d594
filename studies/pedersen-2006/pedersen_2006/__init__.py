"""The published numbers of pedersen-2006 beside those of a run: called by `rexmit compare`.

The thesis ran everything once. A published number is judged as one more run beside ours: it is `within`
where it lies in the interval that would hold one more run of ours with probability 99 %, what its printing
leaves open added on either side, and `too wide` where that interval spans more than a factor of four.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rexmit import Results
from rexmit.analyse import Check, Comparison, Published, check_all

from .arithmetic import derived
from .claims import CLAIMS
from .evidence import CHOSEN, LITERAL, RENO, Evidence
from .numbers import number
from .packets import PACKETS
from .segments import SEGMENTS
from .statements import STATEMENTS

PUBLISHED = Path(__file__).parent.parent / "published.csv"
_DERIVED = (
    *("P-002-T2", "P-002-T3", "P-002-T4", "P-002-T5", "P-002-T6"),
    *("P-002-T7", "P-002-T8", "P-002-T9", "P-002-T10", "P-002-T11"),
    *("P-002-5.1-1-ALL-*", "P-002-5.1-2-ALL-*", "P-002-5.1-3-ALL-*", "P-002-5.1-4-ALL-*"),
    *("P-002-5.2-1-ALL-*", "P-002-5.2-2-ALL-*"),
    *("P-002-D1", "P-002-D2", "P-002-D3", "P-002-D4", "P-002-D5", "P-002-D6"),
)
_MEASURED = ("P-002-3.*", "P-002-5.*", "P-002-T1", "P-002-S18-*", "P-002-S26-*")

Function = Callable[[Published, Evidence], Check]
CHECKS: dict[str, Function] = {
    **dict.fromkeys(_MEASURED, number),
    **dict.fromkeys(_DERIVED, derived),
    **CLAIMS,
    **PACKETS,
    **SEGMENTS,
    **STATEMENTS,
}


def compare(results: Sequence[Results]) -> Comparison:
    """Checks every row of published.csv that these parts of the study cover."""
    return check_all("pedersen-2006", PUBLISHED, CHECKS, Evidence(results))


def compare_literally(results: Sequence[Results]) -> Comparison:
    """The same with the words of the text alone where a row can be read in several ways, and TCP as Reno."""
    return _without_records(Evidence(results, LITERAL, RENO))


def compare_another(results: Sequence[Results]) -> Comparison:
    """The same of parts that are not set as the study is."""
    return _without_records(Evidence(results))


def _without_records(evidence: Evidence) -> Comparison:
    # What is recorded of a difference is of the study as it is, so nothing is recorded of others.
    checks = {name: _unrecorded(check) for name, check in CHECKS.items()}
    return check_all("pedersen-2006", PUBLISHED, checks, evidence)


def _unrecorded(check: Function) -> Function:
    return lambda published, evidence: check(replace(published, deviation="", deviation_reason=""), evidence)


__all__ = ["CHOSEN", "compare", "compare_another", "compare_literally"]
