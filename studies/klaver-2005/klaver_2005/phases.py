"""Rows about one cycle, phase by phase: chapter 4 counted in packets."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby

import numpy as np
from rexmit.analyse import Check, Published

from .cycles import PIPE, Cycle, cycle_of
from .evidence import Evidence

Function = Callable[[Published, Evidence], Check]
JIFFY_MS = 1.0


def _stairs(cycle: Cycle) -> list[tuple[int, int]]:
    """Each window of the cycle and how many segments were sent at it, in order."""
    return [(int(cwnd), len(list(group))) for cwnd, group in groupby(cycle.cwnd)]


def _plateaux(cycle: Cycle) -> list[tuple[int, int]]:
    """Those of congestion avoidance: after the last fall."""
    stairs = _stairs(cycle)
    falls = [at for at in range(1, len(stairs)) if stairs[at][0] < stairs[at - 1][0]]
    return stairs[max(falls, default=-1) + 1 :]


def _retransmission(cycle: Cycle) -> int:
    return int(np.flatnonzero(cycle.again)[0])


def _rise(cycle: Cycle) -> int:
    """The first segment after the retransmission at a larger window than the one before."""
    at = _retransmission(cycle)
    return at + 1 + int(np.flatnonzero(np.diff(cycle.cwnd[at:]) > 0)[0])


def _in_recovery(cycle: Cycle) -> int:
    """Segments between the retransmission and its ACK, which releases one more before the window rises."""
    return _rise(cycle) - _retransmission(cycle) - 2


def _step_excess(cycle: Cycle) -> int:
    """The largest difference of a plateau's segments from cwnd + 2, the first of an even W left out."""
    steps = _plateaux(cycle)[1 if cycle.peak % 2 == 0 else 0 :]
    return max((number - cwnd - 2 for cwnd, number in steps), key=abs)


def _first_lacks(cycle: Cycle) -> int:
    cwnd, number = _plateaux(cycle)[0]
    return cwnd + 2 - number


def _rtt_steps(cycle: Cycle) -> float:
    """The median step of the round-trip time from plateau to plateau, ms."""
    rise = _rise(cycle)
    levels = [
        float(np.nanmedian(cycle.rtt[rise:][cycle.cwnd[rise:] == cwnd]))
        for cwnd in range(int(cycle.cwnd[rise]), cycle.peak)
    ]
    return float(np.median(np.diff(levels)))


NUMBERS: dict[str, Callable[[Cycle], float]] = {
    "segments": lambda cycle: len(cycle.time) - int(cycle.lost.sum()),
    "to the retransmission": lambda cycle: _retransmission(cycle) + 1 - int(cycle.lost.sum()),
    "in recovery": _in_recovery,
    "window after": lambda cycle: int(cycle.cwnd.min()),
    "first plateau": lambda cycle: int(cycle.cwnd[_rise(cycle)]),
    "samples": lambda cycle: int((~np.isnan(cycle.rtt)).sum()),
    "excess": _step_excess,
    "lacks": _first_lacks,
    "dropped": lambda cycle: int(np.flatnonzero(cycle.lost)[0]) + 1,
    "at the retransmission": lambda cycle: int(cycle.cwnd[_retransmission(cycle)]),
    "rtt step": _rtt_steps,
    "held": lambda cycle: float(cycle.outstanding.max()) - 1,
}


def number(name: str) -> Function:
    """A number of the cycle of the case in `where`."""

    def check(published: Published, evidence: Evidence) -> Check:
        one = evidence.judged("cycles", published.place["where"])
        try:
            found = float(NUMBERS[name](cycle_of(one)))
        except (IndexError, ValueError):
            return Check.of_number(published, math.nan, "the connection has no cycle with this phase")
        return Check.of_number(published, found)

    return check


def statement(judge: Callable[[Cycle], list[bool]], what: str) -> Function:
    """A statement on each of several things in the cycles of W = 11 and W = 12: holds if it does on all."""

    def check(published: Published, evidence: Evidence) -> Check:
        both = [evidence.judged("cycles", case) for case in ("W = 11", "W = 12")]
        try:
            found = [each for one in both for each in judge(cycle_of(one))]
        except (IndexError, ValueError):
            found = []
        ours = f"{sum(found)} of {len(found)} {what}"
        return Check.of_statement(published, bool(found) and all(found), ours)

    return check


def _pairs(cycle: Cycle) -> list[bool]:
    """Of each rise of the window: whether two segments were sent at once."""
    rises = np.flatnonzero(np.diff(cycle.cwnd) > 0) + 1
    return [bool(cycle.time[at + 1] == cycle.time[at]) for at in rises if at + 1 < len(cycle.time)]


def _one_lower(cycle: Cycle) -> list[bool]:
    """Of each segment in recovery: whether its window is one below that of the one before."""
    at = _retransmission(cycle)
    return [bool(step == -1) for step in np.diff(cycle.cwnd[at : at + 1 + _in_recovery(cycle)])]


def _longer(cycle: Cycle) -> list[bool]:
    """Of each plateau but the first and the last: whether it lasts longer than the one before."""
    rise = _rise(cycle)
    changes = np.flatnonzero(np.diff(cycle.cwnd))
    starts = np.concatenate([[rise], changes[changes >= rise] + 1])
    lengths = np.diff(cycle.time[starts])
    return [bool(step > 0) for step in np.diff(lengths)]


def _by_one(cycle: Cycle) -> list[bool]:
    """Of each rise: whether it is by one."""
    steps = np.diff(cycle.cwnd)
    return [bool(step == 1) for step in steps[steps > 0]]


def full(published: Published, evidence: Evidence) -> Check:
    """The share of data segments with 1448 bytes."""
    sent = evidence.judged("cycles", "W = 11").flow.sent
    sizes = sent.bytes[sent.end < sent.end.max()]
    note = f"{len(sizes)} segments, the end of the last write left out"
    return Check.of_number(published, 100 * float((sizes == 1448).mean()), note)


def constant_rtt(published: Published, evidence: Evidence) -> Check:
    """Where the pipe is above the buffer: how far RTTs vary at windows below the pipe, and how far above."""
    one = evidence.judged("cycles", PIPE)
    try:
        cycle = cycle_of(one)
        rise = _rise(cycle)
    except IndexError:
        return Check.of_statement(published, False, "no rise after a retransmission")
    held = one.flow.rtt.min() / 1e9 * 1e6 / (8 * 1514)
    window = cycle.cwnd[rise:]
    timed = ~np.isnan(cycle.rtt[rise:])
    levels = {
        cwnd: float(cycle.rtt[rise:][timed & (window == cwnd)].min()) for cwnd in np.unique(window[timed])
    }
    low, high = ([ms for cwnd, ms in levels.items() if (cwnd < held) == is_low] for is_low in (True, False))
    if not low or not high:
        return Check.of_statement(published, False, "windows lie on one side of the pipe only")
    below, above = (max(part) - min(part) for part in (low, high))
    ours = (
        f"least RTTs of plateaux within {below:.1f} ms below the pipe of {held:.1f} packets, rising by "
        f"{above:.0f} ms above it"
    )
    return Check.of_statement(published, below < 0.1 * above, ours)


PHASES: dict[str, Function] = {
    "P-003-6": number("segments"),
    "P-003-7": number("segments"),
    "P-003-21.1*": number("to the retransmission"),
    "P-003-21.2*": number("in recovery"),
    "P-003-21.3*": number("window after"),
    "P-003-21.4*": number("first plateau"),
    "P-003-21.5*": number("samples"),
    "P-003-21.6*": number("excess"),
    "P-003-21.7": number("lacks"),
    "P-003-21.8*": number("dropped"),
    "P-003-21.9*": number("at the retransmission"),
    "P-003-22.1*": number("rtt step"),
    "P-003-22.2*": number("held"),
    "P-003-22.3": statement(_pairs, "rises send two segments at once"),
    "P-003-22.4": statement(_one_lower, "segments in recovery have a window one lower"),
    "P-003-22.5": statement(_longer, "plateaux last longer than the one before"),
    "P-003-22.6": statement(_by_one, "rises are by one segment"),
    "P-003-22.7": full,
    "P-003-22.8": constant_rtt,
}
