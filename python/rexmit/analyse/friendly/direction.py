"""One direction of a TCP connection as arrays: what was sent, what came back, what was lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from rexmit.analyse.rows import Row

Integers: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]
Truths: TypeAlias = npt.NDArray[np.bool_]

TABLES = ("segments", "sacks", "rtt")
"""Tables with one row per packet that an analysis has to read for this."""

LEAST_SEGMENTS = 100
"""Segments on the wire below which a direction is too short to be looked at."""

URG = 0x20
NEVER = np.iinfo(np.int64).max


class Tables(Protocol):
    """What is needed of an open analysis; `rexmit.analyze` gives one."""

    @property
    def connections(self) -> pl.DataFrame:
        """One row per TCP connection."""

    @property
    def segments(self) -> pl.DataFrame:
        """One row per TCP packet."""

    @property
    def rtt(self) -> pl.DataFrame:
        """One row per RTT sample."""

    @property
    def loss_events(self) -> pl.DataFrame:
        """One row per loss event."""

    @property
    def sacks(self) -> pl.DataFrame:
        """One row per SACK block."""

    @property
    def retransmissions(self) -> pl.DataFrame:
        """One row per retransmission."""


@dataclass(frozen=True)
class Sent:
    """Packets with data of the side, in the order of the capture.

    `segments` counts each as packets of one MSS on the wire. `edge` is the highest sequence number sent so
    far, `outstanding` the bytes neither acknowledged nor reported after the packet, `room` the bytes of the
    advertised window left after it. `cwnd` is in segments, 0 where the packet does not carry it.
    """

    number: Integers
    time: Integers
    end: Integers
    bytes: Integers
    segments: Integers
    new: Truths
    edge: Integers
    outstanding: Integers
    room: Integers
    cwnd: Integers


@dataclass(frozen=True)
class Acks:
    """Acknowledgments that came back.

    `highest` is the cumulative number so far, `right` the right edge of the advertised window, `advance`
    whether it moved forward, `duplicate` whether it is the first of duplicates in a row and, where the
    connection has SACK, reports by SACK what is missing.
    """

    number: Integers
    time: Integers
    highest: Integers
    right: Integers
    advance: Truths
    duplicate: Truths


@dataclass(frozen=True)
class Events:
    """Loss events: the row of `Sent` that was lost first, segments lost, whether a timer was needed."""

    row: Integers
    lost: Integers
    timeout: Truths


@dataclass(frozen=True)
class Direction:
    """Data of one side of a connection. Times are ns since 1970; `rtt_row` is the timed row of `sent`."""

    connection: Row
    side: str
    mss: int
    sent: Sent
    acks: Acks
    events: Events
    rtt: Integers
    rtt_row: Integers
    again: Integers
    spurious: Integers

    @property
    def other(self) -> str:
        """The side that receives the data."""
        return _other(self.side)

    @property
    def carries_cwnd(self) -> bool:
        """Whether packets carry cwnd in the urgent pointer field, as klaver-2005's kernel wrote it."""
        return bool(len(self.sent.cwnd)) and bool((self.sent.cwnd > 0).mean() > 0.9)

    @property
    def level(self) -> Floats:
        """The window in segments after each packet: cwnd where packets carry it, else what is outstanding."""
        return self.sent.cwnd.astype(np.float64) if self.carries_cwnd else self.sent.outstanding / self.mss

    def of(self, name: str, of_receiver: bool = False) -> Any:
        """A fact of the connection's row about the sender of the data, or about its receiver."""
        return self.connection[f"{self.other if of_receiver else self.side}_{name}"]


def directions(tables: Tables, connection: int | None = None) -> Iterator[Direction]:
    """Each direction that carries `LEAST_SEGMENTS` segments; of a chosen connection, all that carry data."""
    rows = long_enough(tables.connections, connection)
    numbers = sorted({row["connection"] for row, _ in rows})
    parts = {
        name: _parts(getattr(tables, name), numbers) for name in (*TABLES, "loss_events", "retransmissions")
    }
    for row, side in rows:
        own = {name: part[row["connection"]] for name, part in parts.items()}
        yield _direction(row, side, own)


def long_enough(connections: pl.DataFrame, connection: int | None = None) -> list[tuple[Row, str]]:
    """The connections and sides that are looked at."""
    chosen = connections if connection is None else connections.filter(pl.col("connection") == connection)
    least = LEAST_SEGMENTS if connection is None else 1
    return [
        (row, side)
        for row in chosen.sort("connection").iter_rows(named=True)
        for side in ("client", "server")
        if row[f"{side}_wire_data_packets"] >= least
    ]


def _parts(frame: pl.DataFrame, numbers: Sequence[int]) -> dict[int, pl.DataFrame]:
    """The rows of each of these connections."""
    if frame["connection"].n_unique() > 1 or not numbers:
        frame = frame.filter(pl.col("connection").is_in(numbers))
    found = {key[0]: part for key, part in frame.partition_by("connection", as_dict=True).items()}
    return {number: found.get(number, frame.clear()) for number in numbers}


def _direction(row: Row, side: str, tables: dict[str, pl.DataFrame]) -> Direction:
    segments = tables["segments"]
    own = pl.col("side") == side
    mss = _mss(row, side, segments.filter(own))
    kinds = ("new", "retransmission", "reordered")
    data = segments.filter(own & (pl.col("len") > 0) & pl.col("kind").cast(pl.String).is_in(kinds))
    back = segments.filter(~own & pl.col("ack").is_not_null() & ~pl.col("damaged")).sort("number")
    acks = _acks(back, tables["sacks"].filter(~own & ~pl.col("duplicate")))
    sent = _sent(data.sort("number"), acks, mss)
    timed = tables["rtt"].filter(own & (pl.col("method").cast(pl.String) == "ack"))
    rtt_row, rtt = _timed(sent, timed)
    losses = tables["loss_events"].filter(own).sort("time_ns")
    again = tables["retransmissions"].filter(own & (pl.col("len") > 0))
    false = again.filter(pl.col("need").cast(pl.String).is_in(("spurious", "unnecessary")))
    return Direction(
        connection=row,
        side=side,
        mss=mss,
        sent=sent,
        acks=acks,
        events=_events(sent, losses),
        rtt=rtt,
        rtt_row=rtt_row,
        again=np.sort(_whole(again, "number")),
        spurious=np.sort(_whole(false, "number")),
    )


def _sent(data: pl.DataFrame, acks: Acks, mss: int) -> Sent:
    number, end, length = (_whole(data, name) for name in ("number", "end", "len"))
    edge = np.maximum.accumulate(end)
    last = np.searchsorted(acks.number, number) - 1
    room = np.full(len(number), NEVER)
    room[last >= 0] = (acks.right[last[last >= 0]] - edge[last >= 0]) if len(acks.right) else 0
    urgent = _whole(data, "urgent")
    return Sent(
        number=number,
        time=_whole(data, "time_ns"),
        end=end,
        bytes=length,
        segments=np.maximum(-(-length // mss), 1),
        new=(data["kind"].cast(pl.String) == "new").to_numpy(),
        edge=edge,
        outstanding=_whole(data, "outstanding"),
        room=room,
        cwnd=np.where(_whole(data, "flags") & URG, 0, urgent),
    )


def _acks(back: pl.DataFrame, blocks: pl.DataFrame) -> Acks:
    number = _whole(back, "number")
    highest = np.maximum.accumulate(_whole(back, "ack"))
    before = np.concatenate([highest[:1], highest[:-1]])
    duplicate = _whole(back, "duplicate") == 1
    if blocks.height:
        duplicate &= np.isin(number, _whole(blocks, "number"))
    return Acks(
        number=number,
        time=_whole(back, "time_ns"),
        highest=highest,
        right=np.maximum.accumulate(_whole(back, "ack") + _whole(back, "window")),
        advance=highest > before,
        duplicate=duplicate,
    )


def _timed(sent: Sent, samples: pl.DataFrame) -> tuple[Integers, Integers]:
    """The rows of first transmissions that gave an unambiguous sample, and the samples, by row."""
    fresh = np.flatnonzero(sent.new)
    ends = sent.end[fresh]
    asked = _whole(samples, "end")
    at = np.searchsorted(ends, asked)
    there = at < len(ends)
    there[there] = ends[at[there]] == asked[there]
    rows = fresh[at[there]]
    order = np.argsort(rows, kind="stable")
    return rows[order], _whole(samples, "rtt_ns")[there][order]


def _events(sent: Sent, losses: pl.DataFrame) -> Events:
    """The row at which each event's first lost packet was sent, found by its time and sequence number."""
    time, seq = _whole(losses, "time_ns"), _whole(losses, "seq")
    at = np.searchsorted(sent.time, time)
    fresh = np.flatnonzero(sent.new)
    first = np.searchsorted(sent.end[fresh], seq, side="right")
    first = fresh[np.minimum(first, max(len(fresh) - 1, 0))] if len(fresh) else at
    known = first < len(sent.time)
    known[known] = sent.time[first[known]] == time[known]
    row = np.where(known, first, np.minimum(at, max(len(sent.time) - 1, 0)))
    return Events(row, _whole(losses, "lost"), losses["timeout"].to_numpy())


def _mss(row: Row, side: str, own: pl.DataFrame) -> int:
    """The payload of a full segment: the most common length that is no more than the receiver's MSS."""
    offered = row[f"{_other(side)}_mss"]
    lengths = own.filter(pl.col("len") > 0)["len"]
    if not len(lengths):
        return int(offered or 1)
    fitting = lengths if offered is None else lengths.filter(lengths <= offered)
    if len(fitting) < 0.01 * len(lengths) and offered is not None:
        return int(offered) - (12 if row[f"{side}_timestamps"] else 0)
    lengths_seen, often = np.unique(fitting.to_numpy(), return_counts=True)
    return int(lengths_seen[often >= often.max() / 2].max())


def _whole(frame: pl.DataFrame, name: str) -> Integers:
    found: Integers = frame[name].cast(pl.Int64).to_numpy()
    return found


def _other(side: str) -> str:
    return "client" if side == "server" else "server"
