"""The packets of one connection or association in order, each with what it carries and why it was sent again.

What pedersen-2006 shows of sctp_trace in figures 3.9, 3.10 and 5.1, of TCP likewise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rexmit.analyse import rows as plain
from rexmit.analyse.overview import SIDES
from rexmit.analyse.rows import RawTable, Row
from rexmit.errors import UsageError
from rexmit.units import plural

OF_TCP = ("segments", "sacks", "retransmissions")
OF_SCTP = ("chunks", "sctp_sacks", "sctp_retransmissions")
BESIDE = 3
"""Packets shown before and after what was asked for."""

_CONTENT = {"connection": OF_TCP, "association": OF_SCTP}


@dataclass(frozen=True)
class Window:
    """Which packets are listed: all, or those about some data.

    `span` is the first and last TSN, or sequence number, and `around` the number of a packet with a
    retransmission. Of each, packets are listed from the first transmission of the data until they are
    acknowledged, with three before and after.
    """

    span: tuple[int, int] | None = None
    around: int | None = None


@dataclass
class Piece:
    """Data in a packet: TSNs or sequence numbers from `first` to before `end`.

    `number` is that of the retransmission, 0 for a first transmission; `bundled` says that it was not the
    first chunk of its packet to be sent again; `cause`, `need` and, of SCTP, `class_` are empty for a first
    transmission. `delay_ns` is the time since the first transmission, if that was seen.
    """

    first: int
    end: int
    number: int = 0
    bundled: bool = False
    cause: str = ""
    class_: str = ""
    delay_ns: int | None = None
    need: str = ""
    kind: str = "new"


@dataclass
class Report:
    """What a packet acknowledges: all before `next`, blocks from first to last, and what came again.

    Blocks of SCTP end with their last TSN, those of TCP before their last number. `repeats` is the number of
    the duplicate ACK in a row, 0 for none; `again` says that its side has said as much before.
    """

    next: int
    blocks: list[str] = field(default_factory=list)
    duplicates: list[str] = field(default_factory=list)
    repeats: int = 0
    again: bool = False


@dataclass
class Packet:
    """A packet of the list. `time_ns` is from the first packet of the connection or association."""

    number: int
    time_ns: int
    side: str
    data: list[Piece] = field(default_factory=list)
    report: Report | None = None
    flags: str = ""


class Listing:
    """Give `add` each batch of rows in turn, then take `packets`.

    `kind` is `connection` or `association`, None for whichever there is; `own` its number, 1 unless given.
    """

    def __init__(self, kind: str | None, own: int | None) -> None:
        self._kinds = (kind,) if kind else ("connection", "association")
        self._chosen = kind is not None
        self._own = own or 1
        self._flows = dict.fromkeys(("connection", "association"), 0)
        self._starts: dict[str, int] = {}
        self._kept: dict[str, list[Row]] = defaultdict(list)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that it reads beside those of flows."""
        return tuple(name for kind in self._kinds for name in _CONTENT[kind])

    def add(self, tables: dict[str, RawTable]) -> None:
        """Takes the next rows."""
        for kind in self._kinds:
            flows = tables[f"{kind}s"]
            numbers = plain.values(flows, kind)
            self._flows[kind] += len(numbers)
            if self._own in numbers:
                at = numbers.index(self._own)
                self._starts[kind] = plain.values(flows, "start_ns", [at])[0]
                self._kept[f"{kind}s"] += plain.rows(flows, [at])
            for name in _CONTENT[kind]:
                of = plain.values(tables[name], kind)
                at_own = [row for row, number in enumerate(of) if number == self._own]
                self._kept[name] += plain.rows(tables[name], at_own)

    @property
    def flow(self) -> tuple[str, Row]:
        """Its kind and row. Raises UsageError where there is none, or several and none was chosen."""
        there = {kind: number for kind, number in self._flows.items() if number}
        if not self._chosen and sum(there.values()) > 1:
            told = " and ".join(plural(number, kind) for kind, number in there.items())
            raise UsageError(f"the capture has {told}; choose one with --connection N or --association N")
        for kind in self._kinds:
            if self._kept[f"{kind}s"]:
                return kind, self._kept[f"{kind}s"][0]
        raise UsageError("the capture has no packets of TCP or SCTP")

    def packets(self, window: Window) -> list[Packet]:
        """The packets in order. Raises UsageError where those asked for are not there."""
        kind, _ = self.flow
        packets = self._sctp() if kind == "association" else self._tcp()
        found = sorted(packets, key=lambda one: (one.time_ns, one.number))
        span = self._span(window, found)
        if span is None:
            return found
        side, first, last = span
        at = [n for n, one in enumerate(found) if one.side == side and _carries(one, first, last)]
        if not at:
            raise UsageError(f"no packet carries {first} to {last}; --packets alone lists all")
        end = next((n for n in range(at[-1], len(found)) if _covers(found[n], side, last)), at[-1])
        return found[max(at[0] - BESIDE, 0) : end + 1 + BESIDE]

    def _span(self, window: Window, packets: Sequence[Packet]) -> tuple[str, int, int] | None:
        """The side whose data are asked for, the first and the last of them."""
        if window.around is not None:
            for one in packets:
                again = [piece for piece in one.data if piece.number]
                if one.number == window.around and again:
                    # The first one is why the packet was sent.
                    return one.side, again[0].first, again[0].first
            raise UsageError(
                f"packet {window.around} carries no retransmission; --retransmissions lists them"
            )
        if window.span is None:
            return None
        counts = {side: sum(len(one.data) for one in packets if one.side == side) for side in SIDES}
        return max(counts, key=lambda side: counts[side]), *window.span

    def _sctp(self) -> Iterator[Packet]:
        start = self._starts["association"]
        judged = {(r["side"], r["number"], r["tsn"]): r for r in self._kept["sctp_retransmissions"]}
        packets: dict[int, Packet] = {}

        def packet(row: Row) -> Packet:
            return packets.setdefault(
                row["number"], Packet(row["number"], row["time_ns"] - start, row["side"])
            )

        for row in self._kept["sctp_sacks"]:
            blocks, duplicates = row["gaps"].split(), row["duplicates"].split()
            packet(row).report = Report(row["cumulative"] + 1, blocks, duplicates)
        for row in self._kept["chunks"]:
            piece = Piece(row["tsn"], row["tsn"] + 1, kind=row["kind"])
            again = judged.get((row["side"], row["number"], row["tsn"]))
            if again is not None:
                piece.number, piece.bundled = again["retransmission"], again["position"] > 0
                piece.cause, piece.class_ = again["cause"], again["class"]
                piece.delay_ns, piece.need = again["delay_first_ns"], again["need"]
            packet(row).data.append(piece)
        yield from packets.values()

    def _tcp(self) -> Iterator[Packet]:
        start = self._starts["connection"]
        told: dict[str, int] = {}
        judged = {r["number"]: r for r in self._kept["retransmissions"]}
        blocks: dict[int, Report] = defaultdict(lambda: Report(0))
        for row in self._kept["sacks"]:
            text = f"{row['left']}-{row['right']}"
            found = blocks[row["number"]]
            (found.duplicates if row["duplicate"] else found.blocks).append(text)
        for row in self._kept["segments"]:
            packet = Packet(row["number"], row["time_ns"] - start, row["side"], flags=_flags(row["flags"]))
            if row["end"] > row["seq"]:
                piece = Piece(row["seq"], row["end"], kind=row["kind"])
                again = judged.get(row["number"])
                if again is not None:
                    piece.number, piece.cause = again["transmission"] - 1, again["cause"]
                    piece.delay_ns, piece.need = again["delay_first_ns"], again["need"]
                packet.data.append(piece)
            if row["ack"] is not None:
                own = blocks.get(row["number"], Report(0))
                said = told.get(row["side"]) == row["ack"] and not own.blocks
                packet.report = Report(row["ack"], own.blocks, own.duplicates, row["duplicate"], said)
                told[row["side"]] = row["ack"]
            yield packet


def _carries(packet: Packet, first: int, last: int) -> bool:
    return any(piece.first <= last and first < piece.end for piece in packet.data)


def _covers(packet: Packet, side: str, last: int) -> bool:
    """Whether it is an acknowledgment of this side's data up to `last`."""
    return packet.side != side and packet.report is not None and packet.report.next > last


def _flags(bits: int) -> str:
    return " ".join(name for bit, name in ((1, "FIN"), (2, "SYN"), (4, "RST")) if bits & bit)
