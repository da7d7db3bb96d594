"""The runs of the study, addressed as the thesis does: kbit/s, ms and position."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import polars as pl
import rexmit
from rexmit.analyse import PositionCosts, position_costs, position_times

POSITION = "path.down.drop"
SHORT, LONG = 20, 100
PATHS = {SHORT: 10 * 11, LONG: 7 * 8}
"""Combinations of bandwidth and delay in Table 3.1."""
LEFT_OUT = {(40, 5), (40, 10), (40, 20)}
"""Paths that the thesis leaves out of its averages, because of the spurious timeouts there (M-000-3)."""


class Uncovered(Exception):  # noqa: N818 - no error: the results given say nothing about a row
    """These results say nothing about a published row."""


class Evidence:
    """The results given: short flows, long flows or both."""

    def __init__(self, results: Sequence[rexmit.Results]) -> None:
        self._flows: dict[int, Flow] = {}
        for result in results:
            flow = Flow(result)
            self._flows[flow.packets] = flow

    @property
    def short(self) -> Flow:
        """The flows of 20 packets. Raises Uncovered without them."""
        return self._of(SHORT, "short")

    @property
    def long(self) -> Flow:
        """The flows of 100 packets. Raises Uncovered without them."""
        return self._of(LONG, "long")

    def _of(self, packets: int, name: str) -> Flow:
        if packets not in self._flows:
            raise Uncovered(f"needs a folder of hurtig-2006/{name}")
        return self._flows[packets]


class Flow:
    """All runs with one flow size."""

    def __init__(self, results: rexmit.Results) -> None:
        self._results = results
        table = results.table()
        self._frame = table.with_columns(
            (pl.col("path.rate_bit_s") // 1000).alias("kbit_s"),
            (pl.col("path.delay_ns") // 1_000_000).alias("ms"),
        )
        self.packets = int(self._frame[POSITION].max())  # type: ignore[arg-type]

    @cached_property
    def costs(self) -> dict[tuple[int, int], PositionCosts]:
        """What late losses cost on each path (kbit/s, ms) that the thesis averages over."""
        found = position_costs(self._frame, POSITION, ["kbit_s", "ms"])
        keyed = {(_whole(cost.group["kbit_s"]), _whole(cost.group["ms"])): cost for cost in found}
        return {path: cost for path, cost in keyed.items() if path not in LEFT_OUT}

    def additional(self) -> dict[tuple[int, int], float]:
        """Additional time of a late loss, in percent (M-000-1)."""
        return {
            path: 100 * cost.additional for path, cost in self.costs.items() if cost.additional is not None
        }

    def average(self) -> dict[tuple[int, int], float]:
        """Average additional time of a loss anywhere, in percent (M-000-2)."""
        return {path: 100 * cost.average for path, cost in self.costs.items() if cost.average is not None}

    def whole(self) -> Flow:
        """These runs, if they are the whole parameter table. Raises Uncovered for a part of it."""
        if len(self.paths()) < PATHS[self.packets]:
            raise Uncovered("says something about the whole parameter table; these results are a part of it")
        return self

    def time(self, kbit_s: int, ms: int, position: int) -> float:
        """Mean total time in ms. Raises Uncovered where no such run is there."""
        return self._mean("time_ms", kbit_s, ms, position)

    def timeouts(self, kbit_s: int, ms: int, position: int) -> float:
        """Mean number of timeouts."""
        return self._mean("timeouts", kbit_s, ms, position)

    def paths(
        self, kbit_s: Iterable[int] | None = None, ms: Iterable[int] | None = None
    ) -> list[tuple[int, int]]:
        """The paths that were run, of these rates and delays where given. Raises Uncovered for none."""
        rates, delays = (None if given is None else set(given) for given in (kbit_s, ms))
        found = [
            (a, b)
            for a, b in dict.fromkeys((path[0], path[1]) for path in self._means)
            if (rates is None or a in rates) and (delays is None or b in delays)
        ]
        if not found:
            raise Uncovered("these results have no run on such a path")
        return found

    def connection(self, kbit_s: int, ms: int, position: int) -> rexmit.Connection:
        """The run (first replication) again, as captured at the server."""
        run = self._frame.filter(
            (pl.col("kbit_s") == kbit_s) & (pl.col("ms") == ms) & (pl.col(POSITION) == position)
        )
        if run.is_empty():
            raise Uncovered(
                f"these results have no run with {kbit_s} kbit/s, {ms} ms and position {position}"
            )
        with tempfile.TemporaryDirectory() as folder:
            capture = Path(folder) / "server.pcapng"
            self._results.capture(int(run["run"][0]), server=capture)
            return rexmit.read_capture(capture)[0]

    @cached_property
    def _means(self) -> dict[tuple[int, int, int], dict[str, float]]:
        times = position_times(self._frame, POSITION, ["kbit_s", "ms"])
        return {(row["kbit_s"], row["ms"], row["position"]): row for row in times.iter_rows(named=True)}

    def _mean(self, column: str, kbit_s: int, ms: int, position: int) -> float:
        try:
            return self._means[kbit_s, ms, position][column]
        except KeyError:
            raise Uncovered(
                f"these results have no run with {kbit_s} kbit/s, {ms} ms, position {position}"
            ) from None


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value
