"""The figures of the study merritt-2010 (chapters 1, 5 and 6 of the thesis), numbered as there.

Those over buffers come from :func:`.scripts.runs_of`, those over time from intervals
of single runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit.analyse import Published, crossing
from rexmit.plot import style

LIGHT = style.LIGHT
BUFFER_TITLE = "Uplink buffer (packets)"
MIDDLE = (2_400_000, 196_000)
"""The link of chapter 5's figures of single runs, bit/s."""
SEGMENT = 1448
DOWN, UP = LIGHT.ink, LIGHT.retransmission
"""The thesis, too, draws the download black and the upload red."""


@dataclass(frozen=True)
class TimeFigure:
    """Single runs over time on the middle link, a panel for each uplink buffer."""

    number: str
    title: str
    buffers: tuple[int, ...]
    letters: bool = False


THROUGHPUT = (
    TimeFigure("1.1", "Throughput with uplink buffers of 50 and 15 packets", (50, 15), letters=True),
    TimeFigure("5.2 to 5.5", "Throughput against the uplink buffer", (5, 20, 25, 50)),
)
WINDOWS = TimeFigure("5.6 and 5.7", "Congestion windows of download and upload", (10, 50))
TRACKING = TimeFigure("5.8 to 5.11", "The download's window and the path's BDP", (50, 5, 20, 25))

SHARES = (
    ("down_share", "download: goodput / rate", "o", "-", LIGHT.ink),
    ("down_script", "download by the scripts: cwnd / RTT / rate", "s", "--", LIGHT.late),
    ("up_share", "upload: goodput / rate", "^", "-.", LIGHT.window),
    ("performance_script", "equation 1.2 by the scripts, as compared", "D", ":", LIGHT.sack),
)
BANDS = ("down_share", "up_share")
"""Of these the single runs are shown as well."""

States = Callable[[int], pl.DataFrame]
"""The table of state of a run."""


def draw_buffers(
    runs: pl.DataFrame, published: Sequence[Published], numbered: bool, out: Path, formats: Sequence[str]
) -> Iterator[list[Path]]:
    """Draws the figures over buffers; `runs` are those of `runs_of`, with `buffer` in packets."""

    def number(text: str) -> str:
        return f"Figure {text}: " if numbered else ""

    yield save(_performance(runs, published, number("5.1")), "5.1" if numbered else "", out, formats)
    yield save(_phase(runs), "", out, formats)
    deviation = _over_links(
        runs, "rtt_sd_log", f"{number('5.12')}RTT variability", "Standard deviation of the RTT (ms)"
    )
    yield save(deviation, "5.12" if numbered else "", out, formats)
    yield save(_estimates(runs, published, number("6.2")), "6.2" if numbered else "", out, formats)


def draw_times(
    runs: pl.DataFrame, intervals: pl.DataFrame, states: States, out: Path, formats: Sequence[str]
) -> Iterator[list[Path]]:
    """Draws the figures over time that the runs on the middle link suffice for."""
    middle = runs.filter((pl.col("down_rate") == MIDDLE[0]) & (pl.col("up_rate") == MIDDLE[1]))
    first = {
        buffer: run for run, buffer in middle.sort("run", descending=True).select("run", "buffer").rows()
    }
    for figure in (*THROUGHPUT, WINDOWS, TRACKING):
        if not set(figure.buffers) <= set(first):
            continue
        chosen = {buffer: intervals.filter(pl.col("run") == first[buffer]) for buffer in figure.buffers}
        with style.styled(LIGHT):
            sheet = _panels(figure)
            for at, (axes, buffer) in enumerate(zip(sheet.axes, figure.buffers, strict=True)):
                if figure is WINDOWS:
                    _windows(axes, states(first[buffer]))
                elif figure is TRACKING:
                    _tracking(axes, chosen[buffer])
                else:
                    _throughput(axes, chosen[buffer])
                letter = f"({'abcd'[at]}) " if figure.letters else _single(figure, at)
                axes.set_title(f"{letter}uplink buffer {buffer} packets", loc="left", fontweight="normal")
            for axes in sheet.axes[:-1]:
                axes.set_xlabel("")
            style.legend_below(sheet, handles(sheet))
        yield save(sheet, figure.number, out, formats)


def _performance(runs: pl.DataFrame, published: Sequence[Published], number: str) -> Figure:
    links = _links(runs)
    with style.styled(LIGHT):
        sheet = Figure(figsize=(4.0 * max(len(links), 2), 4.4), layout="constrained")
        grid = sheet.subplots(1, len(links), squeeze=False, sharey=True)
        for axes, (rates, part) in zip(grid.flat, links, strict=True):
            for column, label, marker, line, colour in SHARES:
                _mean_line(axes, part, column, label=label, marker=marker, line=line, colour=colour)
                if column in BANDS:
                    _band(axes, part, column, colour)
            _rings(axes, _points(published, rates, "performance"))
            estimate = crossing(_means(part, "bound_log"))
            if estimate is not None:
                axes.axvline(estimate, color=LIGHT.ink, linewidth=0.9, linestyle=(0, (1, 2)), zorder=1)
                axes.annotate(
                    f"(6.6): {estimate:.0f}", (estimate, 0.02), (3, 0), textcoords="offset points", fontsize=8
                )
            axes.set_title(_link_name(rates), loc="left", fontweight="normal")
            axes.set_xlabel(BUFFER_TITLE)
            axes.set_xlim(left=0)
            axes.set_ylim(0, 1.02)
        grid[0, 0].set_ylabel("Share of the link's rate")
        sheet.suptitle(f"{number}Performance against the uplink's buffer", x=0.01, ha="left")
        style.legend_below(sheet, handles(sheet))
        sheet.text(0.995, 0.955, "bands: least to greatest of single runs", ha="right", fontsize=7)
    return sheet


def _phase(runs: pl.DataFrame) -> Figure:
    with style.styled(LIGHT):
        sheet = Figure(figsize=(9, 4.2), layout="constrained")
        titles = (
            ("same_direction", "Same less opposite direction", "steps of 1 s in which the windows move"),
            ("correlation", "Correlation of the two windows", "each less its straight line"),
        )
        for axes, (column, title, note) in zip(sheet.subplots(1, 2, sharey=True), titles, strict=True):
            link_lines(axes, runs, column)
            axes.axhline(0, color=LIGHT.ink, linewidth=0.8)
            axes.set_title(f"{title}\n({note})", loc="left", fontweight="normal")
            axes.set_xlabel(BUFFER_TITLE)
            axes.set_xlim(left=0)
            axes.set_ylim(-1, 1)
        sheet.axes[0].set_ylabel("out of phase < 0 < in phase")
        sheet.suptitle("Phase of the two windows over all buffers", x=0.01, ha="left")
        style.legend_below(sheet, handles(sheet))
    return sheet


def _over_links(runs: pl.DataFrame, column: str, title: str, y_title: str) -> Figure:
    with style.styled(LIGHT):
        sheet = Figure(figsize=(7, 4.4), layout="constrained")
        axes = sheet.add_subplot()
        link_lines(axes, runs, column)
        axes.set_xlabel(BUFFER_TITLE)
        axes.set_ylabel(y_title)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_title(title, loc="left")
        style.legend_below(sheet, handles(sheet))
    return sheet


def _estimates(runs: pl.DataFrame, published: Sequence[Published], number: str) -> Figure:
    with style.styled(LIGHT):
        sheet = Figure(figsize=(7, 5), layout="constrained")
        axes = sheet.add_subplot()
        link_lines(axes, runs, "bound_log")
        most = float(runs["buffer"].max())  # type: ignore[arg-type]
        (line,) = axes.plot([0, most], [0, most], color=LIGHT.ink, linewidth=0.9, linestyle=(0, (1, 2)))
        line.set_label("estimate = buffer")
        rings = {
            x: rates for rates, _ in _links(runs) for x, _ in _points(published, rates, "estimated buffer")
        }
        _rings(axes, [(x, x) for x in rings])
        for x, rates in rings.items():
            axes.annotate(_ratio(rates), (x, x), (0, 9), textcoords="offset points", ha="center", fontsize=8)
        axes.axhline(0, color=LIGHT.ink, linewidth=0.8)
        axes.set_xlabel("Actual uplink buffer (packets)")
        axes.set_ylabel("Estimate by equation 6.6 (packets)")
        axes.set_xlim(left=0)
        axes.set_title(f"{number}Estimated against actual buffer", loc="left")
        style.legend_below(sheet, handles(sheet))
    return sheet


def _panels(figure: TimeFigure) -> Figure:
    count = len(figure.buffers)
    sheet = Figure(figsize=(9, 0.9 + 1.9 * count), layout="constrained")
    sheet.subplots(count, 1, sharex=True)
    plural = "s" if " " in figure.number else ""
    sheet.suptitle(
        f"Figure{plural} {figure.number}: {figure.title}, 2400 kbit/s down, 196 up", x=0.01, ha="left"
    )
    return sheet


def _throughput(axes: Axes, intervals: pl.DataFrame) -> None:
    for host, label, colour, line, width in (
        ("server", "download", DOWN, "-", 1.1),
        ("client", "upload", UP, "--", 1.1),
    ):
        part = intervals.filter((pl.col("host") == host) & (pl.col("goodput_bit_s") > 0))
        at, rate = part["from_ns"].to_numpy() / 1e9 + 0.5, part["goodput_bit_s"].to_numpy() / 1e3
        axes.plot(at, rate, color=colour, linestyle=line, linewidth=width, label=label)
    _start(axes, intervals)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("Goodput (kbit/s)")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)


def _windows(axes: Axes, state: pl.DataFrame, span: tuple[int, int] = (150, 200)) -> None:
    """Both windows for some seconds of the time with both, in segments."""
    inside = state.filter(pl.col("time_ns").is_between(span[0] * 10**9, span[1] * 10**9))
    for host, connection, label, colour, line in (
        ("server", 0, "download", DOWN, "-"),
        ("client", 1, "upload", UP, "--"),
    ):
        part = inside.filter((pl.col("host") == host) & (pl.col("connection") == connection))
        at, window = part["time_ns"].to_numpy() / 1e9, part["cwnd"].to_numpy() / SEGMENT
        axes.step(at, window, where="post", color=colour, linestyle=line, linewidth=1.1, label=label)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("cwnd (segments)")
    axes.set_ylim(bottom=0)
    axes.set_xlim(*span)


def _tracking(axes: Axes, intervals: pl.DataFrame) -> None:
    part = intervals.filter((pl.col("host") == "server") & pl.col("srtt_mean_ns").is_not_null())
    at = part["from_ns"].to_numpy() / 1e9 + 0.5
    product = part["srtt_mean_ns"].to_numpy() / 1e9 * MIDDLE[0] / 8 / 1000
    axes.plot(at, product, color=LIGHT.late, linestyle="--", linewidth=1.1, label="BDP: RTT x rate")
    window = part["cwnd_mean"].to_numpy() / 1000
    axes.plot(at, window, color=DOWN, linewidth=1.1, label="congestion window of the download")
    _start(axes, intervals)
    axes.set_xlabel("Time (s)")
    axes.set_ylabel("kB")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)


def _start(axes: Axes, intervals: pl.DataFrame) -> None:
    """A line where the upload starts: before its first interval with data."""
    uploads = intervals.filter((pl.col("host") == "client") & (pl.col("written") > 0))
    start = float(uploads["from_ns"].min()) / 1e9  # type: ignore[arg-type]
    line = axes.axvline(start, color=LIGHT.ink, linewidth=0.9, linestyle=(0, (1, 2)))
    line.set_label("the upload starts")


def _single(figure: TimeFigure, at: int) -> str:
    """The number of one of the thesis's figures that share a sheet."""
    chapter, _, first = figure.number.split(" ")[0].partition(".")
    return f"{chapter}.{int(first) + at}: "


# Parts


def _links(runs: pl.DataFrame) -> list[tuple[tuple[int, int], pl.DataFrame]]:
    parts = runs.partition_by(["down_rate", "up_rate"], as_dict=True, maintain_order=True)
    return [((int(down), int(up)), part) for (down, up), part in parts.items()]


def _link_name(rates: tuple[int, int]) -> str:
    return f"{rates[0] / 1e3:,.12g} kbit/s down, {rates[1] / 1e3:,.12g} up"


def _ratio(rates: tuple[int, int]) -> str:
    """Down to up, as the thesis names its links, such as `12:1`."""
    return f"{rates[0] / rates[1]:.0f}:1"


def _means(part: pl.DataFrame, column: str) -> list[tuple[float, float]]:
    return part.group_by("buffer").agg(pl.col(column).mean()).sort("buffer").rows()


def _mean_line(
    axes: Axes, part: pl.DataFrame, column: str, *, label: str, marker: str, line: str, colour: Any
) -> None:
    """The mean over runs against the buffer."""
    at, mean = zip(*_means(part, column), strict=True)
    (drawn,) = axes.plot(at, mean, color=colour, linestyle=line, marker=marker, markersize=4, label=label)
    drawn.set_gid(f"line-{column}-{label}")


def _band(axes: Axes, part: pl.DataFrame, column: str, colour: Any) -> None:
    """From the least to the greatest of single runs."""
    value = pl.col(column)
    ends = part.group_by("buffer").agg(value.min().alias("low"), value.max().alias("high")).sort("buffer")
    at, low, high = (ends[name].to_numpy().astype(float) for name in ("buffer", "low", "high"))
    if np.any(high > low):
        axes.fill_between(at, low, high, color=colour, alpha=0.18, linewidth=0, zorder=1)


def link_lines(axes: Axes, runs: pl.DataFrame, column: str) -> None:
    """A measure against the buffer, a line for each link, with the range of single runs."""
    links = _links(runs)
    lines = ("-", "--", "-.", ":")
    for at, ((rates, part), colour) in enumerate(zip(links, style.family(LIGHT, len(links)), strict=True)):
        look = {"marker": style.MARKERS[at % len(style.MARKERS)], "line": lines[at % len(lines)]}
        _mean_line(axes, part, column, label=_link_name(rates), colour=colour, **look)
        _band(axes, part, column, colour)


def _points(
    published: Sequence[Published], rates: tuple[int, int], quantity: str
) -> list[tuple[float, float]]:
    """Printed values of a quantity on a link: at their buffer, or as they are where they are one."""
    found = []
    for row in published:
        if (row.place["down_kbit_s"], row.place["up_kbit_s"]) != tuple(str(rate // 1000) for rate in rates):
            continue
        buffer = row.place["buffer"]
        if row.value and row.quantity.startswith(quantity) and (not buffer or buffer.isdigit()):
            value = row.interval()[0]
            found.append((float(buffer or value), value))
    return found


def _rings(axes: Axes, points: Sequence[tuple[float, float]]) -> None:
    if points:
        x, y = zip(*points, strict=True)
        (rings,) = axes.plot(x, y, linestyle="none", marker="o", markersize=10, color=LIGHT.ink)
        rings.set(
            markerfacecolor="none", markeredgewidth=1.4, label="as published", zorder=4, gid="published"
        )


def handles(sheet: Figure) -> list[Line2D]:
    """The lines of all axes that a legend names."""
    found = [line for axes in sheet.axes for line in axes.get_lines()]
    return [line for line in found if not str(line.get_label()).startswith("_")]


def save(sheet: Figure, number: str, out: Path, formats: Sequence[str]) -> list[Path]:
    """Stores a figure under its number in the thesis, if it has one, and its title."""
    return style.save(sheet, out / _file(sheet, number), formats)


def _file(sheet: Figure, number: str) -> str:
    head = sheet.get_suptitle() or sheet.axes[0].get_title(loc="left")
    title = head.partition(": ")[2] if number else head
    words = "".join(c.lower() if c.isalnum() else " " for c in title.partition(",")[0]).split()
    if not number:
        return "-".join(words)
    sorted_well = re.sub(r"(\d+)\.(\d+)", lambda found: f"{found[1]}-{int(found[2]):02}", number)
    return f"figure-{sorted_well.replace(' ', '-')}-{'-'.join(words)}"
