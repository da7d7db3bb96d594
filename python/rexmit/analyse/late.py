"""How late messages are because packets were lost: of tables of messages."""

from __future__ import annotations

import polars as pl


def lateness(messages: pl.DataFrame, loss: float) -> pl.DataFrame:
    """:meth:`rexmit.Results.messages` with what losses did to messages, ms.

    Adds `usual_ms`, the median latency, which most messages have since most are not lost; `late_ms`, what all
    messages together are later than that for each of them that was lost on its way (probability `loss`): its
    own lateness and that of those which wait behind it; and the quantiles and the greatest latency in ms.
    """
    quantiles = [name for name in messages.columns if name.startswith("p") and name.endswith("_ns")]
    return messages.with_columns(
        (pl.col("p50_ns") / 1e6).alias("usual_ms"),
        ((pl.col("mean_ns") - pl.col("p50_ns")) / 1e6 / loss).alias("late_ms"),
        (pl.col("max_ns") / 1e6).alias("max_ms"),
        *((pl.col(name) / 1e6).alias(name.removesuffix("_ns") + "_ms") for name in quantiles),
    )
