"""Questions in SQL over results folders: their tables as views of DuckDB.

A query sees the tables and nothing else: files are opened here and given to DuckDB as Arrow data sets, and
its own access to files, and its settings, are closed before the query runs. Rows come back in batches.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType

import duckdb
import polars as pl
import pyarrow as pa

from rexmit.errors import UsageError, one_line
from rexmit.run.details import DETAILS
from rexmit.run.results import Results
from rexmit.run.sql_tables import ABOUT, Source, Sourced, folder_source, memory_source

MEMORY = "512MiB"
"""Of DuckDB. What it sorts or joins beyond that goes to a temporary folder."""

ROWS = 1 << 14
"""Of a batch."""

COLUMNS = {
    "table_name": "name of the table",
    "column_name": "name of the column; one with a dot is written in double quotes",
    "column_type": "its type in SQL",
    "meaning": "what it holds, with the unit",
}


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
    """The tables of results folders, to be asked. Use it in a `with` block.

    Of several folders each table has the rows of all, with a column `folder` in front.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._spill = tempfile.TemporaryDirectory(prefix="rexmit-sql-", ignore_cleanup_errors=True)
        self._connection = duckdb.connect(
            config={
                "enable_external_access": "false",
                "python_enable_replacements": "false",
                "memory_limit": MEMORY,
                "temp_directory": self._spill.name,
            }
        )
        # It would be drawn into the answer.
        self._connection.execute("SET enable_progress_bar = false")
        self._meanings: dict[str, dict[str, str]] = {}
        self._fill(sources)
        self._tables = {name: self._columns(name) for name in self._meanings}
        self._add_columns()
        self._connection.execute("SET lock_configuration = true")

    def __enter__(self) -> Database:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._spill.cleanup()

    def query(self, text: str) -> pa.RecordBatchReader:
        """The answer, batch by batch. Raises UsageError of one line for a query that cannot be answered."""
        try:
            _check_is_question(text)
            answer = self._connection.sql(text)
            if answer is None:
                raise UsageError("the query gives no table; begin it with SELECT")
            return answer.to_arrow_reader(ROWS)
        except duckdb.Error as error:
            raise self._wrong(error, text) from None

    def tables(self) -> list[Table]:
        """What there is to ask for, in the order in which a reader meets it."""
        found = []
        for name, columns in self._tables.items():
            ((rows,),) = self._connection.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchall()
            found.append(Table(name, ABOUT.get(name, ""), int(rows), columns))
        return found

    def _fill(self, sources: Sequence[Source]) -> None:
        several = len(sources) > 1
        selects: dict[str, list[str]] = {}
        for number, source in enumerate(sources):
            for name, table in source.tables.items():
                select = self._select(f"_{number}_{name}", table)
                if several:
                    select = f"SELECT {_literal(source.name)} AS folder, * FROM ({select})"
                selects.setdefault(name, []).append(select)
                first = {"folder": "the folder, as it was named"} if several else {}
                self._meanings.setdefault(name, first).update(table.meanings)
        for name, parts in selects.items():
            self._connection.execute(f"CREATE VIEW {_quoted(name)} AS {' UNION ALL BY NAME '.join(parts)}")

    def _select(self, name: str, table: Sourced) -> str:
        """Gives the data of a table a name, and says how it is asked for."""
        self._connection.register(name, table.data)
        if not table.levels:
            return f"SELECT * FROM {_quoted(name)}"
        columns, joins = ["own.run", "own.replication"], ""
        for number, levels in enumerate(table.levels):
            inner = f"_levels_{number}"
            self._connection.register(f"{name}{inner}", levels.table)
            columns.append(f"{inner}.* EXCLUDE (level)")
            joins += (
                f" JOIN {_quoted(name + inner)} AS {inner}"
                f" ON {inner}.level = own.run // {levels.divisor} % {levels.table.num_rows}"
            )
        columns.append("own.* EXCLUDE (run, replication)")
        return f"SELECT {', '.join(columns)} FROM {_quoted(name)} AS own{joins}"

    def _columns(self, name: str) -> tuple[Column, ...]:
        told = self._connection.execute(f"DESCRIBE {_quoted(name)}").fetchall()
        meanings = self._meanings[name]
        return tuple(Column(column, kind, meanings.get(column, "")) for column, kind, *_ in told)

    def _add_columns(self) -> None:
        """The table `columns`, which has itself in it."""
        name = "columns"
        if name in self._tables:
            return
        self._tables[name] = tuple(Column(column, "VARCHAR", text) for column, text in COLUMNS.items())
        rows = [
            dict(zip(COLUMNS, (table, column.name, column.kind, column.meaning), strict=True))
            for table, columns in self._tables.items()
            for column in columns
        ]
        kinds = pa.schema([(column, pa.string()) for column in COLUMNS])
        self._connection.register(name, pa.Table.from_pylist(rows, schema=kinds))

    def _wrong(self, error: duckdb.Error, text: str) -> UsageError:
        """The error on one line, and what to write instead where a name with a dot has no quotes."""
        told = str(error).split("\n\nLINE ")[0]
        said = one_line(told.removeprefix("Catalog Error: ").removeprefix("Binder Error: ")).rstrip(".")
        known = {column.name for columns in self._tables.values() for column in columns}
        dotted = [name for name in sorted(known, key=len, reverse=True) if "." in name and name in text]
        bare = [name for name in dotted if f'"{name}"' not in text]
        if bare and isinstance(error, duckdb.BinderException | duckdb.CatalogException):
            said += f'; a name with a dot needs double quotes: "{bare[0]}"'
        return UsageError(f"query: {said}")


def ask(results: Results, text: str) -> pl.DataFrame:
    """The whole answer to a query over the tables of results. Raises UsageError where there is none."""
    if results.folder is not None:
        source = folder_source(results.folder)
    else:
        tables = {"runs": results.arrow()} | {d.name: results.detail(d) for d in DETAILS}
        source = memory_source(results.name, tables, results.study)
    with Database([source]) as database:
        reader = database.query(text)
        try:
            frame = pl.from_arrow(reader.read_all())
        except (pa.ArrowException, RuntimeError, OSError) as error:
            raise failed(error) from None
    assert isinstance(frame, pl.DataFrame)
    return frame


def failed(error: Exception) -> UsageError:
    """What went wrong while rows came: a value that cannot be converted, no space left for sorting."""
    return UsageError(f"query: {one_line(str(error).split(chr(10) * 2 + 'LINE ')[0]).rstrip('.')}")


def _check_is_question(text: str) -> None:
    """Raises UsageError for what is not one query that only reads."""
    statements = duckdb.extract_statements(text)
    if not statements:
        raise UsageError("the query is empty; write one such as 'select * from runs'")
    if len(statements) > 1:
        raise UsageError(f"{len(statements)} statements: ask one query at a time")
    kind = statements[0].type
    first = text.split(None, 1)[0].lower() if text.split() else ""
    # A PIVOT is several statements, of which the first makes the list of its columns.
    if kind != duckdb.StatementType.SELECT and not (kind == duckdb.StatementType.MULTI and first in _ASKING):
        raise UsageError(
            f"a {kind.name.lower()} statement is no question: results are only read; write a SELECT"
        )


_ASKING = ("from", "pivot", "select", "with")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
