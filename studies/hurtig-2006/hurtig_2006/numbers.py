"""Checks of the two percentages: additional time of a late loss, average additional time of any loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from rexmit.analyse import Check, Published, Uncovered

from .flows import LONG, SHORT, Evidence, Flow, Pair
from .regions import exceptions, name
from .shapes import tau

Function = Callable[[Published, Evidence], Check]
Values = Mapping[Pair, float]


def _of_number(published: Published, ours: float, note: str, shown: str = "") -> Check:
    check = Check.of_number(published, ours, note)
    return Check(published, check.verdict, shown or check.ours, check.difference, check.note)


def _some(values: Values) -> Values:
    """These values. Raises Uncovered for none: no position waits on any of those paths."""
    if not values:
        raise Uncovered("no position needs the timer on such a path, or none was run")
    return values


def _at(values: Values, path: Pair) -> float:
    if path not in values:
        raise Uncovered(f"no position needs the timer at {name(path)}, or that path was not run")
    return values[path]


def _additional_at(flow: str, kbit_s: int, ms: int) -> Function:
    """Additional time of a late loss on one path."""

    def check(published: Published, evidence: Evidence) -> Check:
        chosen: Flow = getattr(evidence, flow)
        value = _at(chosen.additional(), (kbit_s, ms))
        cost = chosen.costs[kbit_s, ms]
        note = f"positions {_span(cost.inhibited)} wait for the timer, {cost.last_fast} is repaired fast"
        return Check.of_number(published, value, note)

    return check


def _average_at(kbit_s: int, ms: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        return Check.of_number(published, _at(evidence.short.average(), (kbit_s, ms)))

    return check


def _less_than_worst(flow: str, quantity: str, path: Pair) -> Function:
    """The value on the path that the text calls the worst, less the greatest of all."""

    def check(published: Published, evidence: Evidence) -> Check:
        values = _some(getattr(getattr(evidence, flow).whole(), quantity)())
        worst, most = max(values.items(), key=lambda item: item[1])
        return Check.of_number(published, _at(values, path) - most, f"greatest {most:.4g}, at {name(worst)}")

    return check


def _near(evidence: Evidence, ms: int) -> Values:
    return _some({path: value for path, value in evidence.short.whole().average().items() if path[1] == ms})


def _second_least(published: Published, evidence: Evidence) -> Check:
    """Of the averages at 5 ms, the one below which a single bandwidth lies: "almost all"."""
    values = _near(evidence, 5)
    if len(values) < 2:
        raise Uncovered("a single bandwidth has an average at 5 ms")
    (lowest, least), (path, second) = sorted(values.items(), key=lambda item: item[1])[:2]
    note = f"at {name(path)}; below it {least:.4g} at {name(lowest)}; greatest {max(values.values()):.4g}"
    return Check.of_number(published, second, note)


def _most_far(published: Published, evidence: Evidence) -> Check:
    """How many bandwidths have an average of 5 to 10 percent at 300 ms, as whole percent."""
    values = _near(evidence, 300)
    held = [path for path, value in values.items() if 4.5 <= value < 10.5]
    note = f"of {len(values)}: {', '.join(name(path) for path in held) or 'none'}"
    return Check.of_number(published, float(len(held)), note)


def _least_far(published: Published, evidence: Evidence) -> Check:
    values = _near(evidence, 300)
    path, least = min(values.items(), key=lambda item: item[1])
    return Check.of_number(published, least, f"at {name(path)}; greatest {max(values.values()):.4g}")


def _all_within(published: Published, values: Values) -> Check:
    """Every value must lie within; shows their range and the one that lies farthest."""
    if not values:
        raise Uncovered("these results have no such run")
    path, worst = max(values.items(), key=lambda item: (abs(published.difference(item[1])), item[1]))
    shown = f"{min(values.values()):.3g} to {max(values.values()):.3g}"
    return _of_number(published, worst, f"farthest at {name(path)}", shown)


def _average_slow(published: Published, evidence: Evidence) -> Check:
    values = evidence.short.average()
    return _all_within(published, {path: value for path, value in values.items() if path[0] == 40})


def _beyond_the_ends(kbit_s: int) -> Function:
    """Delays at which the additional time lies outside of what it is at 5 and 300 ms."""

    def check(published: Published, evidence: Evidence) -> Check:
        values = {p[1]: v for p, v in evidence.short.additional().items() if p[0] == kbit_s}
        if not {5, 300} <= values.keys():
            raise Uncovered(f"these results lack {kbit_s} kbit/s with 5 or 300 ms")
        found = [f"{ms} ms: {v:.1f}" for ms, v in values.items() if not values[300] <= v <= values[5]]
        return exceptions(published, found, len(values))

    return check


def _rates(values: Values) -> list[int]:
    """The bandwidths that have a value at 5 and at 300 ms."""
    return [rate for rate in dict.fromkeys(p[0] for p in values) if {(rate, 5), (rate, 300)} <= values.keys()]


def _by_rate(published: Published, evidence: Evidence) -> Check:
    values = evidence.short.additional()
    near = [values[rate, 5] for rate in _rates(values)]
    return Check.of_number(published, tau(near), f"{', '.join(f'{v:.0f}' for v in near)} %")


def _fall_by_rate(published: Published, evidence: Evidence) -> Check:
    values = evidence.short.additional()
    falls = [values[rate, 5] / values[rate, 300] for rate in _rates(values)]
    return Check.of_number(
        published, tau(falls), f"at 5 over at 300 ms: {', '.join(f'{v:.3g}' for v in falls)}"
    )


def _average_falls(published: Published, evidence: Evidence) -> Check:
    """Bandwidths whose average is not less at 300 ms than at the least delay that counts."""
    values = evidence.short.whole().average()
    found = []
    for rate in dict.fromkeys(path[0] for path in values):
        line = {p[1]: v for p, v in values.items() if p[0] == rate}
        if line[max(line)] >= line[min(line)]:
            found.append(f"{rate} kbit/s: {line[min(line)]:.3g} to {line[max(line)]:.3g}")
    return exceptions(published, found, len({path[0] for path in values}))


def _stable_slow(published: Published, evidence: Evidence) -> Check:
    """The least range over the delays of the faster bandwidths less the greater one of 40 and 80 kbit/s."""
    values = evidence.short.whole().average()
    ranges = {
        rate: max(v for p, v in values.items() if p[0] == rate)
        - min(v for p, v in values.items() if p[0] == rate)
        for rate in dict.fromkeys(path[0] for path in values)
    }
    if not {40, 80} < ranges.keys():
        raise Uncovered("no position needs the timer at some of the bandwidths")
    slow, fast = max(ranges[40], ranges[80]), min(v for rate, v in ranges.items() if rate > 80)
    return Check.of_number(published, fast - slow, f"{slow:.3g} points at most, {fast:.3g} at least")


def _least_near(published: Published, evidence: Evidence) -> Check:
    values = _some({p: v for p, v in evidence.short.whole().additional().items() if p[1] == 5})
    path, least = min(values.items(), key=lambda item: item[1])
    return Check.of_number(published, least, f"least at {name(path)}")


def _long_far(published: Published, evidence: Evidence) -> Check:
    return _all_within(published, {p: v for p, v in evidence.long.additional().items() if p[1] >= 60})


def _long_at_forty(published: Published, evidence: Evidence) -> Check:
    values = _some({p: v for p, v in evidence.long.whole().additional().items() if p[1] == 40})
    path, most = max(values.items(), key=lambda item: item[1])
    return Check.of_number(published, most, f"greatest at {name(path)}")


def _long_average(published: Published, evidence: Evidence) -> Check:
    return _all_within(published, evidence.long.average())


def _long_average_far(published: Published, evidence: Evidence) -> Check:
    return _all_within(published, {p: v for p, v in evidence.long.average().items() if p[1] == 300})


def _longer_less(quantity: str) -> Function:
    """Common paths on which long flows suffer as much as short ones, or more."""

    def check(published: Published, evidence: Evidence) -> Check:
        short: Values = getattr(evidence.short, quantity)()
        long: Values = getattr(evidence.long, quantity)()
        common = [path for path in long if path in short]
        if not common:
            raise Uncovered("these results have no path for both flows")
        found = [f"{name(p)}: {long[p]:.3g} against {short[p]:.3g}" for p in common if long[p] >= short[p]]
        return exceptions(published, found, len(common))

    return check


def _converges(published: Published, evidence: Evidence) -> Check:
    """The spread over the bandwidths at 60 ms, relative to that at 5 ms, of long flows."""
    values = evidence.long.whole().additional()
    spread = {}
    for ms in (5, 60):
        at = _some({path: value for path, value in values.items() if path[1] == ms}).values()
        spread[ms] = max(at) - min(at)
    return Check.of_number(
        published, spread[60] / spread[5], f"{spread[5]:.3g} points, then {spread[60]:.3g}"
    )


def _end(quantity: str, greatest: bool) -> Function:
    """The least or the greatest of all experiments."""

    def check(published: Published, evidence: Evidence) -> Check:
        flows = {"short": evidence.short.whole(), "long": evidence.long.whole()}
        values = [
            (value, label, path)
            for label, flow in flows.items()
            for path, value in getattr(flow, quantity)().items()
        ]
        if not values:
            raise Uncovered("no position needs the timer on any path")
        value, label, path = max(values) if greatest else min(values)
        return Check.of_number(published, value, f"{label}, {name(path)}")

    return check


def _packets(flow_name: str, expected: int) -> Function:
    """The number of packets without loss that is farthest from the thesis's."""

    def check(published: Published, evidence: Evidence) -> Check:
        flow: Flow = getattr(evidence, flow_name)
        counts = flow.packets_without_loss()
        if not counts:
            raise Uncovered("these results have no run without loss")
        return Check.of_number(published, float(max(counts, key=lambda count: abs(count - expected))))

    return check


def _overflow(published: Published, evidence: Evidence) -> Check:
    drops = {
        label: flow.total("drops_down_queue") + flow.total("drops_up_queue")
        for label, flow in (("short", evidence.short), ("long", evidence.long))
    }
    return Check.of_number(
        published, float(sum(drops.values())), ", ".join(f"{label}: {n}" for label, n in drops.items())
    )


def _derived(value: float, how: str) -> Function:
    """Arithmetic of the text, done again."""

    def check(published: Published, evidence: Evidence) -> Check:
        return Check.of_number(published, value, how)

    return check


def _span(positions: tuple[int, ...]) -> str:
    return f"{positions[0]} to {positions[-1]}" if len(positions) > 1 else str(positions[0])


_HANDSHAKE_MS = (78 + 66) * 8 / 40
"""A SYN-ACK and its ACK as Ethernet frames at 40 kbit/s, without delay (section 4.1.3)."""

NUMBERS: dict[str, Function] = {
    "P-000-1": _additional_at("short", 10000, 5),
    "P-000-2": _additional_at("short", 10000, 300),
    "P-000-3": _additional_at("short", 80, 5),
    "P-000-4": _additional_at("short", 80, 300),
    "P-000-5": _average_at(1000, 5),
    "P-000-6": _second_least,
    "P-000-7": _most_far,
    "P-000-8": _average_slow,
    "P-000-17": _derived(
        200 + 3 * math.ceil(_HANDSHAKE_MS), "29 ticks: srtt 29, four times rttvar 58, slop 200"
    ),
    "P-000-23": _additional_at("long", 10000, 5),
    "P-000-24": _long_far,
    "P-000-25": _long_average,
    "P-000-26": _long_average_far,
    "P-000-31": _additional_at("long", 10000, 5),
    "P-000-32": _end("additional", greatest=False),
    "P-000-33": _end("average", greatest=False),
    "P-000-34": _less_than_worst("short", "average", (1000, 5)),
    "P-000-35": _least_far,
    "P-000-41": _derived((1500 + 66) * 8 / 40_000, "(1500 + 66) * 8 / 40,000"),
    "P-000-42": _derived(40 * 20 / 8, "40 kbit/s for 20 ms; and 80 kbit/s for 10 ms"),
    "P-000-44": _beyond_the_ends(80),
    "P-000-45": _beyond_the_ends(10000),
    "P-000-46": _less_than_worst("short", "additional", (10000, 5)),
    "P-000-47": _by_rate,
    "P-000-48": _fall_by_rate,
    "P-000-50": _average_falls,
    "P-000-51": _stable_slow,
    "P-000-72": _least_near,
    "P-000-74": _long_at_forty,
    "P-000-75": _converges,
    "P-000-76": _less_than_worst("long", "additional", (10000, 5)),
    "P-000-77": _longer_less("additional"),
    "P-000-102": _longer_less("average"),
    "P-000-107": _packets("short", SHORT),
    "P-000-108": _packets("long", LONG),
    "P-000-111": _overflow,
    "P-000-112": _end("additional", greatest=True),
    "P-000-113": _end("average", greatest=True),
    "P-000-114": _derived(_HANDSHAKE_MS / 1000, "(78 + 66) * 8 / 40,000"),
}
