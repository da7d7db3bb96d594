"""A lost SYN-ACK: who ends the wait, the client's repeated SYN or the server's timer, and what each costs."""

from __future__ import annotations

from statistics import mean

import polars as pl
from rexmit import Results

from .captions import table
from .charts import POSITION
from .flows import LEFT_OUT

SYN_ACK = 0x12
"""The flags of a SYN-ACK."""

WHO = {"syn-ack-answer": "the client's repeated SYN", "syn-ack": "the server's timer"}
"""Why the server sends its second SYN-ACK, and who so ended the wait."""


def handshakes(results: Results) -> pl.DataFrame:
    """Each short run whose SYN-ACK is lost, on the paths that the thesis uses.

    `reason` is why the server sent its second SYN-ACK, `cost_ms` how much longer the run took than that of
    its path and replication that lost nothing.
    """
    key = ["path.rate_bit_s", "path.delay_ns", "replication"]
    left_out = pl.struct("path.rate_bit_s", "path.delay_ns").is_in(
        [{"path.rate_bit_s": rate * 1000, "path.delay_ns": ms * 1_000_000} for rate, ms in LEFT_OUT]
    )
    runs = results.table().filter(~left_out)
    whole = runs.filter(pl.col(POSITION) == 0).select(*key, pl.col("time_ns").alias("whole_ns"))
    lost = runs.filter(pl.col(POSITION) == 1).join(whole, on=key, maintain_order="left")
    reasons = [_second(results, run) for run in lost["run"]]
    cost = (pl.col("time_ns").cast(pl.Int64) - pl.col("whole_ns").cast(pl.Int64)) / 1e6
    return lost.select(*key, cost.alias("cost_ms"), pl.Series("reason", reasons))


def handshakes_table(results: Results) -> str:
    """How many runs each ends, and what they cost, as a Markdown table."""
    rows = []
    found = handshakes(results)
    for reason, who in WHO.items():
        costs = found.filter(pl.col("reason") == reason)["cost_ms"].to_list()
        rows.append(
            [
                who,
                f"{len(costs)} of {len(found)}",
                f"{mean(costs):.1f}",
                f"{min(costs):.1f} to {max(costs):.1f}",
            ]
        )
    return table(["the first to send again", "runs", "cost, ms: mean", "range"], rows)


def _second(results: Results, run: int) -> str:
    sent = results.trace(run)["transmissions"]
    return str(sent.filter((pl.col("host") == "server") & (pl.col("flags") == SYN_ACK))["reason"][1])
