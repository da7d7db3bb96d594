"""Why a transfer is not faster: what held its sender back, in one sentence, from the row of its connection.

The shares come from the native analysis, which gives each moment between the first and the last packet with
data of a side to one cause (`held_..._ns` of the table `connections`). Nothing is judged again here.
"""

from __future__ import annotations

from dataclasses import dataclass

from rexmit.analyse.overview import data_sides, goodput
from rexmit.analyse.quantities import duration, percent, rate, size
from rexmit.analyse.rows import Row
from rexmit.units import plural

HELD = {
    "application": "the application had nothing to send",
    "receive-window": "the receiver's window was full",
    "send-buffer": "a fixed limit at the sender was reached, usually its send buffer",
    "slow-start": "the congestion window was full, before any loss",
    "after-loss": "the congestion window, lowered by a loss, was full",
    "idle-restart": "the congestion window, lowered by an idle period, was full",
    "path-rate": "the path was busy: a queue had formed at its slowest link",
    "recovery": "losses were being repaired",
    "timer": "the sender waited for a retransmission timer",
    "unknown": "the packets do not show it",
}
"""What may hold a sender back, in words."""

LETTERS = {
    "application": "A",
    "receive-window": "W",
    "send-buffer": "B",
    "slow-start": "S",
    "after-loss": "L",
    "idle-restart": "I",
    "path-rate": "P",
    "recovery": "R",
    "timer": "T",
    "unknown": "?",
}
"""A letter for each, where there is no room for more."""

GROUPS = {
    "application": ("application",),
    "receive-window": ("receive-window",),
    "send-buffer": ("send-buffer",),
    "congestion window": ("slow-start", "after-loss", "idle-restart"),
    "path's rate": ("path-rate",),
    "losses": ("recovery", "timer"),
    "unknown": ("unknown",),
}
"""What counts as one answer: a window is low for one of three reasons, and a loss costs two kinds of time."""

WORTH_SAYING = 0.005
"""Shares below are left out of sentences."""


@dataclass(frozen=True)
class Part:
    """A share of a side's time: its cause, how many ns, and how many of these are certain."""

    by: str
    ns: int
    certain_ns: int


def held(row: Row, side: str) -> list[Part]:
    """What held a side back, the longest first; empty where all its data left at once."""
    names = {by: f"{side}_held_{by.replace('-', '_')}" for by in HELD}
    parts = [Part(by, row[f"{name}_ns"], row[f"{name}_certain_ns"]) for by, name in names.items()]
    return sorted((part for part in parts if part.ns), key=lambda part: -part.ns)


def held_ns(row: Row, side: str) -> int:
    """Time from the first to the last packet with data of a side, ns."""
    return int(row[f"{side}_held_ns"])


def why(row: Row, side: str) -> str | None:
    """One sentence on what held a side back; None where all its data left at once."""
    total = held_ns(row, side)
    groups = _groups(row, side)
    if not groups or not total:
        return None
    (first, parts), *others = groups
    ns = sum(part.ns for part in parts)
    certain = sum(part.certain_ns for part in parts)
    told = f"{_WORDS[first](row, side, parts, _Time(ns, total))}"
    if first != "unknown":
        told += f" ({_how_sure(certain, ns)})"
    rest = [
        f"{name} {_percent(sum(part.ns for part in more), total)}"
        for name, more in others
        if sum(part.ns for part in more) >= WORTH_SAYING * total
    ]
    return f"{told}; then {', '.join(rest)}" if rest else told


def answers(row: Row) -> dict[str, str]:
    """The sentence of each side that has one, the side that sent more first."""
    told = {side: why(row, side) for side in data_sides(row)}
    return {side: text for side, text in told.items() if text is not None}


def round_trip(row: Row, side: str) -> float | None:
    """The round trip of a side's data in ns: the handshake's, or the smallest sample. None if unknown."""
    ways = [row["handshake_server_rtt_ns"], row["handshake_client_rtt_ns"]]
    if None not in ways:
        return float(sum(ways))
    smallest = [row[f"{side}_{method}_min_ns"] for method in ("rtt", "rtt_timestamps", "rtt_sack")]
    return next((float(value) for value in smallest if value is not None), None)


@dataclass(frozen=True)
class _Time:
    ns: int
    total: int

    def __str__(self) -> str:
        return f"{_percent(self.ns, self.total)} of {duration(self.total)}"


def _groups(row: Row, side: str) -> list[tuple[str, list[Part]]]:
    parts = {part.by: part for part in held(row, side)}
    found = [(name, [parts[by] for by in of if by in parts]) for name, of in GROUPS.items()]
    some = [(name, of) for name, of in found if of]
    return sorted(some, key=lambda group: -sum(part.ns for part in group[1]))


def _percent(ns: int, total: int) -> str:
    return "all" if ns >= 0.9995 * total else percent(ns / total)


def _how_sure(certain: int, ns: int) -> str:
    if certain >= 0.995 * ns:
        return "certain"
    return f"certain for {_percent(certain, ns)} of that" if certain >= WORTH_SAYING * ns else "likely"


def _application(row: Row, side: str, parts: list[Part], time: _Time) -> str:
    return f"not held back by the network: the {side}'s application had nothing to send for {time}"


def _receive_window(row: Row, side: str, parts: list[Part], time: _Time) -> str:
    other = "client" if side == "server" else "server"
    window = row[f"{other}_max_window"]
    told = f" ({size(window)} at most)" if window else ""
    text = f"the {other}'s receive window{told} held the {side} back for {time}"
    return text + _allows(window, round_trip(row, side))


def _send_buffer(row: Row, side: str, parts: list[Part], time: _Time) -> str:
    most, trip, passed = row[f"{side}_max_outstanding"], round_trip(row, side), goodput(row, side)
    size_told, allows = "", ""
    # The most ever outstanding is this limit where goodput was no more than it allows, and not much less.
    if most and trip and passed and passed <= 8e9 * most / trip <= 2 * passed:
        size_told, allows = f" of about {size(most)}", _allows(most, trip)
    own = f"the {side}'s own limit{size_told}, which did not grow (its send buffer?),"
    return f"{own} held it back for {time}{allows}"


def _congestion_window(row: Row, side: str, parts: list[Part], time: _Time) -> str:
    reasons = {
        "slow-start": "it was still opening, no loss yet",
        "after-loss": f"lowered by {plural(row[f'{side}_loss_events'], 'loss event')}",
        "idle-restart": "lowered by an idle period",
    }
    why_low = max(parts, key=lambda part: part.ns).by
    return f"the {side}'s congestion window ({reasons[why_low]}) held it back for {time}"


def _path_rate(row: Row, side: str, parts: list[Part], time: _Time) -> str:
    passed = goodput(row, side)
    told = f", which passed {rate(passed)}" if passed else ""
    return f"the path's rate held the {side} back for {time}: a queue had formed at its slowest link{told}"


def _losses(row: Row, side: str, parts: list[Part], time: _Time) -> str:
    timer = sum(part.ns for part in parts if part.by == "timer")
    waited = f", {duration(timer)} of it waiting for a retransmission timer" if timer else ""
    again = plural(row[f"{side}_retransmitted_packets"], "retransmission")
    return f"the repair of losses ({again}) held the {side} back for {time}{waited}"


def _unknown(row: Row, side: str, parts: list[Part], time: _Time) -> str:
    if None in (row["handshake_server_rtt_ns"], row["handshake_client_rtt_ns"]):
        missing = "the opening or one direction is not in the capture"
        return f"the packets do not show what held the {side} back: {missing}"
    evenly = "what was outstanding stayed level and data left evenly, as with pacing"
    return f"the packets do not show what held the {side} back for {time}: {evenly}"


def _allows(window: int | None, rtt: float | None) -> str:
    """What a window allows at a round trip."""
    if not window or not rtt:
        return ""
    return f"; at a round trip of {duration(rtt)} that allows {rate(8e9 * window / rtt)}"


_WORDS = {
    "application": _application,
    "receive-window": _receive_window,
    "send-buffer": _send_buffer,
    "congestion window": _congestion_window,
    "path's rate": _path_rate,
    "losses": _losses,
    "unknown": _unknown,
}
