"""Figures of connections that are not a controlled point: 2.1, 2.4 to 2.6, 5.2 and 5.3."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rexmit.analyse.friendly import Judged
from rexmit.analyse.friendly.direction import Floats
from rexmit.plot import style

POINTS = 3000
"""Points of a line at most."""


def _time(one: Judged) -> Floats:
    found: Floats = (one.flow.sent.time - one.flow.connection["start_ns"]) / 1e9
    return found


def _axes(title: str) -> tuple[Figure, Axes]:
    sheet = Figure(figsize=(7.4, 3.4), layout="constrained")
    axes = sheet.add_subplot()
    axes.set_title(title, loc="left")
    axes.set_xlabel("Time since the first packet (s)")
    return sheet, axes


def figure_window(one: Judged, title: str, seconds: float) -> Figure:
    """cwnd, and where losses were repaired by a timer or not (2.1, 5.2 and 5.3)."""
    sheet, axes = _axes(title)
    time, sent = _time(one), one.flow.sent
    shown = np.flatnonzero(time <= seconds)
    kept = shown[:: max(len(shown) // POINTS, 1)]
    (cwnd,) = axes.step(time[kept], sent.cwnd[kept], where="post", color=style.LIGHT.segment, linewidth=0.9)
    cwnd.set_label("cwnd (urgent pointer field)")
    handles = [cwnd]
    events = one.flow.events
    for timer, marker, colour, label in (
        (False, "v", style.LIGHT.retransmission, "loss event"),
        (True, "X", style.LIGHT.late, "ended by a timeout"),
    ):
        rows = events.row[(events.timeout == timer) & (time[events.row] <= seconds)]
        if len(rows):
            (marks,) = axes.plot(
                time[rows], sent.cwnd[rows], marker, color=colour, markersize=4.5, label=label
            )
            marks.set_linestyle("none")
            handles.append(marks)
    if one.window is not None and title.startswith("Figure 5.3"):
        ends = [time[one.cycles.start[one.window.first]], time[one.cycles.stop[one.window.last - 1]]]
        axes.axvspan(*ends, color=style.LIGHT.segment, alpha=0.12, linewidth=0)
    axes.set_ylabel("Congestion window (segments)")
    axes.set_ylim(bottom=0)
    style.legend_below(sheet, handles)
    return sheet


def figure_limit(one: Judged, title: str, seconds: float) -> Figure:
    """Bytes in flight, cwnd and the receiver window (2.4, 2.5 and 2.6)."""
    sheet, axes = _axes(title)
    time, sent, mss = _time(one), one.flow.sent, one.flow.mss
    shown = np.flatnonzero(time <= seconds)
    kept = shown[:: max(len(shown) // POINTS, 1)]
    handles = []
    if not title.startswith("Figure 2.6"):
        cwnd = np.minimum(sent.cwnd * mss / 1000, 1e6)
        handles += axes.step(
            time[kept], cwnd[kept], where="post", color="#b5b5b5", linewidth=1.1, label="cwnd"
        )
    (flight,) = axes.plot(
        time[kept], sent.outstanding[kept] / 1000, ".", color=style.LIGHT.segment, markersize=2.5
    )
    flight.set_label("bytes in flight")
    handles.append(flight)
    if not title.startswith("Figure 2.5"):
        most = one.flow.of("max_window", of_receiver=True) / 1000
        handles.append(
            axes.axhline(most, color=style.LIGHT.retransmission, linewidth=1.1, label="receiver window")
        )
    axes.set_ylabel("kB")
    axes.set_ylim(bottom=0)
    style.legend_below(sheet, handles)
    return sheet


def draw_hosts(part: str, judged: dict[str, Judged], out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of the connections that are there, by their labels in the study."""
    wanted = {
        "no SACK": ("figure-2-1", figure_window, "Figure 2.1: a receiver without SACK", 60.0),
        "no SACK, counted duplicates": (
            *("figure-2-1-kernel", figure_window),
            *("Figure 2.1: a receiver without SACK, the kernel's counted duplicates", 60.0),
        ),
        "16 kB": ("figure-2-4", figure_limit, "Figure 2.4: a small receiver window", 30.0),
        "5 % loss": ("figure-2-5", figure_limit, "Figure 2.5: 5 % of loss", 60.0),
        "application": ("figure-2-6", figure_limit, "Figure 2.6: a sender without enough data", 10.0),
        "Cape Town, medium": ("figure-5-2", figure_window, "Figure 5.2: a likeness of Cape Town", 900.0),
        "Stockholm, light": (
            *("figure-5-3", figure_window),
            *("Figure 5.3: a likeness of Stockholm; shaded: cycles that are alike", 300.0),
        ),
    }
    return [
        file
        for label, one in judged.items()
        if label in wanted
        for stem, figure, title, seconds in [wanted[label]]
        for file in style.save(figure(one, title, seconds), out / stem, formats)
    ]
