"""What is to be seen of a study while it runs: responses so far, level by level, and the runs that failed."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rexmit.errors import one_line
from rexmit.study import Design
from rexmit.study.factors import Factor

MOST_LEVELS = 8
"""Responses are shown by the first factor that varies, if it has no more levels than this."""

FAILURES = 5
"""How many of the last failures are kept to be shown."""

NOT_COMPLETE = "it did not complete"
"""What is said of a run that failed without an error."""

SUMS = ("bytes", "timeouts", "retransmits", "drops_down", "drops_up")
"""Responses whose sums are kept, where the runs have them."""


@dataclass(frozen=True)
class Failure:
    """A run that failed: its number, its levels as words, and why."""

    run: int
    levels: str
    why: str

    def __str__(self) -> str:
        levels = f" ({self.levels})" if self.levels else ""
        return f"run {self.run}{levels} failed: {self.why}"

    @property
    def kind(self) -> str:
        """Why, without numbers such as times: the same for runs that failed alike."""
        return kind_of(self.why)


def kind_of(why: str) -> str:
    """What an error says without its numbers."""
    return re.sub(r"\d[\d.,]*", "#", why)


@dataclass(frozen=True)
class Line:
    """The responses of some runs so far; those that failed are counted, and included in nothing else.

    Times are in seconds, goodput in bit/s; `timeouts`, `retransmits` and `drops` are means over runs. What is
    not known yet is not a number.
    """

    label: str
    runs: int
    failed: int
    time_mean: float
    time_min: float
    time_max: float
    goodput: float
    timeouts: float
    retransmits: float
    drops: float


class Watch:
    """Takes tables of finished runs, and says at any time what they come to.

    Call `take` with each table, then `lines` and `failures`. It may be asked from another thread.
    """

    def __init__(self, design: Design) -> None:
        self._design = design
        self.factor, self._divisor = _shown_factor(design)
        size = 1 if self.factor is None else len(self.factor.levels)
        self._runs = np.zeros(size, dtype=np.int64)
        self._failed = np.zeros(size, dtype=np.int64)
        self._seconds = np.zeros(size)
        self._least = np.full(size, np.inf)
        self._most = np.full(size, -np.inf)
        self._goodput = np.zeros(size)
        self._sums = {name: np.zeros(size) for name in SUMS}
        self.failed = 0
        self.failures: deque[Failure] = deque(maxlen=FAILURES)

    def take(self, table: pa.Table) -> list[Failure]:
        """Adds finished runs, and returns the first few of those that failed."""
        level = self._levels(table)
        good = table.column("completed").to_numpy() & table.column("error").is_null().to_numpy()
        size = len(self._runs)
        self._runs += np.bincount(level, minlength=size)
        self._failed += np.bincount(level[~good], minlength=size)
        kept = level[good]
        seconds = table.column("time_ns").to_numpy()[good] / 1e9
        self._seconds += np.bincount(kept, seconds, size)
        np.minimum.at(self._least, kept, seconds)
        np.maximum.at(self._most, kept, seconds)
        for name, sums in self._sums.items():
            sums += np.bincount(kept, table.column(name).to_numpy()[good], size)
        bits = 8.0 * table.column("bytes").to_numpy()[good]
        self._goodput += np.bincount(
            kept, np.divide(bits, seconds, out=np.zeros_like(bits), where=seconds > 0), size
        )
        return self._note(table, np.flatnonzero(~good))

    def lines(self) -> list[Line]:
        """A line for each level of `factor` that has runs, then one for all."""
        lines = []
        if self.factor is not None:
            labels = [one_line(label) for label in self.factor.labels]
            lines = [self._line(label, np.array([n])) for n, label in enumerate(labels) if self._runs[n]]
        return [*lines, self._line("all", np.arange(len(self._runs)))]

    def _line(self, label: str, at: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Line:
        runs, failed = int(self._runs[at].sum()), int(self._failed[at].sum())
        good = runs - failed or np.nan
        drops = self._sums["drops_down"][at].sum() + self._sums["drops_up"][at].sum()
        return Line(
            label,
            runs,
            failed,
            float(self._seconds[at].sum() / good),
            float(self._least[at].min()),
            float(self._most[at].max()),
            float(self._goodput[at].sum() / good),
            float(self._sums["timeouts"][at].sum() / good),
            float(self._sums["retransmits"][at].sum() / good),
            float(drops / good),
        )

    def _levels(self, table: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        runs = table.column("run").to_numpy().astype(np.int64)
        if self.factor is None:
            return np.zeros_like(runs)
        levels: np.ndarray[tuple[int], np.dtype[np.int64]] = runs // self._divisor % len(self.factor.levels)
        return levels

    def _note(self, table: pa.Table, failed: np.ndarray[tuple[int], np.dtype[np.int64]]) -> list[Failure]:
        self.failed += len(failed)
        # No more are made into words than are shown: every run of a large study may fail.
        chosen = dict.fromkeys([*failed[:FAILURES].tolist(), *failed[-FAILURES:].tolist()])
        found = {n: self._failure(table, n) for n in chosen}
        self.failures.extend(found[n] for n in failed[-FAILURES:].tolist())
        return [found[n] for n in failed[:FAILURES].tolist()]

    def _failure(self, table: pa.Table, row: int) -> Failure:
        run = table.column("run")[row].as_py()
        why = table.column("error")[row].as_py() or NOT_COMPLETE
        point = self._design.point(run)
        pairs = zip(self._design.factors, point.levels, strict=True)
        levels = ", ".join(f"{factor.name} = {factor.labels[level]}" for factor, level in pairs)
        return Failure(run, one_line(levels), one_line(why))


def _shown_factor(design: Design) -> tuple[Factor | None, int]:
    """The first factor with several levels, but not too many; and how many runs in a row have one level."""
    divisor = design.runs
    for factor in design.factors:
        divisor //= len(factor.levels)
        if 1 < len(factor.levels) <= MOST_LEVELS:
            return factor, divisor
    return None, 1
