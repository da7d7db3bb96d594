"""The figures of klaver-2005."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rexmit import Results, TcpFriendly, tcp_friendly_runs
from rexmit.analyse.friendly import Judged
from rexmit.plot import friendly, style

from . import charts, cycles, hosts
from .windows import Spread, random_windows


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    part = results.name.partition("/")[2]
    with style.styled(style.LIGHT):
        if part == "enschede":
            one = next(iter(_judged(results, charts.CASE).values()))
            return style.save(friendly.figure(one, style.LIGHT), out / "window", formats)
        if part == "cycles":
            return cycles.draw_cycles(_judged(results, charts.CASE), out, formats)
        if part in ("window", "conditions", "shared"):
            return hosts.draw_hosts(part, _judged(results, charts.CASE), out, formats)
        if part == "controlled":
            return charts.draw_controlled(*_spreads(results), out, formats)
        kernel = "Linux 6.1" if results.study["backend"] != "model" else "the model of Linux 6.1"
        return charts.draw_table(part, tcp_friendly_runs(results), out, formats, kernel)


def _spreads(results: Results) -> tuple[pl.DataFrame, dict[str, Spread]]:
    """The measured runs, and the random windows of the first run of each case."""
    cases = dict(results.table().filter(pl.col("replication") == 0).select("run", charts.CASE).iter_rows())
    found: dict[str, Spread] = {}

    def keep(run: int, seen: TcpFriendly) -> None:
        one = seen.looked[0].judged[0]
        equal, _ = random_windows(one)
        if run in cases and equal is not None:
            found[str(cases[run])] = equal

    return tcp_friendly_runs(results, each=keep), found


def _judged(results: Results, column: str) -> dict[str, Judged]:
    """The connection of each level of a column that sent most, first replication."""
    first = results.table().filter(pl.col("replication") == 0)
    cases = {run: str(level) for run, level in first.select("run", column).iter_rows()}
    found: dict[str, Judged] = {}

    def keep(run: int, seen: TcpFriendly) -> None:
        found[cases[run]] = max(seen.looked[0].judged, key=lambda one: int(one.flow.sent.segments.sum()))

    tcp_friendly_runs(results, list(cases), each=keep)
    return {label: found[label] for label in cases.values() if label in found}
