"""Our counts and labels beside tshark's, and where the two are known to differ and why."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rexmit

from . import tshark
from .tshark import FIN, RST, SYN, Packet, Stream

Row = dict[str, Any]
AGAIN = {"retransmission", "fast_retransmission", "spurious_retransmission"}


@dataclass(frozen=True)
class Side:
    """One side of a connection: our row and the names of packets, and tshark's packets."""

    row: Row
    name: str
    kinds: dict[int, str]
    causes: dict[int, str]
    stream: Stream

    def __getitem__(self, key: str) -> float:
        return float(self.row[f"{self.name}_{key}"] or 0)

    @property
    def packets(self) -> list[Packet]:
        """What this side sent."""
        return [p for p in self.stream.packets if p.side == self.row[f"{self.name}_address"]]

    def labelled(self, *labels: str) -> set[int]:
        """Numbers of the packets that tshark labels so."""
        return {p.number for p in self.packets if p.labels.intersection(labels)}

    def judged(self, *causes: str) -> set[int]:
        """Numbers of the packets that we judge so."""
        return {number for number, cause in self.causes.items() if cause in causes}


@dataclass(frozen=True)
class Compared:
    """What tshark and we say of one thing; `difference` is empty if it is the same, None if not known."""

    capture: str
    what: str
    theirs: object
    ours: object
    difference: str | None

    def __str__(self) -> str:
        return f"{self.capture}, {self.what}: tshark {self.theirs}, ours {self.ours}"


def sides(path: Path) -> Iterator[Side]:
    """Both sides of every connection of a capture."""
    analysis = rexmit.analyze(path, tables="segments")
    segments = analysis.segments.to_dicts()
    again = analysis.retransmissions.to_dicts()
    for row in analysis.connections.to_dicts():
        key = {row["client_address"], row["server_address"]}
        numbers = {r["number"] for r in segments if r["connection"] == row["connection"]}
        stream = next(s for s in tshark.streams(path) if numbers & {p.number for p in s.packets})
        if not {p.side for p in stream.packets} <= key:
            raise AssertionError(f"{path.name}: tshark has other endpoints than {key}")
        for name in ("client", "server"):
            mine = [r for r in segments if r["connection"] == row["connection"] and r["side"] == name]
            kinds = {r["number"]: r["kind"] for r in mine}
            causes = {r["number"]: r["cause"] for r in again if r["number"] in kinds}
            yield Side(row, name, kinds, causes, stream)


def counts(capture: str, side: Side) -> Iterator[Compared]:
    """Numbers of a side."""
    copies = [p for p in side.packets if side.kinds[p.number] == "copy"]
    pairs: list[tuple[str, float, float]] = [
        ("packets", len(side.packets), side["packets"] + side["copies"]),
        ("copies", len(copies), side["copies"]),
        ("data packets", _count(side, copies, lambda p: p.length > 0), side["data_packets"]),
        ("bytes of data", sum(p.length for p in side.packets) - sum(p.length for p in copies), side["bytes"]),
        (
            "pure ACKs",
            _count(side, copies, lambda p: not p.length and not p.flags & (SYN | FIN | RST)),
            side["pure_acks"],
        ),
        ("window probes", len(side.labelled("zero_window_probe")), side["cause_window_probe"]),
        ("keep-alives", len(side.labelled("keep_alive")), side["cause_keep_alive"]),
    ]
    for what, theirs, ours in pairs:
        same = theirs == ours
        yield Compared(capture, f"{side.name}, {what}", theirs, ours, "" if same else _known(side, what))


def _count(side: Side, copies: list[Packet], wanted: Callable[[Packet], bool]) -> int:
    """Packets that are such, copies not counted."""
    return sum(wanted(p) for p in side.packets) - sum(wanted(p) for p in copies)


def _known(side: Side, what: str) -> str | None:
    """tshark knows probes without data by the name of keep-alives."""
    if what in ("window probes", "keep-alives"):
        theirs = side.labelled("zero_window_probe", "keep_alive")
        if theirs == side.judged("window-probe", "keep-alive"):
            return "probes"
    return None


def handshake(capture: str, side: Side) -> Iterator[Compared]:
    """The round-trip time of the handshake: tshark gives the sum of both halves."""
    halves = [side.row[f"handshake_{which}_rtt_ns"] for which in ("server", "client")]
    theirs = next((p.values["initial_rtt"] for p in side.stream.packets if "initial_rtt" in p.values), None)
    if side.name == "client" and theirs is not None and None not in halves:
        ours = sum(halves) / 1e9
        same = abs(theirs - ours) < 1e-6
        yield Compared(capture, "RTT of the handshake", theirs, ours, "" if same else None)


def repeated(capture: str, side: Side) -> Iterator[Compared]:
    """Packet by packet: what was sent again, in the eyes of both."""
    theirs = side.labelled(*AGAIN)
    ours = {n for n in side.causes if side.causes[n] not in ("window-probe", "keep-alive")}
    late = side.labelled("out_of_order")
    for number in sorted(theirs ^ ours):
        kind = side.kinds.get(number, "-")
        if number in ours:
            difference = "called out of order" if number in late else "called new"
        else:
            difference = "called sent again" if kind in ("copy", "reordered") else None
        what = f"{side.name}, packet {number} ({kind}), sent again"
        yield Compared(capture, what, number in theirs, number in ours, difference)
