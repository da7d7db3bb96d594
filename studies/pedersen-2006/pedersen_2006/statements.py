"""What the thesis says of measured RTTs, of the calculated RTO, and of what made a segment go again."""

from __future__ import annotations

import statistics
from collections.abc import Callable

import polars as pl
from rexmit.analyse import Check, Published, Uncovered

from .evidence import Evidence
from .packets import mode
from .rtts import samples

Function = Callable[[Published, Evidence], Check]
START_NS = 20 * 10**9
"""After the first samples, which begin with half an RTT of variance."""

SACK_DELAY = "hosts.server.stack.sack.delay"
DELAYED, AT_ONCE = "200 ms", "0 ns"


def _only_fast(published: Published, evidence: Evidence) -> Check:
    # Of a thick stream sctp_trace's classes say nothing (section 3.2.1); how often a timer expired, the runs
    # know.
    runs = evidence.at("thick", {"rtt": f"{published.place['rtt_ms']} ms"})
    mean = statistics.fmean(runs["timeouts"].to_list())
    resent = statistics.fmean(runs["retransmits"].to_list())
    return Check.of_number(published, mean, f"mean of {len(runs)} runs, of {resent:.0f} retransmissions each")


def _rtt(low: float, high: float) -> Function:
    """The most frequent of the sender's RTT samples in a range, ms."""

    def check(published: Published, evidence: Evidence) -> Check:
        rtt = samples(evidence.part("rto"), _run(evidence, DELAYED))["rtt_ns"] / 1e6
        some = rtt.filter((rtt >= low) & (rtt < high)).to_list()
        if not some:
            raise Uncovered(f"no RTT sample from {low:g} to {high:g} ms")
        return Check.of_number(published, mode(some), f"mode of {len(some)} of {len(rtt)} samples")

    return check


def _rto(delay: str, of: str) -> Function:
    """The `median` or the `greatest` calculated RTO of ten minutes."""

    def check(published: Published, evidence: Evidence) -> Check:
        rto = _calculated(evidence, delay)
        value = rto.median() if of == "median" else rto.max()
        return Check.of_number(published, float(value), f"{of} of ten minutes")  # type: ignore[arg-type]

    return check


def _peaks(published: Published, evidence: Evidence) -> Check:
    """The usual peak of the calculated RTO: the most frequent of those values that it only falls from."""
    rto = _calculated(evidence, AT_ONCE)
    rto = rto.filter(rto != rto.shift(1).fill_null(0))
    level = float(rto.median())  # type: ignore[arg-type]
    peaks = rto.filter((rto > rto.shift(1)) & (rto > rto.shift(-1)) & (rto > 1.2 * level)).to_list()
    if not peaks:
        raise Uncovered("the calculated RTO has no peak")
    return Check.of_number(published, mode(peaks), f"mode of {len(peaks)} peaks")


def _lower(published: Published, evidence: Evidence) -> Check:
    with_delay, without = (
        statistics.fmean(_calculated(evidence, delay).to_list()) for delay in (DELAYED, AT_ONCE)
    )
    ours = f"mean {with_delay:.0f} ms with SACK delay, {without:.0f} ms without"
    return Check.of_statement(published, without < with_delay, ours, measure=with_delay - without)


def _too_high(published: Published, evidence: Evidence) -> Check:
    least = [float(_calculated(evidence, delay).min()) for delay in (DELAYED, AT_ONCE)]  # type: ignore[arg-type]
    return Check.of_number(published, least[0] - least[1], f"{least[0]:.0f} less {least[1]:.0f} ms")


def _state(evidence: Evidence, delay: str) -> pl.DataFrame:
    state = evidence.part("rto").trace(_run(evidence, delay))["state"]
    return state.filter((pl.col("host") == "client") & (pl.col("time_ns") > START_NS))


def _calculated(evidence: Evidence, delay: str) -> pl.Series:
    state = _state(evidence, delay).filter(pl.col("srtt_ns").is_not_null())
    return (state["srtt_ns"] + 4 * state["rttvar_ns"]) / 1e6


def _run(evidence: Evidence, delay: str) -> int:
    return int(evidence.at("rto", {SACK_DELAY: delay})["run"][0])


def _all_timeouts(published: Published, evidence: Evidence) -> Check:
    frame = evidence.retransmissions("tcp-thin")
    causes = dict(frame.group_by("class").agg(pl.col("count").sum()).sort("count").iter_rows())
    ours = ", ".join(f"{count} {cause}" for cause, count in reversed(causes.items()))
    others = sum(count for cause, count in causes.items() if cause not in ("timeout", "fin", "syn"))
    return Check.of_number(published, 14_000 * others / sum(causes.values()), ours)


STATEMENTS: dict[str, Function] = {
    "P-002-S5-1": _rtt(300, 500),
    "P-002-S5-2": _rtt(100, 300),
    "P-002-S5-3": _rtt(500, 800),
    "P-002-S6": _rto(DELAYED, "greatest"),
    "P-002-S7-1": _rto(AT_ONCE, "median"),
    "P-002-S7-2": _rto(AT_ONCE, "greatest"),
    "P-002-S7-3": _peaks,
    "P-002-S8": _all_timeouts,
    "P-002-S11-*": _only_fast,
    "P-002-S67": _lower,
    "P-002-S83": _too_high,
}
