"""The connections of a capture as arrays, read by the native analysis."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rexmit import _native
from rexmit.errors import UsageError, one_line

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Notes = list[str | None]

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10


@dataclass(frozen=True)
class Segments:
    """The packets that one side sent, a row each; sequence numbers count from the SYN, which is 0."""

    time_ns: Integers
    seq: Integers
    end: Integers
    len: Integers
    flags: Integers
    transmission: Integers
    late: Truths
    damaged: Truths
    note: Notes

    def has(self, flag: int) -> Truths:
        """Where the control bit is set."""
        found: Truths = (self.flags & flag) != 0
        return found


@dataclass(frozen=True)
class Acks:
    """The acknowledgments that one side received, a row each."""

    time_ns: Integers
    ack: Integers
    window_edge: Integers
    len: Integers
    duplicate: Integers
    note: Notes


@dataclass(frozen=True)
class Sacks:
    """The SACK blocks of those acknowledgments, a row each."""

    time_ns: Integers
    left: Integers
    right: Integers
    ack_row: Integers
    duplicate: Truths


@dataclass(frozen=True)
class Side:
    """One side of a connection: what it sent, and how that was acknowledged."""

    name: str
    address: str
    bytes: int
    segments: Segments
    acks: Acks
    sacks: Sacks


@dataclass(frozen=True)
class Connection:
    """A TCP connection as seen at one interface of a capture."""

    interface: str
    start_ns: int
    end_ns: int
    packets: int
    client: Side
    server: Side

    def side(self, name: str | None = None) -> Side:
        """The side `client` or `server`; without a name the one that sent more data."""
        if name is None:
            return self.client if self.client.bytes > self.server.bytes else self.server
        if name not in ("client", "server"):
            raise UsageError(f"no side {name!r}; choose 'client' or 'server', the sender of the data")
        return self.client if name == "client" else self.server


def read(capture: str | Path) -> list[Connection]:
    """The connections of a capture in the order of their first packets.

    Warns (UserWarning) of what could not be read, such as the rest of a file that breaks off. Raises
    UsageError where the file is no capture.
    """
    if not Path(capture).is_file():
        raise UsageError(f"no capture {str(capture)!r}")
    try:
        found, remarks = _native.time_sequence(str(capture))
    except (OSError, ValueError) as error:
        raise UsageError(one_line(error)) from error
    for remark in remarks:
        warnings.warn(one_line(remark), stacklevel=2)
    return [_connection(json.loads(meta), columns) for meta, columns in found]


def choose(connections: list[Connection], number: int, capture: str | Path) -> Connection:
    """The connection of that number, 1 for the first. Raises UsageError where there is none."""
    if not connections:
        raise UsageError(f"no TCP connection in {str(capture)!r}")
    if not 1 <= number <= len(connections):
        count = len(connections)
        raise UsageError(f"no connection {number} in {str(capture)!r}; it has {count}, counted from 1")
    return connections[number - 1]


def _connection(meta: dict[str, Any], columns: dict[str, tuple[str, bytes]]) -> Connection:
    interface = meta["interface_name"] or f"interface {meta['interface']}"
    sides = [_side(name, meta[name], columns) for name in ("client", "server")]
    return Connection(interface, meta["start_ns"], meta["end_ns"], meta["packets"], sides[0], sides[1])


def _side(name: str, meta: dict[str, Any], columns: dict[str, tuple[str, bytes]]) -> Side:
    def table(kind: str) -> dict[str, Any]:
        prefix = f"{name}.{kind}."
        found = {key.removeprefix(prefix): value for key, value in columns.items() if key.startswith(prefix)}
        return {field: _values(field, *value) for field, value in found.items()}

    segments, acks, sacks = Segments(**table("segments")), Acks(**table("acks")), Sacks(**table("sacks"))
    return Side(name, meta["address"], meta["bytes"], segments, acks, sacks)


def _values(field: str, dtype: str, content: bytes) -> Integers | Truths | Notes:
    if dtype == "utf8-json":
        notes: Notes = json.loads(content)
        return notes
    # Flags are the only bytes that are no truth values.
    if dtype == "u1" and field != "flags":
        return np.frombuffer(content, dtype=np.bool_)
    return np.frombuffer(content, dtype=dtype).astype(np.int64)
