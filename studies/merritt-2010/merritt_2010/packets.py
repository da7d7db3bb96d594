"""What the packets of one run say: queues, idle links, ACK compression, periods, round trips.

From the tables that :meth:`rexmit.Results.trace` makes. A queue is what lies between a router's entry and its
far end: the wire's tenth of a millisecond is in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rexmit.analyse.both_ways import TwoWaySpans

Numbers = NDArray[np.float64]
SECOND = 1e9
STALL = 0.2 * SECOND
"""A download that sends nothing for this long stalls: its RTT alone on 2400/196 (table 6.1)."""
BIN = 0.1 * SECOND
HOSTS = {"down": "server", "up": "client"}
DOWNLOAD, UPLOAD = 0, 1
WRAP = 2**32
ACKS_OF_A_TICK = 2
"""So many ACKs may stand in R2 while the download is alone: its shaper sends every 4 ms only."""


@dataclass(frozen=True)
class Packets:
    """Both directions of one run: each packet's entry, arrival, connection and content."""

    down: pl.DataFrame
    up: pl.DataFrame
    spans: TwoWaySpans

    @classmethod
    def of(cls, trace: dict[str, pl.DataFrame], spans: TwoWaySpans) -> Packets:
        """The packets of a trace."""
        keep = ("position", "arrived_ns", "reason", "transmission")
        sides = {}
        for direction, host in HOSTS.items():
            sent = trace["transmissions"].filter(pl.col("host") == host).select(keep)
            seen = trace["verdicts"].filter(pl.col("direction") == direction)
            sides[direction] = seen.join(sent, on="position").sort("position")
        return cls(sides["down"], sides["up"], spans)

    def queue(self, direction: str) -> tuple[Numbers, Numbers]:
        """Times in ns, and how many packets wait from each on; `down` is R1's queue, `up` R2's."""
        return _queue(self.down if direction == "down" else self.up)

    def measures(self) -> dict[str, Any]:
        """All measures of the run, by name."""
        alone, both = self.spans.alone, self.spans.both
        queue_down, queue_up = _queue(self.down), _queue(self.up)
        bytes_up = _queue(self.up, "ip_bytes")
        rtt = self._round_trips()
        quiet = rtt[rtt[:, 0] < self.spans.upload]
        loud = rtt[rtt[:, 0] >= self.spans.upload]
        quiet = quiet[quiet[:, 0] >= alone[0]]
        at_ack = _at(bytes_up, loud[:, 2])
        peak, lag = _periodic(self.down, both)
        return {
            "queued_alone": _above(queue_up, alone, ACKS_OF_A_TICK),
            "idle_down": _idle(queue_down, both),
            "idle_up": _idle(queue_up, both),
            "queues_correlation": _queues_correlation(queue_down, queue_up, both),
            "rtt_alone_max": float(quiet[:, 1].max() / SECOND),
            "rtt_both_max": float(loud[:, 1].max() / SECOND),
            "rtt_queue_correlation": float(np.corrcoef(loud[:, 1], at_ack)[0, 1]),
            "compressed_down": self._compressed("download"),
            "compressed_up": self._compressed("upload"),
            "stalls": self._stalls(),
            "periodic": peak,
            "period": lag,
            "lost_acks_up": _lost(self.up, DOWNLOAD),
            "lost_acks_down": _lost(self.down, UPLOAD),
            "full_after": self._full_after(queue_up),
        }

    def _ways(self, who: str) -> tuple[pl.DataFrame, pl.DataFrame, int]:
        """The data of a transfer, the way back, and its connection."""
        return (self.down, self.up, DOWNLOAD) if who == "download" else (self.up, self.down, UPLOAD)

    def _acknowledged(self, who: str) -> Numbers:
        """When each ACK arrived at a sender, when its last segment was sent, when the ACK was sent.

        ACKs of segments that were sent more than once are left out.
        """
        data, back, connection = self._ways(who)
        sent = data.filter((pl.col("connection") == connection) & (pl.col("payload_bytes") > 0))
        if sent.is_empty():
            return np.empty((0, 3))
        first = int(sent["seq"][0])
        end = (pl.col("seq").cast(pl.Int64) - first) % WRAP + pl.col("payload_bytes")
        last = sent.group_by(end.alias("end")).agg(pl.col("time_ns").min(), pl.len().alias("times"))
        arrived = (pl.col("connection") == connection) & (pl.col("payload_bytes") == 0) & ~pl.col("dropped")
        acks = back.filter(arrived & (pl.col("time_ns") > sent["time_ns"][0])).sort("arrived_ns")
        acks = acks.with_columns(((pl.col("ack").cast(pl.Int64) - first) % WRAP).alias("end"))
        acks = acks.filter(pl.col("end") > pl.col("end").cum_max().shift(1).fill_null(0))
        joined = acks.join(last.filter(pl.col("times") == 1), on="end", suffix="_data")
        table = joined.sort("arrived_ns").select("arrived_ns", "time_ns_data", "time_ns").to_numpy()
        return table.astype(np.float64)

    def _round_trips(self) -> Numbers:
        """Of the download: when each sample was taken, the sample, when its ACK was sent; ns."""
        table = self._acknowledged("download")
        return np.column_stack((table[:, 0], table[:, 0] - table[:, 1], table[:, 2]))

    def _compressed(self, who: str) -> float:
        """The share of a transfer's ACKs that are compressed, while both run.

        They arrive less than half as far from the one before as the data that they acknowledge were sent.
        """
        table = self._acknowledged(who)
        table = table[(table[:, 0] >= self.spans.both[0]) & (table[:, 0] < self.spans.both[1])]
        gaps = np.diff(table, axis=0)
        later = gaps[:, 1] > 0
        if not later.any():
            return float("nan")
        return float(np.mean(gaps[later, 0] < gaps[later, 1] / 2))

    def _stalls(self) -> int:
        """How often the download sends nothing for :data:`STALL` and longer while both run."""
        mine = (self.down["connection"] == DOWNLOAD) & (self.down["payload_bytes"] > 0)
        at = self.down.filter(mine)["time_ns"].to_numpy().astype(float)
        at = at[(at >= self.spans.both[0]) & (at < self.spans.both[1])]
        return int(np.sum(np.diff(at) >= STALL))

    def _full_after(self, queue_up: tuple[Numbers, Numbers]) -> float:
        """Seconds from the upload's start to the first packet that R2 drops."""
        lost = self.up.filter(pl.col("dropped") & (pl.col("time_ns") >= self.spans.upload))["time_ns"]
        return float("nan") if lost.is_empty() else (float(lost.min()) - self.spans.upload) / SECOND  # type: ignore[arg-type]


def _queue(packets: pl.DataFrame, size: str = "") -> tuple[Numbers, Numbers]:
    """Times and how many packets wait from each on, or how much of a column of theirs."""
    through = packets.filter(~pl.col("dropped") & pl.col("arrived_ns").is_not_null())
    enter, leave = (through[name].to_numpy().astype(float) for name in ("time_ns", "arrived_ns"))
    at = np.concatenate((enter, leave))
    of_each = through[size].to_numpy().astype(float) if size else np.ones(len(enter))
    step = np.concatenate((of_each, -of_each))
    order = np.argsort(at, kind="stable")
    return at[order], np.cumsum(step[order])


def _at(queue: tuple[Numbers, Numbers], times: Numbers) -> Numbers:
    """The queue's length at times."""
    return queue[1][np.maximum(np.searchsorted(queue[0], times, side="right") - 1, 0)]


def _held(queue: tuple[Numbers, Numbers], span: tuple[int, int]) -> tuple[Numbers, Numbers]:
    """How long each length was held within a span."""
    inside = (queue[0] >= span[0]) & (queue[0] < span[1])
    return np.diff(queue[0][inside]), queue[1][inside][:-1]


def _above(queue: tuple[Numbers, Numbers], span: tuple[int, int], packets: int) -> float:
    """The share of a span in which more packets than so many wait."""
    time, length = _held(queue, span)
    return float(time[length > packets].sum() / (span[1] - span[0]))


def _idle(queue: tuple[Numbers, Numbers], span: tuple[int, int]) -> float:
    """The share of a span in which a direction has nothing to send."""
    time, length = _held(queue, span)
    return float(time[length == 0].sum() / (span[1] - span[0]))


def _queues_correlation(
    down: tuple[Numbers, Numbers], up: tuple[Numbers, Numbers], span: tuple[int, int]
) -> float:
    """Of the lengths of both queues, looked at every 100 ms."""
    times = np.arange(span[0], span[1], BIN)
    lengths = _at(down, times), _at(up, times)
    if min(length.std() for length in lengths) == 0:
        return 0.0
    return float(np.corrcoef(*lengths)[0, 1])


def _periodic(down: pl.DataFrame, span: tuple[int, int]) -> tuple[float, float]:
    """The highest autocorrelation of the download's goodput beyond the first zero, and its lag in seconds."""
    mine = (pl.col("connection") == DOWNLOAD) & (pl.col("payload_bytes") > 0) & ~pl.col("dropped")
    through = down.filter(mine)
    edges = np.arange(span[0], span[1] + BIN, BIN)
    got, _ = np.histogram(
        through["arrived_ns"].to_numpy().astype(float), edges, weights=through["payload_bytes"].to_numpy()
    )
    got = got - got.mean()
    most = len(got) // 4
    lags = np.arange(1, most)
    correlation = np.array([float(got[lag:] @ got[:-lag]) for lag in lags]) / float(got @ got)
    below = np.flatnonzero(correlation <= 0)
    if not len(below):
        return 0.0, float("nan")
    best = below[0] + int(np.argmax(correlation[below[0] :]))
    return float(correlation[best]), float(lags[best]) * BIN / SECOND


def _lost(packets: pl.DataFrame, connection: int) -> int:
    """ACKs of a connection that a router drops."""
    mine = (pl.col("connection") == connection) & (pl.col("payload_bytes") == 0) & pl.col("dropped")
    return packets.filter(mine).height
