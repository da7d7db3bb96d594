"""The figures of appenzeller-2004, as the text's: figures 4, 10, 11, 15, and utilisation over the buffer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator, StrMethodFormatter
from rexmit.plot import style

from .sawtooth import PIPE, Sawtooth

LIGHT = style.LIGHT
LOOKS: Mapping[str, tuple[str, str]] = {
    "Reno": (LIGHT.retransmission, "o"),
    "NewReno": (LIGHT.late, "s"),
    "SACK": (LIGHT.ack, "^"),
    "hosts of 2004": (LIGHT.sack, "D"),
    "NewReno, equal RTTs": (LIGHT.window, "v"),
}
"""Colour and marker of each system."""


def table(found: pl.DataFrame, published: Mapping[str, Sequence[float]], title: str) -> Figure:
    """Figure 15: one panel per multiple, utilisation over flows, the text's values as rings.

    `found` has `flows`, `multiple`, `system`, `utilisation`; `published` the text's four values by multiple.
    """
    multiples = found["multiple"].unique(maintain_order=True).to_list()
    sheet = Figure(figsize=(9.6, 3.4), layout="constrained")
    grid = sheet.subplots(1, len(multiples), squeeze=False)
    for axes, multiple in zip(grid.flat, multiples, strict=True):
        part = found.filter(pl.col("multiple") == multiple)
        for system in part["system"].unique(maintain_order=True):
            colour, marker = LOOKS[system]
            one = part.filter(pl.col("system") == system).sort("flows")
            axes.plot(one["flows"], one["utilisation"], marker=marker, markersize=4, color=colour)
        flows = sorted(part["flows"].unique())
        axes.plot(flows, published[multiple], **_ring())
        axes.set_title(f"Buffer of {multiple} x", loc="left", fontweight="normal")
        axes.set_xticks(flows)
        axes.set_xlabel("Flows")
        _percent(axes)
    grid[0, 0].set_ylabel("Utilisation (%)")
    sheet.suptitle(f"{title}; each panel has its own scale", x=0.01, ha="left")
    systems = found["system"].unique(maintain_order=True).to_list()
    style.legend_below(sheet, [*_handles(systems), Line2D([], [], label="the text's", **_ring())])
    return sheet


def _percent(axes: Axes) -> None:
    """Few marks, with as many digits as tell them apart and no zeros behind."""
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))


def _fractions(axes: Axes) -> None:
    """Marks at powers of two, as fractions where they are below 1."""
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}" if x >= 1 else f"1/{1 / x:g}"))


def _ring() -> dict[str, Any]:
    return {
        "linestyle": "none",
        "marker": "o",
        "markersize": 9,
        "markerfacecolor": "none",
        "markeredgecolor": LIGHT.ink,
        "zorder": 4,
    }


def _handles(systems: Sequence[str]) -> list[Line2D]:
    return [
        Line2D([], [], color=LOOKS[name][0], marker=LOOKS[name][1], markersize=4, label=name)
        for name in systems
    ]


def sawtooth(found: Sequence[Sawtooth]) -> Figure:
    """Figures 3 to 6: the queue of one flow over time by its buffer, and equation (10) where it holds."""
    sheet = Figure(figsize=(9.6, 2.1 * len(found)), layout="constrained")
    grid = sheet.subplots(len(found), 1, squeeze=False, sharex=True)
    for axes, one in zip(grid.flat, found, strict=True):
        axes.plot(one.times, one.queue, color=LIGHT.segment, linewidth=1)
        if one.buffer == PIPE:
            for begin, (at, _, formula) in zip(one.lowest(), one.cycles(), strict=True):
                axes.plot(begin + at, formula, color=LIGHT.window, linewidth=3, alpha=0.6)
        told = f"{one.buffer / PIPE:.2g} RTT x C: {one.utilisation:.2f} % of the line"
        axes.set_title(told, loc="left", fontweight="normal")
        axes.set_ylabel("Queue (packets)")
        axes.set_xlim(0, 200)
    grid[-1, 0].set_xlabel("Time (s)")
    sheet.suptitle("The queue of one flow", x=0.01, ha="left")
    look: dict[str, Any] = {"color": LIGHT.window, "linewidth": 3, "alpha": 0.6, "label": "equation (10)"}
    ours = Line2D([], [], color=LIGHT.segment, linewidth=1, label="ours")
    style.legend_below(sheet, [ours, Line2D([], [], **look)])
    return sheet


def few(found: pl.DataFrame, pipe: float) -> Figure:
    """Utilisation over the buffer with 1 to 8 flows of equal RTT."""
    sheet = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = sheet.subplots()
    counts = sorted(found["hosts.sender.count"].unique())
    for marker, colour, count in zip(style.MARKERS, style.family(LIGHT, len(counts)), counts, strict=False):
        one = found.filter(pl.col("hosts.sender.count") == count).sort("buffer")
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "label": f"{count}"}
        axes.plot(one["buffer"] / pipe, one["utilisation"], **look)
    axes.legend(title="Flows", loc="lower right")
    axes.set_xlabel("Buffer over RTT x C")
    axes.set_ylabel("Utilisation (%)")
    _percent(axes)
    style.title(axes, "1 to 8 Reno flows of equal round-trip time")
    return sheet


def many(found: pl.DataFrame, pipe: float) -> Figure:
    """Utilisation over the buffer with 50 to 400 flows, one panel per system; dotted: RTT x C / sqrt(n)."""
    systems = found["system"].unique(maintain_order=True).to_list()
    flows = sorted(found["flows"].unique(), key=int)
    sheet = Figure(figsize=(9.6, 3.6), layout="constrained")
    grid = sheet.subplots(1, len(systems), squeeze=False, sharey=True)
    for axes, system in zip(grid.flat, systems, strict=True):
        for marker, colour, n in zip(style.MARKERS, style.family(LIGHT, len(flows)), flows, strict=False):
            one = found.filter((pl.col("system") == system) & (pl.col("flows") == n)).sort("buffer")
            look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4, "label": n}
            axes.plot(one["buffer"] / pipe, one["utilisation"], **look)
            axes.axvline(1 / math.sqrt(int(n)), color=colour, linestyle=":", linewidth=1)
        axes.set_title(system, loc="left", fontweight="normal")
        _fractions(axes)
        axes.set_xlabel("Buffer over RTT x C")
        axes.axhline(98, color=LIGHT.grid, linewidth=1)
    grid[0, 0].set_ylabel("Utilisation (%)")
    grid[0, 0].legend(title="Flows", fontsize=8, loc="lower right")
    sheet.suptitle("Utilisation by buffer; dotted: RTT x C / sqrt(n)", x=0.01, ha="left")
    return sheet


def short_flows(
    sizes: Sequence[int], ours: Sequence[Sequence[float]], text: Sequence[float], work: Sequence[float]
) -> Figure:
    """Figure 10: the mean queue by the length of flows, ours run by run, the formula, and M/G/1's work."""
    sheet = Figure(figsize=(6.4, 3.6), layout="constrained")
    axes = sheet.subplots()
    for size, runs in zip(sizes, ours, strict=True):
        axes.plot([size] * len(runs), runs, linestyle="none", marker="o", markersize=4, color=LIGHT.segment)
    axes.plot(sizes, text, color=LIGHT.retransmission, linestyle="--", marker="s", markersize=3)
    axes.plot(sizes, work, color=LIGHT.late, marker="^", markersize=3)
    axes.set_xlabel("Length of a flow (packets)")
    axes.set_ylabel("Mean queue (packets)")
    axes.set_ylim(0)
    style.title(axes, "The queue of short flows at a load of 0.8")
    style.legend_below(
        sheet,
        [
            Line2D([], [], linestyle="none", marker="o", color=LIGHT.segment, label="ours, runs"),
            Line2D([], [], color=LIGHT.retransmission, linestyle="--", marker="s", label="the text's E[Q]"),
            Line2D([], [], color=LIGHT.late, marker="^", label="M/G/1's unfinished work"),
        ],
    )
    return sheet
