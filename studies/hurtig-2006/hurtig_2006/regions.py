"""Checks of which positions wait for the timer, and which are repaired fast."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from statistics import mean, median

from rexmit.analyse import Check, Published, Uncovered

from .flows import LOW, Evidence, Flow, Pair

Function = Callable[[Published, Evidence], Check]
PATHOLOGICAL = (5, 10, 20)
"""Delays in ms at which the thesis saw spurious timeouts at 40 kbit/s."""
HIGH_FROM = 100
"""The lowest delay in ms taken for "higher delays": the upper half of the delays of Table 3.1."""
PEAK_MS = 1000
"""A peak is a position that takes so much longer than the median position."""


def exceptions(published: Published, found: Sequence[str], among: int) -> Check:
    """A check that nothing departs from a statement: counts what does. Raises Uncovered among none."""
    if not among:
        raise Uncovered("these results have no run on such a path")
    shown = "; ".join(found[:6]) + (f"; and {len(found) - 6} more" if len(found) > 6 else "")
    check = Check.of_number(published, float(len(found)), shown)
    return Check(check.published, check.verdict, f"{len(found)} of {among}", check.difference, check.note)


def name(path: Pair) -> str:
    """A path as a note writes it."""
    return f"{path[0]} kbit/s, {path[1]} ms"


def _ends(published: Published, flow: Flow, paths: Iterable[Pair], expected: tuple[int, ...]) -> Check:
    """Paths on which other positions at the end wait than those expected."""
    chosen = list(paths)
    found = [
        f"{name(path)}: {', '.join(map(str, flow.costs[path].inhibited)) or 'none'}"
        for path in chosen
        if flow.costs[path].inhibited != expected
    ]
    return exceptions(published, found, len(chosen))


def _three_wait(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    return _ends(published, flow, [path for path in flow.costs if path[0] in (40, 80)], (17, 18, 19))


def _four_wait(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    paths = [path for path in flow.costs if path[0] >= 160 and path[1] in LOW]
    return _ends(published, flow, paths, (16, 17, 18, 19))


def _three_wait_far(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    paths = [path for path in flow.costs if path[0] >= 160 and path[1] >= HIGH_FROM]
    return _ends(published, flow, paths, (17, 18, 19))


def _three_wait_earlier(published: Published, evidence: Evidence) -> Check:
    flow = evidence.earlier
    return _ends(published, flow, flow.paths([1000], [10]), (17, 18, 19))


def _regions(
    flow_name: str, paths: Callable[[Pair], bool], fast: Iterable[int], late: Iterable[int] = ()
) -> Function:
    """Positions that must be repaired fast, and positions that must wait, on the paths that fit."""
    quick, slow = tuple(fast), tuple(late)

    def check(published: Published, evidence: Evidence) -> Check:
        flow: Flow = getattr(evidence, flow_name)
        chosen = [path for path in flow.calm() if paths(path)]
        found = [
            f"{name(path)}: {at} {'waits' if flow.waits(path, at) else 'does not wait'}"
            for path in chosen
            for at in (*quick, *slow)
            if flow.waits(path, at) != (at in slow)
        ]
        return exceptions(published, found, len(chosen) * (len(quick) + len(slow)))

    return check


def _fast_at(flow_name: str, path: Pair, positions: Sequence[int]) -> Function:
    """No timeout and one fast retransmit at these positions of a path."""

    def check(published: Published, evidence: Evidence) -> Check:
        flow: Flow = getattr(evidence, flow_name)
        repairs = {at: (flow.timeouts(*path, at), flow.fast_retransmits(*path, at)) for at in positions}
        found = [
            f"{at}: {timeouts:g} timeouts, {fast:g} fast retransmits"
            for at, (timeouts, fast) in repairs.items()
            if (timeouts, fast) != (0, 1)
        ]
        return exceptions(published, found, len(positions))

    return check


def _slower(flow_name: str) -> Function:
    """Larger delays at 40 kbit/s with a mean time below that of 5, 10 and 20 ms."""

    def check(published: Published, evidence: Evidence) -> Check:
        flow: Flow = getattr(evidence, flow_name)
        delays = [ms for _, ms in flow.paths(kbit_s=[40])]
        level = {ms: mean(flow.time(40, ms, at) for at in range(1, flow.packets + 1)) for ms in delays}
        near = [level[ms] for ms in PATHOLOGICAL if ms in level]
        larger = {ms: value for ms, value in level.items() if ms not in PATHOLOGICAL}
        if len(near) < len(PATHOLOGICAL) or not larger:
            raise Uncovered("these results lack some of the delays at 40 kbit/s")
        below = [ms for ms, value in larger.items() if value < min(near)]
        note = f"mean time {', '.join(f'{value:.0f}' for value in near)} ms; larger delays: "
        note += ", ".join(f"{value:.0f}" for value in larger.values())
        number = Check.of_number(published, float(len(below)), note)
        return Check(published, number.verdict, f"{len(below)} of {len(larger)}", number.difference, note)

    return check


def _peaks(flow: Flow, path: Pair) -> list[int]:
    """Positions after the SYN-ACK whose loss takes over a second longer than the median position's."""
    times = {at: flow.time(*path, at) for at in range(2, flow.packets + 1)}
    usual = median(times.values())
    return [at for at, time in times.items() if time > usual + PEAK_MS]


def _peaks_at(flow_name: str, last: int) -> Function:
    """Peaks at 14 and 20 alone, among the positions up to `last`, at 40 kbit/s and 5, 10 and 20 ms."""

    def check(published: Published, evidence: Evidence) -> Check:
        flow: Flow = getattr(evidence, flow_name)
        paths = flow.paths([40], PATHOLOGICAL)
        peaks = {path: [at for at in _peaks(flow, path) if at <= last] for path in paths}
        found = [
            f"{name(path)}: {', '.join(map(str, ats)) or 'none'}"
            for path, ats in peaks.items()
            if ats != [14, 20]
        ]
        return exceptions(published, found, len(paths))

    return check


def _no_peaks(published: Published, evidence: Evidence) -> Check:
    """At 80 kbit/s and above position 20 is not a peak, and 14 does not wait for the timer."""
    flow = evidence.short
    paths = [path for path in flow.paths() if path[0] >= 80]
    found = [f"{name(path)}: {at}" for path in paths for at in _peaks(flow, path) if at in (14, 20)]
    return exceptions(published, found, 2 * len(paths))


def _timers_more(positions: Sequence[int], delays: Sequence[int]) -> Function:
    """Timeouts at 40 kbit/s beyond those of the flow without loss: one on each path and position."""

    def check(published: Published, evidence: Evidence) -> Check:
        flow = evidence.short
        more = {
            (ms, at): flow.timeouts(40, ms, at) - flow.timeouts(40, ms, 0)
            for ms in delays
            for at in positions
        }
        worst = max(more.values(), key=lambda value: abs(value - 1))
        shown = ", ".join(f"{ms} ms, {at}: {value:g}" for (ms, at), value in more.items())
        return Check.of_number(published, worst, shown)

    return check


def _spurious(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    expected = {(40, ms) for ms in PATHOLOGICAL}
    paths = flow.paths()
    found = [name(path) for path in paths if (flow.timeouts(*path, 0) > 0) != (path in expected)]
    return exceptions(published, found, len(paths))


def _none_spurious_earlier(published: Published, evidence: Evidence) -> Check:
    flow = evidence.earlier
    paths = flow.paths([40], PATHOLOGICAL)
    found = [name(path) for path in paths if flow.timeouts(*path, 0) > 0]
    return exceptions(published, found, len(paths))


REGIONS: dict[str, Function] = {
    "P-000-9": _slower("short"),
    "P-000-12": _three_wait,
    "P-000-13": _four_wait,
    "P-000-20": _spurious,
    "P-000-36": _peaks_at("short", 20),
    "P-000-37": _three_wait_far,
    "P-000-52": _regions("short", lambda path: path[0] == 40, range(6, 17)),
    "P-000-53": _no_peaks,
    "P-000-54": _regions("short", lambda path: path[0] == 80 and path[1] in LOW, range(2, 17), range(17, 20)),
    "P-000-56": _fast_at("short", (160, 300), (4,)),
    "P-000-61": _regions(
        "short", lambda path: path[0] == 1000 and path[1] <= 100, range(2, 16), range(17, 20)
    ),
    "P-000-63": _timers_more((14,), (5,)),
    "P-000-65": _timers_more((20,), PATHOLOGICAL),
    "P-000-78": _regions("long", lambda path: path[0] == 40, range(2, 97), range(97, 100)),
    "P-000-79": _peaks_at("long", 20),
    "P-000-80": _slower("long"),
    "P-000-82": _fast_at("long", (160, 300), (50, 80)),
    "P-000-87": _fast_at("long", (80, 300), range(3, 21)),
    "P-000-100": _none_spurious_earlier,
    "P-000-101": _three_wait_earlier,
}
