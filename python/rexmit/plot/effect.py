"""A response over one factor: the mean at each level with its interval, thin lines for a second factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from rexmit.analyse.influence import level_means
from rexmit.plot import style
from rexmit.plot.figures import Factor, Floats, capital

MOST_LINES = 8
"""Levels of a second factor that have lines of their own."""

MOST_NAMED = 24
"""Levels without a size that have their names on the axis."""

_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))
_TO_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


@dataclass(frozen=True)
class Quantity:
    """A response as an axis: its column, what people call it, its unit as in the table ("" for a number)."""

    column: str
    words: str
    unit: str = ""

    def scaled(self, largest: float) -> tuple[float, str]:
        """The divisor of values for an axis that goes up to `largest`, and its unit."""
        if self.unit in _TO_NS:
            scale, unit = next((one for one in _TIMES if largest * _TO_NS[self.unit] >= one[0]), _TIMES[-1])
            return scale / _TO_NS[self.unit], unit
        return 1.0, self.unit


@dataclass(frozen=True)
class Panel:
    """One set of axes: a table of runs, and its title ("" for none)."""

    frame: pl.DataFrame
    title: str = ""


def draw_effect(
    panels: Sequence[Panel],
    x: str,
    second: str | None,
    response: Quantity,
    words: dict[str, str],
    title: Sequence[str],
) -> Figure:
    """Panels side by side with one axis of the response; `words` is what people call factors."""
    wide = 8 if len(panels) == 1 else 10.5
    sheet = Figure(figsize=(wide, 4.2), layout="constrained")
    every = sheet.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    largest = max(float(panel.frame[response.column].cast(pl.Float64).abs().max() or 0) for panel in panels)  # type: ignore[arg-type]
    scale, unit = response.scaled(largest)
    for axes, panel in zip(every, panels, strict=True):
        _draw(axes, panel.frame, x, second, response.column, scale, words)
        if len(panels) > 1:
            style.title(axes, panel.title)
    first = every[0]
    if unit == "bit/s":
        first.yaxis.set_major_formatter(EngFormatter(unit=unit))
    name = capital(response.words.removeprefix("the "))
    first.set_ylabel(f"{name} ({unit})" if unit and unit != "bit/s" else name)
    low, high = first.get_ylim()
    if low > 0 and low < 0.6 * high:
        first.set_ylim(bottom=0)
    handles = every[0].get_legend_handles_labels()[0]
    if len(handles) > 1:
        sheet.legend(
            handles=handles,
            loc="outside right center",
            frameon=False,
            title=capital(words.get(second or "", second or "")),
        )
    if len(panels) == 1:
        style.title(first, *title)
    else:
        sheet.suptitle(", ".join(title), x=0.01, ha="left")
    return sheet


def _draw(
    axes: Axes,
    frame: pl.DataFrame,
    x: str,
    second: str | None,
    column: str,
    scale: float,
    words: dict[str, str],
) -> None:
    factor = Factor.of(frame, x, words.get(x, ""))
    order = dict(zip(factor.levels, factor.numbers, strict=True))
    if second is not None:
        lines = Factor.of(frame, second, words.get(second, ""))
        if 1 < len(lines.levels) <= MOST_LINES:
            for level, colour in zip(lines.levels, style.family(style.LIGHT, len(lines.levels)), strict=True):
                part = level_means(frame.filter(pl.col(second) == level), x, column)
                at, mean, _, _ = _columns(part, order, scale)
                axes.plot(
                    at,
                    mean,
                    color=colour,
                    linewidth=1.0,
                    marker=".",
                    markersize=3.5,
                    label=lines.label(level),
                )
    at, mean, low, high = _columns(level_means(frame, x, column), order, scale)
    ink = style.LIGHT.ink
    (line,) = axes.plot(at, mean, color=ink, linewidth=2.0, marker="o", markersize=4, label="mean")
    line.set_gid("line-mean")
    sure = ~np.isnan(low)
    if sure.any():
        below, above = mean[sure] - low[sure], high[sure] - mean[sure]
        axes.errorbar(at[sure], mean[sure], [below, above], fmt="none", ecolor=ink, elinewidth=1.0, capsize=3)
    if factor.is_quantity:
        if factor.is_position:
            axes.xaxis.set_major_locator(MaxNLocator(nbins=11, integer=True, steps=[1, 2, 5, 10]))
    elif len(factor.levels) <= MOST_NAMED:
        longest = max(map(len, factor.labels))
        turned = longest * len(factor.labels) > 60
        axes.set_xticks(
            factor.numbers, factor.labels, rotation=30 if turned else 0, ha="right" if turned else "center"
        )
    axes.set_xlabel(factor.title)


def _columns(means: pl.DataFrame, order: dict[object, float], scale: float) -> list[Floats]:
    rows = sorted((order[row[0]], *row[1:]) for row in means.iter_rows())
    columns = list(zip(*rows, strict=True))
    return [
        np.array(columns[0], dtype=float),
        *(np.array(column, dtype=float) / scale for column in columns[1:]),
    ]
