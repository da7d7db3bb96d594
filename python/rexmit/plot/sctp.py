"""Time-sequence graphs of SCTP associations: the TSNs of one side over time.

Each DATA chunk is a dot at its TSN, where it is sent again a diamond with the letter of the cause; the level
of the cumulative TSN that comes back, with a tick for each SACK, and gap blocks as bars at the time that they
arrived. Times are in seconds from the first packet of the association, TSNs count from the initial one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rexmit.analyse.captures import SMALL, Options, Reading
from rexmit.analyse.listing import OF_SCTP, Listing, Packet, Piece, Window
from rexmit.analyse.rows import Row
from rexmit.analyse.words import SCTP_CAUSES, SCTP_LETTERS
from rexmit.errors import UsageError
from rexmit.files import make_folder, write_text
from rexmit.plot import glyphs, style
from rexmit.plot.causes import SCTP_COLOURS
from rexmit.plot.connections import Floats, Integers
from rexmit.plot.tsg import MOST_TICKS, MOST_VECTORS, SIZE

_BESIDE = (5.5, 0.0)
Chunk = tuple[float, Piece]
"""When it was sent, and the chunk."""


def draw_associations(
    capture: Path, folder: Path, numbers: Sequence[int], forms: Sequence[str], options: Options
) -> list[Path]:
    """Draws the graphs of these associations, and returns the files `association-N-tsg.ENDING`.

    Formats are `svg`, `png`, `pdf` and `xplot`; others are passed over.
    """
    given = Options(
        options.filter, options.loss_event_rtts, options.sctp_threshold, options.jobs, (*SMALL, *OF_SCTP)
    )
    listings = [Listing("association", number) for number in numbers]
    for tables in Reading([capture], given):
        for listing in listings:
            listing.add(tables)
    files: list[Path] = []
    still = [form for form in forms if form in style.KNOWN_FORMATS]
    for listing in listings:
        _, row = listing.flow
        seen = Sequenced(row, listing.packets(Window()))
        if not seen.chunks:
            continue
        stem = folder / f"association-{row['association']}-tsg"
        if still:
            with style.styled(style.LIGHT):
                files += style.save(figure(seen, style.LIGHT), stem, still)
        if "xplot" in forms:
            target = stem.with_name(f"{stem.name}.xpl")
            make_folder(target.parent, resumable=False)
            write_text(target, xplot(seen), resumable=False)
            files.append(target)
    return files


class Sequenced:
    """The DATA of the side of an association that sent more, and the SACKs for it."""

    def __init__(self, row: Row, packets: Sequence[Packet]) -> None:
        self.row = row
        self.side = "client" if row["client_chunks"] >= row["server_chunks"] else "server"
        other = "server" if self.side == "client" else "client"
        self.title = f"{row[f'{self.side}_address']} to {row[f'{other}_address']}"
        self.chunks: list[Chunk] = []
        levels: list[tuple[float, int]] = []
        self.gaps: list[tuple[float, int, int]] = []
        for packet in packets:
            time = packet.time_ns / 1e9
            if packet.side == self.side:
                self.chunks += [(time, piece) for piece in packet.data]
            elif packet.report is not None:
                levels.append((time, packet.report.next - 1))
                for block in packet.report.blocks:
                    first, _, last = block.partition("-")
                    self.gaps.append((time, int(first), int(last)))
        self.sack_times: Floats = np.array([time for time, _ in levels], dtype=np.float64)
        self.levels: Integers = np.array([level for _, level in levels], dtype=np.int64)

    def again(self) -> Iterator[tuple[str, bool, list[Chunk]]]:
        """Chunks sent again: cause, whether they were needed, and the chunks."""
        for cause in SCTP_CAUSES:
            for needed in (True, False):
                own = [
                    (time, piece)
                    for time, piece in self.chunks
                    if piece.cause == cause and (piece.need not in ("spurious", "unnecessary")) == needed
                ]
                if own:
                    yield cause, needed, own


def figure(seen: Sequenced, theme: style.Theme) -> Figure:
    """A figure of the graph. Raises UsageError where nothing was sent."""
    if not seen.chunks:
        raise UsageError("the association carries no DATA")
    sheet = Figure(figsize=SIZE, layout="constrained")
    axes = sheet.add_subplot()
    style.legend_below(sheet, plot(axes, seen, theme))
    style.title(axes, f"Time sequence: {seen.title}")
    axes.set_xlabel("Time since the first packet (s)")
    axes.set_ylabel("TSN (relative)")
    style.whole_numbers(axes, "y")
    return sheet


def plot(axes: Axes, seen: Sequenced, theme: style.Theme) -> list[Line2D]:
    """Draws the graph into axes and returns the entries of its legend."""
    legend: list[Line2D] = []
    new = [(time, piece) for time, piece in seen.chunks if not piece.number]
    _dots(axes, new, ("o", theme.segment, "chunk"))
    legend.append(_entry("DATA chunk", theme.segment, "o"))
    _levels(axes, seen, theme)
    if seen.levels.size:
        legend.append(_entry("cumulative TSN, a tick a SACK", theme.ack, 3, line="-"))
    if seen.gaps:
        bars = [[(time, first - 0.4), (time, last + 0.4)] for time, first, last in seen.gaps]
        blocks = LineCollection(bars, colors=theme.sack, linewidths=1.8, zorder=3)
        glyphs.named(blocks, "gap")
        axes.add_collection(blocks, autolim=False)
        legend.append(_entry("gap block", theme.sack, "|"))
    for cause, needed, chunks in seen.again():
        letter = SCTP_LETTERS[cause] if needed else SCTP_LETTERS[cause].lower()
        colour = SCTP_COLOURS[cause]
        _dots(axes, chunks, ("D", colour, f"retransmission-{cause}"))
        at = np.array([time for time, _ in chunks]), np.array([piece.first for _, piece in chunks])
        glyphs.named(glyphs.text_marks(axes, at, letter, (colour, 5.5, _BESIDE)), f"text-{letter}")
        told = f"{SCTP_CAUSES[cause]}{'' if needed else ', not needed'} ({letter})"
        legend.append(_entry(told, colour, "D"))
    if len(seen.chunks) + seen.levels.size > MOST_VECTORS:
        for artist in [*axes.lines, *axes.collections]:
            artist.set_rasterized(True)
    return legend


def xplot(seen: Sequenced) -> str:
    """The graph as the text of a file for xplot."""
    lines = ["dtime signed", "title", f"{seen.title.replace(' to ', '_==>_')} (time sequence graph)"]
    lines += ["xlabel", "time", "ylabel", "TSN", "white"]
    lines += [f"dot {time:.6f} {piece.first}" for time, piece in seen.chunks if not piece.number]
    for cause, needed, chunks in seen.again():
        letter = SCTP_LETTERS[cause] if needed else SCTP_LETTERS[cause].lower()
        lines.append("red" if needed else "pink")
        for time, piece in chunks:
            lines += [f"diamond {time:.6f} {piece.first}", f"atext {time:.6f} {piece.first}", f"R {letter}"]
    lines.append("green")
    before: tuple[float, int] | None = None
    for time, level in zip(seen.sack_times.tolist(), seen.levels.tolist(), strict=True):
        if before is not None:
            lines.append(f"line {before[0]:.6f} {before[1]} {time:.6f} {before[1]}")
            if level != before[1]:
                lines.append(f"line {time:.6f} {before[1]} {time:.6f} {level}")
        lines.append(f"dtick {time:.6f} {level}")
        before = time, level
    lines.append("purple")
    lines += [f"line {time:.6f} {first} {time:.6f} {last}" for time, first, last in seen.gaps]
    return "\n".join([*lines, "go"]) + "\n"


def _levels(axes: Axes, seen: Sequenced, theme: style.Theme) -> None:
    if not seen.levels.size:
        return
    (line,) = axes.step(seen.sack_times, seen.levels, where="post", color=theme.ack, zorder=2)
    glyphs.named(line, "sack")
    if seen.levels.size <= MOST_TICKS:
        (ticks,) = axes.plot(seen.sack_times, seen.levels, linestyle="none", marker=3, color=theme.ack)
        ticks.set(markersize=3.0)
        glyphs.named(ticks, "sack-tick")


def _dots(axes: Axes, chunks: Sequence[Chunk], look: tuple[str, str, str]) -> None:
    marker, colour, name = look
    times, tsns = [time for time, _ in chunks], [piece.first for _, piece in chunks]
    (line,) = axes.plot(times, tsns, linestyle="none", marker=marker, markersize=3.0, color=colour)
    line.set(markeredgewidth=0.8, zorder=4 if marker == "o" else 5)
    glyphs.named(line, name)


def _entry(label: str, colour: str, marker: Any, line: Any = "none") -> Line2D:
    return Line2D([], [], label=label, color=colour, marker=marker, linestyle=line, markersize=5.0)
