"""What the runs show: each part's retransmissions, run by run, and the packets of single runs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import rexmit
from rexmit import Results
from rexmit.analyse import Uncovered, retransmission_delays

CHOSEN: Mapping[str, str] = {
    "enhancements/+reduce RTO+FR": "all but restart",
    "burst/+reduce RTO+FR": "+reduce RTO+FR, restart",
    "burst/+FR bundling": "+FR bundling, restart",
}
"""Where a published row can be read in several ways: the level that it is compared with (A-002-4)."""

LITERAL: Mapping[str, str] = {
    "burst/+reduce RTO+FR": "+reduce RTO+FR, literal",
    "burst/+FR bundling": "+FR bundling, literal",
}
"""The same rows by the words of the text alone."""

RENO: Mapping[str, str] = {"tcp-thin": "tcp-thin-reno", "tcp-thick": "tcp-thick-reno"}
"""Parts that stand for others where TCP is what the text calls it."""

_FACTORS = {
    "tcp-thin": "extension",
    "tcp-thick": "extension",
    "tcp-thin-reno": "extension",
    "tcp-thick-reno": "extension",
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

Levels = Mapping[str, object]


class Evidence:
    """The results given: some of the parts of the study."""

    def __init__(
        self,
        results: Sequence[Results],
        readings: Mapping[str, str] = CHOSEN,
        parts: Mapping[str, str] | None = None,
    ) -> None:
        """`readings`: the levels of ambiguous rows; `parts`: those that stand for others."""
        self._results = {result.name.partition("/")[2]: result for result in results}
        self._readings = readings
        self._parts = parts or {}
        self._frames: dict[str, pl.DataFrame] = {}
        self._listings: dict[tuple[str, int, tuple[str, ...]], Any] = {}

    def part(self, name: str) -> Results:
        """The results of a part. Raises Uncovered without it."""
        name = self._parts.get(name, name)
        if name not in self._results:
            raise Uncovered(f"needs a folder of pedersen-2006/{name}")
        return self._results[name]

    def retransmissions(self, name: str) -> pl.DataFrame:
        """The table of retransmissions of a part."""
        if name not in self._frames:
            self._frames[name] = self.part(name).retransmissions()
        return self._frames[name]

    def at(self, name: str, levels: Levels) -> pl.DataFrame:
        """The runs of a part at these levels. Raises Uncovered where there is none."""
        runs = _at(self.part(name).table(), levels)
        if runs.is_empty():
            found = ", ".join(f"{key} {level}" for key, level in levels.items())
            raise Uncovered(f"these results of pedersen-2006/{name} have no run at {found}")
        return runs

    def cells(self, name: str, place: Mapping[str, str]) -> tuple[int, pl.DataFrame]:
        """How many runs there are at a published row's place, and their retransmissions, pooled by run.

        Raises Uncovered where no run is there.
        """
        levels = self.levels_of(name, place)
        return len(self.at(name, levels)), self.pooled(
            name, levels, place["class"], place["retransmission"], by="run"
        )

    def pooled(
        self, name: str, levels: Levels, kind: str = "any", number: str = "any", *, by: str = "replication"
    ) -> pl.DataFrame:
        """Retransmissions of a class and number at these levels, pooled by replication (or by run)."""
        frame = _at(self.retransmissions(name), levels)
        if number not in ("", "any"):
            frame = frame.filter(pl.col("number") == int(number))
        classes = _CLASSES.get(kind, (kind,))
        if classes is not None:
            frame = frame.filter(pl.col("class").is_in(classes))
        delays = "consecutive" if name.startswith("tcp-") else "cumulative"
        return retransmission_delays(frame, [by], delays)

    def levels_of(self, name: str, place: Mapping[str, str]) -> dict[str, object]:
        """The levels of a part's factors at a published row's place."""
        levels: dict[str, object] = {}
        if name in ("thin", "thick") or name.startswith("tcp-"):
            levels["rtt"] = f"{place['rtt_ms']} ms"
        if place["variant"] and name in _FACTORS:
            variant = place["variant"]
            levels[_FACTORS[name]] = self._readings.get(f"{name}/{variant}", variant)
        return levels

    def listing(self, name: str, levels: Levels, *tables: str, replication: int = 0) -> Any:
        """The analysis of a run's packets at its sender: one of the replications at these levels."""
        runs = self.at(name, levels)["run"].to_list()
        if replication >= len(runs):
            raise Uncovered(f"pedersen-2006/{name}: needs more replications")
        run = runs[replication]
        if (name, run, tables) not in self._listings:
            self._listings[name, run, tables] = listed(self.part(name), run, tables)
        return self._listings[name, run, tables]


def listed(results: Results, run: int, tables: Sequence[str], threshold: int = 4) -> Any:
    """The analysis of a run's packets at its sender."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "client.pcapng"
        results.capture(run, client=capture)
        return rexmit.analyze(capture, tables=list(tables), sctp_threshold=threshold)


def _at(frame: pl.DataFrame, levels: Levels) -> pl.DataFrame:
    for factor, level in levels.items():
        frame = frame.filter(pl.col(factor) == level)
    return frame
