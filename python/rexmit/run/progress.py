"""Progress on standard error: a bar on a terminal, a line now and then elsewhere.

Of a study also its responses so far, as a small table under the bars, and the runs that failed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rexmit.run.runner import Progress as ProgressFunction
from rexmit.run.watch import FAILURES, Failure, Line, Watch
from rexmit.study import Design
from rexmit.terminal import moves, terminal

LINE_EVERY = 5.0
"""Seconds between two lines where there is no terminal."""

WAITING = "waiting for "
"""Begins the name of a stage in which another process is at work."""

REFRESHES = 4.0
"""Refreshes a second of the table under the bars."""

LABEL = 24
"""The most letters of a level's name there."""

WIDE = 96
"""Columns that a terminal must have for the shortest and the longest time to be shown, too."""


@dataclass(frozen=True)
class Shown:
    """Where a study reports to: progress, and finished runs. Both are None where nothing is to be shown."""

    report: ProgressFunction | None = None
    rows: Callable[[pa.Table], object] | None = None


@contextmanager
def shown_study(design: Design, show: bool = True) -> Iterator[Shown]:
    """Where a study of this design reports to, for as long as the block lasts."""
    watch = Watch(design)
    if not show:
        yield Shown()
    elif moves(sys.stderr):
        with _Bar(watch) as bar:
            yield Shown(bar.report, watch.take)
    else:
        lines = _Lines()
        yield Shown(lines.report, lambda table: lines.failures(watch.take(table)))


@contextmanager
def shown_progress(show: bool = True) -> Iterator[ProgressFunction | None]:
    """A function to report progress to, for as long as the block lasts; None where nothing is to be shown."""
    if not show:
        yield None
    elif moves(sys.stderr):
        with _Bar() as bar:
            yield bar.report
    else:
        yield _Lines().report


class _Bar:
    """Bars, one a stage, and below them a study's responses so far."""

    def __init__(self, watch: Watch | None = None) -> None:
        self._watch = watch
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _RateColumn(),
            TimeRemainingColumn(),
        )
        self._console = terminal(stderr=True)
        self._live = Live(
            console=self._console,
            get_renderable=self._picture,
            refresh_per_second=REFRESHES,
        )
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> _Bar:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def _picture(self) -> RenderableType:
        if self._watch is None:
            return self._progress
        return Group(self._progress, *_pictures(self._watch, self._console.width))

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
        return Text(_pace(speed) if speed else "")


def _pictures(watch: Watch, width: int) -> list[RenderableType]:
    """The responses so far, and the last failures, for a terminal of this width."""
    lines = watch.lines()
    if not lines[-1].runs:
        return []
    rows = [_cells(line) for line in lines]
    left_out = {*(("min", "max") if width < WIDE else ()), *(() if watch.failed else ("failed",))}
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("" if watch.factor is None else watch.factor.name, no_wrap=True, max_width=LABEL)
    heads = [head for head in rows[0] if head not in left_out]
    for head in heads:
        table.add_column(head, justify="right", no_wrap=True)
    for line, row in zip(lines, rows, strict=True):
        table.add_row(line.label, *(row[head] for head in heads), style="bold" if line is lines[-1] else None)
    pictures: list[RenderableType] = [table]
    if watch.failed:
        count = f"{watch.failed:,} failed" + (", the last:" if watch.failed > FAILURES else ":")
        pictures.append(Text(count, style="red"))
        pictures += [Text(f"  {failure}", no_wrap=True, overflow="ellipsis") for failure in watch.failures]
    return pictures


def _cells(line: Line) -> dict[str, str]:
    """A line of the table by its heads. Timeouts, retransmits and drops are means over runs."""
    return {
        "runs": f"{line.runs:,}",
        "mean time": _seconds(line.time_mean),
        "min": _seconds(line.time_min),
        "max": _seconds(line.time_max),
        "goodput": _rate(line.goodput),
        "timeouts": _number(line.timeouts),
        "retransmits": _number(line.retransmits),
        "drops": _number(line.drops),
        "failed": f"{line.failed:,}" if line.failed else "",
    }


def _seconds(value: float) -> str:
    if not math.isfinite(value):
        return ""
    return f"{_digits(value * 1e3)} ms" if 0 < value < 1 else f"{_digits(value)} s"


def _rate(bits: float) -> str:
    if not math.isfinite(bits):
        return ""
    for unit, size in (("Gbit/s", 1e9), ("Mbit/s", 1e6), ("kbit/s", 1e3)):
        if bits >= size:
            return f"{_digits(bits / size)} {unit}"
    return f"{bits:.0f} bit/s"


def _digits(value: float) -> str:
    """Three digits, and all of those before the point."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}"


def _number(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else ""


class _Lines:
    def __init__(self) -> None:
        self._stage = ""
        self._began = self._last = 0.0
        self._first = 0
        self._told: set[str] = set()

    def failures(self, found: Sequence[Failure]) -> None:
        """Reports the first few ways in which runs failed, once each; how many did is reported at the end."""
        for failure in found:
            if len(self._told) < FAILURES and failure.kind not in self._told:
                print(f"rexmit: {failure}", file=sys.stderr, flush=True)
                self._told.add(failure.kind)

    def report(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if _kind(stage) != self._stage:
            self._stage, self._began, self._last, self._first = _kind(stage), now, now, done
            if stage.startswith(WAITING):  # no second call comes while it lasts
                print(f"rexmit: {stage}", file=sys.stderr, flush=True)
        elif now - self._last >= LINE_EVERY or done == total:
            self._last = now
            rate = (done - self._first) / max(now - self._began, 1e-9)
            pace = f", {_pace(rate)}" if rate else ""
            left = f", {(total - done) / rate:.0f} s left" if rate and done < total else ""
            print(f"rexmit: {stage}: {done} of {total}{pace}{left}", file=sys.stderr, flush=True)


def _pace(rate: float) -> str:
    """How many a second; for what takes a second or more, how long each takes."""
    if rate <= 1:
        return f"{_digits(1 / rate)} s each"
    return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"


def _kind(stage: str) -> str:
    """A stage without its workers, which change: `runs` of `runs on 4 workers`."""
    return stage.partition(" on ")[0]
