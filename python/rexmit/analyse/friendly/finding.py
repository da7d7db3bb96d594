"""A condition of the TCP-friendly formula and what a capture says of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Evidence: TypeAlias = dict[str, float | int | str | None]
"""Numbers by name; times in ns, shares from 0 to 1."""


class Verdict(StrEnum):
    """What is said of a condition."""

    HOLDS = "holds"
    FAILS = "fails"
    UNSEEN = "cannot be seen"


class Applies(StrEnum):
    """Whether the formula may be applied to a flow: nothing fails and all was seen, nothing fails, or no."""

    YES = "yes"
    UNCLEAR = "unclear"
    NO = "no"


@dataclass(frozen=True)
class Condition:
    """One of klaver-2005's seven conditions (chapter 2), by its number, or a further reason without one."""

    name: str
    number: int | None
    title: str

    @property
    def label(self) -> str:
        """Such as `3 receiver window`."""
        return self.title if self.number is None else f"{self.number} {self.title}"


ONE_LOSS = Condition("one-loss", 1, "one loss per cycle")
ACKS = Condition("acks", 2, "consistent ACKs")
RECEIVER_WINDOW = Condition("receiver-window", 3, "receiver window does not limit")
DATA = Condition("data", 4, "application always has data")
SACK = Condition("sack", 5, "SACK on both sides")
GROWTH = Condition("growth", 6, "window grows as Reno's")
EQUILIBRIUM = Condition("equilibrium", 7, "equilibrium, a periodic sawtooth")
LOSSES = Condition("losses", None, "something is lost")
CYCLES = Condition("cycles", None, "enough cycles")
TIMEOUTS = Condition("timeouts", None, "no timeouts")
REORDERING = Condition("reordering", None, "no reordering")
VANTAGE = Condition("vantage", None, "captured at the sender")
LENGTH = Condition("length", None, "long enough")

CONDITIONS = (
    *(ONE_LOSS, ACKS, RECEIVER_WINDOW, DATA, SACK, GROWTH, EQUILIBRIUM),
    *(LOSSES, CYCLES, TIMEOUTS, REORDERING, VANTAGE, LENGTH),
)
"""In the order in which they are reported."""

NOT_DECISIVE = (ONE_LOSS,)
"""These may fail: several losses close together are one loss event, and p counts events (section 3.2)."""


@dataclass(frozen=True)
class Finding:
    """The verdict on a condition, its evidence in numbers and in a sentence."""

    condition: Condition
    verdict: Verdict
    sentence: str
    evidence: Evidence = field(default_factory=dict)

    @property
    def decides(self) -> bool:
        """Whether it forbids the formula."""
        return self.verdict is Verdict.FAILS and self.condition not in NOT_DECISIVE


def applies(findings: list[Finding]) -> Applies:
    """What the findings come to."""
    if any(finding.decides for finding in findings):
        return Applies.NO
    unseen = any(finding.verdict is Verdict.UNSEEN for finding in findings)
    return Applies.UNCLEAR if unseen else Applies.YES
