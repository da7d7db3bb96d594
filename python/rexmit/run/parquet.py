"""Tables written row group by row group, whose rows give the same bytes in whatever pieces; tables read.

Every Parquet file is opened here to be read: by its name alone it could be a pipe, and its few bytes may
stand for any number of rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from rexmit.inputs import TABLE, Kind, check_file

ROWS_A_GROUP = 1 << 16

LARGEST_GROUP = 64 << 20
"""Bytes in memory after which a group of a part ends early: for rows with much nested in them."""


def table_schema(path: Path, kind: Kind = TABLE) -> pa.Schema:
    """The columns of a Parquet file. Raises the kind's error where it is not a regular file, and Arrow's."""
    check_file(path, kind)
    with _in_utf8():
        return _checked(pq.read_schema(path))


def table_metadata(path: Path, kind: Kind = TABLE) -> pq.FileMetaData:
    """What the end of a Parquet file says of it. Raises as `table_schema` does."""
    check_file(path, kind)
    with _in_utf8():
        return pq.read_metadata(path)


def table_file(path: Path, kind: Kind = TABLE) -> pq.ParquetFile:
    """A Parquet file to be read piece by piece, a context. Raises as `table_schema` does."""
    check_file(path, kind)
    with _in_utf8():
        file = pq.ParquetFile(path)
        _checked(file.schema_arrow)
        return file


def whole_table(path: Path, kind: Kind = TABLE) -> pa.Table:
    """All of a Parquet file. Raises as `table_schema` does, and where it would not fit into the memory."""
    found = table_metadata(path, kind)
    needed = found.num_rows * max(found.num_columns, 1) * BYTES_A_VALUE
    if needed > _memory() // 2:
        raise kind.error(
            f"{path}: has {found.num_rows:,} rows, which take some {needed / GIB:,.0f} GiB of memory, more "
            "than half of the machine's; query it with rexmit sql, or read it piece by piece"
        )
    with _in_utf8():
        table = pq.read_table(path)
        _checked(table.schema)
        return table


def _checked(schema: pa.Schema) -> pa.Schema:
    """The schema. Raises UnicodeError where words beside a column are not text: Polars panics at them."""
    found = [
        schema.metadata,
        *(field.metadata for column in schema for field in _within(column)),
    ]
    for words in found:
        for key, value in (words or {}).items():
            key.decode()
            value.decode()
    return schema


def _within(field: pa.Field) -> Iterator[pa.Field]:
    yield field
    for number in range(field.type.num_fields):
        yield from _within(field.type.field(number))


@contextmanager
def _in_utf8() -> Iterator[None]:
    """Turns the error for names in a file that are not text into one of Arrow's, like all other damage."""
    try:
        yield
    except UnicodeError:
        raise pa.ArrowInvalid("a name or a description in it is not UTF-8") from None


BYTES_A_VALUE = 8
GIB = 1 << 30


def _memory() -> int:
    """Bytes of memory that the machine has; plenty where it does not say."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 40


class GroupWriter:
    """Writes a Parquet file from tables that come one after another, holding one row group in memory.

    Use it as a context. Groups have `ROWS_A_GROUP` rows, wherever a table ends; with `by_bytes` a group of
    large rows may be smaller.
    """

    def __init__(self, file: IO[bytes], schema: pa.Schema, by_bytes: bool = False) -> None:
        self._writer = pq.ParquetWriter(file, schema, compression="zstd", version="2.6")
        self._schema = schema
        self._by_bytes = by_bytes
        self._held: list[pa.Table] = []
        self._rows = 0
        self._bytes = 0
        self._empty = True

    def __enter__(self) -> GroupWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and (self._rows or self._empty):
                self._write(self._rows)
        finally:
            self._writer.close()

    def add(self, table: pa.Table) -> None:
        """Adds rows; those of whole groups are written."""
        if table.num_rows == 0:
            return
        self._held.append(table)
        self._rows += table.num_rows
        self._bytes += table.nbytes
        while self._rows >= ROWS_A_GROUP:
            self._write(ROWS_A_GROUP)
        if self._by_bytes and self._bytes > LARGEST_GROUP:
            self._write(self._rows)

    def _write(self, rows: int) -> None:
        held = pa.concat_tables(self._held) if self._held else self._schema.empty_table()
        # One piece: where pages begin must not depend on where the pieces did.
        self._writer.write_table(held.slice(0, rows).combine_chunks(), row_group_size=ROWS_A_GROUP)
        left = held.slice(rows)
        self._held = [left] if left.num_rows else []
        self._rows, self._bytes = left.num_rows, left.nbytes
        self._empty = False
