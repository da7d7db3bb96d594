"""Why the runs that an answer rests upon are not faster: what held their senders back, in a sentence each.

Judged from the packets at the sender: of the capture that was kept, else of the run, which is run again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from rexmit.analyse.captures import Options, Reading
from rexmit.analyse.held import answers
from rexmit.analyse.rows import Row
from rexmit.analyse.rows import rows as rows_of
from rexmit.errors import RexmitError
from rexmit.places import temporary_folder
from rexmit.plot.figures import readable
from rexmit.report.answer import Answer
from rexmit.run import Results
from rexmit.run.capture import capture_path

WHY = "Why not faster?"
"""What stands over the lines, here and in `rexmit analyze`."""

SLOW_BACKENDS = ("uml", "kernel")
"""They boot a kernel, or take real time, for a run: runs are judged where captures were kept."""

MOST_PACKETS = 300_000
"""A run of more packets is not run again for a sentence."""


def why_lines(results: Results, answer: Answer) -> list[str]:
    """A line for the runs at both ends of the largest effect, or for the first run where nothing varies.

    There are none for runs that are not TCP, that are too long, or whose packets cannot be had again.
    """
    lines = []
    for run, told in _runs(answer):
        try:
            row = _busiest(results, run)
        except RexmitError:
            continue
        sentences = [] if row is None else list(answers(row).values())
        if sentences:
            text = sentences[0]
            lines.append(f"{told}: {text}.")
    return lines


def _runs(answer: Answer) -> Iterator[tuple[int, str]]:
    """The runs to look at, and what to call them."""
    if not answer.effects or answer.quantity is None:
        run = int(answer.frame["run"].min())  # type: ignore[arg-type]
        yield run, f"Run {run}"
        return
    strongest, response = answer.effects[0], answer.quantity.column
    for level in dict.fromkeys((strongest.low, strongest.high)):
        own = answer.frame.filter(pl.col(strongest.factor) == level, pl.col(response).is_not_null())
        if own.is_empty():
            continue
        # The one in the middle stands for the others.
        run = int(own.sort(response, "run")["run"][(own.height - 1) // 2])
        yield run, f"At {answer.words[strongest.factor]} {readable(str(level))} (run {run})"


def _busiest(results: Results, run: int) -> Row | None:
    """The row of the connection that carried most; None where there is none of TCP."""
    scenario = results.study["scenario"]
    host = str((scenario.get("transfers") or [{}])[0].get("from", "server"))
    kept = None if results.folder is None else capture_path(results.folder, run, host)
    if kept is not None and kept.exists():
        return _of_capture(kept)
    if str(results.study["backend"]) in SLOW_BACKENDS or _packets(results, run) > MOST_PACKETS:
        return None
    with temporary_folder() as folder:
        capture = folder / f"{host}.pcapng"
        results.capture(run, at={host: capture})
        return _of_capture(capture)


def _packets(results: Results, run: int) -> int:
    table = results.table()
    counts = [name for name in ("packets_down", "packets_up") if name in table.columns]
    row = table.filter(pl.col("run") == run).select(counts)
    return sum(int(value or 0) for value in row.row(0)) if row.height and counts else 0


def _of_capture(path: Path) -> Row | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reading = Reading([path], Options(jobs=1, tables=("connections",)))
        found = [row for tables in reading for row in rows_of(tables["connections"])]
    return max(found, key=lambda row: int(row["client_bytes"]) + int(row["server_bytes"]), default=None)
