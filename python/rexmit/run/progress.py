"""Progress on standard error: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.text import Text

from rexmit.run.runner import Progress as ProgressFunction

LINE_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""


@contextmanager
def shown_progress(show: bool = True) -> Iterator[ProgressFunction | None]:
    """A function to report progress to, for as long as the block lasts; None where nothing is to be shown."""
    if not show:
        yield None
    elif sys.stderr.isatty():
        with _Bar() as bar:
            yield bar.report
    else:
        yield _Lines().report


class _Bar:
    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _RateColumn(),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=False,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> _Bar:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def report(self, stage: str, done: int, total: int) -> None:
        kind = _kind(stage)
        if kind not in self._tasks:
            self._tasks[kind] = self._progress.add_task(stage, total=total, completed=done)
        self._progress.update(self._tasks[kind], description=stage, completed=done)


class _RateColumn(TextColumn):
    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: object) -> Text:
        speed = getattr(task, "finished_speed", None) or getattr(task, "speed", None)
        return Text(f"{speed:,.0f}/s" if speed else "")


class _Lines:
    def __init__(self) -> None:
        self._stage = ""
        self._began = self._last = 0.0
        self._first = 0

    def report(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if _kind(stage) != self._stage:
            self._stage, self._began, self._last, self._first = _kind(stage), now, now, done
        elif now - self._last >= LINE_EVERY or done == total:
            self._last = now
            rate = (done - self._first) / max(now - self._began, 1e-9)
            left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
            print(f"rexmit: {stage}: {done} of {total}, {rate:,.0f}/s{left}", file=sys.stderr, flush=True)


def _kind(stage: str) -> str:
    """A stage without who works on it, which changes: `runs` of `runs on 4 workers`."""
    return stage.partition(" on ")[0]
