"""`rexmit diff` of two results folders: which cells changed, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rexmit.cli.common import print_json, warn, warn_of_part
from rexmit.cli.diff_show import markdown, print_sheets
from rexmit.diff import Broken, Changes, Threshold, broken, diff_results
from rexmit.diff.sheets import sheets_of, summary
from rexmit.run import open_results


def diff_folders(
    folders: tuple[Path, Path],
    thresholds: Sequence[Threshold],
    responses: Sequence[str],
    shown: int,
    *,
    only_common: bool,
    as_markdown: bool,
    json: bool,
) -> int:
    """Compares two folders, prints what changed, and returns the exit code."""
    results = [open_results(folder) for folder in folders]
    for one in results:
        warn_of_part(one)
    changes = diff_results(*results, only_common=only_common)
    if len(set(changes.versions)) > 1:
        warn(
            f"{folders[0]} was made by rexmit {changes.versions[0]}, {folders[1]} by {changes.versions[1]}: "
            "what differs may be rexmit's own"
        )
    failing = broken(thresholds, changes.matched)
    sheets = sheets_of(changes, failing, responses, shown)
    if json:
        print_json(_as_json(changes, failing, [one.text for one in thresholds]))
    elif as_markdown:
        click.echo(markdown(summary(changes), sheets), nl=False)
    else:
        print_sheets(sheets)
        click.echo(summary(changes))
    return 1 if failing else 0


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
        "failing": [one.row() for one in failing],
        "responses": changes.totals.to_dicts(),
        "cells": changes.cells.to_dicts(),
    }
