"""The figures of pedersen-2006 at the receiver: switches, and stacks of today."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from rexmit import Results
from rexmit.analyse import effects, lateness

from . import message_charts

LOSS = 0.05
"""Of packets with data, in every part of the study."""

SWITCHES = {
    "hosts.client.stack.thin.fast_retransmit_reports": "fast retransmit after 1 SACK",
    "hosts.client.stack.thin.bundle_in_fast_retransmit": "bundling in fast retransmits",
    "hosts.client.stack.thin.min_rto": "RTO minimum 200 ms",
    "hosts.client.stack.timer.restart_less_age": "restart less the chunk's age",
    "hosts.client.stack.thin.backoff": "no backoff",
    "hosts.client.stack.thin.bundle_with_new": "bundling with new data",
    "hosts.server.stack.sack.delay": "no SACK delay",
}
"""The factors of `switches` as figures name them."""

QUANTILES = {"p50": 0.5, "p90": 0.1, "p95": 0.05, "p98": 0.02, "p99": 0.01, "p999": 0.001}
"""Quantiles of latencies, and the share of messages that is later."""

_DELAY = "path.delay"
_LATE = "the wait that a loss causes (ms)"


def draw_switches(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Effects and interactions of the enhancements, and each alone and left out."""
    frame = lateness(results.messages(), LOSS)
    panels = {name: named_effects(own) for (name,), own in frame.group_by("workload", maintain_order=True)}
    name = results.name.partition("/")[2]
    files = message_charts.draw_effects(panels, _LATE, out / f"{name}-effects", formats)
    rows = [
        (
            label,
            {
                str(w): own["late_ms"].to_list()
                for (w,), own in found.group_by("workload", maintain_order=True)
            },
        )
        for label, found in one_at_a_time(frame)
    ]
    axis = f"{_LATE[0].upper()}{_LATE[1:]}: mean and range of runs"
    title = "Each enhancement alone, and all but one"
    return files + message_charts.draw_alone(rows, axis, title, out / f"{name}-alone", formats)


def draw_today(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """How late so many messages are, a panel each workload, a line each stack, or each other level."""
    frame = lateness(results.messages(), LOSS)
    lines = [name for name in results.factors if name != "workload"]
    if "stack" in lines:
        lines.remove(_DELAY)
    files = []
    for (delay,), own in frame.group_by(_DELAY if "stack" in lines else pl.lit(""), maintain_order=True):
        panels: dict[str, dict[str, list[tuple[float, float]]]] = {}
        for (workload, *levels), cell in own.group_by("workload", *lines, maintain_order=True):
            label = ", ".join(_level(name, level) for name, level in zip(lines, levels, strict=True))
            points = [(share, cell[f"latency_{quantile}_ms"].mean()) for quantile, share in QUANTILES.items()]
            panels.setdefault(str(workload), {})[label] = points  # type: ignore[assignment]
        title, name = results.title, results.name.partition("/")[2]
        if delay:
            title += f", {delay} each way"
            name += f"-{delay}".replace(" ", "-")
        files += message_charts.draw_late(panels, title, out / name, formats)
    return files


def _level(name: str, level: object) -> str:
    if name == _DELAY:
        return f"{level} each way"
    return f"{name.rpartition('.')[2].replace('_', ' ')} {level}" if isinstance(level, bool) else str(level)


def named_effects(frame: pl.DataFrame) -> pl.DataFrame:
    """The effects of the switches on `late_ms`, each with its `name`: pairs by their letters."""
    found = effects(frame, list(SWITCHES), "late_ms")
    letters = dict(zip(SWITCHES, "ABCDEFG", strict=True))
    names = [
        f"{letters[first]} with {letters[second]}" if second else f"{SWITCHES[first]}: {letters[first]}"
        for first, second in found.select("first", "second").iter_rows()
    ]
    return found.with_columns(pl.Series("name", names))


def one_at_a_time(frame: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """The runs without any enhancement, with each alone, with all, and with all but one."""
    columns = list(SWITCHES)
    off, on = ({column: frame[column].unique(maintain_order=True)[n] for column in columns} for n in (0, 1))
    chosen = [("none of them", off)]
    chosen += [(f"{SWITCHES[column]}, alone", off | {column: on[column]}) for column in columns]
    chosen += [("all of them", on)]
    chosen += [(f"all but {SWITCHES[column]}", on | {column: off[column]}) for column in columns]
    return [
        (label, frame.filter(pl.all_horizontal(pl.col(name) == level for name, level in levels.items())))
        for label, levels in chosen
    ]
