"""The scenarios that every backend runs, drawn at random from a fixed seed."""

from __future__ import annotations

from collections.abc import Mapping

from rexmit.study.draw.losses import PHASES_NS, draw_losses
from rexmit.study.draw.losses import Losses as Drawn

SEED = 2026
"""Of all draws. Each scenario has a stream of its own, so that more of them do not change the others."""

PLAIN = {"recovery": 0, "early_retrans": 0}
"""A kernel without RACK and without tail probes, which is what the profile describes."""

GROUPS: Mapping[str, Mapping[str, int]] = {"plain": PLAIN, "default": {}}
"""Settings of the kernel beside the congestion control: `plain`, and as it comes."""

__all__ = ["GROUPS", "PHASES_NS", "PLAIN", "SEED", "Drawn", "draw"]


def draw(number: int) -> Drawn:
    """The scenario of this number, from 0."""
    return draw_losses(number, SEED)
