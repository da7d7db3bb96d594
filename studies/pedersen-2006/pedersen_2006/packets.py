"""What the thesis shows of single chunks and segments: its listings, and mechanisms that packets decide."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence

import polars as pl
from rexmit.analyse import Check, Published, Uncovered

from .claims import RTTS, at, block
from .evidence import Evidence, Levels
from .numbers import spread

Function = Callable[[Published, Evidence], Check]
TICK_MS = 4.0
START_NS = 1_139_270_400 * 10**9
"""When captures of the model begin."""
CHUNK = 1400
THRICE = ("timeout", "fast", "timeout")
RETRANSMISSIONS = "sctp_retransmissions"
RESTART = "hosts.client.stack.timer.restart_less_age"
LISTED, ALL = 3, 10
"""So many replications are looked at where one run has few of what is asked for, or very few."""


def resent(evidence: Evidence, part: str, levels: Levels, replication: int = 0) -> pl.DataFrame:
    """Retransmitted chunks of a run, their delays in ms as `first` and `previous`."""
    listing = evidence.listing(part, levels, RETRANSMISSIONS, replication=replication)
    frame: pl.DataFrame = listing.sctp_retransmissions
    return frame.with_columns(
        pl.col("class", "cause").cast(pl.String),
        (pl.col("delay_first_ns") / 1e6).alias("first"),
        (pl.col("delay_previous_ns") / 1e6).alias("previous"),
        (pl.col("since_timer_ns") / 1e6).alias("since_timer"),
        (pl.col("rto_ns") / 1e6).alias("rto"),
    )


def several(evidence: Evidence, part: str, levels: Levels, most: int = LISTED) -> pl.DataFrame:
    """The same of some replications, with the column `replication`."""
    runs = min(most, len(evidence.at(part, levels)))
    return pl.concat(
        resent(evidence, part, levels, run).with_columns(pl.lit(run).alias("replication"))
        for run in range(runs)
    )


def share(published: Published, some: int, every: int, what: str, least: float = 1.0) -> Check:
    """A statement that holds of a share of events."""
    if not every:
        raise Uncovered(f"no {what} in the runs that are looked at")
    found = some / every
    return Check.of_statement(published, found >= least, f"{some} of {every} {what}", measure=100 * found)


def mode(values: Sequence[float], digits: int = 0) -> float:
    """The most frequent value, rounded."""
    return float(statistics.mode([round(value, digits) for value in values]))


# Figures 3.9, 3.10, 4.3 and 5.1.


def again_and_again(evidence: Evidence) -> list[list[float]]:
    """Figure 3.9's chunks at RTT 100 ms: fast after one RTT, and three times more within 1 ms after two.

    The delays of their first four retransmissions, in ms.
    """
    found = []
    frame = several(evidence, "thick", at("100 ms"))
    for chunk in frame.partition_by("replication", "tsn", maintain_order=True):
        first = chunk.sort("retransmission").head(4)
        delays = first["first"].to_list()
        if len(delays) < 4 or any(cause == "timeout" for cause in first["cause"]):
            continue
        if delays[0] < 1.5 * 104 <= delays[1] and delays[3] - delays[1] < 1:
            found.append(delays)
    return found


def _figure_3_9(published: Published, evidence: Evidence) -> Check:
    chunks = again_and_again(evidence)
    place = int(published.id.rpartition("-")[2]) - 1
    return spread(published, [chunk[place] for chunk in chunks], f"{len(chunks)} chunks")


def _gap(published: Published, evidence: Evidence) -> Check:
    chunks = again_and_again(evidence)
    if not chunks:
        raise Uncovered("no such chunk")
    gaps = [chunk[2] - chunk[1] for chunk in chunks]
    return Check.of_number(published, statistics.median(gaps), f"{len(gaps)} chunks")


def _within_a_millisecond(published: Published, evidence: Evidence) -> Check:
    frame = evidence.retransmissions("thick").filter(pl.col("rtt") == f"{published.place['rtt_ms']} ms")
    least = [frame.filter(pl.col("number") == number)["consecutive_min_ms"].min() for number in (2, 3, 4)]
    found = [float(value) for value in least if value is not None]  # type: ignore[arg-type]
    if len(found) < 3:
        raise Uncovered("no chunk was sent again four times")
    return Check.of_number(published, max(found), "numbers 2 to 4, the greatest of their least gaps")


def three_ways(evidence: Evidence) -> list[list[float]]:
    """Figure 3.10's chunks: sent again by the timer, by a fast retransmit, by the timer; in ms."""
    found = []
    frame = several(evidence, "thin", at("100 ms"))
    for chunk in frame.partition_by("replication", "tsn", maintain_order=True):
        first = chunk.sort("retransmission").head(3)
        if tuple(first["class"]) == THRICE:
            found.append(first["first"].to_list())
    return found


def _figure_3_10(published: Published, evidence: Evidence) -> Check:
    chunks = three_ways(evidence)
    place = int(published.id.rpartition("-")[2]) - 1
    return spread(published, [chunk[place] for chunk in chunks], f"{len(chunks)} chunks")


def _undoubled(published: Published, evidence: Evidence) -> Check:
    chunks = three_ways(evidence)
    again = sum(abs(chunk[2] - chunk[0] - 1000) <= TICK_MS for chunk in chunks)
    return share(published, again, len(chunks), "such chunks one RTO after the first time")


def _figure_4_3(published: Published, evidence: Evidence) -> Check:
    frame = evidence.retransmissions("figure-4-03").filter(
        (pl.col(RESTART) == (published.place["variant"] == "+mod timer restart"))
        & (pl.col("number") == 1)
        & (pl.col("class") == "timeout")
    )
    if frame.is_empty():
        raise Uncovered("no such run")
    found = frame["cumulative_max_ms"].to_list()
    worst = max(found, key=lambda ms: abs(published.difference(ms)))
    return Check.of_number(published, worst, f"the furthest of {len(found)} lost chunks")


def _restarted(evidence: Evidence, less_age: bool) -> pl.DataFrame:
    frame = several(evidence, "restart", {RESTART: less_age})
    return frame.filter((pl.col("retransmission") == 1) & (pl.col("class") == "timeout"))


def _restart_holds(published: Published, evidence: Evidence) -> Check:
    """No later than the greatest RTO that was in force between the chunk and its timeout."""
    frame, later, excused = _restarted(evidence, True), 0, 0
    for run in range(LISTED):
        rto = evidence.part("restart").trace(int(evidence.at("restart", {RESTART: True})["run"][run]))[
            "state"
        ]
        rto = rto.filter(pl.col("host") == "client")
        late = frame.filter((pl.col("replication") == run) & (pl.col("first") > 1000 + TICK_MS))
        for expiry, delay in late.select("time_ns", "delay_first_ns").iter_rows():
            until = expiry - START_NS
            some = rto.filter(pl.col("time_ns") < until)
            past = some.filter(pl.col("time_ns") <= until - delay).tail(1)
            some = pl.concat([past, some.filter(pl.col("time_ns") > until - delay)])
            excused += delay <= int(some["rto_ns"].max()) + TICK_MS * 10**6  # type: ignore[arg-type]
            later += 1
    held = len(frame) - later + excused
    return share(
        published, held, len(frame), f"first timeouts no later than the RTO ({later} later than 1000 ms)"
    )


def _restart_is_late(published: Published, evidence: Evidence) -> Check:
    """Each first timeout comes one RTO after the SACK that restarted the timer, not after the chunk."""
    frame = _restarted(evidence, False)
    by = frame.filter((pl.col("since_timer") - pl.col("rto")).abs() <= 2 * TICK_MS)
    return share(published, len(by), len(frame), "first timeouts one RTO after the last restart", 0.95)


def _figure_5_1(published: Published, evidence: Evidence) -> Check:
    """Chunks whose timer a SACK restarted within 20 ms of the figure's time: its age, or their delay."""
    frame = several(evidence, "figure-5-01", {"path.delay": f"{int(published.place['rtt_ms']) // 2} ms"})
    frame = frame.filter((pl.col("retransmission") == 1) & (pl.col("class") == "timeout"))
    frame = frame.with_columns((pl.col("first") - pl.col("since_timer")).alias("age"))
    chosen = frame.filter((pl.col("age") - 345.2).abs() <= 20)
    if published.id.endswith("-1"):
        return spread(published, chosen["age"].to_list(), f"{len(chosen)} of {len(frame)} chunks")
    values = chosen.filter(pl.col("first") <= 1000 + TICK_MS)["first"].to_list()
    return spread(published, values, f"{len(values)} of {len(chosen)} chunks, the RTO being 1000 ms")


# Thin streams.


def _sack_delay(published: Published, evidence: Evidence) -> Check:
    frame = evidence.listing("thin", at("0 ms"), RETRANSMISSIONS, "sctp_rtt").sctp_rtt
    rtt = frame.filter(pl.col("side") == "client")["rtt_ns"] / 1e6
    return Check.of_number(published, float(rtt.median()), f"median of {len(rtt)}")


def _within_sack_delay(published: Published, evidence: Evidence) -> Check:
    """RTT samples of chunks that were sent once, each SACK for them not lost."""
    frame = evidence.listing("thin", at("200 ms"), RETRANSMISSIONS, "sctp_rtt").sctp_rtt
    rtt = frame.filter(pl.col("side") == "client")["rtt_ns"] / 1e6
    some = rtt.filter((rtt >= 200) & (rtt <= 408 + TICK_MS))
    return share(published, len(some), len(rtt), "samples from RTT to RTT + 200 ms and a tick")


def _fast_after_restart(published: Published, evidence: Evidence) -> Check:
    some, every = 0, 0
    for rtt in RTTS:
        frame = resent(evidence, "thin", at(rtt)).filter(
            (pl.col("retransmission") == 1) & (pl.col("class") == "fast")
        )
        every += len(frame)
        some += len(frame.filter(pl.col("since_timer") < pl.col("first") - TICK_MS))
    return share(published, some, every, "first fast retransmits with a restart of the timer since the chunk")


def _timeout_after_fast(published: Published, evidence: Evidence) -> Check:
    some, every = 0, 0
    for rtt in RTTS[:3]:
        for chunk in resent(evidence, "thin", at(rtt)).partition_by("tsn", maintain_order=True):
            kinds, delays = chunk["class"].to_list(), chunk["first"].to_list()
            if len(kinds) > 1 and kinds[1] == "timeout" and delays[1] < 1900:
                every += 1
                some += kinds[0] == "fast"
    return share(published, some, every, "second timeouts before 1.9 s that follow a fast retransmit")


def _no_backoff(published: Published, evidence: Evidence) -> Check:
    doubled, every = 0, 0
    for rtt in RTTS:
        frame = resent(evidence, "thin", at(rtt)).filter(pl.col("class") == "timeout")
        every += len(frame)
        doubled += len(frame.filter(pl.col("since_timer") > 1900))
    return Check.of_number(published, 100 * doubled / every, f"{doubled} of {every} timeouts")


def _new_after_timeout(published: Published, evidence: Evidence) -> Check:
    found = evidence.listing("thin", at("100 ms"), RETRANSMISSIONS, "chunks", "sctp_sacks")
    times = found.sctp_retransmissions.filter(pl.col("class").cast(pl.String) == "timeout")[
        "time_ns"
    ].to_list()
    new = found.chunks.filter((pl.col("side") == "client") & (pl.col("kind").cast(pl.String) == "new"))[
        "time_ns"
    ]
    sacks = found.sctp_sacks.filter(pl.col("side") == "server")["time_ns"]
    some = 0
    for time in times:
        answer = sacks.filter(sacks > time + 100 * 10**6).min() or math.inf
        some += bool(((new >= time) & (new < answer)).any())
    return Check.of_number(published, 100 * some / max(len(times), 1), f"{some} of {len(times)} timeouts")


def _late_fast(published: Published, evidence: Evidence) -> Check:
    """Very late first fast retransmits are of chunks sent within a message of a timeout."""
    some, every = 0, 0
    for rtt, late in (("200 ms", 1500), ("400 ms", 1700)):
        for run in range(LISTED):
            frame = resent(evidence, "thin", at(rtt), run)
            timeouts = frame.filter(pl.col("class") == "timeout")["time_ns"]
            chosen = frame.filter(
                (pl.col("retransmission") == 1) & (pl.col("class") == "fast") & (pl.col("first") > late)
            )
            for time, delay in chosen.select("time_ns", "delay_first_ns").iter_rows():
                sent = time - delay
                every += 1
                some += bool(((timeouts <= sent) & (timeouts > sent - 300 * 10**6)).any())
    return share(published, some, every, "late first fast retransmits of chunks sent just after a timeout")


def _mode_of_timeouts(published: Published, evidence: Evidence) -> Check:
    first = several(evidence, "thin", at("100 ms")).filter(
        (pl.col("retransmission") == 1) & (pl.col("class") == published.place["class"])
    )
    return Check.of_number(published, mode(first["first"].to_list()), f"mode of {len(first)}")


def _age_of_sack(published: Published, evidence: Evidence) -> Check:
    values = []
    for run in range(LISTED):
        first = resent(evidence, "thin", at("100 ms"), run).filter(
            (pl.col("retransmission") == 1) & (pl.col("class") == "timeout")
        )
        values.append(mode((first["first"] - first["since_timer"]).to_list(), 1))
    return spread(published, values, "mode of a run's first timeouts")


def _spacing(published: Published, evidence: Evidence) -> Check:
    chunks = evidence.listing("thin", at("100 ms"), RETRANSMISSIONS, "chunks", "sctp_sacks").chunks
    new = chunks.filter((pl.col("side") == "client") & (pl.col("kind").cast(pl.String) == "new"))
    gaps = (new["time_ns"].diff().drop_nulls() / 1e6).to_list()
    return Check.of_number(published, mode(gaps, 2), f"mode of {len(gaps)}")


def _calculated(published: Published, evidence: Evidence) -> Check:
    rtt = f"{published.place['rtt_ms']} ms"
    run = int(evidence.at("thin", at(rtt))["run"][0])
    state = (
        evidence.part("thin")
        .trace(run)["state"]
        .filter(
            (pl.col("host") == "client") & pl.col("srtt_ns").is_not_null() & (pl.col("time_ns") > 20 * 10**9)
        )
    )
    greatest = float(((state["srtt_ns"] + 4 * state["rttvar_ns"]) / 1e6).max())  # type: ignore[arg-type]
    return Check.of_number(published, greatest, "greatest of a run after 20 s")


# Thick streams.


def _bands(published: Published, evidence: Evidence) -> Check:
    first = several(evidence, "thick", at("100 ms")).filter(
        (pl.col("retransmission") == 1) & (pl.col("cause") != "timeout")
    )
    near = first.filter(((pl.col("first") + 52) % 104 - 52).abs() <= 2 + TICK_MS)
    bands = (first["first"] / 104).round().value_counts(sort=True)
    told = ", ".join(f"{100 * n / len(first):.0f} % after {int(k)}" for k, n in bands.iter_rows())
    return share(
        published, len(near), len(first), f"first fast retransmits within 6 ms of whole RTTs ({told})", 0.99
    )


def _longest_fast(published: Published, evidence: Evidence) -> Check:
    frame = several(evidence, "thick", at("100 ms"), ALL).filter(
        (pl.col("retransmission") == 1) & (pl.col("cause") != "timeout")
    )
    return spread(published, frame.group_by("replication").agg(pl.col("first").max())["first"].to_list())


def _which_time_out(published: Published, evidence: Evidence) -> Check:
    frame = several(evidence, "thick", at("200 ms"), ALL).filter(pl.col("cause") == "timeout")
    third = len(frame.filter(pl.col("retransmission") == 3))
    return share(published, third, len(frame), "timeouts at RTT 200 ms are third retransmissions")


def _in_flight(published: Published, evidence: Evidence) -> Check:
    """Chunks outstanding at a chunk's first fast retransmit that others followed within the next RTT."""
    frame = several(evidence, "thick", at("100 ms")).filter(pl.col("retransmission") == 1)
    repeated = several(evidence, "thick", at("100 ms")).filter(pl.col("retransmission") == 4)
    chosen = frame.join(repeated.select("replication", "tsn"), on=["replication", "tsn"], how="semi")
    return spread(
        published, (chosen["outstanding"] / CHUNK).to_list(), f"{len(chosen)} chunks sent again four times"
    )


def _tsn_reached(published: Published, evidence: Evidence) -> Check:
    """How many new chunks a run sends in the 87.467 s after which figure 3.9 shows TSN 6344."""
    values = []
    for run in range(min(ALL, len(evidence.at("thick", at("100 ms"))))):
        chunks = evidence.listing("thick", at("100 ms"), "chunks", replication=run).chunks
        own = chunks.filter((pl.col("side") == "client") & (pl.col("kind").cast(pl.String) == "new"))
        start = int(own["time_ns"].min())
        values.append(len(own.filter(pl.col("time_ns") - start < 87_467_000_000)))
    return spread(published, values)


# The enhancements.


def _first_report(published: Published, evidence: Evidence) -> Check:
    frame = resent(evidence, "enhancements", block(evidence, "enhancements", "+reduce RTO+FR"))
    first = frame.filter((pl.col("retransmission") == 1) & (pl.col("cause") == "fast"))
    return share(
        published,
        len(first.filter(pl.col("reports") == 1)),
        len(first),
        "first fast retransmits after one report",
    )


def _place_in_burst(variant: str, causes: Sequence[str], places: Sequence[int], least: float) -> Function:
    """The share of lost chunks at these places of a burst that have these causes."""

    def check(published: Published, evidence: Evidence) -> Check:
        frame = resent(evidence, "burst", block(evidence, "burst", variant)).filter(
            (pl.col("retransmission") == 1) & (pl.col("need").cast(pl.String) == "needed")
        )
        chosen = frame.filter((pl.col("tsn") % 4 + 1).is_in(places))
        some = chosen.filter(pl.col("cause").is_in(causes))
        return share(published, len(some), len(chosen), f"lost chunks by {' or '.join(causes)}", least)

    return check


def _fast_of_the_last(published: Published, evidence: Evidence) -> Check:
    frame = resent(evidence, "burst", block(evidence, "burst", "orig. SCTP"))
    fast = frame.filter(
        (pl.col("retransmission") == 1) & (pl.col("cause") == "fast") & (pl.col("position") == 0)
    )
    last = fast.filter(pl.col("tsn") % 4 == 3)
    return share(published, len(last), len(fast), "first fast retransmits of a burst's last chunk", 0.5)


def _burst_rtt(published: Published, evidence: Evidence) -> Check:
    found = evidence.listing("burst", block(evidence, "burst", "orig. SCTP"), "sctp_rtt").sctp_rtt
    rtt = found.filter(pl.col("side") == "client")["rtt_ns"] / 1e6
    some = rtt.filter(rtt <= 208 + 20)
    return share(published, len(some), len(rtt), "samples within 20 ms of the RTT", 0.9)


PACKETS: dict[str, Function] = {
    "P-002-S1": _undoubled,
    "P-002-S1-*": _figure_3_10,
    "P-002-S2": _within_a_millisecond,
    "P-002-S2-*": _figure_3_9,
    "P-002-S3": _restart_holds,
    "P-002-S4": _restart_is_late,
    "P-002-S20": _no_backoff,
    "P-002-S21": _new_after_timeout,
    "P-002-S22": _sack_delay,
    "P-002-S24": _fast_after_restart,
    "P-002-S25": _timeout_after_fast,
    "P-002-S29-*": _calculated,
    "P-002-S31": _late_fast,
    "P-002-S51": _bands,
    "P-002-S52": _longest_fast,
    "P-002-S55": _which_time_out,
    "P-002-S58-1": _in_flight,
    "P-002-S58-2": _tsn_reached,
    "P-002-S59": _gap,
    "P-002-S61": _mode_of_timeouts,
    "P-002-S62": _spacing,
    "P-002-S63-1": _mode_of_timeouts,
    "P-002-S63-2": _age_of_sack,
    "P-002-S64": _within_sack_delay,
    "P-002-S68-*": _figure_4_3,
    "P-002-S70-*": _figure_5_1,
    "P-002-S72": _first_report,
    "P-002-S77-1": _fast_of_the_last,
    "P-002-S77-2": _place_in_burst("+reduce RTO+FR", ("fast",), (1, 2, 3), 0.9),
    "P-002-S77-3": _place_in_burst("+reduce RTO+FR", ("timeout", "bundled-in-flight"), (4,), 0.9),
    "P-002-S78": _burst_rtt,
}
