"""Measurement windows drawn at random: what the choice of begin and end by eye does to p and F."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rexmit.analyse.friendly import Judged
from rexmit.analyse.friendly.direction import Floats, Integers

DRAWN = 200
"""Windows of a connection."""
SEED = 2005
LEAST_CYCLES = 6
"""Cycles that a connection must have: half of them are in each window."""


@dataclass(frozen=True)
class Spread:
    """p and F over random windows, and how many cycles the connection has."""

    p: Floats
    f: Floats
    cycles: int

    @property
    def percent(self) -> float:
        """Half the width of the central 95 % of p, in percent of the median."""
        low, middle, high = np.quantile(self.p, (0.025, 0.5, 0.975))
        return float(50 * (high - low) / middle)

    @property
    def slope(self) -> float:
        """Of ln F over ln p; NaN where p does not vary, or a window has no event."""
        if self.p.min() <= 0 or self.f.min() <= 0 or np.ptp(self.p) < 1e-9 * self.p.max():
            return float("nan")
        return float(np.polyfit(np.log(self.p), np.log(self.f), 1)[0])


def random_windows(one: Judged) -> tuple[Spread | None, Spread | None]:
    """Windows of half the cycles and more: those with equal cwnd at both ends, and any."""
    cycles = one.cycles
    if len(cycles) < LEAST_CYCLES or one.measured is None:
        return None, None
    first, last = int(cycles.start[1]), int(cycles.stop[-1])
    draw = np.random.default_rng(SEED)
    begins = draw.integers(first, (first + last) // 2, DRAWN)
    cwnd = one.flow.level
    equal, other = [], []
    for begin in begins:
        least = int(begin) + (last - first) // 2
        alike = least + np.flatnonzero(cwnd[least:last] == cwnd[begin])
        if len(alike):
            equal.append((int(begin), int(draw.choice(alike))))
        other.append((int(begin), int(draw.integers(least, last))))
    return tuple(_spread(one, np.array(chosen, dtype=np.int64)) for chosen in (equal, other))  # type: ignore[return-value]


def _spread(one: Judged, ends: Integers) -> Spread | None:
    """Of each window p, events / segments, and F, rate x mean RTT / MSS."""
    if not len(ends):
        return None
    flow, sent = one.flow, one.flow.sent
    event, payload, rtt, samples = (np.zeros(len(sent.time), np.int64) for _ in range(4))
    np.add.at(event, flow.events.row, 1)
    payload[sent.new] = sent.bytes[sent.new]
    rtt[flow.rtt_row], samples[flow.rtt_row] = flow.rtt, 1

    def within(values: Integers) -> Floats:
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])
        found: Floats = (total[ends[:, 1]] - total[ends[:, 0]]).astype(np.float64)
        return found

    seconds = (sent.time[ends[:, 1]] - sent.time[ends[:, 0]]) / 1e9
    mean_rtt = within(rtt) / within(samples) / 1e9
    f = within(payload) / seconds * mean_rtt / flow.mss
    return Spread(within(event) / within(sent.segments), f, len(one.cycles))
