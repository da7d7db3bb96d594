"""The figures of asymmetric-today."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rexmit import Results
from rexmit.analyse import two_way

from . import charts

NAMES = {
    "pfifo limit 17": "FIFO, 17 packets",
    "pfifo limit 50": "FIFO, 50 packets",
    "bfifo limit 25738": "FIFO, bytes of 17",
    "bfifo limit 75700": "FIFO, bytes of 50",
    "17 packets": "FIFO, 17 packets",
    "50 packets": "FIFO, 50 packets",
    "17 frames": "FIFO, bytes of 17",
    "50 frames": "FIFO, bytes of 50",
    "codel": "CoDel",
    "fq_codel": "FQ-CoDel",
    "fq-codel": "FQ-CoDel",
    "pie": "PIE",
    "red": "RED",
    "cake": "CAKE",
}
"""What people read for a discipline of either study; others as they are written."""


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    runs = named(results)
    disciplines = runs["discipline"].unique(maintain_order=True).to_list()
    system = "Linux 6.1" if results.name.endswith("disciplines") else "on the model"
    return charts.draw(runs, disciplines, system, out, formats)


def named(results: Results) -> pl.DataFrame:
    """The runs of `two_way`, with the column `discipline` as people read it."""
    runs = two_way(results)
    column = "path.up.qdisc" if "path.up.qdisc" in runs.columns else "discipline"
    names = pl.col(column).replace_strict(NAMES, default=pl.col(column), return_dtype=pl.String)
    return runs.with_columns(names.alias("discipline"))
