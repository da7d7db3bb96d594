"""The figures of klaver-2005 that come from a table of measured runs: chapter 5, and what we add to it.

`frame` is what `rexmit.tcp_friendly_runs` returns. Figure 5.1 has loss events over segments transmitted, as
(3.1); errors are of formulas against the measured F at loss events over delivered segments, as chapter 4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import StrMethodFormatter
from rexmit.models.tcp_friendly import (
    KLAVER_LARGEST_P,
    KLAVER_SMALLEST_WINDOW,
    MATHIS_C,
    MATHIS_C_DELAYED,
    klaver_even_window,
    klaver_odd_window,
    mathis_window,
)
from rexmit.plot import style

from .windows import Spread

CASE, RATE, DELAY, QUEUE = "case", "path.down.rate_bit_s", "path.down.delay_ns", "path.down.queue"
COUNTS, POLICY = "hosts.server.stack.congestion.counts", "hosts.client.stack.delayed_ack.policy"
ALGORITHM = "hosts.server.stack.congestion.algorithm"
FRAME_BITS = 8 * 1514
"""Bits of a full packet with its Ethernet header: what the bucket counts."""
KIB = 1024

LARGE_RTT = "large initial RTT"

Curve = tuple[str, Callable[[Any], Any], dict[str, Any]]
CURVES: tuple[Curve, ...] = (
    ("classic, (2.4)", mathis_window, {"color": "#d5231e", "linestyle": (0, (6, 2))}),
    ("odd W, (4.14)", klaver_odd_window, {"color": "#0072b2", "linestyle": "-"}),
    ("even W, (4.15)", klaver_even_window, {"color": "#008f68", "linestyle": (0, (1, 1))}),
)
ERRORS = (
    ("error_klaver", "new formula of W's parity", "o", "#0072b2"),
    ("error_reno", "classic", "s", "#d5231e"),
    ("error_pftk_full", "PFTK, full", "^", "#e08e00"),
)
"""Columns, names, markers and colours of the figure of errors."""

SHARES = (-6.0, 47.0)
"""Percent shown in the figure of errors; what lies beyond is an arrow at the edge."""

CONTROLS = {"reno": ("o", "#0072b2", "Reno"), "cubic": ("D", "#d5231e", "CUBIC")}
COUNT_LOOKS = {"segments": ("-", "segments counted"), "acks": ((0, (4, 2)), "ACKs counted")}
POLICY_LOOKS = {
    "immediate": ("o", "#0072b2", "each segment acknowledged"),
    "quick-ack": ("s", "#1a1a1a", "Linux's delayed ACKs"),
    "every-second": ("^", "#d5231e", "every second segment"),
}


def packets_of(queue: str) -> int:
    """Full packets that a queue of so many KiB holds."""
    return int(queue.split()[0]) * KIB // (FRAME_BITS // 8)


def large_rtt(frame: pl.DataFrame) -> list[bool]:
    """For each run, whether the pipe holds more packets than the buffer: the thesis's large initial RTT."""
    return [
        rate * delay / 1e9 / FRAME_BITS > packets_of(queue)
        for rate, delay, queue in frame.select(RATE, DELAY, QUEUE).iter_rows()
    ]


def mean_by(frame: pl.DataFrame, factors: Sequence[str]) -> pl.DataFrame:
    """The mean of each number over replications; text as it is in the first of them."""
    numbers = [name for name, kind in frame.schema.items() if kind.is_numeric() and name not in factors]
    rest = [name for name in frame.columns if name not in numbers and name not in factors]
    return frame.group_by(list(factors), maintain_order=True).agg(
        *(pl.col(name).mean() for name in numbers), *(pl.col(name).first() for name in rest)
    )


def figure_5_1(frame: pl.DataFrame) -> Figure:
    """Loss against the mean number of segments outstanding, log-log: the three curves and our points."""
    points = mean_by(frame, [CASE]).filter(pl.col("f").is_not_null())
    large = np.array(large_rtt(points))
    small = points["w"].to_numpy() < KLAVER_SMALLEST_WINDOW
    sheet, axes = _log_log("Mean segments outstanding, rate x RTT / MSS")
    handles = _curves(axes, points["p"].to_numpy())
    looks = (
        (~large & ~small, "o", "none", "controlled"),
        (large & ~small, "^", style.LIGHT.ink, f"controlled, {LARGE_RTT}"),
        (small, "x", style.LIGHT.ink, "W = 3"),
    )
    for chosen, marker, face, label in looks:
        if chosen.any():
            handles += _points(axes, points.filter(pl.Series(chosen)), marker, face, label)
    axes.set_title("Figure 5.1: measured points and formulas", loc="left")
    axes.legend(handles=handles, loc="lower left")
    return sheet


def figure_errors(frame: pl.DataFrame) -> Figure:
    """How much more each formula gives than was measured: one row per point, by its loss rate."""
    points = mean_by(frame, [CASE]).filter(pl.col("error_klaver").is_not_null()).sort("p_delivered")
    sheet = Figure(figsize=(8.4, 0.235 * points.height + 1.7), layout="constrained")
    axes = sheet.add_subplot()
    rows = np.arange(points.height)
    handles: list[Line2D] = []
    for column, label, marker, colour in ERRORS:
        values = 100 * points[column].to_numpy()
        far = values > SHARES[1]
        shown = np.minimum(values, SHARES[1] - 1)
        face = colour if column == "error_klaver" else "none"
        (line,) = axes.plot(shown[~far], rows[~far], marker, color=colour, markerfacecolor=face, label=label)
        line.set(markersize=5.5, linestyle="none", zorder=3)
        axes.plot(shown[far], rows[far], ">", color=colour, markersize=5)
        handles.append(line)
    _intervals(axes, points, rows)
    axes.axvline(0, color=style.LIGHT.ink, linewidth=0.8)
    axes.axvspan(-3, 3, color=style.LIGHT.grid, alpha=0.6, linewidth=0, zorder=0)
    axes.set_yticks(rows, [f"{case}   W = {w:.0f}" for case, w in points.select(CASE, "w").iter_rows()])
    axes.set_ylim(-0.7, points.height - 0.3)
    axes.set_xlim(*SHARES)
    axes.set_xlabel("Formula against measured F (%); grey: 3 % either way")
    axes.set_title("Relative error of each formula, points with little loss below", loc="left")
    style.legend_below(sheet, handles)
    return sheet


def _intervals(axes: Axes, points: pl.DataFrame, rows: np.ndarray[Any, Any]) -> None:
    """The interval of F over cycles, as one of the new formula's error; mostly narrower than a mark."""
    measured = points.select("error_klaver", "f", "f_low", "f_high").rows()
    for row, (error, f, low, high) in zip(rows, measured, strict=True):
        if low and high:
            ends = [100 * ((1 + error) * f / end - 1) for end in (high, low)]
            axes.plot(ends, [row, row], color="#0072b2", linewidth=1.4, zorder=2)


def figure_linux(frame: pl.DataFrame, title: str) -> Figure:
    """The points of Reno and CUBIC of another system beside the curves."""
    points = mean_by(frame, [ALGORITHM, CASE]).filter(pl.col("f").is_not_null())
    sheet, axes = _log_log("Mean segments outstanding, rate x RTT / MSS")
    handles = _curves(axes, points["p"].to_numpy())
    for algorithm, (marker, colour, name) in CONTROLS.items():
        chosen = points.filter(pl.col(ALGORITHM) == algorithm)
        if chosen.height:
            handles += _points(axes, chosen, marker, "none" if algorithm == "reno" else colour, name, colour)
    axes.set_title(title, loc="left")
    axes.legend(handles=handles, loc="lower left")
    return sheet


def figure_acks(frame: pl.DataFrame) -> Figure:
    """The constant C = F sqrt(p) against W, by what the sender counts and what the receiver acknowledges."""
    constant = pl.col("f") * pl.col("p_delivered").sqrt()
    points = mean_by(frame, [COUNTS, POLICY, CASE]).with_columns(constant.alias("c")).sort("w")
    sheet = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = sheet.add_subplot()
    handles = []
    at_rate = pl.col(RATE) == points[RATE].max()
    for counts, (dashes, counted) in COUNT_LOOKS.items():
        for policy, (marker, colour, acknowledged) in POLICY_LOOKS.items():
            own = points.filter(
                (pl.col(COUNTS) == counts) & (pl.col(POLICY) == policy) & at_rate & (pl.col(DELAY) == 0)
            )
            (line,) = axes.plot(own["w"], own["c"], marker=marker, color=colour, linestyle=dashes)
            line.set(markerfacecolor="none" if counts == "acks" else colour, markersize=5)
            line.set_label(f"{counted}, {acknowledged}")
            handles.append(line)
    below: dict[str, Any] = {"xy": (1, MATHIS_C_DELAYED), "xytext": (-4, -11), "ha": "right"}
    for text, place in (
        ("1.22, classic", {"xy": (0, MATHIS_C), "xytext": (4, 3)}),
        ("1.22 / √2 = 0.87", below),
        ("1.22 / 2, as the thesis says", {"xy": (0, MATHIS_C / 2), "xytext": (4, 3)}),
    ):
        axes.axhline(place["xy"][1], color=style.LIGHT.ink, linewidth=0.7, linestyle=(0, (1, 2)))
        look: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
        axes.annotate(text, fontsize=8, **look, **place)
    axes.set_xscale("log")
    axes.set_xticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
    axes.minorticks_off()
    axes.set_ylim(0.55, 1.32)
    axes.set_xlabel("Maximum window W (segments)")
    axes.set_ylabel("C = F √p")
    axes.set_title("What delayed ACKs do to the constant (1 Mbit/s, no delay)", loc="left")
    style.legend_below(sheet, handles)
    return sheet


def _log_log(quantity: str) -> tuple[Figure, Axes]:
    sheet = Figure(figsize=(7.2, 5.2), layout="constrained")
    axes = sheet.add_subplot()
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("Loss events for each segment transmitted, p (3.1)")
    axes.set_ylabel(quantity)
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    return sheet, axes


def _curves(axes: Axes, p: np.ndarray[Any, Any]) -> list[Line2D]:
    """The three formulas over their range, from a little below the least p that was measured."""
    at = np.geomspace(float(p.min()) / 1.5, KLAVER_LARGEST_P, 400)
    handles: list[Line2D] = []
    for label, formula, look in CURVES:
        handles += axes.plot(at, formula(at), label=label, linewidth=1.3, zorder=1, **look)
    return handles


def _points(
    axes: Axes, points: pl.DataFrame, marker: str, face: str, label: str, colour: str = style.LIGHT.ink
) -> list[Line2D]:
    (line,) = axes.plot(points["p"], points["f"], marker, color=colour, markerfacecolor=face)
    line.set(linestyle="none", markersize=6, markeredgewidth=1.1, label=label, zorder=4)
    return [line]


def figure_spreads(frame: pl.DataFrame, spreads: dict[str, Spread]) -> Figure:
    """How p varies over random windows with the same cwnd at both ends, by the number of cycles."""
    sheet = Figure(figsize=(7.2, 4.2), layout="constrained")
    axes = sheet.add_subplot()
    for spread in spreads.values():
        middle = float(np.median(spread.p))
        axes.plot(
            np.full(len(spread.p), spread.cycles),
            100 * (spread.p / middle - 1),
            ".",
            alpha=0.25,
            markersize=3,
            color=style.LIGHT.segment,
        )
    axes.axhspan(-3, 3, color=style.LIGHT.grid, alpha=0.5, linewidth=0, zorder=0)
    axes.axhspan(-1, 1, color=style.LIGHT.grid, alpha=0.9, linewidth=0, zorder=0)
    axes.set_xscale("log")
    axes.set_xlabel("Cycles in the measurement")
    axes.set_ylabel("p against the median (%)")
    axes.set_title("Windows drawn at random with equal cwnd at both ends; grey: 1 and 3 %", loc="left")
    return sheet


def draw_controlled(
    frame: pl.DataFrame, spreads: dict[str, Spread], out: Path, formats: Sequence[str]
) -> list[Path]:
    """Draws the figures of table 5.1 into the folder `out` and returns the files."""
    drawn = [
        ("figure-5-1", figure_5_1(frame)),
        ("relative-errors", figure_errors(frame)),
        ("windows", figure_spreads(frame, spreads)),
    ]
    return [file for stem, sheet in drawn for file in style.save(sheet, out / stem, formats)]


def draw_table(name: str, frame: pl.DataFrame, out: Path, formats: Sequence[str], kernel: str) -> list[Path]:
    """Draws the figures of a part of the study into the folder `out` and returns the files.

    `kernel` names what ran it where the part is `linux`.
    """
    if name == "acks":
        drawn = [("constant", figure_acks(frame))]
    elif name == "linux":
        drawn = [
            ("linux-points", figure_linux(frame, f"Points of {kernel} beside the formulas of 1997 and 2005"))
        ]
    else:
        drawn = []
    return [file for stem, sheet in drawn for file in style.save(sheet, out / stem, formats)]
