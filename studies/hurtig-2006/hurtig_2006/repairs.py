"""How a single loss was repaired, by its position in a flow, and what it cost: for any stack on any kernel.

Everything is relative to the run without loss (position 0) of the same path, stack and replication, and comes
from the counters in the table of runs alone. A capture says more: whether a recovery began with the third
report or by the clock of RACK.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rexmit import UsageError
from rexmit.analyse import PositionCosts, is_unreached

NOTHING, HANDSHAKE, RECOVERY, PROBE, TIMER = "nothing", "handshake", "recovery", "probe", "timer"
UNREACHED = "unreached"
REPAIRS = (NOTHING, HANDSHAKE, RECOVERY, PROBE, TIMER, UNREACHED)
"""No data sent again; the SYN-ACK's timer; fast retransmit or what follows SACK or RACK; a tail loss probe
alone; the retransmission timer; no packet had that position, so nothing was lost."""

SYN_ACK = 1
"""The position of the SYN-ACK, the first packet of the server."""


def repairs(frame: pl.DataFrame, position: str, by: Sequence[str]) -> pl.DataFrame:
    """How the loss of each run was repaired, for a design over `position` on the paths and stacks `by`.

    Columns: `by`, `replication`, `position`, `repair` (one of :data:`REPAIRS`), `time_ms`, and `extra_ms`,
    the time beyond that of the run without loss. Left out, as in the thesis, are those whose timer expires
    without loss. Raises UsageError where a run did not complete or where there is no run without loss.
    """
    failed = frame.filter(~pl.col("completed"))
    if failed.height:
        runs = "1 run" if failed.height == 1 else f"{failed.height:,} runs"
        raise UsageError(f"{runs} did not complete; the first is run {failed['run'][0]}")
    keys = [*by, "replication"]
    counted = frame.select(
        *keys,
        pl.col(position).alias("position"),
        (pl.col("time_ns") / 1e6).alias("time_ms"),
        pl.col("timeouts_server").cast(pl.Int64).alias("timeouts"),
        pl.col("fast_retransmits").cast(pl.Int64).alias("recoveries"),
        (pl.col("data_segments") + pl.col("retransmits")).cast(pl.Int64).alias("sent"),
        is_unreached(frame).alias("unreached"),
    )
    whole = counted.filter(pl.col("position") == 0).drop("position", "unreached")
    if whole.height * counted["position"].n_unique() != counted.height:
        raise UsageError("there is not a run without loss (position 0) for every path, stack and replication")
    calm = whole.filter(pl.col("timeouts") == 0)
    both = counted.join(calm, on=keys, how="inner", suffix="_whole", maintain_order="left")
    more = {name: pl.col(name) - pl.col(f"{name}_whole") for name in ("timeouts", "recoveries", "sent")}
    kind = (
        pl.when(pl.col("position") == 0)
        .then(pl.lit(NOTHING))
        .when(pl.col("unreached"))
        .then(pl.lit(UNREACHED))
        .when(pl.col("position") == SYN_ACK)
        .then(pl.lit(HANDSHAKE))
        .when(more["timeouts"] > 0)
        .then(pl.lit(TIMER))
        .when(more["recoveries"] > 0)
        .then(pl.lit(RECOVERY))
        .when(more["sent"] > 0)
        .then(pl.lit(PROBE))
        .otherwise(pl.lit(NOTHING))
    )
    extra = pl.col("time_ms") - pl.col("time_ms_whole")
    return both.select(*keys, "position", kind.alias("repair"), "time_ms", extra.alias("extra_ms"))


def additional_at(costs: PositionCosts, times: dict[int, float]) -> float | None:
    """What late losses cost another stack at the positions at which the stack of `costs` waits for its timer.

    `times` are the other stack's total times by position on the same path. The mean over the positions that
    wait in `costs`, relative to the time at the last position that does not, minus 1: with the times of that
    stack itself it is its `additional`. None where no position waits.
    """
    if not costs.inhibited or costs.last_fast < 1 or not {*costs.inhibited, costs.last_fast} <= set(times):
        return None
    late = sum(times[at] for at in costs.inhibited) / len(costs.inhibited)
    return late / times[costs.last_fast] - 1


def average_at(costs: PositionCosts, times: dict[int, float]) -> float | None:
    """The same for a loss anywhere: the counterpart of `average` of :class:`PositionCosts`."""
    everywhere = range(1, costs.flow + 1)
    if not costs.inhibited or costs.last_fast < 1 or not set(everywhere) <= set(times):
        return None
    replaced = [times[costs.last_fast if at in costs.inhibited else at] for at in everywhere]
    return sum(times[at] for at in everywhere) / sum(replaced) - 1
