"""One TCP transfer over a bottleneck that loses one or two packets: the scenarios of `make fidelity`."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PHASES_NS = 512_000_000
"""The part of the timer wheel's round in which a run may start."""

MSS = 1448


@dataclass(frozen=True)
class Losses:
    """One scenario. Positions count the packets of a direction from 1."""

    number: int
    algorithm: str
    rate_bit_s: int
    delay_us: int
    queue: int
    writes: tuple[int, ...]
    lost_down: tuple[int, ...]
    lost_up: tuple[int, ...]
    phase_ns: int

    @property
    def size(self) -> int:
        """Bytes that the server sends."""
        return sum(self.writes)

    def table(self, profile: str, linux: Mapping[str, int] | None = None) -> dict[str, Any]:
        """The scenario as its file would hold it: a profile for the model, settings for a kernel."""
        host = {
            "stack": {"inherits": profile, "congestion": {"algorithm": self.algorithm}},
            "tick_phase": f"{self.phase_ns} ns",
            **({"linux": dict(linux)} if linux else {}),
        }
        drops = {"down": self.lost_down, "up": self.lost_up}
        path: dict[str, Any] = {
            "rate": f"{self.rate_bit_s} bit/s",
            "delay": f"{self.delay_us} us",
            "queue": f"{self.queue} packets",
            **{name: {"drop": ",".join(map(str, lost))} for name, lost in drops.items() if lost},
        }
        writes = ", ".join(f"{size} bytes" for size in self.writes)
        transfer = {"from": "server", "to": "client", "writes": writes}
        return {"hosts": {"server": host, "client": host}, "path": path, "transfers": [transfer]}

    def row(self) -> dict[str, Any]:
        """Its columns in a table."""
        return {
            "scenario": self.number,
            "algorithm": self.algorithm,
            "rate_bit_s": self.rate_bit_s,
            "delay_us": self.delay_us,
            "queue_packets": self.queue,
            "writes": len(self.writes),
            "bytes": self.size,
            "lost_down": ",".join(map(str, self.lost_down)),
            "lost_up": ",".join(map(str, self.lost_up)),
            "phase_ns": self.phase_ns,
        }


def draw_losses(number: int, seed: int) -> Losses:
    """The scenario of this number, from 0. Its numbers are one stream, as the published page has them."""
    stream = random.Random(f"{seed}/{number}")
    algorithm = stream.choice(("reno", "cubic"))
    rate = round(_log_uniform(stream, 64_000, 20_000_000))
    delay = round(_log_uniform(stream, 1_000, 150_000))
    queue = round(_log_uniform(stream, 5, 200))
    size = round(_log_uniform(stream, 10_000, 300_000))
    writes = (size,) if stream.random() < 0.5 else _cut(stream, size)
    packets = math.ceil(size / MSS)
    down: set[int] = set()
    up: set[int] = set()
    for _ in range(stream.choice((1, 2))):
        if stream.random() < 0.15:
            up.add(stream.randint(1, 2 + packets // 2))
        else:
            # The SYN-ACK is the first, the FIN is in the last or after it.
            down.add(stream.randint(1, 2 + packets))
    phase = stream.randrange(0, PHASES_NS, 1000)
    return Losses(number, algorithm, rate, delay, queue, writes, _sorted(down), _sorted(up), phase)


def _log_uniform(stream: random.Random, least: float, most: float) -> float:
    return math.exp(stream.uniform(math.log(least), math.log(most)))


def _cut(stream: random.Random, size: int) -> tuple[int, ...]:
    """A size as several writes, of equal size but for the last, or of random ones."""
    if stream.random() < 0.5:
        each = stream.choice((500, 1000, 2500, 4000, 10_000))
        return (each,) * (size // each) + ((size % each,) if size % each else ())
    cuts = sorted({stream.randrange(1, size) for _ in range(stream.randint(1, 30))})
    return tuple(b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True))


def _sorted(positions: set[int]) -> tuple[int, ...]:
    return tuple(sorted(positions))
