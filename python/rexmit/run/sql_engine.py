"""What answers questions in SQL: DuckDB over the tables of results folders, in a process of its own.

`sql_main.py` starts it. It reads what is asked as a line of JSON on standard input and writes the answer as
an Arrow stream to standard output. What is wrong is a line in the file `wrong` in its folder.

A query sees the tables and nothing else: files are opened here and given to DuckDB as Arrow data sets, and
its own access to files, and its settings, are closed before the query runs. The process may take a fixed
amount of memory and no more, whatever a query does, and may be killed at any moment.
"""

from __future__ import annotations

import difflib
import json
import re
import resource
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from rexmit.errors import RexmitError, UsageError, one_line
from rexmit.files import make_folder, put
from rexmit.run.details import DETAILS
from rexmit.run.sql_process import MEMORY, WRONG, too_large
from rexmit.run.sql_tables import Source, Sourced, folder_source, memory_source
from rexmit.tables import single_kinds

SORTING = 512 << 20
"""Bytes that DuckDB plans with. What it sorts or joins beyond that goes to a temporary folder."""

ROWS = 1 << 14
"""Rows of a batch."""

COLUMNS = {
    "table_name": "name of the table",
    "column_name": "name of the column; one with a dot is written in double quotes",
    "column_type": "its type in SQL",
    "meaning": "what it holds, with the unit, and what null stands for",
}


def answer(folder: Path) -> int:
    """Answers one question; its result is the exit code."""
    try:
        asked = json.loads(sys.stdin.readline())
        sources = [_source(source, folder) for source in asked["sources"]]
        spill = folder / "spill"
        make_folder(spill)
        _limit_memory()
        engine = Engine(sources, spill)
        batches = engine.tables() if asked["query"] is None else engine.query(asked["query"])
        _write(batches)
    except RexmitError as error:
        return _tell(folder, str(error), error.exit_code)
    except (MemoryError, pa.ArrowMemoryError, duckdb.OutOfMemoryException) as error:
        return _tell(folder, too_large(_first(error)), UsageError.exit_code)
    except BrokenPipeError:
        return 0  # nobody wants the rest
    except (duckdb.Error, pa.ArrowException, OSError, RuntimeError, ValueError) as error:
        return _tell(folder, f"query: {_first(error)}", UsageError.exit_code)
    return 0


def _tell(folder: Path, text: str, code: int) -> int:
    put(folder / WRONG, f"{code}{one_line(text)}")
    return code


def _first(error: object) -> str:
    """What DuckDB says, without its picture of the query and its advice to change settings."""
    return one_line(re.split(r"\n+(?:LINE |Possible solutions)", str(error))[0]).rstrip(".")


def _source(told: Mapping[str, Any], folder: Path) -> Source:
    if "folder" in told:
        return folder_source(Path(told["folder"]))
    tables = {}
    for name in told["tables"]:
        with pa.ipc.open_file(pa.memory_map(str(folder / f"{name}.arrow"))) as file:
            tables[name] = file.read_all()
    return memory_source(told["name"], tables, told["study"])


def _limit_memory() -> None:
    """Limits what this process can still take: memory of its own that it may write to."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"^VmData:\s+(\d+) kB$", status, re.MULTILINE)
    now = int(found[1]) << 10 if found else 0
    most = now + MEMORY
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _write(batches: pa.RecordBatchReader) -> None:
    with pa.PythonFile(sys.stdout.buffer, "w") as file, pa.ipc.new_stream(file, batches.schema) as writer:
        for batch in batches:
            _check_text(batch)
            writer.write_batch(batch)


def _check_text(batch: pa.RecordBatch) -> None:
    """Raises UsageError for invalid text: a file may hold any bytes under that name."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as error:
            raise UsageError(f"query: column {name!r}: {one_line(error)}; leave it out") from None


class Engine:
    """The tables of results folders, to be asked.

    Of several folders each table has the rows of all, with a column `folder` in front. What does not fit into
    memory goes to the folder `spill`.
    """

    def __init__(self, sources: Sequence[Source], spill: Path) -> None:
        self._connection = duckdb.connect(
            config={
                "enable_external_access": "false",
                "python_enable_replacements": "false",
                "memory_limit": f"{SORTING >> 20}MiB",
                "temp_directory": str(spill),
            }
        )
        # The bar would be drawn into the answer.
        self._connection.execute("SET enable_progress_bar = false")
        self._meanings: dict[str, dict[str, str]] = {}
        self._fill(sources)
        self._tables = {name: self._columns(name) for name in self._meanings}
        self._add_columns()
        self._connection.execute("SET lock_configuration = true")

    def query(self, text: str) -> pa.RecordBatchReader:
        """The answer, batch by batch. Raises UsageError for a query that cannot be answered."""
        try:
            _check_is_question(text)
            answer = self._connection.sql(text)
            if answer is None:
                raise UsageError("the query gives no table; begin it with SELECT")
            return answer.to_arrow_reader(ROWS)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error as error:
            raise self._wrong(error, text) from None

    def tables(self) -> pa.RecordBatchReader:
        """What there is to ask for, in the order in which a reader meets it: one row per column."""
        rows = []
        for name, columns in self._tables.items():
            ((count,),) = self._connection.execute(f"SELECT count(*) FROM {_quoted(name)}").fetchall()
            rows += [(name, self._about.get(name, ""), int(count), *column) for column in columns]
        kinds = [pa.string(), pa.string(), pa.int64(), *[pa.string()] * 3]
        schema = pa.schema(
            list(zip(("table", "about", "rows", "name", "kind", "meaning"), kinds, strict=True))
        )
        columns_of = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in kinds]
        return pa.table(columns_of, schema=schema).to_reader()

    def _fill(self, sources: Sequence[Source]) -> None:
        several = len(sources) > 1
        _check_names(sources)
        self._about = {name: words for source in sources for name, words in source.about.items()}
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

    def _columns(self, name: str) -> tuple[_Column, ...]:
        told = self._connection.execute(f"DESCRIBE {_quoted(name)}").fetchall()
        meanings = self._meanings[name]
        return tuple((column, kind, meanings.get(column, "")) for column, kind, *_ in told)

    def _there(self, table: str) -> str:
        """What there is instead of a table, and how to get it where it is one that was not kept."""
        near = difflib.get_close_matches(table.lower(), self._tables, n=1)
        if near:
            return f'Did you mean "{near[0]}"'
        hints = {kind: f"`rexmit run --{kind} all` keeps {kind} of all runs" for kind in single_kinds()}
        hints |= {detail.name: f"a scenario with {detail.hint} gives it" for detail in DETAILS}
        hint = hints.get(table.lower())
        return f"There are: {', '.join(self._tables)}" + (f"; {hint}" if hint else "")

    def _add_columns(self) -> None:
        """The table `columns`, which has itself in it."""
        name = "columns"
        if name in self._tables:
            return
        self._tables[name] = tuple((column, "VARCHAR", text) for column, text in COLUMNS.items())
        rows = [
            dict(zip(COLUMNS, (table, *column), strict=True))
            for table, columns in self._tables.items()
            for column in columns
        ]
        kinds = pa.schema([(column, pa.string()) for column in COLUMNS])
        self._connection.register(name, pa.Table.from_pylist(rows, schema=kinds))

    def _wrong(self, error: duckdb.Error, text: str) -> UsageError:
        """The error on one line, and what to write instead where a name with a dot has no quotes."""
        said = _first(error).removeprefix("Catalog Error: ").removeprefix("Binder Error: ")
        missing = re.match(r"Table with name (\S+) does not exist!", said)
        if missing is not None:
            return UsageError(f"query: {missing[0]} {self._there(missing[1])}")
        known = {column[0] for columns in self._tables.values() for column in columns}
        dotted = [name for name in sorted(known, key=len, reverse=True) if "." in name and name in text]
        bare = [name for name in dotted if f'"{name}"' not in text]
        if bare and isinstance(error, duckdb.BinderException | duckdb.CatalogException):
            said += f'; a name with a dot needs double quotes: "{bare[0]}"'
        return UsageError(f"query: {said}")


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
        raise UsageError(f"{kind.name} statements are refused: results can only be read; write a SELECT")


_ASKING = ("from", "pivot", "select", "with")


_Column = tuple[str, str, str]
"""Name, type in SQL, meaning."""


def _check_names(sources: Sequence[Source]) -> None:
    """Raises UsageError where SQL would not tell two names apart."""
    for source in sources:
        seen: dict[str, str] = {}
        for name, table in source.tables.items():
            if (other := seen.setdefault(name.lower(), name)) != name:
                raise UsageError(
                    f"{source.name}: SQL does not tell the tables {other!r} and {name!r} apart; rename a file"
                )
            own = [column for column in table.data.schema.names if column.lower() == "folder"]
            if own and len(sources) > 1:
                raise UsageError(
                    f"{source.name}: table {name!r} has a column {own[0]!r}, the name of the column that "
                    "tells several folders apart; ask this folder by itself"
                )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
