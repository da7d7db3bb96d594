"""Figures of a study from its table of runs.

Small parts that draw into axes, and [`draw_results`], which draws what fits the design of any study.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from rexmit.errors import UsageError
from rexmit.plot import style

POSITION_LABEL = "Position of the lost packet (0: none)"
TIME_LABEL = "Transmission time (ms)"
_NAMES = {"path.rate": "bandwidth", "path.delay": "one-way delay", "path.queue": "queue"}
_SCALES = {"bit_s": (1e3, "kbit/s"), "ns": (1e6, "ms")}


@dataclass(frozen=True)
class Factor:
    """A factor of a study as an axis or as a family of lines.

    `column` is its name in the table. `levels` are the values there, in the order of the study; `labels` what
    people read; `numbers` their size in `unit`, or their order where they are no quantities.
    """

    column: str
    levels: list[Any]
    labels: list[str]
    numbers: list[float]
    unit: str

    @classmethod
    def of(cls, frame: pl.DataFrame, column: str) -> Factor:
        """The factor of that name in a table of runs. Raises UsageError where the table has none."""
        if column not in frame.columns:
            raise UsageError(f"the table of runs has no column {column!r}; it has {', '.join(frame.columns)}")
        levels = frame[column].unique(maintain_order=True).to_list()
        labels = [str(level) for level in levels]
        for ending, (scale, unit) in _SCALES.items():
            sized = f"{column}_{ending}"
            if sized in frame.columns:
                sizes = dict(frame.select(column, sized).unique().iter_rows())
                return cls(column, levels, labels, [sizes[level] / scale for level in levels], unit)
        if all(isinstance(level, int | float) for level in levels):
            return cls(column, levels, labels, [float(level) for level in levels], "")
        return cls(column, levels, labels, [float(n) for n in range(len(levels))], "")

    @property
    def name(self) -> str:
        """What people call it."""
        return _NAMES.get(self.column, self.column)

    @property
    def title(self) -> str:
        """Its name and unit, for an axis or above a legend."""
        name = self.name[0].upper() + self.name[1:]
        return f"{name} ({self.unit})" if self.unit else name

    def label(self, level: Any) -> str:
        """What people read for one of its levels: in its unit where it has one."""
        at = self.levels.index(level)
        return f"{self.numbers[at]:,.12g} {self.unit}" if self.unit else self.labels[at]


def time_lines(axes: Axes, frame: pl.DataFrame, x: Factor, lines: Factor | None) -> list[Line2D]:
    """Draws the mean total time in ms over `x`, one line a level of `lines`, and returns the lines.

    Bands span the least and the greatest replication. Runs that did not complete are left out.
    """
    done = frame.filter(pl.col("completed").cast(pl.Boolean))
    levels = [None] if lines is None else lines.levels
    there = {None} if lines is None else set(done[lines.column])
    colours = style.family(style.LIGHT, len(levels))
    drawn = []
    for number, (level, colour) in enumerate(zip(levels, colours, strict=True)):
        # A level keeps its colour and marker where others are left out.
        if level not in there:
            continue
        part = done if lines is None else done.filter(pl.col(lines.column) == level)
        times = pl.col("time_ns") / 1e6
        groups = part.group_by(x.column).agg(
            times.mean().alias("mean"), times.min().alias("low"), times.max().alias("high")
        )
        order = dict(zip(x.levels, x.numbers, strict=True))
        rows = sorted((order[row[0]], *row[1:]) for row in groups.iter_rows())
        at, mean, low, high = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        label = lines.label(level) if lines is not None else "mean"
        (line,) = axes.plot(at, mean, color=colour, label=label, **_marked(number, len(at)))
        line.set_gid(f"line-{label}")
        axes.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0, zorder=1, gid=f"band-{label}")
        drawn.append(line)
    return drawn


def position_axes(axes: Axes, positions: Factor) -> None:
    """Labels axes whose x is the position of the lost packet and whose y is a time."""
    last = max(positions.numbers)
    axes.set_xlim(-0.02 * last, 1.02 * last)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=11, integer=True, steps=[1, 2, 5, 10]))
    if last <= 30:
        axes.xaxis.set_minor_locator(MaxNLocator(nbins=40, integer=True))
    axes.set_xlabel(POSITION_LABEL)
    axes.set_ylabel(TIME_LABEL)
    style.whole_numbers(axes, "y")


def percent_lines(
    axes: Axes, points: Sequence[tuple[str, float, float]], x_title: str, y_title: str
) -> list[Line2D]:
    """Draws points (name, x, percent), one line for each name in the order given, and returns the lines."""
    names = list(dict.fromkeys(name for name, _, _ in points))
    drawn = []
    for number, (name, colour) in enumerate(zip(names, style.family(style.LIGHT, len(names)), strict=True)):
        at = [(x, y) for line, x, y in points if line == name]
        look = _marked(number, len(at))
        (line,) = axes.plot([x for x, _ in at], [y for _, y in at], color=colour, label=name, **look)
        line.set_gid(f"line-{name}")
        drawn.append(line)
    axes.set_xlabel(x_title)
    axes.set_ylabel(y_title)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=8, steps=[1, 2, 5, 10]))
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    return drawn


def legend_beside(figure: Figure, lines: Sequence[Line2D], title: str) -> None:
    """A legend right of the axes, the last line on top as it mostly is in the figure."""
    figure.legend(handles=list(reversed(lines)), loc="outside right center", title=title, frameon=False)


def draw_results(frame: pl.DataFrame, factors: Sequence[str], out: Path, title: str) -> list[Path]:
    """Draws total time for a design of any study and returns the files.

    The factor with most levels that is a quantity or position is the x axis, the next one the lines; each
    combination of the others is a figure. Raises UsageError for a table without a finished run.
    """
    if not frame.filter(pl.col("completed").cast(pl.Boolean)).height:
        raise UsageError("no run of this study completed; there is nothing to draw")
    known = [Factor.of(frame, name) for name in factors]
    by_size = sorted(known, key=lambda factor: (_is_quantity(factor), len(factor.levels)), reverse=True)
    x, lines, rest = by_size[0], (by_size[1] if len(by_size) > 1 else None), by_size[2:]
    if len(x.levels) < 2:
        raise UsageError("no factor of this study has two levels; there is nothing to draw over")
    names = [factor.column for factor in known if factor in rest]
    parts = frame.partition_by(names, as_dict=True, maintain_order=True) if names else {(): frame}
    files = []
    for values, part in parts.items():
        labels = [Factor.of(frame, name).label(value) for name, value in zip(names, values, strict=True)]
        with style.styled(style.LIGHT):
            figure = Figure(figsize=(8, 4.8), layout="constrained")
            axes = figure.add_subplot()
            drawn = time_lines(axes, part, x, lines)
            _label_x(axes, x)
            axes.set_title(", ".join([title, *labels]), loc="left")
            if lines is not None:
                legend_beside(figure, drawn, lines.title)
            files += style.save(figure, out / "-".join(["time", *map(_file_part, labels)]))
    return files


def _label_x(axes: Axes, x: Factor) -> None:
    if x.column.endswith(".drop"):
        position_axes(axes, x)
        return
    if not _is_quantity(x):
        axes.set_xticks(x.numbers, x.labels)
    axes.set_xlabel(x.title)
    axes.set_ylabel(TIME_LABEL)
    style.whole_numbers(axes, "y")


def _is_quantity(factor: Factor) -> bool:
    return bool(factor.unit) or all(isinstance(level, int | float) for level in factor.levels)


def _marked(number: int, points: int) -> dict[str, Any]:
    every = 1 if points <= 30 else (number % 10, 10)
    marker = style.MARKERS[number % len(style.MARKERS)]
    return {"marker": marker, "markersize": 3.6, "markevery": every, "linewidth": 1.2}


def _file_part(label: str) -> str:
    return "".join(c if c.isalnum() or c in ".-" else "-" for c in label).strip("-")
