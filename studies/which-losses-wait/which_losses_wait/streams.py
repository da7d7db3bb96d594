"""What thin streams wait, and what reordering makes a stack send again."""

from __future__ import annotations

import polars as pl
from rexmit import Results

from .repairs import STACK


def delays(results: Results) -> pl.DataFrame:
    """How late the messages of a thin stream are, one row per stack and round trip.

    Columns: `stack`, `rtt_ms`, and in ms beyond the fastest message: `p50_ms`, `p90_ms`, `p99_ms`, `max_ms`,
    which are means over replications.
    """
    table = results.table().select("run", STACK, (pl.col("path.delay_ns") * 2 / 1e6).alias("rtt_ms"))
    measured = ("latency_p50_ms", "latency_p90_ms", "latency_p99_ms", "latency_max_ms")
    both = results.messages().join(table, on="run", maintain_order="left")
    least = pl.col("latency_min_ms")
    return both.group_by(STACK, "rtt_ms", maintain_order=True).agg(
        *((pl.col(name) - least).mean().alias(name.removeprefix("latency_")) for name in measured)
    )


def spurious(results: Results) -> pl.DataFrame:
    """What a stack sends again though nothing is lost, one row per stack and kind of reordering.

    Columns: `stack`, `path` (the kind), `again` (packets with data sent again, of 1,000 with data),
    `timeouts`, and `time` (relative to the path without reordering); means over replications.
    """
    table = results.table()
    found = table.group_by(STACK, "path", maintain_order=True).agg(
        (1000 * pl.col("retransmits").sum() / pl.col("data_segments").sum()).alias("again"),
        pl.col("timeouts").mean(),
        pl.col("time_ns").cast(pl.Float64).mean().alias("time_ns"),
    )
    plain = found.filter(pl.col("path") == found["path"][0]).select(STACK, pl.col("time_ns").alias("plain"))
    with_plain = found.join(plain, on=STACK, maintain_order="left")
    return with_plain.select(
        STACK, "path", "again", "timeouts", (pl.col("time_ns") / pl.col("plain")).alias("time")
    )
