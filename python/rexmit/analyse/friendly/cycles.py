"""Congestion-avoidance cycles: what lies between loss events."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rexmit.analyse.friendly.direction import Direction, Floats, Integers, Truths


@dataclass(frozen=True)
class Cycles:
    """Cycles of a direction; one runs from the first lost packet of an event to that of the next event.

    At that packet the window is at its peak, so that a whole number of cycles begins and ends at equal cwnd.
    `start` and `stop` are rows of `Sent`, `peak` is W in segments at the start (`stop_peak` at the stop),
    `recovered` the row from which the window grows again, `timeout` says that a timer was needed.
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


def find_cycles(flow: Direction) -> Cycles:
    """The cycles between the loss events of a direction; what precedes the first event is not one."""
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


def in_recovery(flow: Direction, cycles: Cycles, numbers: Integers) -> Truths:
    """Whether packets of these numbers lie between a loss event and the end of its repair.

    Nothing bounds the repair of the last event: all that follows it counts.
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
