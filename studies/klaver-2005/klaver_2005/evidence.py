"""What was measured of the runs: each part of the study as a table, a row a combination of levels."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import rexmit

CASE, COUNTS = "case", "hosts.server.stack.congestion.counts"
POLICY = "hosts.client.stack.delayed_ack.policy"


class Uncovered(Exception):  # noqa: N818 - no error: the results given say nothing about a row
    """These results say nothing about a published row."""


class Evidence:
    """The results given: some of the parts `controlled`, `acks`, `cycles`, `enschede`."""

    def __init__(self, results: Sequence[rexmit.Results]) -> None:
        self._results = {result.name.partition("/")[2]: result for result in results}
        self._measured: dict[str, pl.DataFrame] = {}

    def part(self, name: str) -> pl.DataFrame:
        """The measured runs of a part. Raises Uncovered without it."""
        if name not in self._results:
            raise Uncovered(f"needs a folder of klaver-2005/{name}")
        if name not in self._measured:
            self._measured[name] = rexmit.tcp_friendly_runs(self._results[name])
        return self._measured[name]

    def points(self, name: str) -> pl.DataFrame:
        """Means over replications of what is measured in a part, and the parity and verdict of the first."""
        frame = self.part(name)
        by = [factor for factor in self._results[name].factors if factor in frame.columns]
        means = ("p_delivered", "f", "w", "window_cycles", "window_lost", "error_klaver")
        return frame.group_by(by or ["error"], maintain_order=True).agg(
            pl.col(*means).mean(), pl.col("parity", "failed_conditions").first()
        )

    def point(self, name: str, case: str) -> dict[str, float]:
        """The means of one case. Raises Uncovered where it is not there or gave no measurement."""
        found = self.points(name).filter(pl.col(CASE) == case)
        if found.is_empty():
            raise Uncovered(f"these results of klaver-2005/{name} have no case '{case}'")
        row = found.row(0, named=True)
        if row["f"] is None:
            raise Uncovered(f"no measurement: what fails is {row['failed_conditions']}")
        return row

    def whole_cycles(self) -> pl.DataFrame:
        """Points of `acks` with each segment acknowledged and one loss in each cycle."""
        each = (pl.col(POLICY) == "immediate") & (pl.col(COUNTS) == "segments")
        chosen = self.points("acks").filter(each & (pl.col("window_lost") == pl.col("window_cycles")))
        if chosen.is_empty():
            raise Uncovered("these results of klaver-2005/acks have no run with each segment acknowledged")
        return chosen

    def rtt(self, name: str) -> tuple[float, float]:
        """The least and the greatest RTT sample of a part's first run, in ms."""
        self.part(name)
        with tempfile.TemporaryDirectory() as folder:
            capture = Path(folder) / "server.pcapng"
            self._results[name].capture(0, server=capture, snap_len=128)
            samples = rexmit.analyze(capture, tables=["rtt"]).rtt
        own = samples.filter((pl.col("side") == "server") & (pl.col("method").cast(pl.String) == "ack"))
        data = own.filter(pl.col("rtt_ns") > 0)["rtt_ns"]
        return float(data.min()) / 1e6, float(data.max()) / 1e6  # type: ignore[arg-type]
