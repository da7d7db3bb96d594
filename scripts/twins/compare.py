"""Two runs of one scenario, beside each other: times, retransmissions, and the first packet that differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from twins.packets import Seen
from twins.runs import Ran

SIDES = ("client", "server")
FIN, SYN = 1, 2
NONE = "none"
"""In the place of a cause, where only the other run has this retransmission."""


@dataclass(frozen=True)
class First:
    """The first packet that differs: its number from 0, when it comes in each run, and what it is there."""

    index: int
    times: tuple[float, float]
    what: tuple[str, str]
    kind: str


def first_difference(left: Seen, right: Seen, names: tuple[str, str]) -> First | None:
    """Where the sequences of two runs part; None where they are the same. `names` are those of the runs."""
    shared = min(len(left.packets), len(right.packets))
    differ = np.nonzero((left.packets[:shared] != right.packets[:shared]).any(axis=1))[0]
    if not len(differ) and len(left.packets) == len(right.packets):
        return None
    at = int(differ[0]) if len(differ) else shared
    pair = (left, right)
    times = tuple(float(s.times[at]) / 1e6 if at < len(s.times) else float("nan") for s in pair)
    what = tuple(describe(s, at) for s in pair)
    return First(at, (times[0], times[1]), (what[0], what[1]), kind_of(pair, at, names))


def kind_of(pair: tuple[Seen, Seen], at: int, names: tuple[str, str]) -> str:
    """The first difference in words that others share."""
    labels = [label(seen, at) for seen in pair]
    if labels == ["client ACK", "client ACK"]:
        return f"{names[_earlier(pair, at)]}: an acknowledgment more"
    for probe in (0, 1):
        if labels[probe] == "server tail-probe" != labels[1 - probe]:
            return f"{names[probe]}: a tail probe"
    again = ["server SYN-ACK again" in text or "client SYN again" in text for text in labels]
    if any(again):
        return f"{names[again.index(True)]}: a SYN or SYN-ACK again, earlier"
    for more in (0, 1):
        if labels[1 - more] == "client ACK" and labels[more].startswith("server"):
            if at and _is_syn_ack_again(pair[more]):
                return f"{names[more]}: more at the start, after a SYN-ACK that was sent again"
            if labels[more] == "server data" and at and pair[more].times[at] > pair[more].times[at - 1]:
                # Nothing has just come that could have let them out: a timer has.
                return f"{names[more]}: a tail probe of new data"
            return f"{names[more]}: {labels[more].removeprefix('server ')}, sooner"
    if labels == ["server data", "server data"]:
        return "data cut into other segments"
    return f"{names[0]}: {labels[0]}; {names[1]}: {labels[1]}"


def label(seen: Seen, at: int) -> str:
    """What a packet is, by who sent it and why."""
    if at >= len(seen.packets):
        return "nothing"
    side, _, length, flags = (int(value) for value in seen.packets[at][:4])
    who, cause = SIDES[side], seen.causes.get(at)
    if flags & SYN:
        return f"{who} {'SYN-ACK' if side else 'SYN'}{' again' if cause else ''}"
    if cause:
        return f"{who} {cause}"
    if flags & FIN:
        return f"{who} FIN"
    return f"{who} {'data' if length else 'ACK'}"


def describe(seen: Seen, at: int) -> str:
    """A packet in words, with its numbers."""
    text = label(seen, at)
    if at >= len(seen.packets):
        return text
    _, seq, length, flags, ack = (int(value) for value in seen.packets[at][:5])
    fin = ", FIN" if flags & FIN and "FIN" not in text else ""
    return f"{text} {seq}:{seq + length}{fin}" if length or fin else f"{text} {ack}"


def causes(seen: Seen) -> Counter[str]:
    """Retransmissions by cause, of both sides."""
    return Counter(seen.causes.values())


def confusion(left: Seen, right: Seen) -> Iterator[tuple[str, str]]:
    """The causes of each retransmission in both runs: the n-th ones of the same data are one."""
    found = [
        {
            (*(int(v) for v in seen.packets[at][:2]), seen.numbers[at]): cause
            for at, cause in seen.causes.items()
        }
        for seen in (left, right)
    ]
    for key in dict.fromkeys([*found[0], *found[1]]):
        yield found[0].get(key, NONE), found[1].get(key, NONE)


def row_of(left: Ran, right: Ran, names: tuple[str, str]) -> dict[str, Any]:
    """Everything that the table of scenarios says of two runs; `names` begin the columns of each."""
    first = first_difference(left.seen, right.seen, names)
    off = right.time_ns - left.time_ns
    row: dict[str, Any] = {
        "difference_ms": off / 1e6,
        "difference_percent": 100 * off / left.time_ns,
        "identical": first is None,
        "each_side_identical": first is None or _each_side(left.seen, right.seen),
        "times_off_ns": int(np.abs(left.seen.times - right.seen.times).max()) if first is None else None,
        "first_packet": first.index if first else None,
        "kind": first.kind if first else None,
    }
    for n, (name, ran) in enumerate(zip(names, (left, right), strict=True)):
        told = causes(ran.seen)
        row[f"{name}_time_ms"] = ran.time_ns / 1e6
        row[f"{name}_retransmissions"] = sum(told.values())
        row[f"{name}_causes"] = ", ".join(f"{cause} {told[cause]}" for cause in sorted(told))
        row[f"{name}_not_needed"] = ran.seen.needless
        row[f"{name}_first_ms"] = first.times[n] if first else None
        row[f"{name}_first_packet"] = first.what[n] if first else None
    return row


def _each_side(left: Seen, right: Seen) -> bool:
    own = [[seen.packets[seen.packets[:, 0] == side] for side in (0, 1)] for seen in (left, right)]
    return all(np.array_equal(a, b) for a, b in zip(*own, strict=True))


def _earlier(pair: tuple[Seen, Seen], at: int) -> int:
    """Which of two acknowledgments covers less, so that another one follows."""
    return 0 if pair[0].packets[at][4] < pair[1].packets[at][4] else 1


def _is_syn_ack_again(seen: Seen) -> bool:
    return "syn-ack" in seen.causes.values()
