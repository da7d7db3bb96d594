"""Further reasons for which the TCP-friendly formula may not be applied, beside the seven conditions."""

from __future__ import annotations

import numpy as np

from rexmit.analyse.friendly.cycles import Cycles, in_recovery
from rexmit.analyse.friendly.direction import LEAST_SEGMENTS, Direction
from rexmit.analyse.friendly.finding import (
    CYCLES,
    LENGTH,
    LOSSES,
    REORDERING,
    TIMEOUTS,
    VANTAGE,
    Evidence,
    Finding,
    Verdict,
)
from rexmit.analyse.friendly.window import LEAST_CYCLES
from rexmit.analyse.quantities import count, share
from rexmit.analyse.words import AT_END
from rexmit.units import plural

TIMED_OUT = 0.05
"""Share of the loss events after the first that may need a timer."""

REORDERED = 0.1
"""Episodes of reordering allowed for each loss event."""

REORDERED_SEGMENTS = 0.001
"""And for each segment, where nothing is lost."""


def losses(flow: Direction) -> Finding:
    """Without a loss p is 0, and the formula gives an infinite rate (klaver-2005, section 5.2)."""
    events = len(flow.events.row)
    segments = int(flow.sent.segments.sum())
    told: Evidence = {"loss_events": events, "segments": segments}
    if not events:
        text = f"none of {count(segments)} segments was lost: p = 0, and the formula says nothing"
        return Finding(LOSSES, Verdict.FAILS, text, told)
    return Finding(LOSSES, Verdict.HOLDS, f"there are {plural(events, 'loss event')}", told)


def enough_cycles(cycles: Cycles) -> Finding:
    """A window of whole cycles needs some cycles after the one that slow start ended in."""
    number = max(len(cycles) - 1, 0)
    told: Evidence = {"cycles": number}
    if number < LEAST_CYCLES:
        text = f"{plural(number, 'whole cycle')} after slow start; at least {LEAST_CYCLES} alike are needed"
        return Finding(CYCLES, Verdict.FAILS, text, told)
    return Finding(CYCLES, Verdict.HOLDS, f"{count(number)} whole cycles after slow start", told)


def timeouts(flow: Direction) -> Finding:
    """A timeout is not congestion avoidance: the window falls to 1 segment. One in slow start is allowed."""
    late = flow.events.timeout[1:]
    number = int(late.sum())
    told: Evidence = {"timeouts": number, "loss_events": len(flow.events.timeout)}
    if len(late) and number > TIMED_OUT * len(late):
        text = f"{share(number / len(late))} of the loss events after the first one needed a timeout"
        return Finding(TIMEOUTS, Verdict.FAILS, text, told)
    text = (
        f"{count(number)} of {count(len(late))} later loss events needed one" if number else "there is none"
    )
    return Finding(TIMEOUTS, Verdict.HOLDS, text, told)


def reordering(flow: Direction, cycles: Cycles) -> Finding:
    """Duplicate ACKs that ended by themselves, and retransmissions that were not needed."""
    calm = _calm_runs(flow, cycles)
    episodes = calm + len(flow.spurious)
    events = len(flow.events.row)
    told: Evidence = {"duplicates_without_loss": calm, "spurious": len(flow.spurious), "loss_events": events}
    bound = max(REORDERED * events, REORDERED_SEGMENTS * float(flow.sent.segments.sum()) if not events else 0)
    if episodes > max(bound, 2):
        text = (
            f"{plural(calm, 'time')} duplicate ACKs came and ended without a retransmission, and "
            f"{plural(len(flow.spurious), 'retransmission')} had not been needed: packets overtake each other"
        )
        return Finding(REORDERING, Verdict.FAILS, text, told)
    text = f"{plural(episodes, 'sign')} of it" if episodes else "no sign of it"
    return Finding(REORDERING, Verdict.HOLDS, text, told)


def vantage(flow: Direction) -> Finding:
    """Round-trip times and what is outstanding are seen where the sender is."""
    client = flow.connection["vantage_client_share"]
    told: Evidence = {"client_share": client}
    if client is None:
        text = "the packets do not show where the capture was made; it is assumed to be at the sender"
        return Finding(VANTAGE, Verdict.UNSEEN, text, told)
    far = 1 - client if flow.side == "server" else client
    if far > AT_END:
        text = (
            f"the capture was made {share(far)} of the round trip away from the sender, where its round-trip "
            "times and what it has outstanding are not seen"
        )
        return Finding(VANTAGE, Verdict.FAILS, text, told)
    return Finding(VANTAGE, Verdict.HOLDS, "it was made at the sender", told)


def length(flow: Direction) -> Finding:
    """A short flow never leaves slow start."""
    segments = int(flow.sent.segments.sum())
    told: Evidence = {"segments": segments}
    if segments < LEAST_SEGMENTS:
        text = (
            f"{plural(segments, 'segment')} are too few for congestion avoidance, of {LEAST_SEGMENTS} needed"
        )
        return Finding(LENGTH, Verdict.FAILS, text, told)
    return Finding(LENGTH, Verdict.HOLDS, f"{count(segments)} segments", told)


def _calm_runs(flow: Direction, cycles: Cycles) -> int:
    """Runs of duplicate ACKs outside of recoveries in which nothing was sent again until they ended."""
    acks = flow.acks
    begins = np.flatnonzero(acks.duplicate)
    if not len(begins):
        return 0
    numbers = acks.number[begins]
    forward = np.flatnonzero(acks.advance)
    later = np.searchsorted(forward, begins)
    known = later < len(forward)
    begins, numbers, later = begins[known], numbers[known], later[known]
    ends = acks.number[forward[later]]
    none = np.searchsorted(flow.again, ends) == np.searchsorted(flow.again, numbers)
    return int((none & ~in_recovery(flow, cycles, numbers)).sum())
