"""Checks of published numbers that a table of runs answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from rexmit.analyse import OUTSIDE, RECORDED, Check, Published

from .flows import LEFT_OUT, Evidence, Flow, Uncovered

Function = Callable[[Published, Evidence], Check]
ALMOST_ALL, MOST = 0.8, 0.5
"""Shares that the words of the thesis are taken for."""


def _additional_at(flow: str, kbit_s: int, ms: int) -> Function:
    """Additional time of a late loss on one path."""

    def check(published: Published, evidence: Evidence) -> Check:
        chosen: Flow = getattr(evidence, flow)
        values = chosen.additional()
        if (kbit_s, ms) not in values:
            raise Uncovered(
                f"no position needs the timer at {kbit_s} kbit/s, {ms} ms, or that path was not run"
            )
        cost = chosen.costs[kbit_s, ms]
        note = f"positions {_span(cost.inhibited)} wait for the timer, {cost.last_fast} is repaired fast"
        return Check.of_number(published, values[kbit_s, ms], note)

    return check


def _worst_average(published: Published, evidence: Evidence) -> Check:
    values = evidence.short.whole().average()
    path, worst = max(values.items(), key=lambda item: item[1])
    return Check.of_number(
        published, worst, f"worst of all, at {_name(path)}; published at 1000 kbit/s, 5 ms"
    )


def _share(ms: int, share: float) -> Function:
    """A value that holds for most or almost all bandwidths of one delay."""

    def check(published: Published, evidence: Evidence) -> Check:
        values = [value for path, value in evidence.short.whole().average().items() if path[1] == ms]
        if not values:
            raise Uncovered(f"these results have no run with {ms} ms")
        held = [value for value in values if published.allows(value)]
        ours = f"{min(values):.3g} to {max(values):.3g}; {len(held)} of {len(values)} bandwidths within"
        check = Check.of_statement(published, len(held) > share * len(values), ours)
        if check.verdict == OUTSIDE and published.deviation == f"{len(held)} of {len(values)}":
            return replace(check, verdict=RECORDED)
        return check

    return check


def _all_within(published: Published, values: Mapping[tuple[int, int], float], note: str = "") -> Check:
    """Every value must lie within; shows their range and the one that lies worst."""
    if not values:
        raise Uncovered("these results have no such run")
    path, worst = max(values.items(), key=lambda item: abs(published.difference(item[1])))
    low, high = min(values.values()), max(values.values())
    difference = published.difference(worst)
    held = all(published.allows(value) for value in values.values())
    where = f"worst at {_name(path)}" if difference else ""
    verdict = Check.of_statement(published, held, "").verdict
    return Check(
        published, verdict, f"{low:.3g} to {high:.3g}", difference, "; ".join(filter(None, (note, where)))
    )


def _average_slow(published: Published, evidence: Evidence) -> Check:
    values = {path: value for path, value in evidence.short.average().items() if path[0] == 40}
    return _all_within(published, values)


def _syn_ack(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short.whole()
    paths = [path for path in flow.paths() if path not in LEFT_OUT]
    increase = {path: flow.time(*path, 1) - flow.time(*path, 0) for path in paths}
    left_out = [flow.time(*path, 1) - flow.time(*path, 0) for path in flow.paths() if path in LEFT_OUT]
    values = sorted(increase.values())
    note = (
        f"mean over {len(values)} paths, from {values[0]:.0f} to {values[-1]:.0f}, half of them up to "
        f"{values[len(values) // 2]:.0f}: more than the timer where the server's own repeated the SYN-ACK"
    )
    if left_out:
        note += f"; left out: 40 kbit/s to 20 ms, {min(left_out):.0f} to {max(left_out):.0f}"
    return Check.of_number(published, sum(values) / len(values), note)


def _last_packet(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    paths = [path for path in flow.paths() if path not in LEFT_OUT]
    return _all_within(published, {path: flow.time(*path, 20) - flow.time(*path, 0) for path in paths})


def _dip(published: Published, evidence: Evidence) -> Check:
    eight, nine, ten = (evidence.short.time(320, 300, position) for position in (8, 9, 10))
    note = f"positions 8, 9, 10 take {eight:.0f}, {nine:.0f}, {ten:.0f} ms"
    return Check.of_number(published, 100 * (1 - nine / ((eight + ten) / 2)), note)


def _long_additional(published: Published, evidence: Evidence) -> Check:
    return _all_within(published, {p: v for p, v in evidence.long.additional().items() if p[1] >= 60})


def _long_average(published: Published, evidence: Evidence) -> Check:
    return _all_within(published, evidence.long.average())


def _long_average_far(published: Published, evidence: Evidence) -> Check:
    return _all_within(published, {p: v for p, v in evidence.long.average().items() if p[1] == 300})


def _middle_hump(published: Published, evidence: Evidence) -> Check:
    middle, late = evidence.long.time(160, 300, 50), evidence.long.time(160, 300, 80)
    return Check.of_number(published, 100 * (middle / late - 1), f"{middle:.0f} ms against {late:.0f} ms")


def _long_worst(published: Published, evidence: Evidence) -> Check:
    path, worst = max(evidence.long.whole().additional().items(), key=lambda item: item[1])
    return Check.of_number(published, worst, f"at {_name(path)}")


def _range_of_additional(published: Published, evidence: Evidence) -> Check:
    return _both_ends(published, evidence.short.whole().additional(), evidence.long.whole().additional())


def _range_of_average(published: Published, evidence: Evidence) -> Check:
    return _both_ends(published, evidence.short.whole().average(), evidence.long.whole().average())


def _both_ends(
    published: Published, short: Mapping[tuple[int, int], float], long: Mapping[tuple[int, int], float]
) -> Check:
    """The printed range is the range of all values: each end must be met."""
    values = [*((v, "short", p) for p, v in short.items()), *((v, "long", p) for p, v in long.items())]
    low, high = published.interval()
    least, most = min(values), max(values)
    differences = [least[0] - low, most[0] - high]
    held = all(abs(difference) <= float(published.tolerance) for difference in differences)
    note = f"least: {least[1]}, {_name(least[2])}; most: {most[1]}, {_name(most[2])}"
    verdict = Check.of_statement(published, held, "").verdict
    return Check(published, verdict, f"{least[0]:.3g} to {most[0]:.4g}", max(differences, key=abs), note)


def _name(path: tuple[int, int]) -> str:
    return f"{path[0]} kbit/s, {path[1]} ms"


def _span(positions: tuple[int, ...]) -> str:
    return f"{positions[0]} to {positions[-1]}" if len(positions) > 1 else str(positions[0])


NUMBERS: dict[str, Function] = {
    "P-000-1": _additional_at("short", 10000, 5),
    "P-000-2": _additional_at("short", 10000, 300),
    "P-000-3": _additional_at("short", 80, 5),
    "P-000-4": _additional_at("short", 80, 300),
    "P-000-5": _worst_average,
    "P-000-6": _share(5, ALMOST_ALL),
    "P-000-7": _share(300, MOST),
    "P-000-8": _average_slow,
    "P-000-10": _syn_ack,
    "P-000-11": _last_packet,
    "P-000-15": _dip,
    "P-000-23": _additional_at("long", 10000, 5),
    "P-000-24": _long_additional,
    "P-000-25": _long_average,
    "P-000-26": _long_average_far,
    "P-000-27": _middle_hump,
    "P-000-31": _long_worst,
    "P-000-32": _range_of_additional,
    "P-000-33": _range_of_average,
}
