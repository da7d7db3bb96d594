"""Time-sequence graphs of TCP connections, as a user of tcptrace and xplot reads them.

The sequence numbers of one side over time: its segments as bars between arrowheads, where they are sent
again in the colour and with the letter of the cause, or all in red with an R; the level of the
acknowledgments that it receives and, above it, the window that they advertise; SACK blocks; a 3 where the
third duplicate acknowledgment arrives. Times are in seconds from the first packet of the connection,
sequence numbers in bytes from its initial one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rexmit._native import comment_says_dropped
from rexmit.errors import UsageError
from rexmit.plot import connections, glyphs, style
from rexmit.plot.causes import groups
from rexmit.plot.connections import FIN, PSH, RST, SYN, Connection, Floats, Integers, Side, Truths
from rexmit.plot.held import HEIGHT, draw_band

_ABOVE, _BELOW, _BESIDE = (0.0, 8.0), (0.0, -8.0), (5.5, 0.0)
"""Where a letter stands beside what it names: points to the right and up."""

MOST_VECTORS = 5_000
"""A graph of more packets is a picture inside its SVG or PDF file: symbols cannot be told apart there."""

MOST_TICKS = 800
"""With more acknowledgments in view, ticks would only make the levels thick."""

SIZE = (9.0, 5.4)
"""Width and height of a graph in inches."""


@dataclass(frozen=True)
class View:
    """What of a connection is drawn, and how.

    `direction` is the sender of the data, `client` or `server`; without it, the one that sent more. `t` is
    the range of time in seconds. `window` draws the advertised window: room is made for it where it is near
    the data. `dropped` marks the packets that comments in the capture call dropped. `causes` tells
    retransmissions apart by their cause.
    """

    direction: str | None = None
    t: tuple[float, float] | None = None
    theme: style.Theme = style.LIGHT
    window: bool = True
    dropped: bool = True
    causes: bool = False


def draw(
    capture: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    connection: int = 1,
    direction: str | None = None,
    t: tuple[float, float] | None = None,
    title: str | None = None,
    theme: str = "light",
    causes: bool = True,
) -> list[Path]:
    """Draws the time-sequence graph of one connection of a capture and returns the files.

    `out` with an ending `.svg`, `.png` or `.pdf` is one file; without, SVG and PNG are written.
    `connection` counts from 1. `direction` is the sender of the data, `client` or `server`. `t` is the
    range of time to show in seconds. `theme` is `light`, or `dark` for the black of xplot. `causes` tells
    retransmissions apart by cause. Raises UsageError for a capture that cannot be read and for a connection
    or range that is not there, StoreError where a file cannot be written.
    """
    view = View(direction, t, style.theme_of(theme), causes=causes)
    seen = connections.choose(connections.read(Path(capture)), connection, os.fspath(capture))
    with style.styled(view.theme):
        return style.save(sheet(seen, view, title or _route(seen, view)), out)


def sheet(seen: Connection, view: View, title: str) -> Figure:
    """A figure of the graph with its legend; below it, where that is known, what held the sender back.

    Raises UsageError where `view` leaves nothing to see.
    """
    if not len(seen.side(view.direction).waits.by):
        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.add_subplot()
        style.legend_below(figure, plot(axes, seen, view))
    else:
        width, height = SIZE
        figure = Figure(figsize=(width, height + HEIGHT), layout="constrained")
        axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[1, 0.05])
        lines = plot(axes, seen, view)
        axes.set_xlabel("")
        below.set_xlabel("Time since the first packet (s)")
        band = draw_band(below, seen.side(view.direction).waits, seen.start_ns, view.theme)
        style.legend_below(figure, [*lines, *band])
    style.title(axes, title)
    return figure


def plot(axes: Axes, seen: Connection, view: View) -> list[Line2D]:
    """Draws the graph into axes and returns the entries of its legend.

    Raises UsageError where `view` leaves nothing to see.
    """
    painter = _Painter(axes, seen, view)
    painter.set_limits()
    painter.draw_segments()
    painter.draw_flags()
    painter.draw_drops()
    painter.draw_acks()
    painter.draw_window()
    painter.draw_sacks()
    painter.keep_small()
    axes.set_xlabel("Time since the first packet (s)")
    axes.set_ylabel("Sequence number (bytes, relative)")
    style.whole_numbers(axes, "y")
    return painter.legend


class _Painter:
    """Draws the parts of one graph, and keeps a legend of those that have something to show."""

    def __init__(self, axes: Axes, seen: Connection, view: View) -> None:
        self.axes, self.view, self.theme = axes, view, view.theme
        self.side = side = seen.side(view.direction)
        self.legend: list[Line2D] = []
        self.sent: Floats = (side.segments.time_ns - seen.start_ns) / 1e9
        self.acked: Floats = (side.acks.time_ns - seen.start_ns) / 1e9
        self.sacked: Floats = (side.sacks.time_ns - seen.start_ns) / 1e9
        self.span = _checked_span(self.sent, self.acked, view.t)
        self.in_view = _within(self.sent, self.span)
        self.acks_in_view = int(_within(self.acked, self.span).sum())
        self.ticks = self.acks_in_view <= MOST_TICKS
        self.head = 3.5

    def set_limits(self) -> None:
        """Sets the axes so that all segments, acknowledgments and SACK blocks in view fit."""
        side, (start, end) = self.side, self.span
        sent, acked = _within(self.sent, self.span), _within(self.acked, self.span)
        shown = [side.segments.seq[sent], side.segments.end[sent], side.acks.ack[acked]]
        values = np.concatenate([*shown, side.sacks.right[_within(self.sacked, self.span)]])
        low, high = int(values.min()), int(values.max())
        edges = side.acks.window_edge[acked]
        if self.view.window and edges.size and edges.max() - low < 1.7 * (high - low):
            high = max(high, int(edges.max()))
        room = max(high - low, 10)
        self.axes.set_xlim(start, end)
        self.axes.set_ylim(low - 0.05 * room, high + 0.07 * room)
        data = side.segments.len[side.segments.len > 0]
        if data.size:
            # Arrowheads keep clear of each other where segments are small in the graph.
            points = self.axes.bbox.height / self.axes.get_figure(root=True).dpi * 72  # type: ignore[union-attr]
            self.head = float(np.clip(0.28 * np.median(data) / room * points, 1.8, 4.5))

    def draw_acks(self) -> None:
        """The level of acknowledgments, with a tick for each that arrived."""
        acks = self.side.acks
        if self.acked.size:
            self._level(acks.ack, self.theme.ack, "ack")
            label, marker = ("ACK level, a tick an ACK", 3) if self.ticks else ("ACK level", "")
            self._name(label, color=self.theme.ack, marker=marker)
        third = (acks.duplicate == 3) & _within(self.acked, self.span)
        if third.any():
            marks = glyphs.text_marks(
                self.axes, (self.acked[third], acks.ack[third]), "3", (self.theme.ack, 5.5, _BELOW)
            )
            glyphs.named(marks, "text-3")
            glyph = glyphs.letters("3")
            self._name("third duplicate ACK", color=self.theme.ack, marker=glyph, linestyle="none")

    def draw_window(self) -> None:
        """The right edge of the advertised window, with a tick for each acknowledgment."""
        edges = self.side.acks.window_edge
        if not self.view.window or not edges.size:
            return
        self._level(edges, self.theme.window, "window")
        shown = edges[_within(self.acked, self.span)]
        above = shown.size > 0 and shown.min() > self.axes.get_ylim()[1]
        label = f"advertised window (above, from {shown.min():,})" if above else "advertised window"
        self._name(label, color=self.theme.window, marker=2 if self.ticks else "")

    def draw_sacks(self) -> None:
        """SACK blocks as bars at the time that they arrived."""
        sacks, shown = self.side.sacks, _within(self.sacked, self.span)
        if shown.any():
            look = (self.theme.sack, 1.8, "sack")
            self._bars(self.sacked[shown], sacks.left[shown], sacks.right[shown], look)
            self._name("SACK block", color=self.theme.sack, marker="|", linestyle="none", markeredgewidth=1.8)

    def draw_segments(self) -> None:
        """Segments with data by kind, a diamond at their end for PSH; a cross for a packet without data."""
        rows = self.side.segments
        data, late, copy = (rows.len > 0) & self.in_view, rows.late, rows.copy
        again = (rows.transmission > 1) & ~late & ~copy
        self._kind(data & ~again & ~late & ~copy, self.theme.segment, ("segment", "segment", ""))
        self._kind(data & late, self.theme.late, ("late", "reordered on its way here (O)", "O"))
        self._kind(data & copy, self.theme.late, ("copy", "copy of a packet (C)", "C"))
        told = np.zeros(len(again), dtype=bool)
        for group in groups(rows.number, self.side.causes) if self.view.causes else []:
            names = (f"retransmission-{group.cause}", group.label, group.letter)
            self._kind(data & again & group.rows, group.colour, names)
            told |= group.rows
        self._kind(
            data & again & ~told, self.theme.retransmission, ("retransmission", "retransmission (R)", "R")
        )
        if (rows.has(PSH) & data).any():
            self._name("PSH", color=self.theme.segment, marker="D", linestyle="none", markersize=3.5)
        empty = (rows.end == rows.seq) & ~rows.has(RST) & self.in_view
        if empty.any():
            self._points(self.sent[empty], rows.seq[empty], ("x", self.theme.segment, 4.5, "empty"))
            self._name("packet without data", color=self.theme.segment, marker="x", linestyle="none")

    def draw_flags(self) -> None:
        """SYN, FIN and RST by name, in red with an R where they are sent again."""
        rows = self.side.segments
        for flag, text, marker in ((SYN, "SYN", "D"), (FIN, "FIN", "s"), (RST, "RST", "X")):
            at = rows.seq if flag == SYN else rows.end
            for again, colour in ((False, self.theme.mark), (True, self.theme.retransmission)):
                here = rows.has(flag) & ((rows.transmission > 1) == again) & self.in_view
                alone = here & (rows.len == 0)
                if here.any():
                    self._text(
                        here, at, (f"R {text}" if again else text, colour, _BELOW if flag == SYN else _ABOVE)
                    )
                if alone.any():
                    self._points(self.sent[alone], at[alone], (marker, colour, 3.5, text.lower()))

    def draw_drops(self) -> None:
        """A ring at the packets that comments in the capture call dropped."""
        rows = self.side.segments
        lost = np.array([note is not None and comment_says_dropped(note) for note in rows.note], dtype=bool)
        lost &= self.in_view
        if self.view.dropped and lost.any():
            middle = (rows.seq[lost] + rows.end[lost]) // 2
            self._points(self.sent[lost], middle, ("o", self.theme.retransmission, 9.0, "dropped"))
            look = {"color": self.theme.retransmission, "marker": "o", "linestyle": "none", "markersize": 8.0}
            self._name("dropped (comment)", **look)

    def keep_small(self) -> None:
        """Turns the symbols of a long capture into a picture within a vector file."""
        if self.in_view.sum() + self.acks_in_view > MOST_VECTORS:
            for artist in [*self.axes.lines, *self.axes.collections]:
                artist.set_rasterized(True)

    def _kind(self, chosen: Truths, colour: str, names: tuple[str, str, str]) -> None:
        if not chosen.any():
            return
        name, label, letter = names
        rows, pushed = self.side.segments, self.side.segments.has(PSH)
        self._bars(self.sent[chosen], rows.seq[chosen], rows.end[chosen], (colour, 1.1, name))
        for marker, part, value, end in (
            (glyphs.DOWN, chosen, rows.seq, "first"),
            (glyphs.UP, chosen & ~pushed, rows.end, "last"),
            ("D", chosen & pushed, rows.end, "push"),
        ):
            if part.any():
                self._points(self.sent[part], value[part], (marker, colour, self.head, f"{name}-{end}"))
        if letter:
            # Beside small segments a letter would cover the level of acknowledgments.
            at, shift = ((rows.seq + rows.end) // 2, _BESIDE) if self.head > 2.5 else (rows.end, _ABOVE)
            self._text(chosen, at, (letter, colour, shift))
        self._name(label, color=colour, marker="|", linestyle="none", markersize=9.0, markeredgewidth=1.4)

    def _level(self, values: Integers, colour: str, name: str) -> None:
        last = max(float(self.acked[-1]), float(self.sent[-1]) if self.sent.size else 0.0)
        time, level = np.append(self.acked, last), np.append(values, values[-1])
        (line,) = self.axes.step(time, level, where="post", color=colour, zorder=2)
        glyphs.named(line, name)
        tick = 3 if name == "ack" else 2  # the library's numbers of a tick downwards and upwards
        if self.ticks:
            self._points(self.acked, values, (tick, colour, 3.0, f"{name}-tick"))

    def _bars(self, time: Floats, low: Integers, high: Integers, look: tuple[str, float, str]) -> None:
        colour, width, name = look
        ends = np.stack([np.stack([time, low], axis=1), np.stack([time, high], axis=1)], axis=1)
        bars = LineCollection(list(ends), colors=colour, linewidths=width, zorder=3 if name == "sack" else 4)
        glyphs.named(bars, name)
        self.axes.add_collection(bars, autolim=False)

    def _points(self, time: Floats, value: Integers, look: tuple[Any, str, float, str]) -> None:
        marker, colour, size, name = look
        (line,) = self.axes.plot(time, value, linestyle="none", marker=marker, markersize=size, color=colour)
        line.set(markerfacecolor="none", markeredgewidth=1.0, zorder=5)
        glyphs.named(line, name)

    def _text(self, chosen: Truths, value: Integers, look: tuple[str, str, tuple[float, float]]) -> None:
        text, colour, shift = look
        at = self.sent[chosen], value[chosen]
        glyphs.named(glyphs.text_marks(self.axes, at, text, (colour, 5.5, shift)), f"text-{text}")

    def _name(self, label: str, **look: Any) -> None:
        hollow = {"markersize": 5.0, "markerfacecolor": "none"}
        if not isinstance(look["marker"], str | int):
            hollow = {"markersize": 6.0, "markeredgewidth": 0.0}
        self.legend.append(Line2D([], [], label=label, **{**hollow, **look}))


def _checked_span(sent: Floats, acked: Floats, t: tuple[float, float] | None) -> tuple[float, float]:
    times = np.concatenate([sent, acked])
    if not times.size:
        raise UsageError("nothing was sent in this direction; choose the other one")
    start, end = t or (float(times.min()), float(times.max()))
    margin = 0.02 * (end - start) or 0.5
    if t is None:
        return start - margin, end + margin
    if not start < end:
        raise UsageError(
            f"the range of time from {start:g} to {end:g} s is empty; give the smaller one first"
        )
    if not _within(times, t).any():
        raise UsageError(f"no packet from {start:g} to {end:g} s; the connection lasts {times.max():.6g} s")
    return start - margin, end + margin


def _within(times: Floats, span: tuple[float, float]) -> Truths:
    inside: Truths = (times >= span[0]) & (times <= span[1])
    return inside


def _route(seen: Connection, view: View) -> str:
    side: Side = seen.side(view.direction)
    other = seen.server if side is seen.client else seen.client
    place = f", seen at {seen.interface}" if seen.interface else ""
    return f"{side.address} to {other.address}{place}"
