"""Connections of a capture as arrays, with all that graphs show of them."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from rexmit.analyse import rows as plain
from rexmit.analyse.captures import Options, Progress, Reading, Summary
from rexmit.analyse.rows import NAMES, TEXTS, RawTable, Row
from rexmit.errors import one_line

Array: TypeAlias = npt.NDArray[Any]
Columns: TypeAlias = dict[str, Any]
"""Column to array; names are texts, what has no value is NaN or the number `NOTHING`; notes are lists."""

NOTHING = -(2**63)
"""No value, in columns of whole numbers."""

ROWS = ("segments", "sacks", "retransmissions", "rtt", "loss_events", "held")


@dataclass(frozen=True)
class Flow:
    """A TCP connection: its row of the table of connections, and its rows of the others."""

    row: Row
    interface: str
    segments: Columns
    sacks: Columns
    retransmissions: Columns
    rtt: Columns
    loss_events: Columns
    held: Columns

    @property
    def start_ns(self) -> int:
        """Time of the first packet."""
        start: int = self.row["start_ns"]
        return start

    def packets(self, t: tuple[float, float] | None = None) -> int:
        """How many packets it has, in all or within a range of seconds from its first one."""
        if t is None:
            return len(self.segments["time_ns"])
        seconds = (self.segments["time_ns"] - self.start_ns) / 1e9
        return int(((seconds >= t[0]) & (seconds <= t[1])).sum())

    def of(self, table: Columns, side: str) -> Columns:
        """The rows of a table that are of this side."""
        return chosen(table, table["side"] == side)


def read_flows(
    capture: str | Path,
    numbers: Sequence[int] | None = None,
    options: Options | None = None,
    progress: Progress | None = None,
) -> tuple[list[Flow], Summary]:
    """The connections of these numbers, or all, in order; and what there is to say of the capture.

    Raises UsageError where the file is not a capture.
    """
    given = options or Options()
    asked = Options(
        given.filter,
        given.loss_event_rtts,
        given.sctp_threshold,
        given.jobs,
        ("connections", *ROWS),
    )
    reading = Reading([capture], asked, progress)
    wanted = None if numbers is None else np.array(sorted(set(numbers)), dtype=np.int64)
    parts: dict[str, list[Columns]] = defaultdict(list)
    found: list[Row] = []
    for tables in reading:
        known = plain.values(tables["connections"], "connection")
        at = [row for row, number in enumerate(known) if wanted is None or number in wanted]
        found += plain.rows(tables["connections"], at)
        for name in ROWS:
            columns = to_columns(tables[name])
            own = columns["connection"]
            keep = np.ones(len(own), dtype=bool) if wanted is None else np.isin(own, wanted)
            parts[name].append(chosen(columns, keep))
    whole = {name: _joined(parts[name]) for name in ROWS}
    interfaces = reading.summary.interfaces
    rows = sorted(found, key=lambda row: int(row["connection"]))
    split = {name: _by_connection(whole[name]) for name in ROWS}
    flows = [
        Flow(
            row,
            _interface(interfaces, row["interface"]),
            *(split[name].get(row["connection"], chosen(whole[name], slice(0, 0))) for name in ROWS),
        )
        for row in rows
    ]
    return flows, reading.summary


def to_columns(table: RawTable) -> Columns:
    """A table of the native analysis as arrays."""
    rows = plain.height(table)
    return {name: _values(kind, data, rows) for name, (kind, data) in table.items()}


def chosen(table: Columns, rows: Any) -> Columns:
    """Some rows of a table."""
    return {name: values[rows] for name, values in table.items()}


def _values(kind: str, data: bytes, rows: int) -> Array:
    if kind == TEXTS:
        texts = np.full(rows, None, dtype=object)
        given = json.loads(data)
        if given is not None:
            texts[:] = given
        return texts
    if kind.startswith(NAMES):
        names = np.array(json.loads(kind.removeprefix(NAMES)))
        return names[np.frombuffer(data, dtype=np.uint8)]
    if kind == "|b1":
        return np.frombuffer(data, dtype=np.bool_)
    given_type = kind.removesuffix("?")
    values = np.frombuffer(data, dtype=np.dtype(given_type))
    if given_type == "<f8":
        return values
    whole = values.astype(np.int64)
    if kind == "<u8?":
        # The mark of the native code, the largest number, is -1 here.
        whole[values == np.iinfo(np.uint64).max] = NOTHING
    return whole


def _joined(parts: Iterable[Columns]) -> Columns:
    every = list(parts)
    return {name: np.concatenate([part[name] for part in every]) for name in every[0]}


def _by_connection(table: Columns) -> dict[int, Columns]:
    order = np.argsort(table["connection"], kind="stable")
    numbers, starts = np.unique(table["connection"][order], return_index=True)
    ends = np.append(starts[1:], len(order))[: len(starts)]
    return {
        int(number): chosen(table, order[start:end])
        for number, start, end in zip(numbers, starts, ends, strict=True)
    }


def _interface(interfaces: list[dict[str, Any]], number: int) -> str:
    """The name of an interface as it may be shown; empty where the capture names none."""
    name = interfaces[number]["name"] if number < len(interfaces) else None
    if name:
        return one_line(name)
    return "" if len(interfaces) < 2 else f"interface {number}"
