"""What takes several rows a run: nested in the run's row while a study runs, then a table of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rexmit.run.columns import design_columns
from rexmit.study import StudySpec

Field = tuple[str, pa.DataType, str]
"""Name, type and meaning of a column."""


@dataclass(frozen=True)
class Derived:
    """A column that is computed from the others and stands behind the column `after`."""

    after: str
    field: Field
    of: Callable[[pa.StructArray], pa.Array]


@dataclass(frozen=True)
class Detail:
    """A table with some rows for each run. `name` is its key in a scenario and names its file."""

    name: str
    fields: tuple[Field, ...]
    hint: str
    """What to write in a scenario to get it."""
    nothing: str
    """What there is not where a study has none of it."""
    derived: tuple[Derived, ...] = ()

    @property
    def file(self) -> str:
        """Its file in a results folder."""
        return f"{self.name}.parquet"

    @property
    def column(self) -> str:
        """Its column in a row of a run: the key itself may be a factor's."""
        return f"{self.name}[]"

    @property
    def nested(self) -> pa.DataType:
        """Type of the column in a row of a run."""
        return pa.list_(self._row)

    @property
    def _row(self) -> pa.StructType:
        return pa.struct([(name, kind) for name, kind, _ in self.fields])

    def wanted(self, spec: StudySpec) -> bool:
        """True if runs of this study have it."""
        named = any(self.name in (factor.name, *factor.settings) for factor in spec.design.factors)
        return named or bool(spec.base().get(self.name))

    def nest(self, runs: pa.Table, rows: pa.Table) -> pa.Table:
        """`runs` with the rows of each (a column `run` says whose, in order) as one more column."""
        first = runs.column("run")[0].as_py() if runs.num_rows else 0
        column = self.nested_column(runs.num_rows, rows, first)
        return runs.append_column(pa.field(self.column, self.nested), column)

    def nested_column(self, runs: int, rows: pa.Table | None, first: int = 0) -> pa.ListArray | None:
        """The rows of so many runs, numbered from `first`, as a column of theirs; None of none."""
        if rows is None:
            return None
        counts = np.zeros(runs + 1, dtype=np.int32)
        np.add.at(counts, rows.column("run").to_numpy().astype(np.int64) - first + 1, 1)
        arrays = [rows.column(name).combine_chunks().cast(kind) for name, kind, _ in self.fields]
        values = pa.StructArray.from_arrays(arrays, fields=list(self._row))
        return pa.ListArray.from_arrays(pa.array(np.cumsum(counts, dtype=np.int32)), values)

    def take_from(self, table: pa.Table) -> tuple[pa.Table, pa.Table | None]:
        """The whole table of a study without the nested column, and that as a table of its own.

        The latter has the design's columns (`run`, `replication`, the factors'), then its own. None where the
        study has none of it.
        """
        if self.column not in table.column_names:
            return table, None
        nested = table.column(self.column).combine_chunks()
        at = pc.list_parent_indices(nested)
        design = design_columns(table.column_names)
        columns = [
            (table.schema.field(name), table.column(name).combine_chunks().take(at)) for name in design
        ]
        values = pc.list_flatten(nested)
        for field, array in zip(self.fields, values.flatten(), strict=True):
            columns.append((_field(field), array))
            columns += [(_field(one.field), one.of(values)) for one in self.derived if one.after == field[0]]
        flat = pa.Table.from_arrays(
            [array for _, array in columns], schema=pa.schema([field for field, _ in columns])
        )
        return table.drop_columns([self.column]), flat


def _field(field: Field) -> pa.Field:
    name, kind, meaning = field
    return pa.field(name, kind, metadata={"meaning": meaning})


def _goodput(values: pa.StructArray) -> pa.Array:
    read, begin, end = (values.field(name).to_numpy() for name in ("bytes", "from_ns", "to_ns"))
    return pa.array(read * 8e9 / (end - begin).astype(np.float64))


def _delays(kind: str, since: str) -> tuple[Field, ...]:
    return (
        (f"{kind}_min_ms", pa.float64(), f"smallest time since {since}, ms"),
        (f"{kind}_max_ms", pa.float64(), "the largest, ms"),
        (f"{kind}_mean_ms", pa.float64(), "the mean, ms"),
        (
            f"{kind}_std_ms",
            pa.float64(),
            "the standard deviation of the sample (n - 1), as tcptrace's, ms; 0 of one",
        ),
    )


INTERVALS = Detail(
    "intervals",
    (
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
    ),
    'intervals = "5 s"',
    "nothing was measured by intervals",
    (
        Derived(
            "bytes",
            ("goodput_bit_s", pa.float64(), "bytes read, over the length of the interval; bit/s"),
            _goodput,
        ),
    ),
)
"""A row an interval and sender."""

RETRANSMISSIONS = Detail(
    "retransmissions",
    (
        ("connection", pa.uint32(), "number of the connection, from 0"),
        ("host", pa.string(), "server or client: who sent them"),
        ("protocol", pa.string(), "tcp or sctp"),
        ("number", pa.uint32(), "1 for the first retransmission of a segment or chunk"),
        (
            "class",
            pa.string(),
            "of TCP the cause, of SCTP the class of sctp_trace (pedersen-2006 section 3.2)",
        ),
        ("count", pa.uint64(), "segments or chunks"),
        ("not_needed", pa.uint64(), "of these, those that were spurious or acknowledged before"),
        ("bundled_in_fast", pa.uint64(), "of these, chunks bundled into a fast retransmit of another one"),
        *_delays("cumulative", "the first transmission"),
        *_delays("consecutive", "the transmission before"),
    ),
    "retransmissions = true",
    "retransmissions were not counted",
)
"""A row for each number and class of the retransmissions of a sender."""

_LATENCIES = (
    ("min", "the shortest latency: from the application's write to the other's read of its last byte; ms"),
    ("mean", "the mean, ms"),
    ("std", "the standard deviation of the sample (n - 1), ms; 0 of one"),
    ("max", "the longest, ms"),
    ("p50", "the median: half of the messages delivered were no later; ms"),
    ("p90", "the quantile of 90 %, ms"),
    ("p95", "the quantile of 95 %, ms"),
    ("p98", "the quantile of 98 %, ms"),
    ("p99", "the quantile of 99 %, ms"),
    ("p999", "the quantile of 99.9 %, ms"),
)

MESSAGES = Detail(
    "messages",
    (
        ("connection", pa.uint32(), "number of the connection, from 0"),
        ("host", pa.string(), "server or client: who sends"),
        ("written", pa.uint64(), "messages that the application began to write"),
        ("delivered", pa.uint64(), "those that the other application has read whole"),
        *((f"latency_{name}_ms", pa.float64(), meaning) for name, meaning in _LATENCIES),
    ),
    "messages = true",
    "messages were not measured",
)
"""A row a connection with a sender: how late its messages were."""

DETAILS = (INTERVALS, RETRANSMISSIONS, MESSAGES)


def details_of(spec: StudySpec) -> tuple[Detail, ...]:
    """Those that runs of this study have."""
    return tuple(detail for detail in DETAILS if detail.wanted(spec))


def split(table: pa.Table) -> tuple[pa.Table, dict[str, pa.Table]]:
    """The whole table of a study without what is nested in it, and that as tables of their own, by name."""
    found = {}
    for detail in DETAILS:
        table, flat = detail.take_from(table)
        if flat is not None:
            found[detail.name] = flat
    return table, found


def nest(details: Sequence[Detail], runs: pa.Table, rows: Mapping[str, pa.Table]) -> pa.Table:
    """`runs` with the rows of each detail, by its name, as columns."""
    for detail in details:
        runs = detail.nest(runs, rows[detail.name])
    return runs
