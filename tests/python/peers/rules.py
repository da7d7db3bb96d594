"""How tcptrace counts, on the packets that tshark decoded.

Where tcptrace and we differ, its number must be what its rule gives here. The rules were found by looking at
packets; they are not a copy of its code.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field

from .tshark import ACK, SYN, Packet


@dataclass
class Piece:
    """Data as they were first sent: what tcptrace times."""

    seq: int
    end: int
    time: float
    sent: int = 1
    timed: bool = True
    acked: bool = False


@dataclass
class Counted:
    """What tcptrace's rules give for the data of one side. Times in milliseconds."""

    rtt: list[float] = field(default_factory=list)
    unusable: int = 0
    duplicates: int = 0
    most: int = 0
    initial: int = 0
    again_packets: int = 0
    again_bytes: int = 0
    out_of_order: int = 0
    retransmission_times: list[float] = field(default_factory=list)

    def spread(self) -> tuple[float, float, float, float]:
        """Smallest, largest, mean and standard deviation of the round-trip times."""
        if not self.rtt:
            return 0.0, 0.0, 0.0, 0.0
        sd = statistics.stdev(self.rtt) if len(self.rtt) > 2 else 0.0
        return min(self.rtt), max(self.rtt), statistics.fmean(self.rtt), sd


def counted(packets: list[Packet], side: str) -> Counted:
    """Apply the rules to the data that `side` sent."""
    found = Counted()
    pieces: list[Piece] = []
    window: int | None = None
    lowest: int | None = None
    highest = reached = acked = 0
    answered = opened = False
    for packet in packets:
        if packet.side == side:
            if packet.end > packet.seq:
                lowest = packet.seq if lowest is None else lowest
                acked = max(acked, lowest)
                late = packet.end < reached
                reached = max(reached, packet.end)
                highest = max(highest, packet.seq + packet.length)
                # One more than the bytes, so that a SYN and a FIN count; with them, data count one more.
                found.most = max(found.most, highest - acked + 1)
                new = _sent(pieces, packet, found)
                _filed(packet, new, late, found)
                found.initial += new if opened and packet.length and not answered else 0
                opened = opened or bool(packet.flags & SYN)
        elif packet.ack is not None and packet.flags & ACK:
            _acknowledged(pieces, packet, packet.window == window, found)
            window = packet.window
            acked = max(acked, packet.ack)
            answered = answered or packet.ack > 1
    return found


def _filed(packet: Packet, new: int, late: bool, found: Counted) -> None:
    """What a capture shows for the second time is sent again, SYN and FIN too; what is late, out of order."""
    again = packet.end - packet.seq - new
    if again:
        found.again_packets += 1
        found.again_bytes += again
    elif packet.length and late:
        found.out_of_order += 1


def _sent(pieces: list[Piece], packet: Packet, found: Counted) -> int:
    """Data seen before are timed anew, bytes not seen before are a piece of their own; how many they are."""
    at = packet.seq
    new = 0
    times = []
    for piece in [p for p in pieces if p.seq < packet.end and packet.seq < p.end]:
        if at < piece.seq:
            pieces.append(Piece(at, piece.seq, packet.time))
            new += piece.seq - at
        if not piece.acked:
            times.append((packet.time - piece.time) * 1000)
        piece.sent += 1
        piece.time = packet.time
        at = max(at, piece.end)
    if at < packet.end:
        pieces.append(Piece(at, packet.end, packet.time))
        new += packet.end - at
    pieces.sort(key=lambda piece: (piece.seq, piece.end))
    found.retransmission_times += times[:1]
    return new


def _acknowledged(pieces: list[Piece], packet: Packet, same_window: bool, found: Counted) -> None:
    """A sample for the piece that ends there, unless that or an earlier one was sent again after it."""
    latest = 0.0
    ack = packet.ack or 0
    for piece in pieces:
        if ack <= piece.seq:
            return
        if piece.acked:
            again = piece.end == ack and packet.length == 0 and same_window
            found.duplicates += again and not packet.flags & SYN
        elif piece.end == ack and piece.timed:
            if latest > piece.time or piece.sent > 1:
                found.unusable += 1
            else:
                found.rtt.append((packet.time - piece.time) * 1000)
        # An acknowledgment of a part of it ends its timing as well.
        piece.timed = False
        piece.acked = piece.acked or piece.end <= ack
        latest = max(latest, piece.time)
