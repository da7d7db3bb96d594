"""Checks of what a loss costs by its position: early, in the middle, at the end, by path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from statistics import mean, stdev

from rexmit.analyse import Check, Published, Uncovered

from .flows import LEFT_OUT, Evidence, Flow, Pair
from .regions import exceptions, name

Function = Callable[[Published, Evidence], Check]
FASTER = (500, 1000, 2000, 4000, 8000, 10000)
"""The bandwidths of figure 4.7, kbit/s."""
MIDDLE = range(30, 71)
"""The middle section of the long flows at 500 kbit/s: well within its two edges."""


def tau(values: Sequence[float]) -> float:
    """Kendall's rank correlation of these values with their order: 1 where each is above the one before."""
    pairs = list(combinations(values, 2))
    if not pairs:
        raise Uncovered("these results have a single such path")
    return sum((b > a) - (b < a) for a, b in pairs) / len(pairs)


def early(flow: Flow, path: Pair, positions: Iterable[int] = range(2, 7)) -> float:
    """What an early loss costs: its mean time over that of the cheapest loss in the middle, minus 1."""
    middle = min(flow.time(*path, at) for at in range(7, flow.packets - 4))
    return mean(flow.time(*path, at) for at in positions) / middle - 1


def _syn_ack(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    increase = {path: flow.time(*path, 1) - flow.time(*path, 0) for path in flow.paths([40])}
    path, worst = max(increase.items(), key=lambda item: abs(published.difference(item[1])))
    note = f"mean {mean(increase.values()):.0f} ms; farthest at {path[1]} ms"
    check = Check.of_number(published, worst, note)
    shown = f"{min(increase.values()):.0f} to {max(increase.values()):.0f}"
    return Check(published, check.verdict, shown, check.difference, check.note)


def _last_packet(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    costs = {path: flow.time(*path, 20) - flow.time(*path, 0) for path in flow.calm()}
    if not costs:
        raise Uncovered("these results have no path that the thesis uses")
    path, worst = max(costs.items(), key=lambda item: abs(item[1]))
    shown = f"{min(costs.values()):.3g} to {max(costs.values()):.3g}"
    check = Check.of_number(published, worst, f"farthest at {name(path)}")
    return Check(published, check.verdict, shown, check.difference, check.note)


def _over_the_last(kbit_s: int) -> Function:
    """Time at position 4 less the greatest of 17 to 19, at 300 ms."""

    def check(published: Published, evidence: Evidence) -> Check:
        flow = evidence.short
        first, late = flow.time(kbit_s, 300, 4), max(flow.time(kbit_s, 300, at) for at in (17, 18, 19))
        return Check.of_number(
            published, first - late, f"{first:.0f} ms at 4, at most {late:.0f} ms at 17 to 19"
        )

    return check


def _dip_against(others: Sequence[int]) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        flow = evidence.short
        nine = flow.time(320, 300, 9)
        against = mean(flow.time(320, 300, at) for at in others)
        return Check.of_number(
            published, 100 * (1 - nine / against), f"{nine:.0f} ms against {against:.0f} ms"
        )

    return check


def _dip_where(published: Published, evidence: Evidence) -> Check:
    """A dip at nine at 200, 250 and 300 ms, and none at 5 to 20 ms."""
    flow = evidence.short
    found = []
    for ms in (200, 250, 300, 5, 10, 20):
        eight, nine, ten = (flow.time(320, ms, at) for at in (8, 9, 10))
        dips = nine < 0.99 * min(eight, ten)
        if dips != (ms >= 200):
            found.append(f"{ms} ms: {eight:.0f}, {nine:.0f}, {ten:.0f} ms")
    return exceptions(published, found, 6)


def _hump(kbit_s: int, ms: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        middle, late = (evidence.long.time(kbit_s, ms, at) for at in (50, 80))
        return Check.of_number(published, 100 * (middle / late - 1), f"{middle:.0f} ms against {late:.0f} ms")

    return check


def _humps(published: Published, evidence: Evidence) -> Check:
    """The middle section over what follows it, at 80 less at 40 kbit/s, 300 ms."""
    flow = evidence.long
    high = {
        rate: mean(flow.time(rate, 300, at) for at in range(40, 61))
        / mean(flow.time(rate, 300, at) for at in range(75, 96))
        - 1
        for rate in (40, 80)
    }
    note = f"{100 * high[80]:.2f} % at 80, {100 * high[40]:.2f} % at 40 kbit/s"
    return Check.of_number(published, 100 * (high[80] - high[40]), note)


def _replicates(published: Published, evidence: Evidence) -> Check:
    """The greatest standard deviation over replications, at positions from 2 on of the paths used."""
    worst = (0.0, "")
    for label, flow in (("short", evidence.short), ("long", evidence.long)):
        for row in flow.spread().iter_rows(named=True):
            path, at = (row["kbit_s"], row["ms"]), row["path.down.drop"]
            if at != 1 and path not in LEFT_OUT and row["sd_ms"] is not None:
                worst = max(worst, (row["sd_ms"], f"{label}, {name(path)}, position {at}"))
    if not worst[1]:
        raise Uncovered("needs more than one replication")
    return Check.of_number(published, worst[0], worst[1])


def _early_by_delay(flow_name: str, kbit_s: int, positions: Iterable[int]) -> Function:
    """Kendall's tau of what an early loss costs and the delay."""
    chosen = tuple(positions)

    def check(published: Published, evidence: Evidence) -> Check:
        flow: Flow = getattr(evidence, flow_name)
        paths = [path for path in flow.calm() if path[0] == kbit_s]
        costs = [early(flow, path, chosen) for path in paths]
        found = tau(costs)
        note = f"{100 * costs[0]:.0f} % at {paths[0][1]} ms, {100 * costs[-1]:.0f} % at {paths[-1][1]} ms"
        return Check.of_number(published, found, note)

    return check


def _early_both_ways(flow_name: str, rates: Sequence[int]) -> Function:
    """The least of Kendall's tau over the delays of each rate and over the rates of each delay."""

    def check(published: Published, evidence: Evidence) -> Check:
        flow: Flow = getattr(evidence, flow_name)
        cost = {path: early(flow, path) for path in flow.paths(rates)}
        delays = sorted({ms for _, ms in cost})
        if len(cost) < len(rates) * len(delays):
            raise Uncovered("these results lack some of the bandwidths")
        taus = {f"{rate} kbit/s": tau([cost[rate, ms] for ms in delays]) for rate in rates}
        taus |= {f"{ms} ms": tau([cost[rate, ms] for rate in rates]) for ms in delays}
        where, least = min(taus.items(), key=lambda item: item[1])
        return Check.of_number(published, least, f"least at {where}")

    return check


def _early_by_product(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    paths = sorted(flow.calm(), key=lambda path: path[0] * path[1])
    pairs = [(a, b) for a, b in combinations(paths, 2) if a[0] * a[1] < b[0] * b[1]]
    if not pairs:
        raise Uncovered("these results have a single bandwidth-delay product")
    cost = {path: early(flow, path) for path in paths}
    found = sum((cost[b] > cost[a]) - (cost[b] < cost[a]) for a, b in pairs) / len(pairs)
    return Check.of_number(published, found, f"over {len(paths)} paths")


def _early_at_four(published: Published, evidence: Evidence) -> Check:
    at = {rate: early(evidence.short, (rate, 300), (4,)) for rate in (80, 160)}
    note = f"{100 * at[80]:.0f} % at 80, {100 * at[160]:.0f} % at 160 kbit/s"
    return Check.of_number(published, 100 * (at[160] - at[80]), note)


def _fourth_group(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    more = flow.time(320, 300, 8) - flow.time(320, 300, 0)
    return Check.of_number(published, more / 600, f"{more:.0f} ms in round trips of 600 ms")


def _long_early(published: Published, evidence: Evidence) -> Check:
    """Mean time at 3 to 8 less that at 60 to 90, at 160 kbit/s: the less of 200 and 300 ms."""
    flow = evidence.long
    more = {
        ms: mean(flow.time(160, ms, at) for at in range(3, 9))
        - mean(flow.time(160, ms, at) for at in range(60, 91))
        for ms in (200, 300)
    }
    return Check.of_number(
        published, min(more.values()), ", ".join(f"{v:.0f} ms at {ms} ms" for ms, v in more.items())
    )


def _first_section(published: Published, evidence: Evidence) -> Check:
    """How many positions from 2 on cost over 5 % more than the cheapest, 500 kbit/s: tau with the delay."""
    flow = evidence.long
    lengths = []
    for path in flow.paths([500]):
        least = min(flow.time(*path, at) for at in range(7, 96))
        length = 0
        while length < 90 and flow.time(*path, 2 + length) > 1.05 * least:
            length += 1
        lengths.append(length)
    return Check.of_number(published, tau(lengths), f"positions, by delay: {', '.join(map(str, lengths))}")


def _irregular(published: Published, evidence: Evidence) -> Check:
    """The standard deviation of the second differences of the time over the middle, at 500 kbit/s."""
    flow = evidence.long
    rough = [stdev(_second(flow, path, MIDDLE)) for path in flow.paths([500])]
    return Check.of_number(published, tau(rough), f"ms, by delay: {', '.join(f'{v:.3g}' for v in rough)}")


def _second(flow: Flow, path: Pair, positions: range) -> list[float]:
    times = [flow.time(*path, at) for at in positions]
    return [a - 2 * b + c for a, b, c in zip(times, times[1:], times[2:], strict=False)]


def _bump(published: Published, evidence: Evidence) -> Check:
    flow = evidence.long
    more = flow.time(500, 300, 41) - flow.time(500, 300, 50)
    return Check.of_number(published, more / 600, f"{more:.0f} ms in round trips of 600 ms")


def _small_bumps(published: Published, evidence: Evidence) -> Check:
    """The greatest step between neighbours of the middle at 500 kbit/s, 5 to 40 ms, % of the time."""
    flow = evidence.long
    steps = {
        path: max(
            abs(flow.time(*path, at + 1) - flow.time(*path, at)) / flow.time(*path, at) for at in MIDDLE[:-1]
        )
        for path in flow.paths([500], [5, 10, 20, 40])
    }
    path, worst = max(steps.items(), key=lambda item: item[1])
    return Check.of_number(
        published, 100 * worst, f"at {name(path)}; {100 * min(steps.values()):.2g} at least"
    )


def _at_84(published: Published, evidence: Evidence) -> Check:
    middle, late = (evidence.long.time(80, 300, at) for at in (50, 84))
    return Check.of_number(published, middle - late, f"{middle:.0f} ms at 50, {late:.0f} ms at 84")


def _earlier_ends(published: Published, evidence: Evidence) -> Check:
    """The lesser of the first section's and the last section's mean time less the middle's, figure 4.25."""
    flow = evidence.earlier
    time = {at: flow.time(1000, 10, at) for at in range(1, 20)}
    middle = mean(time[at] for at in range(6, 16))
    more = {part: mean(time[at] for at in ats) - middle for part, ats in _ENDS.items()}
    return Check.of_number(
        published, min(more.values()), ", ".join(f"{part}: {v:.0f} ms more" for part, v in more.items())
    )


_ENDS = {"first (1 to 4)": range(1, 5), "last (17 to 19)": range(17, 20)}


def _earlier_higher(published: Published, evidence: Evidence) -> Check:
    """Time at 17 to 19 in figure 4.25 less that in figure 4.8, ms."""
    then = mean(evidence.earlier.time(1000, 10, at) for at in (17, 18, 19))
    now = mean(evidence.short.time(1000, 10, at) for at in (17, 18, 19))
    return Check.of_number(published, then - now, f"{then:.0f} ms against {now:.0f} ms")


def _helps(published: Published, evidence: Evidence) -> Check:
    """What a late loss takes at 1000 kbit/s, 10 ms with the minimum of a second, less without it."""
    then, now = (flow.time(1000, 10, 18) for flow in (evidence.earlier, evidence.short))
    return Check.of_number(published, then - now, f"{then:.0f} ms with a second, {now:.0f} ms without")


def _harms(published: Published, evidence: Evidence) -> Check:
    """What the flow without loss takes at 40 kbit/s, 5 ms without the minimum of a second, less with it."""
    then, now = (flow.time(40, 5, 0) for flow in (evidence.earlier, evidence.short))
    return Check.of_number(published, now - then, f"{now:.0f} ms without a second, {then:.0f} ms with it")


SHAPES: dict[str, Function] = {
    "P-000-10": _syn_ack,
    "P-000-11": _last_packet,
    "P-000-14": _over_the_last(160),
    "P-000-15": _dip_against((8, 10)),
    "P-000-27": _hump(160, 300),
    "P-000-38": _dip_against((10,)),
    "P-000-43": _replicates,
    "P-000-55": _early_by_delay("short", 80, range(2, 6)),
    "P-000-57": _early_at_four,
    "P-000-58": _over_the_last(320),
    "P-000-59": _dip_where,
    "P-000-60": _early_both_ways("short", FASTER),
    "P-000-66": _early_by_product,
    "P-000-68": _fourth_group,
    "P-000-81": _humps,
    "P-000-83": _long_early,
    "P-000-84": _first_section,
    "P-000-85": _irregular,
    "P-000-86": _early_both_ways("long", (1000, 4000, 10000)),
    "P-000-94": _at_84,
    "P-000-96": _bump,
    "P-000-97": _small_bumps,
    "P-000-98": _earlier_ends,
    "P-000-99": _earlier_higher,
    "P-000-103": _helps,
    "P-000-106": _harms,
}
