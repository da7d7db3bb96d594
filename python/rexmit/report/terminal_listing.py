"""The packets of a flow for a terminal, as sctp_trace lists them (pedersen-2006, figure 3.10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from rexmit.analyse.listing import Packet, Piece, Report
from rexmit.analyse.rows import Row
from rexmit.report.terminal import STRONG, cause_style

_HEAD = "{:>8}  {:>14}  {:<6}  "


def print_listing(console: Console, kind: str, flow: Row, packets: Sequence[Packet]) -> None:
    """Prints one line per packet and one more for each further chunk that was sent again."""
    console.print(Text(_title(kind, flow), style=STRONG))
    for line in listing_lines(kind, packets):
        console.print(line, soft_wrap=True)


def listing_lines(kind: str, packets: Sequence[Packet]) -> Iterator[Text]:
    """The lines, after one of titles; times are milliseconds from the first packet of the flow."""
    yield Text((_HEAD + "{}").format("packet", "time, ms", "from", "carries"), style="bold")
    for packet in packets:
        head = _HEAD.format(packet.number, f"{packet.time_ns / 1e6:.3f}", packet.side)
        parts = list(_sctp_parts(packet) if kind == "association" else _tcp_parts(packet))
        for part in parts:
            yield Text.assemble(head, part, no_wrap=True)
            head = " " * len(head)


def _title(kind: str, flow: Row) -> str:
    ends = f"{flow['client_address']} (client), {flow['server_address']} (server)"
    title = f"{kind.capitalize()} {flow[kind]}: {ends}"
    if kind == "association":
        first = [
            f"TSN 0 of the {side} is {flow[f'{side}_initial_tsn']} on the wire"
            for side in ("client", "server")
            if flow[f"{side}_chunks"]
        ]
        title += "; " * bool(first) + ", ".join(first)
    return title


def _sctp_parts(packet: Packet) -> Iterator[Text]:
    """What stands in each line of a packet: its SACK and new chunks in the first, the others in one each."""
    first = []
    if packet.report is not None:
        first.append(_sack(packet.report))
    first += [f"TSN {span}" for span in _spans([one for one in packet.data if not one.number])]
    again = [one for one in packet.data if one.number]
    if first:
        yield Text(", ".join(first))
    for piece in again:
        yield _again(piece, str(piece.first))


def _sack(report: Report) -> str:
    text = f"SACK {report.next - 1}"
    if report.blocks:
        text += f", gap blocks {' '.join(report.blocks)}"
    return f"{text}, again {' '.join(report.duplicates)}" if report.duplicates else text


def _spans(pieces: Sequence[Piece]) -> Iterator[str]:
    """New chunks, those that follow each other as one; each that was overtaken by itself."""
    at = 0
    while at < len(pieces):
        last = at
        while last + 1 < len(pieces) and pieces[last + 1].first == pieces[last].end:
            last += 1
        span = f"{pieces[at].first}" if last == at else f"{pieces[at].first}-{pieces[last].first}"
        yield span if pieces[at].kind == "new" else f"{span} ({pieces[at].kind})"
        at = last + 1


def _tcp_parts(packet: Packet) -> Iterator[Text]:
    parts = [packet.flags] if packet.flags else []
    data = [one for one in packet.data if not packet.flags or one.end > one.first + 1 or one.number]
    parts += [
        f"seq {one.first}:{one.end}" + ("" if one.kind == "new" else f" ({one.kind})")
        for one in data
        if not one.number
    ]
    text = Text(", ".join(parts))
    for piece in data:
        if piece.number:
            text = Text.assemble(text, ", " if text else "", _again(piece, f"{piece.first}:{piece.end}"))
    report = packet.report
    if report is not None and not (text and report.again):
        text = Text.assemble(text, ", " if text else "", _ack(report))
    yield text


def _ack(report: Report) -> str:
    text = f"ACK {report.next}"
    if report.repeats:
        text += f", duplicate {report.repeats}"
    if report.blocks:
        text += f", SACK {' '.join(block.replace('-', ':') for block in report.blocks)}"
    if report.duplicates:
        text += f", DSACK {' '.join(block.replace('-', ':') for block in report.duplicates)}"
    return text


def _again(piece: Piece, place: str) -> Text:
    """A retransmission: B where it was bundled, R and its number, the data, its delay and its cause."""
    mark = f"{'B ' if piece.bundled else ''}R{piece.number} {place}"
    delay = "" if piece.delay_ns is None else f" ({piece.delay_ns / 1e6:.3f} ms)"
    other = f" (of sctp_trace: {piece.class_})" if piece.class_ not in ("", piece.cause) else ""
    return Text.assemble(
        (mark, STRONG), f"{delay} ", (piece.cause or piece.kind, cause_style(piece.cause)), other
    )
