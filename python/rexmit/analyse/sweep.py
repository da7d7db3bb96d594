"""The buffer of an uplink by trial: merritt-2010's two-way traffic over one link, buffer by buffer."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rexmit.analyse.both_ways import crossing, two_way
from rexmit.errors import UsageError
from rexmit.run import Results
from rexmit.study import StudySpec, load_spec

OWN_LINK = "merritt-2010/own-link"
BUFFER = "path.up.queue"
MOST_BUFFERS = 1000
KEEPS = 0.9
"""The share of its goodput alone that a download must keep."""

_RANGE = re.compile(r"(\d+)(?:\.\.(\d+)(?:/(\d+))?)?")


def own_link(settings: Mapping[str, Any], buffers: Sequence[int] = ()) -> StudySpec:
    """The study `merritt-2010/own-link` with other settings, and other buffers (packets) where given."""
    spec = load_spec(OWN_LINK)
    for key, value in settings.items():
        spec = spec.with_set(key, value)
    if buffers:
        spec = spec.with_set(BUFFER, [f"{buffer} packets" for buffer in buffers])
    return spec


def parse_buffers(text: str) -> list[int]:
    """Buffers such as `1..10, 15, 20..50/5`, ascending. Raises ValueError of one line."""
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{part.strip()!r} is not a number or range of packets such as 20..50/5")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        _check_range(part.strip(), first, last, step)
        found |= set(range(first, last + 1, step))
    if len(found) > MOST_BUFFERS:
        raise ValueError(f"{len(found)} buffers are too many; at most {MOST_BUFFERS}")
    return sorted(found)


def _check_range(text: str, first: int, last: int, step: int) -> None:
    if first < 1:
        raise ValueError(f"{text!r} begins with {first}; a buffer has at least 1 packet")
    if last < first:
        raise ValueError(f"{text!r} goes down; name the smaller number of packets first: {last}..{first}")
    if step < 1:
        raise ValueError(f"{text!r} has steps of {step}; a step is at least 1 packet")
    number = (last - first) // step + 1
    if number > MOST_BUFFERS:
        raise ValueError(f"{text!r} is {number} numbers of packets; at most {MOST_BUFFERS} are run")


@dataclass(frozen=True)
class Sweep:
    """What two-way traffic got over one link with each buffer of its uplink.

    `rows` has one row per buffer, ascending: `buffer` (packets), `runs`, the means over runs of the measures
    of `two_way`, and `down_low`, `down_high`, the least and greatest `down_share` of single runs.
    """

    rows: pl.DataFrame

    @classmethod
    def of(cls, results: Results) -> Sweep:
        """The sweep of results of `own_link`. Raises UsageError for runs over several links."""
        runs = two_way(results)
        runs = runs.with_columns(
            pl.col("up_queue").str.extract(r"^(\d+) packets?$").cast(pl.Int64).alias("buffer")
        )
        if runs["buffer"].null_count() or runs.select("down_rate", "up_rate").n_unique() != 1:
            raise UsageError(f"{results.name}: a sweep is over buffers in packets, of one link")
        numbers = [name for name, kind in runs.schema.items() if kind == pl.Float64] + [
            "down_window",
            "up_window",
        ]
        share = pl.col("down_share")
        rows = runs.group_by("buffer").agg(
            pl.len().alias("runs"),
            *(pl.col(name).mean() for name in numbers),
            share.min().alias("down_low"),
            share.max().alias("down_high"),
        )
        return cls(rows.sort("buffer"))

    @property
    def alone_share(self) -> float:
        """The share of its rate that the download has alone."""
        return self._mean("alone_goodput") / self.down_rate

    @property
    def rtt(self) -> float:
        """Mean RTT of the download alone, in seconds."""
        return self._mean("alone_rtt_ms") / 1000

    @property
    def up_rate(self) -> float:
        """Of the path, bit/s."""
        return self._mean("up_rate")

    @property
    def down_rate(self) -> float:
        """Of the path, bit/s."""
        return self._mean("down_rate")

    @property
    def best(self) -> int:
        """The buffer with the greatest Performance, the smaller share (equation 1.2), in packets."""
        return int(self.rows.sort("performance", "buffer", descending=[True, False])["buffer"][0])

    @property
    def keeping(self) -> int | None:
        """The largest buffer up to which the download keeps 90 % of what it has alone; None for none."""
        found = None
        for buffer, share in self.rows.select("buffer", "down_share").rows():
            if share < KEEPS * self.alone_share:
                break
            found = int(buffer)
        return found

    @property
    def rule(self) -> int | None:
        """The largest whole buffer below where the estimate by (6.6) meets the buffer; None for none."""
        met = crossing(self.rows.select("buffer", "bound").rows())
        return None if met is None else max(math.ceil(met) - 1, 1)

    def at(self, measure: str, buffer: float) -> float | None:
        """A measure at a buffer, straight between those that were run; None outside them."""
        buffers = self.rows["buffer"].to_numpy()
        if not buffers[0] <= buffer <= buffers[-1]:
            return None
        return float(np.interp(buffer, buffers, self.rows[measure].to_numpy()))

    def ran(self, buffer: float) -> bool:
        """Whether this very buffer was run; what `at` says of others lies between two that were."""
        return bool((self.rows["buffer"] == buffer).any())

    def _mean(self, column: str) -> float:
        return float(self.rows[column].mean())  # type: ignore[arg-type]
