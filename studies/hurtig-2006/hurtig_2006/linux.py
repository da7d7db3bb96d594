"""The figures of hurtig-2006 on Linux: which losses wait, then and now, and what a late one costs.

Every figure sets the stacks of a study that varies `hosts.server.linux` beside a reference, FreeBSD 6.0 of
the model on the same paths. A stack's label is its congestion control and, after a comma, what is off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import StrMethodFormatter
from rexmit.analyse import PositionCosts, position_costs
from rexmit.analyse.reached import is_unreached
from rexmit.plot import figures, style
from rexmit.plot.figures import Factor

from .repairs import (
    HANDSHAKE,
    NOTHING,
    PROBE,
    RECOVERY,
    TIMER,
    UNREACHED,
    additional_at,
    repairs,
)

RATE, DELAY, POSITION, STACK = "path.rate", "path.delay", "path.down.drop", "hosts.server.linux"
PATH = [f"{RATE}_bit_s", f"{DELAY}_ns"]
REFERENCE = "FreeBSD 6.0"
DEFAULTS = "defaults"
GREY = "#9a9a9a"

REPAIR_LOOKS = {
    RECOVERY: ("#0072b2", "fast, or by SACK and RACK"),
    PROBE: ("#e69f00", "tail loss probe"),
    TIMER: ("#d5231e", "retransmission timer"),
    HANDSHAKE: ("#8e3fa8", "SYN-ACK's timer"),
    NOTHING: ("#dcdcdc", "nothing to repair"),
    UNREACHED: ("#ffffff", "white: no packet had that position"),
}
"""Colours after Okabe and Ito, told apart with every common colour blindness, and words."""

CONTROL_LOOKS = {"cubic": (0.0, ()), "reno": (0.0, (4.0, 2.0)), "bbr": (0.0, (1.0, 1.5))}
"""Dashes: where the line begins, and lengths on and off; none for a whole line."""
VARIANT_LOOKS = (("#0072b2", 1.1), ("#e69f00", 2.6), ("#d5231e", 2.6), ("#1a1a1a", 1.1))
"""Colour and width of lines: pairs that may lie upon one another differ in width."""

DELAYS_UP_TO = 4
"""Delays drawn in a panel of transmission times; more hide one another."""


LEAST_COST_MS = 10.0
"""What costs less has the lightest colour."""


@dataclass(frozen=True)
class Sides:
    """A study on Linux and its reference: tables of runs, and the repair of each loss."""

    frame: pl.DataFrame
    reference: pl.DataFrame
    repaired: pl.DataFrame
    repaired_reference: pl.DataFrame
    stacks: tuple[str, ...]

    @classmethod
    def of(cls, frame: pl.DataFrame, reference: pl.DataFrame) -> Sides:
        """Both sides of a table with a column `hosts.server.linux` and one without."""
        return cls(
            frame,
            reference,
            repairs(frame, POSITION, [*PATH, STACK]),
            repairs(reference, POSITION, PATH),
            tuple(frame[STACK].unique(maintain_order=True)),
        )

    @property
    def controls(self) -> tuple[str, ...]:
        """The congestion controls, in order."""
        return tuple(dict.fromkeys(control_of(stack) for stack in self.stacks))

    @property
    def variants(self) -> tuple[str, ...]:
        """What is switched off, in order."""
        return tuple(dict.fromkeys(variant_of(stack) for stack in self.stacks))


def control_of(stack: str) -> str:
    """The congestion control of a stack's label."""
    return stack.partition(", ")[0]


def variant_of(stack: str) -> str:
    """What a stack's label says is switched off."""
    return stack.partition(", ")[2] or DEFAULTS


def draw(frame: pl.DataFrame, reference: pl.DataFrame, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Draws every figure of a study on Linux into the folder `out` and returns the files."""
    sides = Sides.of(frame, reference)
    with style.styled(style.LIGHT):
        files = style.save(strip(sides), out / "inhibitions-then-and-now", formats)
        files += style.save(cost_lines(sides), out / "late-loss-against-delay", formats)
        files += style.save(cost_maps(sides), out / "what-a-tail-loss-costs", formats)
        for kbit_s in sorted(frame[PATH[0]].unique() // 1000):
            sheet = position_panels(sides, kbit_s)
            files += style.save(sheet, out / f"positions-{kbit_s}-kbit-s", formats)
    return files


def shares(repaired: pl.DataFrame) -> dict[int, dict[str, float]]:
    """For each position, the share of paths by how the loss was repaired."""
    counts = repaired.group_by("position", "repair").len()
    whole = dict(counts.group_by("position").agg(pl.col("len").sum()).iter_rows())
    answer: dict[int, dict[str, float]] = {}
    for position, repair, count in counts.sort("position").iter_rows():
        answer.setdefault(position, {})[repair] = count / whole[position]
    return answer


def strip(sides: Sides) -> Figure:
    """Position by stack: each cell split by the share of paths on which a loss there was repaired so."""
    rows = [(REFERENCE, shares(sides.repaired_reference))]
    for stack in sides.stacks:
        rows.append((stack, shares(sides.repaired.filter(pl.col(STACK) == stack))))
    last = max(rows[0][1])
    sheet = Figure(figsize=(10.5, 0.36 * len(rows) + 1.9), layout="constrained")
    axes = sheet.add_subplot()
    places = _places(sides)
    for place, (_, cells) in zip(places, rows, strict=True):
        for position in range(1, last + 1):
            _cell(axes, position, place, cells.get(position, {}))
    axes.set_yticks(places, [name for name, _ in rows])
    axes.get_yticklabels()[0].set_fontweight("bold")
    axes.set_xlim(0.4, last + 0.6)
    axes.set_ylim(max(places) + 0.6, -0.6)
    axes.set_xticks([n for n in range(1, last + 1) if last <= 30 or n == 1 or n % 10 == 0])
    axes.set_xlabel("Position of the lost packet (1: the SYN-ACK; the last but one ends the data)")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title(
        "How a loss at each position is repaired, then and now (parts of a cell: runs)", loc="left"
    )
    met = not any(UNREACHED in parts for _, cells in rows for parts in cells.values())
    looks = [
        Patch(color=colour, label=text)
        for repair, (colour, text) in REPAIR_LOOKS.items()
        if repair != UNREACHED or not met
    ]
    sheet.legend(handles=looks, loc="outside lower center", ncols=len(looks), frameon=False)
    return sheet


def _places(sides: Sides) -> list[float]:
    """Rows from the top: the reference, and the stacks with a gap before each congestion control."""
    places, at, before = [0.0], 0.0, ""
    for stack in sides.stacks:
        at += 1.0 if control_of(stack) == before else 1.45
        before = control_of(stack)
        places.append(at)
    return places


def _cell(axes: Axes, position: int, row: float, parts: dict[str, float]) -> None:
    left, width, height = position - 0.45, 0.9, 0.82
    for repair, (colour, _) in REPAIR_LOOKS.items():
        share = parts.get(repair, 0.0) * width
        axes.add_patch(Rectangle((left, row - height / 2), share, height, color=colour, linewidth=0))
        left += share


def cost_lines(sides: Sides) -> Figure:
    """Cost of a late loss against delay where FreeBSD 6.0 waits: a panel per bandwidth, a line per stack."""
    costs = reference_costs(sides.reference)
    times = _times(sides.repaired)
    rates = sorted({cost.group[PATH[0]] for cost in costs}, key=lambda rate: int(str(rate)))
    columns = min(len(rates), 5)
    count = -(-len(rates) // columns)
    sheet = Figure(figsize=(2.35 * columns + 0.9, 2.35 * count + 1.1), layout="constrained")
    grid = sheet.subplots(count, columns, squeeze=False, sharey=True, sharex=True)
    for axes, rate in zip(grid.flat, rates, strict=False):
        here = [cost for cost in costs if cost.group[PATH[0]] == rate and cost.additional is not None]
        at = [int(str(cost.group[PATH[1]])) / 1e6 for cost in here]
        known = [100 * cost.additional for cost in here if cost.additional is not None]
        axes.plot(at, known, color=GREY, linewidth=4, solid_capstyle="round", zorder=1)
        for stack in sides.stacks:
            percent = [_percent(cost, times.get(_key(cost, stack))) for cost in here]
            axes.plot(at, percent, **_line(sides, variant_of(stack), control_of(stack)))
        axes.set_title(f"{int(str(rate)) // 1000:,} kbit/s", loc="left")
        axes.axhline(0, color=style.LIGHT.ink, linewidth=0.6)
    for axes in grid.flat[len(rates) :]:
        axes.set_visible(False)
    for axes in grid[-1]:
        axes.set_xlabel("One-way delay (ms)")
    for axes in grid[:, 0]:
        axes.set_ylabel("Additional time (%)")
    sheet.suptitle(
        "What a loss costs at the positions where FreeBSD 6.0 waits for its timer", x=0.01, ha="left"
    )
    _legend(sheet, sides)
    return sheet


def _legend(sheet: Figure, sides: Sides) -> None:
    handles = [Line2D([], [], color=GREY, linewidth=4, label=REFERENCE)]
    for variant in sides.variants:
        look = _line(sides, variant, sides.controls[0])
        handles.append(
            Line2D([], [], color=look["color"], linewidth=look["linewidth"], label=f"Linux 6.1, {variant}")
        )
    for control in sides.controls:
        handles.append(Line2D([], [], color=style.LIGHT.ink, linestyle=_dashes(control), label=control))
    style.legend_below(sheet, handles)


def _dashes(control: str) -> tuple[float, tuple[float, ...]]:
    return CONTROL_LOOKS.get(control, (0.0, ()))


def _line(sides: Sides, variant: str, control: str) -> dict[str, Any]:
    at = sides.variants.index(variant) % len(VARIANT_LOOKS)
    colour, width = VARIANT_LOOKS[at]
    return {"color": colour, "linestyle": _dashes(control), "linewidth": width, "zorder": 4 - width}


def cost_maps(sides: Sides) -> Figure:
    """What losing one of the last two data packets costs on every path, for the stacks of one control."""
    control = sides.controls[0]
    stacks = [stack for stack in sides.stacks if control_of(stack) == control]
    parts = [(REFERENCE, sides.repaired_reference)]
    for stack in stacks:
        name = f"Linux 6.1 {control},\n{variant_of(stack)}"
        parts.append((name, sides.repaired.filter(pl.col(STACK) == stack)))
    last = int(sides.frame[POSITION].max()) - 1  # type: ignore[arg-type]
    rates, delays = Factor.of(sides.frame, RATE), Factor.of(sides.frame, DELAY)
    size = (2.2 * len(parts) + 1.6, 2 * (0.21 * len(rates.levels) + 0.8) + 0.6)
    sheet = Figure(figsize=size, layout="constrained")
    grid = sheet.subplots(2, len(parts), squeeze=False, sharex=True, sharey=True)
    most = max(_grid(part, at, rates, delays)[1] for _, part in parts for at in (last - 1, last))
    image = None
    for row, at in zip(grid, (last - 1, last), strict=True):
        for axes, (name, part) in zip(row, parts, strict=True):
            cells, _ = _grid(part, at, rates, delays)
            norm = LogNorm(LEAST_COST_MS, most)
            image = axes.imshow(cells, origin="lower", aspect="auto", cmap="magma_r", norm=norm)
            axes.set_xticks(range(len(delays.levels)), [f"{n:g}" for n in delays.numbers], rotation=90)
            axes.set_yticks(range(len(rates.levels)), [f"{n:,.0f}" for n in rates.numbers])
            axes.grid(visible=False)
            axes.set_facecolor("#f4f4f4")
            if at == last - 1:
                axes.set_title(name, loc="left", fontsize=9)
            else:
                axes.set_xlabel("One-way delay (ms)")
        row[0].set_ylabel(f"Loss at {at}\nBandwidth (kbit/s)")
    assert image is not None
    bar = sheet.colorbar(image, ax=grid, shrink=0.8, pad=0.01)
    bar.set_label("Time beyond that without loss (ms)")
    bar.ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    sheet.suptitle("What losing one of the last two packets with data costs", x=0.01, ha="left")
    return sheet


def position_panels(sides: Sides, kbit_s: int) -> Figure:
    """Transmission time against position at one bandwidth: one panel per stack, FreeBSD 6.0 in grey."""
    positions, delays = Factor.of(sides.frame, POSITION), Factor.of(sides.frame, DELAY)
    step = -(-len(delays.levels) // DELAYS_UP_TO)
    levels = delays.levels[::step]
    rows, columns = len(sides.variants), len(sides.controls)
    sheet = Figure(figsize=(3.2 * columns + 1.2, 2.0 * rows + 0.9), layout="constrained")
    grid = sheet.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    chosen = pl.col(PATH[0]) == kbit_s * 1000
    handles: list[Line2D] = []
    for line, variant in zip(grid, sides.variants, strict=True):
        for axes, control in zip(line, sides.controls, strict=True):
            for level in levels:
                behind = sides.reference.filter(chosen, pl.col(DELAY) == level)
                axes.plot(*_means(behind), color=GREY, linewidth=2.6, alpha=0.55, zorder=1)
            stack = control if variant == DEFAULTS else f"{control}, {variant}"
            mine = sides.frame.filter(chosen, pl.col(STACK) == stack, pl.col(DELAY).is_in(levels))
            handles = figures.time_lines(axes, mine, positions, delays) if mine.height else handles
            figures.position_axes(axes, positions)
            axes.set_title(f"{control}, {variant}", loc="left", fontsize=9)
            axes.set_ylim(bottom=0)
    for axes in grid[:-1].flat:
        axes.set_xlabel("")
    for axes in grid[:, 1:].flat:
        axes.set_ylabel("")
    for axes in grid[-1]:
        axes.set_xlabel("Position of the lost packet")
    sheet.suptitle(f"Linux 6.1 at {kbit_s:,} kbit/s, {REFERENCE} in grey", x=0.01, ha="left")
    figures.legend_beside(sheet, handles, "One-way delay")
    return sheet


def reference_costs(reference: pl.DataFrame) -> list[PositionCosts]:
    """What late losses cost on FreeBSD 6.0, without the paths whose timer expires without loss."""
    calm = reference.filter((pl.col(POSITION) == 0) & (pl.col("timeouts_server") == 0)).select(PATH).unique()
    return position_costs(reference.join(calm, on=PATH, how="semi", maintain_order="left"), POSITION, PATH)


def _times(repaired: pl.DataFrame) -> dict[tuple[object, ...], dict[int, float]]:
    """Mean times in ms by position, for each path and stack whose timer is silent without loss."""
    answer: dict[tuple[object, ...], dict[int, float]] = {}
    met = repaired.filter(pl.col("repair") != UNREACHED)
    means = met.group_by(*PATH, STACK, "position").agg(pl.col("time_ms").mean())
    for rate, delay, stack, position, time in means.iter_rows():
        answer.setdefault((rate, delay, stack), {})[position] = time
    return answer


def _percent(cost: PositionCosts, times: dict[int, float] | None) -> float:
    value = additional_at(cost, times) if times else None
    return math.nan if value is None else 100 * value


def _key(cost: PositionCosts, stack: str) -> tuple[object, ...]:
    return (*(cost.group[name] for name in PATH), stack)


def _means(frame: pl.DataFrame) -> tuple[list[int], list[float]]:
    met = frame.filter(~is_unreached(frame))
    means = met.group_by(POSITION).agg(pl.col("time_ns").mean() / 1e6).sort(POSITION)
    return means[POSITION].to_list(), means["time_ns"].to_list()


def _grid(
    repaired: pl.DataFrame, position: int, rates: Factor, delays: Factor
) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.float64]], float]:
    """The extra time at a position, bandwidths by delays, and the greatest of them."""
    cells = np.full((len(rates.levels), len(delays.levels)), np.nan)
    met = repaired.filter(pl.col("position") == position, pl.col("repair") != UNREACHED)
    means = met.group_by(PATH).agg(pl.col("extra_ms").mean())
    for rate, delay, extra in means.iter_rows():
        cells[rates.numbers.index(rate / 1e3), delays.numbers.index(delay / 1e6)] = max(extra, LEAST_COST_MS)
    return cells, float(np.nanmax(cells)) if means.height else 10 * LEAST_COST_MS
