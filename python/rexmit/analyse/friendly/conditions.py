"""The seven conditions of klaver-2005, chapter 2, each judged from packets alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rexmit.analyse.friendly.cycles import Cycles, in_recovery
from rexmit.analyse.friendly.direction import Direction
from rexmit.analyse.friendly.finding import (
    ACKS,
    DATA,
    EQUILIBRIUM,
    GROWTH,
    ONE_LOSS,
    RECEIVER_WINDOW,
    SACK,
    Evidence,
    Finding,
    Verdict,
)
from rexmit.analyse.friendly.growth import Growth
from rexmit.analyse.friendly.limits import Limits
from rexmit.analyse.friendly.window import LEAST_SHARE, Window
from rexmit.analyse.quantities import count, share, size
from rexmit.units import plural

SEVERAL = 0.05
"""Share of the cycles that may lose more than one segment."""

CONSISTENT = 0.8
"""Share of the segments that must be acknowledged in one manner, every one or every second."""

LIMITED = 0.02
"""Share of the new segments that may fill the receiver's window."""

DIPPED, FLAT, SHORT = 0.05, 0.5, 0.1
"""Least shares with which the application is the limit: less outstanding, no growth, short segments."""

RENO_SLOPE = (0.7, 1.3)
"""Segments for each round trip that count as Reno's, over the segments for each ACK."""

BENT = 0.12
"""Bend above which growth is not a straight line."""

FEW_ACKS, FASTER = 1.2, 1.1
"""What shows a sender counting segments: segments for each ACK, and growth over what so many would give."""

TELLING_PEAK = 10
"""Smallest W at which half of it and CUBIC's 0.7 of it are told apart."""


def one_loss(cycles: Cycles, which: slice) -> Finding:
    """Condition 1: only the segment that makes the window halve is lost."""
    lost = cycles.lost[which]
    if not len(lost):
        return Finding(ONE_LOSS, Verdict.UNSEEN, "there is no cycle to look at")
    several = float((lost > 1).mean())
    told: Evidence = {"cycles": len(lost), "cycles_with_several": several, "mean_lost": float(lost.mean())}
    if several <= SEVERAL:
        return Finding(ONE_LOSS, Verdict.HOLDS, f"{_most(several)} cycle loses one segment", told)
    text = (
        f"{share(several)} of the cycles lose more than one segment, {count(float(lost.mean()))} on average; "
        "p counts loss events, so the formula may still be used"
    )
    return Finding(ONE_LOSS, Verdict.FAILS, text, told)


@dataclass(frozen=True)
class Manner:
    """How a receiver acknowledges: every 1 or 2 segments where it is consistent, and how many on average."""

    every: int | None = None
    mean: float = 1.0


def ack_strategy(flow: Direction, cycles: Cycles, rows: slice, seen: Growth) -> tuple[Finding, Manner]:
    """Condition 2: every segment is acknowledged, or every second one.

    A sender that grows by segments acknowledged and not by ACKs, as klaver-2005's did, needs neither
    (section 3.1).
    """
    sent, acks = flow.sent, flow.acks
    last = min(rows.stop, len(sent.number)) - 1
    if last < 0:
        return Finding(ACKS, Verdict.UNSEEN, "there are no segments to be acknowledged"), Manner()
    ends, total = sent.end[sent.new], np.concatenate([[0], np.cumsum(sent.segments[sent.new])])
    covered = np.diff(total[np.searchsorted(ends, acks.highest, side="right")], prepend=0)
    inside = (acks.number > sent.number[rows.start]) & (acks.number <= sent.number[last])
    plain = inside & acks.advance & (covered > 0) & ~in_recovery(flow, cycles, acks.number)
    each = covered[plain]
    if not len(each):
        return Finding(ACKS, Verdict.UNSEEN, "no acknowledgment of new data was seen"), Manner()
    shares = {number: float(each[each == number].sum() / each.sum()) for number in (1, 2)}
    mean = float(each.mean())
    told: Evidence = {"every_segment": shares[1], "every_second": shares[2], "segments_per_ack": mean}
    for number, name in ((1, "every segment"), (2, "every second segment")):
        if shares[number] >= CONSISTENT:
            text = f"{name} is acknowledged ({share(shares[number])} of them so)"
            return Finding(ACKS, Verdict.HOLDS, text, told), Manner(number, mean)
    manner = Manner(None, mean)
    if mean > 2.5:
        text = f"an ACK covers {count(mean)} segments on average: the receiver or the path puts ACKs together"
    else:
        text = (
            f"the receiver's ACKing varies: {share(shares[1])} of the segments are acknowledged one by "
            f"one, {share(shares[2])} in pairs"
        )
    if counts_segments(seen, manner):
        text += (
            f"; but the window grows by {count(seen.slope)} MSS each round trip: the sender counts segments"
        )
        return Finding(ACKS, Verdict.HOLDS, text, told), manner
    return Finding(ACKS, Verdict.FAILS, text, told), manner


def receiver_window(flow: Direction, found: Limits) -> Finding:
    """Condition 3: the advertised window never decides how much is outstanding."""
    most = flow.of("max_window", of_receiver=True)
    outstanding = flow.of("max_outstanding")
    told: Evidence = {
        "limited_share": found.window,
        "max_window": most,
        "max_outstanding": outstanding,
        "zero_windows": flow.of("zero_windows", of_receiver=True),
    }
    if most is None:
        text = "the handshake is not in the capture, so that the scale of the window is not known"
        return Finding(RECEIVER_WINDOW, Verdict.UNSEEN, text, told)
    if found.window > LIMITED:
        text = (
            f"after {share(found.window)} of the segments the receiver's window, at most {size(most)}, was "
            "full: it decides how much is outstanding, not the congestion window"
        )
        return Finding(RECEIVER_WINDOW, Verdict.FAILS, text, told)
    text = f"at most {size(outstanding)} were outstanding of a window of {size(most)}"
    return Finding(RECEIVER_WINDOW, Verdict.HOLDS, text, told)


def always_data(found: Limits) -> Finding:
    """Condition 4: the application, or the send buffer, never leaves the window unused."""
    told: Evidence = {
        "dipped_share": found.dipped,
        "flat_share": found.flat,
        "short_share": found.short,
        "rounds": found.rounds,
    }
    if found.dipped > DIPPED:
        text = (
            f"for {share(found.dipped)} of the time less was outstanding than before, without a loss and "
            "with room in the receiver's window: the application had nothing to send"
        )
        return Finding(DATA, Verdict.FAILS, text, told)
    if found.flat > FLAT:
        text = (
            f"for {share(found.flat)} of the time what was outstanding did not grow, without a loss and with "
            "room in the receiver's window: the application or its send buffer limits (or a congestion "
            "control that does not look for losses)"
        )
        return Finding(DATA, Verdict.FAILS, text, told)
    if found.short > SHORT:
        text = f"{share(found.short)} of the segments are shorter than a full one: the writes are small"
        return Finding(DATA, Verdict.FAILS, text, told)
    text = "what was outstanding never fell without a loss"
    if found.dipped:
        text = f"what was outstanding fell without a loss for {share(found.dipped)} of the time only"
    return Finding(DATA, Verdict.HOLDS, text, told)


def sack(flow: Direction) -> Finding:
    """Condition 5: both sides permit selective acknowledgments."""
    seen = {side: flow.connection[f"{side}_syn_seen"] for side in ("client", "server")}
    permitted = {side: bool(flow.connection[f"{side}_sack_permitted"]) for side in ("client", "server")}
    blocks = int(flow.of("sack_acks", of_receiver=True))
    told: Evidence = {
        "client_permitted": str(permitted["client"]).lower(),
        "server_permitted": str(permitted["server"]).lower(),
        "acks_with_sack": blocks,
    }
    if blocks:
        return Finding(SACK, Verdict.HOLDS, f"{plural(blocks, 'acknowledgment')} carried SACK blocks", told)
    if all(seen.values()) and all(permitted.values()):
        return Finding(SACK, Verdict.HOLDS, "both SYNs permit SACK", told)
    refused = [side for side in seen if seen[side] and not permitted[side]]
    if refused:
        who = "neither side permits" if len(refused) == 2 else f"the {refused[0]} does not permit"
        return Finding(SACK, Verdict.FAILS, f"{who} SACK in its SYN", told)
    if int(flow.of("duplicate_acks", of_receiver=True)) >= 3:
        text = "duplicate acknowledgments came without SACK blocks; the SYNs are not in the capture"
        return Finding(SACK, Verdict.FAILS, text, told)
    return Finding(SACK, Verdict.UNSEEN, "the handshake is not in the capture, and nothing was SACKed", told)


def window_growth(found: Growth, every: int | None, disturbed: str | None) -> Finding:
    """Condition 6: the window halves at a loss and then grows by a segment each round trip, in a line."""
    told: Evidence = {
        "cycles": found.cycles,
        "rounds": found.rounds,
        "kept": found.kept,
        "segments_per_round": found.slope,
        "bend": found.bend,
        "bent": found.bent,
    }
    wrong = _unlike_reno(found, every)
    if wrong and disturbed:
        return Finding(GROWTH, Verdict.UNSEEN, f"{disturbed}, which hides how the window would grow", told)
    if wrong:
        return Finding(GROWTH, Verdict.FAILS, f"{'; '.join(wrong)}: not Reno's congestion avoidance", told)
    if found.slope is None:
        why = "no cycle" if not found.cycles else f"cycles of {count(found.rounds)} round trips"
        return Finding(GROWTH, Verdict.UNSEEN, f"there is {why} to see growth in", told)
    text = (
        f"a loss leaves {share(found.kept)} of the window, which then grows by {count(found.slope)} MSS "
        "each round trip"
    )
    return Finding(GROWTH, Verdict.HOLDS, text + ("" if found.bend is None else ", in a line"), told)


def counts_segments(found: Growth, manner: Manner) -> bool:
    """Whether the sender grows by segments acknowledged: clearly faster than its ACKs would let it."""
    if found.slope is None or not RENO_SLOPE[0] <= found.slope <= RENO_SLOPE[1]:
        return False
    return manner.mean >= FEW_ACKS and found.slope > FASTER / manner.mean


def equilibrium(cycles: Cycles, window: Window | None, disturbed: str | None) -> Finding:
    """Condition 7: the cycles repeat."""
    number = max(len(cycles) - 1, 0)
    alike = 0 if window is None else len(window)
    told: Evidence = {"cycles": number, "alike": alike, "share": alike / number if number else 0.0}
    if number:
        each = cycles.segments[1:]
        told["variation_of_segments"] = float(np.std(each) / np.mean(each))
        told["variation_of_w"] = float(np.std(cycles.peak[1:]) / np.mean(cycles.peak[1:]))
    if alike and alike >= LEAST_SHARE * number:
        manner = "" if window is None or window.period == 1 else " in pairs that alternate"
        text = (
            f"{count(alike)} of {count(number)} cycles after slow start, one after another, are alike{manner}"
        )
        return Finding(EQUILIBRIUM, Verdict.HOLDS, text, told)
    if disturbed or number < 3:
        text = disturbed or f"{plural(number, 'cycle')} after slow start cannot show whether they repeat"
        return Finding(EQUILIBRIUM, Verdict.UNSEEN, text, told)
    text = (
        f"the longest run of cycles alike has {count(alike)} of {count(number)}: their segments vary by "
        f"{share(float(told['variation_of_segments'] or 0))}"
    )
    return Finding(EQUILIBRIUM, Verdict.FAILS, text, told)


def _unlike_reno(found: Growth, every: int | None) -> list[str]:
    """What in the growth is not Reno's."""
    wrong = []
    if found.kept is not None and found.peak >= TELLING_PEAK and found.kept > 0.6 - 0.25 / found.peak:
        wrong.append(f"a loss leaves {share(found.kept)} of the window, not half")
    if found.slope is not None:
        slopes = (found.slope, found.slope * (every or 2))
        if not any(RENO_SLOPE[0] <= slope <= RENO_SLOPE[1] for slope in slopes):
            wrong.append(f"the window grows by {count(found.slope)} MSS each round trip")
    if found.bend is not None and found.bent is not None and found.bent > BENT:
        course = "slows down as it nears the last peak" if found.bend > 0 else "gets faster and faster"
        wrong.append(f"its growth {course if abs(found.bend) > BENT else 'is not linear'}")
    return wrong


def _most(several: float) -> str:
    return "every" if several == 0 else "nearly every"
