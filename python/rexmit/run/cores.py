"""Cores for guests: a guest's kernel and its programs take turns, and hand over fastest on one core."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STAT = Path("/proc/stat")
_LOOK_SECONDS = 0.05
_taken: set[int] = set()
_lock = threading.Lock()


@contextmanager
def idle_core() -> Iterator[int | None]:
    """The least busy core that is not lent to another guest of this process; None if none is left."""
    core = _take()
    try:
        yield core
    finally:
        with _lock:
            _taken.discard(core if core is not None else -1)


def _take() -> int | None:
    before = _idle()
    time.sleep(_LOOK_SECONDS)
    idle = {core: ticks - before.get(core, 0) for core, ticks in _idle().items()}
    with _lock:
        free = [core for core in sorted(os.sched_getaffinity(0)) if core not in _taken]
        if not free:
            return None
        core = max(free, key=lambda core: idle.get(core, 0))
        _taken.add(core)
        return core


def _idle() -> dict[int, int]:
    """Ticks in which each core had nothing to do."""
    found = {}
    for line in _STAT.read_text().splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name != "cpu":
            # user, nice, system, idle, iowait: one that waits for a disk has nothing to do either.
            found[int(name[3:])] = int(numbers[3]) + int(numbers[4])
    return found
