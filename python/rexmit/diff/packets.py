"""The packets of a run at one host, in a form in which two systems can be compared.

A packet is who sent it, what it carries, and numbers relative to its connection's first: nothing of random
initial numbers, ports or identifications is in it. The advertised window stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexmit.analyse.captures import Options, Reading
from rexmit.analyse.rows import RawTable, values

PSH = 8
"""The control bit that is not compared: it says how a sender cut its packets."""

FIN, SYN, RST, ACK = 1, 2, 4, 16

TABLES = (
    *("segments", "sacks", "retransmissions"),
    *("chunks", "sctp_sacks", "sctp_controls", "sctp_retransmissions"),
)

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Packet:
    """A packet: when it passed the host, what is compared, and the window that it advertises.

    `label` says what it is in words that others share, such as `data`; `text` has sender and numbers too.
    `causes` are those of what it sends again.
    """

    time_ns: int
    key: Key
    window: int | None
    label: str
    text: str
    causes: tuple[str, ...] = ()


Seen = Sequence[Packet]
"""The packets at a host in their order."""


def read_packets(path: Path) -> Seen:
    """Reads a capture."""
    parts: dict[str, list[RawTable]] = {name: [] for name in TABLES}
    for part in Reading([path], Options(jobs=1, tables=TABLES)):
        for name in TABLES:
            parts[name].append(part[name])
    tables = {name: list(_rows(found, _COLUMNS[name])) for name, found in parts.items()}
    causes = {(number, seq): cause for number, seq, cause in tables["retransmissions"]}
    packets = dict(_of_tcp(tables, causes))
    again = {(number, tsn): cause for number, tsn, cause in tables["sctp_retransmissions"]}
    packets |= dict(_of_sctp(tables, again))
    return [packets[number] for number in sorted(packets)]


def _of_tcp(
    tables: dict[str, list[tuple[Any, ...]]], causes: dict[tuple[int, int], str]
) -> Iterator[tuple[int, Packet]]:
    blocks = defaultdict(list)
    for number, left, right in tables["sacks"]:
        blocks[number].append((left, right))
    for number, connection, side, time, seq, length, flags, ack, window in tables["segments"]:
        flags &= ~PSH
        sacked = tuple(blocks.get(number, ()))
        key = (connection, side, seq, length, flags, ack, sacked)
        cause = causes.get((number, seq))
        label = _tcp_label(flags, length, cause, bool(sacked))
        text = f"{side} {label} {seq}:{seq + length}" if length else f"{side} {label}"
        text += f", ack {ack}" if flags & ACK else ""
        text += f", win {window}"
        text += "".join(f", sack {left}-{right}" for left, right in sacked)
        text += f" (connection {connection})" if connection else ""
        yield number, Packet(time, key, window, label, text, (cause,) if cause else ())


def _tcp_label(flags: int, length: int, cause: str | None, sacked: bool) -> str:
    if flags & RST:
        return "RST"
    if flags & SYN:
        return f"{'SYN-ACK' if flags & ACK else 'SYN'}{' again' if cause else ''}"
    if cause:
        return cause
    if flags & FIN:
        return "data with FIN" if length else "FIN"
    return "data" if length else "ACK with SACK" if sacked else "ACK"


def _of_sctp(
    tables: dict[str, list[tuple[Any, ...]]], causes: dict[tuple[int, int], str]
) -> Iterator[tuple[int, Packet]]:
    parts: dict[int, list[tuple[str, Key, str]]] = defaultdict(list)
    again: dict[int, list[str]] = defaultdict(list)
    about: dict[int, tuple[int, str, int]] = {}
    windows: dict[int, int] = {}
    for number, association, side, time, chunk in tables["sctp_controls"]:
        parts[number].append((chunk, (), chunk))
        about[number] = (association, side, time)
    for number, association, side, time, cumulative, gaps, duplicates, window in tables["sctp_sacks"]:
        told = "".join(
            f", {name} {found}" for name, found in (("gaps", gaps), ("duplicates", duplicates)) if found
        )
        text = f"SACK {cumulative}{told}, win {window}"
        parts[number].append(("SACK with gaps" if gaps else "SACK", (cumulative, gaps, duplicates), text))
        windows[number] = window
        about[number] = (association, side, time)
    for number, association, side, time, tsn, stream, length in tables["chunks"]:
        if cause := causes.get((number, tsn)):
            again[number].append(cause)
        parts[number].append(
            (cause or "DATA", (tsn, stream, length), f"{cause or 'DATA'} {tsn} ({length} bytes)")
        )
        about[number] = (association, side, time)
    for number, chunks in parts.items():
        association, side, time = about[number]
        content = ((label, *fields) for label, fields, _ in chunks)
        label = " and ".join(dict.fromkeys(label for label, _, _ in chunks))
        text = f"{side} {'; '.join(text for *_, text in chunks)}"
        key = (association, side, *content)
        yield number, Packet(time, key, windows.get(number), label, text, tuple(again[number]))


_COLUMNS = {
    "segments": ("number", "connection", "side", "time_ns", "seq", "len", "flags", "ack", "window"),
    "sacks": ("number", "left", "right"),
    "retransmissions": ("number", "seq", "cause"),
    "chunks": ("number", "association", "side", "time_ns", "tsn", "stream", "len"),
    "sctp_sacks": ("number", "association", "side", "time_ns", "cumulative", "gaps", "duplicates", "window"),
    "sctp_controls": ("number", "association", "side", "time_ns", "chunk"),
    "sctp_retransmissions": ("number", "tsn", "cause"),
}
"""Columns of the tables that are read. Most of the time that a short capture takes would go to the others."""


def _rows(parts: list[RawTable], columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    for part in parts:
        yield from zip(*(values(part, name) for name in columns), strict=True)
