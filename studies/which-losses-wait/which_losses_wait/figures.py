"""The figures of which-losses-wait: positions by stack, what a tail loss costs, thin streams, reordering."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from rexmit import Results
from rexmit.plot import style

from .repairs import FAST, NOTHING, PROBE, STACK, TIMER, repairs, shares, stacks
from .streams import delays, spurious

LOOKS = {
    FAST: ("#0072b2", "fast retransmit, SACK, RACK"),
    PROBE: ("#e69f00", "probe (TLP, PTO)"),
    TIMER: ("#d55e00", "retransmission timer"),
    NOTHING: ("#c8c8c8", "nothing sent again"),
}
GAPS = ("lksctp", "quinn")
"""Stacks with which another protocol begins."""


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    with style.styled(style.LIGHT):
        part = results.name.rpartition("/")[2]
        if part == "thin":
            return style.save(late(delays(results)), out / "late", formats)
        if part == "reordering":
            return style.save(needless(spurious(results)), out / "needless", formats)
        found = repairs(results.table())
        files = style.save(strip(found), out / "positions", formats)
        return files if part == "long" else files + style.save(tails(found), out / "tails", formats)


def strip(repaired: pl.DataFrame) -> Figure:
    """Lost packet by stack: each cell split by the share of paths on which the loss was repaired so."""
    rows, by = stacks(repaired), shares(repaired)
    last = max(max(cells) for cells in by.values())
    sheet = Figure(figsize=(10.5, 0.36 * len(rows) + 1.9), layout="constrained")
    axes = sheet.add_subplot()
    places = _places(rows)
    for place, row in zip(places, rows, strict=True):
        for lost, parts in by[row].items():
            _cell(axes, lost, place, parts)
    axes.set_yticks(places, rows)
    axes.set_xlim(0.4, last + 0.6)
    axes.set_ylim(max(places) + 0.6, -0.6)
    axes.set_xticks([n for n in range(1, last + 1) if last <= 30 or n == 1 or n % 10 == 0])
    axes.set_xlabel("Lost packet of data")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)
    axes.set_title("How the loss of one packet is repaired (parts of a cell: paths)", loc="left")
    looks = [Patch(color=colour, label=text) for colour, text in LOOKS.values()]
    sheet.legend(handles=looks, loc="outside lower center", ncols=len(looks), frameon=False)
    return sheet


def _places(rows: Sequence[str]) -> list[float]:
    """Rows from the top, with a gap before each protocol."""
    places, at = [], -1.0
    for row in rows:
        at += 1.45 if row in GAPS else 1.0
        places.append(at)
    return places


def _cell(axes: Axes, lost: int, row: float, parts: dict[str, float]) -> None:
    left, width, height = lost - 0.45, 0.9, 0.82
    for kind, (colour, _) in LOOKS.items():
        share = parts.get(kind, 0.0) * width
        axes.add_patch(Rectangle((left, row - height / 2), share, height, color=colour, linewidth=0))
        left += share


def tails(repaired: pl.DataFrame) -> Figure:
    """What the loss of one of the last three packets costs, in round trips, over the paths."""
    rows = stacks(repaired)
    sheet = Figure(figsize=(10.5, 0.3 * len(rows) + 1.6), layout="constrained")
    grid = sheet.subplots(1, 3, sharey=True, sharex=True)
    places = _places(rows)
    for back, axes in zip((2, 1, 0), grid, strict=True):
        for place, row in zip(places, rows, strict=True):
            part = repaired.filter((pl.col(STACK) == row) & (pl.col("lost") == pl.col("last") - back))
            if part.is_empty():
                continue
            low, middle, high = (part["extra_rtts"].quantile(q) for q in (0.1, 0.5, 0.9))
            kind = part["kind"].mode().sort()[0]
            colour = LOOKS.get(str(kind), LOOKS[NOTHING])[0]
            axes.plot(
                [low, high], [place, place], color=colour, linewidth=5, alpha=0.35, solid_capstyle="butt"
            )
            axes.plot([middle], [place], "o", color=colour)
        words = ("the last packet", "the last but one", "the last but two")[back]
        axes.set_title(f"Lost: {words}", loc="left")
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlabel("Round trips more than without loss")
        axes.set_xticks([0, 1, 3, 10, 30, 100], ["0", "1", "3", "10", "30", "100"])
    grid[0].set_yticks(places, rows)
    grid[0].set_ylim(max(places) + 0.6, -0.6)
    sheet.suptitle(
        "What a late loss costs (point: median of paths; line: first to ninth decile)", x=0.01, ha="left"
    )
    return sheet


def late(found: pl.DataFrame) -> Figure:
    """How late messages of a thin stream are, by stack and round trip."""
    return _heat(
        found,
        "rtt_ms",
        "p99_ms",
        "{:,.0f}",
        "Round trip (ms)",
        "How late the 99th percentile of a thin stream's messages is (ms)",
    )


def needless(found: pl.DataFrame) -> Figure:
    """What is sent again though nothing is lost, by stack and kind of reordering."""
    words = "Data sent again of 1,000 packets, where nothing is lost but packets overtake"
    return _heat(found, "path", "again", "{:,.0f}", "Reordering", words)


def _heat(found: pl.DataFrame, column: str, value: str, text: str, label: str, title: str) -> Figure:
    rows, columns = stacks(found), found[column].unique(maintain_order=True).to_list()
    at = {(row, one): shown for row, one, shown in found.select(STACK, column, value).iter_rows()}
    cells = np.array([[at[row, one] for one in columns] for row in rows], dtype=float)
    sheet = Figure(figsize=(1.35 * len(columns) + 2.2, 0.33 * len(rows) + 1.5), layout="constrained")
    axes = sheet.add_subplot()
    shade = np.log10(np.maximum(cells, 0) + 1)
    axes.imshow(shade, cmap="YlOrRd", aspect="auto", vmin=0, vmax=max(float(shade.max()) * 1.3, 1))
    for (y, x), cell in np.ndenumerate(cells):
        axes.text(x, y, text.format(cell), ha="center", va="center", fontsize=8)
    axes.set_xticks(range(len(columns)), [f"{one:g}" if isinstance(one, float) else one for one in columns])
    axes.set_yticks(range(len(rows)), rows)
    axes.set_xlabel(label)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    sheet.suptitle(title, x=0.01, ha="left")
    return sheet
