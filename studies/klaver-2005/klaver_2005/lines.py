"""Rows about paths of the Internet: the likenesses, and the hosts that broke a condition."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rexmit import models
from rexmit.analyse import Check, Published, Uncovered
from rexmit.analyse.friendly import Measured

from .evidence import Evidence, Seen
from .points import at_curve, distance

Function = Callable[[Published, Evidence], Check]
HOST_1, HOST_2 = "host 1: 232 kB, 108 ms", "host 2: 32 kB, 237 ms"
ZONES = {
    "below": ("16 kB", "24 kB"),
    "between": ("40 kB", "64 kB", "80 kB"),
    "above": ("128 kB",),
}
"""Receiver windows of the swept path: below the pipe, between pipe and buffer, above both."""
FULL_BIT_S = 1e6 * 1448 / 1514


def off_curve(one: Measured) -> float:
    """How far F lies from the mean of both new formulas, in percent."""
    p = one.p.value
    curve = float(models.klaver_odd_window(p) + models.klaver_even_window(p)) / 2
    assert one.f is not None
    return 100 * (one.f.value / curve - 1)


def mean_of(part: str, value: Callable[[Seen], float], note: str = "", case: str = "") -> Function:
    """The mean over runs of a case: that of `where`, or one."""

    def check(published: Published, evidence: Evidence) -> Check:
        values = [
            value(one) for one in evidence.seen(part, case or published.place["where"].partition("; ")[2])
        ]
        return Check.of_number(published, float(np.mean(values)), note)

    return check


def line_point(published: Published, evidence: Evidence) -> Check:
    """The point of Enschede against the curve."""
    return at_curve(published, evidence.point("enschede", published.place["where"].partition("; ")[2]))


def spread_of_three(published: Published, evidence: Evidence) -> Check:
    """How far p of the three runs of Enschede is apart, in percent."""
    p = [one.complete.p.value for one in evidence.seen("enschede", "80 ms") if one.complete]
    if len(p) < 3:
        raise Uncovered("needs three runs of klaver-2005/enschede")
    return Check.of_number(published, 100 * (max(p) / min(p) - 1))


def several_at_enschede(published: Published, evidence: Evidence) -> Check:
    """Cycles of Enschede that lose more than one segment."""
    lost = np.concatenate([one.lost for one in evidence.seen("enschede", "80 ms")])
    several = int((lost > 1).sum())
    return Check.of_statement(published, several > 0, f"{several} of {len(lost)} cycles", measure=several)


def share_of_allowed(published: Published, evidence: Evidence) -> Check:
    """The rate of host 1 over what its window allows."""
    rate = float(np.mean([one.rate_bit_s for one in evidence.seen("window", HOST_1)]))
    allowed = 232 * 1024 * 8 / 0.108
    return Check.of_number(published, rate / allowed, f"{rate / 1e6:.2f} of {allowed / 1e6:.2f} Mbit/s")


def no_formula(case: str, part: str, *conditions: str) -> Function:
    """Whether `rexmit model tcp-friendly` refuses the formula for one of these conditions in each run."""

    def check(published: Published, evidence: Evidence) -> Check:
        seen = evidence.seen(part, case)
        told = [one for one in seen if set(conditions) & set(one.failed)]
        ours = f"{len(told)} of {len(seen)} runs; fails: {', '.join(seen[0].failed) or 'nothing'}"
        return Check.of_statement(published, len(told) == len(seen), ours, measure=len(told) / len(seen))

    return check


def _as_in(name: str, one: Seen) -> bool:
    """Whether rate and losses are those of this zone."""
    full = one.rate_bit_s > 0.98 * FULL_BIT_S
    if name == "below":
        return one.rate_bit_s < 0.95 * FULL_BIT_S and one.events == 0
    return full and (one.events > 0) == (name == "above")


def zone(name: str) -> Function:
    """Rate and losses with windows of a zone."""

    def check(published: Published, evidence: Evidence) -> Check:
        found = {case: evidence.seen("window", case)[0] for case in ZONES[name]}
        held = [_as_in(name, one) for one in found.values()]
        ours = ", ".join(
            f"{case}: {one.rate_bit_s / FULL_BIT_S:.1%} and {one.events} events"
            for case, one in found.items()
        )
        return Check.of_statement(published, all(held), ours, measure=sum(held) / len(held))

    return check


def advertised(published: Published, evidence: Evidence) -> Check:
    """Figure 2.4: the flight stays within the receiver window while cwnd grows beyond it."""
    one = evidence.judged("window", "16 kB")
    window = float(one.flow.of("max_window", of_receiver=True))
    flight, cwnd = float(one.flow.sent.outstanding.max()), float(one.flow.sent.cwnd.max()) * one.flow.mss
    ours = f"{flight:.0f} bytes outstanding of a window of {window:.0f}, cwnd {cwnd:.0f}"
    return Check.of_statement(published, flight <= window < cwnd, ours, measure=cwnd / window)


def starved(published: Published, evidence: Evidence) -> Check:
    """Figure 2.6: a sender without enough data stays below the receiver window."""
    one = evidence.judged("conditions", "application")
    window = float(one.flow.of("max_window", of_receiver=True))
    flight = float(one.flow.sent.outstanding.max())
    return Check.of_statement(
        published, flight < 0.5 * window, f"{flight:.0f} bytes of {window:.0f}", measure=flight / window
    )


def restarts(published: Published, evidence: Evidence) -> Check:
    """Timeouts after the first overshoot without SACK, of its loss events."""
    found = []
    for case in ("no SACK", "no SACK, counted duplicates"):
        one = evidence.judged("conditions", case)
        found.append((case, int(one.flow.events.timeout[1:].sum()), len(one.flow.events.timeout) - 1))
    ours = "; ".join(f"{case}: {timeouts} of {events}" for case, timeouts, events in found)
    most = max(timeouts / events for _, timeouts, events in found)
    return Check.of_statement(published, most > 0.5, ours, measure=most)


def multiples(published: Published, evidence: Evidence) -> Check:
    """The share of packets after which what is outstanding is a multiple of the MSS."""
    flow = evidence.judged("conditions", "5 % loss").flow
    whole = flow.sent.outstanding[flow.sent.number < flow.sent.number[-1]] % flow.mss == 0
    return Check.of_number(published, 100 * float(whole.mean()), f"{len(whole)} segments, the last left out")


def slow(published: Published, evidence: Evidence) -> Check:
    """The rate with a third lost, in kbit/s."""
    down, both = (
        [one.rate_bit_s / 1e3 for one in evidence.seen("conditions", case)]
        for case in ("33 % loss", "33 % loss both ways")
    )
    return Check.of_number(
        published, float(np.mean(down)), f"{np.mean(both):.1f} with a third of the ACKs lost too"
    )


def spurious(published: Published, evidence: Evidence) -> Check:
    """Retransmissions that nothing lost called for, of those of the host that reorders."""
    one = evidence.judged("conditions", "reordering")
    ours = f"{len(one.flow.spurious)} of {len(one.flow.again)} retransmissions were needless"
    needless = len(one.flow.spurious)
    return Check.of_statement(published, needless > 10, ours, measure=float(needless))


def off_with_bic(published: Published, evidence: Evidence) -> Check:
    """How far a point of BIC lies from the curves."""
    found = [abs(off_curve(one.complete)) for one in evidence.seen("conditions", "BIC") if one.complete]
    return Check.of_number(published, float(np.mean(found)))


def _disturbed(evidence: Evidence, line: str) -> list[Seen]:
    """The runs of a line with other traffic that have cycles."""
    cases = [case for case in evidence.cases("shared") if case.startswith(line) and "quiet" not in case]
    found = [one for case in cases for one in evidence.seen("shared", case) if one.complete]
    if not found:
        raise Uncovered(f"needs klaver-2005/shared with other traffic at {line}")
    return found


def irregular(line: str) -> Function:
    """The least spread of W within a run with other traffic."""

    def check(published: Published, evidence: Evidence) -> Check:
        spread = [one.spread_of_peaks for one in _disturbed(evidence, line)]
        ours = f"W varies by {min(spread):.0%} to {max(spread):.0%} within a run"
        return Check.of_statement(published, min(spread) > 0.1, ours, measure=min(spread))

    return check


def cycles_within(line: str) -> Function:
    """Numbers of cycles in the runs with other traffic, by load; nearest load to the printed range."""

    def check(published: Published, evidence: Evidence) -> Check:
        number = {
            case: [one.events - 1 for one in evidence.seen("shared", case)]
            for case in evidence.cases("shared")
            if case.startswith(line)
        }
        ours = ", ".join(f"{case.partition(', ')[2]} {np.mean(own):.0f}" for case, own in number.items())
        busy = [float(np.mean(own)) for case, own in number.items() if "quiet" not in case]
        if not busy:
            raise Uncovered(f"needs klaver-2005/shared with other traffic at {line}")
        return Check.of_number(published, float(np.median(busy)), ours)

    return check


def above(line: str) -> Function:
    """How far complete windows lie above the curves: the mean of all runs with other traffic."""

    def check(published: Published, evidence: Evidence) -> Check:
        far = [off_curve(one.complete) for one in _disturbed(evidence, line) if one.complete]
        ours = f"{np.mean(far):+.1f} % on average ({min(far):+.1f} to {max(far):+.1f})"
        return Check.of_statement(published, float(np.mean(far)) > 0, ours, measure=float(np.mean(far)))

    return check


def off_the_lines(published: Published, evidence: Evidence) -> Check:
    """How many of Cape Town's complete windows lie more than 3 % off."""
    far = [off_curve(one.complete) for one in _disturbed(evidence, "Cape Town") if one.complete]
    wide = sum(abs(value) > 3 for value in far)
    return Check.of_statement(published, wide > 0, f"{wide} of {len(far)} runs", measure=wide / len(far))


def selective(line: str) -> Function:
    """The longest run of alike cycles against the curves, beside the complete window: means of magnitudes."""

    def check(published: Published, evidence: Evidence) -> Check:
        both = [
            (abs(off_curve(one.selected)), abs(off_curve(one.complete)))
            for one in _disturbed(evidence, line)
            if one.complete and one.selected and one.selected.f
        ]
        if not both:
            raise Uncovered("no run has cycles that are alike")
        chosen, whole = (float(np.mean(column)) for column in zip(*both, strict=True))
        return Check.of_number(published, chosen, f"{whole:.1f} % of the complete windows, {len(both)} runs")

    return check


def selection_helps(line: str) -> Function:
    """How much nearer to the curves the alike cycles lie than the complete window, mean sizes, in points."""

    def check(published: Published, evidence: Evidence) -> Check:
        nearer = [
            abs(off_curve(one.complete)) - abs(off_curve(one.selected))
            for one in _disturbed(evidence, line)
            if one.complete and one.selected and one.selected.f
        ]
        if not nearer:
            raise Uncovered("no run has cycles that are alike")
        gain = float(np.mean(nearer))
        ours = (
            f"{gain:+.1f} points on average; nearer in {sum(one > 0 for one in nearer)} of {len(nearer)} runs"
        )
        return Check.of_statement(published, gain > 0, ours, measure=gain)

    return check


def by_instability(published: Published, evidence: Evidence) -> Check:
    """The correlation of a complete window's distance with the spread of W, over all runs of both lines."""
    runs = [
        one
        for line in ("Stockholm", "Cape Town")
        for case in evidence.cases("shared")
        if case.startswith(line)
        for one in evidence.seen("shared", case)
        if one.complete
    ]
    if len(runs) < 6:
        raise Uncovered("needs more runs of klaver-2005/shared")
    spread = [one.spread_of_peaks for one in runs]
    far = [abs(off_curve(one.complete)) for one in runs if one.complete]
    found = float(np.corrcoef(spread, far)[0, 1])
    return Check.of_statement(
        published, found > 0.5, f"correlation {found:+.2f} over {len(runs)} runs", measure=found
    )


def more_than_controlled(published: Published, evidence: Evidence) -> Check:
    """The mean distance of the lines with other traffic, less that of the controlled points."""
    lines = [abs(off_curve(one.complete)) for one in _disturbed(evidence, "") if one.complete]
    far = [distance(row) for row in evidence.cells("controlled").values()]
    own = [abs(value) for value in far if value is not None]
    more = float(np.mean(lines) - np.mean(own))
    ours = f"{np.mean(lines):.1f} % against {np.mean(own):.1f} %"
    return Check.of_statement(published, more > 0, ours, measure=more)


LINES: dict[str, Function] = {
    "P-003-12": mean_of("enschede", lambda one: one.rate_bit_s / 1e6, "payload; an input", "80 ms"),
    "P-003-12.1": mean_of("enschede", lambda one: one.rtt_ms[0], "an input", "80 ms"),
    "P-003-12.2": mean_of("enschede", lambda one: one.rtt_ms[2], "an input", "80 ms"),
    "P-003-12.3*": mean_of("enschede", lambda one: float(np.mean(one.seconds))),
    "P-003-12.5*": line_point,
    "P-003-12.7": spread_of_three,
    "P-003-12.8": several_at_enschede,
    "P-003-13.1": no_formula("33 % loss", "conditions", "equilibrium", "timeouts"),
    "P-003-13.2": slow,
    "P-003-13.3": cycles_within("Cape Town"),
    "P-003-13.4": irregular("Cape Town"),
    "P-003-13.5": off_the_lines,
    "P-003-13.6": selective("Cape Town"),
    "P-003-14.1": cycles_within("Stockholm"),
    "P-003-14.2": irregular("Stockholm"),
    "P-003-14.3": above("Stockholm"),
    "P-003-14.4": selective("Stockholm"),
    "P-003-14.5": by_instability,
    "P-003-14.6": more_than_controlled,
    "P-003-14.7": selection_helps("Stockholm"),
    "P-003-13.7": selection_helps("Cape Town"),
    "P-003-18.3": share_of_allowed,
    "P-003-18.4": mean_of("window", lambda one: one.rtt_ms[1], "mean RTT", HOST_1),
    "P-003-18.5": mean_of("window", lambda one: float(one.again), "", HOST_1),
    "P-003-18.6": no_formula(HOST_1, "window", "losses"),
    "P-003-18.7": mean_of("window", lambda one: one.rtt_ms[1], "mean RTT", HOST_2),
    "P-003-18.8": mean_of("window", lambda one: float(one.again), "", HOST_2),
    "P-003-18.9": zone("below"),
    "P-003-18.10": zone("between"),
    "P-003-18.11": zone("above"),
    "P-003-31.1": advertised,
    "P-003-31.2": starved,
    "P-003-31.3": no_formula("application", "conditions", "data"),
    "P-003-31.4": restarts,
    "P-003-31.5": no_formula("5 % loss", "conditions", "equilibrium", "timeouts"),
    "P-003-31.6": multiples,
    "P-003-31.7": spurious,
    "P-003-31.8": no_formula("reordering", "conditions", "reordering"),
    "P-003-31.9": no_formula("BIC", "conditions", "growth"),
    "P-003-31.10": off_with_bic,
}
