"""Full factorial designs: which run has which levels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rexmit.errors import StudyError, nearest
from rexmit.study.factors import Factor
from rexmit.study.keys import nearest_key

MOST_RUNS = 2**32 - 1
REPLICATION = "replication"
"""What a sequence calls the replication, besides the names of the factors."""

LARGEST_SEED = 2**63 - 1
"""TOML holds integers up to this."""


@dataclass(frozen=True)
class Point:
    """One run's place in the design: the index of each factor's level, and the replication from 0."""

    run: int
    levels: tuple[int, ...]
    replication: int


@dataclass(frozen=True)
class RunSequence:
    """Runs one after the other at the same hosts, each with what these kept of the runs before it.

    Runs that differ in nothing but `along` (names of factors, or `replication`) are a sequence, in the order
    of the levels; the last one named varies fastest. `gap` is the virtual time between two of them.
    """

    along: tuple[str, ...]
    gap: str = "0 s"

    def __str__(self) -> str:
        return f"one after the other along {', '.join(self.along)}, {self.gap} apart"

    def to_table(self) -> dict[str, Any]:
        """The value of `design.sequence`."""
        return {"along": list(self.along), "gap": self.gap}


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
    sequence: RunSequence | None = None

    def to_table(self) -> dict[str, Any]:
        """The table `[design]` that gives this design again, with these factors."""
        sequence = {} if self.sequence is None else {"sequence": self.sequence.to_table()}
        return {"replications": self.replications, "seed": self.seed, **sequence}

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
    known = {"replications", "seed", "sequence"}
    for key in given:
        if key not in known:
            raise StudyError(f"design: unknown key {key!r}{nearest_key(key, known)}")
    replications = _whole("replications", given.get("replications", 1), 1, MOST_RUNS)
    seed = _whole("seed", given.get("seed", 1), 0, LARGEST_SEED)
    sequence = _sequence(given["sequence"], factors) if "sequence" in given else None
    design = Design(tuple(factors), replications, seed, sequence)
    if design.runs > MOST_RUNS:
        raise StudyError(f"vary: {design.runs} runs are more than the {MOST_RUNS} that one study may have")
    return design


def _sequence(given: object, factors: Sequence[Factor]) -> RunSequence:
    known = {"along", "gap"}
    if not isinstance(given, dict):
        raise StudyError(
            f'design.sequence: {given!r} is not a table; write {{ along = ["{REPLICATION}"], gap = "10 s" }}'
        )
    for key in given:
        if key not in known:
            raise StudyError(f"design.sequence: unknown key {key!r}{nearest_key(key, known)}")
    along, gap = given.get("along"), given.get("gap", RunSequence.gap)
    if not isinstance(along, list) or not along:
        raise StudyError(
            f"design.sequence.along: {along!r} is not a list of factors; write the factors, or "
            f"{REPLICATION!r}, in whose order runs follow each other"
        )
    names = [*(factor.name for factor in factors), REPLICATION]
    for name in along:
        if name not in names:
            raise StudyError(f"design.sequence.along: {name!r} is not a factor{nearest(str(name), names)}")
        if along.count(name) > 1:
            raise StudyError(f"design.sequence.along: {name!r} appears twice")
    if not isinstance(gap, str):
        raise StudyError(f'design.sequence.gap: {gap!r} is not a time; write such as "10 s"')
    return RunSequence(tuple(along), gap)


def _whole(key: str, value: object, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise StudyError(f"design.{key}: {value!r} is not a whole number from {least} to {most}")
    return value
