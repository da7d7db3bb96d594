"""Tables of what was compared: one row per scenario, and their summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from twins.compare import confusion, row_of
from twins.runs import Ran
from twins.scenarios import Drawn

KEYS = ("group", "profile")


@dataclass
class Comparison:
    """All scenarios of some pairs of backends. `names` are those of the two."""

    names: tuple[str, str]
    rows: list[dict[str, Any]] = field(default_factory=list)
    confused: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)

    def add(
        self, keys: tuple[str, str], drawn: Sequence[Drawn], left: Sequence[Ran], right: Sequence[Ran]
    ) -> None:
        """Compares runs of the same scenarios."""
        for scenario, one, other in zip(drawn, left, right, strict=True):
            named = dict(zip(KEYS, keys, strict=True))
            self.rows.append(named | scenario.row() | row_of(one, other, self.names))
            self.confused.update((*keys, *pair) for pair in confusion(one.seen, other.seen))

    def table(self) -> pl.DataFrame:
        """One row per scenario, group and profile."""
        return pl.DataFrame(self.rows, infer_schema_length=None)

    def causes(self) -> pl.DataFrame:
        """How often a retransmission of one cause has another, or does not exist, in the other run."""
        columns = (*KEYS, *self.names, "retransmissions")
        rows = [(*key, count) for key, count in sorted(self.confused.items())]
        return pl.DataFrame(rows, schema=columns, orient="row")

    def write(self, folder: Path, name: str) -> None:
        """Writes the table of scenarios as Parquet and CSV, and that of causes as CSV."""
        table = self.table()
        table.write_parquet(folder / f"{name}.parquet")
        table.write_csv(folder / f"{name}.csv")
        self.causes().write_csv(folder / f"{name}-causes.csv")


def summary(table: pl.DataFrame) -> pl.DataFrame:
    """One row per group and profile: what is identical, and how far off the times are."""
    off, percent = pl.col("difference_ms").abs(), pl.col("difference_percent").abs()
    same = pl.col("identical")
    return table.group_by(*KEYS, maintain_order=True).agg(
        pl.len().alias("scenarios"),
        same.sum().alias("identical"),
        pl.col("each_side_identical").sum(),
        (same & (pl.col("times_off_ns") <= 1_000)).sum().alias("within_1us"),
        (same & (pl.col("times_off_ns") <= 1_000_000)).sum().alias("within_1ms"),
        (pl.col("uml_causes") == pl.col("model_causes")).sum().alias("same_causes"),
        off.median().alias("median_ms"),
        off.quantile(0.9).alias("p90_ms"),
        off.max().alias("max_ms"),
        percent.median().alias("median_percent"),
        percent.quantile(0.9).alias("p90_percent"),
        percent.max().alias("max_percent"),
    )


def kinds(table: pl.DataFrame) -> pl.DataFrame:
    """The first differences by kind, the most frequent first, each with the example that parts soonest."""
    differing = table.filter(~pl.col("identical")).sort("first_packet", "scenario")
    grouped = differing.group_by(*KEYS, "kind").agg(
        pl.len().alias("scenarios"),
        pl.col("difference_percent").abs().median().alias("median_percent"),
        pl.first("scenario").alias("example"),
        pl.first("first_packet"),
        pl.first("uml_first_packet"),
        pl.first("model_first_packet"),
    )
    return grouped.sort(*KEYS, "scenarios", "kind", descending=[False, False, True, False])
