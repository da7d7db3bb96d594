"""Two folders of results of one design: which cells changed, and by how much.

A cell is a combination of levels. In virtual time the same study gives the same bytes, so where both folders
have the same seed each run is held against itself: whatever differs is a change, and the interval of a cell
says how much the change differs from replication to replication. Where seeds differ, or a kernel ran in real
time, a cell counts as changed only if the interval of the difference of its means excludes zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import polars as pl

from rexmit.analyse.stats import t_quantile
from rexmit.diff.matching import Matched, different_settings, match
from rexmit.run import Results

CONFIDENCE = 0.95

CELL_COLUMNS = ("n", "runs_changed", "before", "after", "difference", "low", "high", "ratio")
"""Of a cell beside its factors and `response`: runs, how many of them differ, means, and the difference."""


@dataclass(frozen=True)
class Changes:
    """What differs between two folders of results.

    `settings` are the settings that differ, a line each.
    """

    before: Results
    after: Results
    settings: Sequence[str]
    matched: Matched
    confidence: float = CONFIDENCE

    @property
    def factors(self) -> Sequence[str]:
        """Names of the factors."""
        return self.matched.factors

    @property
    def runs(self) -> int:
        """Runs that both folders have."""
        return len(self.matched.frame)

    @property
    def versions(self) -> tuple[str, str]:
        """The version of rexmit that made each."""
        return str(self.before.study["version"]), str(self.after.study["version"])

    @cached_property
    def runs_changed(self) -> int:
        """Runs in which anything differs. Means nothing where runs are not pairs."""
        return int(self.matched.frame.select(self.matched.differs.sum()).item())

    @cached_property
    def errors(self) -> tuple[int, int]:
        """Runs that failed, before and after."""
        frame = self.matched.frame
        if "error" not in self.matched.responses:
            return 0, 0
        return tuple(len(frame) - frame[name].null_count() for name in ("error", "error_after"))  # type: ignore[return-value]

    @cached_property
    def cells(self) -> pl.DataFrame:
        """A row for each cell and response that changed: the factors, `response`, and CELL_COLUMNS.

        `before` and `after` are means over the replications, `difference` is after less before, `low` and
        `high` its confidence interval (null with one replication), `ratio` after over before (null where that
        is 0). In the order of the design, the responses in the order of the table.
        """
        parts = [
            self._summary(self.factors, name).filter("changed").with_columns(pl.lit(number).alias("number"))
            for number, name in enumerate(self.matched.numbers)
        ]
        if not parts:
            return pl.DataFrame()
        return pl.concat(parts).sort("place", "number").drop("place", "number", "changed")

    @cached_property
    def totals(self) -> pl.DataFrame:
        """A row for each response that changed in any cell, over all runs: `response` and CELL_COLUMNS.

        And `cells_changed`, in how many cells it did.
        """
        changed = self.cells.group_by("response", maintain_order=True).agg(pl.len().alias("cells_changed"))
        names = changed["response"].to_list()
        if not names:
            return pl.DataFrame(schema={"response": pl.String, "cells_changed": pl.UInt32})
        return changed.join(self._over_all(names), on="response", how="left", maintain_order="left")

    def _over_all(self, names: Sequence[str]) -> pl.DataFrame:
        parts = [self._summary((), name) for name in names]
        return pl.concat(parts).select("response", *CELL_COLUMNS)

    def _summary(self, factors: Sequence[str], name: str) -> pl.DataFrame:
        """Every cell: the factors, `response`, CELL_COLUMNS, `changed` and its `place` in the design."""
        first, second = (self._value(column) for column in (name, f"{name}_after"))
        frame = self.matched.frame.select(*factors, first.alias("first"), second.alias("second"))
        frame = frame.with_columns((pl.col("second") - pl.col("first")).alias("off"))
        means = [
            pl.len().alias("n"),
            (pl.col("first").ne_missing(pl.col("second"))).sum().alias("runs_changed"),
            pl.col("first").mean().alias("before"),
            pl.col("second").mean().alias("after"),
            pl.col("off").var().alias("of_pairs"),
            pl.col("off").count().alias("pairs"),
            pl.col("first").var().alias("of_first"),
            pl.col("second").var().alias("of_second"),
            pl.col("first").count().alias("n_first"),
            pl.col("second").count().alias("n_second"),
        ]
        grouped = (
            frame.group_by(factors, maintain_order=True).agg(*means) if factors else frame.select(*means)
        )
        cells = grouped.with_columns(pl.lit(name).alias("response")).with_row_index("place")
        half = self._halves(cells)
        cells = cells.with_columns((pl.col("after") - pl.col("before")).alias("difference"))
        cells = cells.with_columns(
            (pl.col("difference") - half).alias("low"),
            (pl.col("difference") + half).alias("high"),
            pl.when(pl.col("before") != 0).then(pl.col("after") / pl.col("before")).alias("ratio"),
        )
        unlike = pl.col("before").is_null() != pl.col("after").is_null()
        changed = (
            pl.col("runs_changed") > 0
            if self.matched.paired
            else unlike | ((pl.col("low") > 0) | (pl.col("high") < 0)).fill_null(value=False)
        )
        return cells.select(*factors, "response", *CELL_COLUMNS, changed.alias("changed"), "place")

    def _halves(self, cells: pl.DataFrame) -> pl.Series:
        """Half the interval of each cell's difference: of pairs, or of two means (Welch)."""
        if self.matched.paired:
            pairs = zip(cells["of_pairs"], cells["pairs"], strict=True)
            found = [
                _half(math.sqrt(s2 / n), n - 1, self.confidence) if s2 is not None else None
                for s2, n in pairs
            ]
        else:
            names = ("of_first", "n_first", "of_second", "n_second")
            found = [_welch(*values, confidence=self.confidence) for values in cells.select(names).rows()]
        return pl.Series("half", found, dtype=pl.Float64)

    def _value(self, column: str) -> pl.Expr:
        """A response as a number; of runs that failed it is nothing."""
        value = pl.col(column).cast(pl.Float64)
        if "error" not in self.matched.responses:
            return value
        failed = pl.col("error_after" if column.endswith("_after") else "error").is_not_null()
        return pl.when(~failed).then(value)


def diff_results(before: Results, after: Results, *, only_common: bool = False) -> Changes:
    """What differs between two results of one design, the second against the first.

    Raises UsageError where the designs differ, naming factors and levels; with `only_common` what both have
    is compared.
    """
    matched = match(before, after, only_common=only_common)
    return Changes(before, after, different_settings(before, after), matched)


def _half(error: float, freedom: int, confidence: float) -> float | None:
    """Half of Student's interval."""
    return _quantile(freedom, confidence) * error if error > 0 else 0.0


_quantile = cache(lambda freedom, confidence: t_quantile(0.5 + confidence / 2, freedom))


def _welch(
    first: float | None, n_first: int, second: float | None, n_second: int, *, confidence: float
) -> float | None:
    """Half the interval of the difference of two means of unlike spread (Welch 1947)."""
    if first is None or second is None:
        return None
    parts = (first / n_first, second / n_second)
    if sum(parts) == 0:
        return 0.0
    below = parts[0] ** 2 / (n_first - 1) + parts[1] ** 2 / (n_second - 1)
    return _half(math.sqrt(sum(parts)), max(int(sum(parts) ** 2 / below), 1), confidence)
