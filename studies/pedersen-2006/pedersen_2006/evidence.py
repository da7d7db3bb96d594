"""What the runs show: each part's retransmissions, run by run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from rexmit import Results
from rexmit.analyse import retransmission_delays

READINGS = {
    "enhancements": {"+reduce RTO+FR": "all but restart"},
    "burst": {"+reduce RTO+FR": "+reduce RTO+FR, restart", "+FR bundling": "+FR bundling, restart"},
}
"""Where a published row can be read in several ways: the level that it is compared with (A-002-4)."""

_FACTORS = {
    "tcp-thin": "extension",
    "tcp-thick": "extension",
    "enhancements": "enhancements",
    "burst": "enhancements",
}
"""The factor that the column `variant` names a level of."""

_CLASSES = {
    "any": None,
    "": None,
    "timeout or fast": ("timeout", "fast"),
    "bundled": ("bundled-reported-missing", "bundled-in-flight"),
}
"""Classes that stand for several of the table's; None for all of them."""


class Uncovered(Exception):  # noqa: N818 - no error: the results given say nothing about a row
    """These results say nothing about a published row."""


class Evidence:
    """The results given: some of the parts of the study."""

    def __init__(self, results: Sequence[Results]) -> None:
        self._results = {result.name.partition("/")[2]: result for result in results}
        self._frames: dict[str, pl.DataFrame] = {}

    def part(self, name: str) -> Results:
        """The results of a part. Raises Uncovered without it."""
        if name not in self._results:
            raise Uncovered(f"needs a folder of pedersen-2006/{name}")
        return self._results[name]

    def retransmissions(self, name: str) -> pl.DataFrame:
        """The table of retransmissions of a part."""
        if name not in self._frames:
            self._frames[name] = self.part(name).retransmissions()
        return self._frames[name]

    def cells(self, name: str, place: Mapping[str, str]) -> tuple[int, pl.DataFrame]:
        """How many runs there are at a published row's place, and their retransmissions, pooled by run.

        Raises Uncovered where no run is there.
        """
        levels = levels_of(name, place)
        runs = _at(self.part(name).table(), levels)
        if runs.is_empty():
            found = ", ".join(f"{key} {level}" for key, level in levels.items())
            raise Uncovered(f"these results of pedersen-2006/{name} have no run at {found}")
        frame = _at(self.retransmissions(name), levels)
        if place["retransmission"] not in ("", "any"):
            frame = frame.filter(pl.col("number") == int(place["retransmission"]))
        classes = _CLASSES.get(place["class"], (place["class"],))
        if classes is not None:
            frame = frame.filter(pl.col("class").is_in(classes))
        delays = "consecutive" if name.startswith("tcp-") else "cumulative"
        return len(runs), retransmission_delays(frame, ["run"], delays)


def levels_of(name: str, place: Mapping[str, str]) -> dict[str, str]:
    """The levels of a part's factors at a published row's place."""
    levels = {}
    if name in ("thin", "thick", "tcp-thin", "tcp-thick"):
        levels["rtt"] = f"{place['rtt_ms']} ms"
    if place["variant"] and name in _FACTORS:
        levels[_FACTORS[name]] = READINGS.get(name, {}).get(place["variant"], place["variant"])
    return levels


def _at(frame: pl.DataFrame, levels: Mapping[str, str]) -> pl.DataFrame:
    for factor, level in levels.items():
        frame = frame.filter(pl.col(factor) == level)
    return frame
