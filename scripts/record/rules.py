"""What the relay does to which packets."""

from __future__ import annotations

import random
from collections.abc import Container
from dataclasses import dataclass, field

from .packets import Segment

HALF = 1 << 31


@dataclass(frozen=True)
class Rule:
    """An effect on the packets that it matches; the first rule that matches a packet decides.

    `down` is from the server to the client. A position counts the packets of this kind in this direction
    from 1; data keep the position that they had when they were first sent. `transmissions` says which
    sending of the same data is meant, 1 for the first. `seconds` is the delay, or for how long `hold`
    lets nothing of this direction past, beginning with the packet that matched.
    """

    effect: str  # drop, delay, duplicate, hold
    direction: str = "down"
    kind: str = "data"
    positions: Container[int] | None = None
    transmissions: Container[int] | None = (1,)
    probability: float = 1.0
    every: int = 1
    seconds: float = 0.0


@dataclass
class Counter:
    """Gives each packet of one direction its position and the number of its transmission."""

    kinds: dict[str, int] = field(default_factory=dict)
    data: dict[int, list[int]] = field(default_factory=dict)
    highest: int | None = None

    def place(self, segment: Segment) -> tuple[int, int]:
        """Position and transmission, both from 1."""
        kind = segment.kind
        if kind != "data":
            self.kinds[kind] = self.kinds.get(kind, 0) + 1
            return self.kinds[kind], 1
        known = self.data.get(segment.seq)
        if known is None:
            new = self.highest is None or (segment.seq - self.highest) % (2 * HALF) < HALF
            known = [self._next() if new else self._covering(segment.seq), 0 if new else 1]
            self.data[segment.seq] = known
        known[1] += 1
        end = (segment.seq + segment.length) % (2 * HALF)
        if self.highest is None or (end - self.highest) % (2 * HALF) < HALF:
            self.highest = end
        return known[0], known[1]

    def _next(self) -> int:
        self.kinds["data"] = self.kinds.get("data", 0) + 1
        return self.kinds["data"]

    def _covering(self, seq: int) -> int:
        """Position of the data that begin last before `seq`."""
        return self.data[min(self.data, key=lambda begin: (seq - begin) % (2 * HALF))][0]


class Judge:
    """Applies the rules of a scenario to packets in the order in which they arrive."""

    def __init__(self, rules: tuple[Rule, ...], seed: int) -> None:
        self._rules = rules
        self._random = [random.Random(f"{seed} {index}") for index in range(len(rules))]
        self._counters: dict[str, Counter] = {"down": Counter(), "up": Counter()}

    def decide(self, direction: str, segment: Segment) -> tuple[Rule | None, int, int]:
        """The rule that decides, if one does, and position and transmission of the packet."""
        position, transmission = self._counters[direction].place(segment)
        for rule, source in zip(self._rules, self._random, strict=True):
            if (
                rule.direction == direction
                and rule.kind in (segment.kind, "any")
                and (rule.positions is None or position in rule.positions)
                and position % rule.every == 0
                and (rule.transmissions is None or transmission in rule.transmissions)
                and (rule.probability >= 1.0 or source.random() < rule.probability)
            ):
                return rule, position, transmission
        return None, position, transmission
