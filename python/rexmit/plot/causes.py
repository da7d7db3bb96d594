"""How causes of retransmissions look in graphs: a colour and a letter, lower case where it was not needed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rexmit.analyse.words import CAUSES, LETTERS
from rexmit.plot.connections import Causes, Integers, Truths

COLOURS = {
    "syn": "#0072b2",
    "syn-ack": "#0072b2",
    "fin": "#0072b2",
    "fast": "#d5231e",
    "reordering-timer": "#8e0f4d",
    "partial-ack": "#c65a00",
    "sack-recovery": "#c65a00",
    "tail-probe": "#7a5c00",
    "timeout": "#0057d9",
    "go-back-n": "#3b9ae0",
    "window-probe": "#6b6b6b",
    "keep-alive": "#6b6b6b",
    "unknown": "#8a8a8a",
}
"""Told apart with every common form of colour blindness together with the letters."""

SCTP_COLOURS = {
    "fast": "#d5231e",
    "fast-again": "#8e0f4d",
    "timeout": "#0057d9",
    "after-timeout": "#3b9ae0",
    "bundled-reported-missing": "#c65a00",
    "bundled-in-flight": "#7a5c00",
    "with-new-data": "#3f7d20",
    "with-cookie": "#0072b2",
    "window-probe": "#6b6b6b",
    "unknown": "#8a8a8a",
}
"""The same for SCTP."""


@dataclass(frozen=True)
class Group:
    """Packets that were sent again for one cause, needed or not."""

    cause: str
    needed: bool
    rows: Truths

    @property
    def letter(self) -> str:
        """What stands beside them."""
        letter = LETTERS[self.cause]
        return letter if self.needed else letter.lower()

    @property
    def label(self) -> str:
        """What the legend says."""
        return f"{CAUSES[self.cause]}{'' if self.needed else ', not needed'} ({self.letter})"

    @property
    def colour(self) -> str:
        """Its colour."""
        return COLOURS[self.cause]


def groups(numbers: Integers, causes: Causes) -> list[Group]:
    """The packets of these numbers by their cause, in the order of `CAUSES`."""
    found = []
    for cause in CAUSES:
        for needed in (True, False):
            doubted = np.isin(causes.need, ("spurious", "unnecessary"))
            own = causes.number[(causes.cause == cause) & (doubted != needed)]
            rows: Truths = np.isin(numbers, own)
            if rows.any():
                found.append(Group(cause, needed, rows))
    return found
