"""Flows over time above a queue, for the explorer of a page: as many whole runs as the page can bear."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from rexmit.plot.network import rate_of
from rexmit.report.runs import spread
from rexmit.run import Results
from rexmit.run.details import LINKS_OVER_TIME, TRANSFERS_OVER_TIME

OVER_TIME = (TRANSFERS_OVER_TIME.name, LINKS_OVER_TIME.name)
"""The tables that have a row for each interval of a run."""

MOST_ROWS_OVER_TIME = 250_000
"""Rows that a page has of each of these tables, where nothing asks for less: some 4 MB."""

BYTES_A_ROW = 20
"""What such a row takes in a page, rather more than less."""

SHARE = 0.25
"""The share of the largest size of a page that each of the two tables may take."""

RATE = "rate_bit_s"
"""Column of a block: the rate of the link, where it has one that does not change."""


@dataclass(frozen=True)
class OverTime:
    """The rows of whole runs, by the names of their tables, and why some runs are missing."""

    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    note: str = ""


def over_time(results: Results, most_bytes: int | None) -> OverTime:
    """The tables over time of as many runs as a page of `most_bytes` can bear, spread over the design.

    There is no frame where nothing was measured over time, or where a single run is too much.
    """
    tables = {one.name: results.detail(one) for one in (TRANSFERS_OVER_TIME, LINKS_OVER_TIME)}
    frames = {name: pl.DataFrame(pl.from_arrow(one)) for name, one in tables.items() if one is not None}
    if set(frames) != set(OVER_TIME) or all(frame.is_empty() for frame in frames.values()):
        return OverTime()
    runs = _runs_within(results, frames, _most_rows(most_bytes))
    total = frames[LINKS_OVER_TIME.name]["run"].n_unique()
    note = ""
    if len(runs) < total:
        which = f"of {len(runs):,} of {total:,} runs" if runs else "of no run"
        note = (
            f"Flows over time are in this page {which}: more would make it too large. "
            "A larger --max-size has more of them, and a longer measure.every makes them shorter."
        )
    if not runs:
        return OverTime(note=note)
    kept = {name: frame.filter(pl.col("run").is_in(runs)) for name, frame in frames.items()}
    kept[LINKS_OVER_TIME.name] = _with_rates(results, kept[LINKS_OVER_TIME.name])
    return OverTime(kept, note)


def _most_rows(most_bytes: int | None) -> int:
    if most_bytes is None:
        return MOST_ROWS_OVER_TIME
    return min(MOST_ROWS_OVER_TIME, int(most_bytes * SHARE / BYTES_A_ROW))


def _runs_within(results: Results, frames: Mapping[str, pl.DataFrame], most: int) -> list[int]:
    """Runs with at most `most` rows in each table together; the first replications come first."""
    rows: dict[int, int] = {}
    sums = dict.fromkeys(frames, 0)
    counts = {
        name: dict(frame.group_by("run").len().iter_rows()) if frame.height else {}
        for name, frame in frames.items()
    }
    there = sorted({run for one in counts.values() for run in one})
    for run in dict.fromkeys([*spread(results), *there]):
        for name, of in counts.items():
            sums[name] += of.get(run, 0)
        if max(sums.values()) > most:
            break
        rows[run] = max(of.get(run, 0) for of in counts.values())
    return [run for run, height in rows.items() if height]


def _with_rates(results: Results, links: pl.DataFrame) -> pl.DataFrame:
    """The table with the rate of each link."""
    spec = results.spec()
    keys = links.select("run", "link", "from_point").unique(maintain_order=True)
    rates: list[float] = []
    known: tuple[int, Mapping[str, object]] = (-1, {})
    for run, link, point in keys.iter_rows():
        if run != known[0]:
            known = run, spec.scenario_of(run)
        rates.append(rate_of(known[1], link, point) or np.nan)
    return links.join(keys.with_columns(pl.Series(RATE, rates)), on=keys.columns, how="left")
