"""Tables of retransmissions pooled: by run, by number, by class, over all of them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rexmit.errors import UsageError

DELAYS = ("cumulative", "consecutive")


def pooled(frame: pl.DataFrame, by: Sequence[str], delays: str = "cumulative") -> pl.DataFrame:
    """Rows of :meth:`rexmit.Results.retransmissions` put together by the columns `by`.

    Returns `by`, then `count`, `min_ms`, `max_ms`, `mean_ms`, `std_ms` (of the sample, n - 1; 0 of one):
    what all the retransmissions of the pooled rows have, nothing lost. `delays` are `cumulative`, since
    the first transmission, or `consecutive`, since the one before (ms). Raises UsageError for others.
    """
    if delays not in DELAYS:
        raise UsageError(f"delays: {delays!r} is none of {', '.join(DELAYS)}")
    one = {name: pl.col(f"{delays}_{name}_ms") for name in ("min", "max", "mean", "std")}
    count, total = pl.col("count"), pl.col("count").sum()
    mean = (count * one["mean"]).sum() / total
    within = ((count.cast(pl.Int64) - 1) * one["std"] ** 2).sum()
    between = (count * (one["mean"] - mean) ** 2).sum()
    spread = ((within + between) / (total.cast(pl.Int64) - 1).clip(lower_bound=1)).sqrt()
    return frame.group_by(list(by), maintain_order=True).agg(
        total.alias("count"),
        one["min"].min().alias("min_ms"),
        one["max"].max().alias("max_ms"),
        mean.alias("mean_ms"),
        spread.alias("std_ms"),
    )
