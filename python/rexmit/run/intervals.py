"""What was measured by intervals: nested in the rows of runs while a study runs, then a table of its own."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rexmit.run.columns import design_columns
from rexmit.study import StudySpec

INTERVALS = "intervals"
"""Key of a scenario, and column of a row of a run."""

_FIELDS: list[tuple[str, pa.DataType, str]] = [
    ("interval", pa.uint32(), "number of the interval, from 0"),
    ("from_ns", pa.uint64(), "where it begins, ns from the start of the run"),
    ("to_ns", pa.uint64(), "where it ends, at the end of the run at the latest"),
    ("connection", pa.uint32(), "number of the connection, from 0"),
    ("host", pa.string(), "server or client: who sends"),
    ("bytes", pa.uint64(), "bytes that the other end's application read"),
    ("written", pa.uint64(), "bytes that the application wrote"),
    ("data_segments", pa.uint64(), "first transmissions of data"),
    ("retransmits", pa.uint64(), "segments with data sent again"),
    ("timeouts", pa.uint64(), "expiries of retransmission timers; null where a kernel does not tell"),
    ("fast_retransmits", pa.uint64(), "entries into fast recovery; null where a kernel does not tell"),
    ("cwnd_mean", pa.float64(), "mean congestion window after writes, weighted by their bytes; bytes"),
    ("cwnd_max", pa.uint64(), "greatest congestion window after a write, bytes"),
    ("srtt_mean_ns", pa.float64(), "mean smoothed round-trip time after writes, likewise; ns"),
    ("srtt_sd_ns", pa.float64(), "its standard deviation, ns"),
]
_ROW = pa.struct([(name, kind) for name, kind, _ in _FIELDS])
NESTED = pa.list_(_ROW)
"""Type of the column in a row of a run."""
_GOODPUT = ("goodput_bit_s", "bytes read, over the length of the interval; bit/s")


def measures(spec: StudySpec) -> bool:
    """True if runs of this study measure by intervals."""
    named = any(factor.name == INTERVALS for factor in spec.design.factors)
    return named or spec.base().get(INTERVALS) is not None


def nest(runs: pa.Table, rows: pa.Table) -> pa.Table:
    """`runs` with the rows of intervals of each (a column `run` says whose, in order) as one more column."""
    first = runs.column("run")[0].as_py() if runs.num_rows else 0
    column = nested_column(runs.num_rows, rows, first)
    return runs.append_column(pa.field(INTERVALS, NESTED), column)


def nested_column(runs: int, rows: pa.Table | None, first: int = 0) -> pa.ListArray | None:
    """The rows of intervals of so many runs, numbered from `first`, as a column of theirs; None of none."""
    if rows is None:
        return None
    counts = np.zeros(runs + 1, dtype=np.int32)
    np.add.at(counts, rows.column("run").to_numpy().astype(np.int64) - first + 1, 1)
    arrays = [rows.column(name).combine_chunks().cast(kind) for name, kind, _ in _FIELDS]
    values = pa.StructArray.from_arrays(arrays, fields=list(_ROW))
    return pa.ListArray.from_arrays(pa.array(np.cumsum(counts, dtype=np.int32)), values)


def split(table: pa.Table) -> tuple[pa.Table, pa.Table | None]:
    """The whole table of a study without the nested column, and that as a table of its own.

    The latter has a row an interval and sender, with `run`, `replication` and the factors' columns, then
    those of intervals, the goodput beside the bytes. None where the study does not measure by intervals.
    """
    if INTERVALS not in table.column_names:
        return table, None
    nested = table.column(INTERVALS).combine_chunks()
    at = pc.list_parent_indices(nested)
    design = design_columns(table.column_names)
    columns = [(table.schema.field(name), table.column(name).combine_chunks().take(at)) for name in design]
    values = pc.list_flatten(nested)
    for (name, kind, meaning), array in zip(_FIELDS, values.flatten(), strict=True):
        columns.append((_field(name, kind, meaning), array))
        if name == "bytes":
            columns.append((_field(_GOODPUT[0], pa.float64(), _GOODPUT[1]), _goodput(values)))
    flat = pa.Table.from_arrays(
        [array for _, array in columns], schema=pa.schema([field for field, _ in columns])
    )
    return table.drop_columns([INTERVALS]), flat


def _goodput(values: pa.StructArray) -> pa.Array:
    read, begin, end = (values.field(name).to_numpy() for name in ("bytes", "from_ns", "to_ns"))
    return pa.array(read * 8e9 / (end - begin).astype(np.float64))


def _field(name: str, kind: pa.DataType, meaning: str) -> pa.Field:
    return pa.field(name, kind, metadata={"meaning": meaning})
