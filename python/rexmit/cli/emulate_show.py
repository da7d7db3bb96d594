"""What `rexmit emulate` shows of an emulation: a panel or line while it runs, a few at its end."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from rexmit.cli.common import note
from rexmit.cli.emulate_panel import History, Panel, bar_letters, has_room, state_lines
from rexmit.terminal import clean, moves, write_control

DIRECTIONS = ("down", "up")

PANEL = 8
LINE = 2
"""Directions at most, in the panel and in a line."""

REASONS = {
    "dropped_by_pattern": "by pattern",
    "dropped_by_loss": "by random loss",
    "queue_full": "by a full queue",
    "dropped_by_aqm": "by the queue's management",
    "longer_than_burst": "longer than the token bucket",
}
SHORT = {
    "dropped_by_pattern": "pattern",
    "dropped_by_loss": "loss",
    "queue_full": "queue full",
    "dropped_by_aqm": "AQM",
    "longer_than_burst": "burst",
}
EFFECTS = {
    "corrupted": "corrupted",
    "marked": "marked",
    "duplicated": "duplicated",
    "held": "held",
    "reordered": "held back",
}


class LiveState:
    """The state of an emulation: a panel or a line of a terminal over and over, or plain lines elsewhere.

    Use it in a `with` block, which gives the terminal back.
    """

    def __init__(self, plain: Collection[str] = ()) -> None:
        self._plain = plain
        self._before: dict[str, Any] | None = None
        self._panel = Panel() if has_room() else None
        self._on_terminal = moves(sys.stderr)
        self._shown = False
        self._rates: defaultdict[str, History] = defaultdict(History)
        self._queues: defaultdict[str, History] = defaultdict(History)

    def __enter__(self) -> LiveState:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()
        if self._panel:
            self._panel.clear()

    def show(self, now: dict[str, Any]) -> None:
        """Shows the state, with rates since the last time."""
        before, self._before = self._before, now
        if self._panel:
            self._panel.show(self._lines(now, before))
            return
        text = f"{now['time_ns'] / 1e9:.0f} s"
        for name in _busiest(now, self._plain, LINE):
            text += f" | {name} {_direction(now, before, name)}"
        if self._on_terminal:
            write_control(sys.stderr, f"\r\x1b[K{clean(text)}")
            self._shown = True
        else:
            print(f"rexmit: {text}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Takes a line of the terminal away, so that another can be printed; a panel is in nobody's way."""
        if self._shown:
            write_control(sys.stderr, "\r\x1b[K")
            self._shown = False

    def _lines(self, now: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
        letters = bar_letters()
        rows = [(f"{now['time_ns'] / 1e9:.0f} s", "rate", "", "queue", "", "drops")]
        links = links_of(now)
        for name in _busiest(now, self._plain, PANEL):
            one = links[name]
            per_second, queue = _per_second(now, before, name), one["queue_packets"]
            self._rates[name].add(per_second)
            self._queues[name].add(queue)
            bars = self._rates[name].bars(letters), self._queues[name].bars(letters)
            drops = ", ".join(f"{one[key]} {word}" for key, word in SHORT.items() if one[key])
            # As wide as they may become, so that nothing moves.
            cells = _rate(per_second).ljust(13), _count(queue, "packet").ljust(13)
            rows.append((name, cells[0], bars[0], cells[1], bars[1], drops or "none"))
        return ["", *state_lines(rows)]


def _direction(now: dict[str, Any], before: dict[str, Any] | None, name: str) -> str:
    one = links_of(now)[name]
    rate = _rate(_per_second(now, before, name))
    return f"{rate}, queue {one['queue_packets']} packets, {_drops(one)}"


def _per_second(now: dict[str, Any], before: dict[str, Any] | None, name: str) -> float:
    """What a direction carried since the state before, bit/s."""
    carried = links_of(before)[name]["carried_bytes"] if before else 0
    bits = 8 * (links_of(now)[name]["carried_bytes"] - carried)
    seconds = (now["time_ns"] - (before["time_ns"] if before else 0)) / 1e9
    return bits / seconds if seconds else 0.0


def links_of(summary: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """What passed, by direction: the two of a path, or those of each link of a network."""
    links: dict[str, dict[str, Any]] | None = summary.get("links")
    return {name: summary[name] for name in DIRECTIONS} if links is None else links


def _busiest(now: dict[str, Any], plain: Collection[str], most: int) -> list[str]:
    """Directions for which there is room, in their order: without those that are `plain`."""
    links = links_of(now)
    names = [name for name in links if name not in plain]
    busiest = sorted(names, key=lambda name: -int(links[name]["carried_bytes"]))[:most]
    return [name for name in names if name in busiest]


def show_summary(summary: dict[str, Any], device: str | None, plain: Collection[str] = ()) -> None:
    """Packets, bytes, rate and drops of each direction, and how punctual the emulator was.

    Of a network, without links that are `plain` and those that nothing has passed.
    """
    seconds = summary["time_ns"] / 1e9
    for name, one in links_of(summary).items():
        if name not in DIRECTIONS and (name in plain or not one["packets"]):
            continue
        text = f"{name}: {_count(one['packets'], 'packet')}, {_bytes(one['bytes'])}"
        text += f", {_rate(8 * one['carried_bytes'] / seconds if seconds else 0.0)}, {_drops(one)}"
        for key, word in EFFECTS.items():
            if one[key]:
                text += f", {one[key]} {word}"
        note(text)
    half, most, worst = (summary[f"late_{key}_ns"] / 1e6 for key in ("p50", "p99", "max"))
    through = "; through veth pairs" if device == "veth" else ""
    note(f"{seconds:.1f} s; late by {half:.3f} ms (p50), {most:.3f} ms (p99), {worst:.3f} ms (max){through}")


def _drops(one: dict[str, Any]) -> str:
    reasons = _reasons(one)
    return f"dropped {reasons}" if reasons else "no drops"


def _reasons(one: dict[str, Any]) -> str:
    return ", ".join(f"{one[key]} {word}" for key, word in REASONS.items() if one[key])


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _rate(per_second: float) -> str:
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if per_second >= size:
            return f"{per_second / size:.2f} {unit}"
    return f"{per_second:.0f} bit/s"


def _bytes(number: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.2f} {unit}"
    return _count(number, "byte")
