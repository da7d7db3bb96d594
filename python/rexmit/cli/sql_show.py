"""What `rexmit sql` prints and writes: an answer batch by batch, or a list of the tables."""

from __future__ import annotations

import csv
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import click
import pyarrow as pa
import pyarrow.parquet as pq
from rich.table import Table as RichTable

from rexmit.cli.common import console, escaped, warn
from rexmit.errors import UsageError, one_line
from rexmit.files import write_whole
from rexmit.run.sql import Table, distinct

FORMS = (".parquet", ".csv", ".json")
WIDEST = 80
"""Letters of a cell on a terminal."""


def write_answer(answer: pa.RecordBatchReader, path: Path) -> None:
    """Writes an answer into a file, whole or not at all, in the form that its name ends with."""
    writers: dict[str, Callable[[pa.RecordBatchReader, IO[bytes]], None]] = {
        ".parquet": _write_parquet,
        ".csv": partial(_write_text, write=write_csv),
        ".json": partial(_write_text, write=write_json),
    }
    write_whole(path, partial(writers[path.suffix], answer), resumable=False)


def write_csv(answer: pa.RecordBatchReader, file: IO[str]) -> None:
    """Comma-separated values with a line of names; lists and structs as JSON."""
    import polars as pl

    csv.writer(file, lineterminator="\n").writerow(answer.schema.names)
    # Two columns may have one name.
    names = [str(number) for number in range(len(answer.schema))]
    for batch in _batches(answer):
        columns = [
            column if _is_plain(column.type) else pa.array([_nested(value) for value in column.to_pylist()])
            for column in batch.columns
        ]
        frame = pl.DataFrame(pa.RecordBatch.from_arrays(columns, names=names))
        file.write(frame.write_csv(include_header=False))


def write_json(answer: pa.RecordBatchReader, file: IO[str]) -> None:
    """A list with an object for each row; of two columns with one name the second is `name_1`."""
    before = "[\n  "
    names = distinct(answer.schema.names)
    for row in _rows(answer):
        named = dict(zip(names, map(_json_value, row), strict=True))
        file.write(before + escaped(json.dumps(named, ensure_ascii=False)))
        before = ",\n  "
    file.write("[]\n" if before.startswith("[") else "\n]\n")


def show_answer(answer: pa.RecordBatchReader, most: int) -> None:
    """A table for people, of at most so many rows (0: all), and of the columns that fit on the terminal."""
    rows: list[list[str]] = []
    more = False
    for row in _rows(answer):
        if most and len(rows) == most:
            more = True
            break
        rows.append([_cell(value) for value in row])
    names = [one_line(name) for name in answer.schema.names]
    widths = [min(max(map(len, column)), WIDEST) for column in zip(names, *rows, strict=True)]
    shown = _fitting(widths, console().width if sys.stdout.isatty() else None)
    table = RichTable()
    for name, kind in list(zip(names, answer.schema.types, strict=True))[:shown]:
        numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        justify: Literal["right", "left"] = "right" if numbers else "left"
        table.add_column(name, justify=justify, no_wrap=True, max_width=WIDEST)
    for cells in rows:
        table.add_row(*cells[:shown])
    console(_width(widths[:shown])).print(table)
    if shown < len(names):
        left = ", ".join(names[shown:])
        click.echo(f"{len(names) - shown} columns do not fit: {left}; name fewer, or take --csv or --json")
    if more:
        warn(f"only the first {most} rows are shown; --rows 0 shows all, --csv, --json and --out give all")


def show_tables(tables: Sequence[Table]) -> None:
    """The tables, and the columns of each with their meaning."""
    out = console()
    listed = RichTable("table", "rows", "holds")
    listed.columns[1].justify = "right"
    for one in tables:
        listed.add_row(one.name, str(one.rows), one.about)
    out.print(listed)
    for one in tables:
        columns = RichTable("column", "type", "meaning", title=one.name, title_justify="left")
        for column in one.columns:
            columns.add_row(_as_written(column.name), column.kind, one_line(column.meaning))
        out.print(columns)


def tables_json(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """The same for programs."""
    return [
        {
            "table": one.name,
            "rows": one.rows,
            "holds": one.about,
            "columns": [
                {"column": column.name, "type": column.kind, "meaning": column.meaning}
                for column in one.columns
            ],
        }
        for one in tables
    ]


def _batches(answer: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches; what cannot be converted raises UsageError."""
    try:
        yield from answer
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise UsageError(f"query: {one_line(error)}") from None


def _rows(answer: pa.RecordBatchReader) -> Iterator[tuple[Any, ...]]:
    for batch in _batches(answer):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _write_parquet(answer: pa.RecordBatchReader, file: IO[bytes]) -> None:
    try:
        names = distinct(answer.schema.names)
        schema = pa.schema([field.with_name(name) for field, name in zip(answer.schema, names, strict=True)])
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for batch in _batches(answer):
                writer.write_batch(batch.rename_columns(names))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(
            f"query: Parquet does not take a column of it ({one_line(error)}); cast it"
        ) from None


def _write_text(
    answer: pa.RecordBatchReader, file: IO[bytes], write: Callable[[pa.RecordBatchReader, IO[str]], None]
) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8")
    write(answer, text)
    text.detach()


def _is_plain(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_binary(kind))


def _nested(value: Any) -> str | None:
    return None if value is None else json.dumps(_json_value(value), ensure_ascii=False)


def _json_value(value: Any) -> Any:
    """A value as JSON has it: no number is nan there, and a sum of whole numbers is one."""
    if isinstance(value, dict):
        return {str(key): _json_value(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(entry) for entry in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _cell(value: Any) -> str:
    """A value for people: few digits, one line."""
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 or not math.isfinite(value) else f"{value:.0f}"
    if isinstance(value, dict | list):
        return one_line(json.dumps(_json_value(value), ensure_ascii=False))
    return "null" if value is None else one_line(value)


def _as_written(name: str) -> str:
    """A column's name as a query writes it."""
    return one_line(name) if name.isidentifier() else f'"{one_line(name)}"'


def _fitting(widths: Sequence[int], room: int | None) -> int:
    """How many of the columns fit, at least one."""
    fit = [number for number in range(1, len(widths) + 1) if room is None or _width(widths[:number]) <= room]
    return max(fit, default=1)


def _width(widths: Sequence[int]) -> int:
    """The width of a table with lines between columns."""
    return sum(widths) + 3 * len(widths) + 1
