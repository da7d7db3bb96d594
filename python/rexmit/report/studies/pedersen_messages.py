"""The figures of pedersen-2006 at the receiver: switches, and stacks of today."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from rexmit.analyse import effects, lateness
from rexmit.plot import pedersen_messages
from rexmit.run import Results

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

_LATE = "the wait that a loss causes (ms)"


def draw_switches(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Effects and interactions of the enhancements, and each alone and left out."""
    frame = lateness(results.messages(), LOSS)
    panels = {name: named_effects(own) for (name,), own in frame.group_by("workload", maintain_order=True)}
    name = results.name.partition("/")[2]
    files = pedersen_messages.draw_effects(panels, _LATE, out / f"{name}-effects", formats)
    rows = [
        (
            label,
            {
                str(w): own["p99_ms"].to_list()
                for (w,), own in found.group_by("workload", maintain_order=True)
            },
        )
        for label, found in one_at_a_time(frame)
    ]
    axis = "99 % of the messages are no later than (ms), write to read; mean and range of runs"
    title = "Each enhancement alone, and all but one"
    return files + pedersen_messages.draw_alone(rows, axis, title, out / f"{name}-alone", formats)


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
