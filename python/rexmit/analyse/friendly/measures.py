"""What klaver-2005 measures of a window of cycles, with confidence intervals over its cycles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rexmit.analyse.friendly.cycles import Cycles
from rexmit.analyse.friendly.direction import Direction, Floats, Integers
from rexmit.analyse.friendly.window import Window
from rexmit.analyse.stats import t_quantile

CONFIDENCE = 0.95
MOST_FREEDOM = 1000
"""Degrees of freedom above which Student's quantile is that of this many: 1.9623 for 1.9600."""


@dataclass(frozen=True)
class Estimate:
    """A value over a window and its confidence interval over the window's cycles (95 %)."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Measured:
    """A window's measures.

    `p` is loss events for each segment sent, the lost ones counted (klaver-2005, equation 3.1);
    `p_delivered` the same for each segment delivered, as its chapter 4 counts a cycle; `p_lost` lost segments
    for each segment sent. `rate` is payload, each byte once, over time (bit/s), `rtt` the mean of unambiguous
    samples (ns), `f` = rate x rtt / MSS (segments, equation 4.9), `f_samples` the mean of the segments
    outstanding when those that gave a sample were sent, `w` the mean peak. `parity` is of the peaks: `odd` or
    `even` where nine of ten are, else `mixed`.
    """

    cycles: int
    segments: int
    lost: int
    seconds: float
    p: Estimate
    p_delivered: Estimate
    p_lost: Estimate
    rate: Estimate
    rtt: Estimate | None
    f: Estimate | None
    f_samples: Estimate | None
    w: Estimate
    parity: str
    w_start: float
    w_stop: float


def measure(flow: Direction, cycles: Cycles, window: Window) -> Measured:
    """Measures a window. Each cycle, or pair that alternates, counts as one independent observation."""
    number = len(window)

    def periods(values: Integers | Floats) -> Floats:
        found: Floats = values[window.slice].astype(np.float64).reshape(-1, window.period).sum(axis=1)
        return found

    ones = periods(np.ones(len(cycles)))
    segments, lost, samples = (periods(each) for each in (cycles.segments, cycles.lost, cycles.samples))
    time = periods(cycles.time) / 1e9
    rate = _Ratio(8.0 * periods(cycles.payload), time)
    rtt = _Ratio(periods(cycles.rtt), samples) if samples.sum() else None
    peaks = cycles.peak[window.slice]
    odd = float((peaks % 2 == 1).mean())
    return Measured(
        cycles=number,
        segments=int(segments.sum()),
        lost=int(lost.sum()),
        seconds=float(time.sum()),
        p=_Ratio(ones, segments).estimate(),
        p_delivered=_Ratio(ones, segments - lost).estimate(),
        p_lost=_Ratio(lost, segments).estimate(),
        rate=rate.estimate(),
        rtt=None if rtt is None else rtt.estimate(),
        f=None if rtt is None else rate.times(rtt, 1 / (8e9 * flow.mss)),
        f_samples=_Ratio(periods(cycles.flight), samples).estimate() if samples.sum() else None,
        w=_Ratio(periods(cycles.peak), ones).estimate(),
        parity="odd" if odd >= 0.9 else "even" if odd <= 0.1 else "mixed",
        w_start=float(peaks[0]),
        w_stop=float(cycles.stop_peak[window.last - 1]),
    )


class _Ratio:
    """The ratio of two sums over cycles, and each cycle's share in its error (the delta method)."""

    def __init__(self, above: Floats, below: Floats) -> None:
        self.value = float(above.sum() / below.sum())
        self.influence: Floats = (above - self.value * below) / below.mean()

    def estimate(self) -> Estimate:
        """With Student's interval; a share of events or a rate is never below 0."""
        return _interval(self.value, self.influence)

    def times(self, other: _Ratio, scale: float) -> Estimate:
        """The product of two ratios over the same cycles."""
        influence = scale * (self.value * other.influence + other.value * self.influence)
        return _interval(scale * self.value * other.value, influence)


@lru_cache
def _factor(freedom: int) -> float:
    return t_quantile(0.5 + CONFIDENCE / 2, freedom)


def _interval(value: float, influence: Floats) -> Estimate:
    number = len(influence)
    if number < 2:
        return Estimate(value, math.nan, math.nan)
    half = _factor(min(number - 1, MOST_FREEDOM)) * float(np.std(influence, ddof=1)) / math.sqrt(number)
    return Estimate(value, max(value - half, 0.0), value + half)
