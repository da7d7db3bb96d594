"""Graphs of outstanding data, RTT, throughput and congestion window of one direction of a connection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter

from rexmit.analyse.quantities import duration
from rexmit.errors import UsageError
from rexmit.plot import series, style
from rexmit.plot.causes import groups
from rexmit.plot.connections import Causes, Floats
from rexmit.plot.flows import Flow

Span = tuple[float, float]

METHODS = {
    "handshake": ("handshake", "D", "segment"),
    "ack": ("unambiguous ACK", "o", "ack"),
    "sack": ("SACK", "s", "sack"),
    "timestamp": ("timestamp", "x", "late"),
}
"""How RTT samples are taken: name, marker, colour of the theme."""


def draw_outstanding(axes: Axes, flow: Flow, side: str, theme: style.Theme) -> list[Line2D]:
    """Outstanding data, their mean over time, the advertised window, and retransmissions by cause."""
    data = series.outstanding(flow, side)
    lines = [_steps(axes, data, theme.segment, "outstanding", "outstanding data")]
    lines += _window(axes, flow, side, theme, float(data.value.max(initial=0)))
    mean = flow.row[f"{side}_mean_outstanding"]
    if mean:
        label = f"mean while any was outstanding: {mean:,.0f}"
        line = axes.axhline(mean, color=theme.late, linewidth=1.0, linestyle=(0, (5, 3)), label=label)
        lines.append(_named(line, "mean"))
    lines += _retransmissions(axes, flow, side)
    _bytes(axes, "Bytes")
    return lines


def draw_cwnd(axes: Axes, flow: Flow, side: str, theme: style.Theme, state: Path | None) -> list[Line2D]:
    """The congestion window where it is known, beside outstanding data and the advertised window."""
    known = series.cwnd(flow, side, state)
    data = series.outstanding(flow, side)
    lines = [_steps(axes, data, theme.segment, "outstanding", "outstanding data")]
    top = float(data.value.max(initial=0))
    for (name, steps), colour in zip(known.items(), (theme.ack, theme.late), strict=False):
        lines.append(_steps(axes, steps, colour, name.split()[0], name))
        if name != "ssthresh":
            top = max(top, float(steps.value.max(initial=0)))
    lines += _window(axes, flow, side, theme, top)
    lines += _retransmissions(axes, flow, side)
    axes.set_ylim(0, 1.08 * top or 1)
    _bytes(axes, "Bytes")
    return lines


def draw_rtt(axes: Axes, flow: Flow, side: str, theme: style.Theme) -> list[Line2D]:
    """RTT samples by method, and retransmissions by cause at the top."""
    rows = flow.of(flow.rtt, side)
    if not len(rows["rtt_ns"]):
        raise UsageError("no RTT sample in this direction; choose the other one")
    lines = []
    time, rtt = series.seconds(flow, rows["time_ns"]), rows["rtt_ns"] / 1e6
    for method, (name, marker, colour) in METHODS.items():
        own = rows["method"] == method
        if own.any():
            label = f"{name} ({int(own.sum()):,})"
            (line,) = axes.plot(time[own], rtt[own], linestyle="none", marker=marker, label=label)
            line.set(
                color=getattr(theme, colour), markersize=3.2, markerfacecolor="none", markeredgewidth=0.8
            )
            lines.append(_named(line, f"rtt-{method}"))
    lines += _retransmissions(axes, flow, side)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("Round-trip time (ms)")
    return lines


def draw_throughput(axes: Axes, flow: Flow, side: str, theme: style.Theme) -> list[Line2D]:
    """Throughput in intervals and since the first segment, and goodput."""
    data = series.throughput(flow, side)
    if not len(data.time):
        raise UsageError("no data in this direction; choose the other one")
    each, length = series.intervals(flow, side)
    lines = [
        _steps(axes, each, theme.window, "intervals", f"in intervals of {duration(round(1e9 * length))}")
    ]
    # Until one interval is over, an average says how fast the first segments were put on the wire.
    average = np.where(data.time >= data.time[0] + length, data.average, np.nan)
    (line,) = axes.plot(data.time, average, color=theme.mark, linewidth=1.1, label="since the first")
    lines.append(_named(line, "average"))
    late = data.goodput.time >= data.time[0] + length
    goodput = series.Steps(data.goodput.time[late], data.goodput.value[late])
    lines.append(_steps(axes, goodput, theme.ack, "goodput", "goodput since the first"))
    axes.set_ylim(0, 1.1 * float(each.value.max()) or 1)
    axes.yaxis.set_major_formatter(EngFormatter(unit="bit/s"))
    axes.set_ylabel("Throughput")
    return lines


Drawer = Callable[[Axes, Flow, str, style.Theme], list[Line2D]]

DRAWERS: dict[str, tuple[str, Drawer]] = {
    "outstanding": ("Outstanding data", draw_outstanding),
    "rtt": ("Round-trip time", draw_rtt),
    "throughput": ("Throughput", draw_throughput),
}
"""Title and drawer of each graph."""


def _window(axes: Axes, flow: Flow, side: str, theme: style.Theme, top: float) -> list[Line2D]:
    """The advertised window: room is made for it where it is near the data."""
    data = series.window(flow, side)
    if not len(data.value):
        return []
    low, high = float(data.value.min()), float(data.value.max())
    fits = high < 2.5 * top
    if not fits:
        axes.set_ylim(0, 1.08 * top or 1)
    label = "advertised window" if low < (high if fits else 1.08 * top) or fits else ""
    label = label or f"advertised window (above, from {low:,.0f})"
    return [_steps(axes, data, theme.window, "window", label)]


def _retransmissions(axes: Axes, flow: Flow, side: str) -> list[Line2D]:
    """A tick at the foot of the graph for each, in the colour of its cause."""
    rows = flow.of(flow.retransmissions, side)
    if not len(rows["number"]):
        return []
    lines = []
    time = series.seconds(flow, rows["time_ns"])
    for group in groups(rows["number"], Causes(rows["number"], rows["cause"], rows["need"])):
        at = time[group.rows]
        (line,) = axes.plot(
            at, np.zeros(len(at)), linestyle="none", marker=2, markersize=9, label=group.label
        )
        line.set(color=group.colour, markeredgewidth=1.3, clip_on=False, zorder=6)
        line.set_transform(axes.get_xaxis_transform())
        lines.append(_named(line, f"retransmission-{group.cause}"))
    return lines


def _steps(axes: Axes, data: series.Steps, colour: str, name: str, label: str) -> Line2D:
    (line,) = axes.step(data.time, data.value, where="post", color=colour, linewidth=1.0, label=label)
    return _named(line, name)


def _named(line: Line2D, name: str) -> Line2D:
    line.set_gid(name)
    return line


def _bytes(axes: Axes, title: str) -> None:
    axes.set_ylabel(title)
    axes.set_ylim(bottom=0)
    style.whole_numbers(axes, "y")


def in_view(time: Floats, span: Span | None) -> Any:
    """Where times lie within the range."""
    return np.ones(len(time), dtype=bool) if span is None else (time >= span[0]) & (time <= span[1])
