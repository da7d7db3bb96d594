"""The runs of the study, addressed as the thesis does: link in kbit/s and uplink buffer in packets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from rexmit import Results
from rexmit.analyse import crossing, two_way

BUFFERS = tuple(range(5, 55, 5))
"""Of table 4.1."""
LINKS = ((3000, 1000), (2400, 196), (3000, 100))
"""Of table 4.3, in the order of their asymmetry."""


class Uncovered(Exception):  # noqa: N818 - no error: the results given say nothing about a row
    """These results say nothing about a published row."""


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
        """The mean over runs of a measure (see `two_way`), for each of the buffers."""
        return self.runs.group_by("buffer").agg(pl.col(measure).mean()).sort("buffer")[measure].to_list()

    def at(self, measure: str, buffer: float) -> float:
        """The mean of a measure at a buffer, straight between the two that were run around it."""
        if not self.buffers or not self.buffers[0] <= buffer <= self.buffers[-1]:
            raise Uncovered(f"these results have no run on {self.name} around {buffer} packets")
        return float(np.interp(buffer, self.buffers, self.means(measure)))

    def range(self, measure: str, buffer: float) -> tuple[float, float]:
        """The least and the greatest of single runs at the buffers nearest around one."""
        near = [b for b in self.buffers if abs(b - buffer) < 5]
        if not near:
            raise Uncovered(f"these results have no run on {self.name} around {buffer} packets")
        values = self.runs.filter(pl.col("buffer").is_in(near))[measure]
        return float(values.min()), float(values.max())  # type: ignore[arg-type]

    def estimate(self) -> float | None:
        """Where the estimate by (6.6) meets the buffer (figure 6.2); None where it never does."""
        return crossing(list(zip(self.buffers, self.means("bound"), strict=True)))

    def whole(self) -> Link:
        """The same link, if all buffers of the thesis were run on it. Raises Uncovered otherwise."""
        if not set(BUFFERS) <= set(self.buffers):
            raise Uncovered(
                "says something about all buffers of table 4.1; these results have a part of them"
            )
        return self


class Evidence:
    """The results given, put together."""

    def __init__(self, results: Sequence[Results]) -> None:
        frames = [_frame(result) for result in results]
        self._runs = pl.concat([frame for frame in frames if frame is not None], how="diagonal_relaxed")

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


def _frame(results: Results) -> pl.DataFrame:
    buffer = pl.col("up_queue").str.extract(r"^(\d+) packets$").cast(pl.Int64).alias("buffer")
    return two_way(results).with_columns(buffer).drop_nulls("buffer")
