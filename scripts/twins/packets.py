"""What a capture shows, in a form that two backends can be compared in."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from rexmit.analyse.captures import Options, Reading
from rexmit.tables.arrow import values_of

ENHANCED_PACKET, IP_HEADER = 6, 28
"""In pcapng: a block that holds a packet, and where in it the packet begins."""

PUSH = 8
"""The control bit that is not compared: it says how a sender cut its packets."""

ECN = 8
"""The bits by which the ECN field of the IP header is shifted to stand beside the flags."""

FIELDS = ("side", "seq", "len", "flags", "ack", "connection")


@dataclass(frozen=True)
class Seen:
    """The packets at the server, in order; in the same nanosecond, those that arrive before those that leave.

    `times` are ns since the first packet. `packets` has a row for each: side (0 the client, 1 the server),
    relative sequence number, bytes of data, flags except PSH and above them (`ECN`) the IP header's field,
    relative acknowledgment number (-1 for none), connection.
    `causes` gives the cause of each retransmission by its row, `numbers` how often its data had been sent.
    """

    times: npt.NDArray[np.int64]
    packets: npt.NDArray[np.int64]
    causes: dict[int, str]
    numbers: dict[int, int]
    needless: int


SEGMENTS = ("number", "side", "seq", "len", "flags", "ack", "connection", "time_ns")
RETRANSMISSIONS = ("number", "cause", "transmission", "need")
"""Columns of the tables that are read. Most of the time that a short capture takes would go to the others."""


def read_capture(path: Path) -> Seen:
    """Reads a capture and judges its retransmissions."""
    segments: dict[str, list[pa.Array]] = {name: [] for name in SEGMENTS}
    again: dict[str, list[pa.Array]] = {name: [] for name in RETRANSMISSIONS}
    for part in Reading([path], Options(jobs=1, tables=("segments", "retransmissions"))):
        for into, table in ((segments, part["segments"]), (again, part["retransmissions"])):
            for name, arrays in into.items():
                arrays.append(values_of(*table[name], rows=0))
    number, side, seq, length, flags, ack, connection, time = (_numbers(segments[name]) for name in SEGMENTS)
    # Which of two packets of one nanosecond was first says how events are ordered, not how a host behaves.
    order = np.lexsort((number, side == 1, time))
    flags = flags & ~PUSH | ecn_fields(path)[number - 1] << ECN
    columns = [side, seq, length, flags, ack, connection]
    index = {int(number[at]): n for n, at in enumerate(order)}
    numbers, causes, sent, need = (_values(again[name]) for name in RETRANSMISSIONS)
    return Seen(
        time[order] - time[order][0],
        np.stack([column[order] for column in columns], axis=1),
        {index[one]: cause for one, cause in zip(numbers, causes, strict=True)},
        {index[one]: nth for one, nth in zip(numbers, sent, strict=True)},
        sum(needed != "needed" for needed in need),
    )


def ecn_fields(path: Path) -> npt.NDArray[np.int64]:
    """The ECN field of each packet of a pcapng file of bare IPv4 packets, which is how runs are captured."""
    raw = path.read_bytes()
    found = [raw[part.start + IP_HEADER + 1] & 3 for part, time in blocks(raw) if time is not None]
    return np.array(found, dtype=np.int64)


def blocks(raw: bytes) -> Iterator[tuple[slice, int | None]]:
    """The blocks of a pcapng file: where each lies, and for a packet when it passed, in ns."""
    at = 0
    while at < len(raw):
        kind, length = struct.unpack_from("<II", raw, at)
        time = None
        if kind == ENHANCED_PACKET:
            high, low = struct.unpack_from("<II", raw, at + 12)
            time = (high << 32) + low
        yield slice(at, at + length), time
        at += length


def _numbers(parts: list[pa.Array]) -> npt.NDArray[np.int64]:
    """A column as numbers: the server is side 1, and what is not there is -1."""
    whole = pa.chunked_array(parts)
    if pa.types.is_dictionary(whole.type):
        return np.array([value == "server" for value in whole.to_pylist()], dtype=np.int64)
    return np.asarray(whole.cast(pa.int64()).fill_null(-1).to_numpy())


def _values(parts: list[pa.Array]) -> list[Any]:
    return [value for part in parts for value in part.to_pylist()]
