"""Whether the two windows are in phase more than two that have nothing to do with each other would be.

Section 5.1.1 calls windows in phase that change in the same direction around the same time. Two windows that
climb most of the time do so however they are laid upon each other. So the upload's is shifted against the
download's, in a circle and by at least :data:`LEAST` intervals: what all shifts give is what chance gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

LEAST = 5
CHANCE = 0.05
"""Windows are in phase where fewer shifts than this share agree as much, and out of phase where fewer agree
as little."""


@dataclass(frozen=True)
class Phase:
    """Steps in the same direction less steps in opposite ones, as a share of all; and what shifts give."""

    agreement: float
    by_chance: float
    """The mean over all shifts."""
    rank: float
    """The share of shifts that agree less: near 0 out of phase, near 1 in phase."""

    @property
    def excess(self) -> float:
        """Agreement beyond chance."""
        return self.agreement - self.by_chance

    def text(self) -> str:
        """For a note."""
        return f"same less opposite {self.agreement:+.2f}, shifted {self.by_chance:+.2f} on average"


def phase_of(runs: Sequence[pl.DataFrame]) -> Phase:
    """The phase of several runs of one point, put together; each with its intervals of the time with both.

    NaN where a sender never has a window.
    """
    steps = [(_steps(run, "server"), _steps(run, "client")) for run in runs]
    length = min(len(down) for down, _ in steps)
    shifts = np.arange(LEAST, length - LEAST)
    same = [float((down[:length] * up[:length]).mean()) for down, up in steps]
    shifted = np.mean(
        [[float((down[:length] * np.roll(up[:length], by)).mean()) for by in shifts] for down, up in steps],
        axis=0,
    )
    agreement = float(np.mean(same))
    if not np.isfinite(agreement):
        return Phase(np.nan, np.nan, np.nan)
    rank = float(np.mean(shifted < agreement) + np.mean(shifted == agreement) / 2)
    return Phase(agreement, float(shifted.mean()), rank)


def _steps(intervals: pl.DataFrame, host: str) -> NDArray[np.float64]:
    column = intervals.filter(pl.col("host") == host).sort("from_ns")["cwnd_mean"]
    filled = column.fill_null(strategy="forward").fill_null(strategy="backward").to_numpy()
    signs: NDArray[np.float64] = np.sign(np.diff(filled))
    return signs
