"""Many scenarios on two systems: in which they part, and in what kinds of ways."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from statistics import median
from typing import Any

from rexmit.diff.mechanism import Mechanism, mechanism_of
from rexmit.diff.pairs import FAILURE, PACKETS, RESULTS, TIMES, WINDOWS, Pair, compare
from rexmit.diff.shrink import compared, shrink
from rexmit.diff.systems import Scenario, System, ran_on_both
from rexmit.run.runner import Progress

LEVELS: Mapping[str, str] = {
    FAILURE: "one system could not run it",
    PACKETS: "other packets",
    TIMES: "the same packets at different times",
    WINDOWS: "the same packets with different windows",
    RESULTS: "the same packets, but different counts",
}
"""What may differ, the most first."""

AT_ONCE = 1000
"""Scenarios whose captures are there at one time."""


@dataclass(frozen=True)
class Cluster:
    """Scenarios that part in the same way: their level, the kind of their first difference, and each pair."""

    level: str
    kind: str
    pairs: Sequence[Pair]

    @property
    def changes(self) -> list[float]:
        """Completion times under B over those under A, of the pairs that ended on both."""
        times = (pair.times_ns for pair in self.pairs)
        return [after / before for before, after in times if before and after is not None]

    @property
    def causes(self) -> Mapping[str, int]:
        """By cause, how much more often B sent something again than A; without those that are even."""
        more: Counter[str] = Counter()
        for pair in self.pairs:
            more.update(pair.causes[1])
            more.subtract(pair.causes[0])
        return {cause: count for cause, count in more.most_common() if count}

    @property
    def median_change(self) -> float | None:
        """The median of these, None where none ended on both."""
        return median(self.changes) if self.changes else None


@dataclass(frozen=True)
class Case:
    """The smallest scenario of a cluster that was found: as a table, how the systems part in it, and why.

    `drawn` is the scenario that it was made of.
    """

    cluster: Cluster
    drawn: int
    scenario: Mapping[str, Any]
    pair: Pair
    mechanism: Mechanism | None


@dataclass(frozen=True)
class Found:
    """What a search has found: both systems, each pair by the number of its scenario, clusters, cases."""

    systems: tuple[System, System]
    pairs: Mapping[int, Pair]
    cases: Sequence[Case] = field(default_factory=tuple)

    @cached_property
    def clusters(self) -> list[Cluster]:
        """The pairs that differ by what differs first, the highest level and the largest first."""
        by_kind: dict[tuple[str, str], list[Pair]] = defaultdict(list)
        for pair in self.pairs.values():
            if pair.level is not None:
                by_kind[pair.level, pair.kind].append(pair)
        found = [Cluster(level, kind, pairs) for (level, kind), pairs in by_kind.items()]
        order = list(LEVELS)
        return sorted(found, key=lambda one: (order.index(one.level), -len(one.pairs), one.kind))

    @property
    def other_causes(self) -> int:
        """Scenarios in which something was sent again for other causes, or a different number of times."""
        return sum(pair.causes[0] != pair.causes[1] for pair in self.pairs.values())

    @cached_property
    def levels(self) -> Counter[str]:
        """Scenarios by what differs at most."""
        return Counter(pair.level for pair in self.pairs.values() if pair.level is not None)


def search(
    systems: tuple[System, System],
    scenarios: Iterable[tuple[int, Scenario]],
    total: int,
    told: Progress = lambda *_: None,
) -> Found:
    """Runs every scenario on both systems and compares them.

    Raises an error of one line where a system cannot be run here, or a scenario not on one of them.
    """
    for system in systems:
        system.check()
    source, pairs, done = iter(scenarios), {}, 0
    while some := dict(islice(source, AT_ONCE)):
        with ran_on_both(systems, some) as (left, right):
            for number in some:
                pairs[number] = compare(number, left[number], right[number])
                done += 1
                if done % 50 == 0 or done == total:
                    told("scenarios", done, total)
    return Found(systems, pairs)


def smallest_cases(
    found: Found, scenario_of: Callable[[int], Scenario], most: int, told: Progress = lambda *_: None
) -> Found:
    """The same with the smallest case of each of the first `most` clusters.

    Each is made of the cluster's scenario with the fewest packets up to the first difference.
    """
    chosen, cases = found.clusters[:most], []
    for done, cluster in enumerate(chosen):
        told("smallest cases", done, len(chosen))
        best = min(cluster.pairs, key=lambda pair: (pair.first.index if pair.first else 0, pair.number))
        scenario, pair = dict(scenario_of(best.number)), best
        if cluster.level != FAILURE:
            # With the random numbers of a scenario by itself, whoever runs its file sees the same.
            alone = compared({0: scenario}, 0, found.systems)[0]
            start = alone if (alone.level, alone.kind) == (best.level, best.kind) else best
            scenario, pair = shrink(scenario, start, found.systems)
        why = mechanism_of(scenario, pair, found.systems) if pair.first else None
        cases.append(Case(cluster, best.number, scenario, pair, why))
    told("smallest cases", len(chosen), len(chosen))
    return Found(found.systems, found.pairs, cases)
