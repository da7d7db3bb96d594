"""Throughput of a study's runs, as iperf's client reports it and as the server receives it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean, stdev

import polars as pl
import rexmit

_COLUMNS = {"tick": "path.tick", "ack_loss": "path.down.loss", "queue": "path.up.queue"}


class Uncovered(Exception):  # noqa: N818 - no error: the results given say nothing about a row
    """These results say nothing about a published row."""


class Evidence:
    """The results given, each by the name of its file: `buffers`, `sack`, `newreno`, `tick`, `acks`."""

    def __init__(self, results: Sequence[rexmit.Results]) -> None:
        self._tests = {result.name.partition("/")[2]: Test(result) for result in results}

    def has(self, name: str) -> bool:
        """True if there are runs of this file."""
        return name in self._tests

    def of(self, name: str) -> Test:
        """The runs of a file. Raises Uncovered without them."""
        if name not in self._tests:
            raise Uncovered(f"needs a folder of deboer-2005/{name}")
        return self._tests[name]


class Test:
    """All runs of one file."""

    def __init__(self, results: rexmit.Results) -> None:
        self.seconds = float(results.study["scenario"]["transfers"][0]["bulk"].removesuffix(" s"))
        intervals = results.intervals()
        during = pl.col("to_ns") <= round(self.seconds * 1e9)
        sums = intervals.group_by("run").agg(
            # iperf's clock starts at the end of the handshake, the intervals' before it: what iperf writes in
            # its intervals is all that is written, and their mean is that over the whole time.
            (pl.col("written").sum() * 8 / self.seconds / 1e6).alias("written"),
            (pl.col("bytes").filter(during).sum() * 8 / self.seconds / 1e6).alias("received"),
        )
        self.frame = results.table().join(sums, on="run", maintain_order="left")
        self._intervals = intervals

    def written(self, **levels: object) -> float:
        """Mean of the runs with these levels, Mbit/s as iperf's client reports it (its writes)."""
        return float(mean(self._runs(levels)["written"]))

    def received(self, **levels: object) -> float:
        """The same as the server's application reads it."""
        return float(mean(self._runs(levels)["received"]))

    def levels(self, factor: str) -> list[object]:
        """The levels of a factor that were run, in order."""
        return self.frame[factor].unique(maintain_order=True).to_list()

    def spread(self, **levels: object) -> float:
        """Coefficient of variation of the received throughput over the intervals of a run, mean of runs."""
        found = []
        for run in self._runs(levels)["run"]:
            rows = self._intervals.filter(pl.col("run") == run)
            values = rows.filter(pl.col("to_ns") <= round(self.seconds * 1e9))["goodput_bit_s"].to_list()
            found.append(stdev(values) / mean(values) if mean(values) else 0.0)
        return mean(found)

    def _runs(self, levels: dict[str, object]) -> pl.DataFrame:
        rows = self.frame
        for name, value in levels.items():
            column = _COLUMNS.get(name, name)
            rows = rows.filter(pl.col(column) == value)
        if rows.is_empty():
            told = ", ".join(f"{name} {value}" for name, value in levels.items())
            raise Uncovered(f"these results have no run with {told}")
        return rows
