"""The figures of merritt-2010."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import polars as pl

from rexmit.analyse import load_published, two_way
from rexmit.errors import UsageError
from rexmit.plot import merritt
from rexmit.run import Results
from rexmit.study import find_study

TWO_WAY = "merritt-2010/two-way"


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    numbered = results.name == TWO_WAY
    runs = with_buffer(two_way(results))
    if runs["buffer"].n_unique() < 2:
        raise UsageError(f"{results.name}: one uplink buffer gives no figure; run it with several")
    published = load_published(find_study(TWO_WAY)[1].parent / "published.csv")

    @cache
    def states(run: int) -> pl.DataFrame:
        return results.trace(run)["state"]

    files = [
        file for drawn in merritt.draw_buffers(runs, published, numbered, out, formats) for file in drawn
    ]
    if numbered:
        times = merritt.draw_times(runs, results.intervals(), states, out, formats)
        files += [file for drawn in times for file in drawn]
    return files


def with_buffer(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs whose uplink's buffer counts packets, with that as the column `buffer`."""
    buffer = pl.col("up_queue").str.extract(r"^(\d+) packets?$").cast(pl.Int64)
    return runs.with_columns(buffer.alias("buffer")).drop_nulls("buffer")
