"""A published number as one more run beside ours."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from rexmit.analyse import TOO_WIDE, Check, Published, Uncovered, count_interval, prediction_interval
from rexmit.analyse.score import WIDE

from .evidence import Evidence

CONFIDENCE = 0.99
"""Of the interval in which one more run of ours would lie."""

_COLUMNS = {
    "least delay": "min",
    "greatest delay": "max",
    "mean delay": "mean",
    "standard deviation of the delay": "std",
}


def number(published: Published, evidence: Evidence) -> Check:
    """A count, a delay or a share of a table."""
    name = published.place["part"]
    runs, cells = evidence.cells(name, published.place)
    if published.quantity == "retransmissions":
        counts = [*cells["count"].to_list(), *[0] * (runs - len(cells))]
        return counted(published, counts, f"{runs} runs")
    if published.quantity == "share of all retransmissions":
        whole = {**published.place, "class": "any"}
        every = dict(evidence.cells(name, whole)[1].select("run", "count").iter_rows())
        found = dict(cells.select("run", "count").iter_rows())
        values = [100 * found.get(run, 0) / count for run, count in every.items()]
    else:
        values = cells[_COLUMNS[published.quantity]].to_list()
    return spread(published, values, f"{len(values)} of {runs} runs")


def counted(published: Published, counts: Sequence[int], note: str) -> Check:
    """A count beside those of our runs."""
    if len(counts) < 2:
        raise Uncovered("needs more than one replication")
    return judged(published, counts, count_interval(counts, CONFIDENCE), note)


def spread(published: Published, values: Sequence[float], note: str = "") -> Check:
    """A number beside ours, one of each run. Raises Uncovered with fewer than two."""
    note = note or f"{len(values)} runs"
    if len(values) < 2:
        raise Uncovered(f"such retransmissions are in {note}: no interval")
    return judged(published, values, prediction_interval(values, CONFIDENCE), note)


def judged(published: Published, values: Sequence[float], interval: tuple[float, float], note: str) -> Check:
    """The check of a number against the interval of one more run of ours.

    A published value inside an interval whose ends are a factor of :data:`WIDE` apart or more is "too wide",
    and never counted as agreement; one outside such an interval is outside all the same.
    """
    mean = statistics.fmean(values)
    room = float(published.tolerance or 0)
    low, high = interval[0] - room, interval[1] + room
    (value, _) = published.interval()
    holds = low <= value <= high
    verdict = published.verdict(mean, holds)
    if holds and not published.deviation and factor(low, high) > WIDE:
        verdict = TOO_WIDE
    ours = f"{shown(mean)} ({shown(max(low, 0) if mean >= 0 else low)} to {shown(high)})"
    return Check(published, verdict, ours, mean - value, note, [float(one) for one in values])


def factor(low: float, high: float) -> float:
    """How many times the lower end the upper end is, whatever the sign; infinite where 0 lies between."""
    if low <= 0 <= high:
        return math.inf
    return max(abs(low), abs(high)) / min(abs(low), abs(high))


def shown(value: float) -> str:
    """A number for people: two digits after the point below 10, else one."""
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
