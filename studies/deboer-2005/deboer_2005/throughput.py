"""Throughput of a study's runs, as iperf's client reports it and as the server receives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import mean, stdev

import polars as pl
import rexmit
from rexmit.analyse import Uncovered

from .averages_pl import averages_pl

_COLUMNS = {
    "tick": "path.tick",
    "ack_loss": "path.down.loss",
    "queue": "path.up.queue",
    "pipe": "path.queue",
    "write_size": "transfers.0.write_size",
    "connections": "transfers.0.connections",
}
ARRAYS = ("buffers", "sack", "newreno")
"""The files that are the script's three arrays, in its order."""


class Evidence:
    """The results given, each by the name of its file: `buffers`, `sack`, `newreno`, `tick`, ..."""

    def __init__(self, results: Sequence[rexmit.Results]) -> None:
        self._tests = {result.name.partition("/")[2] or result.name: Test(result) for result in results}

    def has(self, name: str) -> bool:
        """True if there are runs of this file."""
        return name in self._tests

    def of(self, name: str) -> Test:
        """The runs of a file. Raises Uncovered without them."""
        if name not in self._tests:
            raise Uncovered(f"needs a folder of deboer-2005/{name}")
        return self._tests[name]

    def by_script(self, name: str, *, heading: bool) -> Mapping[int, float]:
        """What averages.pl makes of each run of one of the script's arrays, Mbit/s by run.

        It goes through the logs of all arrays of a replication (the script's `run`) in the order of the
        tests; arrays that are not given are left out. `heading`: whether the heading of iperf's table enters.
        """
        self.of(name)
        found: dict[int, float] = {}
        for replication in self.of(name).frame["replication"].unique(maintain_order=True):
            logs: list[Sequence[float]] = []
            runs: list[tuple[str, int]] = []
            for array in ARRAYS:
                if array in self._tests:
                    for run, reports in self._tests[array].logs(replication):
                        logs.append(reports)
                        runs.append((array, run))
            for (array, run), value in zip(runs, averages_pl(logs, heading=heading), strict=True):
                if array == name:
                    found[run] = value
        return found


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
        return float(mean(self.runs(levels)["written"]))

    def received(self, **levels: object) -> float:
        """The same as the server's application reads it."""
        return float(mean(self.runs(levels)["received"]))

    def count(self, column: str, **levels: object) -> float:
        """Sum of a counter of the table of runs over the runs with these levels."""
        return float(self.runs(levels)[column].sum())

    def levels(self, factor: str) -> list[object]:
        """The levels of a factor that were run, in order."""
        return self.frame[factor].unique(maintain_order=True).to_list()

    def reports(self, **levels: object) -> list[float]:
        """The reports of iperf of the runs with these levels, Mbit/s: mean of runs, report by report."""
        runs = set(self.runs(levels)["run"])
        logs = [[value / 1e6 for value in self._logs[run]] for run in runs]
        return [mean(values) for values in zip(*logs, strict=True)]

    def spread(self, **levels: object) -> float:
        """Coefficient of variation of the received throughput over the intervals of a run, mean of runs."""
        found = []
        for run in self.runs(levels)["run"]:
            rows = self._intervals.filter(pl.col("run") == run)
            values = rows.filter(pl.col("to_ns") <= round(self.seconds * 1e9))["goodput_bit_s"].to_list()
            found.append(stdev(values) / mean(values) if mean(values) else 0.0)
        return mean(found)

    def fill(self, back_ms: float, **levels: object) -> float:
        """Least number of bytes in the send buffer at the ends of the reports.

        It holds what was written and is not acknowledged: what has not arrived, and what arrived in the
        last `back_ms` milliseconds, the way of its ACK.
        """
        least: list[float] = []
        for run in self.runs(levels)["run"]:
            rows = self._intervals.filter(pl.col("run") == run, pl.col("to_ns") <= round(self.seconds * 1e9))
            totals = rows.group_by("to_ns").agg(pl.col("written", "bytes", "goodput_bit_s").sum())
            totals = totals.sort("to_ns")
            arrived = totals["goodput_bit_s"] * back_ms / 8e3
            least += (totals["written"].cum_sum() - totals["bytes"].cum_sum() + arrived).to_list()
        return float(min(least))

    def logs(self, replication: int) -> list[tuple[int, Sequence[float]]]:
        """The runs of a replication in the order of the script's tests, and what iperf reports of each."""
        runs = self.frame.filter(pl.col("replication") == replication).sort("run")["run"]
        return [(run, self._logs[run]) for run in runs]

    @cached_property
    def _logs(self) -> dict[int, list[float]]:
        """What iperf's client reports of each run, bit/s: the bytes written in each interval.

        What is written after the last interval belongs to it: iperf's clock starts after the handshake.
        """
        last = round(self.seconds * 1e9)
        rows = self._intervals.with_columns(
            pl.when(pl.col("to_ns") > last).then(last).otherwise(pl.col("to_ns")).alias("end")
        )
        sums = rows.group_by("run", "end").agg(pl.col("written").sum()).sort("run", "end")
        first = float(sums["end"].min())  # type: ignore[arg-type]
        logs: dict[int, list[float]] = {}
        for run, _, written in sums.rows():
            logs.setdefault(run, []).append(written * 8e9 / first)
        return logs

    def runs(self, levels: Mapping[str, object]) -> pl.DataFrame:
        """The runs with these levels. Raises Uncovered where there are none."""
        rows = self.frame
        for name, value in levels.items():
            column = _COLUMNS.get(name, name)
            if column not in rows.columns:
                raise Uncovered(f"these results do not vary {column}")
            rows = rows.filter(pl.col(column) == value)
        if rows.is_empty():
            told = ", ".join(f"{name} {value}" for name, value in levels.items())
            raise Uncovered(f"these results have no run with {told}")
        return rows
