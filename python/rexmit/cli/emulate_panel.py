"""A few lines at the foot of a terminal on which another program may print meanwhile.

The terminal scrolls in what is above them (DECSTBM), so what others print passes by and moves nothing here. A
program that takes the whole screen for itself takes these lines, too.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Sequence
from typing import Any

from rexmit.terminal import clean, moves, write_control

HISTORY = 20
"""States in a row of small bars."""

LEAST_ROWS = 12
LEAST_COLUMNS = 60
"""A smaller terminal has no room for it."""

_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_BARS = "_.-=+*%#"


class Panel:
    """Lines at the foot of the terminal behind standard error, given back at the end of a `with` block."""

    def __init__(self) -> None:
        self._size: tuple[int, int, int] | None = None

    def __enter__(self) -> Panel:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()

    def show(self, lines: Sequence[str]) -> None:
        """Writes the lines, cut to the width of the terminal."""
        columns, rows = os.get_terminal_size(sys.stderr.fileno())
        text = ""
        if self._size != (columns, rows, len(lines)):
            self.clear()
            self._size = (columns, rows, len(lines))
            # Room below the cursor first, then the region above it; setting that moves the cursor.
            text = "\n" * len(lines) + f"\x1b[{len(lines)}A\x1b7\x1b[1;{rows - len(lines)}r\x1b8"
        top = rows - len(lines) + 1
        cells = [f"\x1b[{top + n};1H\x1b[2K{clean(line)[:columns]}" for n, line in enumerate(lines)]
        # In one piece: what another program prints comes before or after it.
        _write(f"{text}\x1b7{''.join(cells)}\x1b8")

    def clear(self) -> None:
        """Gives the terminal back its lines."""
        if self._size is None:
            return
        self._size = None
        # Others print above the cursor: what is below it is ours, wherever a new size has put it.
        _write("\x1b7\x1b[r\x1b8\x1b[J")


class History:
    """The last values of something, as small bars."""

    def __init__(self) -> None:
        self._values: deque[float] = deque(maxlen=HISTORY)

    def add(self, value: float) -> None:
        """Takes the next value, zero or more."""
        self._values.append(value)

    def bars(self, letters: str = _BARS) -> str:
        """A bar per value, the greatest as high as a bar can be; a blank stands for zero."""
        most = max(self._values, default=0.0)
        steps = len(letters) - 1
        found = [letters[round(value / most * steps)] if value > 0 else " " for value in self._values]
        return "".join(found).rjust(HISTORY)


def has_room() -> bool:
    """Whether standard error is a terminal large enough for such lines."""
    if not moves(sys.stderr) or os.environ.get("TERM") in ("dumb", None):
        return False
    size = os.get_terminal_size(sys.stderr.fileno())
    return size.lines >= LEAST_ROWS and size.columns >= LEAST_COLUMNS


def bar_letters() -> str:
    """Letters for bars that the terminal has."""
    try:
        _BARS.encode(sys.stderr.encoding or "ascii")
    except UnicodeEncodeError:
        return _PLAIN_BARS
    return _BARS


def _write(text: str) -> None:
    write_control(sys.stderr, text)


def state_lines(rows: Sequence[Sequence[Any]]) -> list[str]:
    """Rows of cells as lines, with columns under each other."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(*rows, strict=True)]
    return [
        "  ".join(str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows
    ]
