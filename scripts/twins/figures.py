"""Figures of the differences between two backends."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rexmit.plot.style import LIGHT, save, styled

from twins.scenarios import PLAIN_PROFILE, RFC, WHOLE

LOOKS = {
    PLAIN_PROFILE: (LIGHT.ack, "-.", "s"),
    WHOLE: (LIGHT.mark, "-", "o"),
    RFC: (LIGHT.window, "--", "^"),
}
TITLES = {
    "plain": "Linux 6.1 without RACK and TLP",
    "default": "Linux 6.1 with its defaults",
}
SMALLEST = 1e-5
"""Per cent; what differs less is drawn here, since a logarithm has no zero."""


def cumulative(table: pl.DataFrame, out: Path) -> None:
    """The share of scenarios whose completion time differs by at most so much."""
    with styled(LIGHT):
        figure, axes = _two(table)
        for axis, group in zip(axes, _groups(table), strict=True):
            for profile, (colour, line, _) in LOOKS.items():
                off = _of(table, group, profile)["difference_percent"].abs().to_numpy()
                x = np.sort(np.maximum(off, SMALLEST))
                share = 100 * np.arange(1, len(x) + 1) / len(x)
                axis.step(x, share, line, where="post", color=colour, label=f"model, {profile}")
            axis.set_xscale("log")
            axis.set_xlim(SMALLEST, 300)
            axis.set_ylim(0, 100)
            axis.set_title(TITLES.get(group, group))
            axis.set_xlabel("difference in completion time, at most [%]")
        axes[0].set_ylabel("share of scenarios [%]")
        axes[0].legend(loc="lower right")
        save(figure, out)


def scatter(table: pl.DataFrame, out: Path) -> None:
    """The completion time of the model over that of the real kernel, a mark a scenario."""
    with styled(LIGHT):
        figure, axes = _two(table)
        ends = np.array([0.03, 100.0])
        for axis, group in zip(axes, _groups(table), strict=True):
            axis.plot(ends, ends, color=LIGHT.grid, linewidth=1.2, zorder=1)
            for profile, (colour, _, mark) in reversed(LOOKS.items()):
                rows = _of(table, group, profile)
                x, y = (rows[f"{name}_time_ms"].to_numpy() / 1000 for name in ("uml", "model"))
                axis.plot(x, y, mark, color=colour, markersize=3, alpha=0.55, label=f"model, {profile}")
            axis.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
            axis.set_aspect("equal")
            axis.set_title(TITLES.get(group, group))
            axis.set_xlabel("completion time on uml [s]")
        axes[0].set_ylabel("completion time on the model [s]")
        axes[0].legend(loc="upper left")
        save(figure, out)


def lateness(table: pl.DataFrame, out: Path) -> None:
    """How far the real-time kernel is from virtual time, over how late the emulator was at most."""
    with styled(LIGHT):
        figure = Figure(figsize=(5.6, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        axis = figure.add_subplot()
        ends = np.array([1e-2, 1e3])
        least = max(float(table["late_max_ms"].to_numpy().min()), 1e-6)
        across = 10 ** np.array([np.floor(np.log10(least)), 1.5])
        axis.plot(across, across, color=LIGHT.grid, linewidth=1.2, zorder=1)
        for same, colour, mark, text in (
            (True, LIGHT.mark, "o", "the same segments"),
            (False, LIGHT.window, "^", "other segments"),
        ):
            rows = table.filter(pl.col("identical") == same)
            late, off = rows["late_max_ms"].to_numpy(), rows["difference_ms"].abs().to_numpy()
            axis.plot(late, np.maximum(off, ends[0]), mark, color=colour, markersize=4, alpha=0.7, label=text)
        axis.set(xscale="log", yscale="log", xlim=across, ylim=ends)
        axis.set_xlabel("latest that the emulator was [ms]")
        axis.set_ylabel("difference in completion time [ms]")
        axis.set_title("This machine's kernel in real time, against uml")
        axis.legend(loc="upper left")
        save(figure, out)


def _two(table: pl.DataFrame) -> tuple[Figure, Sequence[Axes]]:
    figure = Figure(figsize=(8.4, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(_groups(table)), sharey=True, squeeze=False)
    return figure, list(axes[0])


def _groups(table: pl.DataFrame) -> list[str]:
    return table["group"].unique(maintain_order=True).to_list()


def _of(table: pl.DataFrame, group: str, profile: str) -> pl.DataFrame:
    return table.filter(pl.col("group") == group, pl.col("profile") == profile)
