"""What tshark reports of a capture."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
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
PLAIN = ("frame.number", "frame.time_epoch", "tcp.stream", "ip.src", "ipv6.src", "tcp.srcport", "tcp.flags")
NUMBERS = ("tcp.seq", "tcp.ack", "tcp.len", "tcp.window_size")
FIN, SYN, RST, ACK = 1, 2, 4, 16


@dataclass(frozen=True)
class Packet:
    """A packet of TCP: where and when, its header (numbers from the SYN), and tshark's labels and values."""

    side: str
    number: int
    time: float
    flags: int
    seq: int
    ack: int | None
    length: int
    window: int
    labels: frozenset[str]
    values: dict[str, float]

    @property
    def end(self) -> int:
        """One past its last sequence number, SYN and FIN counted."""
        return self.seq + self.length + bool(self.flags & SYN) + bool(self.flags & FIN)


@dataclass
class Stream:
    """A connection as tshark numbers it; sides are `address:port`."""

    packets: list[Packet] = field(default_factory=list)

    def count(self, side: str, wanted: Callable[[Packet], bool]) -> int:
        """How many packets of a side are such."""
        return sum(packet.side == side and wanted(packet) for packet in self.packets)


@cache
def streams(path: Path) -> list[Stream]:
    """The connections of a capture."""
    analysis = [f"tcp.analysis.{name}" for name in (*FLAGS, *VALUES)]
    fields = [option for name in (*PLAIN, *NUMBERS, *analysis) for option in ("-e", name)]
    command = ["tshark", "-n", "-r", str(path), "-2", "-Y", "tcp", "-T", "fields", "-E", "occurrence=f"]
    done = subprocess.run([*command, *fields], capture_output=True, text=True, check=False, timeout=120)
    found: dict[int, Stream] = {}
    for line in done.stdout.splitlines():
        cells = line.split("\t")
        number, time, stream, four, six, port, flags = cells[: len(PLAIN)]
        bits = int(flags, 16)
        cells = cells[len(PLAIN) :]
        seq, ack, length, window = (int(cell or 0) for cell in cells[: len(NUMBERS)])
        rest = dict(zip((*FLAGS, *VALUES), cells[len(NUMBERS) :], strict=True))
        packet = Packet(
            f"[{six}]:{port}" if six else f"{four}:{port}",
            int(number),
            float(time),
            bits,
            seq,
            ack if bits & ACK else None,
            length,
            window,
            frozenset(name for name in FLAGS if rest[name]),
            {name: float(rest[name]) for name in VALUES if rest[name]},
        )
        found.setdefault(int(stream), Stream()).packets.append(packet)
    return [found[number] for number in sorted(found)]
