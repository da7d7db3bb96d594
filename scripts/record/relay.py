"""The path between the namespaces: delay, rate with a queue, and the rules of the scenario."""

from __future__ import annotations

import heapq
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from .packets import ETHERNET, Segment, parse, segmented
from .rules import Judge, Rule

VNET = 10
NO_OFFLOAD = bytes(VNET)
LARGEST = 70_000


@dataclass(frozen=True)
class Passage:
    """What became of a packet of TCP: `verdict` is forwarded, or what was done to it."""

    at: float
    direction: str
    segment: Segment
    position: int
    transmission: int
    verdict: str


@dataclass
class Way:
    """One direction: where packets come from and go to, and when its line is free again."""

    source: int
    sink: int
    free: float = 0.0
    held: float = 0.0
    waiting: list[float] = field(default_factory=list)


class Relay:
    """Carries frames between two descriptors until told to stop."""

    def __init__(
        self,
        descriptors: dict[str, int],
        judge: Judge,
        path: tuple[float, float, int],
        kind: tuple[str, bool],
    ) -> None:
        """`path`: bit/s, one-way delay in seconds, packets that may wait. `kind`: link and offload."""
        self._ways = {
            "down": Way(descriptors["server"], descriptors["client"]),
            "up": Way(descriptors["client"], descriptors["server"]),
        }
        self._judge = judge
        self._rate, self._delay, self._limit = path
        self._offset = ETHERNET if kind[0] == "tap" else 0
        self._offload = kind[1]
        self._due: list[tuple[float, int, int, bytes, int | None]] = []
        self._count = 0
        self.log: list[Passage] = []
        # Indices into the log, in the order in which packets were handed over at the other end.
        self.delivered: list[int] = []
        self.last = time.monotonic()

    def run(self, stop: Callable[[], bool]) -> None:
        """Carry until `stop` says so; it is asked every few milliseconds."""
        sources = {way.source: name for name, way in self._ways.items()}
        asked = 0.0
        while True:
            now = time.monotonic()
            if now - asked > 0.02:
                asked = now
                if stop():
                    return
            while self._due and self._due[0][0] <= now:
                self._deliver(*heapq.heappop(self._due)[2:])
            wait = min(self._due[0][0] - time.monotonic(), 0.02) if self._due else 0.02
            ready, _, _ = select.select(list(sources), [], [], max(wait, 0.0))
            for descriptor in ready:
                self._take(sources[descriptor])

    def _deliver(self, sink: int, frame: bytes, index: int | None) -> None:
        os.write(sink, NO_OFFLOAD + frame if self._offload else frame)
        if index is not None:
            self.delivered.append(index)

    def _take(self, direction: str) -> None:
        """Read one frame, split it where it is a super-packet, and put each part on its way."""
        frame = os.read(self._ways[direction].source, LARGEST)
        if not self._offload:
            self._carry(direction, frame)
            return
        checksum, kind, size = frame[0], frame[1], int.from_bytes(frame[4:6], "little")
        frame = frame[VNET:]
        if parse(frame, self._offset) is None or not (checksum or kind):
            self._carry(direction, frame)
            return
        for part in segmented(frame, self._offset, size if kind else 0):
            self._carry(direction, part)

    def _carry(self, direction: str, frame: bytes) -> None:
        now = self.last = time.monotonic()
        segment = parse(frame, self._offset)
        if segment is None:
            self._send(direction, frame, now, 0.0, None)
            return
        rule, position, transmission = self._judge.decide(direction, segment)
        verdict = self._apply(direction, frame, now, rule)
        self.log.append(Passage(time.time(), direction, segment, position, transmission, verdict))

    def _apply(self, direction: str, frame: bytes, now: float, rule: Rule | None) -> str:
        if rule is not None and rule.effect == "drop":
            return "dropped"
        way = self._ways[direction]
        if rule is not None and rule.effect == "hold":
            way.held = now + rule.seconds
        extra = rule.seconds if rule is not None and rule.effect == "delay" else 0.0
        if not self._send(direction, frame, now, extra, len(self.log)):
            return "queue full"
        if rule is None:
            return "forwarded"
        if rule.effect == "duplicate":
            self._send(direction, frame, now, rule.seconds, len(self.log))
            return "duplicated"
        return "delayed" if rule.effect == "delay" else "held"

    def _send(self, direction: str, frame: bytes, now: float, extra: float, index: int | None) -> bool:
        """Queue, serialise and delay a frame; false if the queue is full."""
        way = self._ways[direction]
        way.waiting = [leaves for leaves in way.waiting if leaves > now]
        if len(way.waiting) >= self._limit:
            return False
        way.free = max(way.free, now, way.held) + len(frame) * 8 / self._rate
        way.waiting.append(way.free)
        self._count += 1
        heapq.heappush(self._due, (way.free + self._delay + extra, self._count, way.sink, frame, index))
        return True
