"""Checks of what the thesis saw in single runs, from captures at the server."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import rexmit
from rexmit.analyse import Check, Published

from .flows import Evidence, Flow

Function = Callable[[Published, Evidence], Check]
BURST_GAP = 0.6
"""A pause of more than this part of twice the delay ends a burst. The thesis counts by eye. Every threshold
from 0.53 to 0.68 gives the same counts; a lower one splits the recovery of the long flow with loss 41."""


def _bursts_short(published: Published, evidence: Evidence) -> Check:
    return _bursts(published, evidence.short, 320, (0, 8, 9, 10))


def _bursts_long(published: Published, evidence: Evidence) -> Check:
    return _bursts(published, evidence.long, 500, (41, 50))


def _bursts(published: Published, flow: Flow, kbit_s: int, positions: tuple[int, ...]) -> Check:
    counts = [_count_bursts(flow.connection(kbit_s, 300, position), 300) for position in positions]
    expected = [int(n) for n in published.value.split("/")]
    verdict = Check.of_statement(published, counts == expected, "").verdict
    worst = max((ours - theirs for ours, theirs in zip(counts, expected, strict=True)), key=abs)
    return Check(published, verdict, "/".join(map(str, counts)), float(worst))


def _count_bursts(connection: rexmit.Connection, ms: int) -> int:
    sent = connection.server.segments
    times = sent.time_ns[sent.len > 0]
    pause = BURST_GAP * 2 * ms * 1e6
    return 1 + int(np.count_nonzero(np.diff(times) > pause))


def _first_rto(published: Published, evidence: Evidence) -> Check:
    sent = evidence.short.connection(40, 5, 0).server.segments
    first = sent.seq == 1
    data = sent.time_ns[first & (sent.len > 0)]
    if len(data) < 2:
        return Check.of_statement(published, False, "the first segment is never sent again")
    note = "time from the first segment to its retransmission, both delays of 5 ms included"
    return Check.of_number(published, float(data[1] - data[0]) / 1e6, note)


def _initial_segments(published: Published, evidence: Evidence) -> Check:
    server = evidence.short.connection(40, 5, 0).server
    data = server.segments.time_ns[server.segments.len > 0]
    together = np.count_nonzero(data - data[0] < 1_000_000)
    return Check.of_number(published, float(together), "data segments sent within a millisecond of the first")


def _resent_although_received(published: Published, evidence: Evidence) -> Check:
    sent = evidence.short.connection(40, 5, 0).server.segments
    first = list(dict.fromkeys(sent.seq[sent.len > 0].tolist()))[:4]
    resent = [seq for seq in first if np.count_nonzero((sent.seq == seq) & (sent.len > 0)) > 1]
    return Check.of_number(published, float(len(resent)), "nothing was lost in this run")


def _repaired_after_one(published: Published, evidence: Evidence) -> Check:
    server = evidence.short.connection(40, 5, 13).server
    sent = server.segments
    lost = 12
    again = [i for i in range(lost + 1, len(sent.seq)) if sent.seq[i] == sent.seq[lost] and sent.len[i] > 0]
    if not again or sent.len[lost] == 0:
        return Check.of_statement(published, False, "packet 13 is not sent again")
    between = (server.acks.time_ns > sent.time_ns[lost + 1]) & (server.acks.time_ns <= sent.time_ns[again[0]])
    asking = between & (server.acks.ack == sent.seq[lost]) & (server.acks.duplicate > 0)
    duplicates = int(np.count_nonzero(asking))
    ours = f"sent again at duplicate ACK {duplicates}, instead of the third"
    return Check.of_statement(published, duplicates == 1, ours)


def _harmless(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    sent = flow.connection(40, 5, 15).server.segments
    difference = flow.time(40, 5, 15) - flow.time(40, 5, 0)
    ours = f"packet 15 carries {sent.len[14]} bytes; its loss costs {round(difference)} ms"
    return Check.of_statement(published, int(sent.len[14]) == 0 and abs(difference) <= 100, ours)


def _slow_start_after(published: Published, evidence: Evidence) -> Check:
    connection = evidence.long.connection(80, 300, 50)
    limited, after = _around_recovery(connection)
    linear = _at_buffer_limit(connection)
    ours = (
        f"{limited} new segments on the first duplicates; bytes in flight at most {linear}; "
        f"in flight after recovery {', '.join(map(str, after[:6]))} segments"
    )
    doubling = len(after) >= 3 and after[0] <= 2 and max(after) >= 4 * after[0]
    return Check.of_statement(published, limited == 0 and linear <= 33304 and doubling, ours)


def _limited_transmit(published: Published, evidence: Evidence) -> Check:
    connection = evidence.long.connection(80, 300, 12)
    limited, _ = _around_recovery(connection)
    inflated = _sent_in_recovery(connection)
    ours = f"{limited} new segments on the first two duplicates, {inflated} more before the loss is repaired"
    return Check.of_statement(published, limited == 2 and inflated > 0, ours)


def _retransmission(connection: rexmit.Connection) -> tuple[int, int]:
    """The instant of the first retransmission, and the sequence number that it repeats."""
    sent = connection.server.segments
    first = int(np.flatnonzero((sent.transmission > 1) & (sent.len > 0))[0])
    return int(sent.time_ns[first]), int(sent.seq[first])


def _around_recovery(connection: rexmit.Connection) -> tuple[int, list[int]]:
    """New segments sent from the first duplicate ACK to the retransmission, and segments in flight after."""
    sent, acks = connection.server.segments, connection.server.acks
    at, seq = _retransmission(connection)
    duplicates = acks.time_ns[(acks.ack == seq) & (acks.duplicate > 0) & (acks.time_ns <= at)]
    new = (sent.transmission == 1) & (sent.len > 0)
    limited = int(np.count_nonzero(new & (sent.time_ns >= duplicates[0]) & (sent.time_ns < at)))
    repaired = acks.time_ns[(acks.ack > seq) & (acks.time_ns > at)]
    flights = []
    for instant in repaired[1:30]:
        out = sent.end[new & (sent.time_ns <= instant)].max() - acks.ack[acks.time_ns <= instant].max()
        flights.append(round(int(out) / 1448))
    return limited, flights


def _sent_in_recovery(connection: rexmit.Connection) -> int:
    sent, acks = connection.server.segments, connection.server.acks
    at, seq = _retransmission(connection)
    end = acks.time_ns[(acks.ack > seq) & (acks.time_ns > at)][0]
    return int(
        np.count_nonzero(
            (sent.transmission == 1) & (sent.len > 0) & (sent.time_ns > at) & (sent.time_ns < end)
        )
    )


def _at_buffer_limit(connection: rexmit.Connection) -> int:
    """The most bytes in flight up to the first retransmission."""
    sent, acks = connection.server.segments, connection.server.acks
    at, _ = _retransmission(connection)
    most = 0
    for instant, end in zip(sent.time_ns, sent.end, strict=True):
        if instant < at:
            acked = acks.ack[acks.time_ns <= instant]
            most = max(most, int(end) - (int(acked.max()) if len(acked) else 0))
    return most


PACKETS: dict[str, Function] = {
    "P-000-16": _bursts_short,
    "P-000-17": _first_rto,
    "P-000-18": _initial_segments,
    "P-000-19": _resent_although_received,
    "P-000-21": _repaired_after_one,
    "P-000-22": _harmless,
    "P-000-28": _slow_start_after,
    "P-000-29": _limited_transmit,
    "P-000-30": _bursts_long,
}
