"""Published beside ours: named checks with a difference, a tolerance and a verdict."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from rexmit.errors import StudyError
from rexmit.inputs import PUBLISHED, read_text

WITHIN, OUTSIDE, NOT_COVERED = "within", "outside", "not covered"
RECORDED = "differs as recorded"
"""Outside the tolerance, by as much as the study has recorded with a reason."""
UNREACHED = "not reached"
"""Computed from runs in which a pattern met no packet: it says nothing, whatever the number."""
CELLS = ("id", "quantity", "published", "ours", "difference", "tolerance", "verdict")
"""The heads of :meth:`Check.cells`."""

_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER})\s*-\s*({_NUMBER})")
_BOUND = re.compile(rf"(<=|<|>=|>)\s*({_NUMBER})")
_ABOUT = re.compile(rf"(?:about\s+)?({_NUMBER})")


@dataclass(frozen=True)
class Published:
    """A published number or statement, as a row of a study's `published.csv`.

    `value` is as printed: `301`, `about 20`, `5-10`, `<40`, or empty for a statement, which is then in
    `quantity`. `tolerance` is in `unit`; empty for a statement, which holds or does not.
    """

    id: str
    quantity: str
    value: str
    unit: str
    kind: str
    source: str
    tolerance: str
    tolerance_reason: str
    deviation: str = ""
    """How ours is known to differ: a difference in `unit`, or what a row of counts shows; mostly empty."""
    deviation_reason: str = ""
    place: Mapping[str, str] = field(default_factory=dict)
    """The study's own columns, which say where it was measured, such as `kbit_s`; some may be empty."""

    @property
    def what(self) -> str:
        """The quantity and where it was taken, for a table."""
        where = [_PLACES.get(name, f"{name} {{}}").format(text) for name, text in self.place.items() if text]
        return f"{self.quantity} ({', '.join(where)})" if where else self.quantity

    def interval(self) -> tuple[float, float]:
        """What the printed value allows, without tolerance: a point, a range, or a half line.

        Raises StudyError where the value is no number.
        """
        text = self.value.strip()
        if match := _RANGE.fullmatch(text):
            return float(match[1]), float(match[2])
        if match := _BOUND.fullmatch(text):
            edge = float(match[2])
            return (-math.inf, edge) if match[1].startswith("<") else (edge, math.inf)
        if match := _ABOUT.fullmatch(text):
            return float(match[1]), float(match[1])
        raise StudyError(f"{self.id}: {self.value!r} is no number, range or bound")

    def difference(self, ours: float) -> float:
        """How far ours lies outside the printed value or range, with its sign; 0 inside it."""
        low, high = self.interval()
        return ours - low if ours < low else max(ours - high, 0.0)

    def allows(self, ours: float) -> bool:
        """Whether ours lies within the printed value or range, widened by the tolerance."""
        return abs(self.difference(ours)) <= float(self.tolerance or 0) + 1e-9


_COLUMNS = {column.name for column in fields(Published)} - {"place"}
_NEEDED = _COLUMNS - {"deviation", "deviation_reason"}
_PLACES = {
    "where": "{}",
    "flow": "{} packets",
    "kbit_s": "{} kbit/s",
    "delay_ms": "{} ms",
    "down_kbit_s": "{} kbit/s down",
    "up_kbit_s": "{} kbit/s up",
    "buffer": "buffer {}",
}
"""How a study's own column is written; others as `name value`."""


@dataclass(frozen=True)
class Check:
    """One row of a comparison. `ours` is text for people; `difference` is None for statements."""

    published: Published
    verdict: str
    ours: str
    difference: float | None = None
    note: str = ""

    @classmethod
    def of_number(cls, published: Published, ours: float, note: str = "") -> Check:
        """A check of a number of ours against the printed one."""
        difference = published.difference(ours)
        verdict = WITHIN if published.allows(ours) else OUTSIDE
        if verdict == OUTSIDE and published.deviation:
            # What has been recorded must stay what it is, to the same tolerance.
            known = abs(difference - float(published.deviation)) <= float(published.tolerance or 0)
            verdict = RECORDED if known else OUTSIDE
        return cls(published, verdict, f"{ours:.4g}", difference, note)

    @classmethod
    def of_statement(cls, published: Published, holds: bool, ours: str, note: str = "") -> Check:
        """A check of a statement: it holds in our runs or it does not."""
        return cls(published, WITHIN if holds else OUTSIDE, ours, None, note)

    @classmethod
    def not_covered(cls, published: Published, why: str) -> Check:
        """A row that these results say nothing about."""
        return cls(published, NOT_COVERED, "", None, why)

    @property
    def shown_difference(self) -> float | None:
        """The difference, or None where it says nothing of the verdict.

        So it is where most of several values must lie within: the worst of them may lie outside.
        """
        if self.difference is None or self.verdict != WITHIN:
            return self.difference
        allowed = float(self.published.tolerance or 0) + 1e-9
        return self.difference if abs(self.difference) <= allowed else None

    def cells(self) -> list[str]:
        """The check as a row of text under the heads `CELLS`."""
        published = self.published
        value = f"{published.value} {published.unit}".strip() if published.value else "holds"
        difference = "" if self.shown_difference is None else f"{self.shown_difference:+.3g}"
        tolerance = f"±{published.tolerance}" if published.tolerance else ""
        return [published.id, published.what, value, self.ours, difference, tolerance, self.verdict]

    def reasons(self) -> list[str]:
        """What there is to say of the row: what it is made of, the tolerance, the recorded deviation."""
        published = self.published
        reasons = [self.note] if self.note else []
        if published.tolerance_reason:
            reasons.append(f"tolerance: {published.tolerance_reason}")
        if published.deviation_reason and self.verdict == RECORDED:
            reasons.append(f"recorded difference: {published.deviation_reason}")
        return reasons

    def row(self) -> dict[str, Any]:
        """The check as a flat row for a table or for JSON."""
        row = asdict(self.published)
        row |= row.pop("place")
        row |= {"what": self.published.what, "ours": self.ours, "difference": self.shown_difference}
        return row | {"verdict": self.verdict, "note": self.note}


@dataclass(frozen=True)
class Comparison:
    """All checks of a study."""

    study: str
    checks: Sequence[Check]
    unreached: str = ""
    """What there is to say of runs in which a pattern met no packet; mostly empty."""

    @property
    def passed(self) -> bool:
        """Whether something is covered, and nothing lies outside its tolerance but what is recorded so."""
        verdicts = self.counts()
        return verdicts[OUTSIDE] == 0 and verdicts[WITHIN] > 0

    def counts(self) -> Counter[str]:
        """How many checks have each verdict."""
        return Counter(check.verdict for check in self.checks)

    def to_markdown(self) -> str:
        """The checks as a Markdown table, with notes and the reason of each tolerance."""
        rows = [["", *CELLS[1:], "notes"], ["---"] * (len(CELLS) + 1)]
        rows += [[*check.cells(), "; ".join(check.reasons())] for check in self.checks]
        return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in rows)


def load_published(path: Path) -> list[Published]:
    """Reads a study's `published.csv`. Raises StudyError for a wrong row, naming file and line."""
    rows = []
    lines = csv.DictReader(io.StringIO(read_text(path, PUBLISHED), newline=""))
    try:
        for row in lines:
            rows.append(_published(row))
    except (csv.Error, StudyError) as error:
        raise StudyError(f"{path}, line {lines.line_num}: {error}") from None
    return rows


def _published(row: dict[str, str]) -> Published:
    """A row, checked. Raises StudyError that names the column."""
    if None in row or None in row.values():
        raise StudyError("has more or fewer columns than the head")
    missing = sorted(_NEEDED - row.keys())
    if missing:
        raise StudyError(f"the head lacks {', '.join(missing)}")
    place = {name: row.pop(name) for name in list(row) if name not in _COLUMNS}
    published = Published(**row, place=place)
    if not published.id:
        raise StudyError("id: is empty")
    if published.tolerance and not _is_finite(published.tolerance):
        raise StudyError(f"tolerance: {published.tolerance!r} is no number")
    if bool(published.deviation) != bool(published.deviation_reason):
        raise StudyError(f"{published.id} has a deviation without its reason")
    if published.value and (not published.tolerance or not published.tolerance_reason):
        raise StudyError(f"{published.id} has a value without a reasoned tolerance")
    return published


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
