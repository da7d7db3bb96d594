"""The figures of the study hurtig-2006 (chapter 4 of the thesis), numbered as there.

Each entry of the tables below is one figure. Those of losses by position and of their cost come from the
table of runs; time-sequence graphs come from captures, of runs that are made again with the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit import UsageError
from rexmit.analyse import PositionCosts, load_published, position_costs
from rexmit.plot import connections, figures, style, tsg
from rexmit.plot.figures import Factor

PUBLISHED = Path(__file__).parent.parent / "published.csv"
RATE, DELAY, POSITION = "path.rate", "path.delay", "path.down.drop"

DEFECT_KBIT_S, DEFECT_UP_TO_MS = 40, 20
"""Left out of the figures of performance loss: here the timer expires without loss (section 4.1.1)."""


@dataclass(frozen=True)
class LossFigure:
    """What a late loss costs against delay: `additional` for a late loss, `average` for one anywhere."""

    number: str
    flow: str
    quantity: str
    title: str


@dataclass(frozen=True)
class PositionFigure:
    """Transmission time against the position of the loss, a panel for each bandwidth in kbit/s."""

    number: str
    flow: str
    kbit_s: tuple[int, ...]
    up_to_ms: int = 300


@dataclass(frozen=True)
class Panel:
    """One run as a time-sequence graph: what the server sent, seen at `host`, for `seconds` if given."""

    kbit_s: int
    delay_ms: int
    position: int
    host: str = "server"
    seconds: tuple[float, float] | None = None


@dataclass(frozen=True)
class SequenceFigure:
    """Time-sequence graphs of single runs; the title of one with a single panel says which run it is."""

    number: str
    flow: str
    title: str
    panels: tuple[Panel, ...]


LOSS_FIGURES = (
    LossFigure("4.1", "short", "additional", "Performance loss for the short flows"),
    LossFigure("4.2", "short", "average", "Average performance loss for the short flows"),
    LossFigure("4.15", "long", "additional", "Performance loss for the long flows"),
    LossFigure("4.16", "long", "average", "Average performance loss for the long flows"),
)

POSITION_FIGURES = (
    PositionFigure("4.3", "short", (40,)),
    PositionFigure("4.4", "short", (80,)),
    PositionFigure("4.5", "short", (160,)),
    PositionFigure("4.6", "short", (320,)),
    PositionFigure("4.7", "short", (500, 1000, 2000, 4000, 8000, 10000)),
    PositionFigure("4.8", "short", (1000,), up_to_ms=100),
    PositionFigure("4.17", "long", (40, 80, 160)),
    PositionFigure("4.18", "long", (500,)),
    PositionFigure("4.19", "long", (1000, 4000, 10000)),
)

SEQUENCE_FIGURES = (
    SequenceFigure(
        "4.9",
        "short",
        "Bad RTO estimation",
        (Panel(40, 5, 0, "client", (0.0, 3.0)), Panel(40, 5, 0, "server", (0.0, 3.0))),
    ),
    SequenceFigure(
        "4.10",
        "short",
        "Acknowledgment misinterpretation",
        (Panel(40, 5, 14), Panel(40, 5, 13), Panel(40, 5, 15)),
    ),
    SequenceFigure("4.11", "short", "", (Panel(320, 300, 0),)),
    SequenceFigure("4.12", "short", "", (Panel(320, 300, 8),)),
    SequenceFigure("4.13", "short", "", (Panel(320, 300, 9),)),
    SequenceFigure("4.14", "short", "", (Panel(320, 300, 10),)),
    SequenceFigure("4.20", "long", "", (Panel(80, 300, 12),)),
    SequenceFigure("4.21", "long", "", (Panel(80, 300, 50),)),
    SequenceFigure("4.22", "long", "", (Panel(80, 300, 84),)),
    SequenceFigure("4.23", "long", "", (Panel(500, 300, 41),)),
    SequenceFigure("4.24", "long", "", (Panel(500, 300, 50),)),
)

Capture = Callable[[Panel, Path], None]
"""Runs the run of a panel and writes the capture at its host to a file."""


def draw_table(
    frame: pl.DataFrame, flow: str, out: Path, formats: Sequence[str] = ()
) -> Iterator[list[Path]]:
    """Draws the figures of a flow (`short` or `long`) that come from its table of runs, a figure at a time.

    A part of the study gives the figures that it suffices for. Bandwidths of no figure of the thesis get one
    without a number.
    """
    costs = _costs(frame)
    for loss in (entry for entry in LOSS_FIGURES if entry.flow == flow):
        if _points(loss, costs):
            yield draw_loss(loss, costs, out, formats)
    there = _kbit_s(frame)
    numbered = [entry for entry in POSITION_FIGURES if entry.flow == flow and set(entry.kbit_s) <= set(there)]
    for entry in numbered:
        yield draw_positions(entry, frame, out, formats)
    for kbit_s in there:
        if not any(kbit_s in entry.kbit_s for entry in numbered):
            yield draw_positions(PositionFigure("", flow, (kbit_s,)), frame, out, formats)


def draw_loss(
    figure: LossFigure, costs: Sequence[PositionCosts], out: Path, formats: Sequence[str] = ()
) -> list[Path]:
    """Draws what losses cost against delay, one line per bandwidth, and the thesis's numbers."""
    points = _points(figure, costs)
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 4.8), layout="constrained")
        axes = sheet.add_subplot()
        y_title = "Average additional time (%)" if figure.quantity == "average" else "Additional time (%)"
        lines = figures.percent_lines(axes, points, "One-way delay (ms)", y_title)
        _head(sheet, figure.number, figure.title)
        lines = [*_draw_published(axes, _published(figure)), *lines]
        figures.legend_beside(sheet, lines, "Bandwidth")
        return style.save(sheet, out / _file(figure.number, figure.title), formats)


def draw_positions(
    figure: PositionFigure, frame: pl.DataFrame, out: Path, formats: Sequence[str] = ()
) -> list[Path]:
    """Draws transmission time against the position of the loss, one line per delay."""
    positions, delays = Factor.of(frame, POSITION), Factor.of(frame, DELAY)
    frame = frame.filter(pl.col(f"{DELAY}_ns") <= figure.up_to_ms * 1_000_000)
    count = len(figure.kbit_s)
    rows, columns = {1: (1, 1), 3: (3, 1), 6: (3, 2)}[count]
    size = (8, 4.8) if count == 1 else (8.5 if columns == 1 else 11, 3.1 * rows)
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=size, layout="constrained")
        grid = sheet.subplots(rows, columns, squeeze=False)
        lines = []
        for axes, kbit_s in zip(grid.flat, figure.kbit_s, strict=True):
            part = frame.filter(pl.col(f"{RATE}_bit_s") == kbit_s * 1000)
            lines = figures.time_lines(axes, part, positions, delays)
            figures.position_axes(axes, positions)
            if count > 1:
                axes.set_title(f"{kbit_s:,} kbit/s", loc="left")
        for axes in grid[:-1].flat:
            axes.set_xlabel("")
        for axes in grid[:, 1:].flat:
            axes.set_ylabel("")
        title = f"Transmission time, {_rates(figure.kbit_s)} kbit/s"
        title += f", delays to {figure.up_to_ms} ms" if figure.up_to_ms < 300 else ""
        _head(sheet, figure.number, title)
        figures.legend_beside(sheet, lines, "One-way delay")
        return style.save(sheet, out / _file(figure.number, title), formats)


def draw_sequences(
    figure: SequenceFigure, capture: Capture, work: Path, out: Path, formats: Sequence[str] = ()
) -> list[Path]:
    """Draws the time-sequence graphs of a figure from captures that `capture` writes below `work`."""
    count = len(figure.panels)
    with style.styled(style.LIGHT):
        width, height = tsg.SIZE
        sheet = Figure(figsize=(width, height if count == 1 else 0.35 + 4.0 * count), layout="constrained")
        grid = sheet.subplots(count, 1, squeeze=False)
        handles = []
        for at, (axes, panel) in enumerate(zip(grid.flat, figure.panels, strict=True)):
            path = work / f"{figure.number}-{'abcdef'[at]}-{panel.host}.pcapng"
            capture(panel, path)
            seen = connections.choose(connections.read(path), 1, path)
            handles += tsg.plot(axes, seen, tsg.View("server", panel.seconds))
            axes.set_title(f"({'abcdef'[at]}) {_describe(panel)}", loc="left", fontweight="normal")
            if at < count - 1:
                axes.set_xlabel("")
        title = figure.title or _describe(figure.panels[0])
        _head(sheet, figure.number, title)
        style.legend_below(sheet, handles)
        return style.save(sheet, out / _file(figure.number, title), formats)


def _head(sheet: Figure, number: str, title: str) -> None:
    """The title: above the axes where there is one, else above all panels."""
    text = f"Figure {number}: {title}" if number else title
    if len(sheet.axes) > 1:
        sheet.suptitle(text, x=0.01, ha="left")
    else:
        sheet.axes[0].set_title(text, loc="left", fontweight="bold")


def _points(figure: LossFigure, costs: Sequence[PositionCosts]) -> list[tuple[str, float, float]]:
    """The lines of a loss figure: bandwidth, delay in ms and percent."""
    return [
        (f"{cost.group['kbit_s']:,.12g} kbit/s", float(str(cost.group["delay_ms"])), 100 * value)
        for cost in costs
        if (value := getattr(cost, figure.quantity)) is not None and not _defect(cost)
    ]


def _published(figure: LossFigure) -> list[tuple[float, float]]:
    """The printed numbers of this quantity that belong to one bandwidth and delay, as (ms, percent)."""
    quantity, position = {
        "additional": ("additional time", "late vs FR"),
        "average": ("average additional time", "any"),
    }[figure.quantity]
    packets = "20" if figure.flow == "short" else "100"
    rows = load_published(PUBLISHED)
    return [
        (float(row.place["delay_ms"]), row.interval()[0])
        for row in rows
        if (row.place["flow"], row.place["position"]) == (packets, position)
        and row.quantity == quantity
        and row.place["kbit_s"].isdecimal()
        and row.place["delay_ms"].isdecimal()
        and row.interval()[0] == row.interval()[1]
    ]


def _draw_published(axes: Axes, points: Sequence[tuple[float, float]]) -> list[Line2D]:
    if not points:
        return []
    x, y = zip(*points, strict=True)
    (rings,) = axes.plot(x, y, linestyle="none", marker="o", markersize=9, color=style.LIGHT.ink)
    rings.set(markerfacecolor="none", markeredgewidth=1.2, label="as published", zorder=4, gid="published")
    return [rings]


def _costs(frame: pl.DataFrame) -> list[PositionCosts]:
    sized = frame.with_columns(
        (pl.col(f"{RATE}_bit_s") / 1e3).alias("kbit_s"), (pl.col(f"{DELAY}_ns") / 1e6).alias("delay_ms")
    )
    try:
        return position_costs(sized, POSITION, ["kbit_s", "delay_ms"])
    except UsageError:
        # Without the run that loses nothing, or with runs that failed, there is no cost to tell.
        return []


def _defect(cost: PositionCosts) -> bool:
    return cost.group["kbit_s"] == DEFECT_KBIT_S and float(str(cost.group["delay_ms"])) <= DEFECT_UP_TO_MS


def _kbit_s(frame: pl.DataFrame) -> list[int]:
    rates: list[int] = (frame[f"{RATE}_bit_s"].unique(maintain_order=True) // 1000).to_list()
    return rates


def _rates(kbit_s: Sequence[int]) -> str:
    texts = [f"{rate:,}" for rate in kbit_s]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _describe(panel: Panel) -> str:
    loss = f"loss on position {panel.position}" if panel.position else "no loss"
    return f"{panel.host.capitalize()} with {panel.kbit_s:,} kbit/s, {panel.delay_ms} ms delay, {loss}"


def _file(number: str, title: str) -> str:
    words = "".join(c.lower() if c.isalnum() else " " for c in title.replace(",", "")).split()
    if not number:
        return "-".join(words)
    chapter, figure = number.split(".")
    return f"figure-{chapter}-{int(figure):02}-{'-'.join(words)}"
