"""Connections written down row by row, for tests of drawing alone."""

from __future__ import annotations

import numpy as np
from rexmit.plot.connections import ACK, FIN, PSH, SYN, Acks, Connection, Sacks, Segments, Side

MS = 1_000_000
MSS = 1448


def segments(rows: list[tuple[float, int, int, int, int, bool, str | None]]) -> Segments:
    """Rows of (ms, seq, len, flags, transmission, late, note)."""
    length = np.array([row[2] for row in rows], dtype=np.int64)
    flags = np.array([row[3] for row in rows], dtype=np.int64)
    seq = np.array([row[1] for row in rows], dtype=np.int64)
    return Segments(
        time_ns=np.array([row[0] * MS for row in rows], dtype=np.int64),
        seq=seq,
        end=seq + length + ((flags & SYN) != 0) + ((flags & FIN) != 0),
        len=length,
        flags=flags,
        transmission=np.array([row[4] for row in rows], dtype=np.int64),
        late=np.array([row[5] for row in rows], dtype=np.bool_),
        damaged=np.zeros(len(rows), dtype=np.bool_),
        note=[row[6] for row in rows],
    )


def acks(rows: list[tuple[float, int, int, int]]) -> Acks:
    """Rows of (ms, ack, window, duplicate)."""
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    ack, window = table[:, 1].astype(np.int64), table[:, 2].astype(np.int64)
    return Acks(
        time_ns=(table[:, 0] * MS).astype(np.int64),
        ack=ack,
        window_edge=ack + window,
        len=np.zeros(len(rows), dtype=np.int64),
        duplicate=table[:, 3].astype(np.int64),
        note=[None] * len(rows),
    )


def sacks(rows: list[tuple[float, int, int, int]]) -> Sacks:
    """Rows of (ms, left, right, row of the acknowledgment)."""
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return Sacks(
        time_ns=(table[:, 0] * MS).astype(np.int64),
        left=table[:, 1].astype(np.int64),
        right=table[:, 2].astype(np.int64),
        ack_row=table[:, 3].astype(np.int64),
        duplicate=np.zeros(len(rows), dtype=np.bool_),
    )


def connection(server: tuple[Segments, Acks, Sacks]) -> Connection:
    """A connection in which the server sends, and the client does not show."""
    sent = int(server[0].len.sum())
    nothing = Side("client", "10.0.1.1:40000", 0, segments([]), acks([]), sacks([]))
    return Connection("server", 0, 10**9, 1, nothing, Side("server", "10.0.2.2:80", sent, *server))


def lost_segment() -> Connection:
    """Ten segments, the fourth dropped and sent again at the third duplicate acknowledgment."""
    at = [1 + i * MSS for i in range(11)]
    sent = [(0.0, 0, 0, SYN | ACK, 1, False, None)]
    sent += [(40.0 + 12 * i, at[i], MSS, ACK, 1, False, None) for i in range(10)]
    sent[4] = (*sent[4][:6], "dropped by pattern at position 5")
    sent[10] = (*sent[10][:3], ACK | PSH, 1, False, None)
    sent += [(225.0, at[3], MSS, ACK, 2, False, None), (240.0, at[10], 0, ACK | FIN, 1, False, None)]
    sent += [(340.0, at[10] + 1, 0, ACK, 1, False, None)]
    got = [(40.0, 1, 14_000, 0), (120.0, at[1], 14_000, 0), (144.0, at[3], 14_000, 0)]
    got += [(190.0 + 12 * i, at[3], 14_000, i + 1) for i in range(6)]
    got += [(320.0, at[10], 14_000, 0), (335.0, at[10] + 1, 14_000, 0)]
    blocks = [(190.0 + 12 * i, at[4], at[5 + i], 3 + i) for i in range(6)]
    return connection((segments(sent), acks(got), sacks(blocks)))
