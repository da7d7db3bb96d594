"""What the blocks of TCP connections and of SCTP associations have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rexmit.analyse.rows import Row
from rexmit.plot.flows import NOTHING, Columns
from rexmit.plot.pack import Column, Scaled

Table: TypeAlias = dict[str, Any]
"""Columns by name, as `pack` takes them."""

NEW = {"label": "segment", "letter": "", "colour": "segment", "again": False}
"""How packets look that carry new data."""


@dataclass(frozen=True)
class Ends:
    """A connection of the run: its number from 0, and its hosts by side."""

    number: int
    hosts: Mapping[str, str] = field(default_factory=lambda: {"client": "client", "server": "server"})


@dataclass(frozen=True)
class Known:
    """What holds for every connection of a block.

    `begin_ns` is the time from which the table of verdicts counts; `t` a range of time in seconds that is
    wanted of each connection, None for all; `short` leaves out what the page of a study says elsewhere;
    `verdicts` are the emulator's, with the times of the capture.
    """

    begin_ns: int
    t: tuple[float, float] | None
    short: bool
    verdicts: pl.DataFrame | None
    ends: Ends | None = None
    """Which connection of the run is being packed."""

    @property
    def told(self) -> dict[str, int]:
        """What the head of a view has of it."""
        return {} if self.ends is None else {"of": self.ends.number}

    def within(self, time_ns: Any, start_ns: int) -> Any:
        """Which of these times are wanted."""
        if self.t is None:
            return np.ones(len(time_ns), dtype=bool)
        first, last = (start_ns + round(1e9 * seconds) for seconds in self.t)
        return (time_ns >= first) & (time_ns <= last)


def compact(table: Mapping[str, Column]) -> Table:
    """The table without columns of nothing but 0, which a page fills in."""
    found: Table = {}
    for name, column in table.items():
        values = column.values if isinstance(column, Scaled) else column
        if isinstance(values, np.ndarray) and name != "t" and values.size and not values.any():
            continue
        if isinstance(values, list) and not any(values):
            continue
        found[name] = column
    return found


def or_less(values: Any) -> Any:
    """Whole numbers with -1 for no value."""
    return np.where(values == NOTHING, -1, values)


def jumps(first: Any, end: Any, start: int = 0) -> tuple[Any, Any]:
    """How far each packet begins above the highest end before it, and the highest end with it."""
    highest = np.maximum.accumulate(end) if len(end) else end
    before = np.concatenate([[start], highest[:-1]])[: len(end)]
    return first - before, highest


def look(kinds: Sequence[dict[str, Any]], which: Any) -> tuple[list[dict[str, Any]], Any]:
    """The kinds that are there, and the place of each packet's kind among them."""
    used = np.unique(which)
    order = np.searchsorted(used, which).astype(np.uint8)
    return [kinds[at] for at in used] if len(used) else list(kinds[:1]), order


def places(keys: Any, wanted: Any) -> tuple[Any, Any]:
    """Where among `keys`, which do not repeat, the wanted are, and which of the wanted are there."""
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted)
    keep = at < len(keys)
    keep[keep] = keys[order][at[keep]] == wanted[keep]
    return order[at[keep]], keep


def notes(side: str, number: Any, time_ns: Any, known: Known) -> list[str | None]:
    """The verdict of each packet that the emulator dropped, where the log tells which one it was.

    The packets of an instant are those of the log where there are as many, in their order.
    """
    found: list[str | None] = [None] * len(number)
    if known.verdicts is None:
        return found
    direction = "down" if side == "server" else "up"
    own = known.verdicts.filter(pl.col("direction").str.starts_with(direction))
    lost = own.filter(pl.col("dropped"))["time_ns"].unique().to_list()
    packets, rows = np.unique(number, return_index=True)
    times = time_ns[rows]
    for time in lost:
        at = np.flatnonzero(times == time)
        said = own.filter(pl.col("time_ns") == time)
        if len(at) != said.height:
            continue
        told = zip(packets[at].tolist(), said["dropped"].to_list(), said["verdict"].to_list(), strict=True)
        for packet, dropped, verdict in told:
            for row in np.flatnonzero(number == packet).tolist() if dropped else ():
                found[row] = verdict
    return found


def repairs(at: Any, kept: Columns, words: Callable[[Row], str]) -> Table:
    """The table of what was sent again: `kept` is at the rows `at`, and `words` gives its evidence."""
    why = []
    for values in zip(*(column.tolist() for column in kept.values()), strict=True):
        row = dict(zip(kept, values, strict=True))
        why.append(words({name: None if value == NOTHING else value for name, value in row.items()}))
    return {
        "row": at,
        "confidence": kept["confidence"].tolist(),
        "why": why,
        "first": Scaled(or_less(kept["delay_first_ns"]), 1e-9),
        "previous": Scaled(or_less(kept["delay_previous_ns"]), 1e-9),
    }
