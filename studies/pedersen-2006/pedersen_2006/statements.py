"""What the thesis says in words and shows in listings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import rexmit
from rexmit.analyse import Check, Published, prediction_interval, retransmission_delays

from .evidence import Evidence, Uncovered
from .numbers import CONFIDENCE

Function = Callable[[Published, Evidence], Check]
TICK_MS = 4.0
START_NS = 20 * 10**9
"""After the first samples, which begin with half an RTT of variance."""

EXTENSION, SACK_DELAY = "extension", "hosts.server.stack.sack.delay"
RESTART = "hosts.client.stack.timer.restart_less_age"
THRICE = ["timeout", "fast", "timeout"]


def _three_ways(published: Published, evidence: Evidence) -> Check:
    rtt = pl.col("rtt") == f"{published.place['rtt_ms']} ms"
    third = (pl.col("number") == 3) & (pl.col("class") == "timeout")
    runs = evidence.retransmissions("thin").filter(rtt & third)["run"].unique(maintain_order=True)
    for run in runs:
        for chunk in _chunks(evidence.part("thin"), run).partition_by("tsn", maintain_order=True):
            first = chunk.sort("retransmission").head(3)
            if first["class"].to_list() == THRICE:
                delays = [ns / 1e6 for ns in first["delay_first_ns"]]
                ours = ", ".join(f"{delay:.0f}" for delay in delays) + " ms after it was sent"
                again = delays[2] - delays[0]
                return Check.of_statement(published, abs(again - 1000) <= TICK_MS, ours, f"run {run}")
    return Check.of_statement(published, False, f"no chunk in {len(runs)} runs with a third timeout")


def _chunks(results: rexmit.Results, run: int) -> pl.DataFrame:
    """Retransmissions of a run, chunk by chunk."""
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "client.pcapng"
        results.capture(run, client=capture)
        found = rexmit.analyze(capture, tables=["sctp_retransmissions"], sctp_threshold=4)
    return found.sctp_retransmissions.with_columns(pl.col("class", "cause").cast(pl.String))


def _again_and_again(published: Published, evidence: Evidence) -> Check:
    frame = evidence.retransmissions("thick").filter(pl.col("rtt") == f"{published.place['rtt_ms']} ms")
    soon = [
        (number, frame.filter(pl.col("number") == number)["consecutive_min_ms"].min()) for number in (2, 3, 4)
    ]
    ours = "; ".join(f"number {number} {_ms(least)} after the one before" for number, least in soon)
    holds = all(least is not None and least < 1 for _, least in soon)  # type: ignore[operator]
    return Check.of_statement(published, holds, ours)


def _only_fast(published: Published, evidence: Evidence) -> Check:
    # Of a thick stream sctp_trace's classes say nothing (section 3.2.1); that no timer expired, the runs
    # know.
    table = evidence.part("thick").table().filter(pl.col("rtt").is_in(["0 ms", "100 ms"]))
    if table.is_empty():
        raise Uncovered("these results of pedersen-2006/thick have no run at these RTTs")
    timeouts = table.group_by("rtt", maintain_order=True).agg(
        pl.col("timeouts").mean(), pl.col("retransmits").mean()
    )
    ours = "; ".join(
        f"RTT {rtt}: {t:.1f} timeouts, {n:.0f} retransmissions a run" for rtt, t, n in timeouts.rows()
    )
    return Check.of_statement(published, timeouts["timeouts"].sum() == 0, ours)


def _restart(less_age: bool) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        results = evidence.part("restart")
        runs = results.table().filter(pl.col(RESTART) == less_age)["run"]
        if runs.is_empty():
            raise Uncovered(f"these results of pedersen-2006/restart have no run with {RESTART} {less_age}")
        chunks = _chunks(results, int(runs[0]))
        first = chunks.filter((pl.col("retransmission") == 1) & (pl.col("class") == "timeout"))
        delays = first["delay_first_ns"] / 1e6
        soon = int((delays <= 1000 + TICK_MS).sum())
        ours = f"{soon} of {len(delays)} first timeouts no later than 1000 ms after the chunk"
        share = soon / len(delays)
        return Check.of_statement(published, share > 0.9 if less_age else share < 0.1, ours)

    return check


def _rtt(published: Published, evidence: Evidence) -> Check:
    results = evidence.part("rto")
    run = _run(results, "200 ms")
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "client.pcapng"
        results.capture(run, client=capture)
        found = rexmit.analyze(capture, tables=["sctp_rtt"]).sctp_rtt
    rtt = found.filter(pl.col("side") == "client")["rtt_ns"] / 1e6
    shares = {about: int(((rtt - about).abs() < 30).sum()) / len(rtt) for about in (200, 400)}
    long = _long_samples(results.trace(run)["state"])
    ours = ", ".join(f"{100 * share:.0f} % within 30 ms of {about} ms" for about, share in shares.items())
    ours += f"; {long} samples of the sender of 600 to 700 ms"
    return Check.of_statement(published, shares[400] > 0.5 and shares[200] > 0 and long > 0, ours)


def _long_samples(state: pl.DataFrame) -> int:
    """How often the sender's variance rose as a sample of 600 to 700 ms, and none of 400, makes it rise.

    The analysis times the newest chunk that a SACK acknowledges; a sender that times one chunk at a time gets
    the longer sample where a SACK was lost (SC-S-8). RTTVAR moves by a quarter of the distance from SRTT.
    """
    own = state.filter((pl.col("host") == "client") & (pl.col("time_ns") > START_NS))
    srtt, before, after = own["srtt_ns"].shift(1), own["rttvar_ns"].shift(1), own["rttvar_ns"]
    distance = 4 * (after.cast(pl.Float64) - 0.75 * before.cast(pl.Float64)) / 1e6
    sample = distance + srtt.cast(pl.Float64) / 1e6
    return int(((after != before) & (sample > 600) & (sample < 700)).sum())


def _rto(delay: str, common: tuple[float, float] | None, peak: tuple[float, float]) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        results = evidence.part("rto")
        state = results.trace(_run(results, delay))["state"].filter(pl.col("host") == "client")
        calculated = state.filter(pl.col("srtt_ns").is_not_null() & (pl.col("time_ns") > START_NS))
        rto = (calculated["srtt_ns"] + 4 * calculated["rttvar_ns"]) / 1e6
        least, median, greatest = (float(rto.quantile(share)) for share in (0, 0.5, 1))  # type: ignore[arg-type]
        ours = f"least {least:.0f}, median {median:.0f}, greatest {greatest:.0f} ms"
        holds = peak[0] <= greatest <= peak[1] and (common is None or common[0] <= median <= common[1])
        return Check.of_statement(published, holds, ours)

    return check


def _run(results: rexmit.Results, delay: str) -> int:
    found = results.table().filter(pl.col(SACK_DELAY) == delay)["run"]
    if found.is_empty():
        raise Uncovered(f"these results of {results.name} have no run with a SACK delay of {delay}")
    return int(found[0])


def _all_timeouts(published: Published, evidence: Evidence) -> Check:
    frame = evidence.retransmissions("tcp-thin")
    causes = dict(frame.group_by("class").agg(pl.col("count").sum()).sort("count").iter_rows())
    ours = ", ".join(f"{count} {cause}" for cause, count in reversed(causes.items()))
    others = sum(count for cause, count in causes.items() if cause not in ("timeout", "fin", "syn"))
    # The thesis saw some 14,000 of them.
    return Check.of_statement(published, 14_000 * others / sum(causes.values()) < 0.5, ours)


def _no_difference(published: Published, evidence: Evidence) -> Check:
    means = _means(evidence, "tcp-thin")
    wrong, most = [], 0.0
    for (rtt,), frame in means.group_by("rtt", maintain_order=True):
        by = dict(frame.group_by(EXTENSION, maintain_order=True).agg(pl.col("mean")).iter_rows())
        if "Plain" not in by or len(by["Plain"]) < 2:
            raise Uncovered("needs several runs of plain TCP")
        low, high = prediction_interval(by["Plain"], CONFIDENCE)
        for name, values in by.items():
            mean, plain = sum(values) / len(values), sum(by["Plain"]) / len(by["Plain"])
            most = max(most, abs(mean / plain - 1))
            wrong += [] if low <= mean <= high else [f"{rtt} {name}"]
    ours = f"means at most {100 * most:.1f} % from plain TCP's"
    return Check.of_statement(published, not wrong, ours, "; ".join(wrong))


def _sack_helps(published: Published, evidence: Evidence) -> Check:
    means = (
        _means(evidence, "tcp-thick")
        .group_by("rtt", EXTENSION, maintain_order=True)
        .agg(pl.col("mean").mean())
    )
    parts, holds = [], True
    for (rtt,), frame in means.group_by("rtt", maintain_order=True):
        by = dict(frame.select(EXTENSION, "mean").iter_rows())
        if len(by) < 2 or "Plain" not in by:
            raise Uncovered("needs plain TCP and others")
        plain = by.pop("Plain")
        holds = holds and max(by.values()) < plain
        parts.append(
            f"RTT {rtt}: {plain:.0f} ms plain, {min(by.values()):.0f} to {max(by.values()):.0f} with SACK"
        )
    return Check.of_statement(published, holds, "; ".join(parts))


def _means(evidence: Evidence, part: str) -> pl.DataFrame:
    return retransmission_delays(evidence.retransmissions(part), ["rtt", EXTENSION, "run"], "consecutive")


def _ms(value: object) -> str:
    return "never" if value is None else f"{value:.1f} ms"


STATEMENTS: dict[str, Function] = {
    "P-002-S1": _three_ways,
    "P-002-S2": _again_and_again,
    "P-002-S3": _restart(True),
    "P-002-S4": _restart(False),
    "P-002-S5": _rtt,
    "P-002-S6": _rto("200 ms", None, (850, 1050)),
    "P-002-S7": _rto("0 ns", (225, 275), (500, 700)),
    "P-002-S8": _all_timeouts,
    "P-002-S9": _no_difference,
    "P-002-S10": _sack_helps,
    "P-002-S11": _only_fast,
}
