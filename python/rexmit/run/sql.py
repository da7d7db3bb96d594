"""Questions in SQL over results folders, answered by a process of its own (`sql_engine.py`)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from rexmit.files import create
from rexmit.run.details import DETAILS
from rexmit.run.results import Results
from rexmit.run.sql_process import EngineProcess
from rexmit.run.sql_tables import Source, folder_source, memory_source

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Column:
    """A column of a table: its name, its type in SQL and what it means."""

    name: str
    kind: str
    meaning: str


@dataclass(frozen=True)
class Table:
    """A table that a query can name."""

    name: str
    about: str
    rows: int
    columns: tuple[Column, ...]


class Database:
    """The tables of results folders, to be asked one question. Use it in a `with` block.

    Of several folders each table has the rows of all, with a column `folder` in front. `process` answers
    if it is given, else one that is started here.
    """

    def __init__(self, sources: Sequence[Source], process: EngineProcess | None = None) -> None:
        self._sources = sources
        self._stack = ExitStack()
        self._given = process

    def __enter__(self) -> Database:
        self._process = self._given or self._stack.enter_context(EngineProcess())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def query(self, text: str) -> pa.RecordBatchReader:
        """The answer, batch by batch.

        Raises UsageError for a query that cannot be answered; so do the batches.
        """
        answer = self._ask(text)
        return pa.RecordBatchReader.from_batches(answer.schema, self._batches(answer))

    def tables(self) -> list[Table]:
        """What there is to ask for, in the order in which a reader meets it."""
        found: dict[str, Table] = {}
        answer = self._ask(None)
        for row in pa.Table.from_batches(self._batches(answer), answer.schema).to_pylist():
            column = Column(row["name"], row["kind"], row["meaning"])
            so_far = found.get(row["table"])
            before = so_far.columns if so_far else ()
            found[row["table"]] = Table(row["table"], row["about"], row["rows"], (*before, column))
        return list(found.values())

    def _ask(self, text: str | None) -> pa.RecordBatchReader:
        question = {"sources": [self._told(source) for source in self._sources], "query": text}
        try:
            return pa.ipc.open_stream(self._process.ask(question))
        except (pa.ArrowInvalid, BrokenPipeError):
            raise self._process.wrong() from None

    def _told(self, source: Source) -> dict[str, Any]:
        """A source as the other process finds it."""
        if source.folder is not None:
            return {"folder": str(source.folder)}
        names = []
        for name, table in source.tables.items():
            if not isinstance(table.data, pa.Table) or name == "factors":
                continue  # the study has these
            with create(self._process.folder / f"{name}.arrow") as file:
                _write_arrow(file, table.data)
            names.append(name)
        return {"name": source.name, "tables": names, "study": source.study}

    def _batches(self, answer: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        try:
            yield from answer
        except (pa.ArrowException, OSError):
            raise self._process.wrong() from None
        if self._process.failed():
            raise self._process.wrong()


def ask(results: Results, text: str) -> pl.DataFrame:
    """The whole answer to a query over the tables of results. Raises UsageError where there is none."""
    import polars as pl

    if results.folder is not None:
        source = folder_source(results.folder)
    else:
        tables = {"runs": results.arrow()} | {d.name: results.detail(d) for d in DETAILS}
        source = memory_source(results.name, tables, results.study)
    with Database([source]) as database:
        answer = database.query(text).read_all()
        frame = pl.from_arrow(answer.rename_columns(distinct(answer.column_names)))
    assert isinstance(frame, pl.DataFrame)
    return frame


def distinct(names: Sequence[str]) -> list[str]:
    """The names, with `_1`, `_2` appended to those that came before: the columns of a join may share one."""
    found: list[str] = []
    for name in names:
        free = (f"{name}_{count}" if count else name for count in itertools.count())
        found.append(next(one for one in free if one not in found and (one == name or one not in names)))
    return found


def _write_arrow(file: IO[bytes], table: pa.Table) -> None:
    with pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
