"""Published values and ours: named checks with a difference, a tolerance and a verdict.

What makes a comparison strict: each row of `published.csv` has a check of its own, a statement is judged by
a number of ours as a printed value is, and a difference that is recorded holds *our* value in an interval of
its own, so that any change shows, also one towards the published value.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

from rexmit.errors import StudyError
from rexmit.inputs import PUBLISHED, read_text

WITHIN, OUTSIDE, NOT_COVERED = "within", "outside", "not covered"
RECORDED = "differs as recorded"
"""Outside the tolerance, and ours is what the study has recorded with a reason."""
TOO_WIDE = "too wide"
"""Inside our interval, which is so wide (:data:`rexmit.analyse.score.WIDE`) that this says nothing."""
UNREACHED = "not reached"
"""Computed from runs in which a pattern met no packet: it says nothing, whatever the number."""
CELLS = ("id", "quantity", "published", "ours", "difference", "tolerance", "verdict")
"""The heads of :meth:`Check.cells`."""

MEASURED, DERIVED = "measured", "derived"
"""What a row is: measured in runs, or derived without (arithmetic, a unit test), and then not counted."""

KINDS = ("table", "text", "figure", "figure-caption", "snapshot", "formula", "misprint")
"""Where in its text a published row stands."""

UNITS = frozenset(
    (
        *("", "percent", "points", "share", "ratio", "factor", "correlation", "degrees"),
        *("ns", "us", "ms", "s", "min", "round trips", "ticks"),
        *("bit/s", "kbit/s", "Mbit/s", "Gbit/s", "1/s", "packets/s", "segments/s"),
        *("bytes", "kB", "KiB", "MB", "MiB", "packets", "segments", "chunks"),
        *("count", "paths", "positions", "runs", "events", "timeouts", "retransmissions", "reports", "cells"),
    )
)
"""The units that a row may have."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_ID = re.compile(r"[A-Z]{1,2}-[\w.+-]*\d[\w.+-]*")
_RANGE = re.compile(rf"({_NUMBER})\s*-\s*({_NUMBER})")
_BOUND = re.compile(rf"(<=|<|>=|>)\s*({_NUMBER})")
_ABOUT = re.compile(rf"(?:about\s+)?({_NUMBER})")
_SPAN = re.compile(rf"({_NUMBER}) to ({_NUMBER})")


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
    """How ours is known to differ: the interval in which *our* value lies, as `114 to 121`; mostly empty."""
    deviation_reason: str = ""
    role: str = MEASURED
    """`measured` or `derived`."""
    history: str = ""
    """Where the tolerance was set or changed after a result had been seen: how; mostly empty."""
    place: Mapping[str, str] = field(default_factory=dict)
    """The study's own columns, which say where it was measured, such as `kbit_s`; some may be empty."""

    @property
    def what(self) -> str:
        """The quantity and where it was taken, for a table."""
        where = [_PLACES.get(name, f"{name} {{}}").format(text) for name, text in self.place.items() if text]
        return f"{self.quantity} ({', '.join(where)})" if where else self.quantity

    def interval(self) -> tuple[float, float]:
        """What the printed value allows, without tolerance: a point, a range, or a half line.

        Raises StudyError where the value is not a number.
        """
        text = self.value.strip()
        if (match := _RANGE.fullmatch(text)) and float(match[1]) <= float(match[2]):
            return float(match[1]), float(match[2])
        if match := _BOUND.fullmatch(text):
            edge = float(match[2])
            return (-math.inf, edge) if match[1].startswith("<") else (edge, math.inf)
        if match := _ABOUT.fullmatch(text):
            return float(match[1]), float(match[1])
        raise StudyError(f"{self.id}: {self.value!r} is not a number, range or bound")

    def difference(self, ours: float) -> float:
        """How far ours lies outside the printed value or range, with its sign; 0 inside it."""
        low, high = self.interval()
        return ours - low if ours < low else max(ours - high, 0.0)

    def allows(self, ours: float) -> bool:
        """Whether ours lies within the printed value or range, widened by the tolerance."""
        return abs(self.difference(ours)) <= float(self.tolerance or 0) + 1e-9

    def recorded(self) -> tuple[float, float] | None:
        """The interval in which ours is recorded to lie; None where no difference is recorded.

        Raises StudyError where it is not an interval.
        """
        if not self.deviation:
            return None
        match = _SPAN.fullmatch(self.deviation)
        if match is None or float(match[1]) > float(match[2]):
            raise StudyError(
                f"{self.id}: deviation: {self.deviation!r} is not an interval, such as 114 to 121"
            )
        return float(match[1]), float(match[2])

    def verdict(self, ours: float, holds: bool) -> str:
        """The verdict on ours, which agrees with the text or does not.

        Where a difference is recorded, ours must lie in its interval, agreement or not: that the difference
        has gone is a change like any other, and the record must then be removed.
        """
        recorded = self.recorded()
        if recorded is None:
            return WITHIN if holds else OUTSIDE
        return RECORDED if not holds and recorded[0] <= ours <= recorded[1] else OUTSIDE


_COLUMNS = {column.name for column in fields(Published)} - {"place"}
_NEEDED = _COLUMNS - {"deviation", "deviation_reason", "role", "history"}
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
    values: Sequence[float] = ()
    """Ours, run by run, where the published value is one run's: what :mod:`rexmit.analyse.score` scores."""

    @classmethod
    def of_number(cls, published: Published, ours: float, note: str = "") -> Check:
        """A check of a number of ours against the printed one."""
        verdict = published.verdict(ours, published.allows(ours))
        return cls(
            published, verdict, f"{ours:.4g}", published.difference(ours), _noted(published, verdict, note)
        )

    @classmethod
    def of_statement(
        cls, published: Published, holds: bool, ours: str, note: str = "", *, measure: float | None = None
    ) -> Check:
        """A check of a statement: it holds in our runs or it does not.

        `measure` is the number that decides it, such as the share of paths on which it holds; where a
        difference is recorded it must lie in the recorded interval. Raises StudyError where one is recorded
        and there is no measure.
        """
        if published.deviation and measure is None:
            raise StudyError(f"{published.id}: a difference is recorded for a statement without a measure")
        verdict = published.verdict(math.nan if measure is None else measure, holds)
        return cls(published, verdict, ours, None, _noted(published, verdict, note))

    @classmethod
    def not_covered(cls, published: Published, why: str) -> Check:
        """A row that these results say nothing about."""
        return cls(published, NOT_COVERED, "", None, why)

    @property
    def shown_difference(self) -> float | None:
        """The difference, or None where it says nothing of the verdict.

        This is so where most of several values must lie within: the worst of them may lie outside.
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
        if published.role == DERIVED:
            reasons.append("derived without a run: not counted")
        if published.tolerance_reason:
            reasons.append(f"tolerance: {published.tolerance_reason}")
        if published.history:
            reasons.append(f"set after a result was seen: {published.history}")
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
        """Whether something is covered, and nothing lies outside its tolerance except as recorded."""
        outside = any(check.verdict == OUTSIDE for check in self.checks)
        return not outside and self.counts()[WITHIN] > 0

    def counts(self) -> Counter[str]:
        """How many checks of measured rows have each verdict; derived rows are not counted."""
        return Counter(check.verdict for check in self.checks if check.published.role == MEASURED)

    def to_markdown(self) -> str:
        """The checks as a Markdown table, with notes and the reason of each tolerance."""
        rows = [["", *CELLS[1:], "notes"], ["---"] * (len(CELLS) + 1)]
        rows += [[*check.cells(), "; ".join(check.reasons())] for check in self.checks]
        return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |\n" for row in rows)


E = TypeVar("E")


class Uncovered(Exception):  # noqa: N818 - no error: the results given say nothing about a row
    """The results given say nothing about a published row; the text says why."""


def check_all(
    study: str, path: Path, checks: Mapping[str, Callable[[Published, E], Check]], evidence: E
) -> Comparison:
    """Checks every row of a study's `published.csv` by the function for its id.

    A key that ends in `*` stands for the ids with this beginning and no function of their own; the longest
    wins. Raises StudyError, one line, for a row without a function and for a function without a row.
    """
    rows = load_published(path)
    found = {row.id: _function(row.id, checks) for row in rows}
    lost = [row for row, key in found.items() if key is None] or sorted(checks.keys() - set(found.values()))
    if lost:
        what = "has no check" if lost[0] in found else "is checked, and is not a row"
        raise StudyError(f"{path}: {lost[0]} {what}")
    return Comparison(study, [_checked(row, checks[str(found[row.id])], evidence) for row in rows])


def _function(row: str, checks: Iterable[str]) -> str | None:
    """The key of the function of a row."""
    fitting = [key for key in checks if key == row or (key.endswith("*") and row.startswith(key[:-1]))]
    return max(fitting, key=lambda key: (key == row, len(key)), default=None)


def _checked(published: Published, check: Callable[[Published, E], Check], evidence: E) -> Check:
    try:
        return check(published, evidence)
    except Uncovered as gap:
        return Check.not_covered(published, str(gap))


def _noted(published: Published, verdict: str, note: str) -> str:
    """The note, and what is wrong where a recorded difference is not what it was."""
    if verdict != OUTSIDE or not published.deviation:
        return note
    return "; ".join(filter(None, (note, f"recorded: ours is {published.deviation}, which no longer holds")))


def load_published(path: Path) -> list[Published]:
    """Reads a study's `published.csv`. Raises StudyError for a wrong row, naming file and line."""
    rows: dict[str, Published] = {}
    lines = csv.DictReader(io.StringIO(read_text(path, PUBLISHED), newline=""))
    try:
        for row in lines:
            published = _published(row)
            if published.id in rows:
                raise StudyError(f"id: {published.id} appears twice")
            rows[published.id] = published
    except (csv.Error, StudyError) as error:
        raise StudyError(f"{path}, line {lines.line_num}: {error}") from None
    return list(rows.values())


def _published(row: dict[str, str]) -> Published:
    """A row, checked. Raises StudyError that names the column."""
    if None in row or None in row.values():
        raise StudyError("has more or fewer columns than the header")
    missing = sorted(_NEEDED - row.keys())
    if missing:
        raise StudyError(f"the header lacks {', '.join(missing)}")
    place = {name: row.pop(name) for name in list(row) if name not in _COLUMNS}
    row["role"] = row.get("role") or MEASURED
    published = Published(**row, place=place)
    if not _ID.fullmatch(published.id):
        raise StudyError(f"id: {published.id!r} is not a tag, such as P-000-1")
    _one_of("unit", published.unit, UNITS)
    _one_of("kind", published.kind, KINDS)
    _one_of("role", published.role, (MEASURED, DERIVED))
    if published.value:
        published.interval()
    published.recorded()
    if published.tolerance and not _is_size(published.tolerance):
        raise StudyError(f"tolerance: {published.tolerance!r} is not a number of 0 or more")
    if bool(published.deviation) != bool(published.deviation_reason):
        raise StudyError(f"{published.id} has a deviation without its reason")
    if published.value and (not published.tolerance or not published.tolerance_reason):
        raise StudyError(f"{published.id} has a value without a reasoned tolerance")
    return published


def _one_of(column: str, text: str, known: Iterable[str]) -> None:
    if text not in known:
        close = get_close_matches(text, sorted(known), 1)
        more = f"; did you mean {close[0]!r}?" if close else ""
        raise StudyError(f"{column}: {text!r} is not one that a row may have{more}")


def _is_size(text: str) -> bool:
    try:
        return 0 <= float(text) < math.inf
    except ValueError:
        return False
