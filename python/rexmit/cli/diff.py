"""`rexmit diff`: what differs between two folders of results, and whether it got worse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.table import Table

from rexmit.cli.common import console, json_option, print_json, warn, warn_of_part
from rexmit.diff import Broken, Changes, Threshold, broken, diff_results
from rexmit.diff.sheets import Sheet, sheets_of, summary
from rexmit.errors import printable
from rexmit.run import open_results

RIGHT = {"cells", "runs", "n", "mean before", "before", "after", "change", "95 %"}
"""Columns of numbers."""


@click.command(
    epilog="""\b
Examples:
  rexmit diff results/last-week results/today
  rexmit diff results/main results/pull-request --fail 'p99(time) > 1.05x' --fail 'errors > 0'
  rexmit diff results/baseline results/now --fail 'mean(time) > +5 % by path.delay' --markdown"""
)
@click.argument("before", metavar="BEFORE", type=click.Path(path_type=Path))
@click.argument("after", metavar="AFTER", type=click.Path(path_type=Path))
@click.option(
    "--fail",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="End with 1 where this holds of AFTER in any cell, such as 'p99(time) > 1.05x' (times BEFORE's), "
    "'mean(retransmits) > +2', 'time > 200 ms', 'errors > 0', 'changed > 0'; with 'overall' or "
    "'by FACTOR, ...' at its end of coarser cells. May be given several times.",
)
@click.option(
    "--only-common", is_flag=True, help="Compare the levels and runs that both have where the designs differ."
)
@click.option(
    "--cells",
    "shown",
    type=click.IntRange(0, 100_000),
    default=10,
    show_default=True,
    metavar="N",
    help="Show so many cells of each response, those that changed most.",
)
@click.option(
    "--response",
    "responses",
    multiple=True,
    metavar="COLUMN",
    help="Show the cells of these columns. May be given several times. Default: time_ns, or the first that "
    "changed.",
)
@click.option("--markdown", is_flag=True, help="Print Markdown, as for a comment on a pull request.")
@json_option
@click.pass_context
def diff(
    context: click.Context,
    before: Path,
    after: Path,
    conditions: tuple[str, ...],
    only_common: bool,
    shown: int,
    responses: tuple[str, ...],
    markdown: bool,
    as_json: bool,
) -> None:
    """Print which cells of a design changed between two results folders, and by how much.

    BEFORE and AFTER hold results of one design: the same factors and levels. A cell is a combination of
    levels. With the same seed in virtual time every run is held against itself, so whatever differs shows;
    otherwise a cell counts as changed if the 95 % interval of the difference leaves out zero. Exit code 1 if
    a condition of --fail holds.
    """
    thresholds = [Threshold.parse(text) for text in conditions]
    results = [open_results(folder) for folder in (before, after)]
    for one in results:
        warn_of_part(one)
    changes = diff_results(*results, only_common=only_common)
    if len(set(changes.versions)) > 1:
        warn(
            f"{before} was made by rexmit {changes.versions[0]}, {after} by {changes.versions[1]}: what "
            "differs may be rexmit's own"
        )
    failing = broken(thresholds, changes)
    sheets = sheets_of(changes, failing, responses, shown)
    if as_json:
        print_json(_as_json(changes, failing, conditions))
    elif markdown:
        click.echo(_markdown(summary(changes), sheets), nl=False)
    else:
        _print(sheets)
        click.echo(summary(changes))
    context.exit(1 if failing else 0)


def _print(sheets: Sequence[Sheet]) -> None:
    for sheet in sheets:
        click.echo(sheet.title)
        if sheet.heads:
            table = Table(box=None, pad_edge=False)
            for head in sheet.heads:
                table.add_column(escape(head), justify="right" if head in RIGHT else "left")
            for row in sheet.rows:
                table.add_row(*map(escape, row))
            console().print(table)
        else:
            for (line,) in sheet.rows:
                click.echo(f"  {printable(line)}")
        if sheet.below:
            click.echo(f"  {sheet.below}")
        click.echo()


def _markdown(told: str, sheets: Sequence[Sheet]) -> str:
    """The same for a comment on a pull request."""
    parts = [told]
    for sheet in sheets:
        parts.append(f"### {sheet.title}")
        if sheet.heads:
            rows = [sheet.heads, ["---"] * len(sheet.heads), *sheet.rows]
            parts.append("\n".join(f"| {' | '.join(map(_cell, row))} |" for row in rows))
        else:
            parts.append("\n".join(f"- `{printable(line)}`" for (line,) in sheet.rows))
        if sheet.below:
            parts.append(sheet.below)
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return printable(text).replace("|", "/")


def _as_json(changes: Changes, failing: Sequence[Broken], conditions: Sequence[str]) -> dict[str, Any]:
    return {
        "before": str(changes.before.folder),
        "after": str(changes.after.folder),
        "versions": list(changes.versions),
        "paired": changes.matched.paired,
        "runs": changes.runs,
        "runs_changed": changes.runs_changed if changes.matched.paired else None,
        "settings": list(changes.settings),
        "factors": list(changes.factors),
        "conditions": list(conditions),
        "failing": [
            {"condition": one.threshold, "cell": dict(one.cell), "before": one.before, "after": one.after}
            for one in failing
        ],
        "responses": changes.totals.to_dicts(),
        "cells": changes.cells.to_dicts(),
    }
