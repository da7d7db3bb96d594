"""Results that a module has, given to what would run the same part of a study again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rexmit import Results, Study


class Ran:
    """A part of a study that has been run; with another setting it is a study like any other."""

    def __init__(self, results: Results) -> None:
        self._study = Study.load(results.name)
        self._results = results

    def __getattr__(self, name: str) -> Any:
        return getattr(self._study, name)

    def run(self, *, progress: bool) -> Results:
        """What came out."""
        return self._results


def loading(ran: Sequence[Results]) -> Callable[[str], Ran | Study]:
    """`Study.load` that knows the results of some parts, which ran as they are."""
    known = {results.name: results for results in ran}
    return lambda name: Ran(known[name]) if name in known else Study.load(name)
