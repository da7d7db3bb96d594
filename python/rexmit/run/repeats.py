"""How far a run of programs is the same again: they may use sources that no kernel controls."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexmit.places import temporary_folder
from rexmit.run.details import PROGRAMS

_ENHANCED_PACKET = 6
"""The type of a block of pcapng that holds a packet."""

Capture = Callable[[int, Mapping[str, Path]], Mapping[str, Any]]
"""Runs a run again with a capture at each host, by its name, and returns its row."""


LEVELS = ("none", "sizes-and-times", "bytes")
"""How far a run is the same again, the least first."""


@dataclass(frozen=True)
class Repeats:
    """What came of running one run twice more. `level` is `bytes`, `sizes-and-times`, or `none`.

    `stacks` names the programs that are stacks in it, such as `./mine at the server`.
    """

    run: int
    level: str
    why: str = ""
    stacks: str = ""

    @property
    def words(self) -> str:
        """One line for people."""
        run = f"run {self.run}" + (f", with {self.stacks}," if self.stacks else "")
        if self.level == "bytes":
            return f"{run} repeats to the byte"
        if self.level == "sizes-and-times":
            return (
                f"{run} repeats in the sizes and times of its packets, not in their bytes: "
                "a program takes random numbers from the processor"
            )
        lead = "; `stack.lead` may lead a program's clock and random numbers" if self.stacks else ""
        return f"{run} does not repeat: {self.why}{lead}"


def repeats(run: int, hosts: Sequence[str], capture: Capture) -> Repeats:
    """Runs a run of these hosts twice more, and says how far it was the same."""
    with temporary_folder() as folder:
        rows, packets = [], []
        for turn in range(2):
            files = {host: folder / f"{turn}-{host}.pcapng" for host in hosts}
            rows.append(capture(run, files))
            packets.append([list(_packets(path.read_bytes())) for path in files.values()])
    for host, one, other in zip(hosts, *packets, strict=True):
        for number, (first, second) in enumerate(zip(one, other, strict=False), start=1):
            if first[:2] != second[:2]:
                text = f"at the {host}, packet {number} came at {_when(first)}, then at {_when(second)}"
                return Repeats(run, "none", text)
        if len(one) != len(other):
            return Repeats(run, "none", f"the {host} saw {len(one)} packets, then {len(other)}")
    for name in ("time_ns", "completed", "error"):
        if rows[0].get(name) != rows[1].get(name):
            return Repeats(run, "none", f"{name} was {rows[0].get(name)}, then {rows[1].get(name)}")
    left = [row.get(PROGRAMS.column) or [] for row in rows]
    for one, other in zip(*left, strict=True):
        for name in ("code", "output", "errors", "file"):
            if one[name] != other[name]:
                return Repeats(run, "none", f"{one['host']}.{name} differed the second time")
    return Repeats(run, "bytes" if packets[0] == packets[1] else "sizes-and-times")


def _when(packet: tuple[int, int, bytes]) -> str:
    return f"{packet[0] / 1e6:.6f} ms with {packet[1]} bytes"


def _packets(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Time (ns since the first), length and bytes of the packets of a capture that this package wrote."""
    at, first = 0, None
    while at + 12 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if kind == _ENHANCED_PACKET:
            high, low, kept, length = struct.unpack_from("<IIII", data, at + 12)
            time = high << 32 | low
            first = time if first is None else first
            yield time - first, length, data[at + 28 : at + 28 + kept]
        at += max(size, 12)
