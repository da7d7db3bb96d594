"""Tables of the native analysis as Arrow, and files of them that are written as rows come."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from rexmit.analyse.captures import schema
from rexmit.analyse.rows import NAMES, TEXTS, RawTable, height
from rexmit.errors import StoreError
from rexmit.files import Pending, make_folder, remove_files, store_error

FORMATS = ("parquet", "csv")
_LEFT = re.compile(r"\w+\.(parquet|csv)(\.[0-9a-f]{16})?\.tmp")


def to_batch(table: RawTable, fields: pa.Schema) -> pa.RecordBatch:
    """The rows as Arrow. Texts of few names are dictionaries, what has no value is null."""
    rows = height(table)
    arrays = [_array(kind, data, rows) for kind, data in table.values()]
    return pa.RecordBatch.from_arrays(arrays, schema=fields)


def schemas() -> dict[str, pa.Schema]:
    """The Arrow schema of every table; each field says in its metadata what it means."""
    return {
        name: pa.schema(
            [
                pa.field(column["name"], _type(column["type"]), metadata={"meaning": column["meaning"]})
                for column in columns
            ]
        )
        for name, columns in schema().items()
    }


class _Writer(Protocol):
    def write_batch(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> None: ...


class TableFiles:
    """Tables written to a folder, `NAME.parquet` or `NAME.csv` each, as their rows come.

    Used as a context. Files get their names when the block ends well; what stood there before stays until
    then, and stays for good where it does not. Raises StoreError of one line for a full disk and the like.
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
        # What a run that was killed has left in the folder; nothing else is called so.
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


def _type(kind: str) -> pa.DataType:
    if kind.startswith(NAMES):
        return pa.dictionary(pa.int8(), pa.string())
    return _TYPES[kind.removesuffix("?")]


def _array(kind: str, data: bytes, rows: int) -> pa.Array:
    if kind == TEXTS:
        texts = json.loads(data)
        return pa.nulls(rows, pa.string()) if texts is None else pa.array(texts, type=pa.string())
    if kind.startswith(NAMES):
        codes = pa.array(np.frombuffer(data, dtype=np.int8))
        return pa.DictionaryArray.from_arrays(codes, pa.array(json.loads(kind.removeprefix(NAMES))))
    if kind == "|b1":
        return pa.array(np.frombuffer(data, dtype=np.bool_))
    plain = kind.removesuffix("?")
    # No number is too large for 63 bits, and differences of signed numbers may be negative.
    values = np.frombuffer(data, dtype=np.dtype("<i8" if plain == "<u8" else plain))
    if plain == kind:
        return pa.array(values)
    nothing = np.isnan(values) if plain == "<f8" else values == _NOTHING[plain]
    return pa.array(values, mask=nothing)


def _plain_schema(fields: pa.Schema) -> pa.Schema:
    """Names as texts: CSV has no dictionaries."""
    return pa.schema([(field.name, _plain_type(field.type)) for field in fields])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if pa.types.is_dictionary(kind) else kind


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    arrays: list[Any] = [column.cast(_plain_type(column.type)) for column in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=_plain_schema(batch.schema))


_TYPES = {
    "|b1": pa.bool_(),
    "u1": pa.uint8(),
    "<u2": pa.uint16(),
    "<u4": pa.uint32(),
    "<u8": pa.int64(),
    "<i8": pa.int64(),
    "<f8": pa.float64(),
    TEXTS: pa.string(),
}
_NOTHING = {"<u8": -1, "<i8": -(2**63)}
"""Marks of no value, as signed numbers."""
