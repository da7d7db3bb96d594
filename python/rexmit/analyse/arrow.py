"""Tables of the native analysis as Arrow, and files of them that are written as rows come."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from rexmit.analyse.rows import RawTable, height
from rexmit.errors import StoreError
from rexmit.files import Pending, make_folder, remove_files, store_error
from rexmit.tables import Column, analysis
from rexmit.tables.arrow import arrow_type, field, values_of

FORMATS = ("parquet", "csv")
_LEFT = re.compile(r"\w+\.(parquet|csv)(\.[0-9a-f]{16})?\.tmp")


def to_batch(table: RawTable, fields: pa.Schema) -> pa.RecordBatch:
    """The rows as Arrow. Columns of few names are dictionaries, a missing value is null."""
    rows = height(table)
    arrays = [_array(kind, data, rows) for kind, data in table.values()]
    return pa.RecordBatch.from_arrays(arrays, schema=fields)


def schemas() -> dict[str, pa.Schema]:
    """The Arrow schema of every table; each field says in its metadata what it means."""
    return {name: pa.schema([_field(one) for one in table.values()]) for name, table in analysis().items()}


def _field(column: Column) -> pa.Field:
    kind = arrow_type(column.type)
    return field(column, pa.int64() if pa.types.is_uint64(kind) else kind)


class _Writer(Protocol):
    def write_batch(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


class TableFiles:
    """Tables written to a folder, `NAME.parquet` or `NAME.csv` each, as their rows come.

    Used as a context. Files get their names when the block ends well; what was there before stays until
    then, or for good if it fails. Raises StoreError of one line for a full disk and the like.
    """

    def __init__(self, folder: Path, names: Sequence[str], form: str = "parquet") -> None:
        self.folder, self.names, self.form = folder, tuple(names), form
        self.files: list[Path] = [folder / f"{name}.{form}" for name in names]
        self._schemas = schemas()
        self._pending: dict[str, Pending] = {}
        self._writers: dict[str, _Writer] = {}
        self._rows = dict.fromkeys(names, 0)

    def __enter__(self) -> TableFiles:
        make_folder(self.folder, resumable=False)
        # What a killed run left in the folder; nothing else has such a name.
        remove_files(self.folder, _LEFT)
        for name, path in zip(self.names, self.files, strict=True):
            try:
                self._pending[name] = Pending(path, resumable=False)
                self._writers[name] = self._open(name, self._pending[name].file)
            except StoreError:
                self._drop()
                raise
            except OSError as error:
                self._drop()
                raise store_error(path, error, resumable=False) from None
        return self

    def write(self, tables: Mapping[str, RawTable]) -> None:
        """Appends rows."""
        for name, path in zip(self.names, self.files, strict=True):
            if height(tables[name]):
                batch = to_batch(tables[name], self._schemas[name])
                try:
                    self._writers[name].write_batch(_plain(batch) if self.form == "csv" else batch)
                except OSError as error:
                    raise store_error(path, error, resumable=False) from None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._drop()
            return
        for name, path in zip(self.names, self.files, strict=True):
            try:
                self._writers[name].close()
                self._pending[name].flush()
            except OSError as problem:
                self._drop()
                raise store_error(path, problem, resumable=False) from None
        for name, path in zip(self.names, self.files, strict=True):
            try:
                self._pending[name].keep()
            except OSError as problem:
                self._drop()
                raise store_error(path, problem, resumable=False) from None

    def _open(self, name: str, file: IO[bytes]) -> _Writer:
        fields = self._schemas[name]
        writer: _Writer
        if self.form == "csv":
            writer = pyarrow.csv.CSVWriter(file, _plain_schema(fields))
        else:
            writer = pyarrow.parquet.ParquetWriter(file, fields, compression="zstd")
        return writer

    def _drop(self) -> None:
        for writer in self._writers.values():
            with contextlib.suppress(OSError):
                writer.close()
        for pending in self._pending.values():
            pending.drop()


def _array(kind: str, data: bytes, rows: int) -> pa.Array:
    array = values_of(kind, data, rows)
    # No number is too large for 63 bits, and differences of signed numbers may be negative.
    return array.cast(pa.int64()) if pa.types.is_uint64(array.type) else array


def _plain_schema(fields: pa.Schema) -> pa.Schema:
    """Names as texts: CSV has no dictionaries."""
    return pa.schema([(field.name, _plain_type(field.type)) for field in fields])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_dictionary(kind) else kind


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays: list[Any] = [column.cast(_plain_type(column.type)) for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=_plain_schema(batch.schema))
