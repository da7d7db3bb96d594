"""How many steps a build has, against which its progress is measured.

A step is a line such as `CC  net/ipv4/tcp.o` that `make` prints. Nobody can ask it beforehand: `make -n`
fails in a fresh tree, whose headers are not generated yet. So the steps of a version's whole build are
counted each time, and the next one expects as many; before the first they are what was counted here. A build
of a kept tree that was changed expects what the notes beside its objects say (`kept.py`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from rexmit.files import write_bytes
from rexmit.kernel.cache import cache_folder

_STEP = re.compile(r"  [A-Z][A-Z0-9_]+ +\S")

_COUNTED = {(6, 1): 1242, (6, 12): 1323}
"""Steps by version, with these options."""


def steps_of(version: str) -> int:
    """How many steps a whole build of this version is expected to have."""
    counted = _read().get(_short(version))
    if counted is not None:
        return counted
    own = _numbers(version)
    return _COUNTED[min(_COUNTED, key=lambda one: (abs(one[0] - own[0]), abs(one[1] - own[1])))]


def remember_steps(version: str, counted: int) -> None:
    """Notes how many steps a whole build had; the folder of kernels is locked meanwhile."""
    write_bytes(cache_folder() / _NAME, json.dumps({**_read(), _short(version): counted}).encode())


class Counter:
    """Counts steps as they are printed and tells of each: never more than expected, nor all too early."""

    def __init__(self, expected: int, report: Callable[[int, int], None]) -> None:
        self.done = 0
        self._expected = max(expected, 1)
        self._report = report
        report(0, self._expected)

    def hear(self, line: str) -> None:
        """One more line of `make`."""
        if _STEP.match(line):
            self.done += 1
            self._report(min(self.done, self._expected - 1), self._expected)

    def end(self) -> None:
        """All is done."""
        self._report(self._expected, self._expected)


def _read() -> dict[str, int]:
    try:
        given = json.loads((cache_folder() / _NAME).read_bytes())
        return {str(name): int(counted) for name, counted in given.items() if int(counted) > 0}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _short(version: str) -> str:
    return ".".join(map(str, _numbers(version)))


def _numbers(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


_NAME = "steps.json"
