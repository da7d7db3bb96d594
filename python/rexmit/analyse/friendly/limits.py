"""What keeps a sender from sending: the receiver's window, or having nothing to send."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rexmit.analyse.friendly.cycles import Cycles
from rexmit.analyse.friendly.direction import Direction, Floats, Integers, Truths

DIP_SEGMENTS, DIP_SHARE = 3.0, 0.25
"""What is outstanding has fallen if it is this many segments and this share below its peak since the loss."""

FLAT_ROUNDS = 20
"""Round trips without loss in which a window that may grow has to be seen growing."""


@dataclass(frozen=True)
class Limits:
    """Shares of the time between losses (of `segments` for those of segments).

    `window` is the share of new segments after which less than one MSS of the advertised window was left;
    `dipped` the time with less outstanding than before although the window would have let more out; `flat`
    the time of long stretches in which what was outstanding did not grow, though neither loss nor window
    prevented it; `short` the share of new segments that are shorter than the MSS.
    """

    window: float
    dipped: float
    flat: float
    short: float
    rounds: float


@dataclass(frozen=True)
class _Timeline:
    """Packets of both sides in order: segments outstanding after each, whether the window has room."""

    number: Integers
    time: Integers
    level: Floats
    room: Truths


def limits(flow: Direction, cycles: Cycles, rows: slice) -> Limits:
    """What limited a direction; the shares of segments are those of `rows` of what was sent."""
    sent = flow.sent
    new = sent.new[rows]
    number = max(int(new.sum()), 1)
    lasting, dipped, flat, rounds = 0.0, 0.0, 0.0, 0.0
    line = _timeline(flow)
    rtt = float(np.mean(flow.rtt)) if len(flow.rtt) else 0.0
    for begin, end in _stretches(flow, cycles):
        a, b = np.searchsorted(line.number, (sent.number[begin], sent.number[end]))
        length = float(line.time[b] - line.time[a])
        if length <= 0:
            continue
        lasting += length
        level, room = line.level[a:b], line.room[a:b]
        top = np.maximum.accumulate(level)
        low = (level <= top - np.maximum(DIP_SEGMENTS, DIP_SHARE * top)) | (level == 0)
        each = np.diff(line.time[a : b + 1])
        dipped += float(each[low & room].sum())
        turns = length / rtt if rtt else 0.0
        rounds += turns
        if turns >= FLAT_ROUNDS and each[room].sum() > length / 2 and _is_flat(line.time[a:b], top, level):
            flat += length
    return Limits(
        window=float((new & (sent.room[rows] < flow.mss)).sum()) / number,
        dipped=dipped / lasting if lasting else 0.0,
        flat=flat / lasting if lasting else 0.0,
        short=float((new & (sent.bytes[rows] < flow.mss)).sum()) / number,
        rounds=rounds,
    )


def _is_flat(time: Integers, top: Floats, level: Floats) -> bool:
    """Whether the last quarter of the time goes no more than a segment above the second one."""
    quarters = np.searchsorted(time, time[0] + (time[-1] - time[0]) * np.array([0.25, 0.5, 0.75]))
    return float(level[quarters[2] :].max()) <= float(top[max(quarters[1] - 1, 0)]) + 1


def _stretches(flow: Direction, cycles: Cycles) -> Iterator[tuple[int, int]]:
    """Rows between which nothing is lost or repaired; the last one is the last new segment."""
    sent, rows = flow.sent, flow.events.row
    fresh = np.flatnonzero(sent.new)
    if not len(fresh):
        return
    last = int(fresh[-1])
    again = np.flatnonzero(~sent.new)
    first = min([last, *rows[:1].tolist(), *again[:1].tolist()])
    yield int(fresh[0]), first
    if first == last:
        return
    for begin, end in zip(cycles.recovered.tolist(), cycles.stop.tolist(), strict=True):
        if begin < end:
            yield begin, end
    edge = sent.edge[max(rows[-1:].tolist() + again[-1:].tolist())]
    done = np.searchsorted(flow.acks.highest, edge)
    if done < len(flow.acks.number):
        begin = int(np.searchsorted(sent.number, flow.acks.number[done]))
        if begin < last:
            yield begin, last


def _timeline(flow: Direction) -> _Timeline:
    sent, acks = flow.sent, flow.acks
    number = np.concatenate([sent.number, acks.number])
    order = np.argsort(number, kind="stable")
    none = np.zeros(len(acks.number), np.int64)
    edge = np.maximum.accumulate(np.concatenate([sent.edge, none])[order])
    nothing = np.zeros(len(sent.number), np.int64)
    highest = np.maximum.accumulate(np.concatenate([nothing, acks.highest])[order])
    right = np.maximum.accumulate(np.concatenate([nothing, acks.right])[order])
    return _Timeline(
        number=number[order],
        time=np.concatenate([sent.time, acks.time])[order],
        level=np.maximum(edge - highest, 0) / flow.mss,
        room=right - edge >= flow.mss,
    )
