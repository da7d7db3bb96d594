"""Columns as Arrow: types, fields that say what they mean, and values as the native code gives them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rexmit.tables.described import NAMES, TEXT, Column, Columns, in_words


def field(column: Column, kind: pa.DataType | None = None) -> pa.Field:
    """The column as a field of a schema. Its metadata say what it means."""
    return pa.field(column.name, kind or arrow_type(column.type), metadata=column.metadata())


def schema_of(columns: Iterable[Column]) -> pa.Schema:
    """The schema of a table."""
    return pa.schema([field(column) for column in columns])


def words_of(one: pa.Field) -> str:
    """What the field of a file says that it holds, in one line; empty where it says nothing."""
    told = {key.decode(): text.decode(errors="replace") for key, text in (one.metadata or {}).items()}
    return in_words(told["meaning"], told.get("unit"), told.get("null")) if "meaning" in told else ""


def arrow_type(kind: str) -> pa.DataType:
    """The type of values of this native type."""
    if kind.startswith(NAMES):
        return pa.dictionary(pa.int8(), pa.string())
    return _TYPES[kind.removesuffix("?")]


def from_native(table: Mapping[str, tuple[str, bytes]], columns: Columns) -> pa.Table:
    """A table of the native code as Arrow, null where there is no value."""
    rows = _height(table)
    arrays = [values_of(kind, data, rows) for kind, data in table.values()]
    fields = [field(columns[name], array.type) for name, array in zip(table, arrays, strict=True)]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def from_lists(table: Mapping[str, Sequence[Any]], columns: Columns) -> pa.Table:
    """A table of columns that an agent answers as lists, in whatever order."""
    schema = schema_of(column for name, column in columns.items() if name in table)
    arrays = [pa.array(table[one.name], type=one.type) for one in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def values_of(kind: str, data: bytes, rows: int) -> pa.Array:
    """The values of a column of so many rows."""
    if kind == TEXT:
        texts = json.loads(data)
        return pa.nulls(rows, pa.string()) if texts is None else pa.array(texts, type=pa.string())
    if kind.startswith(NAMES):
        codes = pa.array(np.frombuffer(data, dtype=np.int8))
        return pa.DictionaryArray.from_arrays(codes, pa.array(json.loads(kind.removeprefix(NAMES))))
    if kind == "|b1":
        return pa.array(np.frombuffer(data, dtype=np.bool_))
    plain = kind.removesuffix("?")
    values = np.frombuffer(data, dtype=np.dtype(plain))
    if plain == kind:
        return pa.array(values)
    return pa.array(values, mask=np.isnan(values) if plain == "<f8" else values == NOTHING[plain])


def _height(table: Mapping[str, tuple[str, bytes]]) -> int:
    """Number of rows. The first column of every table is of numbers."""
    kind, data = next(iter(table.values()))
    return len(data) // np.dtype(kind.removesuffix("?")).itemsize


NOTHING = {"<u8": 2**64 - 1, "<i8": -(2**63)}
"""How the native code writes that there is no value."""

_TYPES = {
    "|b1": pa.bool_(),
    "u1": pa.uint8(),
    "<u2": pa.uint16(),
    "<u4": pa.uint32(),
    "<u8": pa.uint64(),
    "<i8": pa.int64(),
    "<f8": pa.float64(),
    TEXT: pa.string(),
}
