"""The figures of merritt-2010."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl
from rexmit import Results, UsageError
from rexmit.analyse import load_published
from rexmit.analyse.both_ways import TwoWaySpans
from rexmit.plot import style

from . import charts, pairs
from .packets import Packets
from .queue_charts import draw_queues, draw_ratios
from .scripts import runs_of

TWO_WAY = "merritt-2010/two-way"
PUBLISHED = Path(__file__).parent.parent / "published.csv"


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    if results.name == pairs.NAME:
        return style.save(pairs.figure(pairs.shares(results)), out / "pairs", formats)
    numbered = results.name == TWO_WAY
    runs = with_buffer(runs_of(results))
    if runs["buffer"].n_unique() < 2:
        raise UsageError(f"{results.name}: one uplink buffer gives no figure; run it with several")
    published = load_published(PUBLISHED)

    @cache
    def states(run: int) -> pl.DataFrame:
        return results.trace(run)["state"]

    files = [file for drawn in charts.draw_buffers(runs, published, numbered, out, formats) for file in drawn]
    if numbered:
        times = charts.draw_times(runs, results.intervals(), states, out, formats)
        files += [file for drawn in times for file in drawn]
        files += draw_ratios(runs, out, formats)
        files += _sequence(results, runs, out, formats)
    return files


def _sequence(results: Results, runs: pl.DataFrame, out: Path, formats: Sequence[str]) -> list[Path]:
    """Figure 3.2, of the first run on the middle link with the largest buffer; nothing without one."""
    rates = (pl.col("down_rate") == charts.MIDDLE[0]) & (pl.col("up_rate") == charts.MIDDLE[1])
    found = runs.filter(rates & (pl.col("buffer") == 50))["run"]
    if found.is_empty():
        return []
    run = int(found.min())  # type: ignore[arg-type]
    spans = TwoWaySpans.of(results.spec().scenario_of(run))
    return draw_queues(Packets.of(results.trace(run), spans), out, formats)


def with_buffer(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs whose uplink's buffer counts packets, with that as the column `buffer`."""
    buffer = pl.col("up_queue").str.extract(r"^(\d+) packets?$").cast(pl.Int64)
    return runs.with_columns(buffer.alias("buffer")).drop_nulls("buffer")
