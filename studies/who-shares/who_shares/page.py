"""The page of who-shares: what `scripts/study_page.py who-shares` writes."""

from __future__ import annotations

from statistics import fmean, median
from typing import TYPE_CHECKING

import polars as pl

from . import claims
from .evidence import Evidence
from .pairs import AQM, KEYS, shared

if TYPE_CHECKING:
    from study_page import Page


def make(page: Page) -> None:
    """Run what is not there yet, draw, write tables; with `--linux` those of Linux and the comparison too."""
    model = page.run("pairs")
    page.put({"jain": table(shared(model))})
    page.draw("pairs", model, "who-shares-{}".format)
    if page.linux:
        found = [page.run(part, "uml") for part in ("linux", "bbr", "shallow")]
        claims.check(Evidence([model, *found]))
        linux = shared(found[0])
        page.put({"jain-linux": table(linux), "apart": apart(shared(model), linux)})
        page.put({"compare": page.compare([model, *found]).to_markdown()})
        page.draw("linux", found[0], "who-shares-linux-{}".format)
        for part, results in zip(("bbr", "shallow"), found[1:], strict=True):
            page.draw(part, results, "who-shares-{}".format)


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


def apart(model: pl.DataFrame, linux: pl.DataFrame) -> str:
    """How far the near flow's share on Linux is from that of the model, cell by cell."""
    share = pl.col("near") / (pl.col("near") + pl.col("far"))
    one, other = (found.select(*KEYS, share.alias("share")) for found in (model, linux))
    off = one.join(other, on=KEYS, suffix="_linux").select(pl.col("share_linux") - pl.col("share"))
    values = off.to_series().to_list()
    sizes = [abs(value) for value in values]
    close = sum(size <= 0.05 for size in sizes)
    words = [
        "For Reno and CUBIC, the near flow's share on Linux is within 0.05 of the model's in",
        f"{close} of {len(sizes)} cells; the difference is {fmean(sizes):.3f} on average,",
        f"{max(sizes):.2f} at most, and {fmean(values):+.4f} on average with its sign.",
    ]
    return "\n".join(words) + "\n"
