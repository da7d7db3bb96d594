"""Averages over replications: deboer-2005's averages.pl and merge-avg.pl, with how sure they are."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rexmit.analyse.stats import summarise
from rexmit.errors import UsageError, nearest
from rexmit.run.columns import design_columns, factor_columns

NOT_MEASURED = ("run", "replication", "seed", "seed_replication")
"""Columns of numbers that name a run and measure nothing."""


def averages(
    frame: pl.DataFrame,
    factors: Sequence[str],
    responses: Sequence[str] = (),
    confidence: float = 0.95,
) -> pl.DataFrame:
    """The mean of each response over the replications of each combination of levels.

    `frame` is a table of runs, `factors` the names of its factors, `responses` columns of numbers, every one
    where none is named. Runs with an error, and values that are null, are left out. Returns the columns
    `factors`, `response`, `n` (values), `mean`, `sd` (of the sample), `low` and `high` (Student's confidence
    interval of the mean), in the order of the runs; with one value, `sd`, `low` and `high` are null.

    Raises UsageError for a response that is not a column of numbers.
    """
    check_responses(frame, factors, responses)
    if "error" in frame.columns:
        frame = frame.filter(pl.col("error").is_null())
    parts = []
    order = frame.select(*factors).unique(maintain_order=True).with_row_index("place") if factors else None
    for number, name in enumerate(responses or response_names(frame, factors)):
        part = frame.filter(pl.col(name).is_not_null()).with_columns(pl.lit(name).alias("response"))
        part = part.with_columns(pl.col(name).cast(pl.Float64))
        found = summarise(part, [*factors, "response"], name, confidence)
        if order is not None:
            found = found.join(order, on=list(factors), how="left")
        parts.append(found.with_columns(pl.lit(number).alias("number")))
    keys = ["place", "number"] if order is not None else ["number"]
    return pl.concat(parts).sort(keys).drop(keys)


def check_responses(frame: pl.DataFrame, factors: Sequence[str], responses: Sequence[str]) -> None:
    """Raises UsageError for a response that is not a column of numbers."""
    known = response_names(frame, factors)
    for name in responses:
        if name not in known:
            raise UsageError(f"response: {name!r} is not a column of numbers{nearest(name, known)}")


def response_names(frame: pl.DataFrame, factors: Sequence[str]) -> list[str]:
    """The columns of a table of runs that measure something: numbers, and no factors.

    Nor the settings of a factor that varies several together.
    """
    own = {column for factor in factors for column in factor_columns(factor)}
    own.update(design_columns(frame.columns))
    return [
        name
        for name, kind in frame.schema.items()
        if kind.is_numeric() and name not in own and name not in NOT_MEASURED
    ]
