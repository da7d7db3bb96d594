"""The congestion window of a direction over time: its cycles, what was lost, and the window measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rexmit.analyse.friendly import Judged
from rexmit.analyse.friendly.direction import Floats
from rexmit.plot import style

SIZE = (8.6, 5.6)

COLUMNS = 2_000
"""Columns of a figure: each keeps the least and the greatest point of a line."""

SHADE = 0.12

MANY = 40
"""Loss events in a panel from which their marks are small."""

DETAIL = 4
"""Cycles in the lower panel."""


def draw(one: Judged, out: Path) -> list[Path]:
    """Draws a direction and returns the files; `out` as in `style.save`."""
    theme = style.LIGHT
    with style.styled(theme):
        return style.save(figure(one, theme), out)


def figure(one: Judged, theme: style.Theme) -> Figure:
    """What is outstanding over the whole flow, and over some cycles of it."""
    sheet = Figure(figsize=SIZE, layout="constrained")
    flow = one.flow
    span = _detail(one)
    panels = sheet.subplots(2, 1) if span is not None else [sheet.subplots()]
    handles = _panel(panels[0], one, theme, None)
    ends = [flow.connection[f"{side}_address"] for side in (flow.side, flow.other)]
    panels[0].set_title(f"Window in segments: {ends[0]} to {ends[1]}", loc="left")
    if span is not None:
        _panel(panels[1], one, theme, span)
        panels[1].set_title(f"{DETAIL} of these cycles" if one.window else "some cycles", loc="left")
    panels[-1].set_xlabel("Time since the first packet (s)")
    style.legend_below(sheet, handles)
    return sheet


def _panel(axes: Axes, one: Judged, theme: style.Theme, span: tuple[float, float] | None) -> list[Line2D]:
    flow = one.flow
    sent = flow.sent
    time = (sent.time - flow.connection["start_ns"]) / 1e9
    shown = (float(time[0]), float(time[-1])) if span is None else span
    near = slice(*np.searchsorted(time, shown))
    level = sent.outstanding[near] / flow.mss
    handles = [_line(axes, (time[near], level), theme.segment, "outstanding")]
    top = float(level.max(initial=1.0))
    if flow.carries_cwnd:
        cwnd = sent.cwnd[near].astype(np.float64)
        handles.append(_line(axes, (time[near], cwnd), theme.ack, "cwnd (urgent pointer field)"))
        top = max(top, float(cwnd.max(initial=0.0)))
    handles += _receiver(axes, one, theme, near, top)
    handles += _events(axes, one, theme, shown)
    handles += _window(axes, one, theme)
    margin = 0.01 * (shown[1] - shown[0]) or 0.5
    axes.set_xlim(shown[0] - margin, shown[1] + margin)
    axes.set_ylim(0, 1.15 * top)
    axes.set_ylabel("Segments")
    style.whole_numbers(axes, "y")
    return handles


def _receiver(axes: Axes, one: Judged, theme: style.Theme, near: slice, top: float) -> list[Line2D]:
    """The receiver's window, where it is near what is outstanding; else it is named in the legend."""
    flow, sent = one.flow, one.flow.sent
    room = sent.room[near]
    known = room < 2**40
    if not known.any():
        return []
    last = np.searchsorted(flow.acks.number, sent.number[near]) - 1
    highest = flow.acks.highest[np.maximum(last, 0)]
    value: Floats = (sent.edge[near] + room - highest)[known] / flow.mss
    time = ((sent.time - flow.connection["start_ns"]) / 1e9)[near][known]
    label = "receiver's window"
    if float(value.min()) > 1.15 * top:
        label += f" (above, from {float(value.min()):,.0f})"
    line = _line(axes, (time, value), theme.window, label)
    return [line]


def _events(axes: Axes, one: Judged, theme: style.Theme, shown: tuple[float, float]) -> list[Line2D]:
    flow = one.flow
    rows = flow.events.row
    time = (flow.sent.time[rows] - flow.connection["start_ns"]) / 1e9
    handles = []
    for late, marker, colour, label in (
        (False, "v", theme.retransmission, "loss event, at W"),
        (True, "X", theme.sack, "loss event with a timeout"),
    ):
        own = (flow.events.timeout == late) & (time >= shown[0]) & (time <= shown[1])
        if own.any():
            (line,) = axes.plot(
                time[own], flow.level[rows][own], linestyle="none", marker=marker, label=label
            )
            line.set(color=colour, markersize=4 if own.sum() < MANY else 2.2, markeredgewidth=0, zorder=5)
            handles.append(line)
    return handles


def _window(axes: Axes, one: Judged, theme: style.Theme) -> list[Line2D]:
    """The measurement window as a shade."""
    window = one.window
    if window is None:
        return []
    begin, end = one.cycles.start[window.first], one.cycles.stop[window.last - 1]
    start = one.flow.connection["start_ns"]
    times = [(int(one.flow.sent.time[row]) - start) / 1e9 for row in (begin, end)]
    axes.axvspan(*times, color=theme.mark, alpha=SHADE, linewidth=0, zorder=0)
    label = f"measured: {len(window):,} cycles alike"
    return [Line2D([], [], color=theme.mark, alpha=SHADE, linewidth=7, label=label)]


def _detail(one: Judged) -> tuple[float, float] | None:
    """Some cycles in the middle of the window, or of the flow; none where that is nearly all."""
    first, last = (one.window.first, one.window.last) if one.window else (1, len(one.cycles))
    if last - first < 2 * DETAIL:
        return None
    middle = (first + last - DETAIL) // 2
    rows = one.cycles.start[middle], one.cycles.stop[middle + DETAIL - 1]
    start = one.flow.connection["start_ns"]
    begin, end = ((int(one.flow.sent.time[row]) - start) / 1e9 for row in rows)
    margin = 0.06 * (end - begin)
    return begin - margin, end + margin


def _line(axes: Axes, points: tuple[Floats, Floats], colour: str, label: str) -> Line2D:
    time, value = _thinned(*points)
    (line,) = axes.step(time, value, where="post", color=colour, linewidth=0.9, label=label)
    return line


def _thinned(time: Floats, value: Floats) -> tuple[Floats, Floats]:
    """The same line with the least and the greatest value of each column of the figure."""
    if len(time) <= 4 * COLUMNS:
        return time, value
    column = ((time - time[0]) / (time[-1] - time[0]) * (COLUMNS - 1)).astype(np.int64)
    begins = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(begins[1:], len(time))
    keep = [
        begin + place
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
        for place in sorted({int(value[begin:end].argmin()), int(value[begin:end].argmax())})
    ]
    return time[keep], value[keep]
