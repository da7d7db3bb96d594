"""The runs of the study, addressed as the thesis does: link in kbit/s and uplink buffer in packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from rexmit import Results, UsageError
from rexmit.analyse import Uncovered, crossing
from rexmit.analyse.both_ways import TwoWaySpans

from .packets import Packets
from .phase import Phase, phase_of
from .scripts import COMPARED, runs_of

BUFFERS = tuple(range(5, 55, 5))
"""Of table 4.1."""
LINKS = ((3000, 1000), (2400, 196), (3000, 100))
"""Of table 4.3, in the order of their asymmetry."""


@dataclass(frozen=True)
class Link:
    """All runs over one link."""

    down_kbit_s: int
    up_kbit_s: int
    runs: pl.DataFrame

    @property
    def name(self) -> str:
        """Such as `3000/100`."""
        return f"{self.down_kbit_s}/{self.up_kbit_s}"

    @property
    def buffers(self) -> list[int]:
        """The uplink's buffers that were run, ascending."""
        return sorted(self.runs["buffer"].unique().to_list())

    def means(self, measure: str) -> list[float]:
        """The mean over runs of a measure (see `runs_of`), for each of the buffers."""
        return self.runs.group_by("buffer").agg(pl.col(measure).mean()).sort("buffer")[measure].to_list()

    def at(self, measure: str, buffer: int) -> float:
        """The mean of a measure at a buffer."""
        return float(np.mean(self.single(measure, buffer)))

    def single(self, measure: str, buffer: int) -> list[float]:
        """A measure at a buffer, run by run. Raises Uncovered where there is none."""
        values = self.runs.filter(pl.col("buffer") == buffer).sort("run")[measure].to_list()
        if not values:
            raise Uncovered(f"these results have no run on {self.name} with {buffer} packets")
        return [float(value) for value in values]

    def near(self, buffer: int) -> int:
        """The measured buffer nearest to one, the smaller of two."""
        return min(self.buffers, key=lambda one: (abs(one - buffer), one))

    def estimate(self, measure: str = "bound_log") -> float | None:
        """Where the estimate by (6.6) meets the buffer (figure 6.2); None where it never does."""
        return crossing(list(zip(self.buffers, self.means(measure), strict=True)))

    def trend(self, measure: str) -> float:
        """The rank correlation of a measure with the buffer."""
        return rank_correlation(self.buffers, self.means(measure))

    def whole(self) -> Link:
        """The same link, if all buffers of the thesis were run on it. Raises Uncovered otherwise."""
        if not set(BUFFERS) <= set(self.buffers):
            raise Uncovered(
                "says something about all buffers of table 4.1; these results have a part of them"
            )
        return self


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Spearman's; NaN where one of the two does not vary."""
    frame = pl.DataFrame({"first": first, "second": second}, strict=False)
    return float(frame.select(pl.corr("first", "second", method="spearman")).item())


class Evidence:
    """The results given, put together."""

    def __init__(self, results: Sequence[Results]) -> None:
        self._results = results
        frames = [_frame(result, at) for at, result in enumerate(results)]
        self._runs = pl.concat(frames, how="diagonal_relaxed")
        self._packets: dict[tuple[int, int], dict[str, Any]] = {}

    def link(self, down_kbit_s: str | int, up_kbit_s: str | int) -> Link:
        """The runs over one link. Raises Uncovered where there are none."""
        rates = int(down_kbit_s), int(up_kbit_s)
        runs = self._runs.filter(
            (pl.col("down_rate") == rates[0] * 1000) & (pl.col("up_rate") == rates[1] * 1000)
        )
        if runs.is_empty():
            raise Uncovered(f"these results have no run on {rates[0]}/{rates[1]} kbit/s")
        return Link(*rates, runs)

    def links(self) -> list[Link]:
        """All three links, every buffer of table 4.1 on each. Raises Uncovered for less."""
        return [self.link(*rates).whole() for rates in LINKS]

    def packets(self, link: Link, buffer: int) -> dict[str, Any]:
        """What the packets of the first run of a point say (:class:`Packets`); traced when asked for."""
        runs = link.runs.filter(pl.col("buffer") == buffer).sort("of", "run")
        if runs.is_empty():
            raise Uncovered(f"these results have no run on {link.name} with {buffer} packets")
        of, run = runs.select("of", "run").row(0)
        if (of, run) not in self._packets:
            results = self._results[of]
            spans = TwoWaySpans.of(results.spec().scenario_of(run))
            try:
                self._packets[of, run] = Packets.of(results.trace(run), spans).measures()
            except UsageError as error:
                raise Uncovered(f"needs the packets of a run: {error}") from None
        return self._packets[of, run]

    def phase(self, link: Link, buffer: int) -> Phase:
        """The phase of the two windows at a point, of all its runs."""
        runs = link.runs.filter(pl.col("buffer") == buffer).select("of", "run").rows()
        if not runs:
            raise Uncovered(f"these results have no run on {link.name} with {buffer} packets")
        return phase_of([self._both(of, run) for of, run in runs])

    def _both(self, of: int, run: int) -> pl.DataFrame:
        begin, end = TwoWaySpans.of(self._results[of].spec().scenario_of(run)).both
        inside = (pl.col("from_ns") >= begin) & (pl.col("to_ns") <= end)
        return self._results[of].intervals().filter((pl.col("run") == run) & inside)


def _frame(results: Results, of: int) -> pl.DataFrame:
    buffer = pl.col("up_queue").str.extract(r"^(\d+) packets$").cast(pl.Int64).alias("buffer")
    runs = runs_of(results).with_columns(buffer, pl.lit(of).alias("of"))
    return runs.drop_nulls(["buffer", COMPARED])
