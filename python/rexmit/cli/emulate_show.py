"""What `rexmit emulate` shows of an emulation: a line while it runs, a few at its end."""

from __future__ import annotations

import sys
from typing import Any

from rexmit.errors import one_line

REASONS = {
    "dropped_by_pattern": "by pattern",
    "dropped_by_loss": "by random loss",
    "queue_full": "by a full queue",
    "dropped_by_aqm": "by the queue's management",
    "longer_than_burst": "longer than the token bucket",
}
EFFECTS = {
    "corrupted": "corrupted",
    "marked": "marked",
    "duplicated": "duplicated",
    "held": "held",
    "reordered": "held back",
}


class LiveLine:
    """The state of an emulation: one line of a terminal over and over, or plain lines elsewhere."""

    def __init__(self, on_terminal: bool) -> None:
        self._on_terminal = on_terminal
        self._before: dict[str, Any] | None = None
        self._shown = False

    def show(self, now: dict[str, Any]) -> None:
        """Shows the state, with rates since the last time."""
        before, self._before = self._before, now
        text = f"{now['time_ns'] / 1e9:.0f} s"
        for direction in ("down", "up"):
            text += f" | {direction} {_direction(now, before, direction)}"
        if self._on_terminal:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
            self._shown = True
        else:
            print(f"rexmit: {text}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Takes the terminal's line away."""
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._shown = False


def _direction(now: dict[str, Any], before: dict[str, Any] | None, name: str) -> str:
    one = now[name]
    bits = 8 * (one["carried_bytes"] - (before[name]["carried_bytes"] if before else 0))
    seconds = (now["time_ns"] - (before["time_ns"] if before else 0)) / 1e9
    return f"{_rate(bits, seconds)}, queue {one['queue_packets']} packets, {_drops(one)}"


def say(text: str) -> None:
    """One line for people."""
    print(f"rexmit: {one_line(text)}", file=sys.stderr, flush=True)


def show_summary(summary: dict[str, Any]) -> None:
    """Packets, bytes, rate and drops of each direction, and how punctual the emulator was."""
    seconds = summary["time_ns"] / 1e9
    for name in ("down", "up"):
        one = summary[name]
        text = f"{name}: {_count(one['packets'], 'packet')}, {_bytes(one['bytes'])}"
        text += f", {_rate(8 * one['carried_bytes'], seconds)}, {_drops(one)}"
        for key, word in EFFECTS.items():
            if one[key]:
                text += f", {one[key]} {word}"
        say(text)
    half, most, worst = (summary[f"late_{key}_ns"] / 1e6 for key in ("p50", "p99", "max"))
    say(f"{seconds:.1f} s; late by {half:.3f} ms (p50), {most:.3f} ms (p99), {worst:.3f} ms (max)")


def _drops(one: dict[str, Any]) -> str:
    reasons = [f"{one[key]} {word}" for key, word in REASONS.items() if one[key]]
    return f"dropped {', '.join(reasons)}" if reasons else "no drops"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _rate(bits: float, seconds: float) -> str:
    per_second = bits / seconds if seconds else 0.0
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if per_second >= size:
            return f"{per_second / size:.2f} {unit}"
    return f"{per_second:.0f} bit/s"


def _bytes(number: int) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if number >= size:
            return f"{number / size:.2f} {unit}"
    return _count(number, "byte")
