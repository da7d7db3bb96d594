"""Columns of the native code as Arrow tables, and factor columns beside them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from rexmit.run.meanings import RUN, RUNS, Meanings, of_factor
from rexmit.study import Design
from rexmit.study.factors import Factor
from rexmit.units import UNIT_NAMES, as_numbers

SEED_COLUMNS = ("seed", "seed_replication")
"""What tells the runs of merged results apart, where one seed and the replication do not."""

JSON_COLUMN = "utf8-json"
"""Type name of a column that comes as a JSON list of texts and nulls."""

FIRST_RESPONSE = "completed"
"""With this column the responses of a run begin."""
KNOWN_COLUMN = "<i8-known"
"""Type name of a column of whole numbers of which those below zero stand for nothing."""


def from_native(columns: Mapping[str, tuple[str, bytes]], meanings: Meanings = RUNS) -> pa.Table:
    """An Arrow table of the columns that the native code returns: numpy's type name and raw bytes."""
    arrays, fields = [], []
    for name, (kind, data) in columns.items():
        if kind == JSON_COLUMN:
            array = pa.array(json.loads(data), type=pa.string())
        elif kind == KNOWN_COLUMN:
            numbers = np.frombuffer(data, dtype="<i8")
            array = pa.array(numbers, mask=numbers < 0).cast(pa.uint64())
        elif kind == "<f8":
            array = pa.array(np.frombuffer(data, dtype=kind), from_pandas=True)
        else:
            array = pa.array(np.frombuffer(data, dtype=np.dtype(kind)))
        if name == "completed":
            array = array.cast(pa.bool_())
        arrays.append(array)
        fields.append(_field(name, array.type, meanings.get(name)))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def table_of(columns: Mapping[str, list[Any]], meanings: Meanings) -> pa.Table:
    """An Arrow table of columns that an agent answers as lists, typed as :func:`from_native` types them."""
    arrays = [pa.array(values, type=_listed_type(name, values)) for name, values in columns.items()]
    pairs = zip(columns, arrays, strict=True)
    fields = [_field(name, array.type, meanings.get(name)) for name, array in pairs]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def _listed_type(name: str, values: list[Any]) -> pa.DataType:
    first = next((value for value in values if value is not None), None)
    if isinstance(first, bool):
        return pa.bool_()
    if isinstance(first, str) or first is None:
        return pa.string()
    return pa.uint32() if name == "connection" else pa.uint64()


class FactorColumns:
    """The columns of a design's factors, made once and then taken for any of its runs."""

    def __init__(self, design: Design) -> None:
        self._columns: list[tuple[pa.Table, int, int]] = []
        repeat = design.runs
        for factor in design.factors:
            repeat //= len(factor.levels)
            self._columns.append((level_table(factor).combine_chunks(), repeat, len(factor.levels)))

    def beside(self, responses: pa.Table, first: int) -> pa.Table:
        """The table of successive runs from `first`: run and replication, the factors, then the responses.

        A factor's column has its dotted name and its levels as written; where they are rates or times, a
        second column `NAME_bit_s` or `NAME_ns` has them as whole numbers.
        """
        runs = np.arange(first, first + responses.num_rows, dtype=np.int64)
        if not np.array_equal(responses.column("run").to_numpy(), runs):
            raise ValueError("the runs are not all there in order")
        arrays = [responses.column("run"), responses.column("replication")]
        fields = [_field(name, array.type, RUNS[name]) for name, array in zip(RUN, arrays, strict=True)]
        for levels, repeat, count in self._columns:
            indices = pa.array((runs // repeat) % count)
            arrays += [column.combine_chunks().take(indices) for column in levels.columns]
            fields += list(levels.schema)
        for name in responses.column_names:
            if name not in RUN:
                arrays.append(responses.column(name))
                fields.append(_field(name, arrays[-1].type, RUNS.get(name)))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields)).combine_chunks()


def with_factors(responses: pa.Table, design: Design, first: int = 0) -> pa.Table:
    """The table of successive runs of a study, `responses`, with the columns of its factors."""
    return FactorColumns(design).beside(responses, first)


def level_table(factor: Factor) -> pa.Table:
    """The columns of a factor in the table of a study, with a row for each of its levels."""
    columns = _factor_columns(factor.name, factor.labels)
    for setting in factor.settings:
        columns += _factor_columns(setting, factor.columns_of(setting))
    fields = [_field(name, values.type, meaning) for name, values, meaning in columns]
    return pa.Table.from_arrays([values for _, values, _ in columns], schema=pa.schema(fields))


def design_columns(columns: Sequence[str]) -> list[str]:
    """Of the columns of a study's table those that say which run it is: all before the responses.

    None where there are no responses, as in a table that was put together otherwise.
    """
    return list(columns[: columns.index(FIRST_RESPONSE)]) if FIRST_RESPONSE in columns else []


def factor_columns(name: str) -> tuple[str, ...]:
    """The names that a factor's columns may have."""
    return (name, *(f"{name}_{unit}" for unit in UNIT_NAMES))


def _factor_columns(
    name: str, labels: tuple[str | int | float | bool, ...]
) -> list[tuple[str, pa.Array, str]]:
    if len({type(label) for label in labels}) > 1 and not all(_is_number(label) for label in labels):
        labels = tuple(str(label) for label in labels)
    columns = [(name, pa.array(labels), of_factor(name, name))]
    numbers = as_numbers(labels)
    if numbers is not None:
        unit, values = numbers
        column = f"{name}_{unit}"
        columns.append((column, pa.array(values, type=pa.int64()), of_factor(column, name)))
    return columns


def _is_number(label: object) -> bool:
    return isinstance(label, int | float) and not isinstance(label, bool)


def _field(name: str, kind: pa.DataType, meaning: str | None) -> pa.Field:
    return pa.field(name, kind, metadata={"meaning": meaning} if meaning else None)
