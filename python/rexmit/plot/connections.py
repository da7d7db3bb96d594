"""The connections of a capture as arrays, read by the native analysis."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rexmit.errors import UsageError
from rexmit.plot.flows import NOTHING, Flow, chosen, read_flows

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]
Notes = list[str | None]

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10


@dataclass(frozen=True)
class Segments:
    """The packets that one side sent, one row each; sequence numbers count from the SYN, which is 0."""

    number: Integers
    time_ns: Integers
    seq: Integers
    end: Integers
    len: Integers
    flags: Integers
    transmission: Integers
    late: Truths
    copy: Truths
    damaged: Truths
    note: Notes

    def has(self, flag: int) -> Truths:
        """Where the control bit is set."""
        found: Truths = (self.flags & flag) != 0
        return found


@dataclass(frozen=True)
class Acks:
    """The acknowledgments that one side received, one row each."""

    time_ns: Integers
    ack: Integers
    window_edge: Integers
    len: Integers
    duplicate: Integers
    note: Notes


@dataclass(frozen=True)
class Sacks:
    """The SACK blocks of those acknowledgments, one row each."""

    time_ns: Integers
    left: Integers
    right: Integers
    ack_row: Integers
    duplicate: Truths


@dataclass(frozen=True)
class Causes:
    """Why its packets were sent again, one row each: packet number, cause, and whether it was needed."""

    number: Integers
    cause: npt.NDArray[np.str_]
    need: npt.NDArray[np.str_]


@dataclass(frozen=True)
class Waits:
    """What held it back, one row each, without gaps from its first packet with data to its last."""

    start_ns: Integers
    end_ns: Integers
    by: npt.NDArray[np.str_]
    certain: Truths


@dataclass(frozen=True)
class Side:
    """One side of a connection: what it sent, and how that was acknowledged."""

    name: str
    address: str
    bytes: int
    segments: Segments
    acks: Acks
    sacks: Sacks
    causes: Causes
    waits: Waits


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
    UsageError where the file is not a capture.
    """
    if not Path(capture).is_file():
        raise UsageError(f"no capture {str(capture)!r}")
    flows, summary = read_flows(capture)
    for remark in summary.warnings:
        warnings.warn(f"{capture}: {remark}", stacklevel=2)
    return [of_flow(flow) for flow in flows]


def of_flow(flow: Flow) -> Connection:
    """The connection as graphs of sequence numbers see it."""
    row = flow.row
    sides = [_side(flow, name, other) for name, other in (("client", "server"), ("server", "client"))]
    return Connection(flow.interface, row["start_ns"], row["end_ns"], row["packets"], sides[0], sides[1])


def choose(connections: list[Connection], number: int, capture: str | Path) -> Connection:
    """The connection of that number, 1 for the first. Raises UsageError where there is none."""
    if not connections:
        raise UsageError(f"no TCP connection in {str(capture)!r}")
    if not 1 <= number <= len(connections):
        count = len(connections)
        raise UsageError(f"no connection {number} in {str(capture)!r}; it has {count}, counted from 1")
    return connections[number - 1]


def _side(flow: Flow, name: str, other: str) -> Side:
    sent = flow.of(flow.segments, name)
    heard = flow.of(flow.segments, other)
    heard = chosen(heard, heard["ack"] != NOTHING)
    sacks = flow.of(flow.sacks, other)
    row = flow.row
    segments = Segments(
        **{
            field: sent[field]
            for field in ("number", "time_ns", "seq", "end", "len", "flags", "transmission")
        },
        late=sent["kind"] == "reordered",
        copy=sent["kind"] == "copy",
        damaged=sent["damaged"],
        note=sent["note"].tolist(),
    )
    acks = Acks(
        **{field: heard[field] for field in ("time_ns", "ack", "len", "duplicate")},
        window_edge=heard["ack"] + heard["window"],
        note=heard["note"].tolist(),
    )
    places: Integers = np.asarray(np.searchsorted(heard["number"], sacks["number"]), dtype=np.int64)
    blocks = Sacks(sacks["time_ns"], sacks["left"], sacks["right"], places, sacks["duplicate"])
    again = flow.of(flow.retransmissions, name)
    causes = Causes(again["number"], again["cause"], again["need"])
    held = flow.of(flow.held, name)
    waits = Waits(held["start_ns"], held["end_ns"], held["by"], held["confidence"] == "certain")
    return Side(name, row[f"{name}_address"], row[f"{name}_bytes"], segments, acks, blocks, causes, waits)
