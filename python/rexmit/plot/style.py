"""One look for all figures: colours, sizes, axes, and how a figure becomes a file.

The colours are told apart with every common form of colour blindness: single colours come from the set of
Okabe and Ito (2008), ordered families of lines from viridis, and no meaning rests on colour alone.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from rexmit.errors import UsageError, nearest
from rexmit.files import make_folder, write_bytes

FORMATS = ("svg", "png")
"""What is written where nobody asks for anything else."""

KNOWN_FORMATS = ("svg", "png", "pdf")

TITLE_WIDTH = 0.88
"""Share of a figure's width that a title over its axes may take: the labels of the axis stand left of it."""

LONGEST_PART = 400
"""Letters of one part of a title: a study may be anybody's, and measuring text takes its time."""

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")


@dataclass(frozen=True)
class Theme:
    """The colours of a figure."""

    background: str
    ink: str
    grid: str
    segment: str
    retransmission: str
    late: str
    ack: str
    window: str
    sack: str
    mark: str
    family: str
    family_range: tuple[float, float]


LIGHT = Theme(
    background="#ffffff",
    ink="#1a1a1a",
    grid="#e4e4e4",
    segment="#1a1a1a",
    retransmission="#d5231e",
    late="#0072b2",
    ack="#008f68",
    window="#e08e00",
    sack="#8e3fa8",
    mark="#0072b2",
    family="viridis",
    family_range=(0.0, 0.88),
)

DARK = Theme(
    background="#000000",
    ink="#f2f2f2",
    grid="#2b2b2b",
    segment="#ffffff",
    retransmission="#ff5a4f",
    late="#6cc4ff",
    ack="#2fd08c",
    window="#f5e04a",
    sack="#d08cf0",
    mark="#6cc4ff",
    family="viridis",
    family_range=(0.25, 1.0),
)

THEMES = {"light": LIGHT, "dark": DARK}


def theme_of(name: str) -> Theme:
    """The theme `light` or `dark`. Raises UsageError for any other name."""
    if name not in THEMES:
        raise UsageError(f"no theme {name!r}{nearest(name, THEMES)}")
    return THEMES[name]


@contextlib.contextmanager
def styled(theme: Theme) -> Iterator[None]:
    """Matplotlib with our settings; the former ones are restored afterwards."""
    settings: dict[Any, Any] = {
        "axes.axisbelow": True,
        "axes.edgecolor": theme.ink,
        "axes.facecolor": theme.background,
        "axes.grid": True,
        "axes.labelcolor": theme.ink,
        "axes.labelsize": 9.5,
        "axes.linewidth": 0.8,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "figure.facecolor": theme.background,
        "figure.titlesize": 11,
        "figure.titleweight": "bold",
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "grid.color": theme.grid,
        "grid.linewidth": 0.7,
        "legend.facecolor": theme.background,
        "legend.edgecolor": theme.grid,
        "legend.fontsize": 8,
        "legend.framealpha": 0.92,
        "legend.labelcolor": theme.ink,
        "legend.title_fontsize": 8.5,
        "lines.linewidth": 1.3,
        "savefig.facecolor": theme.background,
        "svg.hashsalt": "rexmit",
        "text.color": theme.ink,
        "xtick.color": theme.ink,
        "xtick.labelsize": 8.5,
        "ytick.color": theme.ink,
        "ytick.labelsize": 8.5,
    }
    with matplotlib.rc_context(settings):
        yield


def family(theme: Theme, count: int) -> list[tuple[float, float, float, float]]:
    """`count` colours in order, for lines of an ordered factor."""
    low, high = theme.family_range
    steps = [low + (high - low) * i / max(count - 1, 1) for i in range(count)]
    return [matplotlib.colormaps[theme.family](step) for step in steps]


def legend_below(figure: Figure, handles: Sequence[Artist]) -> None:
    """One legend for the figure below its axes, where it covers nothing; equal labels are named once."""
    named = {str(handle.get_label()): handle for handle in reversed(handles)}
    ordered = [named[label] for label in dict.fromkeys(str(handle.get_label()) for handle in handles)]
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    for rows in range(1, len(ordered) + 1):
        columns = math.ceil(len(ordered) / rows)
        legend = figure.legend(handles=ordered, loc="outside lower center", ncols=columns, frameon=False)
        if legend.get_window_extent(renderer).width < figure.bbox.width:
            return
        if rows < len(ordered):
            legend.remove()


def title(axes: Axes, *parts: str) -> None:
    """A title over the axes: its parts one after another, on as many lines as keep all of it in the figure.

    A part begins a line of its own rather than be broken: mostly the last tells figures apart. One that would
    fill the figure keeps its beginning and its end.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    text = axes.set_title("", loc="left")
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]

    def fits(line: str) -> bool:
        text.set_text(line)
        return bool(text.get_window_extent(renderer).width <= TITLE_WIDTH * figure.bbox.width)

    lines: list[str] = []
    for number, part in enumerate(map(_shown, parts)):
        told = part if number == len(parts) - 1 else f"{part},"
        if lines and fits(f"{lines[-1]} {told}"):
            lines[-1] += f" {told}"
        else:
            lines += _broken(told, fits)
    text.set_text("\n".join(lines))


def _shown(part: str) -> str:
    half = LONGEST_PART // 2
    return part if len(part) <= LONGEST_PART else f"{part[:half]} ... {part[-half:]}"


def _broken(text: str, fits: Callable[[str], bool]) -> list[str]:
    """The text on lines that fit, broken between words, and within a word that does not fit alone."""
    lines, line = [], ""
    for word in text.split(" "):
        whole = f"{line} {word}" if line else word
        if fits(whole):
            line = whole
            continue
        lines += [line] if line else []
        line = word
        while not fits(line) and len(line) > 1:
            most = max(bisect_left(range(1, len(line)), True, key=lambda count: not fits(line[:count])), 1)
            lines.append(line[:most])
            line = line[most:]
    return [*lines, line]


def whole_numbers(axes: Axes, axis: str) -> None:
    """Ticks of an axis at whole numbers, thousands apart by a comma."""
    target = axes.xaxis if axis == "x" else axes.yaxis
    target.set_major_locator(MaxNLocator(nbins="auto", integer=True, steps=[1, 2, 2.5, 5, 10]))
    target.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


def save(figure: Figure, out: str | os.PathLike[str], formats: Sequence[str] = ()) -> list[Path]:
    """Writes the figure and returns the files.

    `out` with a known ending (`.svg`, `.png`, `.pdf`) is one file; without, it is the beginning of the names
    of one file for each of `formats` (SVG and PNG where none is given). A file appears whole under its name
    or not at all. Raises UsageError for an unknown format and StoreError where a file cannot be written.
    """
    stem, wanted = _targets(Path(out), formats)
    drawn = [(stem.with_name(f"{stem.name}.{form}"), _render(figure, form)) for form in wanted]
    for path, content in drawn:
        _write(path, content)
    return [path for path, _ in drawn]


def _targets(out: Path, formats: Sequence[str]) -> tuple[Path, list[str]]:
    ending = out.suffix.lower().removeprefix(".")
    for form in formats:
        if form not in KNOWN_FORMATS:
            raise UsageError(f"cannot draw {form!r}{nearest(form, KNOWN_FORMATS)}")
    if ending in KNOWN_FORMATS:
        others = [form for form in formats if form != ending]
        return out.with_suffix(""), [ending, *others]
    return out, list(formats or FORMATS)


def _write(path: Path, content: bytes) -> None:
    make_folder(path.parent, resumable=False)
    write_bytes(path, content, resumable=False)


def _render(figure: Figure, form: str) -> bytes:
    # Nothing of the moment or the machine goes into a file.
    metadata: dict[str, dict[str, Any]] = {
        "svg": {"Date": None},
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "ModDate": None},
    }
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "rexmit"}):
        figure.savefig(buffer, format=form, dpi=200, metadata=metadata[form])
    return buffer.getvalue()
