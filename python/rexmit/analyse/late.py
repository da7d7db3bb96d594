"""How late messages are because packets were lost, from tables of messages."""

from __future__ import annotations

import polars as pl


def lateness(messages: pl.DataFrame, loss: float) -> pl.DataFrame:
    """:meth:`rexmit.Results.messages` with `late_ms`, the wait that one lost message causes, ms.

    That is how much later than the fastest one all messages together are, for each that is lost on its way,
    which happens with probability `loss`: its own lateness, that of those that wait behind it, and of those
    that the sender holds back.
    """
    late = (pl.col("latency_mean_ms") - pl.col("latency_min_ms")) / loss
    return messages.with_columns(late.alias("late_ms"))
