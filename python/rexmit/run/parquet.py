"""Tables written row group by row group: the same rows give the same bytes, in whatever pieces they come."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_A_GROUP = 1 << 16

LARGEST_GROUP = 64 << 20
"""Bytes in memory after which a group of a part ends early: rows with much nested in them."""


class GroupWriter:
    """Writes a Parquet file from tables that come one after another, holding one row group in memory.

    Use it as a context. Groups have `ROWS_A_GROUP` rows, wherever a table ends; with `by_bytes` a group of
    large rows may be smaller.
    """

    def __init__(self, path: Path, schema: pa.Schema, by_bytes: bool = False) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression="zstd", version="2.6")
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
