"""The sawtooth of one flow (part `one`): its cycles, by drops and queue over time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl
from rexmit import Results
from rexmit.analyse import Uncovered

from .evidence import QUEUES, line_of

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.intp]
CAPACITY = 1000.0
"""C of appendix B, packets a second."""
PIPE = 142.0
"""RTT x C, packets."""
APART = 1.0
"""Drops so far apart, s, are of different cycles: several round trips, and less than any cycle here."""


@dataclass(frozen=True)
class Sawtooth:
    """The whole cycles of a run. Times in s, from the middle of an interval of 0.1 s."""

    buffer: float
    times: Floats
    queue: Floats
    passed: Floats
    """Packets that passed in each interval."""
    events: Floats
    """When a packet was dropped: once a cycle, those of the slow start left out."""

    @classmethod
    def of(cls, results: Results, buffer: int) -> Sawtooth:
        """That of the run with this buffer. Raises Uncovered where there is none, or too few cycles."""
        rows = line_of(results.links(over_time=True), "line")
        rows = rows.filter(pl.col(QUEUES["one"]) == f"{buffer} packets").sort("from_ns")
        if rows.is_empty():
            raise Uncovered(f"no run with {buffer} packets")
        times = (rows["from_ns"] + rows["to_ns"]).to_numpy() / 2e9
        drops = times[(rows["drops"] > 0).to_numpy()]
        starts = drops[np.insert(np.diff(drops) > APART, 0, True)]
        # The first is the overshoot of slow start, and the second cycle begins where that left the window.
        events = starts[2:]
        if len(events) < 3:
            raise Uncovered(f"fewer than two whole cycles with {buffer} packets")
        queue = rows["queue_packets_mean"].to_numpy()
        return cls(buffer, times, queue, rows["passed_bytes"].to_numpy() / 1500, events)

    @property
    def period(self) -> float:
        """The mean of the cycles."""
        return float(np.diff(self.events).mean())

    @property
    def utilisation(self) -> float:
        """Percent of the line over the whole cycles."""
        inside = (self.times > self.events[0]) & (self.times < self.events[-1])
        return float(100 * self.passed[inside].mean() / (CAPACITY * 0.1))

    def least(self) -> float:
        """The shortest queue of the whole cycles."""
        inside = (self.times > self.events[0]) & (self.times < self.events[-1])
        return float(self.queue[inside].min())

    def from_formula(self) -> float:
        """How far the queue is from (10) at most, in any cycle, from its lowest queue to the next drop."""
        return max(float(np.abs(queue - formula).max()) for _, queue, formula in self.cycles())

    def cycles(self) -> list[tuple[Floats, Floats, Floats]]:
        """Of each: times since its lowest queue, the queue, and (10), which begins with that queue."""
        found = []
        for inside in self._rises():
            at, queue = self.times[inside] - self.times[inside[0]], self.queue[inside]
            found.append((at, queue, np.sqrt(2 * CAPACITY * at + (PIPE + queue[0]) ** 2) - PIPE))
        return found

    def lowest(self) -> list[float]:
        """When the queue of each cycle is lowest."""
        return [float(self.times[inside[0]]) for inside in self._rises()]

    def _rises(self) -> list[Integers]:
        """The intervals of each cycle, from its lowest queue to the next drop."""
        found = []
        for begin, end in pairwise(self.events):
            inside = np.flatnonzero((self.times > begin) & (self.times < end - 0.1))
            found.append(inside[int(np.argmin(self.queue[inside])) :])
        return found


def buffers(results: Results) -> list[int]:
    """The buffers of the part, packets."""
    return sorted(int(level.split()[0]) for level in results.table()[QUEUES["one"]].unique())
