"""The figures of asymmetric-today: shares and round-trip times of download and upload, by discipline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter
from rexmit.plot import style

LIGHT = style.LIGHT
MARKERS = ("o", "s", "^", "D")
"""One for each congestion control."""
LINES: tuple[Literal[":", "--", "-."], ...] = (":", "--", "-.")
"""Likewise."""


def draw(
    runs: pl.DataFrame, disciplines: Sequence[str], title: str, out: Path, formats: Sequence[str] = ()
) -> list[Path]:
    """Draws both figures. `runs` are those of `two_way` with `discipline`, `congestion` and `link`."""
    shares = _sheet(runs, disciplines, f"Shares of the link's rates while both run: {title}")
    for axes, part in shares[1]:
        _points(axes, part, disciplines, "down_share", "up_share")
        axes.set_xlim(0, 1)
        axes.set_xlabel("Share of the rate")
    _legend(shares[0], runs, "download", "upload")
    times = _sheet(runs, disciplines, f"Round-trip times while both run: {title}")
    for axes, part in times[1]:
        _points(axes, part, disciplines, "down_rtt_ms", "up_rtt_ms")
        _alone(axes, part)
        axes.set_xscale("log")
        axes.set_xlim(40, 8000)
        axes.set_xticks([50, 100, 200, 500, 1000, 2000, 5000])
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.tick_params(axis="x", labelsize=7.5)
        axes.set_xlabel("Smoothed RTT, mean (ms)")
    _legend(times[0], runs, "of the download", "of the upload", "of the download alone")
    files = []
    for sheet, name in ((shares[0], "shares-by-discipline"), (times[0], "round-trip-times-by-discipline")):
        with style.styled(LIGHT):
            files += style.save(sheet, out / name, formats)
    return files


def _sheet(
    runs: pl.DataFrame, disciplines: Sequence[str], title: str
) -> tuple[Figure, list[tuple[Axes, pl.DataFrame]]]:
    """A panel for each link, a row for each discipline."""
    links = runs["link"].unique(maintain_order=True).to_list()
    with style.styled(LIGHT):
        sheet = Figure(
            figsize=(3.6 * max(len(links), 2), 1.6 + 0.55 * len(disciplines)), layout="constrained"
        )
        grid = sheet.subplots(1, len(links), squeeze=False, sharey=True)
        for axes, link in zip(grid.flat, links, strict=True):
            axes.set_title(f"{link} kbit/s", loc="left", fontweight="normal")
            axes.set_ylim(len(disciplines) - 0.5, -0.5)
            for at in range(1, len(disciplines)):
                axes.axhline(at - 0.5, color=LIGHT.grid, linewidth=0.7)
            axes.grid(visible=False, axis="y")
        grid[0, 0].set_yticks(range(len(disciplines)), disciplines)
        sheet.suptitle(title, x=0.01, ha="left")
    return sheet, [
        (axes, runs.filter(pl.col("link") == link)) for axes, link in zip(grid.flat, links, strict=True)
    ]


def _points(axes: Axes, part: pl.DataFrame, disciplines: Sequence[str], first: str, second: str) -> None:
    """One line per congestion control and discipline: filled for the download, open for the upload."""
    controls = part["congestion"].unique(maintain_order=True).to_list()
    means = part.group_by("discipline", "congestion").agg(pl.col(first, second).mean())
    for discipline, control, down, up in means.rows():
        number = controls.index(control)
        at = disciplines.index(discipline) + 0.24 * (number - (len(controls) - 1) / 2)
        look: dict[str, Any] = {"marker": MARKERS[number], "markersize": 5, "color": LIGHT.ink, "zorder": 3}
        axes.plot([down, up], [at, at], color=LIGHT.mark, linewidth=0.8, zorder=2)
        axes.plot([down], [at], **look)
        axes.plot([up], [at], markerfacecolor=LIGHT.background, **look)


def _alone(axes: Axes, part: pl.DataFrame) -> None:
    """The RTT of the download alone, which the discipline of the uplink hardly changes."""
    controls = part["congestion"].unique(maintain_order=True).to_list()
    for number, control in enumerate(controls):
        value = part.filter(pl.col("congestion") == control)["alone_rtt_ms"].mean()
        axes.axvline(
            float(value),  # type: ignore[arg-type]
            color=LIGHT.late,
            linewidth=1,
            linestyle=LINES[number % len(LINES)],
            zorder=1,
        )


def _legend(sheet: Figure, runs: pl.DataFrame, down: str, up: str, alone: str = "") -> None:
    controls = runs["congestion"].unique(maintain_order=True).to_list()
    look: dict[str, Any] = {"color": LIGHT.ink, "linestyle": "none", "markersize": 5}
    handles = [Line2D([], [], marker=MARKERS[n], label=name, **look) for n, name in enumerate(controls)]
    handles.append(Line2D([], [], marker="o", label=f"filled: {down}", **look))
    handles.append(Line2D([], [], marker="o", markerfacecolor=LIGHT.background, label=f"open: {up}", **look))
    if alone:
        handles += [
            Line2D([], [], color=LIGHT.late, linestyle=LINES[n % len(LINES)], label=f"{alone}, {name}")
            for n, name in enumerate(controls)
        ]
    with style.styled(LIGHT):
        style.legend_below(sheet, handles)
