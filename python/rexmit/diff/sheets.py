"""What `rexmit diff` shows of two folders, as lines and tables that a terminal and Markdown can take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from rexmit.diff.changes import Changes
from rexmit.diff.thresholds import Broken
from rexmit.diff.words import change_of, interval_of, quantity
from rexmit.errors import UsageError, nearest
from rexmit.units import plural

SETTINGS_SHOWN = 20
BROKEN_SHOWN = 20
FIRST = ("time_ns",)
"""The response whose cells are shown where none is named, if it changed."""


@dataclass(frozen=True)
class Sheet:
    """A title, a table of texts, and a line below it; without heads it is lines alone."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    below: str = ""


def sheets_of(
    changes: Changes, failing: Sequence[Broken], responses: Sequence[str], shown: int
) -> list[Sheet]:
    """The whole answer, from what differs in the settings to where a condition holds."""
    sheets = [_settings(changes), _totals(changes)]
    wanted = check_responses(changes, responses)
    sheets += [_cells(changes, name, shown) for name in wanted if shown]
    if failing:
        sheets.append(failing_sheet(failing))
    return [sheet for sheet in sheets if sheet.rows or sheet.below]


def check_responses(changes: Changes, responses: Sequence[str]) -> list[str]:
    """The responses whose cells are shown. Raises UsageError for what is not a column of numbers of both."""
    known = changes.matched.numbers
    for name in responses:
        if name not in known:
            raise UsageError(
                f"response: {name!r} is not a column of numbers of both folders{nearest(name, known)}"
            )
    changed = changes.totals["response"].to_list()
    return list(responses) or [name for name in (*FIRST, *changed) if name in changed][:1]


def summary(changes: Changes) -> str:
    """One line: how many runs and cells were compared, and how many changed."""
    cells = changes.matched.frame.select(*changes.factors).n_unique() if changes.factors else 1
    changed = changes.cells.select(*changes.factors).n_unique() if changes.factors else len(changes.cells[:1])
    if changes.matched.paired:
        runs = plural(changes.runs, "run")
        told = f"{changes.runs_changed:,} of {runs} and {changed:,} of {plural(cells, 'cell')} differ"
        return told if changes.runs_changed else f"nothing differs in {runs}, {plural(cells, 'cell')}"
    chance = (1 - changes.confidence) * cells
    return (
        f"in {changed:,} of {plural(cells, 'cell')} something differs by more than replications do; for one "
        f"response about {chance:,.0f} would do so by chance"
    )


def _settings(changes: Changes) -> Sheet:
    rows = [[line] for line in changes.settings[:SETTINGS_SHOWN]]
    more = len(changes.settings) - len(rows)
    return Sheet("settings that differ", [], rows, f"and {more} more" if more else "")


def _totals(changes: Changes) -> Sheet:
    units = changes.matched.units
    rows = [
        [
            row["response"],
            f"{row['cells_changed']:,}",
            f"{row['runs_changed']:,}" if changes.matched.paired else "",
            quantity(row["before"], units.get(row["response"])),
            quantity(row["after"], units.get(row["response"])),
            change_of(row["before"], row["after"], units.get(row["response"])),
            interval_of(row["low"], row["high"], row["before"], units.get(row["response"])),
        ]
        for row in changes.totals.iter_rows(named=True)
    ]
    heads = ["response", "cells", "runs", "mean before", "after", "change", "95 %"]
    return Sheet("what changed, over all runs", heads, rows)


def _cells(changes: Changes, name: str, shown: int) -> Sheet:
    unit = changes.matched.units.get(name)
    found = changes.cells.filter(pl.col("response") == name)
    size = (pl.col("ratio").log().abs()).fill_null(pl.col("difference").abs())
    most = found.sort(size, descending=True, nulls_last=True, maintain_order=True).head(shown)
    rows = [
        [
            *(str(row[factor]) for factor in changes.factors),
            f"{row['n']:,}",
            quantity(row["before"], unit),
            quantity(row["after"], unit),
            change_of(row["before"], row["after"], unit),
            interval_of(row["low"], row["high"], row["before"], unit),
        ]
        for row in most.iter_rows(named=True)
    ]
    heads = [*changes.factors, "n", "mean before", "after", "change", "95 %"]
    left = len(found) - len(rows)
    below = f"and {plural(left, 'more cell')}: --cells {len(found)} shows all" if left else ""
    return Sheet(f"{name}: the cells that changed most", heads, rows, below)


def failing_sheet(failing: Sequence[Broken]) -> Sheet:
    """Where conditions hold."""
    rows = [
        [one.threshold, one.where, quantity(one.before, one.unit), quantity(one.after, one.unit)]
        for one in failing[:BROKEN_SHOWN]
    ]
    left = len(failing) - len(rows)
    below = f"and in {plural(left, 'more cell')}" if left else ""
    return Sheet("conditions that hold", ["condition", "where", "before", "after"], rows, below)
