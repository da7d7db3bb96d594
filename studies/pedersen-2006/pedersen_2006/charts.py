"""The figures of pedersen-2006: delays of retransmissions, numbered as in the thesis, published beside ours.

The thesis had one run of each cell, here are several: a filled marker is the mean over runs of a run's
mean delay, its box where one more run's mean would lie with probability 99 %, its line the range from the
least to the greatest delay of all runs. A ring is the published mean, its dashed line the published
range.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, NullFormatter
from rexmit.analyse import count_interval, prediction_interval
from rexmit.plot import style

CONFIDENCE = 0.99
FEWEST = 5
"""With fewer runs an interval is so wide that it says nothing: none is drawn."""

CLASSES = {
    "timeout": "retransmission timeout",
    "fast": "fast retransmit",
    "bundled-reported-missing": "bundled, reported missing",
    "bundled-in-flight": "bundled, in flight",
}
"""Classes of sctp_trace as the thesis writes them, in its order."""
EXTENSIONS = ("Plain", "S", "S+D", "S+D+F", "S+F")


@dataclass(frozen=True)
class Cell:
    """A cell: each run's retransmissions, and what is published (`min`, `max`, `avg`, `number`)."""

    runs: pl.DataFrame
    published: Mapping[str, float]


@dataclass(frozen=True)
class Group:
    """Cells that share a marker: at their places along x."""

    label: str
    cells: Mapping[float, Cell]


def draw_delays(
    groups: Sequence[Group],
    ticks: Mapping[float, str],
    axis: str,
    title: str,
    out: Path,
    formats: Sequence[str],
) -> list[Path]:
    """One panel of delays: groups side by side at each place of x."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 4.8), layout="constrained")
        axes = sheet.subplots()
        handles = plot_delays(axes, groups, ticks, axis)
        axes.set_ylim(bottom=0)
        style.whole_numbers(axes, "y")
        axes.set_title(title, loc="left", fontweight="bold")
        style.legend_below(sheet, handles)
        return style.save(sheet, out, formats)


def draw_panels(
    panels: Mapping[str, Sequence[Group]],
    ticks: Mapping[float, str],
    axis: str,
    title: str,
    out: Path,
    formats: Sequence[str],
) -> list[Path]:
    """Panels of delays side by side, each with a scale of its own."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(4 * len(panels) + 1, 4.6), layout="constrained")
        handles: list[Line2D] = []
        for axes, (name, groups) in zip(
            sheet.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            handles += plot_delays(axes, groups, ticks, axis)
            # Rare timeouts are a hundred times later than what is usual.
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_title(name, loc="left")
        sheet.suptitle(title, x=0.01, ha="left")
        style.legend_below(sheet, handles)
        return style.save(sheet, out, formats)


def plot_delays(axes: Axes, groups: Sequence[Group], ticks: Mapping[float, str], axis: str) -> list[Line2D]:
    """Draws groups into axes; returns what a legend names."""
    handles, colours = [], style.family(style.LIGHT, len(groups))
    width = 0.8 / len(groups)
    for number, (group, colour, marker) in enumerate(zip(groups, colours, style.MARKERS, strict=False)):
        for place, cell in group.cells.items():
            centre = place + (number - (len(groups) - 1) / 2) * width
            _ours(axes, centre - width * 0.14, width * 0.3, cell.runs, colour, marker)
            _published(axes, centre + width * 0.22, cell.published)
        handles.append(
            Line2D([], [], color=colour, marker=marker, markersize=5, linestyle="none", label=group.label)
        )
    axes.set_xticks(list(ticks), labels=list(ticks.values()))
    axes.set_xlim(min(ticks) - 0.55, max(ticks) + 0.55)
    for edge in list(ticks)[1:]:
        axes.axvline(edge - 0.5, color=style.LIGHT.grid, linewidth=0.7)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(axis)
    axes.set_ylabel("Delay (ms)")
    return [*handles, *_legend(any(cell.published for group in groups for cell in group.cells.values()))]


def draw_counts(
    groups: Sequence[Group],
    ticks: Mapping[float, str],
    axis: str,
    title: str,
    out: Path,
    formats: Sequence[str],
) -> list[Path]:
    """How many retransmissions a run has: the interval of one more run, and the published count."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 4.8), layout="constrained")
        axes = sheet.subplots()
        handles, colours = [], style.family(style.LIGHT, len(groups))
        for number, (group, colour, marker) in enumerate(zip(groups, colours, style.MARKERS, strict=False)):
            for place, cell in group.cells.items():
                x = place + (number - (len(groups) - 1) / 2) * 0.8 / len(groups)
                counts = cell.runs["count"].to_list()
                mean = sum(counts) / len(counts)
                low, high = count_interval(counts, CONFIDENCE) if len(counts) > 1 else (mean, mean)
                drawn = [[mean - low], [high - mean]]
                axes.errorbar([x], [mean], yerr=drawn, color=colour, marker=marker, markersize=5, capsize=3)
                if "number" in cell.published:
                    _ring(axes, x, cell.published["number"])
            handles.append(Line2D([], [], color=colour, marker=marker, markersize=5, linestyle="none"))
            handles[-1].set_label(group.label)
        axes.set_xticks(list(ticks), labels=list(ticks.values()))
        axes.grid(visible=False, axis="x")
        axes.set_ylim(bottom=0)
        axes.set_xlabel(axis)
        axes.set_ylabel("First retransmissions in 1800 s")
        axes.set_title(title, loc="left", fontweight="bold")
        interval = Line2D([], [], color=style.LIGHT.ink, marker="|", linewidth=1.3)
        interval.set_label("mean, and where one more run would lie (99 %)")
        style.legend_below(sheet, [*handles, interval, _ring_handle("published")])
        return style.save(sheet, out, formats)


def draw_means(
    groups: Sequence[Group], ticks: Mapping[float, str], title: str, out: Path, formats: Sequence[str]
) -> list[Path]:
    """Means alone, with where one more run's would lie; the greatest delays would hide them."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(9, 4.8), layout="constrained")
        axes = sheet.subplots()
        handles, colours = [], style.family(style.LIGHT, len(groups))
        width = 0.8 / len(groups)
        for number, (group, colour, marker) in enumerate(zip(groups, colours, style.MARKERS, strict=False)):
            for place, cell in group.cells.items():
                x = place + (number - (len(groups) - 1) / 2) * width
                means = cell.runs["mean"].to_list()
                if means:
                    mean = sum(means) / len(means)
                    low, high = prediction_interval(means, CONFIDENCE) if len(means) > 1 else (mean, mean)
                    drawn = [[mean - low], [high - mean]]
                    axes.errorbar(
                        [x], [mean], yerr=drawn, color=colour, marker=marker, markersize=5, capsize=3
                    )
                if "avg" in cell.published:
                    _ring(axes, x, cell.published["avg"])
            handles.append(Line2D([], [], color=colour, marker=marker, markersize=5, linestyle="none"))
            handles[-1].set_label(group.label)
        axes.set_xticks(list(ticks), labels=list(ticks.values()))
        axes.grid(visible=False, axis="x")
        axes.set_ylim(bottom=0)
        axes.set_ylabel("Delay (ms)")
        axes.set_title(title, loc="left", fontweight="bold")
        interval = Line2D([], [], color=style.LIGHT.ink, marker="|", linewidth=1.3)
        interval.set_label("mean, and where one more run's would lie (99 %)")
        style.legend_below(sheet, [*handles, interval, _ring_handle("published mean")])
        return style.save(sheet, out, formats)


def draw_timer(
    samples: pl.DataFrame, rto: pl.DataFrame, real_ms: float, title: str, out: Path, formats: Sequence[str]
) -> list[Path]:
    """Figures 4.1 and 4.2: RTT samples and the calculated RTO over time (columns `time_s`, `ms`)."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(9, 4.4), layout="constrained")
        axes = sheet.subplots()
        ink = style.LIGHT
        axes.step(
            rto["time_s"], rto["ms"], where="post", color=ink.window, linewidth=1.1, label="calculated RTO"
        )
        axes.plot(
            samples["time_s"],
            samples["ms"],
            linestyle="none",
            marker="x",
            markersize=3,
            color=ink.late,
            label="measured RTT",
        )
        axes.axhline(
            real_ms, color=ink.ink, linestyle=":", linewidth=1.2, label=f"RTT of the path ({real_ms:.0f} ms)"
        )
        axes.set_ylim(0, None)
        axes.set_xlabel("Time (s)")
        axes.set_ylabel("RTT, RTO (ms)")
        axes.set_title(title, loc="left", fontweight="bold")
        style.legend_below(sheet, axes.get_lines())
        return style.save(sheet, out, formats)


def _ours(axes: Axes, x: float, width: float, runs: pl.DataFrame, colour: Any, marker: str) -> None:
    if runs.is_empty():
        return
    means = runs["mean"].to_list()
    mean = sum(means) / len(means)
    least, greatest = min(runs["min"].to_list()), max(runs["max"].to_list())
    axes.plot([x, x], [least, greatest], color=colour, linewidth=1.1)
    if len(means) >= FEWEST:
        low, high = prediction_interval(means, CONFIDENCE)
        box = Rectangle(
            (x - width / 2, low), width, high - low, facecolor=colour, alpha=0.3, edgecolor=colour
        )
        axes.add_patch(box)
    axes.plot([x], [mean], color=colour, marker=marker, markersize=5, linestyle="none")


def _published(axes: Axes, x: float, values: Mapping[str, float]) -> None:
    if "avg" not in values:
        return
    ends = [values.get("min", values["avg"]), values.get("max", values["avg"])]
    axes.plot([x, x], ends, color=style.LIGHT.ink, linestyle=(0, (2, 1.5)), linewidth=1)
    _ring(axes, x, values["avg"])


def _ring(axes: Axes, x: float, y: float) -> None:
    (ring,) = axes.plot(
        [x], [y], linestyle="none", marker="o", markersize=7, color=style.LIGHT.ink, gid="published"
    )
    ring.set(markerfacecolor="none", markeredgewidth=1.2, zorder=4)


def _ring_handle(label: str) -> Line2D:
    ring = Line2D([], [], linestyle="none", marker="o", markersize=7, color=style.LIGHT.ink, label=label)
    ring.set(markerfacecolor="none", markeredgewidth=1.2)
    return ring


def _legend(published: bool) -> list[Line2D]:
    ink = style.LIGHT.ink
    ours = [
        Line2D([], [], color=ink, linewidth=7, alpha=0.3, label="one more run's mean (99 %)"),
        Line2D([], [], color=ink, linewidth=1.1, label="least to greatest, all runs"),
    ]
    if not published:
        return ours
    ring = _ring_handle("published mean and range")
    ring.set(linestyle=(0, (2, 1.5)), linewidth=1)
    return [*ours, ring]
