"""The ways between hosts of a scenario: the lowest rate on each, and its round trip without queues."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rexmit import _native
from rexmit.study.network import directions
from rexmit.study.settings import Table


@dataclass(frozen=True)
class Way:
    """From one host to another: the lowest rate, bit/s (infinite without one), and ns there and back.

    Either is not a number where it is not known.
    """

    rate: float
    round_trip: float


_UNKNOWN = Way(math.nan, math.nan)


class Ways:
    """The ways of one scenario, whose links make a tree."""

    def __init__(self, scenario: Mapping[str, Any]) -> None:
        self._links: dict[str, dict[str, tuple[float, float]]] = {}
        for one in directions(scenario):
            # Data go by the first path where there are two.
            if one.name != "alternate":
                rate, delay = rate_of(one.settings), _delay(one.settings)
                self._links.setdefault(one.start, {})[one.end] = rate, delay
        self._parents: dict[str, tuple[str, int]] = {}
        for root in self._links:
            if root not in self._parents:
                self._hang(root)
        self._found: dict[tuple[str, str], Way] = {}

    def between(self, sender: str, receiver: str) -> Way:
        """The way of data from one host to another; unknown where there is none."""
        key = sender, receiver
        if key not in self._found:
            self._found[key] = self._way(*key)
        return self._found[key]

    def _hang(self, root: str) -> None:
        self._parents[root] = root, 0
        waiting = [root]
        while waiting:
            at = waiting.pop()
            for end in self._links.get(at, ()):
                if end not in self._parents:
                    self._parents[end] = at, self._parents[at][1] + 1
                    waiting.append(end)

    def _way(self, sender: str, receiver: str) -> Way:
        if sender not in self._parents or receiver not in self._parents:
            return _UNKNOWN
        rate, time = math.inf, 0.0
        ends = [sender, receiver]
        while ends[0] != ends[1]:
            side = 0 if self._parents[ends[0]][1] >= self._parents[ends[1]][1] else 1
            here, (up, depth) = ends[side], self._parents[ends[side]]
            if depth == 0:
                return _UNKNOWN
            forth, back = (self._links[a].get(b, (math.inf, 0.0)) for a, b in ((here, up), (up, here)))
            if side == 1:
                forth, back = back, forth
            # `min` would lose what is not a number.
            rate = forth[0] if not forth[0] >= rate else rate
            time += forth[1] + back[1]
            ends[side] = up
        return Way(rate, time)


def rate_of(settings: Table) -> float:
    """The rate of a direction of a link, bit/s: infinite without one, not a number where it is not known."""
    found = [math.inf]
    for key in ("rate", "link"):
        value = settings.get(key)
        if isinstance(value, str):
            found.append(float(_native.parse_rate(value)))
        elif value is not None:
            return math.nan
    return min(found)


def _delay(settings: Table) -> float:
    value = settings.get("delay")
    if isinstance(value, str):
        return float(_native.parse_duration(value))
    return 0.0 if value is None else math.nan
