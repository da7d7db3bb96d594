"""The figures of klaver-2005's chapter 4: single congestion-avoidance cycles, from captures at the sender."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit.analyse.friendly import Judged
from rexmit.analyse.friendly.direction import Floats, Integers, Truths
from rexmit.plot import style

SHOWN = 3
"""Cycles drawn of a connection whose pipe holds more than its buffer."""


@dataclass(frozen=True)
class Cycle:
    """What was sent in one or more whole cycles, from the ACK on that raised the window to W.

    One row per segment, times in s from the first one; `rtt` in ms is NaN where there is no unambiguous
    sample.
    """

    time: Floats
    cwnd: Integers
    outstanding: Floats
    again: Truths
    lost: Truths
    rtt: Floats

    @property
    def peak(self) -> int:
        """W."""
        return int(self.cwnd[0])


def cycle_of(one: Judged, number: int = 1) -> Cycle:
    """`number` cycles from the middle of the measurement window (of all cycles without one)."""
    cycles, sent = one.cycles, one.flow.sent
    first, last = (one.window.first, one.window.last) if one.window else (0, len(cycles))
    at = max((first + last - number) // 2, first)
    # The lost packet is the second of the two that the ACK released.
    rows = np.arange(int(cycles.start[at]) - 1, int(cycles.stop[at + number - 1]) - 1)
    again = ~sent.new
    ends = np.sort(sent.end[again])
    place = np.minimum(np.searchsorted(ends, sent.end), max(len(ends) - 1, 0))
    lost = sent.new & (ends[place] == sent.end) if len(ends) else np.zeros(len(sent.end), dtype=bool)
    rtt = np.full(len(sent.end), np.nan)
    rtt[one.flow.rtt_row] = one.flow.rtt / 1e6
    return Cycle(
        time=(sent.time[rows] - sent.time[rows[0]]) / 1e9,
        cwnd=sent.cwnd[rows],
        outstanding=sent.outstanding[rows] / one.flow.mss,
        again=again[rows],
        lost=lost[rows],
        rtt=rtt[rows],
    )


def figure_cycle(cycle: Cycle, number: str) -> Figure:
    """Segments sent over one cycle, each at the window of that moment (figures 4.1 and 4.2)."""
    sheet = Figure(figsize=(7.4, 4.0), layout="constrained")
    axes = sheet.add_subplot()
    handles = _segments(axes, cycle)
    sent, lost = len(cycle.time), int(cycle.lost.sum())
    axes.set_title(
        f"Figure {number}: a cycle with W = {cycle.peak}, {sent} segments sent, {sent - lost} delivered",
        loc="left",
    )
    axes.set_ylabel("Congestion window (segments)")
    axes.set_xlabel("Time since the window reached W (s)")
    axes.set_ylim(0, cycle.peak + 1.5)
    style.whole_numbers(axes, "y")
    style.legend_below(sheet, handles)
    return sheet


def _segments(axes: Axes, cycle: Cycle) -> list[Line2D]:
    (line,) = axes.step(cycle.time, cycle.cwnd, where="post", color=style.LIGHT.grid, linewidth=2.2)
    line.set(color="#b5b5b5", label="cwnd (urgent pointer field)")
    plain = ~cycle.again & ~cycle.lost
    twice = np.append(np.diff(cycle.time) == 0, False)
    handles = [line]
    for chosen, marker, face, colour, label in (
        (plain & ~twice, "o", style.LIGHT.segment, style.LIGHT.segment, "segment"),
        (plain & twice, "o", "none", style.LIGHT.segment, "two segments at once"),
        (cycle.lost, "x", "none", style.LIGHT.retransmission, "dropped"),
        (cycle.again, "^", style.LIGHT.retransmission, style.LIGHT.retransmission, "retransmission"),
    ):
        if chosen.any():
            (dots,) = axes.plot(cycle.time[chosen], cycle.cwnd[chosen], marker, color=colour)
            large = marker != "o" or face == "none"
            dots.set(markerfacecolor=face, markersize=6.5 if large else 3.2, label=label, zorder=4 + large)
            handles.append(dots)
    return handles


def figure_rtt(cycle: Cycle, number: str) -> Figure:
    """Unambiguous round-trip times over one cycle (figures 4.3 and 4.4)."""
    sheet = Figure(figsize=(7.4, 3.4), layout="constrained")
    axes = sheet.add_subplot()
    timed = ~np.isnan(cycle.rtt)
    axes.plot(cycle.time[timed], cycle.rtt[timed], "o", color=style.LIGHT.segment, markersize=3.4)
    without = cycle.time[~timed]
    base = float(np.nanmin(cycle.rtt)) * 0.72
    axes.plot(without, np.full(len(without), base), "|", color=style.LIGHT.retransmission, markersize=7)
    axes.annotate(
        f"{len(without)} segments without an unambiguous sample",
        (float(without.max()), base),
        (8, -3),
        textcoords="offset points",
        color=style.LIGHT.retransmission,
        fontsize=8.5,
    )
    title = f"Figure {number}: round-trip times of a cycle with W = {cycle.peak}, {int(timed.sum())} samples"
    axes.set_title(title, loc="left")
    axes.set_ylabel("RTT (ms)")
    axes.set_xlabel("Time since the window reached W (s)")
    axes.set_ylim(base * 0.85, float(np.nanmax(cycle.rtt)) * 1.04)
    style.whole_numbers(axes, "y")
    return sheet


def figure_pipe(cycle: Cycle) -> Figure:
    """Window and round-trip times where the pipe holds more than the buffer (figure 4.5)."""
    sheet = Figure(figsize=(7.4, 5.0), layout="constrained")
    above, below = sheet.subplots(2, 1, sharex=True)
    (cwnd,) = above.step(cycle.time, cycle.cwnd, where="post", color=style.LIGHT.segment, linewidth=1.3)
    cwnd.set_label("cwnd (urgent pointer field)")
    above.set_ylabel("Congestion window (segments)")
    above.set_ylim(0, cycle.peak * 1.1)
    above.set_title("Figure 4.5: a pipe of 20.6 packets before a buffer of 10", loc="left")
    timed = ~np.isnan(cycle.rtt)
    (dots,) = below.plot(cycle.time[timed], cycle.rtt[timed], ".", color=style.LIGHT.late, markersize=3)
    dots.set_label("RTT sample")
    below.set_ylabel("RTT (ms)")
    below.set_xlabel("Time since the window reached W (s)")
    below.set_ylim(bottom=0.9 * float(np.nanmin(cycle.rtt)))
    style.legend_below(sheet, [cwnd, dots])
    return sheet


def figure_start(one: Judged, seconds: float) -> Figure:
    """The window from the first packet: slow start, its losses, and cycles, of which figure 2.2 shows two."""
    sent = one.flow.sent
    time = (sent.time - one.flow.connection["start_ns"]) / 1e9
    shown = time <= seconds
    sheet = Figure(figsize=(7.4, 3.2), layout="constrained")
    axes = sheet.add_subplot()
    (line,) = axes.step(time[shown], sent.cwnd[shown], where="post", color=style.LIGHT.segment, linewidth=1.2)
    line.set_label("cwnd (urgent pointer field)")
    rows = one.flow.events.row
    rows = rows[time[rows] <= seconds]
    (marks,) = axes.plot(time[rows], sent.cwnd[rows], "v", color=style.LIGHT.retransmission, markersize=5)
    marks.set_label("loss event")
    axes.set_title("Figure 2.2: cycles of congestion avoidance, after slow start", loc="left")
    axes.set_ylabel("Congestion window (segments)")
    axes.set_xlabel("Time since the first packet (s)")
    axes.set_ylim(bottom=0)
    style.whole_numbers(axes, "y")
    style.legend_below(sheet, [line, marks])
    return sheet


def draw_cycles(judged: dict[str, Judged], out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of the connections that are there, by their labels in the study."""
    drawn: list[tuple[str, Figure]] = []
    for label, (sent, rtt) in {"W = 11": ("4.1", "4.3"), "W = 12": ("4.2", "4.4")}.items():
        if label in judged:
            cycle = cycle_of(judged[label])
            drawn.append((f"figure-{sent.replace('.', '-')}", figure_cycle(cycle, sent)))
            drawn.append((f"figure-{rtt.replace('.', '-')}", figure_rtt(cycle, rtt)))
    if PIPE in judged:
        drawn.append(("figure-2-2", figure_start(judged[PIPE], 30.0)))
        drawn.append(("figure-4-5", figure_pipe(cycle_of(judged[PIPE], SHOWN))))
    return [file for stem, sheet in drawn for file in style.save(sheet, out / stem, formats)]


PIPE = "pipe above buffer"
