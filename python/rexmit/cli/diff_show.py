"""How `rexmit diff` shows tables: on a terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.markup import escape
from rich.table import Table

from rexmit.cli.common import console
from rexmit.diff.sheets import Sheet
from rexmit.errors import printable

RIGHT = {"cells", "runs", "n", "mean before", "before", "after", "change", "95 %", "scenarios", "time"}
"""Columns of numbers."""


def print_sheets(sheets: Sequence[Sheet]) -> None:
    """Prints tables below each other."""
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


def markdown(told: str, sheets: Sequence[Sheet]) -> str:
    """The same for a comment on a pull request."""
    parts = [told]
    for sheet in sheets:
        parts.append(f"### {sheet.title}")
        if sheet.heads:
            parts.append(markdown_table(sheet.heads, sheet.rows))
        else:
            parts.append("\n".join(f"- `{printable(line)}`" for (line,) in sheet.rows))
        if sheet.below:
            parts.append(sheet.below)
    return "\n\n".join(parts) + "\n"


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return printable(text).replace("|", "/")
