"""Bursts and recoveries in captures at the server, and the checks of long flows that they answer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from statistics import median

import numpy as np
import rexmit
from rexmit.analyse import Check, Published, Uncovered

from .flows import Evidence

Function = Callable[[Published, Evidence], Check]
MSS = 1448
BURST_GAP = 0.6
"""A pause of more than this part of twice the delay ends a burst. The thesis counts by eye. Every threshold
from 0.53 to 0.68 gives the same counts; a lower one splits the recovery of the long flow with loss 41."""


def bursts(connection: rexmit.Connection, ms: int) -> list[tuple[int, int]]:
    """The first and the last instant of each burst of segments with data, ns."""
    sent = connection.server.segments
    times = sent.time_ns[sent.len > 0]
    ends = np.flatnonzero(np.diff(times) > BURST_GAP * 2 * ms * 1e6)
    begins = [0, *(ends + 1).tolist()]
    return [
        (int(times[a]), int(times[b])) for a, b in zip(begins, [*ends.tolist(), len(times) - 1], strict=True)
    ]


def retransmission(connection: rexmit.Connection) -> tuple[int, int]:
    """The instant of the first retransmission, and the sequence number that it repeats."""
    sent = connection.server.segments
    again = np.flatnonzero((sent.transmission > 1) & (sent.len > 0))
    if not len(again):
        raise Uncovered("nothing is sent again in this run")
    return int(sent.time_ns[again[0]]), int(sent.seq[again[0]])


def duplicates_before(connection: rexmit.Connection, position: int) -> int:
    """Duplicate ACKs that ask for the packet at a position, before it is sent again."""
    sent, acks = connection.server.segments, connection.server.acks
    lost = position - 1
    again = [i for i in range(lost + 1, len(sent.seq)) if sent.seq[i] == sent.seq[lost] and sent.len[i] > 0]
    if not again or sent.len[lost] == 0:
        raise Uncovered(f"packet {position} is not sent again")
    between = (acks.time_ns > sent.time_ns[lost]) & (acks.time_ns <= sent.time_ns[again[0]])
    return int(np.count_nonzero(between & (acks.ack == sent.seq[lost]) & (acks.duplicate > 0)))


def flight_at(connection: rexmit.Connection) -> int:
    """Bytes in flight at the first retransmission."""
    sent, acks = connection.server.segments, connection.server.acks
    at, _ = retransmission(connection)
    return int(sent.end[sent.time_ns < at].max() - acks.ack[acks.time_ns <= at].max())


def _most_in_flight(connection: rexmit.Connection) -> int:
    """The most bytes in flight up to the first retransmission."""
    sent, acks = connection.server.segments, connection.server.acks
    at, _ = retransmission(connection)
    most = 0
    for instant, end in zip(sent.time_ns, sent.end, strict=True):
        if instant < at:
            acked = acks.ack[acks.time_ns <= instant]
            most = max(most, int(end) - (int(acked.max()) if len(acked) else 0))
    return most


def _recovery(connection: rexmit.Connection) -> tuple[int, int, int]:
    """The instants of the first duplicate ACK, of the retransmission and of the ACK that repairs, ns."""
    acks = connection.server.acks
    at, seq = retransmission(connection)
    asking = acks.time_ns[(acks.ack == seq) & (acks.duplicate > 0) & (acks.time_ns <= at)]
    repaired = acks.time_ns[(acks.ack > seq) & (acks.time_ns > at)]
    if not len(asking) or not len(repaired):
        raise Uncovered("no duplicate ACK asks for the lost packet in this run")
    return int(asking[0]), at, int(repaired[0])


def _new_between(connection: rexmit.Connection, begin: int, end: int) -> int:
    sent = connection.server.segments
    new = (sent.transmission == 1) & (sent.len > 0)
    return int(np.count_nonzero(new & (sent.time_ns >= begin) & (sent.time_ns < end)))


def _limited(position: int) -> Function:
    """New segments from the first duplicate ACK to the retransmission."""

    def check(published: Published, evidence: Evidence) -> Check:
        connection = evidence.long.connection(80, 300, position)
        first, at, _ = _recovery(connection)
        return Check.of_number(published, float(_new_between(connection, first, at)))

    return check


def _inflated(position: int) -> Function:
    """New segments from the retransmission to the ACK that repairs."""

    def check(published: Published, evidence: Evidence) -> Check:
        connection = evidence.long.connection(80, 300, position)
        _, at, repaired = _recovery(connection)
        return Check.of_number(published, float(_new_between(connection, at, repaired)))

    return check


def _duplicates(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, float(duplicates_before(evidence.long.connection(80, 300, 12), 12)))


def _falls_to(published: Published, evidence: Evidence) -> Check:
    """In flight after the first ACK that follows the recovery, relative to before the loss is noticed."""
    connection = evidence.long.connection(80, 300, 50)
    sent, acks = connection.server.segments, connection.server.acks
    _, _, repaired = _recovery(connection)
    out = int(sent.end[sent.time_ns <= repaired].max() - acks.ack[acks.time_ns <= repaired].max())
    before = flight_at(connection)
    return Check.of_number(published, out / before, f"{out} of {before} bytes")


def _per_ack(published: Published, evidence: Evidence) -> Check:
    """New segments for each of the eight ACKs after the recovery: the median."""
    connection = evidence.long.connection(80, 300, 50)
    acks = connection.server.acks
    _, _, repaired = _recovery(connection)
    times = acks.time_ns[acks.time_ns >= repaired][:9].tolist()
    counts = [_new_between(connection, a, b) for a, b in pairwise(times)]
    return Check.of_number(published, float(median(counts)), ", ".join(map(str, counts)))


def _per_segment(published: Published, evidence: Evidence) -> Check:
    """New segments for each segment acknowledged by the ten ACKs before the first duplicate."""
    connection = evidence.long.connection(80, 300, 50)
    acks = connection.server.acks
    first, _, _ = _recovery(connection)
    before = np.flatnonzero(acks.time_ns < first)[-11:]
    acked = int(acks.ack[before[-1]] - acks.ack[before[0]]) / MSS
    new = _new_between(connection, int(acks.time_ns[before[0]]) + 1, int(acks.time_ns[before[-1]]) + 1)
    return Check.of_number(published, new / acked, f"{new} for {acked:.1f}")


def _flight(position: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        return Check.of_number(published, float(_most_in_flight(evidence.long.connection(80, 300, position))))

    return check


def _nothing_new(published: Published, evidence: Evidence) -> Check:
    connection = evidence.long.connection(80, 300, 84)
    at, _ = retransmission(connection)
    return Check.of_number(published, float(_new_between(connection, at, 2**62)))


def _groups(position: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        return Check.of_number(
            published, float(len(bursts(evidence.long.connection(500, 300, position), 300)))
        )

    return check


BURSTS: dict[str, Function] = {
    "P-000-28": _falls_to,
    "P-000-29": _limited(12),
    "P-000-30.41": _groups(41),
    "P-000-30.50": _groups(50),
    "P-000-88": _duplicates,
    "P-000-89": _per_ack,
    "P-000-90": _per_segment,
    "P-000-91": _inflated(50),
    "P-000-92": _flight(50),
    "P-000-93": _flight(12),
    "P-000-95": _nothing_new,
    "P-000-116": _inflated(12),
    "P-000-117": _limited(50),
}
