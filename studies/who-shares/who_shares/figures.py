"""The figures of who-shares: heat maps of Jain's index and of the ratio, by discipline and pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from rexmit import Results
from rexmit.plot import style

from .pairs import AQM, shared

NAMES = {"none": "FIFO", "codel": "CoDel", "fq-codel": "FQ-CoDel", "pie": "PIE"}


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    found = shared([results])
    with style.styled(style.LIGHT):
        jain = heat_map(found, pl.col("jain"), "Jain's index: 1 is equal, 0.5 is all to one", (0.5, 1))
        ratio = pl.col("ratio").log(2)
        words = "Throughput of the near flow over that of the far one, as a power of 2"
        files = style.save(jain, out / "jain", formats)
        return files + style.save(heat_map(found, ratio, words, (-5, 5)), out / "ratio", formats)


def heat_map(found: pl.DataFrame, value: pl.Expr, title: str, ends: tuple[float, float]) -> Figure:
    """A row a discipline, a column a pair; in each the ratio of round-trip times over the buffer."""
    rows, columns = (found[name].unique(maintain_order=True).to_list() for name in (AQM, "pair"))
    across, up = (found[name].unique(maintain_order=True).to_list() for name in ("buffer", "rtt"))
    sheet = Figure(figsize=(2.7 * len(columns), 1.9 * len(rows) + 0.9), layout="constrained")
    grid = sheet.subplots(len(rows), len(columns), squeeze=False, sharex=True, sharey=True)
    colours = "viridis" if ends[0] > 0 else "RdBu"
    image = None
    for (row, column), axes in np.ndenumerate(grid):
        part = found.filter((pl.col(AQM) == rows[row]) & (pl.col("pair") == columns[column]))
        values = part.group_by("rtt", "buffer", maintain_order=True).agg(value.mean().alias("value"))
        at = {(rtt, buffer): one for rtt, buffer, one in values.rows()}
        cells = np.array([[at.get((rtt, buffer), np.nan) for buffer in across] for rtt in up])
        image = axes.imshow(cells, cmap=colours, vmin=ends[0], vmax=ends[1], origin="lower", aspect="auto")
        for (y, x), cell in np.ndenumerate(cells):
            dark = cell < (0.75 if ends[0] > 0 else -np.inf) or (ends[0] < 0 and abs(cell) > 3.2)
            look = {"ha": "center", "va": "center", "fontsize": 7, "color": "white" if dark else "black"}
            axes.text(x, y, f"{cell:.2f}" if ends[0] > 0 else f"{cell:.1f}", **look)
        axes.set_xticks(range(len(across)), across)
        axes.set_yticks(range(len(up)), up)
        axes.grid(visible=False)
        if row == 0:
            axes.set_title(columns[column], loc="left", fontweight="normal")
        if column == 0:
            axes.set_ylabel(f"{NAMES.get(rows[row], rows[row])}\nRTT ratio")
    for axes in grid[-1]:
        axes.set_xlabel("Buffer (BDP of the near)")
    sheet.suptitle(title, x=0.01, ha="left")
    sheet.colorbar(image, ax=grid, shrink=0.6)  # type: ignore[arg-type]
    return sheet
