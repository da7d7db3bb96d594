"""One direction after another: its cycles, its window and measures, and the verdict on each condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rexmit.analyse.friendly import conditions, reasons
from rexmit.analyse.friendly.conditions import Manner
from rexmit.analyse.friendly.cycles import Cycles, find_cycles
from rexmit.analyse.friendly.direction import Direction, Tables, directions
from rexmit.analyse.friendly.finding import (
    CONDITIONS,
    DATA,
    EQUILIBRIUM,
    GROWTH,
    ONE_LOSS,
    RECEIVER_WINDOW,
    TIMEOUTS,
    Applies,
    Finding,
    Verdict,
    applies,
)
from rexmit.analyse.friendly.growth import Growth, growth
from rexmit.analyse.friendly.limits import limits
from rexmit.analyse.friendly.measures import Measured, measure
from rexmit.analyse.friendly.window import Window, choose_window

MOST_CYCLES = 500
"""Cycles whose growth is looked at, spread over all."""

AT_SENDER = (ONE_LOSS, RECEIVER_WINDOW, DATA, GROWTH, EQUILIBRIUM, TIMEOUTS)
"""Conditions that depend on the sender's window and on when ACKs reach it: seen at the sender only."""


@dataclass(frozen=True)
class Judged:
    """What is said of a direction."""

    flow: Direction
    cycles: Cycles
    window: Window | None
    measured: Measured | None
    growth: Growth
    manner: Manner
    findings: list[Finding]

    @property
    def applies(self) -> Applies:
        """Whether the formula may be applied."""
        return applies(self.findings)

    @property
    def failed(self) -> list[Finding]:
        """What forbids the formula."""
        return [finding for finding in self.findings if finding.decides]

    @property
    def ack_ratio(self) -> int:
        """Segments for each step of the window's growth, b of PFTK: 2 where delayed ACKs are counted."""
        return 2 if self.manner.every == 2 and not conditions.counts_segments(self.growth, self.manner) else 1


def judge(tables: Tables, connection: int | None = None) -> Iterator[Judged]:
    """Judges each direction of an analysis that carries enough data, or all of one connection.

    It reads the tables `segments`, `sacks` and `rtt` if not yet read. Nothing is drawn or printed.
    """
    for flow in directions(tables, connection):
        yield judge_direction(flow)


def judge_direction(flow: Direction) -> Judged:
    """Judges one direction."""
    cycles = find_cycles(flow)
    window = choose_window(cycles)
    place = reasons.vantage(flow)
    if place.verdict is Verdict.FAILS:
        window = None
    rows = _rows(flow, cycles, window)
    seen = growth(flow, cycles, _grown(cycles, window))
    ack_finding, manner = conditions.ack_strategy(flow, cycles, rows, seen)
    found = limits(flow, cycles, rows)
    mixed = reasons.reordering(flow, cycles)
    limiting = [conditions.receiver_window(flow, found), conditions.always_data(found)]
    disturbed = _disturbed([*limiting, mixed])
    steady = conditions.equilibrium(cycles, window, disturbed)
    in_equilibrium = window is not None and steady.verdict is Verdict.HOLDS
    findings = [
        conditions.one_loss(cycles, window.slice if window and in_equilibrium else slice(1, None)),
        ack_finding,
        *limiting,
        conditions.sack(flow),
        conditions.window_growth(seen, manner.every, disturbed),
        steady,
        reasons.losses(flow),
        reasons.enough_cycles(cycles),
        reasons.timeouts(flow),
        mixed,
        place,
        reasons.length(flow),
    ]
    if place.verdict is Verdict.FAILS:
        findings = [_unseen(finding) for finding in findings]
    findings.sort(key=lambda finding: CONDITIONS.index(finding.condition))
    measured = None if window is None else measure(flow, cycles, window)
    return Judged(flow, cycles, window, measured, seen, manner, findings)


def _rows(flow: Direction, cycles: Cycles, window: Window | None) -> slice:
    """The rows of what was sent that are looked at: the window's, or all."""
    if window is None:
        return slice(0, len(flow.sent.number))
    return slice(int(cycles.start[window.first]), int(cycles.stop[window.last - 1]))


def _grown(cycles: Cycles, window: Window | None) -> list[int]:
    """The cycles in which growth is looked at."""
    if window is not None:
        which = np.arange(window.first, window.last)
    else:
        which = np.flatnonzero(~cycles.timeout)
        which = which[which > 0]
    step = -(-len(which) // MOST_CYCLES) or 1
    return [int(cycle) for cycle in which[::step]]


def _disturbed(findings: list[Finding]) -> str | None:
    """What keeps cycles from being the congestion window's own, in words."""
    words = {
        "receiver-window": "the receiver's window limits",
        "data": "the application is the limit",
        "reordering": "reordering disturbs",
    }
    wrong = [words[finding.condition.name] for finding in findings if finding.verdict is Verdict.FAILS]
    return " and ".join(wrong) if wrong else None


def _unseen(finding: Finding) -> Finding:
    """Away from the sender, its window and its timers are not seen."""
    if finding.condition not in AT_SENDER:
        return finding
    return Finding(finding.condition, Verdict.UNSEEN, "seen at the sender only", finding.evidence)
