"""The columns of a study's factors, beside those of its runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from rexmit.study import Design
from rexmit.study.factors import Factor
from rexmit.tables import SEEDS, Column, responses, run_columns
from rexmit.tables.arrow import field
from rexmit.units import UNIT_NAMES, as_numbers

SEED_COLUMNS = tuple(SEEDS)
"""What tells the runs of merged results apart, where one seed and the replication do not."""

FIRST_RESPONSE = "completed"
"""The column with which the responses of a run begin."""


class FactorColumns:
    """The columns of a design's factors, made once and then taken for any of its runs."""

    def __init__(self, design: Design) -> None:
        self._columns: list[tuple[pa.Table, int, int]] = []
        repeat = design.runs
        for factor in design.factors:
            repeat //= len(factor.levels)
            self._columns.append((level_table(factor).combine_chunks(), repeat, len(factor.levels)))

    def beside(self, rows: pa.Table, first: int) -> pa.Table:
        """The table of successive runs from `first`: run and replication, the factors, then their responses.

        A factor's column has its dotted name and its levels as written; where they are rates or times, a
        second column `NAME_bit_s` or `NAME_ns` has them as whole numbers.
        """
        runs = np.arange(first, first + rows.num_rows, dtype=np.int64)
        if not np.array_equal(rows.column("run").to_numpy(), runs):
            raise ValueError("the runs are not all there in order")
        which, known = run_columns(), responses()
        arrays = [rows.column(name) for name in which]
        fields = [field(column, array.type) for column, array in zip(which.values(), arrays, strict=True)]
        for levels, repeat, count in self._columns:
            indices = pa.array((runs // repeat) % count)
            arrays += [column.combine_chunks().take(indices) for column in levels.columns]
            fields += list(levels.schema)
        for name in rows.column_names:
            if name not in which:
                arrays.append(rows.column(name))
                kind = arrays[-1].type
                fields.append(field(known[name], kind) if name in known else rows.schema.field(name))
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields)).combine_chunks()


def with_factors(rows: pa.Table, design: Design, first: int = 0) -> pa.Table:
    """The table of successive runs of a study, `rows`, with the columns of its factors."""
    return FactorColumns(design).beside(rows, first)


def level_table(factor: Factor) -> pa.Table:
    """The columns of a factor in the table of a study, with a row for each of its levels."""
    columns = _factor_columns(factor.name, factor.labels)
    for setting in factor.settings:
        columns += _factor_columns(setting, factor.columns_of(setting))
    fields = [field(column, values.type) for column, values in columns]
    return pa.Table.from_arrays([values for _, values in columns], schema=pa.schema(fields))


def design_columns(columns: Sequence[str]) -> list[str]:
    """The columns of a study's table that say which run it is: all before the responses.

    Empty where there are no responses, as in a table that was put together in another way.
    """
    return list(columns[: columns.index(FIRST_RESPONSE)]) if FIRST_RESPONSE in columns else []


def factor_columns(name: str) -> tuple[str, ...]:
    """The names that a factor's columns may have."""
    return (name, *(f"{name}_{unit}" for unit in UNIT_NAMES))


def _factor_columns(name: str, labels: tuple[str | int | float | bool, ...]) -> list[tuple[Column, pa.Array]]:
    if len({type(label) for label in labels}) > 1 and not all(_is_number(label) for label in labels):
        labels = tuple(str(label) for label in labels)
    columns = [(Column(name, "", f"level of {name}, as the study writes it"), pa.array(labels))]
    numbers = as_numbers(labels)
    if numbers is not None:
        unit, values = numbers
        written = "bit/s" if unit == "bit_s" else unit
        column = Column(f"{name}_{unit}", "<i8", f"level of {name} as a number", written)
        columns.append((column, pa.array(values, type=pa.int64())))
    return columns


def _is_number(label: object) -> bool:
    return isinstance(label, int | float) and not isinstance(label, bool)
