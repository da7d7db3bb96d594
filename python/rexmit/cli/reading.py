"""Progress of reading a capture, on standard error: nothing for the short, a bar or lines for the long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from rexmit.analyse.quantities import size
from rexmit.errors import printable
from rexmit.terminal import moves, terminal

if TYPE_CHECKING:
    from rich.progress import Progress

BAR_AFTER, LINE_EVERY = 0.7, 5.0
"""Seconds before a bar appears, and between two lines where there is no terminal."""


class ReadingProgress:
    """A context; call it with bytes read, bytes in all (0: not known) and packets."""

    def __init__(self, name: str) -> None:
        self._name = printable(name)
        self._began = self._last = time.monotonic()
        self._bar: Progress | None = None
        self._task: Any = None

    def __enter__(self) -> ReadingProgress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, done: int, total: int, packets: int) -> None:
        """Shows how far it is."""
        now = time.monotonic()
        if not moves(sys.stderr):
            if now - self._last >= LINE_EVERY:
                self._last = now
                print(
                    f"rexmit: {self._name}: {self._line(done, total, packets, now)}",
                    file=sys.stderr,
                    flush=True,
                )
            return
        if self._bar is None and now - self._began >= BAR_AFTER:
            self._bar = self._make_bar(total)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, packets=f"{packets:,} packets")

    def _line(self, done: int, total: int, packets: int, now: float) -> str:
        rate = done / max(now - self._began, 1e-9)
        left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
        return f"{size(done)} of {size(total)}, {packets:,} packets, {size(rate)}/s{left}"

    def _make_bar(self, total: int) -> Progress:
        # Loaded only where it is needed: most captures are read before it would be there.
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TextColumn("{task.fields[packets]}"),
            TimeRemainingColumn(),
            console=terminal(stderr=True),
            transient=True,
        )
        self._task = bar.add_task(self._name, total=total or None, packets="")
        bar.start()
        return bar
