"""Congestion-avoidance cycles between loss events, and the choice of a window of cycles in equilibrium."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from rexmit.analyse.friendly.direction import Direction, Floats, Integers, Truths

SPREADS = (0.05, 0.1, 0.2)
"""How much larger the greatest peak W of a window may be than its least one, where that is over a segment."""

NEARLY_ALL = 0.9
"""Of the cycles alike by the loosest of `SPREADS`: what a tighter one has to keep to be preferred."""

LEAST_CYCLES = 3
"""Cycles alike in a row below which nothing is measured."""

LEAST_SHARE = 0.5
"""Of all cycles after the first loss event: what a window has to hold for the flow to be in equilibrium."""


@dataclass(frozen=True)
class Cycles:
    """Cycles of a direction; one runs from the packet that was lost first to the next event's.

    At that packet the window is at its peak, so that a whole number of cycles begins and ends at equal cwnd.
    `start` and `stop` are rows of `Sent`, `peak` is W in segments at the start (`stop_peak` at the stop),
    `recovered` the row from which on the window grows again, `timeout` says that a timer was needed.
    Sums over a cycle: `segments` sent, segments `lost`, `payload` bytes sent for the first time, all `sent`
    bytes, `time` in ns; `rtt` (ns) and `flight` (segments) over the `samples` unambiguous RTT samples.
    """

    start: Integers
    stop: Integers
    recovered: Integers
    peak: Floats
    stop_peak: Floats
    lost: Integers
    timeout: Truths
    segments: Integers
    payload: Integers
    sent: Integers
    time: Integers
    samples: Integers
    rtt: Integers
    flight: Floats

    def __len__(self) -> int:
        return len(self.start)


@dataclass(frozen=True)
class Window:
    """The cycles chosen for a measurement, `first` to `last`, last excluded."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first

    @property
    def slice(self) -> slice:
        """For arrays of cycles."""
        return slice(self.first, self.last)


def find_cycles(flow: Direction) -> Cycles:
    """The cycles between the loss events of a direction; what precedes the first event is none."""
    sent, events = flow.sent, flow.events
    keep = np.flatnonzero(np.diff(events.row, prepend=-1) > 0)
    rows = events.row[keep]
    start, stop = rows[:-1], rows[1:]
    peaks = np.round(flow.level[rows])

    def sums(values: Integers) -> Integers:
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
        found: Integers = total[stop] - total[start]
        return found

    samples, rtt, flight = (np.zeros(len(sent.time), np.int64) for _ in range(3))
    samples[flow.rtt_row] = 1
    rtt[flow.rtt_row] = flow.rtt
    flight[flow.rtt_row] = sent.outstanding[flow.rtt_row]
    fresh = np.diff(sent.edge, prepend=sent.edge[:1] - sent.bytes[:1])
    return Cycles(
        start=start,
        stop=stop,
        recovered=_recovered(flow, start, stop),
        peak=peaks[:-1],
        stop_peak=peaks[1:],
        lost=events.lost[keep][:-1],
        timeout=events.timeout[keep][:-1],
        segments=sums(sent.segments),
        payload=sums(fresh),
        sent=sums(sent.bytes),
        time=sent.time[stop] - sent.time[start],
        samples=sums(samples),
        rtt=sums(rtt),
        flight=sums(flight) / flow.mss,
    )


def choose_window(cycles: Cycles) -> Window | None:
    """The longest run of cycles alike, cut to begin and end at the same W where most of it remains.

    Alike are consecutive cycles of which the greatest peak W is no more than a spread above the least one, or
    one segment, and the greatest number of segments no more than about twice that share above the least one:
    a cycle's segments grow as the square of W. The spread is the tightest of `SPREADS` that keeps nearly all
    of what the loosest does. What precedes equilibrium is in no run: slow start, the cycle after the first
    loss event, which ended it, and a cycle that began with a timeout. Nothing where fewer than
    `LEAST_CYCLES` are alike.
    """
    good = ~cycles.timeout
    good[:1] = False
    stretches = _stretches(good)
    runs = [
        max((_longest(cycles, a, b, spread) for a, b in stretches), key=len, default=Window(0, 0))
        for spread in SPREADS
    ]
    best = next(run for run in runs if len(run) >= NEARLY_ALL * len(runs[-1]))
    if len(best) < LEAST_CYCLES:
        return None
    equal = _equal_ends(cycles, best)
    return equal if len(equal) >= max(LEAST_CYCLES, len(best) / 2) else best


def in_recovery(flow: Direction, cycles: Cycles, numbers: Integers) -> Truths:
    """Whether packets of these numbers lie between a loss event and the end of its repair.

    Of the last event nothing bounds the repair: all that follows it counts.
    """
    sent, rows = flow.sent, flow.events.row
    found: Truths = np.zeros(len(numbers), dtype=bool)
    if len(rows):
        found |= numbers >= sent.number[int(rows.max())]
    if len(cycles):
        at = np.searchsorted(sent.number[cycles.start], numbers, side="right") - 1
        until = np.append(sent.number, np.iinfo(np.int64).max)[cycles.recovered]
        found |= (at >= 0) & (numbers < until[np.maximum(at, 0)])
    return found


def _longest(cycles: Cycles, first: int, last: int, spread: float) -> Window:
    """Two ends move over the cycles; queues in order keep the least and the greatest between them."""
    best, begin = Window(first, first), first
    peaks, counts = _Extremes(cycles.peak), _Extremes(cycles.segments.astype(np.float64))
    for at in range(first, last):
        peaks.take(at)
        counts.take(at)
        while not _alike(peaks, counts, spread):
            begin += 1
            peaks.forget(begin)
            counts.forget(begin)
        if at + 1 - begin > len(best):
            best = Window(begin, at + 1)
    return best


def _alike(peaks: _Extremes, counts: _Extremes, spread: float) -> bool:
    (low, high), (few, many) = peaks.both, counts.both
    share = max(spread, 1 / max(low, 1.0))
    return high <= low * (1 + share) and many <= few * (1 + share) ** 2


def _equal_ends(cycles: Cycles, run: Window) -> Window:
    """The longest part of the run whose W is the same at its beginning and at its end."""
    heights = [*cycles.peak[run.slice].tolist(), float(cycles.stop_peak[run.last - 1])]
    first: dict[float, int] = {}
    best = Window(run.first, run.first)
    for at, height in enumerate(heights):
        begin = first.setdefault(height, at)
        if at - begin > len(best):
            best = Window(run.first + begin, run.first + at)
    return best


def _stretches(good: Truths) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _recovered(flow: Direction, start: Integers, stop: Integers) -> Integers:
    """The first row after all that was outstanding at the cycle's last retransmission was acknowledged."""
    sent = flow.sent
    again = np.flatnonzero(~sent.new)
    last = np.searchsorted(again, stop) - 1
    row = np.where(last >= 0, again[np.maximum(last, 0)], start) if len(again) else start
    row = np.maximum(row, start)
    acked = np.searchsorted(flow.acks.highest, sent.edge[row])
    late = len(sent.number)
    numbers = np.append(flow.acks.number, np.iinfo(np.int64).max)
    found: Integers = np.searchsorted(sent.number, numbers[np.minimum(acked, len(numbers) - 1)])
    return np.minimum(found, late)


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
