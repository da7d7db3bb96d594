"""What the log of a run says of its links: their queues, and which connection of the run a capture's is.

The length of a queue at any instant follows exactly from the times at which packets entered and left it,
which the log has of every packet. So it is drawn from the log, not from `links_over_time`, which looks once
each `measure.sample`. A second copy that a pattern makes has no row: the queue is drawn without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import polars as pl

from rexmit.plot.flows import Columns
from rexmit.plot.pack import Scaled
from rexmit.plot.trace_columns import Ends, Table

FIRST_PORT = 10_000
"""Port from which connections of a run are numbered: `FIRST_PORT` in crates/scenario/src/connections.rs."""

OUTSIDE, INSIDE = 1, 2
"""Of a packet that never came into the queue, and of one that was still inside at the end."""


def queues_of(verdicts: pl.DataFrame) -> list[dict[str, str]]:
    """The links whose queues are shown, with titles: those between points, of two hosts both directions."""
    if not {"entered_ns", "left_ns"} <= set(verdicts.columns):
        return []
    entered = verdicts.filter(pl.col("entered_ns").is_not_null())
    names = sorted(entered["direction"].unique().to_list())
    return [{"direction": name, "title": _title(name)} for name in _shown(names)]


def queue_tables(verdicts: pl.DataFrame) -> dict[str, Table]:
    """The table of each queue, in the order of `queues_of`: a row for each packet of the link, as in the log.

    `entered` is how long after it was offered each packet entered. `stay` is how long it was inside, or
    `left` how much later it left than the one before it: whichever has fewer values, so takes fewer bytes.
    `place` is 0, or `OUTSIDE` or `INSIDE`; `connection` is -1 for none, and absent where all are of one.
    """
    rows = verdicts.sort("time_ns", maintain_order=True)
    known = "connection" in rows.columns and rows["connection"].drop_nulls().n_unique() > 1
    found: dict[str, Table] = {}
    for number, queue in enumerate(queues_of(rows)):
        own = rows.filter(pl.col("direction") == queue["direction"])
        time, entered, left = (
            own[name].cast(pl.Int64).fill_null(-1).to_numpy() for name in ("time_ns", "entered_ns", "left_ns")
        )
        place = np.where(entered < 0, OUTSIDE, np.where(left < 0, INSIDE, 0))
        gone = place == 0
        stay, after = np.where(gone, left - entered, 0), np.where(gone, left - time[0], 0)
        # Where there is no time, the one before holds.
        last = np.maximum.accumulate(np.where(gone, np.arange(len(after)), 0))
        steps = np.diff(after[last], prepend=0)
        repeated = len(np.unique(steps)) < len(np.unique(stay))
        table: Table = {
            "left" if repeated else "stay": Scaled(steps if repeated else stay, 1e-9),
            "entered": Scaled(np.where(place != OUTSIDE, entered - time, 0), 1e-9),
            "place": place,
        }
        if known:
            table["connection"] = own["connection"].cast(pl.Int64).fill_null(-1).to_numpy()
        found[f"queue-{number}"] = table
    return found


def ends_of(addresses: Sequence[str], verdicts: pl.DataFrame | None) -> Ends | None:
    """Which connection of the run this is, by its ports; None where the log does not know its connections."""
    if verdicts is None or "connection" not in verdicts.columns:
        return None
    ports = [int(match[1]) for one in addresses if (match := re.search(r":(\d+)$", one))]
    number = max(ports, default=0) - FIRST_PORT
    own = verdicts.filter(pl.col("connection") == number)
    if own.is_empty():
        return None
    hosts = {}
    for side in ("client", "server"):
        first = _first(own, side)["direction"].head(1).to_list()
        # The first link that a packet meets is the access link of its host.
        hosts[side] = first[0].removesuffix("/up") if first and first[0].endswith("/up") else side
    return Ends(number, hosts)


def lost_on_links(side: str, rows: Columns, number: int, verdicts: pl.DataFrame) -> list[str | None]:
    """Of each packet that a side of a connection sent: where a link of a network dropped it, and why.

    The log has the time at the link: it is the last packet of that number that was sent until then.
    """
    found: list[str | None] = [None] * len(rows["seq"])
    own = verdicts.filter(pl.col("connection") == number)
    first = _first(own, side)
    if first.is_empty():
        return found
    ways = first["direction"].unique().to_list()
    start = int(first["seq"][0])
    own = own.filter(
        pl.col("dropped")
        & pl.col("direction").is_in(ways)
        & ((pl.col("payload_bytes") > 0) | (pl.col("flags").cast(pl.Int64) & (_SYN | _FIN) > 0))
    )
    places: dict[int, list[int]] = {}
    carries = rows["end"] > rows["seq"]
    numbers = (rows["seq"] % 2**32).tolist()
    for at in np.flatnonzero(carries).tolist():
        places.setdefault(numbers[at], []).append(at)
    for time, seq, way, said in own.select("time_ns", "seq", "direction", "verdict").iter_rows():
        sent = [at for at in places.get((seq - start) % 2**32, ()) if rows["time_ns"][at] <= time]
        if sent:
            found[sent[-1]] = f"{said}, at {_title(way)}"
    return found


def _first(own: pl.DataFrame, side: str) -> pl.DataFrame:
    """The rows of the first packet of a side of a connection, at each link that it met."""
    wanted = _SYN if side == "client" else _SYN | _ACK
    return own.filter(pl.col("flags").cast(pl.Int64) & (_SYN | _ACK) == wanted)


def is_of_network(verdicts: pl.DataFrame) -> bool:
    """Whether the log is of a network, whose links have names."""
    return bool(verdicts["direction"].str.contains("/", literal=True).any())


def side_of(ends: Ends | None, number: int) -> Ends:
    """The ends that are known, or those of two hosts whose capture has all connections."""
    return ends or Ends(number - 1)


def _shown(names: Sequence[str]) -> list[str]:
    """The links between points; where all hosts hang on one point, their own."""
    return [name for name in names if not name.endswith(("/up", "/down"))] or list(names)


def _title(direction: str) -> str:
    """`bottleneck, left to right` of `bottleneck/left-right`."""
    if direction in _TWO_HOSTS:
        return _TWO_HOSTS[direction]
    link, _, way = direction.partition("/")
    return f"{link}, {way.replace('-', ' to ') if way.count('-') == 1 else way}" if way else link


_TWO_HOSTS = {"down": "path, server to client", "up": "path, client to server"}
_FIN, _SYN, _ACK = 1, 2, 16
