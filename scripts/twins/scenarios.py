"""The scenarios that every backend runs, drawn at random from a fixed seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rexmit.diff.systems import System
from rexmit.study.draw.losses import PHASES_NS, draw_losses
from rexmit.study.draw.losses import Losses as Drawn
from rexmit.study.draw.marks import draw_marks

SEED = 2026
"""Seed of all draws. Each scenario has a stream of its own, so that more of them do not change the others."""

PLAIN = {"recovery": 0, "early_retrans": 0}
"""A kernel without RACK and without tail probes, which is what the profile `linux-6.1-no-rack` describes."""

GROUPS: Mapping[str, Mapping[str, int]] = {"plain": PLAIN, "default": {}}
"""Settings of the kernel besides the congestion control: `plain`, and its defaults."""

NAMES = ("uml", "model")
"""Names of the two sides that are compared."""

PLAIN_PROFILE, WHOLE, RFC = "linux-6.1-no-rack", "linux-6.1", "rfc-2014"
MODELS = (PLAIN_PROFILE, WHOLE, RFC)
"""What the model is: profiles."""

BBR = "linux-6.1 with BBR"
FIRST_PHASES = (0, 2, 3, 4, 5, 6, 7)
"""Phases with which BBR may begin a cycle. The kernel draws one, from numbers that nobody else has."""

APART = 10_000
"""Scenarios from this number on are looked at by nobody while the model is worked on."""

__all__ = [
    "APART",
    "BBR",
    "FIRST_PHASES",
    "GROUPS",
    "MODELS",
    "NAMES",
    "PHASES_NS",
    "PLAIN",
    "PLAIN_PROFILE",
    "RFC",
    "SEED",
    "WHOLE",
    "Drawn",
    "bbr_table",
    "draw",
    "draw_bbr",
    "draw_ecn",
    "system_of",
    "table_of",
]


def draw(number: int) -> Drawn:
    """The scenario of this number, from 0."""
    return draw_losses(number, SEED)


def system_of(model: str) -> System:
    """The system of `rexmit diff` that runs one of `MODELS`."""
    return System.parse(model)


def table_of(one: Drawn, model: str, group: str = "default") -> dict[str, Any]:
    """The scenario as its file would hold it, on one of `MODELS` and with a kernel of one of `GROUPS`."""
    table = one.table("linux-6.1", GROUPS[group])
    for host in table["hosts"].values():
        host["stack"] = {**host["stack"], "inherits": model}
    return table


def draw_ecn(number: int) -> Drawn:
    """The scenario of this number, with ECN at its ends and marks on its path."""
    return draw_marks(number, SEED)


def draw_bbr(number: int) -> Drawn:
    """The scenario of this number, with BBR in place of its congestion control."""
    return replace(draw(number), algorithm="bbr")


def bbr_table(one: Drawn, first_phase: int) -> dict[str, Any]:
    """A scenario of `draw_bbr` as its file would hold it, on the model, whose cycles begin with a phase."""
    table = table_of(one, WHOLE)
    for host in table["hosts"].values():
        congestion = {"algorithm": "bbr", "bbr": {"first_phase": first_phase}}
        host["stack"] = {**host["stack"], "congestion": congestion}
    return table
