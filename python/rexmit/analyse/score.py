"""How well runs of ours predict published values: a proper score of a whole table.

A published value of a single run is one more run beside ours. If the model is right, the central 50 %
interval of one more run holds half of the published values, that of 80 % four fifths, and so on; one that is
too wide holds more, and says less. So the shares stand beside their levels and beside the width of the
intervals.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from rexmit.analyse.compare import Check
from rexmit.analyse.stats import prediction_interval

LEVELS = (0.5, 0.8, 0.95)
WIDE = 4.0
"""Intervals wider than this factor are counted apart, and never as agreement."""


@dataclass(frozen=True)
class Share:
    """How many published values lie in the central interval of a level."""

    level: float
    inside: int
    cells: int
    low: float
    """By chance alone, the share of this many independent cells lies between this and `high`, at 95 %."""
    high: float

    @property
    def share(self) -> float:
        """The share inside."""
        return self.inside / self.cells


@dataclass(frozen=True)
class Score:
    """The score of a table."""

    shares: Sequence[Share]
    cells: int
    """Cells scored: those whose interval of the highest level is no wider than :data:`WIDE`."""
    wide: int
    """Cells whose interval is wider: they say nothing."""
    sharpness: float
    """The median of greatest over least of the intervals of the highest level, of the cells scored."""
    runs: int
    """The least number of runs behind a cell scored."""

    def text(self) -> str:
        """Sentences for a page."""
        if not self.cells:
            return f"No cell can be scored; {self.wide} have intervals wider than a factor of {WIDE:g}."
        shares = "; ".join(
            f"{one.inside} of {one.cells} ({one.share:.0%}) inside the central {one.level:.0%} "
            f"(chance: {one.low:.0%} to {one.high:.0%})"
            for one in self.shares
        )
        return (
            f"Of {self.cells} cells {shares}. The intervals of {self.shares[-1].level:.0%} span a factor of "
            f"{self.sharpness:.2f} (median), from {self.runs} runs and more each. Not counted, as their "
            f"intervals are wider than a factor of {WIDE:g}: {self.wide} cells."
        )


def score(checks: Sequence[Check]) -> Score:
    """Scores the checks that have values of single runs and a single published number.

    An interval that reaches 0 or below is as wide as can be. Fewer than three runs predict nothing and are
    counted as wide.
    """
    cells = [(check, _single(check)) for check in checks if check.values]
    scored, wide = [], 0
    for check, published in cells:
        if published is None:
            continue
        spans = _spans(check.values)
        if spans is None or _factor(spans[-1]) > WIDE:
            wide += 1
        else:
            scored.append((published, float(check.published.tolerance or 0), spans, len(check.values)))
    shares = [
        _share(level, [(p, room, spans[at]) for p, room, spans, _ in scored])
        for at, level in enumerate(LEVELS)
        if scored
    ]
    sharpness = statistics.median(_factor(spans[-1]) for _, _, spans, _ in scored) if scored else math.nan
    return Score(shares, len(scored), wide, sharpness, min((runs for *_, runs in scored), default=0))


def _single(check: Check) -> float | None:
    """The published number, where it is one."""
    if not check.published.value:
        return None
    low, high = check.published.interval()
    return low if low == high else None


def _spans(values: Sequence[float]) -> list[tuple[float, float]] | None:
    if len(values) < 3:
        return None
    return [prediction_interval(values, level) for level in LEVELS]


def _factor(span: tuple[float, float]) -> float:
    return span[1] / span[0] if span[0] > 0 else math.inf


def _share(level: float, cells: Sequence[tuple[float, float, tuple[float, float]]]) -> Share:
    """The tolerance of a row, what its printing allows, is added on either side."""
    inside = sum(low - room <= published <= high + room for published, room, (low, high) in cells)
    half = 1.96 * math.sqrt(level * (1 - level) / len(cells))
    return Share(level, inside, len(cells), max(level - half, 0), min(level + half, 1))
