"""The figures of appenzeller-2004, by part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from rexmit import Results
from rexmit.analyse import load_published
from rexmit.plot import style

from . import charts
from .checks import FEW, OC3_80, queues, work
from .evidence import Evidence
from .sawtooth import Sawtooth

PUBLISHED = Path(__file__).parent.parent / "published.csv"
SIZES = (6, 14, 16, 30, 62)


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    part, evidence = results.name.partition("/")[2], Evidence([results])
    with style.styled(style.LIGHT):
        if part in ("table", "hosts"):
            return style.save(figure_15(part, evidence), out / "figure-15", formats)
        if part == "one":
            found = [Sawtooth.of(results, size) for size in (71, 142, 284)]
            return style.save(charts.sawtooth(found), out / "figure-4", formats)
        if part == "few":
            return style.save(charts.few(evidence.used("few"), FEW), out / "few", formats)
        if part == "least":
            return style.save(charts.many(evidence.used("least"), OC3_80), out / "figure-11", formats)
        if part == "short":
            return style.save(figure_10(evidence), out / "figure-10", formats)
    return []


def figure_15(part: str, evidence: Evidence) -> Figure:
    """The text's column of this part beside ours."""
    cells = evidence.used(part).with_columns(
        pl.col("cell").str.extract(r"^(\d+)").cast(pl.Int64).alias("flows"),
        pl.col("cell").str.extract(r", (.*) x$").alias("multiple"),
    )
    if "system" not in cells.columns:
        cells = cells.with_columns(pl.lit("hosts of 2004").alias("system"))
    tag = {"table": "s", "hosts": "e"}[part]
    rows = {row.id: float(row.value) for row in load_published(PUBLISHED) if row.id.startswith("P-005-15.")}
    multiples = cells["multiple"].unique(maintain_order=True)
    text = {m: [rows[f"P-005-15.{n}.{m}{tag}"] for n in (100, 200, 300, 400)] for m in multiples}
    what = {"table": "ns-2 (Sim.)", "hosts": "the router's line (Exp.)"}[part]
    return charts.table(cells, text, f"Utilisation with buffers of RTT x C / sqrt(n), beside {what}")


def figure_10(evidence: Evidence) -> Figure:
    """The queue of short flows."""
    rows = {row.id: float(row.value) for row in load_published(PUBLISHED) if row.id.startswith("P-005-16.")}
    ours = [queues(evidence, size) for size in SIZES]
    text = [rows[f"P-005-16.{size}"] for size in SIZES]
    return charts.short_flows(SIZES, ours, text, [work(size) for size in SIZES])
