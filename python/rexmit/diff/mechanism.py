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
    """Of each host the values that differ at the first row of states that does, if that is soon enough."""
    assert pair.first is not None
    end = max(time for time in pair.first.times_ns if time is not None)
    for host in HOSTS:
        tables = [_rows(one.states or {}, host) for one in ran]
        for before, after in zip(*tables, strict=False):
            if min(before["time_ns"], after["time_ns"]) > end:
                break
            found = [name for name in COMPARED if _differ(before.get(name), after.get(name))]
            if found:
                for name in found:
                    yield Change(host, name, before["time_ns"], (before[name], after[name]))
                break


def _differ(before: Any, after: Any) -> bool:
    """Whether two values differ; what a stack does not tell differs from nothing."""
    return before is not None and after is not None and before != after


def _rows(states: Mapping[str, Sequence[Any]], host: str) -> list[dict[str, Any]]:
    """The rows of a host in order."""
    names = list(states)
    rows = (dict(zip(names, row, strict=True)) for row in zip(*states.values(), strict=True))
    return [row for row in rows if row["host"] == host]
