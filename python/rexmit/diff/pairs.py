"""One scenario on two systems: whether anything differs, and what differs first."""

from __future__ import annotations

import filecmp
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rexmit.diff.packets import Packet, Seen, read_packets
from rexmit.diff.systems import Ran
from rexmit.run.capture import HOSTS

FAILURE, PACKETS, TIMES, WINDOWS, RESULTS = "failure", "packets", "times", "windows", "results"
"""What differs: whether it ran at all, packets, their times alone, their windows alone, or only the row."""


Causes = Mapping[str, int]
"""How often a run sent something again, by the cause."""

Both = tuple[Seen, Seen]
"""What each system shows at one host."""


@dataclass(frozen=True)
class First:
    """The first packet that differs at a host: its number there from 0, and what each system has.

    `times_ns` are since the run's first packet, None where a system has no further packet.
    """

    host: str
    index: int
    times_ns: tuple[int | None, int | None]
    texts: tuple[str, str]


@dataclass(frozen=True)
class Pair:
    """A scenario on two systems.

    `level` says what differs, None if nothing does; `kind` the first difference in words that other scenarios
    share; `rows` are the rows of both runs, `causes` what they sent again, by cause, where packets differ.
    """

    number: int
    level: str | None
    kind: str
    first: First | None
    rows: tuple[Mapping[str, Any], Mapping[str, Any]]
    causes: tuple[Causes, Causes] = ({}, {})

    @property
    def times_ns(self) -> tuple[int | None, int | None]:
        """Completion times; None for a run that failed or did not end."""
        one, other = (row.get("time_ns") if row.get("completed") else None for row in self.rows)
        return one, other


def compare(number: int, left: Ran, right: Ran) -> Pair:
    """What differs between two runs of a scenario."""
    rows = (left.row, right.row)
    if left.captures is None or right.captures is None:
        said = [ran.failed or "ran" for ran in (left, right)]
        return Pair(number, FAILURE, f"A: {said[0]}; B: {said[1]}", None, rows)
    if all(filecmp.cmp(*files, shallow=False) for files in zip(left.captures, right.captures, strict=True)):
        return _without_packets(number, rows)
    seen = [[read_packets(path) for path in ran.captures or ()] for ran in (left, right)]
    starts = [start_of(side) for side in seen]
    by_host = list(zip(HOSTS, zip(*seen, strict=True), strict=True))
    for level, finds, tells in _LEVELS:
        found = [
            (_at(host, at, pair, starts), pair)
            for host, pair in by_host
            if (at := finds(pair, starts)) is not None
        ]
        if found:
            first, pair = min(
                found, key=lambda one: min(time for time in one[0].times_ns if time is not None)
            )
            causes = (_causes(seen[0]), _causes(seen[1]))
            return Pair(number, level, tells(first, pair), first, rows, causes)
    return _without_packets(number, rows)


def _causes(seen: Iterable[Seen]) -> Causes:
    """What a run sent again, by its causes: a sender sees all that it sends, its peer what comes of it."""
    at_hosts = [Counter(cause for packet in one for cause in packet.causes) for one in seen]
    return {cause: max(one[cause] for one in at_hosts) for cause in sorted(set().union(*at_hosts))}


def start_of(seen: Iterable[Seen]) -> int:
    """When the first packet of a run passed one of its hosts."""
    return min((one[0].time_ns for one in seen if one), default=0)


def _without_packets(number: int, rows: tuple[Any, Any]) -> Pair:
    """A pair whose packets are the same at the same times."""
    differing = [name for name in rows[0] if rows[0][name] != rows[1].get(name) and name not in _OF_CODE]
    if not differing:
        return Pair(number, None, "", None, rows)
    return Pair(number, RESULTS, f"the same packets, other {', '.join(differing)}", None, rows)


def _first_packet(pair: Both, starts: list[int]) -> int | None:
    """Where the packets at a host part; None where they are the same."""
    left, right = pair
    shared = min(len(left), len(right))
    at = next((n for n in range(shared) if left[n].key != right[n].key), shared)
    return None if at == len(left) == len(right) else at


def _first_time(pair: Both, starts: list[int]) -> int | None:
    """The first of the same packets at a host whose times differ."""
    times = ([packet.time_ns - start for packet in one] for one, start in zip(pair, starts, strict=True))
    return next((at for at, (one, other) in enumerate(zip(*times, strict=True)) if one != other), None)


def _first_window(pair: Both, starts: list[int]) -> int | None:
    """The first of the same packets at a host that advertises a different window."""
    both = enumerate(zip(*pair, strict=False))
    return next((at for at, (one, other) in both if one.window != other.window), None)


def _at(host: str, at: int, pair: Both, starts: list[int]) -> First:
    packets = [one[at] if at < len(one) else None for one in pair]
    times = [None if one is None else one.time_ns - start for one, start in zip(packets, starts, strict=True)]
    texts = ["nothing more" if one is None else one.text for one in packets]
    return First(host, at, (times[0], times[1]), (texts[0], texts[1]))


def _kind(first: First, pair: Both) -> str:
    """The first packet that differs, in words that other scenarios share."""
    told = _kind_alone(first.index, pair)
    window = _first_window(pair, [])
    return f"{told}, after another window" if window is not None and window < first.index else told


def _kind_alone(at: int, pair: Both) -> str:
    left, right = (one[at] if at < len(one) else None for one in pair)
    if left is None or right is None:
        there, name = (left, "A") if right is None else (right, "B")
        return f"only {name} goes on, with {there.label if there else 'nothing'}"
    later = [_comes(one, other[at + 1 :]) for one, other in ((left, pair[1]), (right, pair[0]))]
    if later == [True, True]:
        return f"A: {left.label} before {right.label}; B: the other way round"
    if later[0]:
        return f"only B: {right.label}, before {left.label}"
    if later[1]:
        return f"only A: {left.label}, before {right.label}"
    if left.label == right.label:
        return f"{left.label} with another {_field(left, right)}"
    return f"A: {left.label}; B: {right.label}"


def _kind_of_time(first: First, pair: Both) -> str:
    sooner = "A" if (first.times_ns[0] or 0) < (first.times_ns[1] or 0) else "B"
    return f"the same packets, {pair[0][first.index].label} sooner in {sooner}"


def _kind_of_window(first: First, pair: Both) -> str:
    one, other = (packets[first.index] for packets in pair)
    larger = "A" if (one.window or 0) > (other.window or 0) else "B"
    return f"the same packets, {one.label} with a larger window in {larger}"


def _comes(packet: Packet, later: Sequence[Packet]) -> bool:
    """Whether the very same packet comes soon."""
    return any(packet.key == one.key for one in later[:SOON])


def _field(left: Packet, right: Packet) -> str:
    """What differs between two packets of one kind."""
    if len(left.key) == len(right.key) == len(_FIELDS):
        found = [name for name, a, b in zip(_FIELDS, left.key, right.key, strict=True) if a != b]
        return " and ".join(found)
    return "content"


SOON = 50
"""Packets within which one counts as later, not as a different one."""

_FIELDS = ("connection", "sender", "sequence number", "length", "flags", "acknowledgment", "SACK")
_OF_CODE = ("virtual_ns",)
"""Columns of a row that say nothing of what hosts did: when an ended run was found to be over."""

_LEVELS: Sequence[tuple[str, Callable[[Both, list[int]], int | None], Callable[[First, Both], str]]] = (
    (PACKETS, _first_packet, _kind),
    (TIMES, _first_time, _kind_of_time),
    (WINDOWS, _first_window, _kind_of_window),
)
"""What may differ, the most first: where it begins at a host, and what it is called."""
