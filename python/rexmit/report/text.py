"""The answer of a report as lines of text, for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from rexmit.report.document import Sheet, Told

WIDTH = 100


def text_of(answer: Told) -> str:
    """The answer, its tables with columns that stand below each other."""
    parts = [textwrap.fill(answer.headline, WIDTH)]
    if answer.more:
        parts.append(textwrap.fill(" ".join(answer.more), WIDTH))
    return "\n\n".join([*parts, *("\n".join(_sheet(one)) for one in answer.sheets)])


def _sheet(sheet: Sheet) -> Iterator[str]:
    if sheet.title:
        yield sheet.title
    if sheet.heads:
        yield from _table([sheet.heads, *sheet.rows])
    else:
        yield from (" ".join(row) for row in sheet.rows)
    if sheet.below:
        yield sheet.below


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
