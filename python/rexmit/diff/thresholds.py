"""What counts as worse: `p99(time) > 1.05x`, written by whoever has CI fail on it.

    [STATISTIC(]COLUMN[)] RELATION VALUE [by FACTOR, ... | overall]

STATISTIC is `mean` (if none is named), `median`, `min`, `max`, `sum` or a percentile such as `p99`, by
nearest rank. COLUMN is a response, with or without its unit (`time` is `time_ns`), or one of COUNTS. RELATION
is `>`, `>=`, `<` or `<=`. A count alone (`errors`) means `> 0`. VALUE says what the second folder's statistic
is held against:

    1.05x     this many times that of the first folder
    +5 %      that of the first plus this share of it; `-5 %` minus
    +10 ms    that of the first plus this much
    200 ms    this value, whatever the first has

The statistic is of each cell; `by` makes coarser cells of some factors, `overall` one of all runs.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import polars as pl

from rexmit import _native
from rexmit.diff.matching import Matched
from rexmit.errors import UsageError, nearest, one_line
from rexmit.units import NANOSECONDS, parse_bytes

COUNTS = {
    "errors": "runs that failed",
    "incomplete": "runs in which a transfer did not end, and those that failed",
    "changed": "runs in which anything differs from the first folder",
}
"""What is counted beside the responses."""

RELATIONS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
STATISTICS = ("mean", "median", "min", "max", "sum")
FORM = "STATISTIC(COLUMN) > VALUE, such as 'p99(time) > 1.05x', 'mean(time) > +10 ms' or 'errors > 0'"
_ANY = re.compile(rf"\s*({'|'.join(COUNTS)})(?=\s*$|\s+(?:by|overall)\b)", re.ASCII)

_WHOLE = re.compile(
    r"\s*(?:(?P<statistic>[a-z][\w.]*)\s*\(\s*(?P<inner>[\w.]+)\s*\)|(?P<column>[\w.]+))"
    r"\s*(?P<relation>>=|<=|>|<)\s*(?P<value>.+?)\s*"
    r"(?:\b(?P<scope>overall|by\s+(?P<factors>.+)))?\s*",
    re.ASCII,
)
_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_TIMES = re.compile(rf"({_NUMBER})\s*x", re.ASCII | re.IGNORECASE)
_SHARE = re.compile(rf"([+-])\s*({_NUMBER})\s*%", re.ASCII | re.IGNORECASE)
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?|100)", re.ASCII)


@dataclass(frozen=True)
class Broken:
    """A cell in which a threshold is broken: its levels, and the statistic of both folders."""

    threshold: str
    column: str
    cell: Mapping[str, Any]
    before: float | None
    after: float
    unit: str | None = None

    @property
    def where(self) -> str:
        """Such as `path.rate = 1 Mbit/s, path.delay = 10 ms`, or `all runs`."""
        return ", ".join(f"{name} = {level}" for name, level in self.cell.items()) or "all runs"

    def row(self) -> dict[str, Any]:
        """It as JSON has it."""
        return {
            "condition": self.threshold,
            "cell": dict(self.cell),
            "before": self.before,
            "after": self.after,
        }


@dataclass(frozen=True)
class Threshold:
    """A condition on the second folder that should not hold in any cell."""

    text: str
    statistic: str
    column: str
    relation: str
    value: str
    scope: tuple[str, ...] | None
    """Factors of the cells; None for all of the design."""

    @classmethod
    def parse(cls, text: str) -> Threshold:
        """Reads one. Raises UsageError where it does not parse."""
        found = _WHOLE.fullmatch(_ANY.sub(r"\1 > 0", text))
        if found is None:
            raise UsageError(f"{text!r}: is not a condition; write {FORM}")
        statistic = found["statistic"] or ("sum" if found["column"] in COUNTS else "mean")
        if statistic not in STATISTICS and not _PERCENTILE.fullmatch(statistic):
            known = "mean, median, min, max, sum, and percentiles such as p99"
            raise UsageError(f"{text!r}: {statistic!r} is not a statistic; allowed: {known}")
        scope: tuple[str, ...] | None = None
        if found["scope"] is not None:
            scope = tuple(name.strip() for name in (found["factors"] or "").split(",") if name.strip())
        one = cls(
            text, statistic, found["inner"] or found["column"], found["relation"], found["value"], scope
        )
        one._limit(0.0, None)  # what is not a value is told before anything is read
        return one

    def broken(self, matched: Matched) -> list[Broken]:
        """The cells in which it holds. Raises UsageError for a column or factor that is not there."""
        column, unit = self._column(matched)
        factors = matched.factors if self.scope is None else self.scope
        for name in factors:
            if name not in matched.factors:
                raise UsageError(f"{self.text!r}: {name!r} is not a factor{nearest(name, matched.factors)}")
        frame = matched.frame.select(
            *factors, self._values(column, "", matched), self._values(column, "_after", matched)
        )
        both = [self._statistic(name).alias(name) for name in ("first", "second")]
        cells = frame.group_by(factors, maintain_order=True).agg(*both) if factors else frame.select(*both)
        holds = RELATIONS[self.relation]
        found = []
        for *levels, before, after in cells.rows():
            limit = self._limit(before, unit)
            if after is not None and limit is not None and holds(after, limit):
                found.append(
                    Broken(self.text, column, dict(zip(factors, levels, strict=True)), before, after, unit)
                )
        return found

    def _column(self, matched: Matched) -> tuple[str, str | None]:
        """The column that is meant, and its unit."""
        if self.column in COUNTS:
            return self.column, None
        names = matched.numbers
        for name in (self.column, *(f"{self.column}_{unit}" for unit in ("ns", "bytes", "bit_s"))):
            if name in names:
                return name, matched.units.get(name)
        known_names = nearest(self.column, [*COUNTS, *names])
        raise UsageError(f"{self.text!r}: {self.column!r} is not a response of both folders{known_names}")

    def _values(self, column: str, suffix: str, matched: Matched) -> pl.Expr:
        """What the statistic is taken of, in one of the folders."""
        names = matched.responses
        failed = pl.col(f"error{suffix}").is_not_null() if "error" in names else pl.lit(value=False)
        ended = pl.col(f"completed{suffix}") if "completed" in names else pl.lit(value=True)
        values = {
            "errors": failed,
            "incomplete": failed | ~ended,
            "changed": matched.differs if suffix else pl.lit(value=False),
        }
        value = values.get(column, pl.when(~failed).then(pl.col(f"{column}{suffix}")))
        return value.cast(pl.Float64).alias("second" if suffix else "first")

    def _statistic(self, name: str) -> pl.Expr:
        value = pl.col(name)
        if (rank := _PERCENTILE.fullmatch(self.statistic)) is not None:
            ordered = value.drop_nulls().sort()
            place = (ordered.len() * (float(rank[1]) / 100)).ceil().cast(pl.Int64) - 1
            return ordered.get(place.clip(lower_bound=0), null_on_oob=True)
        return {
            "mean": value.mean(),
            "median": value.median(),
            "min": value.min(),
            "max": value.max(),
            "sum": value.sum(),
        }[self.statistic]

    def _limit(self, before: float | None, unit: str | None) -> float | None:
        """What the second folder is held against; None where the first has nothing to hold it against."""
        if (times := _TIMES.fullmatch(self.value)) is not None:
            return None if before is None else float(times[1]) * before
        if (share := _SHARE.fullmatch(self.value)) is not None:
            off = float(share[2]) / 100 * (-1 if share[1] == "-" else 1)
            return None if before is None else before * (1 + off)
        sign = self.value[0] if self.value[0] in "+-" else ""
        amount = self._amount(self.value[len(sign) :].strip(), unit)
        if not sign:
            return amount
        return None if before is None else before + (amount if sign == "+" else -amount)

    def _amount(self, text: str, unit: str | None) -> float:
        """A number, or a quantity in the unit of its column."""
        if re.fullmatch(_NUMBER, text, re.ASCII | re.IGNORECASE):
            return float(text)
        read: dict[str, Callable[[str], float]] = {
            "ns": _native.parse_duration,
            "bytes": parse_bytes,
            "bit/s": _native.parse_rate,
            **{name: partial(_time_in, ns) for name, ns in NANOSECONDS.items()},
        }
        # Before the column is known any quantity will do.
        tried = list(read.values())[:3] if unit is None else [read[unit]] if unit in read else []
        errors = []
        for one in tried:
            try:
                return float(one(text))
            except ValueError as error:
                errors.append(one_line(error))
        why = errors[0] if len(errors) == 1 else f"write {FORM}"
        raise UsageError(f"{self.text!r}: {text!r} is not a value: {why}")


def _time_in(unit_ns: float, text: str) -> float:
    return _native.parse_duration(text) / unit_ns


def broken(thresholds: Sequence[Threshold], matched: Matched) -> list[Broken]:
    """Where any of these holds, the thresholds in their order."""
    return [one for threshold in thresholds for one in threshold.broken(matched)]
