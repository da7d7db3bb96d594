"""What the thesis says of TCP's timer and duplicates, which the segments of a run decide."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import polars as pl
from rexmit.analyse import Check, Published

from .evidence import Evidence
from .packets import TICK_MS, share

Function = Callable[[Published, Evidence], Check]
NETEM_MS = 8.0
"""Two ticks: of the host's timer and of the emulator's."""


def _resent(evidence: Evidence, rtt: str, *more: str) -> pl.DataFrame:
    levels = {"rtt": rtt, "extension": "Plain"}
    listing = evidence.listing("tcp-thin", levels, "retransmissions", *more)
    frame: pl.DataFrame = listing.retransmissions
    return frame.filter((pl.col("side") == "client") & (pl.col("len") > 0)).with_columns(
        (pl.col("delay_previous_ns") / 1e6).alias("previous"), pl.col("cause").cast(pl.String)
    )


def _at(published: Published) -> str:
    return f"{published.place['rtt_ms']} ms"


def _mostly_least(published: Published, evidence: Evidence) -> Check:
    frame = _resent(evidence, "0 ms", "segments")
    near = frame.filter(pl.col("previous").is_between(200, 208))
    return Check.of_number(published, 100 * len(near) / len(frame), f"{len(near)} of {len(frame)}")


def _no_duplicates(published: Published, evidence: Evidence) -> Check:
    frame = _resent(evidence, "0 ms", "segments").filter(pl.col("transmission") == 2)
    return Check.of_number(published, float(frame["duplicates"].max()), f"{len(frame)} segments")  # type: ignore[arg-type]


def _nothing_new(published: Published, evidence: Evidence) -> Check:
    levels = {"rtt": "0 ms", "extension": "Plain"}
    frame = _resent(evidence, "0 ms", "segments")
    segments = evidence.listing("tcp-thin", levels, "retransmissions", "segments").segments
    new = segments.filter(
        (pl.col("side") == "client") & (pl.col("len") > 0) & (pl.col("kind").cast(pl.String) == "new")
    )["time_ns"]
    acks = segments.filter(pl.col("side") == "server")
    quiet = 0
    for time, seq in frame.select("time_ns", "seq").iter_rows():
        later = acks.filter((pl.col("time_ns") > time) & (pl.col("ack") > seq))["time_ns"]
        answer = later.min() if len(later) else math.inf
        quiet += not bool(((new > time) & (new < answer)).any())
    return share(published, quiet, len(frame), "timeouts without new data before the answer")


def _powers(published: Published, evidence: Evidence) -> Check:
    frame = _resent(evidence, "0 ms", "segments")
    near = [ms for ms in frame["previous"] if abs(ms - 204 * 2 ** round(math.log2(ms / 204))) <= 2 * TICK_MS]
    return share(published, len(near), len(frame), "delays within two ticks of 204 ms times a power of two")


def _not_doubled(published: Published, evidence: Evidence) -> Check:
    frame = _resent(evidence, _at(published), *(("segments",) if _at(published) == "0 ms" else ()))
    usual = float(frame["previous"].median())  # type: ignore[arg-type]
    some = len(frame.filter(pl.col("previous") <= 1.5 * usual))
    return Check.of_number(published, 100 * some / len(frame), f"{some} of {len(frame)}")


def _doubles(published: Published, evidence: Evidence) -> Check:
    some, every = 0, 0
    for segment in _resent(evidence, "100 ms").partition_by("seq", maintain_order=True):
        delays = segment["previous"].to_list()
        for first, second in itertools.pairwise(delays):
            every += 1
            some += abs(second - 2 * first) <= 2 * NETEM_MS
    return share(published, some, every, "second timeouts of a segment twice as late as its first")


SEGMENTS: dict[str, Function] = {
    "P-002-S16": _doubles,
    "P-002-S37": _mostly_least,
    "P-002-S38": _no_duplicates,
    "P-002-S39": _nothing_new,
    "P-002-S40": _powers,
    "P-002-S41-*": _not_doubled,
}
