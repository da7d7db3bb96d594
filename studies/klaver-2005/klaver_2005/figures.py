"""The figures of klaver-2005."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rexmit import Results, TcpFriendly, tcp_friendly_runs
from rexmit.analyse.friendly import Judged
from rexmit.plot import friendly, style

from . import charts, cycles


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    part = results.name.partition("/")[2]
    with style.styled(style.LIGHT):
        if part == "enschede":
            (one,) = _judged(results, "replication").values()
            return style.save(friendly.figure(one, style.LIGHT), out / "window", formats)
        if part == "cycles":
            return cycles.draw_cycles(_judged(results, charts.CASE), out, formats)
        kernel = "Linux 6.1" if results.study["backend"] != "model" else "the model of Linux 6.1"
        return charts.draw_table(part, tcp_friendly_runs(results), out, formats, kernel)


def _judged(results: Results, column: str) -> dict[str, Judged]:
    """The connection of each level of a column, first replication."""
    first = results.table().filter(pl.col("replication") == 0)
    cases = {run: str(level) for run, level in first.select("run", column).iter_rows()}
    found: dict[str, Judged] = {}

    def keep(run: int, seen: TcpFriendly) -> None:
        found[cases[run]] = seen.looked[0].judged[0]

    tcp_friendly_runs(results, list(cases), each=keep)
    return found
