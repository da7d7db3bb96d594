"""What a program's many lines come to: the first error of a compiler, and why a guest's kernel ended."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable

from rexmit.errors import one_line


class Complaints:
    """Hears the lines of a build and keeps those that say why it failed."""

    def __init__(self) -> None:
        self.fault: tuple[str, int, str] | None = None
        """The first error of a compiler or linker: file, line and text."""
        self._telling: list[str] = []
        self._last: deque[str] = deque(maxlen=3)

    def hear(self, line: str) -> None:
        """One more line."""
        line = line.rstrip()
        if not line:
            return
        self._last.append(line)
        if self.fault is None and (found := _FAULT.match(line)):
            self.fault = found["file"], int(found["line"]), one_line(found["text"])
        elif len(self._telling) < 3 and _TELLING.search(line):
            self._telling.append(line)

    def said(self) -> str:
        """The lines that tell most, as one."""
        if self.fault is not None:
            return "{}:{}: {}".format(*self.fault)
        return one_line(" | ".join(self._telling or self._last)) or "it said nothing"


def why_it_ended(lines: Iterable[str]) -> str:
    """What a guest's kernel said last of why it ended: its panic, the oops before it, and where that was.

    Nothing where none of its lines tells.
    """
    kept = [one_line(_STAMP.sub("", line.strip())) for line in lines]
    first: dict[str, str] = {}
    for line in kept:
        for kind, sign in _SIGNS.items():
            if kind not in first and (found := sign.search(line)):
                first[kind] = found[1] if kind in ("place", "called") else found[0]
    told = [first[kind] for kind in ("oops", "panic") if kind in first]
    if not told:
        return ""
    # What was called last is the place of a fault; a panic that code asked for was itself called last.
    place = first.get("place") or (first.get("called") if "ault" in first.get("panic", "") else None)
    return "; ".join(dict.fromkeys(told)) + (f" (at {place})" if place else "")


_FAULT = re.compile(
    r"(?P<file>[^\s:]+):(?P<line>\d+)(?::\d+)?: "
    r"(?P<text>(?:fatal error|error|Error|syntax error|can't open)\b.*)"
)
"""As gcc, as and Kconfig say it."""

_TELLING = re.compile(r"undefined reference|multiple definition|error|Error|No space|not found|No rule")

_STAMP = re.compile(r"^(<\d>)?\[ *\d+\.\d+\] ")

_SIGNS = {
    "oops": re.compile(
        r"(kernel BUG at .*|BUG: .*|Oops: .*|Unable to handle .*|Kernel mode fault .*|divide error.*"
        r"|general protection fault.*|Kernel mode signal .*)"
    ),
    "panic": re.compile(r"Kernel panic.*"),
    "place": re.compile(r"RIP: \S*:(\w+\+0x[0-9a-f]+/0x[0-9a-f]+|\w+\+0x[0-9a-f]+)"),
    "called": re.compile(r"^\[<[0-9a-f]+>\] (?:\? )?([\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+)"),
}
