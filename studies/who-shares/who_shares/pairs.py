"""How two flows share: their throughput, its ratio, and Jain's index, for whatever levels `pair` has."""

from __future__ import annotations

import polars as pl
from rexmit import Results
from rexmit.analyse.over_time import within

BEGIN, END = 20, 60
"""What is measured, s."""
BDP = 100 / 3
"""Packets of 1500 bytes that the line carries in 20 ms."""
AQM = "links.line.from.left.aqm"
KEYS = ("pair", "rtt", "buffer", AQM)


def shared(results: Results) -> pl.DataFrame:
    """One row per run: its levels, `near` and `far` (Mbit/s), `jain`, `ratio`, `rtt_ratio` as measured.

    Of the line there are `queue_bdp`, the queue's mean over the run in BDP of the near flow, and `dropped`,
    what part of packets it dropped.
    """
    flows = results.transfers().select("run", "connection", "transfer", "rtt_mean_ms")
    sums = results.transfers(over_time=True).filter(within(BEGIN, END)).group_by("run", "connection")
    rates = sums.agg((pl.col("bytes").sum() * 8 / (END - BEGIN) / 1e6).alias("mbit_s"))
    # An interval without a byte has no row, and a flow that stood still all the time has none at all.
    both = flows.join(rates, on=("run", "connection"), how="left").with_columns(pl.col("mbit_s").fill_null(0))
    runs = results.table().select("run", *KEYS)
    for name in ("near", "far"):
        one = both.filter(pl.col("transfer") == name)
        runs = runs.join(
            one.select("run", pl.col("mbit_s").alias(name), pl.col("rtt_mean_ms").alias(f"{name}_rtt")),
            on="run",
        )
    line = results.links().filter((pl.col("link") == "line") & (pl.col("from_point") == "left"))
    queue = (pl.col("queue_packets_mean") / BDP).alias("queue_bdp")
    runs = runs.join(
        line.select("run", queue, (pl.col("drops") / pl.col("packets")).alias("dropped")), on="run"
    )
    near, far = pl.col("near"), pl.col("far")
    return runs.sort("run").with_columns(
        ((near + far) ** 2 / (2 * (near**2 + far**2))).alias("jain"),
        (near / far).alias("ratio"),
        (pl.col("far_rtt") / pl.col("near_rtt")).alias("rtt_ratio"),
    )


def chosen(found: pl.DataFrame, **levels: str) -> pl.DataFrame:
    """The runs with these levels; `aqm` is short for its setting."""
    named = {AQM if name == "aqm" else name: level for name, level in levels.items()}
    return found.filter(*(pl.col(name) == level for name, level in named.items()))
