"""What the thesis says in words about its tables: orders, shares, gains and ratios, run by run."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable, Mapping, Sequence

import polars as pl
from rexmit.analyse import Check, Published, Uncovered, t_quantile

from .evidence import Evidence, Levels
from .numbers import CONFIDENCE, spread

Function = Callable[[Published, Evidence], Check]
Values = Mapping[int, float]
"""A number for each replication."""

RTTS = ("0 ms", "100 ms", "200 ms", "400 ms")
SACKS = ("S", "S+D", "S+D+F", "S+F")
BOTH = "timeout or fast"
MOST_RUNS = 0.9
"""An order that the thesis saw in its one run must hold in this share of ours."""

BLOCKS = {"1": "orig. SCTP", "2": "+reduce RTO+FR", "3": "+mod timer restart", "4": "+no SACK delay"}
"""The blocks of table 5.1."""


def column(evidence: Evidence, part: str, levels: Levels, kind: str, number: str, of: str = "mean") -> Values:
    """A column of the pooled retransmissions of a class and number, by replication."""
    frame = evidence.pooled(part, levels, kind, number)
    return {int(run): float(value) for run, value in frame.select("replication", of).iter_rows()}


def block(evidence: Evidence, part: str, variant: str) -> Levels:
    """The levels of a block of tables 5.1 and 5.2, as they are read."""
    return evidence.levels_of(part, {"variant": variant, "rtt_ms": "200"})


def at(rtt: str) -> Levels:
    """The levels of an RTT."""
    return {"rtt": rtt}


def paired(first: Values, second: Values, of: Callable[[float, float], float]) -> list[float]:
    """A number of each replication that has both."""
    return [of(first[run], second[run]) for run in sorted(first.keys() & second.keys())]


def less(first: float, second: float) -> float:
    """The difference."""
    return first - second


def over(first: float, second: float) -> float:
    """The ratio."""
    return first / second


def in_runs(published: Published, flags: Sequence[bool], more: str = "") -> Check:
    """A statement about each run: it must hold in most of ours."""
    if not flags:
        raise Uncovered("no run has such retransmissions")
    share = sum(flags) / len(flags)
    ours = "; ".join(filter(None, (f"in {sum(flags)} of {len(flags)} runs", more)))
    return Check.of_statement(published, share >= MOST_RUNS, ours, measure=100 * share)


def rising(published: Published, rows: Sequence[Values]) -> Check:
    """That means rise from one row to the next, in each run."""
    runs = set.intersection(*(set(row) for row in rows)) if rows else set()
    flags = [all(low[run] < high[run] for low, high in itertools.pairwise(rows)) for run in runs]
    means = " < ".join(f"{statistics.fmean(row.values()):.1f}" for row in rows if row)
    return in_runs(published, flags, means)


def apart(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether two means over runs differ significantly (Student's, both variances)."""
    n = len(first) + len(second) - 2
    error = math.sqrt(statistics.variance(first) / len(first) + statistics.variance(second) / len(second))
    return (
        abs(statistics.fmean(first) - statistics.fmean(second)) > t_quantile(0.5 + CONFIDENCE / 2, n) * error
    )


def alike(published: Published, pairs: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> Check:
    """That means do not differ significantly; the measure is the greatest difference, in percent."""
    if any(min(map(len, pair)) < 3 for pair in pairs.values()):
        raise Uncovered("needs three replications")
    found = {
        name: 100 * (statistics.fmean(second) / statistics.fmean(first) - 1)
        for name, (first, second) in pairs.items()
    }
    wrong = [f"{name} {found[name]:+.1f} %" for name, pair in pairs.items() if apart(*pair)]
    most = max(found.values(), key=abs)
    ours = f"greatest difference {most:+.1f} %; significant: {', '.join(wrong) or 'none'}"
    return Check.of_statement(published, not wrong, ours, measure=most)


# Thin and thick streams of SCTP.


def _timer_share(published: Published, evidence: Evidence) -> Check:
    levels = at(f"{published.place['rtt_ms']} ms")
    timeouts = column(evidence, "thin", levels, "timeout", "any", "count")
    both = column(evidence, "thin", levels, BOTH, "any", "count")
    return spread(published, paired(timeouts, both, lambda a, b: 100 * a / b))


def _timers_rise(published: Published, evidence: Evidence) -> Check:
    return rising(published, [column(evidence, "thin", at(rtt), "timeout", "1") for rtt in RTTS])


def _mostly_in_flight(published: Published, evidence: Evidence) -> Check:
    levels = at("400 ms")
    some = column(evidence, "thin", levels, "bundled-in-flight", "any", "count")
    every = column(evidence, "thin", levels, "any", "any", "count")
    return Check.of_number(published, min(paired(some, every, lambda a, b: 100 * a / b)), "least of the runs")


def _over_a_second(published: Published, evidence: Evidence) -> Check:
    means = [
        statistics.fmean(column(evidence, "thin", at(rtt), kind, "1").values())
        for rtt in RTTS
        for kind in ("timeout", "fast")
    ]
    return Check.of_number(published, min(means), f"the least of {len(means)} means")


def _classes_in_order(published: Published, evidence: Evidence) -> Check:
    levels = at(f"{published.place['rtt_ms']} ms")
    kinds = ("bundled-in-flight", "bundled-reported-missing", "timeout", "fast")
    return rising(published, [column(evidence, "thin", levels, kind, "1") for kind in kinds])


def _fast_is_later(published: Published, evidence: Evidence) -> Check:
    part = published.place["part"]
    places = [at(rtt) for rtt in RTTS] if part == "thin" else [block(evidence, part, "orig. SCTP")]
    flags: list[bool] = []
    for levels in places:
        timeout, fast = (column(evidence, part, levels, kind, "1") for kind in ("timeout", "fast"))
        flags += [gap > 0 for gap in paired(fast, timeout, less)]
    return in_runs(published, flags)


def _longest(published: Published, evidence: Evidence) -> Check:
    longest: dict[int, float] = {}
    for rtt in RTTS:
        for run, most in column(evidence, "thin", at(rtt), "any", "any", "max").items():
            longest[run] = max(most, longest.get(run, 0))
    return spread(published, list(longest.values()))


def _soonest(published: Published, evidence: Evidence) -> Check:
    least = [value for rtt in RTTS for value in column(evidence, "thin", at(rtt), BOTH, "1", "min").values()]
    return Check.of_number(published, min(least), f"the least of {len(least)} runs")


def _later_by(published: Published, evidence: Evidence) -> Check:
    first, second = (column(evidence, "thin", at(rtt), "timeout", "1") for rtt in ("200 ms", "100 ms"))
    return spread(published, paired(first, second, less))


def _fifth_less_first(published: Published, evidence: Evidence) -> Check:
    levels = at(f"{published.place['rtt_ms']} ms")
    fifth, first = (column(evidence, "thick", levels, "any", number) for number in ("5", "1"))
    return spread(published, paired(fifth, first, less))


def _third_less_first(published: Published, evidence: Evidence) -> Check:
    levels = at(f"{published.place['rtt_ms']} ms")
    third, first = (column(evidence, "thick", levels, "any", number, "min") for number in ("3", "1"))
    return spread(published, paired(third, first, less))


def _most_often(published: Published, evidence: Evidence) -> Check:
    levels = at(f"{published.place['rtt_ms']} ms")
    runs = evidence.at("thick", levels)["run"].to_list()
    frame = evidence.retransmissions("thick")
    return spread(
        published, [float(max(frame.filter(pl.col("run") == run)["number"], default=0)) for run in runs]
    )


def _some_timeouts(published: Published, evidence: Evidence) -> Check:
    counts = evidence.at("thick", at("200 ms"))["timeouts"].to_list()
    return Check.of_number(published, statistics.fmean(counts), "mean of runs")


def _spurious(published: Published, evidence: Evidence) -> Check:
    frame = evidence.retransmissions("thick").filter(pl.col("number") > 1)
    by = frame.group_by("rtt", maintain_order=True).agg(pl.col("not_needed", "count").sum())
    shares = [100 * some / every for some, every in by.select("not_needed", "count").iter_rows()]
    return Check.of_number(published, min(shares), ", ".join(f"{share:.0f} %" for share in shares))


def _max_falls(published: Published, evidence: Evidence) -> Check:
    levels = at("200 ms")
    fourth, fifth = (column(evidence, "thick", levels, "any", number, "max") for number in ("4", "5"))
    return in_runs(published, [gap > 0 for gap in paired(fourth, fifth, less)])


# TCP, and TCP beside SCTP.


def _sack_helps(published: Published, evidence: Evidence) -> Check:
    flags: list[bool] = []
    for rtt in RTTS[:3]:
        plain = column(evidence, "tcp-thick", {"rtt": rtt, "extension": "Plain"}, "any", "any")
        for name in SACKS:
            ours = column(evidence, "tcp-thick", {"rtt": rtt, "extension": name}, "any", "any")
            flags += [gap > 0 for gap in paired(plain, ours, less)]
    return in_runs(published, flags)


def _sack_gain(published: Published, evidence: Evidence) -> Check:
    rtt = f"{published.place['rtt_ms']} ms"
    plain, ours = (
        column(evidence, "tcp-thick", {"rtt": rtt, "extension": name}, "any", "any")
        for name in ("Plain", published.place["variant"])
    )
    return spread(published, paired(plain, ours, less))


def _sacks_alike(published: Published, evidence: Evidence) -> Check:
    rtt = f"{published.place['rtt_ms']} ms"
    means = {
        name: list(column(evidence, "tcp-thick", {"rtt": rtt, "extension": name}, "any", "any").values())
        for name in SACKS
    }
    return alike(published, {name: (means["S"], means[name]) for name in SACKS[1:]})


def _extensions_alike(published: Published, evidence: Evidence) -> Check:
    pairs = {}
    for rtt in RTTS:
        plain = column(evidence, "tcp-thin", {"rtt": rtt, "extension": "Plain"}, "any", "any")
        for name in SACKS:
            ours = column(evidence, "tcp-thin", {"rtt": rtt, "extension": name}, "any", "any")
            pairs[f"{rtt} {name}"] = (list(plain.values()), list(ours.values()))
    return alike(published, pairs)


def _fast_share(published: Published, evidence: Evidence) -> Check:
    rtt = f"{published.place['rtt_ms']} ms"
    frame = evidence.retransmissions("tcp-thick").filter(pl.col("rtt") == rtt)
    shares = {}
    for (name,), own in frame.group_by("extension", maintain_order=True):
        shares[str(name)] = 100 * (
            1 - int(own.filter(pl.col("class") == "timeout")["count"].sum()) / int(own["count"].sum())
        )
    if not shares:
        raise Uncovered(f"no run at {rtt}")
    worst = min(shares, key=shares.__getitem__)
    return Check.of_number(published, shares[worst], f"least of {len(shares)} variants: {worst}")


def _least_timeout(published: Published, evidence: Evidence) -> Check:
    """The median of the runs' least first timeouts, whatever the extension."""
    part, rtt = published.place["part"], f"{published.place['rtt_ms']} ms"
    least = evidence.pooled(part, at(rtt), "timeout", "1", by="run")["min"].to_list()
    if not least:
        raise Uncovered("no first timeout")
    return Check.of_number(
        published, statistics.median(least), f"median of {len(least)} runs; least {min(least):.1f}"
    )


def _thick_order(published: Published, evidence: Evidence) -> Check:
    flags: list[bool] = []
    for rtt in RTTS[:3]:
        sctp = column(evidence, "thick", at(rtt), "any", "1")
        for name in ("Plain", *SACKS):
            tcp = column(evidence, "tcp-thick", {"rtt": rtt, "extension": name}, "any", "any")
            flags += [gap < 0 for gap in paired(sctp, tcp, less)]
    return in_runs(published, flags)


def _more_timers(published: Published, evidence: Evidence) -> Check:
    flags = []
    for rtt in RTTS[:3]:
        own = evidence.at("thick", at(rtt))
        sctp = int(own["timeouts"].sum()) / int(own["retransmits"].sum())
        for name in ("Plain", *SACKS):
            runs = evidence.at("tcp-thick", {"rtt": rtt, "extension": name})
            flags += [t / n > sctp for t, n in runs.select("timeouts", "retransmits").iter_rows()]
    return in_runs(published, flags)


def _times_tcp(published: Published, evidence: Evidence) -> Check:
    rtt = f"{published.place['rtt_ms']} ms"
    sctp = column(evidence, "thin", at(rtt), BOTH, "1")
    tcp = column(evidence, "tcp-thin", {"rtt": rtt, "extension": "Plain"}, "any", "any")
    return spread(published, paired(sctp, tcp, over))


def _steadier(published: Published, evidence: Evidence) -> Check:
    flags: list[bool] = []
    for rtt in RTTS[1:]:
        sctp = column(evidence, "thin", at(rtt), "timeout", "1", "std")
        tcp = column(evidence, "tcp-thin", {"rtt": rtt, "extension": "Plain"}, "timeout", "1", "std")
        flags += [gap > 0 for gap in paired(sctp, tcp, less)]
    return in_runs(published, flags)


def _sooner_once(published: Published, evidence: Evidence) -> Check:
    flags: list[bool] = []
    for rtt in RTTS:
        sctp = column(evidence, "thin", at(rtt), BOTH, "1")
        tcp = column(evidence, "tcp-thin", {"rtt": rtt, "extension": "Plain"}, "any", "1")
        flags += [gap > 0 for gap in paired(sctp, tcp, less)]
    return in_runs(published, flags)


def _later_thrice(published: Published, evidence: Evidence) -> Check:
    """Third retransmissions since the first transmission: TCP's table has them since the one before."""
    rtt = f"{published.place['rtt_ms']} ms"
    means = []
    for part in ("thin", "tcp-thin"):
        frame = evidence.retransmissions(part).filter(
            (pl.col("rtt") == rtt) & (pl.col("number") == 3) & pl.col("class").is_in(["timeout", "fast"])
        )
        weight = int(frame["count"].sum())
        if not weight:
            raise Uncovered(f"no third retransmission of {part} at {rtt}")
        means.append(float((frame["cumulative_mean_ms"] * frame["count"]).sum()) / weight)
    ours = f"third retransmissions after {means[0]:.0f} ms (SCTP), {means[1]:.0f} ms (TCP)"
    return Check.of_statement(published, means[0] < means[1], ours, measure=means[1] - means[0])


# The enhancements.


def _gain(first: str, second: str, kind: str, of: str = "mean", number: str = "1") -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        part = published.place["part"]
        rows = [
            column(evidence, part, block(evidence, part, name), kind, number, of) for name in (first, second)
        ]
        return spread(published, paired(rows[0], rows[1], less))

    return check


def _ratio(first: str, second: str, kind: str = BOTH) -> Function:
    """The second block's mean over the first's."""

    def check(published: Published, evidence: Evidence) -> Check:
        part, number = published.place["part"], published.place["retransmission"]
        rows = [column(evidence, part, block(evidence, part, name), kind, number) for name in (second, first)]
        return spread(published, paired(rows[0], rows[1], over))

    return check


def _blocks_alike(part: str, first: str, second: str, kinds: Sequence[str], of: Sequence[str]) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        pairs = {
            f"{kind} {what}": tuple(
                list(column(evidence, part, block(evidence, part, name), kind, "1", what).values())
                for name in (first, second)
            )
            for kind in kinds
            for what in of
        }
        return alike(published, pairs)  # type: ignore[arg-type]

    return check


def _greatest(variant: str) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        found = column(evidence, "burst", block(evidence, "burst", variant), BOTH, "any", "max")
        if published.value.startswith("<"):
            median = statistics.median(found.values())
            return Check.of_number(published, median, f"median of {len(found)} runs")
        return spread(published, list(found.values()))

    return check


_ORIG, _FR, _MOD, _NO = BLOCKS.values()

CLAIMS: dict[str, Function] = {
    "P-002-S9": _extensions_alike,
    "P-002-S10": _sack_helps,
    "P-002-S10-*": _sack_gain,
    "P-002-S12-*": _least_timeout,
    "P-002-S13-*": _timer_share,
    "P-002-S14": _timers_rise,
    "P-002-S15": _over_a_second,
    "P-002-S17": _mostly_in_flight,
    "P-002-S19": _longest,
    "P-002-S27-*": _classes_in_order,
    "P-002-S30": _later_by,
    "P-002-S32": _fast_share,
    "P-002-S34": _sacks_alike,
    "P-002-S35-*": _least_timeout,
    "P-002-S36-*": _fast_share,
    "P-002-S42": _thick_order,
    "P-002-S43": _more_timers,
    "P-002-S44-*": _times_tcp,
    "P-002-S45": _steadier,
    "P-002-S46": _sooner_once,
    "P-002-S47-*": _later_thrice,
    "P-002-S48": _fifth_less_first,
    "P-002-S49-*": _most_often,
    "P-002-S53-*": _third_less_first,
    "P-002-S54": _some_timeouts,
    "P-002-S56": _spurious,
    "P-002-S57": _max_falls,
    "P-002-S71-1": _gain(_ORIG, _FR, "timeout"),
    "P-002-S71-2": _gain(_FR, _MOD, "timeout"),
    "P-002-S71-3": _gain(_MOD, _NO, "timeout"),
    "P-002-S71-4": _gain(_ORIG, _FR, BOTH),
    "P-002-S71-5": _gain(_FR, _MOD, BOTH),
    "P-002-S71-6": _gain(_MOD, _NO, BOTH),
    "P-002-S71-7": _gain(_ORIG, _FR, BOTH, "max", "3"),
    "P-002-S74": _blocks_alike("enhancements", _ORIG, _FR, ("bundled-in-flight",), ("mean",)),
    "P-002-S75": _blocks_alike("enhancements", _FR, _MOD, ("bundled-in-flight",), ("mean",)),
    "P-002-S76-1-*": _ratio(_ORIG, _FR),
    "P-002-S76-2-*": _ratio(_FR, _MOD),
    "P-002-S76-3-*": _ratio(_MOD, _NO),
    "P-002-S79": _blocks_alike("burst", _FR, "+FR bundling", ("timeout", "fast"), ("mean", "count")),
    "P-002-S80-1": _greatest(_ORIG),
    "P-002-S80-2": _greatest(_FR),
    "P-002-S81": _soonest,
    "P-002-S82-*": _fast_is_later,
    "P-002-S84-1": _ratio(_ORIG, _NO),
    "P-002-S84-2": _ratio(_ORIG, _FR),
}
