"""How the window grows between losses, round trip by round trip: what tells Reno from others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rexmit.analyse.friendly.cycles import Cycles
from rexmit.analyse.friendly.direction import Direction, Floats, Integers

LEAST_ROUNDS = 5
"""Round trips of growth below which a cycle says nothing of its slope."""

BENT_ROUNDS, BENT_RISE = 6, 5.0
"""Round trips and segments of growth below which a cycle says nothing of its bend."""


@dataclass(frozen=True)
class Growth:
    """Medians over cycles; nothing where no cycle is long enough.

    `kept` is what a loss leaves of the window: the level in the first round trip after recovery, less the
    segment by which it has grown until then, over W. `slope` is segments for each round trip, `bend` the area
    between the growth and its chord, of the rectangle around both: 0 for a straight line, up to 0.5 for
    growth that slows down (concave), down to -0.5 for growth that speeds up; `bent` is its size, whatever its
    sign.
    """

    cycles: int
    rounds: float
    peak: float
    kept: float | None
    slope: float | None
    bend: float | None
    bent: float | None


def next_round(flow: Direction) -> Integers:
    """For each packet the first one that was sent after its acknowledgment: a round trip later."""
    acked = np.searchsorted(flow.acks.highest, flow.sent.end)
    numbers = np.append(flow.acks.number, np.iinfo(np.int64).max)
    found = np.searchsorted(flow.sent.number, numbers[np.minimum(acked, len(numbers) - 1)])
    return np.maximum(found, np.arange(len(found)) + 1)


def rounds_from(later: Sequence[int], begin: int, end: int) -> list[int]:
    """The rows at which round trips begin, from `begin` until before `end`."""
    found = []
    while begin < end:
        found.append(begin)
        begin = later[begin]
    return found


def growth(flow: Direction, cycles: Cycles, which: Sequence[int]) -> Growth:
    """The growth in these cycles."""
    later = next_round(flow).tolist()
    level = flow.level
    seen = []
    for cycle in which:
        begin, end = int(cycles.recovered[cycle]), int(cycles.stop[cycle]) + 1
        starts = rounds_from(later, begin, end)
        if len(starts) >= 2:
            tops = np.maximum.reduceat(level[:end], np.array(starts))
            seen.append((_share(tops, starts, end), tops, float(cycles.peak[cycle])))
    if not seen:
        return Growth(0, 0.0, 0.0, None, None, None, None)
    straight = [_slope(at, tops) for at, tops, _ in seen if at[-1] >= LEAST_ROUNDS]
    long = [(at, tops) for at, tops, _ in seen if len(tops) > BENT_ROUNDS and np.ptp(tops) >= BENT_RISE]
    bends = [_bend(at[:-1], tops[:-1]) for at, tops in long]
    return Growth(
        cycles=len(seen),
        rounds=float(np.median([at[-1] for at, _, _ in seen])),
        peak=float(np.median([peak for _, _, peak in seen])),
        kept=float(np.median([(tops[0] - 1) / peak for _, tops, peak in seen])),
        slope=float(np.median(straight)) if straight else None,
        bend=float(np.median(bends)) if bends else None,
        bent=float(np.median(np.abs(bends))) if bends else None,
    )


def _share(tops: Floats, starts: list[int], end: int) -> Floats:
    """When each top is reached, in round trips; the loss cuts the last one off, so it counts by its rows."""
    at = np.arange(1.0, len(tops) + 1)
    whole = starts[-1] - starts[-2]
    at[-1] = at[-2] + min((end - starts[-1]) / max(whole, 1), 1.0)
    return at - 1.0


def _slope(at: Floats, tops: Floats) -> float:
    """Least squares."""
    x = at - at.mean()
    return float((x * (tops - tops.mean())).sum() / (x * x).sum())


def _bend(at: Floats, tops: Floats) -> float:
    rise, span = tops[-1] - tops[0], at[-1] - at[0]
    if rise <= 0 or span <= 0:
        return 0.0
    return float(np.trapezoid((tops - tops[0]) / rise, (at - at[0]) / span) - 0.5)
