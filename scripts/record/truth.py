"""Joins the kernel's account, the relay's log and the captures: each retransmission with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .packets import Segment
from .relay import Passage
from .tracing import Event

WRAP = 1 << 32
HALF = 1 << 31
# The kernel's event follows the packet's time stamp by far less; another packet's lies farther off.
SLACK = 0.002
SENT = {"server": "down", "client": "up"}

Capture = list[tuple[float, Segment | None]]


class MismatchError(Exception):
    """The sources do not fit together; the scenario must be recorded again."""


@dataclass(frozen=True)
class Sent:
    """A packet at its sender: its numbers in both captures, and what the relay did to its parts.

    `visible` is true if a receiver can see that it comes out of turn: data beyond its first byte came before.
    """

    number: int
    at: float
    segment: Segment
    arrivals: tuple[int, ...]
    visible: bool
    parts: tuple[Passage, ...]


def sent_packets(
    side: str, captures: dict[str, Capture], log: list[Passage], delivered: list[int]
) -> list[Sent]:
    """Each packet that a side sent, joined with what became of it. `side` sends towards the other one."""
    other = "client" if side == "server" else "server"
    port = _port(side, captures)
    own = [(n, at, s) for n, (at, s) in enumerate(captures[side], 1) if s is not None and s.sport == port]
    there = [n for n, (_, s) in enumerate(captures[other], 1) if s is not None and s.sport == port]
    indices = [index for index, passage in enumerate(log) if passage.direction == SENT[side]]
    came = [index for index in delivered if log[index].direction == SENT[side]]
    if len(came) != len(there):
        raise MismatchError(f"{len(came)} packets of the {side} were delivered, {len(there)} captured")
    arrivals: dict[int, list[int]] = {}
    for index, number in zip(came, there, strict=True):
        arrivals.setdefault(index, []).append(number)
    found = []
    late = late_arrivals(captures[other], port)
    waiting = iter(indices)
    for number, at, segment in own:
        mine = _parts(segment, waiting, log)
        numbers = tuple(n for index in mine for n in arrivals.get(index, []))
        visible = any(n in late for n in numbers)
        found.append(Sent(number, at, segment, numbers, visible, tuple(log[index] for index in mine)))
    if next(waiting, None) is not None:
        raise MismatchError(f"the {side}'s capture has fewer packets than the relay took")
    return found


def late_arrivals(capture: Capture, port: int) -> set[int]:
    """Numbers of the packets from `port` that came after one which ends beyond their first byte."""
    found = set()
    highest: int | None = None
    for number, (_, segment) in enumerate(capture, 1):
        if segment is None or segment.sport != port:
            continue
        begin, end = _span(segment)
        if begin == end:
            continue
        if highest is not None and (begin - highest) % WRAP >= HALF:
            found.add(number)
        if highest is None or (end - highest) % WRAP < HALF:
            highest = end
    return found


def _port(side: str, captures: dict[str, Capture]) -> int:
    first = next((s for _, s in captures["client"] if s is not None), None)
    if first is None:
        raise MismatchError("the client's capture is empty")
    return first.sport if side == "client" else first.dport


def _parts(segment: Segment, waiting: Iterable[int], log: list[Passage]) -> list[int]:
    """The passages of one packet: several where the relay split a super-packet."""
    found: list[int] = []
    length = 0
    for index in waiting:
        if log[index].segment.seq != (segment.seq + length) % WRAP:
            raise MismatchError(f"the relay took another packet than the one with number {segment.seq}")
        found.append(index)
        length += log[index].segment.length
        if length >= segment.length:
            return found
    raise MismatchError("the relay took fewer packets than were captured")


def retransmissions(
    side: str, packets: list[Sent], events: list[Event], sack: bool
) -> list[dict[str, object]]:
    """The packets that a side sent again, each with the mechanism that the kernel named."""
    port = packets[0].segment.sport if packets else 0
    mine = [event for event in events if event.port == port]
    first = packets[0].segment.seq if packets else 0
    rows: list[dict[str, object]] = []
    for packet, earlier in _again(packets):
        event, leading = _event_of(packet, mine)
        segment = packet.segment
        rows.append(
            {
                "side": side,
                "packet": packet.number,
                "arrivals": list(packet.arrivals),
                "visible": packet.visible,
                "seq": (segment.seq - first) % WRAP,
                "len": segment.length,
                "cause": _cause(segment, event, leading, sack),
                "needed": not _arrived(segment, earlier),
                "lost": all(part.verdict in ("dropped", "queue full") for part in packet.parts),
            }
        )
    return rows


def _again(packets: list[Sent]) -> Iterable[tuple[Sent, list[Sent]]]:
    """Packets that take sequence numbers which were sent before, with those that carried them."""
    for index, packet in enumerate(packets):
        begin, end = _span(packet.segment)
        if begin == end:
            continue
        earlier = [p for p in packets[:index] if _overlap(_span(p.segment), (begin, end))]
        if earlier:
            yield packet, earlier


def _span(segment: Segment) -> tuple[int, int]:
    size = segment.length + (1 if segment.flags & 2 else 0) + (segment.flags & 1)
    return segment.seq, (segment.seq + size) % WRAP


def _overlap(one: tuple[int, int], two: tuple[int, int]) -> bool:
    return (one[1] - two[0] - 1) % WRAP < HALF and (two[1] - one[0] - 1) % WRAP < HALF and one[0] != one[1]


def _event_of(packet: Sent, events: list[Event]) -> tuple[Event | None, bool]:
    """The event of a packet, and whether it is the first retransmission of its recovery."""
    resent = [e for e in events if e.what != "tcp_cong_state_set" and -1e-5 <= e.at - packet.at < SLACK]
    if not resent:
        return None, False
    event = min(resent, key=lambda e: e.at)
    before = [e for e in events if e.at <= event.at and e is not event]
    state = next((e.state for e in reversed(before) if e.what == "tcp_cong_state_set"), "open")
    leading = bool(before) and before[-1].what == "tcp_cong_state_set"
    return Event(event.at, event.what, event.port, state, event.mechanism), leading


def _cause(segment: Segment, event: Event | None, leading: bool, sack: bool) -> str:
    """The name of our table of causes for what the kernel did."""
    if segment.kind in ("syn", "syn-ack"):
        return segment.kind
    if event is None:
        return "probe"
    if event.mechanism == "tail probe":
        return "tail-probe"
    if event.mechanism == "timer":
        return "fin" if segment.kind == "fin" else "timeout"
    if event.mechanism == "queue" and event.state == "loss":
        return "go-back-n"
    if event.mechanism == "queue" and event.state == "recovery":
        return "fast" if leading else "sack-recovery" if sack else "partial-ack"
    raise MismatchError(
        f"the kernel sent again in state {event.state} by {event.mechanism or 'no known call'}"
    )


def _arrived(segment: Segment, earlier: list[Sent]) -> bool:
    """True if the relay let an earlier packet with all of these data pass."""
    begin, end = _span(segment)
    carried = [part.segment for packet in earlier for part in packet.parts if _passed(part)]
    need = begin
    for part in sorted(carried, key=lambda s: (s.seq - begin + HALF) % WRAP):
        left, right = _span(part)
        if (need - left) % WRAP < HALF and (right - need) % WRAP < HALF:
            need = right
    return need == end or (need - end) % WRAP < HALF


def _passed(part: Passage) -> bool:
    return part.verdict not in ("dropped", "queue full")
