"""The choice of a measurement window: whole cycles in equilibrium."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from rexmit.analyse.friendly.cycles import Cycles
from rexmit.analyse.friendly.direction import Floats, Truths

SPREADS = (0.05, 0.1, 0.2)
"""How much larger the greatest peak W of a window may be than its least one, where that is over a segment."""

NEARLY_ALL = 0.9
"""Share of the cycles alike by the loosest of `SPREADS` that a tighter one has to keep to be preferred."""

LEAST_CYCLES = 3
"""Cycles alike in a row, or pairs of them, below which nothing is measured."""

LEAST_SHARE = 0.5
"""Share of the cycles after the first loss event that a window must hold for a flow to be in equilibrium."""


@dataclass(frozen=True)
class Window:
    """The cycles chosen for a measurement, `first` to `last`, last excluded.

    With a `period` of 2, every second cycle is alike, and the window holds whole pairs.
    """

    first: int
    last: int
    period: int = 1

    def __len__(self) -> int:
        return self.last - self.first

    @property
    def slice(self) -> slice:
        """For arrays of cycles."""
        return slice(self.first, self.last)


def choose_window(cycles: Cycles) -> Window | None:
    """The longest run of cycles alike, cut to begin and end at the same W where most of it remains.

    Consecutive cycles are alike if the greatest peak W is no more than a spread above the least one, or
    one segment, and the greatest number of segments no more than about twice that share above the least one:
    a cycle's segments grow as the square of W. The spread is the tightest of `SPREADS` that keeps nearly all
    of what the loosest does. Where the run is less than `LEAST_SHARE` of the cycles, they may alternate, as
    those of CUBIC do by its fast convergence: then every second one must be alike. What precedes equilibrium
    is in no run: slow start, the cycle after the first loss event, which ended it, and a cycle that began
    with a timeout. None where fewer than `LEAST_CYCLES`, or pairs, are alike.
    """
    good = ~cycles.timeout
    good[:1] = False
    best = _best(cycles, good, 1)
    if len(best) < LEAST_SHARE * (len(cycles) - 1):
        pairs = _best(cycles, good, 2)
        best = pairs if len(pairs) >= LEAST_SHARE * (len(cycles) - 1) else best
    if len(best) < LEAST_CYCLES:
        return None
    equal = _equal_ends(cycles, best)
    return equal if len(equal) >= max(LEAST_CYCLES * best.period, len(best) / 2) else best


def _best(cycles: Cycles, good: Truths, period: int) -> Window:
    """The longest run of whole periods, by the tightest spread that loses little; empty if it is short."""
    stretches = _stretches(good)
    runs = [
        max((_longest(cycles, stretch, spread, period) for stretch in stretches), key=len, default=_NONE)
        for spread in SPREADS
    ]
    best = next(run for run in runs if len(run) >= NEARLY_ALL * len(runs[-1]))
    return best if len(best) >= LEAST_CYCLES * period else _NONE


def _longest(cycles: Cycles, stretch: tuple[int, int], spread: float, period: int) -> Window:
    """Two ends move over the cycles; queues in order keep the least and the greatest between them."""
    first, last = stretch
    best, begin = Window(first, first, period), first
    segments = cycles.segments.astype(np.float64)
    classes = [(_Extremes(cycles.peak), _Extremes(segments)) for _ in range(period)]
    for at in range(first, last):
        peaks, counts = classes[at % period]
        peaks.take(at)
        counts.take(at)
        while not _alike(peaks, counts, spread):
            begin += 1
            for extremes in (one for each in classes for one in each):
                extremes.forget(begin)
        whole = (at + 1 - begin) // period * period
        if whole > len(best):
            best = Window(begin, begin + whole, period)
    return best


def _alike(peaks: _Extremes, counts: _Extremes, spread: float) -> bool:
    (low, high), (few, many) = peaks.both, counts.both
    share = max(spread, 1 / max(low, 1.0))
    return high <= low * (1 + share) and many <= few * (1 + share) ** 2


def _equal_ends(cycles: Cycles, run: Window) -> Window:
    """The longest part of the run, in whole periods, whose W is the same at its beginning and at its end."""
    heights = [*cycles.peak[run.slice].tolist(), float(cycles.stop_peak[run.last - 1])]
    first: dict[tuple[float, int], int] = {}
    best = Window(run.first, run.first, run.period)
    for at, height in enumerate(heights):
        begin = first.setdefault((height, at % run.period), at)
        if at - begin > len(best):
            best = Window(run.first + begin, run.first + at, run.period)
    return best


def _stretches(good: Truths) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


class _Extremes:
    """The least and the greatest of the values taken and not forgotten."""

    def __init__(self, values: Floats) -> None:
        self._values = values
        self._least: deque[int] = deque()
        self._most: deque[int] = deque()

    def take(self, at: int) -> None:
        value = self._values[at]
        while self._least and self._values[self._least[-1]] >= value:
            self._least.pop()
        while self._most and self._values[self._most[-1]] <= value:
            self._most.pop()
        self._least.append(at)
        self._most.append(at)

    def forget(self, before: int) -> None:
        while self._least and self._least[0] < before:
            self._least.popleft()
        while self._most and self._most[0] < before:
            self._most.popleft()

    @property
    def both(self) -> tuple[float, float]:
        return float(self._values[self._least[0]]), float(self._values[self._most[0]])


_NONE = Window(0, 0)
