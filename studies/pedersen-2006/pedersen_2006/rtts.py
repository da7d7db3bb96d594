"""RTT samples of a thin stream's sender: it times one chunk at a time, none that was sent again (SC-S-8)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

import polars as pl
from rexmit import Results

TICK_MS = 4
Estimate = tuple[float, float]
"""SRTT and RTTVAR."""
Update = Callable[[Estimate | None, float], Estimate]
"""The estimate after one more sample; None stands for no estimate yet."""


def samples(results: Results, run: int) -> pl.DataFrame:
    """Each sample in order: `time_ns` when the client took it, `rtt_ns`.

    The first new chunk that leaves while none is timed is timed, until the first SACK arrives that the server
    sent after the chunk had reached it; a retransmission of the chunk ends it without a sample. For thin
    streams only: nothing else decides which chunk is new.
    """
    sent = results.trace(run)["transmissions"]
    acks = sent.filter((pl.col("host") == "server") & (pl.col("reason") == "ack"))
    chunks = sent.filter((pl.col("host") == "client") & pl.col("chunk").is_not_null())
    resent = dict(
        chunks.filter(pl.col("transmission") > 1).group_by("seq").agg(pl.col("time_ns").min()).iter_rows()
    )
    acks = acks.filter(pl.col("arrived_ns").is_not_null())
    left, arrived = acks["time_ns"].to_list(), acks["arrived_ns"].to_list()
    found, free = [], 0
    for seq, began, reached in (
        chunks.filter(pl.col("transmission") == 1).select("seq", "time_ns", "arrived_ns").iter_rows()
    ):
        if began < free:
            continue
        ended = resent.get(seq)
        after = len(left) if reached is None else bisect_left(left, reached)
        answer = arrived[after] if after < len(left) else None
        if answer is not None and (ended is None or answer <= ended):
            found.append((answer, answer - began))
            free = answer
        elif ended is not None:
            free = ended
        else:
            break
    return pl.DataFrame(found, schema={"time_ns": pl.UInt64, "rtt_ns": pl.UInt64}, orient="row")


def estimates(update: Update, rtts: list[float]) -> Iterator[Estimate]:
    """The estimate after each sample."""
    now: Estimate | None = None
    for rtt in rtts:
        now = update(now, rtt)
        yield now


def in_ticks(now: Estimate | None, rtt: float) -> Estimate:
    """That of lksctp 2.6.15, ms: gains of 1/8 and 1/4 on whole ticks (SC-K-3)."""
    sample = int(rtt) // TICK_MS
    if now is None:
        return float(sample * TICK_MS), float(sample // 2 * TICK_MS)
    srtt, rttvar = (int(value) // TICK_MS for value in now)
    rttvar = rttvar - (rttvar >> 2) + (abs(srtt - sample) >> 2)
    return float((srtt - (srtt >> 3) + (sample >> 3)) * TICK_MS), float(max(rttvar, 1) * TICK_MS)
