"""What appenzeller-2004 measured: utilisation, queues, loss, completion times, one row per run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import polars as pl
from rexmit import Results
from rexmit.analyse import Uncovered
from rexmit.analyse.over_time import within

WINDOWS = {"table": (15, 40), "hosts": (15, 40), "least": (15, 30), "few": (30, 90)}
"""What of each part is measured, s: all flows have started, none has ended."""
LINE = {"table": "oc3", "hosts": "oc3", "least": "oc3", "few": "line"}
RATE = {"table": 155e6, "hosts": 155e6, "least": 155e6, "few": 40e6}
QUEUES = {part: f"links.{line}.from.left.queue" for part, line in (LINE | {"one": "line"}).items()}
PACKET = 12_000
"""Bits of a full packet."""


class Evidence:
    """The results given, by the names of their parts."""

    def __init__(self, results: Sequence[Results]) -> None:
        self._parts = {one.name.partition("/")[2]: one for one in results}

    def results(self, part: str) -> Results:
        """Those of a part. Raises Uncovered where they were not given."""
        if part not in self._parts:
            raise Uncovered(f"needs the part {part}")
        return self._parts[part]

    def used(self, part: str) -> pl.DataFrame:
        """One row per run, with its levels: `utilisation` (percent), `loss` and `buffer` (packets)."""
        return utilisation(self.results(part), part)

    def at(self, part: str, **levels: object) -> dict[str, float]:
        """The one run of :meth:`used` with these levels. Raises Uncovered where there is none."""
        found = self.used(part).filter(*(pl.col(name) == level for name, level in levels.items()))
        if found.is_empty():
            raise Uncovered(f"{part} has no run with {levels}")
        return found.row(0, named=True)


def utilisation(results: Results, part: str) -> pl.DataFrame:
    """What passed over what the rate allows, in the part's window; packets lost over offered."""
    begin, end = WINDOWS[part]
    over_time = line_of(results.links(over_time=True), LINE[part]).filter(within(begin, end))
    bits = pl.col("passed_bytes").sum() * 8
    keys = [name for name in ("run", "cell", "system", "flows", "hosts.sender.count") if name in over_time]
    used = over_time.group_by(keys, maintain_order=True).agg(
        (100 * bits / (RATE[part] * (end - begin))).alias("utilisation"),
        (pl.col("drops").sum() / (bits / PACKET + pl.col("drops").sum())).alias("loss"),
    )
    return used.join(results.table().select("run", _buffer(results, part)), on="run")


def _buffer(results: Results, part: str) -> pl.Expr:
    """The buffer in packets: a factor's level, or that of the cell."""
    if QUEUES[part] in results.column_names:
        return pl.col(QUEUES[part]).str.extract(r"^(\d+)").cast(pl.Float64).alias("buffer")
    spec = results.spec()
    sizes = {
        run: spec.scenario_of(run)["links"][LINE[part]]["from"]["left"]["queue"]
        for run in range(len(results))
    }
    packets = {run: float(text.split()[0]) for run, text in sizes.items()}
    return pl.col("run").replace_strict(packets, return_dtype=pl.Float64).alias("buffer")


def line_of(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The rows of the bottleneck, in the direction of the data."""
    return frame.filter((pl.col("link") == name) & (pl.col("from_point") == "left"))


def least_buffer(points: pl.DataFrame, percent: float) -> float | None:
    """The buffer at which the utilisation first is so much, straight between points; None where it never is.

    With the smallest buffer enough there is nothing to interpolate: None as well.
    """
    rows = points.sort("buffer").select("buffer", "utilisation").rows()
    for (small, low), (large, high) in pairwise(rows):
        if low < percent <= high:
            return float(small + (large - small) * (percent - low) / (high - low))
    return None


def between(points: pl.DataFrame, buffer: float) -> float:
    """The utilisation at a buffer, straight between the two nearest."""
    rows = points.sort("buffer").select("buffer", "utilisation").rows()
    for (small, low), (large, high) in pairwise(rows):
        if small <= buffer <= large:
            return float(low + (high - low) * (buffer - small) / (large - small))
    raise Uncovered(f"no runs around a buffer of {buffer:.0f} packets")
