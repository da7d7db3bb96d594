"""A published number as one more run beside ours."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rexmit.analyse import (
    OUTSIDE,
    RECORDED,
    WITHIN,
    Check,
    Published,
    count_interval,
    prediction_interval,
)

from .evidence import Evidence, Uncovered

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
    if published.kind == "misprint":
        raise Uncovered(published.tolerance_reason)
    name = published.place["part"]
    runs, cells = evidence.cells(name, published.place)
    counts = [*cells["count"].to_list(), *[0] * (runs - len(cells))]
    if published.quantity == "retransmissions":
        if runs < 2:
            raise Uncovered("needs more than one replication")
        return judged(published, counts, count_interval(counts, CONFIDENCE), f"{runs} runs")
    if published.quantity == "share of all retransmissions":
        whole = {**published.place, "class": "any"}
        every = dict(evidence.cells(name, whole)[1].select("run", "count").iter_rows())
        values = [100 * count / every[run] for run, count in cells.select("run", "count").iter_rows()]
    else:
        values = cells[_COLUMNS[published.quantity]].to_list()
    note = f"{len(values)} of {runs} runs"
    if len(values) < 2:
        raise Uncovered(f"such retransmissions are in {note}: no interval")
    return judged(published, values, prediction_interval(values, CONFIDENCE), note)


def judged(published: Published, values: Sequence[float], interval: tuple[float, float], note: str) -> Check:
    """The check of a number against the interval of one more run of ours.

    A recorded deviation holds as long as the published value and the deviation together lie in that interval.
    """
    mean = statistics.fmean(values)
    room = float(published.tolerance or 0)
    low, high = interval[0] - room, interval[1] + room
    (value, _) = published.interval()
    verdict = WITHIN if low <= value <= high else OUTSIDE
    if verdict == OUTSIDE and published.deviation:
        verdict = RECORDED if low <= value + float(published.deviation) <= high else OUTSIDE
    ours = f"{mean:.1f} ({max(low, 0):.1f} to {high:.1f})"
    return Check(published, verdict, ours, mean - value, note)
