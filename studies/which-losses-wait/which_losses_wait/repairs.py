"""How a single loss was repaired, by the packet of data that was lost, and what it cost.

Everything is relative to the run without loss of the same path and stack, and comes from the counters of the
server in the table of runs.
"""

from __future__ import annotations

import polars as pl
from rexmit import UsageError
from rexmit.analyse import is_unreached

STACK = "stack"
LOST = "path.down.drop"
PATH = ("path.rate_bit_s", "path.delay_ns")

NOTHING, FAST, PROBE, TIMER, UNREACHED = "nothing", "fast", "probe", "timer", "unreached"
KINDS = (FAST, PROBE, TIMER, NOTHING, UNREACHED)
"""Fast retransmit, or what follows SACK or RACK; a probe (TLP, or QUIC's PTO); the retransmission timer; no
data were sent again; the flow had no such packet."""

QUIC = ("quinn", "ngtcp2", "quic-go", "quiche")
"""Stacks whose timer sends probes and declares nothing lost (RFC 9002 section 6.2)."""


def repairs(frame: pl.DataFrame) -> pl.DataFrame:
    """How the loss of each run was repaired.

    Columns: `stack`, those of the path, `lost` (the packet of data, 0 for none), `kind` (one of
    :data:`KINDS`), `last` (how many packets of data the flow without loss has), `time_ms`, `extra_ms` and
    `extra_rtts` (the time beyond that without loss, and as round trips of the path with a packet of 1500
    bytes on it). Paths on which the stack's timer expires without any loss are left out, but for QUIC, whose
    probes change little. Raises UsageError where a run did not complete.
    """
    failed = frame.filter(~pl.col("completed"))
    if failed.height:
        raise UsageError(f"{failed.height:,} runs did not complete; the first is run {failed['run'][0]}")
    counted = frame.select(
        STACK,
        *PATH,
        pl.col(LOST).cast(pl.Int64).alias("lost"),
        (pl.col("time_ns") / 1e6).alias("time_ms"),
        pl.col("timeouts_server").cast(pl.Int64).alias("timeouts"),
        pl.col("fast_retransmits").cast(pl.Int64).alias("recoveries"),
        pl.col("retransmits").cast(pl.Int64).alias("again"),
        pl.col("data_segments").cast(pl.Int64).alias("last"),
        is_unreached(frame).alias("unreached"),
        rtt_ms().alias("rtt_ms"),
    )
    calm = (pl.col("timeouts") == 0) | pl.col(STACK).is_in(QUIC)
    whole = counted.filter((pl.col("lost") == 0) & calm)
    kept = ("time_ms", "timeouts", "recoveries", "again", "last")
    both = counted.drop("last").join(
        whole.select(STACK, *PATH, *(pl.col(name).alias(f"{name}_whole") for name in kept)),
        on=[STACK, *PATH],
        maintain_order="left",
    )
    more = {name: pl.col(name) - pl.col(f"{name}_whole") for name in ("timeouts", "recoveries", "again")}
    kind = (
        pl.when((pl.col("lost") > 0) & pl.col("unreached"))
        .then(pl.lit(UNREACHED))
        .when((more["timeouts"] > 0) & pl.col(STACK).is_in(QUIC))
        .then(pl.lit(PROBE))
        .when(more["timeouts"] > 0)
        .then(pl.lit(TIMER))
        .when(more["recoveries"] > 0)
        .then(pl.lit(FAST))
        .when(more["again"] > 0)
        .then(pl.lit(PROBE))
        .otherwise(pl.lit(NOTHING))
    )
    extra = pl.col("time_ms") - pl.col("time_ms_whole")
    return both.select(
        STACK,
        *PATH,
        "lost",
        kind.alias("kind"),
        pl.col("last_whole").alias("last"),
        "time_ms",
        extra.alias("extra_ms"),
        (extra / pl.col("rtt_ms")).alias("extra_rtts"),
    )


def rtt_ms() -> pl.Expr:
    """The round trip of a path, with a packet of 1500 bytes on the way there."""
    rate = pl.col("path.rate_bit_s").cast(pl.Float64)
    return 2 * pl.col("path.delay_ns").cast(pl.Float64) / 1e6 + 1500 * 8 / rate * 1000


def shares(repaired: pl.DataFrame) -> dict[str, dict[int, dict[str, float]]]:
    """By stack and lost packet, the share of paths on which it was repaired so; packets that exist there."""
    met = repaired.filter((pl.col("lost") > 0) & (pl.col("lost") <= pl.col("last")))
    counts = met.group_by(STACK, "lost", "kind").len()
    whole = {(stack, lost): n for stack, lost, n in met.group_by(STACK, "lost").len().iter_rows()}
    found: dict[str, dict[int, dict[str, float]]] = {}
    for stack, lost, kind, count in counts.sort("lost", "kind").iter_rows():
        found.setdefault(stack, {}).setdefault(lost, {})[kind] = count / whole[stack, lost]
    return found


def stacks(frame: pl.DataFrame) -> list[str]:
    """The stacks, in the order of the design."""
    return frame[STACK].unique(maintain_order=True).to_list()
