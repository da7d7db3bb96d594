"""The runs of the study, addressed as the thesis does: kbit/s, ms and position."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path

import polars as pl
import rexmit
from rexmit.analyse import PositionCosts, Uncovered, position_costs, position_times
from rexmit.analyse.positions import NEEDS_TIMEOUT

POSITION = "path.down.drop"
SHORT, LONG = 20, 100
PATHS = {SHORT: 10 * 11, LONG: 7 * 8}
"""Combinations of bandwidth and delay in Table 3.1."""
LEFT_OUT = {(40, 5), (40, 10), (40, 20)}
"""Paths that the thesis leaves out of its averages, for the spurious timeouts there (section 4.1.1)."""
LOW = (5, 10)
"""Delays in ms taken for the thesis's "low delay"."""
EARLIER = "earlier"
"""The part that repeats figure 4.25, of the study before."""

Pair = tuple[int, int]
"""A path: kbit/s and ms."""


class Evidence:
    """The results given: short flows, long flows, those of the earlier study, or all of them."""

    def __init__(self, results: Sequence[rexmit.Results]) -> None:
        self._flows: dict[int, Flow] = {}
        self._earlier: Flow | None = None
        for result in results:
            flow = Flow(result)
            if result.name.endswith(f"/{EARLIER}"):
                self._earlier = flow
            else:
                self._flows[flow.packets] = flow

    @property
    def short(self) -> Flow:
        """The flows of 20 packets. Raises Uncovered without them."""
        return self._of(SHORT, "short")

    @property
    def long(self) -> Flow:
        """The flows of 100 packets. Raises Uncovered without them."""
        return self._of(LONG, "long")

    @property
    def earlier(self) -> Flow:
        """The flows of the earlier study, on FreeBSD 4.6. Raises Uncovered without them."""
        if self._earlier is None:
            raise Uncovered("needs a folder of hurtig-2006/earlier")
        return self._earlier

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
        self._captures: dict[tuple[int, int, int], rexmit.Connection] = {}

    @cached_property
    def costs(self) -> dict[tuple[int, int], PositionCosts]:
        """What late losses cost on each path (kbit/s, ms) that the thesis averages over."""
        found = position_costs(self._frame, POSITION, ["kbit_s", "ms"])
        keyed = {(_whole(cost.group["kbit_s"]), _whole(cost.group["ms"])): cost for cost in found}
        return {path: cost for path, cost in keyed.items() if path not in LEFT_OUT}

    def additional(self) -> dict[tuple[int, int], float]:
        """Additional time of a late loss, in percent."""
        return {
            path: 100 * cost.additional for path, cost in self.costs.items() if cost.additional is not None
        }

    def average(self) -> dict[tuple[int, int], float]:
        """Average additional time of a loss anywhere, in percent."""
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

    def fast_retransmits(self, kbit_s: int, ms: int, position: int) -> float:
        """Mean number of fast retransmits."""
        return self._mean("fast_retransmits", kbit_s, ms, position)

    def waits(self, path: Pair, position: int) -> bool:
        """Whether the loss of a position takes more timeouts than the flow without loss has."""
        return self.timeouts(*path, position) - self.timeouts(*path, 0) >= NEEDS_TIMEOUT

    def calm(self) -> list[Pair]:
        """The paths that the thesis does not leave out."""
        return [path for path in self.paths() if path not in LEFT_OUT]

    def spread(self) -> pl.DataFrame:
        """The standard deviation of the time over replications, ms, by `kbit_s`, `ms` and `position`."""
        return self._frame.group_by(["kbit_s", "ms", POSITION], maintain_order=True).agg(
            (pl.col("time_ns").std() / 1e6).alias("sd_ms")
        )

    def total(self, column: str) -> int:
        """The sum of a column over all runs."""
        return int(self._frame[column].sum())

    def packets_without_loss(self) -> list[int]:
        """How many packets the server sent in runs without loss, of the paths that the thesis uses."""
        calm = self._frame.filter(
            (pl.col(POSITION) == 0) & ~((pl.col("kbit_s") == 40) & (pl.col("ms") <= max(LEFT_OUT)[1]))
        )
        return sorted(set(calm["packets_down"].to_list()))

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
        key = kbit_s, ms, position
        if key not in self._captures:
            self._captures[key] = self._capture(kbit_s, ms, position)
        return self._captures[key]

    def _capture(self, kbit_s: int, ms: int, position: int) -> rexmit.Connection:
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
