"""What the columns of the tables in a results folder mean: metadata in the files, and the reference.

Each dictionary is a table: the names of its columns in their order, and what they mean, with the unit.
"""

from __future__ import annotations

from collections.abc import Mapping

Meanings = Mapping[str, str]

RUN: Meanings = {
    "run": "number of the run in the design, from 0",
    "replication": "number among the runs with the same levels, from 0",
}
"""How every table of a study begins; the columns of the factors follow."""

RESPONSES: Meanings = {
    "completed": "true when every transfer ended",
    "time_ns": "ns from the opener's connect() to the receiver's end of stream or the last response's end",
    "bytes": "bytes delivered to the receiving applications, requests and responses both",
    "packets_down": "packets offered to the path, server to client",
    "packets_up": "packets offered to the path, client to server",
    "data_segments": "first transmissions of data by both hosts: TCP's segments, SCTP's chunks",
    "retransmits": "segments or chunks with data sent again by both hosts, for whatever reason",
    "timeouts": "expiries of retransmission timers at both hosts, those of SYN and SYN-ACK included",
    "timeouts_server": "expiries of the server's alone",
    "fast_retransmits": "entries of both hosts into fast recovery; of SCTP, fast retransmits",
    "drops_down": "packets that the path dropped, server to client",
    "drops_up": "packets that the path dropped, client to server",
    "unreached_down": "patterns of the path, server to client, that met no packet: what they stand for never "
    "happened",
    "unreached_up": "patterns of the path, client to server, that met no packet",
    "deliveries": "packets delivered to a host",
    "virtual_ns": "virtual time at which the run ended, that of closing included; ns",
    "error": "why the run failed, null where it did not",
}
"""The responses of a run."""

LATENESS: Meanings = {
    "late_max_ns": "how late a real kernel's emulator was at most when it handed a packet over; ns",
    "late_p99_ns": "how late it was at the 99th percentile; ns",
    "late": "true where that is more than 1 % of the round trip: do not trust the run's times",
}
"""Of runs on a real kernel, behind the responses."""

MERGED: Meanings = {
    "seed": "of merged results: the seed of the run",
    "seed_replication": "of merged results: the run's replication under that seed, from 0",
}
"""Of merged results, where one seed and the replication do not tell runs apart."""

RUNS: Meanings = {**RUN, **RESPONSES, **LATENESS, **MERGED}
"""Every column of `runs.parquet` but those of the factors."""

_HOST = "server or client"
_NOBODY = "the largest number of 64 bits where nobody knows"

STATE: Meanings = {
    "time_ns": "time since the start of the run, ns",
    "host": f"{_HOST}: whose state it is",
    "connection": "number of the connection, from 0",
    "state": "of the connection, as RFC 9293 or RFC 9260 calls it, such as ESTABLISHED",
    "phase": "of the recovery: open, disorder, recovery or loss",
    "cwnd": "congestion window, bytes",
    "ssthresh": "slow-start threshold, bytes; the largest number of 64 bits where it is unlimited",
    "in_flight": "bytes sent and not acknowledged cumulatively",
    "snd_wnd": "window that the peer allows, bytes",
    "send_queue": "bytes in the send buffer, sent or not",
    "recv_queue": "bytes in order that the application has not read",
    "srtt_ns": f"smoothed round-trip time, ns; {_NOBODY}",
    "rttvar_ns": f"its variation, ns; {_NOBODY}",
    "rto_ns": "retransmission timeout as it would be set now, ns",
    "retransmits": "segments with data sent again so far",
    "timeouts": f"expiries of the retransmission timer so far; {_NOBODY}",
    "fast_retransmits": f"entries into fast recovery so far; {_NOBODY}",
}
"""A host's state over time."""

VERDICTS: Meanings = {
    "time_ns": "when the packet was offered to the path, ns since the start of the run",
    "direction": "down: server to client; up: client to server",
    "position": "number of the packet in its direction, from 1",
    "ip_bytes": "length of the IP packet, bytes",
    "payload_bytes": "bytes of data in it",
    "flags": "of TCP: the bits of its flags, FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128",
    "seq": "of TCP: sequence number as the packet carries it",
    "ack": "of TCP: acknowledgment number as the packet carries it",
    "dropped": "true where the packet did not pass",
    "verdict": "what the path did to it, and why",
}
"""What the path did to each packet."""

TRANSMISSIONS: Meanings = {
    "time_ns": "when it was sent, ns since the start of the run",
    "host": f"{_HOST}: who sent it",
    "connection": "number of the connection, from 0",
    "position": "number of the packet in its direction, from 1",
    "ident": "IP identification: number of the packet in its connection and direction, its low 16 bits",
    "seq": "first sequence number, from the SYN, which is 0; of a chunk its TSN, from the initial one",
    "chunk": "of SCTP: place among the DATA chunks of its packet, from 0; null of TCP",
    "payload_bytes": "bytes of data",
    "flags": "of TCP: the bits of its flags, as in verdicts",
    "reason": "why it was sent: new, timeout, fast, tail-probe, sack-recovery and others",
    "backoff": "of a timeout, SYN or SYN-ACK: expiries of the timer in a row",
    "duplicates": "of a fast retransmit: duplicate acknowledgments in a row, or missing reports",
    "transmission": "how often its most repeated byte had been sent, this time included: 1 is new",
    "earlier": "what became of earlier copies: none (it is the first), lost, on-its-way, there",
    "arrived_ns": "when it arrived first, ns; the largest number of 64 bits where it did not",
}
"""Why a model sent each packet (TCP) or DATA chunk (SCTP)."""

MESSAGE_TRACE: Meanings = {
    "connection": "number of the connection, from 0",
    "host": f"{_HOST}: who sends",
    "number": "number of the message, from 0",
    "written_ns": "when the application wrote it, ns since the start of the run",
    "bytes": "its length",
    "delivered_ns": "when the other application had read it, ns; the largest number of 64 bits for never",
}
"""Every message of a run."""

SINGLE_RUNS: Mapping[str, Meanings] = {
    "state": STATE,
    "verdicts": VERDICTS,
    "transmissions": TRANSMISSIONS,
    "messages": MESSAGE_TRACE,
}
"""Tables of one run, by their kind."""


def of_factor(column: str, setting: str) -> str:
    """What a column of a factor means: `path.rate`, and as a number `path.rate_bit_s` or `path.rate_ns`."""
    if column == setting:
        return f"level of {setting}, as the study writes it"
    unit = "bit/s" if column.endswith("_bit_s") else "ns"
    return f"level of {setting} as a number; {unit}"
