"""Random numbers of a scenario, each by its name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")


class Numbers:
    """Numbers that are a function of what the scenario is called and of their own names, and of nothing else.

    There is no state: a name gives the same each time, in whatever order names are asked for.
    """

    def __init__(self, *scenario: object) -> None:
        self._scenario = "/".join(map(str, scenario))

    def share(self, name: str) -> float:
        """At least 0 and below 1."""
        digest = blake2b(f"{self._scenario}/{name}".encode(), digest_size=8).digest()
        return (int.from_bytes(digest, "big") >> 11) / (1 << 53)

    def chance(self, name: str, probability: float) -> bool:
        """True with this probability."""
        return self.share(name) < probability

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number, both ends included."""
        return least + int(self.share(name) * (most - least + 1))

    def spread(self, name: str, least: float, most: float) -> int:
        """A whole number whose logarithm is uniform: small ones are as likely as large ones."""
        return round(math.exp(math.log(least) + self.share(name) * math.log(most / least)))

    def one_of(self, name: str, those: Sequence[T]) -> T:
        """One of those, each as likely."""
        return those[int(self.share(name) * len(those))]

    def weighed(self, name: str, those: Mapping[T, float]) -> T:
        """One of those, as likely as its weight says."""
        left = self.share(name) * sum(those.values())
        for one, weight in those.items():
            left -= weight
            if left < 0:
                return one
        return list(those)[-1]

    def positions(self, name: str, most: int, count: int) -> str:
        """So many positions of packets from 1 on, or fewer where some are the same, as a pattern."""
        chosen = {self.spread(f"{name}.{i}", 1, most) for i in range(count)}
        return ",".join(map(str, sorted(chosen)))


def bytes_of(count: int) -> str:
    """An amount of data as a scenario has it."""
    return f"{count} bytes"


def ms(count: int) -> str:
    """A time of whole milliseconds, likewise."""
    return f"{count} ms"


def us(count: int) -> str:
    """A time of whole microseconds, likewise."""
    return f"{count} us"
