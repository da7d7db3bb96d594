"""What a loss costs by its position in a flow, where fast retransmit works and where it cannot.

The definitions are those with which the study hurtig-2006 comes out (its README says how they were
recovered); they hold for any design that varies the position of one loss.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from rexmit.errors import UsageError
from rexmit.units import plural

NEEDS_TIMEOUT = 0.5
"""A position needs a timeout if its runs have on average this many more timeouts than runs without loss."""


@dataclass(frozen=True)
class PositionCosts:
    """Costs of late losses on one path.

        `group` holds the values of the grouping columns and `flow` the number of packets without loss.
    `inhibited` are the contiguous positions at the end, up to `flow` - 1, whose loss waits for the timer;
    `last_fast` is the position before them. `additional` is the mean total time over the inhibited
    positions relative to the total time for a loss at `last_fast`, minus 1. `average` is the mean over all
    positions from 1 to `flow` relative to the same mean with the inhibited positions replaced by
    `last_fast`, minus 1. Both are None where no position is inhibited, or all are, or some were not run.
    """

    group: dict[str, object]
    flow: int
    inhibited: tuple[int, ...]
    last_fast: int
    additional: float | None
    average: float | None


def position_times(frame: pl.DataFrame, position: str, by: Sequence[str]) -> pl.DataFrame:
    """Means over replications for each path and position.

    Columns: `by`, `position`, `time_ms`, `timeouts` (of the server, which sends), `fast_retransmits`,
    `packets`, in the order of the table. Runs that did not complete raise UsageError.
    """
    failed = frame.filter(~pl.col("completed"))
    if failed.height:
        raise UsageError(
            f"{plural(failed.height, 'run')} did not complete; the first is run {failed['run'][0]}"
        )
    means = frame.group_by([*by, position], maintain_order=True).agg(
        (pl.col("time_ns").mean() / 1e6).alias("time_ms"),
        pl.col("timeouts_server").mean().alias("timeouts"),
        pl.col("fast_retransmits").mean(),
        pl.col("packets_down").mean().alias("packets"),
    )
    return means.rename({position: "position"})


def position_costs(frame: pl.DataFrame, position: str, by: Sequence[str]) -> list[PositionCosts]:
    """The costs for each path (each combination of the columns `by`) of a design over `position`.

    The design must hold position 0 (no loss) and positions 1 to the length of the flow.
    """
    times = position_times(frame, position, by)
    return [_costs(part.sort("position"), by) for part in times.partition_by(list(by), maintain_order=True)]


def _costs(part: pl.DataFrame, by: Sequence[str]) -> PositionCosts:
    time: dict[int, float] = dict(zip(part["position"].to_list(), part["time_ms"].to_list(), strict=True))
    timeouts: dict[int, float] = dict(
        zip(part["position"].to_list(), part["timeouts"].to_list(), strict=True)
    )
    group: dict[str, object] = {name: part[name][0] for name in by}
    if 0 not in time:
        raise UsageError(f"no run without loss (position 0) for {group}")
    last = max(time)
    flow = min(round(part.filter(pl.col("position") == 0)["packets"][0]), last)
    inhibited: list[int] = []
    for at in range(flow - 1, 0, -1):
        if timeouts.get(at, 0.0) - timeouts[0] < NEEDS_TIMEOUT:
            break
        inhibited.insert(0, at)
    last_fast = inhibited[0] - 1 if inhibited else flow - 1
    # A part of the positions alone, such as those whose pattern met a packet, gives no mean over all.
    if not inhibited or last_fast < 1 or any(at not in time for at in range(1, flow + 1)):
        return PositionCosts(group, flow, tuple(inhibited), last_fast, None, None)
    late = sum(time[at] for at in inhibited) / len(inhibited)
    everywhere = [time[at] for at in range(1, flow + 1)]
    replaced = [time[last_fast] if at in inhibited else time[at] for at in range(1, flow + 1)]
    return PositionCosts(
        group,
        flow,
        tuple(inhibited),
        last_fast,
        late / time[last_fast] - 1,
        sum(everywhere) / sum(replaced) - 1,
    )
