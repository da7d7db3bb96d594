"""Delays of retransmissions pooled over runs, with nothing lost: the tables of pedersen-2006."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rexmit.errors import UsageError, nearest

KINDS = ("cumulative", "consecutive")


def retransmission_delays(
    frame: pl.DataFrame, by: Sequence[str] = ("number", "class"), kind: str = "cumulative"
) -> pl.DataFrame:
    """The delays of all retransmissions of each group of rows: as if computed from the individual delays.

    `frame` is `Results.retransmissions()` or a part of it, `by` names columns of it, such as a factor,
    `number` and `class`. `kind` is `cumulative`, since the first transmission (as in pedersen-2006 for
    SCTP), or `consecutive`, since the one before (as in tcptrace, so in pedersen-2006 for TCP). Returns `by`,
    `count`, `min`, `max`, `mean` and `std` (of the sample, n - 1; 0 for one) in ms, and the sums of
    `not_needed` and `bundled_in_fast`, sorted by `by`.

    Raises UsageError for an unknown column or kind.
    """
    for name in by:
        if name not in frame.columns:
            raise UsageError(f"by: {name!r} is not a column{nearest(name, frame.columns)}")
    if kind not in KINDS:
        raise UsageError(f"kind: {kind!r} is neither cumulative nor consecutive")
    least, most, mean, std = (f"{kind}_{of}_ms" for of in ("min", "max", "mean", "std"))
    weight = pl.col("count").cast(pl.Float64)
    middle = (pl.col(mean) * weight).sum() / weight.sum()
    # Squared distances from the overall mean: those from each row's mean, and those of the rows' means.
    within = (pl.col(std).pow(2) * (weight - 1)).sum()
    between = (weight * (pl.col(mean) - middle).pow(2)).sum()
    measured = [
        pl.col("count").sum(),
        pl.col(least).min().alias("min"),
        pl.col(most).max().alias("max"),
        middle.alias("mean"),
        ((within + between) / (weight.sum() - 1).clip(1)).sqrt().alias("std"),
        pl.col("not_needed", "bundled_in_fast").sum(),
    ]
    if not by:
        return frame.select(measured)
    return frame.group_by(list(by)).agg(measured).sort(list(by))
