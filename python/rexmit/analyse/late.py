"""How late messages are because packets were lost: of tables of messages."""

from __future__ import annotations

import polars as pl


def lateness(messages: pl.DataFrame, loss: float) -> pl.DataFrame:
    """:meth:`rexmit.Results.messages` with `late_ms`, the wait that one lost message causes, ms.

    That is what all messages together are later than the fastest one, for each that is lost on its way,
    which happens with probability `loss`: its own lateness, that of those which wait behind it, and of those
    which the sender holds back.
    """
    late = (pl.col("latency_mean_ms") - pl.col("latency_min_ms")) / loss
    return messages.with_columns(late.alias("late_ms"))
