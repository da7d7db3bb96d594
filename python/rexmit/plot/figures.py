"""Figures of a study from its table of runs.

Small parts that draw into axes, and `draw_results`, which draws what fits the design of any study.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from rexmit.analyse.reached import is_unreached
from rexmit.errors import UsageError
from rexmit.plot import style
from rexmit.study.words import in_words, level_in_words, setting_in_words

POSITION_LABEL = "Position of the lost packet (0: none)"
TIME_LABEL = "Transmission time (ms)"
OPEN_MARKS = "unreached"
"""How the names of such marks in an SVG begin."""
OPEN_LABEL = "open: met no packet"
OPEN_MEANING = "open marks: a pattern of the run met no packet, so what it stands for never happened"
Floats = npt.NDArray[np.float64]
_QUANTITY = re.compile(r"(\d+(?:\.\d+)?) ?(\D.*)")
_SCALES = {"bit_s": (1e3, "kbit/s"), "ns": (1e6, "ms")}


@dataclass(frozen=True)
class Factor:
    """A factor of a study as an axis or as a family of lines.

    `column` is its name in the table. `levels` are the values there, in the order of the study; `labels` what
    people read; `numbers` their size in `unit`, or their order where they are not quantities. `words` is what
    people call it, where its column alone does not tell that.
    """

    column: str
    levels: list[Any]
    labels: list[str]
    numbers: list[float]
    unit: str
    words: str = ""

    @classmethod
    def of(cls, frame: pl.DataFrame, column: str, words: str = "") -> Factor:
        """The factor of that name in a table of runs. Raises UsageError where the table has none."""
        if column not in frame.columns:
            raise UsageError(f"the table of runs has no column {column!r}; it has {', '.join(frame.columns)}")
        levels = frame[column].unique(maintain_order=True).to_list()
        labels = [readable(level) for level in levels]
        for ending, (scale, unit) in _SCALES.items():
            sized = f"{column}_{ending}"
            if sized in frame.columns:
                sizes = dict(frame.select(column, sized).unique().iter_rows())
                return cls(column, levels, labels, [sizes[level] / scale for level in levels], unit, words)
        if all(_is_number(level) for level in levels):
            return cls(column, levels, labels, [float(level) for level in levels], "", words)
        sizes_given = [_QUANTITY.fullmatch(label) for label in labels]
        units = {match[2] for match in sizes_given if match}
        if len(units) == 1 and all(sizes_given):
            sizes_known = [float(match[1]) for match in sizes_given if match]
            return cls(column, levels, labels, sizes_known, units.pop(), words)
        return cls(column, levels, labels, [float(n) for n in range(len(levels))], "", words)

    @property
    def is_quantity(self) -> bool:
        """Whether its levels have a size, and so their place on an axis."""
        return bool(self.unit) or all(_is_number(level) for level in self.levels)

    @property
    def is_position(self) -> bool:
        """Whether its levels are positions of a lost packet."""
        return self.column.endswith(".drop") and all(isinstance(level, int) for level in self.levels)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.words or setting_in_words(self.column)

    @property
    def title(self) -> str:
        """Its name and unit, for an axis or above a legend."""
        name = capital(self.name)
        return f"{name} ({self.unit})" if self.unit else name

    def told(self, level: Any) -> str:
        """The factor with one of its levels, for a title."""
        return level_in_words(self.name, self.label(level))

    def label(self, level: Any) -> str:
        """What people read for one of its levels: in its unit where it has one."""
        at = self.levels.index(level)
        return f"{self.numbers[at]:,.12g} {self.unit}" if self.unit else self.labels[at]


def time_lines(axes: Axes, frame: pl.DataFrame, x: Factor, lines: Factor | None) -> list[Line2D]:
    """Draws the mean total time in ms over `x`, one line per level of `lines`, and returns the lines.

    Bands span the least and the greatest replication. Runs that did not complete are left out. Where a
    pattern met no packet the line has a gap and an open mark.
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
            times.mean().alias("mean"),
            times.min().alias("low"),
            times.max().alias("high"),
            is_unreached(part).any().alias("unreached"),
        )
        order = dict(zip(x.levels, x.numbers, strict=True))
        rows = sorted((order[row[0]], *row[1:]) for row in groups.iter_rows())
        at, mean, low, high, unmet = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        label = lines.label(level) if lines is not None else "mean"
        if unmet.any():
            axes.plot(at[unmet > 0], mean[unmet > 0], **_open_look(number, colour, label))
            mean, low, high = (np.where(unmet > 0, np.nan, values) for values in (mean, low, high))
        (line,) = axes.plot(at, mean, color=colour, label=label, **_marked(number, len(at)))
        line.set_gid(f"line-{label}")
        axes.fill_between(at, low, high, color=colour, alpha=0.25, linewidth=0, zorder=1, gid=f"band-{label}")
        drawn.append(line)
    return drawn


def _open_look(number: int, colour: Any, label: str) -> dict[str, Any]:
    marker = style.MARKERS[number % len(style.MARKERS)]
    look = {"marker": marker, "markersize": 4.2, "markerfacecolor": "none", "markeredgewidth": 0.9}
    return look | {"color": colour, "linestyle": "none", "gid": f"{OPEN_MARKS}-{label}"}


def open_handles(figure: Figure) -> list[Line2D]:
    """What a legend says of open marks, where the figure has some."""
    drawn = (str(line.get_gid()) for axes in figure.axes for line in axes.lines)
    if not any(gid.startswith(f"{OPEN_MARKS}-") for gid in drawn):
        return []
    look = _open_look(0, style.LIGHT.ink, "")
    return [Line2D([], [], **look | {"gid": OPEN_MARKS}, label=OPEN_LABEL)]


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
    handles = [*reversed(lines), *open_handles(figure)]
    figure.legend(handles=handles, loc="outside right center", title=title, frameon=False)


def draw_results(
    frame: pl.DataFrame,
    factors: Sequence[str] | Mapping[str, str],
    out: Path,
    title: str,
    formats: Sequence[str] = (),
) -> list[Path]:
    """Draws total time for a design of any study and returns the files.

    `factors` are names of columns, or these with what people call them.

    The quantity or position with most levels is the x axis, the largest other factor the lines; each
    combination of the others is a figure. Raises UsageError for a table without a finished run, and for one
    in which nothing varies.
    """
    done = frame.filter(pl.col("completed").cast(pl.Boolean))
    if not done.height:
        raise UsageError("no run of this study completed; there is nothing to draw")
    words = factors if isinstance(factors, Mapping) else in_words(factors)
    known = [factor for name in words if len((factor := Factor.of(frame, name, words[name])).levels) > 1]
    if not known:
        raise UsageError("no factor of this study has two levels; there is nothing to draw over")
    x = max(known, key=lambda factor: (factor.is_quantity, len(factor.levels)))
    others = [factor for factor in known if factor is not x]
    lines = max(others, key=lambda factor: (len(factor.levels), not factor.is_quantity), default=None)
    parts = [factor for factor in others if factor is not lines]
    files = []
    for values, part in split_by(done, [factor.column for factor in parts]):
        labels = [factor.label(value) for factor, value in zip(parts, values, strict=True)]
        names = [factor.told(value) for factor, value in zip(parts, values, strict=True)]
        with style.styled(style.LIGHT):
            sheet = _draw_design(part, x, lines, [title, *names])
            files += style.save(sheet, out / "-".join(["time", *map(file_part, labels)]), formats)
    return files


def split_by(frame: pl.DataFrame, columns: list[str]) -> list[tuple[tuple[Any, ...], pl.DataFrame]]:
    """The rows by the values of some columns; all of them where there are no columns."""
    if not columns:
        return [((), frame)]
    return list(frame.partition_by(columns, as_dict=True, maintain_order=True).items())


def _draw_design(frame: pl.DataFrame, x: Factor, lines: Factor | None, titles: Sequence[str]) -> Figure:
    sheet = Figure(figsize=(8, 4.8), layout="constrained")
    axes = sheet.add_subplot()
    drawn = time_lines(axes, frame, x, lines)
    if x.is_position:
        position_axes(axes, x)
    else:
        if not x.is_quantity:
            axes.set_xticks(x.numbers, x.labels)
        axes.set_xlabel(x.title)
        axes.set_ylabel(TIME_LABEL)
        style.whole_numbers(axes, "y")
    style.title(axes, *titles)
    replications = frame["replication"].n_unique()
    if replications > 1:
        sheet.text(0.99, 0.01, f"bands: least to greatest of {replications} runs", ha="right", fontsize=7)
    if lines is not None and max(len(str(line.get_label())) for line in drawn) > 25:
        style.legend_below(sheet, [*drawn, *open_handles(sheet)])
    elif lines is not None:
        legend_beside(sheet, drawn, lines.title)
    elif handles := open_handles(sheet):
        axes.legend(handles=handles, loc="best")
    return sheet


def _is_number(level: Any) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)


def readable(level: Any) -> str:
    """A level as text; a table, which stands as JSON in the results, as what it inherits and its settings."""
    text = str(level)
    if not text.startswith("{"):
        return text
    try:
        settings = list(_flat(json.loads(text)))
    except ValueError:
        return text
    own = [str(value) if name == "inherits" else f"{name} {value}" for name, value in settings]
    return ", ".join(sorted(own, key=lambda part: part.count(" ") > 0))


def _flat(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _marked(number: int, points: int) -> dict[str, Any]:
    every = 1 if points <= 30 else (number % 10, 10)
    marker = style.MARKERS[number % len(style.MARKERS)]
    return {"marker": marker, "markersize": 3.6, "markevery": every, "linewidth": 1.2}


def capital(name: str) -> str:
    """A name as it begins a label; one with dots is written as in files."""
    return name if "." in name else name[:1].upper() + name[1:]


def file_part(label: str) -> str:
    """A label as a part of the name of a file."""
    return "".join(c if c.isalnum() or c in ".-" else "-" for c in label).strip("-")
