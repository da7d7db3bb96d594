"""What graphs of one direction of a connection show over time, computed from its packets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rexmit.errors import UsageError
from rexmit.inputs import NAMED_TABLE, check_file
from rexmit.plot.connections import Floats, Integers
from rexmit.plot.flows import NOTHING, Flow, chosen

URG = 0x20
RECENT = 10
"""Segments over which tcptrace averages throughput."""

EPOCH_NS = 1_139_270_400_000_000_000
"""Time 0 of a run's state in the captures that rexmit writes."""


@dataclass(frozen=True)
class Steps:
    """A value that holds from each time until the next, seconds from the connection's first packet."""

    time: Floats
    value: Floats


@dataclass(frozen=True)
class Throughput:
    """As tcptrace draws it, bit/s: at each segment, over the last ten, and since the first; and goodput."""

    time: Floats
    instant: Floats
    recent: Floats
    average: Floats
    goodput: Steps


def other(side: str) -> str:
    """The other side."""
    return "client" if side == "server" else "server"


def seconds(flow: Flow, time_ns: Integers) -> Floats:
    """Times from the first packet of the connection."""
    found: Floats = (time_ns - flow.start_ns) / 1e9
    return found


def outstanding(flow: Flow, side: str) -> Steps:
    """Bytes that the side has sent and that are not acknowledged, after each packet of either side."""
    rows = flow.segments
    own = rows["side"] == side
    highest = np.maximum.accumulate(np.where(own, rows["end"], NOTHING))
    acked = np.maximum.accumulate(np.where(~own & (rows["ack"] != NOTHING), rows["ack"], 0))
    left = np.where(highest == NOTHING, 0, np.maximum(highest - acked, 0))
    # What SACK has reported is known where the side itself sends; between, cumulative ACKs bring it down.
    last = np.maximum.accumulate(np.where(own, np.arange(len(own)), -1))
    value = np.where(last >= 0, np.minimum(rows["outstanding"][np.maximum(last, 0)], left), 0)
    return Steps(seconds(flow, rows["time_ns"]), value.astype(np.float64))


def window(flow: Flow, side: str) -> Steps:
    """The window that the other side advertises to it, bytes."""
    rows = flow.of(flow.segments, other(side))
    rows = chosen(rows, rows["ack"] != NOTHING)
    return Steps(seconds(flow, rows["time_ns"]), rows["window"].astype(np.float64))


def throughput(flow: Flow, side: str) -> Throughput:
    """Throughput of the segments of a side, and the goodput that their acknowledgments show."""
    rows = flow.of(flow.segments, side)
    rows = chosen(rows, rows["len"] > 0)
    time = seconds(flow, rows["time_ns"])
    bits = 8.0 * rows["len"]
    sent = np.cumsum(bits)
    with np.errstate(divide="ignore", invalid="ignore"):
        instant = bits / np.diff(time, prepend=np.nan)
        since = time - np.concatenate([np.full(RECENT, np.nan), time[:-RECENT]])[: len(time)]
        recent = (sent - np.concatenate([np.full(RECENT, np.nan), sent[:-RECENT]])[: len(sent)]) / since
        average = (sent - bits[:1]) / (time - time[:1])
    acks = flow.of(flow.segments, other(side))
    acks = chosen(acks, acks["ack"] > 1)
    acked = np.maximum.accumulate(acks["ack"]) - 1.0 if len(acks["ack"]) else np.zeros(0)
    heard = seconds(flow, acks["time_ns"])
    begun = time[:1] if len(time) else heard[:1]
    late = heard > begun if len(begun) else np.zeros(len(heard), dtype=bool)
    goodput = Steps(heard[late], 8.0 * acked[late] / (heard[late] - begun))
    instant, recent, average = (np.where(np.isfinite(v), v, np.nan) for v in (instant, recent, average))
    return Throughput(time, instant, recent, average, goodput)


def intervals(flow: Flow, side: str) -> tuple[Steps, float]:
    """Throughput of a side's segments in bit/s over equal intervals, and their length in seconds.

    An interval is as long as the median RTT, so that a window sent at once does not look like a rate, and no
    shorter than a hundredth of the transfer.
    """
    rows = flow.of(flow.segments, side)
    rows = chosen(rows, rows["len"] > 0)
    time = seconds(flow, rows["time_ns"])
    if not len(time):
        return Steps(np.zeros(0), np.zeros(0)), 0.0
    span = float(time[-1] - time[0])
    rtt = flow.row[f"{side}_rtt_p50_ns"] or flow.row[f"{side}_rtt_timestamps_p50_ns"] or 0
    length = max(span / 100, rtt / 1e9, 1e-6)
    count = int(span / length) + 1
    bits, edges = np.histogram(
        time, bins=count, range=(time[0], time[0] + count * length), weights=8.0 * rows["len"]
    )
    return Steps(edges, np.append(bits / length, 0.0)), length


def cwnd(flow: Flow, side: str, state: Path | None) -> dict[str, Steps]:
    """The congestion window in bytes where it is known: a table of states, or klaver-2005's packets.

    A table of states may have `ssthresh` too. Raises UsageError where neither knows it.
    """
    if state is not None:
        return _of_state(flow, side, state)
    rows = flow.of(flow.segments, side)
    told = chosen(rows, (rows["urgent"] > 0) & ((rows["flags"] & URG) == 0))
    if not len(told["urgent"]):
        raise UsageError(
            "the capture does not tell the congestion window; give --state, a table of states of the run"
        )
    mss = flow.row[f"{other(side)}_mss"] or int(np.median(rows["len"][rows["len"] > 0]))
    return {"cwnd (urgent pointer field)": Steps(seconds(flow, told["time_ns"]), 1.0 * told["urgent"] * mss)}


def _of_state(flow: Flow, side: str, path: Path) -> dict[str, Steps]:
    import polars as pl

    from rexmit.run.tables import without_marks

    try:
        check_file(path, NAMED_TABLE)
        table = without_marks(pl.read_parquet(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UsageError(
            f"{path}: cannot be read as a table of states: {str(error).splitlines()[0]}"
        ) from None
    missing = [name for name in ("time_ns", "host", "connection", "cwnd") if name not in table.columns]
    if missing:
        raise UsageError(f"{path}: is not a table of states: it has no column {missing[0]!r}")
    own = (pl.col("host") == side) & (pl.col("connection") == flow.row["connection"] - 1)
    rows = table.filter(own).sort("time_ns")
    if not rows.height:
        raise UsageError(f"{path}: has no state of connection {flow.row['connection']} at the {side}")
    time_ns = rows["time_ns"].to_numpy().astype(np.int64)
    if len(time_ns) and time_ns[-1] < EPOCH_NS:
        time_ns = time_ns + EPOCH_NS
    found: dict[str, Steps] = {}
    for name in ("cwnd", "ssthresh"):
        if name in rows.columns:
            known = rows[name].is_not_null().to_numpy()
            values: Any = rows[name].drop_nulls().to_numpy().astype(np.float64)
            found[name] = Steps(seconds(flow, time_ns[known]), values)
    return found
