"""Checks of what the thesis saw in the packets of short flows, from captures at the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

import numpy as np
import rexmit
from rexmit.analyse import Check, Published, Uncovered

from .bursts import bursts, duplicates_before, flight_at, retransmission
from .flows import Evidence, Flow, Pair
from .regions import name

Function = Callable[[Published, Evidence], Check]
MSS = 1448
"""Bytes of a full segment (section 3.2.3)."""
SYN = 0x02
SAMPLED = (40, 160, 1000, 10000), (5, 60, 300)
"""Paths of which captures are read where a statement speaks of all: bandwidths and delays."""


def _sampled(flow: Flow, rates: Iterable[int] = SAMPLED[0]) -> list[Pair]:
    """Those of them that were run. Raises Uncovered for none."""
    there = set(flow.paths())
    found = [path for path in product(rates, SAMPLED[1]) if path in there]
    if not found:
        raise Uncovered("these results have none of the paths of which captures are read")
    return found


def _first_timeout(connection: rexmit.Connection) -> int | None:
    """When the first segment with data is sent again, ns."""
    sent = connection.server.segments
    again = sent.time_ns[(sent.seq == 1) & (sent.len > 0)]
    return int(again[1]) if len(again) > 1 else None


def _slow(evidence: Evidence) -> tuple[rexmit.Connection, int]:
    """The flow at 40 kbit/s and 5 ms without loss, and the instant of its first timeout."""
    connection = evidence.short.connection(40, 5, 0)
    timeout = _first_timeout(connection)
    if timeout is None:
        raise Uncovered("the first segment is never sent again at 40 kbit/s, 5 ms")
    return connection, timeout


def _timeout_before_ack(published: Published, evidence: Evidence) -> Check:
    """How long after the first timeout the ACK of its segment arrives, ms; below 0 without a timeout."""
    connection = evidence.short.connection(40, 5, 0)
    acks = connection.server.acks
    acked = int(acks.time_ns[acks.ack > 1][0])
    timeout = _first_timeout(connection)
    if timeout is None:
        return Check.of_number(published, -1, "the first segment is never sent again")
    sent = connection.server.segments
    first = int(sent.time_ns[(sent.seq == 1) & (sent.len > 0)][0])
    note = f"sent again after {(timeout - first) / 1e6:.1f} ms, its ACK after {(acked - first) / 1e6:.1f} ms"
    return Check.of_number(published, (acked - timeout) / 1e6, note)


def _samples_before(published: Published, evidence: Evidence) -> Check:
    connection, timeout = _slow(evidence)
    return Check.of_number(published, float(np.count_nonzero(connection.server.acks.time_ns < timeout)))


def _initial(full: bool) -> Function:
    """Segments with data within a millisecond of the first; the count farthest from the published one."""

    def check(published: Published, evidence: Evidence) -> Check:
        flow = evidence.short
        counts = {}
        for path in _sampled(flow):
            sent = flow.connection(*path, 0).server.segments
            counted = sent.len == MSS if full else sent.len > 0
            first = sent.time_ns[sent.len > 0][0]
            counts[path] = int(np.count_nonzero(counted & (sent.time_ns - first < 1_000_000)))
        path = max(counts, key=lambda one: abs(published.difference(counts[one])))
        note = f"on {len(counts)} paths, farthest at {name(path)}"
        return Check.of_number(published, float(counts[path]), note)

    return check


def _syn_ack_again(published: Published, evidence: Evidence) -> Check:
    """From the SYN-ACK that is lost to the next one, ms."""
    sent = evidence.short.connection(1000, 10, 1).server.segments
    again = sent.time_ns[sent.has(SYN)]
    if len(again) < 2:
        raise Uncovered("the SYN-ACK is never sent again in this run")
    return Check.of_number(published, float(again[1] - again[0]) / 1e6)


def _resent_although_received(published: Published, evidence: Evidence) -> Check:
    sent = evidence.short.connection(40, 5, 0).server.segments
    first = list(dict.fromkeys(sent.seq[sent.len > 0].tolist()))[:4]
    resent = [seq for seq in first if np.count_nonzero((sent.seq == seq) & (sent.len > 0)) > 1]
    return Check.of_number(published, float(len(resent)), "nothing was lost in this run")


def _without_data(kbit_s: int, ms: int) -> Function:
    """Packets of the server without data, in a run without loss."""

    def check(published: Published, evidence: Evidence) -> Check:
        sent = evidence.short.connection(kbit_s, ms, 0).server.segments
        return Check.of_number(published, float(np.count_nonzero(sent.len == 0)))

    return check


def _full_segment(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, float(evidence.short.connection(1000, 10, 0).server.segments.len.max()))


def _repaired_after(kbit_s: int, ms: int, position: int) -> Function:
    """Duplicate ACKs before the lost packet is sent again."""

    def check(published: Published, evidence: Evidence) -> Check:
        connection = evidence.short.connection(kbit_s, ms, position)
        return Check.of_number(published, float(duplicates_before(connection, position)))

    return check


def _bytes_lost(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, float(evidence.short.connection(40, 5, 15).server.segments.len[14]))


def _harm(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    return Check.of_number(published, flow.time(40, 5, 15) - flow.time(40, 5, 0))


def _long_wait(published: Published, evidence: Evidence) -> Check:
    """How long packet 14 waits for its timer, in times of the first timeout of the run without loss."""
    connection, timeout = _slow(evidence)
    sent = connection.server.segments
    first = int(sent.time_ns[(sent.seq == 1) & (sent.len > 0)][0])
    lost = evidence.short.connection(40, 5, 14).server.segments
    again = lost.time_ns[(lost.seq == lost.seq[13]) & (lost.len > 0) & (lost.time_ns > lost.time_ns[13])]
    if not len(again):
        return Check.of_number(published, 0.0, "packet 14 is never sent again")
    wait, rto = int(again[0] - lost.time_ns[13]) / 1e6, (timeout - first) / 1e6
    return Check.of_number(published, wait / rto, f"{wait:.0f} ms against {rto:.0f} ms")


def _windows(ms: int) -> Function:
    """How many windows the client's ACKs advertise at 160 kbit/s, without loss, from the first data on."""

    def check(published: Published, evidence: Evidence) -> Check:
        acks = evidence.short.connection(160, ms, 0).server.acks
        data = acks.ack > 1
        windows = np.unique((acks.window_edge - acks.ack)[data])
        return Check.of_number(published, float(len(windows)), f"{windows.min()} to {windows.max()} bytes")

    return check


def _groups(position: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        connection = evidence.short.connection(320, 300, position)
        return Check.of_number(published, float(len(bursts(connection, 300))))

    return check


def _same_group(published: Published, evidence: Evidence) -> Check:
    """Groups between the retransmission of packet 9 and the last new segment."""
    connection = evidence.short.connection(320, 300, 9)
    sent = connection.server.segments
    at, _ = retransmission(connection)
    last = int(sent.time_ns[(sent.transmission == 1) & (sent.len > 0)].max())
    found = bursts(connection, 300)
    return Check.of_number(published, float(abs(_group_of(found, at) - _group_of(found, last))))


def _group_of(groups: list[tuple[int, int]], instant: int) -> int:
    return sum(end < instant for _, end in groups)


def _after_the_last(published: Published, evidence: Evidence) -> Check:
    """How long after the last new segment packet 10 is sent again, ms."""
    connection = evidence.short.connection(320, 300, 10)
    sent = connection.server.segments
    at, _ = retransmission(connection)
    last = int(sent.time_ns[(sent.transmission == 1) & (sent.len > 0)].max())
    return Check.of_number(published, (at - last) / 1e6)


def _opened_more(published: Published, evidence: Evidence) -> Check:
    """Bytes in flight at the retransmission, with packet 9 lost less with packet 8 lost."""
    flights = [flight_at(evidence.short.connection(320, 300, position)) for position in (8, 9)]
    return Check.of_number(
        published, float(flights[1] - flights[0]), f"{flights[1]} against {flights[0]} bytes"
    )


def _least_wait(published: Published, evidence: Evidence) -> Check:
    """From the last progress before a retransmission by the timer to it, the least over paths, ms."""
    flow = evidence.short
    waits = {}
    for path in _sampled(flow, (80, 1000, 10000)):
        connection = flow.connection(*path, 18)
        at, seq = retransmission(connection)
        sent, acks = connection.server.segments, connection.server.acks
        original = int(sent.time_ns[(sent.seq == seq) & (sent.len > 0)][0])
        moved = acks.time_ns[(acks.duplicate == 0) & (acks.time_ns < at) & (acks.ack <= seq)]
        waits[path] = (at - max(original, int(moved.max()))) / 1e6
    path = min(waits, key=lambda one: waits[one])
    return Check.of_number(published, waits[path], f"at {name(path)}, packet 18, of {len(waits)} paths")


PACKETS: dict[str, Function] = {
    "P-000-16.0": _groups(0),
    "P-000-16.8": _groups(8),
    "P-000-16.9": _groups(9),
    "P-000-16.10": _groups(10),
    "P-000-18": _initial(full=False),
    "P-000-19": _resent_although_received,
    "P-000-21": _repaired_after(40, 5, 13),
    "P-000-22": _harm,
    "P-000-39": _timeout_before_ack,
    "P-000-40": _samples_before,
    "P-000-62": _without_data(40, 5),
    "P-000-64": _long_wait,
    "P-000-67": _windows(5),
    "P-000-69": _same_group,
    "P-000-70": _after_the_last,
    "P-000-71": _opened_more,
    "P-000-105": _least_wait,
    "P-000-109": _full_segment,
    "P-000-110": _without_data(1000, 10),
    "P-000-115": _bytes_lost,
    "P-000-118": _windows(300),
    "P-000-119": _repaired_after(1000, 100, 6),
    "P-000-120": _initial(full=True),
    "P-000-121": _syn_ack_again,
}
