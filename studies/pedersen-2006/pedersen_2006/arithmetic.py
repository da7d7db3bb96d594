"""Sums, shares and ratios that the thesis prints of its own cells: derived from its tables, without a run."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path

from rexmit.analyse import Check, Published, load_published

PUBLISHED = Path(__file__).parent.parent / "published.csv"
_BOTH, _BUNDLED = ("RTO", "FR"), ("BM", "BF")
_EVERY = (*_BOTH, *_BUNDLED)
_OF = {"retransmissions": "number", "least delay": "min", "greatest delay": "max", "mean delay": "avg"}

_SUMS: Mapping[str, tuple[str, Sequence[str], bool]] = {
    "P-002-T2": ("3.3", ("RTO",), False),
    "P-002-T3": ("3.3", ("FR",), False),
    "P-002-T4": ("3.3", _BUNDLED, True),
    "P-002-T5": ("3.4", ("RTO",), False),
    "P-002-T6": ("3.4", ("FR",), False),
    "P-002-T7": ("3.4", _BUNDLED, True),
    "P-002-T8": ("3.4", ("BM",), True),
    "P-002-T9": ("3.5", ("RTO",), True),
    "P-002-T10": ("3.5", ("BM",), True),
    "P-002-T11": ("3.5", ("BF",), True),
}
"""The table of a sum over all retransmission numbers, its classes, and whether it is a share in percent."""

_PARTS: Mapping[str, tuple[str, str, str]] = {
    "P-002-D1": ("3.2-2-FR-max", "-", "1000"),
    "P-002-D2": ("5.1-4-RTO-avg", "-", "200"),
    "P-002-D3": ("5.1-2-FR-avg", "/", "5.1-1-FR-avg"),
    "P-002-D4": ("5.3-3", "/", "5.3-2"),
    "P-002-D5": ("5.2-1-ALL-avg", "/", "3.1-200-1-min"),
    "P-002-D6": ("5.2-1-RTO-min", "-", "1000"),
}
"""Two cells, or a cell and a number, and what is done with them."""


def derived(published: Published, evidence: object) -> Check:
    """What the printed number should be by the cells of the thesis's own tables."""
    if published.id in _SUMS:
        table, kinds, share = _SUMS[published.id]
        some = _count(table, kinds)
        value = 100 * some / _count(table, _EVERY) if share else some
        return Check.of_number(published, value, "by the cells of its own tables")
    if published.id in _PARTS:
        first, sign, second = _PARTS[published.id]
        one, two = _cell(first), _cell(second)
        return Check.of_number(
            published, one - two if sign == "-" else one / two, "by the cells of its own tables"
        )
    return Check.of_number(published, _both(published), "by the two rows above it in the table")


def _both(published: Published) -> float:
    stem = published.id.removeprefix("P-002-").rpartition("-ALL-")[0]
    of = _OF[published.quantity]
    values = [_cell(f"{stem}-{kind}-{of}") for kind in _BOTH]
    if of == "avg":
        counts = [_cell(f"{stem}-{kind}-number") for kind in _BOTH]
        return sum(map(float.__mul__, values, counts)) / sum(counts)
    if of == "number":
        return sum(values)
    return min(values) if of == "min" else max(values)


def _count(table: str, kinds: Sequence[str]) -> float:
    cells = _cells()
    return sum(
        value
        for tag, value in cells.items()
        if tag.startswith(f"{table}-") and tag.endswith("-number") and tag.split("-")[2] in kinds
    )


def _cell(name: str) -> float:
    return float(name) if name.isdecimal() else _cells()[name]


@functools.cache
def _cells() -> dict[str, float]:
    return {
        row.id.removeprefix("P-002-"): float(row.value)
        for row in load_published(PUBLISHED)
        if row.kind == "table"
    }
