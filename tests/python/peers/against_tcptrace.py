"""Our counts beside tcptrace's: what is compared, and where the two are known to differ and why."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import rexmit

from . import rules, tcptrace, tshark
from .rules import Counted
from .tshark import FIN, RST, SYN, Packet

Row = dict[str, Any]
TIME = 0.11  # milliseconds: tcptrace prints a digit, sometimes cut instead of rounded


@dataclass(frozen=True)
class Side:
    """One side of a connection: our row, the names of the side and of the other one, and the packets."""

    row: Row
    name: str
    other: str
    again: list[Row]
    packets: list[Packet]
    address: str

    def __getitem__(self, key: str) -> float:
        return float(self.row[f"{self.name}_{key}"] or 0)

    @cached_property
    def theirs(self) -> Counted:
        """What tcptrace's rules give."""
        return rules.counted(self.packets, self.address)

    def count(self, wanted: Callable[[Packet], object]) -> float:
        """Packets of the side that are such."""
        return float(sum(bool(wanted(p)) for p in self.packets if p.side == self.address))

    def windows(self) -> list[int]:
        """The windows that tcptrace looks at: the SYN's only where windows are not scaled."""
        mine = [p for p in self.packets if p.side == self.address and not p.flags & RST]
        scaled = None not in (self.row["client_window_scale"], self.row["server_window_scale"])
        return [p.window for p in mine if not (scaled and p.flags & SYN)]

    def delays(self) -> list[float]:
        """Milliseconds between a retransmission and the transmission before."""
        return [row["delay_previous_ns"] / 1e6 for row in self.again if row["delay_previous_ns"] is not None]


Value = Callable[[Side], float]


@dataclass(frozen=True)
class Quantity:
    """A line of tcptrace, our number, and, where the two differ by design, what its rule gives and why."""

    label: str
    ours: Value
    rule: Value | None = None
    why: str = ""
    within: float = 0.0


# The names of the differences; docs/guide/peers.md explains each with the packets that show who is right.
COPIES = "copies"
HOLES = "holes"
PROBES = "probes"
WINDOWS = "windows"
OUTSTANDING = "outstanding"
SAMPLES = "samples"
DUPLICATES = "duplicates"
INITIAL = "initial"
UNSEEN = "unseen"
LARGE_MSS = "large-mss"
AGAIN = "again"


def _milliseconds(key: str) -> Value:
    return lambda side: side[key] / 1e6


def _bytes(side: Side) -> float:
    return float(sum(p.length for p in side.packets if p.side == side.address))


def _handshake(side: Side) -> float:
    which = "server" if side.name == "client" else "client"
    return (side.row[f"handshake_{which}_rtt_ns"] or 0) / 1e6


def _unusable(side: Side) -> float:
    return side["ambiguous_missing"] + side["ambiguous_retransmitted"]


QUANTITIES = (
    Quantity("total packets", lambda s: s["packets"] + s["copies"]),
    Quantity(
        "pure acks sent",
        lambda s: s["pure_acks"],
        lambda s: s.count(lambda p: not p.length and not p.flags & (SYN | FIN | RST)),
        COPIES,
    ),
    Quantity("sack pkts sent", lambda s: s["sack_acks"]),
    Quantity("dsack pkts sent", lambda s: s["dsacks"]),
    Quantity(
        "unique bytes sent",
        lambda s: s["unique_bytes"],
        lambda s: s["unique_bytes"] + s["unseen_bytes"],
        UNSEEN,
    ),
    Quantity("actual data pkts", lambda s: s["data_packets"], lambda s: s.count(lambda p: p.length), COPIES),
    Quantity("actual data bytes", lambda s: s["bytes"], _bytes, COPIES),
    Quantity(
        "rexmt data pkts", lambda s: s["retransmitted_packets"], lambda s: s.theirs.again_packets, HOLES
    ),
    Quantity("rexmt data bytes", lambda s: s["retransmitted_bytes"], lambda s: s.theirs.again_bytes, HOLES),
    Quantity("outoforder pkts", lambda s: s["reordered_packets"], lambda s: s.theirs.out_of_order, HOLES),
    Quantity(
        "zwnd probe pkts",
        lambda s: s["cause_window_probe"],
        lambda s: s.count(lambda p: p.length and "zero_window_probe" in p.labels),
        PROBES,
    ),
    Quantity("mss requested", lambda s: s["mss"], lambda s: (s["mss"] - 65536) % 2**32, LARGE_MSS),
    Quantity("max win adv", lambda s: s["max_window"], lambda s: max(s.windows(), default=0), WINDOWS),
    Quantity(
        "min win adv", lambda s: s["min_window"], lambda s: min(filter(None, s.windows()), default=0), WINDOWS
    ),
    Quantity("zero win adv", lambda s: s["zero_windows"], lambda s: s.windows().count(0), WINDOWS),
    Quantity("max owin", lambda s: s["max_outstanding"], lambda s: s.theirs.most, OUTSTANDING, within=1),
    Quantity("initial window", lambda s: s["initial_window"], lambda s: s.theirs.initial, INITIAL),
    Quantity("missed data", lambda s: s["unseen_bytes"]),
    Quantity("RTT samples", lambda s: s["rtt_count"], lambda s: len(s.theirs.rtt), SAMPLES),
    Quantity("RTT min", _milliseconds("rtt_min_ns"), lambda s: s.theirs.spread()[0], SAMPLES, TIME),
    Quantity("RTT max", _milliseconds("rtt_max_ns"), lambda s: s.theirs.spread()[1], SAMPLES, TIME),
    Quantity("RTT avg", _milliseconds("rtt_mean_ns"), lambda s: s.theirs.spread()[2], SAMPLES, TIME),
    Quantity("RTT stdev", _milliseconds("rtt_sd_ns"), lambda s: s.theirs.spread()[3], SAMPLES, TIME),
    Quantity("RTT from 3WHS", _handshake, within=TIME),
    Quantity("unusable acks", _unusable, lambda s: s.theirs.unusable, SAMPLES),
    Quantity(
        "duplicate acks",
        lambda s: float(s.row[f"{s.other}_duplicate_acks"]),
        lambda s: s.theirs.duplicates,
        DUPLICATES,
    ),
    Quantity(
        "min retr time",
        lambda s: min(s.delays(), default=0),
        lambda s: min(s.theirs.retransmission_times, default=0),
        AGAIN,
        TIME,
    ),
    Quantity(
        "max retr time",
        lambda s: max(s.delays(), default=0),
        lambda s: max(s.theirs.retransmission_times, default=0),
        AGAIN,
        TIME,
    ),
)

# Single cases: capture and line, and why its number is as it is.

SINGLE = {
    ("bgp-4byte-asn.pcap", "RTT from 3WHS"): "tcptrace times a SYN that was answered by RST",
    ("pptp.pcap", "RTT from 3WHS"): "the SYN-ACK was captured at two ports; tcptrace takes it for sent twice",
    ("of10_p3295.pcap", "missed data"): "tcptrace counts the bytes that it has not seen as unique bytes",
    ("dpkt-http.pcap", "initial window"): "tcptrace gives one where it saw no beginning",
    ("tfo-5c1fa7f9ae91.pcap", "initial window"): "the data came with the SYN",
    ("tfo-5c1fa7f9ae91.pcap", "duplicate acks"): "the data came with the SYN",
    (
        "handshake-ack-lost.client.pcap.gz",
        "duplicate acks",
    ): "tcptrace times a SYN-ACK anew that was acknowledged",
    (
        "both-ways.client.pcap.gz",
        "max retr time",
    ): "a packet repeats parts of two; tcptrace takes the other part",
    (
        "offload.server.pcap.gz",
        "max retr time",
    ): "a packet repeats a part of a super-packet that was repeated before",
}


@dataclass(frozen=True)
class Compared:
    """One number of tcptrace beside ours, and the name of the difference; None if none is known."""

    capture: str
    side: str
    label: str
    theirs: float
    ours: float
    difference: str | None

    @property
    def agrees(self) -> bool:
        """True if both are the same."""
        return self.difference == ""

    def __str__(self) -> str:
        return f"{self.capture}, {self.side}, {self.label}: tcptrace {self.theirs:g}, ours {self.ours:g}"


def compare(path: Path) -> Iterator[Compared]:
    """All numbers of all connections of a capture."""
    analysis = rexmit.analyze(path)
    rows = {frozenset(_addresses(row)): row for row in analysis.connections.to_dicts()}
    streams = {frozenset(p.side for p in s.packets): s for s in tshark.streams(path)}
    again = analysis.retransmissions.to_dicts()
    theirs = tcptrace.connections(path)
    if len(theirs) != len(analysis.connections.to_dicts()):
        raise AssertionError(f"{path.name}: tcptrace has {len(theirs)} connections")
    for connection in theirs:
        hosts = [_plain(host) for host in connection.hosts]
        key = next((k for k in rows if {_plain(address) for address in k} == set(hosts)), None)
        row = rows.get(key) if key is not None else None
        stream = next((s for k, s in streams.items() if key is not None and k <= key), None)
        if row is None or stream is None:
            raise AssertionError(f"{path.name}: {hosts} is missing")
        for index, host in enumerate(hosts):
            name, other = ("client", "server")
            if _plain(row["client_address"]) != host:
                name, other = other, name
            mine = [r for r in again if r["connection"] == row["connection"] and r["side"] == name]
            side = Side(row, name, other, mine, stream.packets, row[f"{name}_address"])
            yield from _lines(path.name, connection, index, side)


def _lines(capture: str, connection: tcptrace.Connection, index: int, side: Side) -> Iterator[Compared]:
    for quantity in QUANTITIES:
        theirs = _theirs(connection, index, quantity.label)
        ours = float(quantity.ours(side))
        yield Compared(
            capture,
            side.name,
            quantity.label,
            theirs,
            ours,
            _difference(capture, quantity, side, theirs, ours),
        )


def _theirs(connection: tcptrace.Connection, index: int, label: str) -> float:
    if label == "unusable acks":
        return sum(connection.number(index, name) or 0 for name in ("ambiguous acks", "post-loss acks"))
    return connection.number(index, label) or 0


def _difference(capture: str, quantity: Quantity, side: Side, theirs: float, ours: float) -> str | None:
    if abs(theirs - ours) <= quantity.within:
        return ""
    if quantity.rule is not None and abs(theirs - quantity.rule(side)) <= quantity.within:
        return quantity.why
    return SINGLE.get((capture, quantity.label))


def _addresses(row: Row) -> tuple[str, str]:
    return row["client_address"], row["server_address"]


def _plain(host: str) -> str:
    """An endpoint without brackets, and with each group of an IPv6 address as short as can be."""
    address, _, port = host.replace("[", "").replace("]", "").rpartition(":")
    if ":" not in address:
        return host
    return f"{ipaddress.ip_address(address)}:{port}"
