"""Tables of the native analysis as plain Python values, without any library: commands start quickly.

A table comes as columns: a name to a type and little-endian bytes. Types are numpy's, with a question mark
where a marker stands for no value; `dict:` and a JSON list of names, indexed by bytes; `utf8-json`.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

RawTable: TypeAlias = Mapping[str, tuple[str, bytes]]
"""Columns as the native module gives them."""

Row: TypeAlias = dict[str, Any]
"""A row: column to value, None for no value."""

NAMES = "dict:"
TEXTS = "utf8-json"


def height(table: RawTable) -> int:
    """Number of rows. The first column of every table is of fixed size."""
    kind, data = next(iter(table.values()))
    return len(data) // _SIZES[kind]


def values(table: RawTable, name: str, at: Sequence[int] | None = None) -> list[Any]:
    """The values of a column, None for no value; all, or those of the rows `at`."""
    kind, data = table[name]
    if kind == TEXTS:
        texts: list[Any] = json.loads(data) or [None] * height(table)
        return texts if at is None else [texts[row] for row in at]
    if kind.startswith(NAMES):
        names = json.loads(kind.removeprefix(NAMES))
        return [names[code] for code in _chosen(data, at)]
    if kind == "|b1":
        return [bool(value) for value in _chosen(data, at)]
    plain = kind.removesuffix("?")
    numbers = array(_CODES[plain], data)
    if sys.byteorder == "big":
        numbers.byteswap()
    found = _chosen(numbers, at)
    if plain == kind:
        return list(found)
    if plain == "<f8":
        return [None if value != value else value for value in found]
    nothing = _NOTHING[plain]
    return [None if value == nothing else value for value in found]


def rows(table: RawTable, at: Sequence[int] | None = None) -> Iterator[Row]:
    """The rows one after another; all, or those `at`."""
    names = list(table)
    columns = [values(table, name, at) for name in names]
    for row in zip(*columns, strict=True):
        yield dict(zip(names, row, strict=True))


def _chosen(data: Sequence[Any], at: Sequence[int] | None) -> Iterable[Any]:
    return data if at is None else [data[row] for row in at]


_CODES = {"u1": "B", "<u2": "H", "<u4": "I", "<u8": "Q", "<i8": "q", "<f8": "d"}
_SIZES = {"|b1": 1, "u1": 1, "<u2": 2, "<u4": 4, "<u8": 8, "<i8": 8}
_NOTHING = {"<u8": 2**64 - 1, "<i8": -(2**63)}
