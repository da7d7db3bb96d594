"""What the results given have: pairs of the model and of Linux, and groups beside each other."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rexmit import Results
from rexmit.analyse import Uncovered

from . import groups, pairs

MODEL, LINUX = "who-shares/pairs", "who-shares/linux"
BBR, SHALLOW = "who-shares/bbr", "who-shares/shallow"


class Evidence:
    """The results given, by the names of their studies."""

    def __init__(self, results: Sequence[Results]) -> None:
        self._results = {one.name: one for one in results}
        self._frames: dict[str, pl.DataFrame] = {}

    def frame(self, name: str) -> pl.DataFrame:
        """One row per run of a study: :func:`pairs.shared` of pairs, :func:`groups.shares` of groups.

        Raises Uncovered where it was not run.
        """
        if name not in self._frames:
            make = pairs.shared if name in (MODEL, LINUX) else groups.shares
            self._frames[name] = make(self._of(name))
        return self._frames[name]

    def over_time(self, name: str) -> pl.DataFrame:
        """The share of BBR in each second of each run (see :func:`groups.over_time`)."""
        return groups.over_time(self._of(name))

    def _of(self, name: str) -> Results:
        if name not in self._results:
            raise Uncovered(f"needs results of {name}")
        return self._results[name]
