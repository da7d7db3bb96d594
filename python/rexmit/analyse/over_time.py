"""What connections and links of a network did in a window of time, from their tables over time."""

from __future__ import annotations

import polars as pl

from rexmit.run import Results

_SECOND = 10**9


def within(begin: float, end: float) -> pl.Expr:
    """The intervals that lie in a window, s since the start of the run."""
    return (pl.col("from_ns") >= begin * _SECOND) & (pl.col("to_ns") <= end * _SECOND)


def flows_over_time(results: Results) -> pl.DataFrame:
    """One row per interval and connection that delivered something in it, with the name of its `transfer`.

    Columns are otherwise those of :meth:`rexmit.Results.transfers` over time. Raises UsageError where the
    scenario has no `measure.every`.
    """
    names = results.transfers().select("run", "connection", "transfer")
    return results.transfers(over_time=True).join(names, on=("run", "connection"))
