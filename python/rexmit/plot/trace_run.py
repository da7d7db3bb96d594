"""What is known of the run that gave a capture: states of the hosts, the emulator's verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from rexmit.plot.pack import Scaled
from rexmit.plot.series import EPOCH_NS
from rexmit.plot.trace_columns import Ends, Table

_LONGEST = 10**7 * 10**9
"""No run takes longer, in ns: a capture that begins later is not of virtual time."""


def beginning(start_ns: int, state: pl.DataFrame | None, verdicts: pl.DataFrame | None) -> int:
    """The time in a capture that is time 0 of a run's tables, or that of its first packet without any.

    Captures of virtual time have a fixed one; elsewhere the first row is taken to be of the first packet.
    """
    for table in (verdicts, state):
        if table is None or not table.height:
            continue
        first = int(table["time_ns"].min())  # type: ignore[arg-type]
        if first >= EPOCH_NS:
            return EPOCH_NS
        return EPOCH_NS if 0 <= start_ns - EPOCH_NS < _LONGEST else start_ns - first
    return start_ns


def states_of(state: pl.DataFrame | None, ends: Ends, begin: int) -> dict[str, Table]:
    """The states of each host's end of a connection over time, rows that repeat the one before left out."""
    if state is None:
        return {}
    own = state.filter(pl.col("connection") == ends.number).sort("time_ns", maintain_order=True)
    found: dict[str, Table] = {}
    for side, host in ends.hosts.items():
        rows = own.filter(pl.col("host") == host)
        values: dict[str, Any] = {}
        for name in ("cwnd", "ssthresh", "srtt_ns", "rto_ns"):
            if name in rows.columns:
                values[name] = rows[name].cast(pl.Int64).fill_null(-1).to_numpy()
        phases = rows["phase"].to_list() if "phase" in rows.columns else []
        if not rows.height or "cwnd" not in values:
            continue
        moved = _changes([*values.values(), *([np.array(phases)] if phases else [])])
        times = rows["time_ns"].to_numpy().astype(np.int64)[moved]
        found[side] = {"t": times if times[0] >= EPOCH_NS else times + begin}
        found[side] |= {
            name.removesuffix("_ns"): Scaled(column[moved], 1e-6) if name.endswith("_ns") else column[moved]
            for name, column in values.items()
        }
        if phases:
            found[side]["phase"] = [phase for phase, keep in zip(phases, moved, strict=True) if keep]
    return found


def _changes(columns: Sequence[Any]) -> Any:
    """Where any of the columns is not what it was in the row before; the first row."""
    moved = np.zeros(len(columns[0]), dtype=bool)
    moved[:1] = True
    for column in columns:
        moved[1:] |= column[1:] != column[:-1]
    return moved


def absolute(verdicts: pl.DataFrame | None, begin: int) -> pl.DataFrame | None:
    """Verdicts with the times of a capture."""
    if verdicts is None:
        return None
    times = pl.col("time_ns").cast(pl.Int64)
    return verdicts.with_columns(
        pl.when(times < EPOCH_NS).then(times + begin).otherwise(times).alias("time_ns")
    )


def verdicts_of(given: pl.DataFrame, alone: bool) -> Table:
    """What the emulator did to each packet, times from the beginning of the run.

    Where one TCP connection is `alone` in the run, with numbers from those of the SYNs: the log does not say
    of which connection a packet is.
    """
    rows = given.sort("time_ns", maintain_order=True)
    whole = {
        name: rows[name].to_numpy().astype(np.int64) for name in ("time_ns", "ip_bytes", "position", "flags")
    }
    if len(whole["time_ns"]) and whole["time_ns"][0] >= EPOCH_NS:
        whole["time_ns"] = whole["time_ns"] - EPOCH_NS
    down = rows["direction"].str.starts_with("down").to_numpy()
    found: Table = {
        "t": Scaled(whole["time_ns"], 1e-9),
        "direction": rows["direction"].to_list(),
        "bytes": whole["ip_bytes"],
        "payload": rows["payload_bytes"].to_numpy().astype(np.int64),
        "flags": whole["flags"],
        "dropped": rows["dropped"].to_numpy(),
        "verdict": rows["verdict"].to_list(),
    }
    if not _counted(rows["direction"].to_list(), whole["position"]):
        found["position"] = whole["position"]
    if alone:
        seq, ack = (rows[name].to_numpy().astype(np.int64) for name in ("seq", "ack"))
        first = {
            side: seq[at & ((whole["flags"] & 2) != 0)][:1] for side, at in (("down", down), ("up", ~down))
        }
        if len(first["down"]) and len(first["up"]):
            own, other = (
                np.where(down, first["down"], first["up"]),
                np.where(down, first["up"], first["down"]),
            )
            found["seq"] = (seq - own) % 2**32
            found["ack"] = np.where((whole["flags"] & 16) != 0, (ack - other) % 2**32, -1)
    return found


def _counted(directions: Sequence[str], positions: Any) -> bool:
    """Whether positions are what counting by direction gives, so that they need not be said."""
    at: dict[str, int] = {}
    for direction, position in zip(directions, positions.tolist(), strict=True):
        at[direction] = at.get(direction, 0) + 1
        if at[direction] != position:
            return False
    return True
