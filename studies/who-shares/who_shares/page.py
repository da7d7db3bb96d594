"""The page of who-shares: what `scripts/study_page.py who-shares` writes."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from .pairs import AQM, shared

if TYPE_CHECKING:
    from study_page import Page

SHOWN = {"jain": "who-shares-jain", "ratio": "who-shares-ratio"}


def make(page: Page) -> None:
    """Run what is not there yet, draw, write the tables."""
    results = page.run("pairs")
    page.put({"jain": table(shared([results])), "compare": page.compare([results]).to_markdown()})
    page.draw("pairs", results, SHOWN.get)


def table(found: pl.DataFrame) -> str:
    """The least and the median index of each discipline, over pairs and buffers, by the RTT ratio."""
    ratios = found["rtt"].unique(maintain_order=True).to_list()
    lines = ["| discipline |" + "".join(f" RTT ratio {one} |" for one in ratios)]
    lines.append("| --- |" + " ---: |" * len(ratios))
    for aqm in found[AQM].unique(maintain_order=True):
        cells = []
        for rtt in ratios:
            values = found.filter((pl.col(AQM) == aqm) & (pl.col("rtt") == rtt))["jain"].to_list()
            cells.append(f" {min(values):.2f} / {median(values):.2f} |")
        lines.append(f"| {aqm} |" + "".join(cells))
    return "\n".join(lines) + "\n"
