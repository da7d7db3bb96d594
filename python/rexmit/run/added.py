"""Columns that a user adds to the runs of a study: responses of their own besides those of the runs.

They stand in `runs.parquet`, after all others, marked as added: whatever reads the table sees them, and what
repeats a run does not compare them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from rexmit.errors import UsageError, one_line
from rexmit.files import write_whole
from rexmit.run.store import RUNS, write_runs
from rexmit.tables import reserved
from rexmit.units import plural

if TYPE_CHECKING:
    import polars as pl

MARK = b"added"
"""In the metadata of a field that was added."""

LABEL = b"label"
"""What people call it."""

Given: TypeAlias = "Callable[[dict[str, Any]], Any] | Sequence[Any] | Mapping[int, Any] | pl.Series | pl.Expr"


def is_added(schema: pa.Schema, name: str) -> bool:
    """Whether a column of a table of runs was added to what the runs gave."""
    return name in schema.names and MARK in (schema.field(name).metadata or {})


def added_columns(schema: pa.Schema) -> list[str]:
    """The columns of a table of runs that were added, in their order."""
    return [name for name in schema.names if is_added(schema, name)]


def with_column(
    table: pa.Table, name: str, given: Given, about: Mapping[str, str | None], *, replace: bool
) -> pa.Table:
    """The table of runs with one more column. Raises UsageError of one line where it cannot be added."""
    _check_name(table.schema, name, replace)
    values = _numbers(name, _values(table, name, given), table)
    told = {key: text for key, text in about.items() if text}
    for key, text in told.items():
        if not isinstance(text, str) or one_line(text) != text:
            raise UsageError(f"add_column: {key}: {one_line(repr(text))} is not text of one line")
    metadata = {MARK: b"yes", **{key.encode(): text.encode() for key, text in told.items()}}
    field = pa.field(name, values.type, metadata=metadata)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), field, values)
    return table.append_column(field, values)


def store(table: pa.Table, folder: Path) -> None:
    """Rewrites the table of runs, whole or not at all.

    Raises StoreError where the folder cannot be written, UsageError for a study that is not finished.
    """
    path = folder / RUNS
    if not path.exists():
        raise UsageError(f"{folder}: is not finished, and a column needs all runs; go on with --resume first")
    write_whole(path, partial(write_runs, table), resumable=False)


def _check_name(schema: pa.Schema, name: object, replace: bool) -> None:
    if not isinstance(name, str) or not name.strip() or one_line(name) != name:
        raise UsageError(
            f"add_column: {one_line(repr(name))} is not a name of a column; give a text such as 'silence_ms'"
        )
    known = {one.lower(): one for one in schema.names}
    if name.lower() in known:
        taken = known[name.lower()]
        if is_added(schema, taken):
            if replace and taken == name:
                return
            raise UsageError(f"add_column: {taken!r} was added before; give replace=True, or another name")
        raise UsageError(f"add_column: {taken!r} is a column of the runs; choose another name")
    if name.lower() in reserved():
        raise UsageError(f"add_column: {name!r} is the name of a column or table of results; choose another")


def _values(table: pa.Table, name: str, given: Given) -> Sequence[Any]:
    """A value for each run, in the order of the table."""
    import polars as pl

    if isinstance(given, pl.Expr):
        frame = pl.DataFrame(pl.from_arrow(table))
        try:
            values: list[Any] = frame.select(given.alias(name))[name].to_list()
        except pl.exceptions.PolarsError as error:
            raise UsageError(f"add_column: {name}: {one_line(error)}") from None
        return _of_length(values, table, name)
    if isinstance(given, Mapping):
        runs = table.column("run").to_pylist()
        if unknown := [run for run in given if run not in set(runs)]:
            raise UsageError(
                f"add_column: {name}: {one_line(repr(unknown[0]))} is not a run of these results"
            )
        return [given.get(run) for run in runs]
    if callable(given) and not isinstance(given, pl.Series):
        return [given(row) for row in table.to_pylist()]
    try:
        return _of_length(list(given), table, name)
    except TypeError:
        text = one_line(repr(given))[:60]
        raise UsageError(
            f"add_column: {name}: {text} is not a set of values; give a list or series with one for each "
            "run, a dict by run, or a function of a run's row"
        ) from None


def _of_length(values: list[Any], table: pa.Table, name: str) -> list[Any]:
    if len(values) != table.num_rows:
        raise UsageError(
            f"add_column: {name}: has {plural(len(values), 'value')} for {plural(table.num_rows, 'run')}; "
            "give one for each, in the order of the table"
        )
    return values


def _numbers(name: str, values: Sequence[Any], table: pa.Table) -> pa.Array:
    """The values as whole numbers where all are, else as numbers; null for None and what is not a number."""
    found: list[int | float | None] = []
    for at, value in enumerate(values):
        number = _number(value)
        if number is _WRONG:
            run = table.column("run")[at].as_py()
            raise UsageError(
                f"add_column: {name}: {one_line(repr(value))[:60]} of run {run} is not a number; give finite "
                "numbers, and None where there is none"
            )
        found.append(number)  # type: ignore[arg-type]
    if all(value is None for value in found):
        raise UsageError(f"add_column: {name}: no run has a value")
    whole = all(value is None or (isinstance(value, int) and abs(value) < 2**63) for value in found)
    return pa.array(found, type=pa.int64()) if whole else pa.array(map(_as_float, found), type=pa.float64())


def _as_float(value: int | float | None) -> float | None:
    """Arrow refuses whole numbers that a double rounds."""
    return None if value is None else float(value)


_WRONG = object()


def _number(value: Any) -> object:
    """The value as Python's number, None where there is none; a mark for what is not a number."""
    import polars as pl

    if hasattr(value, "item") and not isinstance(value, pl.Series):
        try:
            value = value.item()  # numpy's
        except ValueError:
            return _WRONG
    if value is None or isinstance(value, bool):
        return None if value is None else int(value)
    if isinstance(value, int):
        return value if abs(value) <= sys.float_info.max else _WRONG
    if not isinstance(value, float):
        return _WRONG
    if math.isnan(value):
        return None
    return value if math.isfinite(value) else _WRONG
