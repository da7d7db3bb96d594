"""The figures of who-shares: heat maps of pairs by discipline, and the share of BBR by buffer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rexmit import Results
from rexmit.plot import style

from . import groups
from .evidence import BBR, SHALLOW
from .pairs import AQM, shared

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
NAMES = {"none": "FIFO", "codel": "CoDel", "fq-codel": "FQ-CoDel", "pie": "PIE"}


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    with style.styled(style.LIGHT):
        if results.name == BBR:
            return style.save(beside(groups.shares(results)), out / "beside", formats)
        if results.name == SHALLOW:
            return style.save(shallow(groups.shares(results)), out / "shallow", formats)
        found = shared(results)
        jain = heat_map(found, pl.col("jain"), "Jain's index: 1 is equal, 0.5 is all to one", (0.5, 1))
        ratio = pl.col("ratio").log(2)
        words = "Throughput of the near flow over that of the far one, as a power of 2"
        files = style.save(jain, out / "jain", formats)
        return files + style.save(heat_map(found, ratio, words, (-5, 5)), out / "ratio", formats)


def beside(found: pl.DataFrame) -> Figure:
    """The share of BBR against the buffer, by numbers of flows; on the left the model of Ware and others."""
    sheet = Figure(figsize=(10.5, 4.6), layout="constrained")
    left, right = sheet.subplots(1, 2, sharey=True)
    for number, colour in zip((1, 2, 4), COLOURS, strict=False):
        for other, line in (("CUBIC", "-"), ("Reno", ":")):
            _line(left, found, f"{number} BBR, 1 {other}", color=colour, linestyle=line)
        sizes = [2 ** (at / 8) for at in range(41)]
        of = [groups.modelled(number, size) for size in sizes]
        left.plot(sizes, of, color=colour, linewidth=5, alpha=0.25, label=f"model, {number} BBR")
    for number, colour in zip((1, 2, 4, 8, 16), COLOURS, strict=False):
        _line(right, found, f"1 BBR, {number} CUBIC", color=colour)
    left.set_title("1 to 4 BBR flows beside one other", loc="left")
    right.set_title("1 BBR flow beside 1 to 16 CUBIC", loc="left")
    left.set_ylabel("Share of the BBR flows together")
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xlabel("Buffer (BDP)")
        axes.set_ylim(0, 1)
        axes.xaxis.set_major_formatter("{x:g}")
        axes.legend(fontsize=7, ncols=2 if axes is left else 1)
    sheet.suptitle("BBR of Linux 6.1 beside loss-based flows, 10 Mbit/s, 40 ms", x=0.01, ha="left")
    return sheet


def shallow(found: pl.DataFrame) -> Figure:
    """What four flows lose, and what two of BBR have beside two of CUBIC, against the buffer."""
    sheet = Figure(figsize=(10.5, 4.2), layout="constrained")
    left, right = sheet.subplots(1, 2, sharex=True)
    for other, words, colour in zip(("bbr", "cubic"), ("4 BBR", "2 BBR, 2 CUBIC"), COLOURS, strict=False):
        part = found.filter(pl.col("transfers.1.congestion") == other)
        sizes = [float(one) for one in part["buffer"]]
        left.plot(sizes, [100 * one for one in part["dropped"]], "o-", color=colour, label=words)
        if other == "cubic":
            right.plot(sizes, part["share"].to_list(), "o-", color=colour, label=words)
    left.set_ylabel("Packets dropped (%)")
    right.set_ylabel("Share of the two BBR flows")
    right.set_ylim(0, 1)
    for axes in (left, right):
        axes.set_xlabel("Buffer (BDP)")
        axes.legend()
    sheet.suptitle("BBR of Linux 6.1 in shallow and medium buffers, 80 Mbit/s, 25 ms", x=0.01, ha="left")
    return sheet


def _line(axes: Axes, found: pl.DataFrame, flows: str, **look: Any) -> None:
    part = found.filter(pl.col("flows") == flows)
    axes.plot(
        [float(one) for one in part["buffer"]],
        part["share"].to_list(),
        "o",
        label=flows,
        **({"linestyle": "-"} | look),
    )


def heat_map(found: pl.DataFrame, value: pl.Expr, title: str, ends: tuple[float, float]) -> Figure:
    """One row per pair, a column a discipline; in each the ratio of round-trip times over the buffer."""
    rows, columns = (found[name].unique(maintain_order=True).to_list() for name in ("pair", AQM))
    across, up = (found[name].unique(maintain_order=True).to_list() for name in ("buffer", "rtt"))
    sheet = Figure(figsize=(2.7 * len(columns), 1.55 * len(rows) + 1.1), layout="constrained")
    grid = sheet.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey=True)
    colours = "viridis" if ends[0] > 0 else "RdBu"
    image = None
    for (row, column), axes in np.ndenumerate(grid):
        part = found.filter((pl.col("pair") == rows[row]) & (pl.col(AQM) == columns[column]))
        values = part.group_by("rtt", "buffer", maintain_order=True).agg(value.mean().alias("value"))
        at = {(rtt, buffer): one for rtt, buffer, one in values.rows()}
        cells = np.array([[at.get((rtt, buffer), np.nan) for buffer in across] for rtt in up])
        image = axes.imshow(cells, cmap=colours, vmin=ends[0], vmax=ends[1], origin="lower", aspect="auto")
        for (y, x), cell in np.ndenumerate(cells):
            dark = cell < (0.75 if ends[0] > 0 else -np.inf) or (ends[0] < 0 and abs(cell) > 3.2)
            look = {"ha": "center", "va": "center", "fontsize": 7, "color": "white" if dark else "black"}
            axes.text(x, y, f"{cell:.2f}" if ends[0] > 0 else f"{round(float(cell), 1) + 0.0:.1f}", **look)
        axes.set_xticks(range(len(across)), across)
        axes.set_yticks(range(len(up)), up)
        axes.grid(visible=False)
        if row == 0:
            axes.set_title(NAMES.get(columns[column], columns[column]), loc="left", fontweight="normal")
        if column == 0:
            axes.set_ylabel(f"{rows[row]}\nRTT ratio")
    for axes in grid[-1]:
        axes.set_xlabel("Buffer (BDP of the near)")
    sheet.suptitle(title, x=0.01, ha="left")
    sheet.colorbar(image, ax=grid, shrink=0.6)  # type: ignore[arg-type]
    return sheet
