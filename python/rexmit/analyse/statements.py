"""All that a text states in numbers, and what holds each statement: the claim of completeness that can fail.

`statements.csv` of a study is made by reading its text from the first page to the last. Each statement names
the rows of `published.csv` that hold it, or the reason why none does.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from rexmit.analyse.compare import DERIVED, MEASURED, Published, load_published
from rexmit.errors import StudyError
from rexmit.inputs import PUBLISHED, read_text
from rexmit.units import plural

STATEMENTS, ROWS = "statements.csv", "published.csv"
_OPEN = re.compile(r"\bopen\b", re.IGNORECASE)
_AS_ROW = re.compile(r"(?:as|follows from|the run of) ([A-Z]-[\w.-]*\w)")
"""A deviation's reason that refers to that of another row."""
KINDS = ("result", "mechanism", "setup", "arithmetic", "background")


@dataclass(frozen=True)
class Statement:
    """One statement of a text, in words of our own."""

    id: str
    """`S-`, the three digits of the text, and a number in its order."""
    place: str
    """Section, page, table or figure."""
    kind: str
    """`result`, `mechanism` (how the systems work), `setup`, `arithmetic`, or `background` (of others)."""
    statement: str
    value: str
    """As printed; empty for words."""
    unit: str
    conditions: str
    count: int
    """How many numbers it holds: the cells of a table, else 1."""
    rows: Sequence[str]
    """Tags of `published.csv`; one that ends in `*` stands for all that begin so."""
    reason: str
    """Why no row holds it; empty where one does."""

    @property
    def is_held(self) -> bool:
        """Whether a row holds it."""
        return bool(self.rows)


@dataclass(frozen=True)
class Coverage:
    """How many of the numbers that a text states have a row."""

    study: str
    statements: Sequence[Statement]
    rows: Sequence[Published]

    @property
    def held(self) -> int:
        """Numbers that a row holds."""
        return sum(one.count for one in self.statements if one.is_held)

    @property
    def stated(self) -> int:
        """Numbers that the text states."""
        return sum(one.count for one in self.statements)

    @property
    def open(self) -> Sequence[Statement]:
        """Statements without a row."""
        return [one for one in self.statements if not one.is_held]

    @property
    def measured(self) -> Sequence[Published]:
        """Rows that are measured in runs."""
        return [row for row in self.rows if row.role == MEASURED]

    @property
    def recorded(self) -> Sequence[Published]:
        """Measured rows whose difference is recorded; tests of each study hold that the others are within."""
        return [row for row in self.measured if row.deviation]

    @property
    def unexplained(self) -> Sequence[Published]:
        """Recorded rows whose reason, or that of a row that it refers to, says *open*."""
        reasons = {row.id: row.deviation_reason for row in self.rows}
        return [row for row in self.recorded if _is_open(row.id, reasons)]

    def text(self) -> str:
        """One sentence for a page."""
        derived = sum(row.role == DERIVED for row in self.rows)
        kinds = Counter(one.kind for one in self.open)
        listed = ", ".join(f"{kinds[kind]} {kind}" for kind in KINDS if kinds[kind])
        held = (
            f"{self.held:,} of {self.stated:,} numbers that the text states have a row among "
            f"{len(self.rows):,} ({derived:,} derived without a run)"
        )
        if not self.open:
            return f"{held}."
        return f"{held}; {plural(len(self.open), 'statement')} without one ({listed}), each with its reason."

    def table(self) -> str:
        """The statements without a row as a Markdown table."""
        head = "| | place | statement | why no row holds it |\n| --- | --- | --- | --- |\n"
        lines = (f"| {one.id} | {one.place} | {one.statement} | {one.reason} |" for one in self.open)
        return head + "".join(line.replace("\n", " ") + "\n" for line in lines)


def _is_open(row: str, reasons: Mapping[str, str]) -> bool:
    seen: set[str] = set()
    while row in reasons and row not in seen:
        seen.add(row)
        if _OPEN.search(reasons[row]):
            return True
        referred = _AS_ROW.search(reasons[row])
        row = referred[1] if referred else ""
    return False


def load_statements(folder: Path) -> Coverage:
    """Reads `statements.csv` beside `published.csv` in the folder of a study.

    Raises StudyError, naming file and line, for a doubled tag, a tag of no row, and a statement that has both
    rows and a reason, or neither; and for a row that no statement names.
    """
    path = folder / STATEMENTS
    rows = load_published(folder / ROWS)
    tags = [row.id for row in rows]
    found: dict[str, Statement] = {}
    named: set[str] = set()
    lines = csv.DictReader(io.StringIO(read_text(path, PUBLISHED), newline=""))
    try:
        for line in lines:
            statement = _statement(line)
            if statement.id in found:
                raise StudyError(f"id: {statement.id} appears twice")
            for tag in statement.rows:
                named |= _tagged(tag, tags)
            found[statement.id] = statement
    except (csv.Error, StudyError) as error:
        raise StudyError(f"{path}, line {lines.line_num}: {error}") from None
    for tag in tags:
        if tag not in named:
            raise StudyError(f"{path}: no statement names the row {tag}")
    return Coverage(folder.name, list(found.values()), rows)


def _tagged(tag: str, tags: Iterable[str]) -> set[str]:
    """The rows that a tag stands for. Raises StudyError where there is none."""
    whole = tag[:-1] if tag.endswith("*") else None
    fitting = {one for one in tags if one == tag or (whole is not None and one.startswith(whole))}
    if not fitting:
        raise StudyError(f"rows: {tag} is not a row of {ROWS}")
    return fitting


def _statement(line: dict[str, str]) -> Statement:
    columns = [column.name for column in fields(Statement)]
    if None in line or None in line.values() or sorted(line) != sorted(columns):
        raise StudyError(f"lacks the columns {', '.join(columns)}")
    if line["kind"] not in KINDS:
        raise StudyError(f"kind: {line['kind']!r} is none of {', '.join(KINDS)}")
    if not line["count"].isdecimal() or int(line["count"]) < 1:
        raise StudyError(f"count: {line['count']!r} is not a number from 1 on")
    if not line["id"] or not line["statement"]:
        raise StudyError("a statement needs an id and words")
    rows = line["rows"].split()
    if bool(rows) == bool(line["reason"]):
        raise StudyError(f"{line['id']}: needs rows or a reason, and not both")
    return Statement(**{**line, "count": int(line["count"]), "rows": rows})  # type: ignore[arg-type]
