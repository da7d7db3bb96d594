"""The share of a link that BBR flows have beside others, and what the model of Ware and others says of it."""

from __future__ import annotations

import polars as pl
from rexmit import Results
from rexmit.analyse.over_time import flows_over_time, within

WINDOWS = {"who-shares/bbr": (400, 800), "who-shares/shallow": (20, 120)}
"""What is measured of each study, s."""
PACKET = 1500
RATE, DELAY, SPAN = 10e6, 0.04, 400
"""Of who-shares/bbr: the link, bit/s; the round-trip time without queue, s; how long is measured, s."""


def shares(results: Results) -> pl.DataFrame:
    """One row per run: its levels, `share` of the BBR flows, and `dropped`, the share of packets dropped."""
    inside = within(*WINDOWS[results.name])
    read = over_time(results).filter(inside).group_by("run").agg(pl.col("bbr", "other").sum())
    line = (pl.col("link") == "line") & (pl.col("from_point") == "left")
    sums = pl.col("drops", "passed_bytes").sum()
    drops = results.links(over_time=True).filter(inside & line).group_by("run").agg(sums)
    levels = [one for one in ("flows", "transfers.1.congestion", "buffer") if one in results.table().columns]
    runs = results.table().select("run", *levels).join(read, on="run", how="left").join(drops, on="run")
    return runs.sort("run").with_columns(
        (pl.col("bbr") / (pl.col("bbr") + pl.col("other"))).alias("share"),
        (pl.col("drops") / (pl.col("drops") + pl.col("passed_bytes") / PACKET)).alias("dropped"),
    )


def over_time(results: Results) -> pl.DataFrame:
    """One row per run and second: the bytes that both groups of flows delivered in it, `bbr` and `other`."""
    of = [pl.col("bytes").filter(pl.col("transfer") == one).sum().alias(one) for one in ("bbr", "other")]
    sums = flows_over_time(results).group_by("run", "from_ns", "to_ns").agg(of)
    return sums.sort("run", "from_ns")


def modelled(bbr: int, buffer: float) -> float:
    """The share of so many BBR flows, with a buffer in BDP, by equations (9) to (11) of Ware and others 2019.

    p = 1/2 - 1/(2X) - 4N/q is the share of the loss-based flows, with buffers of X BDP or q packets, and
    Probe = (q/c + 0.2 s + l) d/10 how long of d seconds BBR stands still to probe the round-trip time.
    """
    packets = buffer * RATE * DELAY / 8 / PACKET
    theirs = max(0.0, 0.5 - 1 / (2 * buffer) - 4 * bbr / packets)
    still = (buffer * DELAY + 0.2 + DELAY) * SPAN / 10
    return (1 - theirs) * (SPAN - still) / SPAN


def cycle(seconds: pl.DataFrame) -> float:
    """The period of BBR's share in a run, s: where its autocorrelation peaks once it has crossed zero."""
    share = (seconds["bbr"] / (seconds["bbr"] + seconds["other"])).to_numpy()
    off = share - share.mean()
    lags = range(len(off) // 2)
    found = [float((off[: len(off) - lag] * off[lag:]).sum()) for lag in lags]
    below = next((lag for lag in lags if found[lag] < 0), len(found) - 1)
    return float(max(range(below, len(found)), key=lambda lag: found[lag]))
