"""Full factorial designs: which run has which levels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rexmit.errors import StudyError, nearest
from rexmit.study.factors import Factor

MOST_RUNS = 2**32 - 1
LARGEST_SEED = 2**63 - 1
"""TOML holds integers up to this."""


@dataclass(frozen=True)
class Point:
    """One run's place in the design: the index of each factor's level, and the replication from 0."""

    run: int
    levels: tuple[int, ...]
    replication: int


@dataclass(frozen=True)
class Design:
    """A full factorial with replications.

    Runs are numbered from 0: the replication varies fastest, then the last factor, the first factor slowest.
    The random streams of a run come from `seed`, the run's levels and its replication, so that another
    level or factor does not change them.
    """

    factors: tuple[Factor, ...]
    replications: int = 1
    seed: int = 1

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.replications * math.prod(len(factor.levels) for factor in self.factors)

    def point(self, run: int) -> Point:
        """The place of the run of this number."""
        if not 0 <= run < self.runs:
            raise StudyError(f"there is no run {run}; this design has runs 0..{self.runs - 1}")
        rest, replication = divmod(run, self.replications)
        levels = []
        for factor in reversed(self.factors):
            rest, level = divmod(rest, len(factor.levels))
            levels.append(level)
        return Point(run, tuple(reversed(levels)), replication)

    def number(self, levels: Sequence[int], replication: int = 0) -> int:
        """The number of the run with these levels, the inverse of `point`."""
        run = 0
        for factor, level in zip(self.factors, levels, strict=True):
            run = run * len(factor.levels) + level
        return run * self.replications + replication

    def points(self) -> Iterator[Point]:
        """All runs in order."""
        return (self.point(run) for run in range(self.runs))


def parse_design(given: dict[str, object], factors: Sequence[Factor]) -> Design:
    """A design from the table `[design]`. Raises StudyError naming the key and what is allowed."""
    known = {"replications", "seed"}
    for key in given:
        if key not in known:
            raise StudyError(f"design: unknown key {key!r}{nearest(key, known)}")
    replications = _whole("replications", given.get("replications", 1), 1, MOST_RUNS)
    seed = _whole("seed", given.get("seed", 1), 0, LARGEST_SEED)
    design = Design(tuple(factors), replications, seed)
    if design.runs > MOST_RUNS:
        raise StudyError(f"vary: {design.runs} runs are more than the {MOST_RUNS} that one study may have")
    return design


def _whole(key: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise StudyError(f"design.{key}: {value!r} is no whole number from {least} to {most}")
    return value
