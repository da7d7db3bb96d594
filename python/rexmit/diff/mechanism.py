"""What the hosts' state says of a first difference: which of its values differ before it, and since when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rexmit.diff.packets import Seen, read_packets
from rexmit.diff.pairs import Pair
from rexmit.diff.systems import Ran, Scenario, System, ran_on_both
from rexmit.run.capture import HOSTS

COMPARED = (
    *("state", "phase", "cwnd", "ssthresh", "in_flight", "snd_wnd", "send_queue", "recv_queue"),
    *("srtt_ns", "rttvar_ns", "rto_ns", "retransmits", "timeouts"),
)
"""Columns of the table of states that are compared, those first that say most."""


Row = dict[str, Any]


@dataclass(frozen=True)
class Change:
    """A value of a host's state that differs: when (in either run, ns), and both values."""

    host: str
    column: str
    time_ns: int
    values: tuple[Any, Any]


@dataclass(frozen=True)
class Mechanism:
    """Why two systems part in a scenario, as far as state tells.

    `changes` are the values that differ first, up to the first packet that does; none where the hosts' state
    is the same up to there. `seen` is what each host's capture shows on each system, for drawing.
    """

    changes: Sequence[Change]
    seen: Mapping[str, tuple[Seen, Seen]]


def mechanism_of(scenario: Scenario, pair: Pair, systems: tuple[System, System]) -> Mechanism:
    """Runs a scenario once more on both systems, with the tables of states."""
    with ran_on_both(systems, {0: scenario}, states=True, key=pair.number) as both_ran:
        ran = [one[0] for one in both_ran]
        seen = {}
        for at, host in enumerate(HOSTS):
            captures = [one.captures[at] if one.captures else None for one in ran]
            both = [[] if path is None else read_packets(path) for path in captures]
            seen[host] = (both[0], both[1])
        return Mechanism(list(_first_changes(pair, ran)), seen)


def _first_changes(pair: Pair, ran: Sequence[Ran]) -> Iterator[Change]:
    """For each host the values that differ at the first moment at which any does, if that is soon enough."""
    assert pair.first is not None
    end = max(time for time in pair.first.times_ns if time is not None)
    for host in HOSTS:
        tables = [_rows(one.states or {}, host) for one in ran]
        one, other = map(_by_connection, tables)
        parts = (first_difference(rows, other.get(number, [])) for number, rows in one.items())
        for name, before, after in min(filter(None, parts), key=_time_of, default=[]):
            if min(before["time_ns"], after["time_ns"]) <= end:
                yield Change(host, name, before["time_ns"], (before[name], after[name]))


Difference = tuple[str, Row, Row]
"""A value that differs, and the rows of both systems that have it."""


def first_difference(one: Sequence[Row], other: Sequence[Row]) -> list[Difference]:
    """The values of a connection that differ at the first moment at which any does."""
    for before, after in _moments(one, other):
        found = [name for name in COMPARED if _differs(name, before.get(name), after.get(name))]
        if found:
            return [(name, before, after) for name in found]
    return []


def _time_of(differences: Sequence[Difference]) -> int:
    return int(differences[0][1]["time_ns"])


def _by_connection(rows: Sequence[Row]) -> dict[int, list[Row]]:
    """The rows of each connection by its number."""
    parts: dict[int, list[Row]] = {}
    for row in rows:
        parts.setdefault(row["connection"], []).append(row)
    return parts


_OPENING = ("SYN-SENT", "SYN-RECEIVED")
"""States in which a kernel has values that it never uses: a window of segments of a size not known yet."""

_ENDED = {"CLOSED", "TIME-WAIT"}
"""States that are the same to a kernel's socket."""

_COUNTED_OTHERWISE = {"send_queue": 1, "in_flight": 1460}
"""Bytes: a kernel has the FIN among what waits, and counts what is on its way in segments."""

_MOMENT_NS = 2_000
"""A kernel and a model note their state at different steps of one moment, a tick of a clock apart."""


def _settled(rows: Sequence[Row]) -> list[Row]:
    """The last row of each moment."""
    late = [*rows[1:], None]
    return [
        row
        for row, after in zip(rows, late, strict=True)
        if after is None or after["time_ns"] - row["time_ns"] > _MOMENT_NS
    ]


def _moments(one: Sequence[Row], other: Sequence[Row]) -> Iterator[tuple[Row, Row]]:
    """The last rows of each moment of which both systems have one, once either has opened the connection."""
    one, other = _settled(one), _settled(other)
    at, beside = 0, 0
    while at < len(one) and beside < len(other):
        apart = one[at]["time_ns"] - other[beside]["time_ns"]
        both = one[at], other[beside]
        if abs(apart) <= _MOMENT_NS and not all(row["state"] in _OPENING for row in both):
            yield both
        at += apart <= _MOMENT_NS
        beside += apart >= -_MOMENT_NS


def _differs(name: str, before: Any, after: Any) -> bool:
    """Whether two values differ by more than a difference in how kernels and models count.

    A value that a stack does not tell never differs.
    """
    if before is None or after is None:
        return False
    if isinstance(before, str):
        return before != after and not {before, after} <= _ENDED
    least = _MOMENT_NS if name.endswith("_ns") else _COUNTED_OTHERWISE.get(name, 0)
    return bool(abs(before - after) > least)


def _rows(states: Mapping[str, Sequence[Any]], host: str) -> list[Row]:
    """The rows of a host in order."""
    names = list(states)
    rows = (dict(zip(names, row, strict=True)) for row in zip(*states.values(), strict=True))
    return [row for row in rows if row["host"] == host]
