"""What tshark reports of a capture."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

THERE = shutil.which("tshark") is not None
FLAGS = (
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "duplicate_ack",
    "keep_alive",
    "zero_window",
    "zero_window_probe",
    "window_full",
)
VALUES = ("ack_rtt", "initial_rtt", "bytes_in_flight")
PLAIN = ("frame.number", "tcp.stream", "ip.src", "ipv6.src", "tcp.srcport", "tcp.len", "tcp.flags")


@dataclass(frozen=True)
class Packet:
    """A packet of TCP: its number, bytes of data, flags, and what the analysis says of it."""

    number: int
    length: int
    flags: int
    labels: frozenset[str]
    values: dict[str, float]


@dataclass
class Stream:
    """A connection as tshark numbers it: the packets of each endpoint `address:port`."""

    sides: dict[str, list[Packet]] = field(default_factory=dict)

    def count(self, side: str, wanted: Callable[[Packet], bool]) -> int:
        """How many packets of a side are such."""
        return sum(wanted(packet) for packet in self.sides.get(side, []))


def streams(path: Path) -> list[Stream]:
    """The connections of a capture."""
    analysis = [f"tcp.analysis.{name}" for name in (*FLAGS, *VALUES)]
    fields = [option for name in (*PLAIN, *analysis) for option in ("-e", name)]
    # Sub-dissectors would only cost time; headers that a capture cut off are no reason to stop.
    command = [
        "tshark",
        "-n",
        "-r",
        str(path),
        "-2",
        "-Y",
        "tcp",
        "-T",
        "fields",
        "-E",
        "occurrence=f",
        *fields,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    found: dict[int, Stream] = {}
    for line in done.stdout.splitlines():
        cells = line.split("\t")
        number, stream, four, six, port, length, flags = cells[: len(PLAIN)]
        rest = dict(zip((*FLAGS, *VALUES), cells[len(PLAIN) :], strict=True))
        packet = Packet(
            int(number),
            int(length or 0),
            int(flags, 16),
            frozenset(name for name in FLAGS if rest[name]),
            {name: float(rest[name]) for name in VALUES if rest[name]},
        )
        side = f"[{six}]:{port}" if six else f"{four}:{port}"
        found.setdefault(int(stream), Stream()).sides.setdefault(side, []).append(packet)
    return [found[number] for number in sorted(found)]
