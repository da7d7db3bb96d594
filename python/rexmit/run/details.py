"""What takes several rows a run: nested in the run's row while a study runs, then a table of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rexmit.run.columns import design_columns
from rexmit.study import StudySpec
from rexmit.tables import detail
from rexmit.tables.arrow import arrow_type, schema_of
from rexmit.tables.described import Columns


@dataclass(frozen=True)
class Detail:
    """A table with some rows for each run. `name` is its key in a scenario and names its file."""

    name: str
    hint: str
    """What to write in a scenario to get it."""
    nothing: str
    """What is missing, in words, where a study has none of it."""
    asked: Callable[[StudySpec], bool] | None = None
    """Whether a study asks for it, where that is not the key `name` of a scenario."""

    @property
    def columns(self) -> Columns:
        """Its own columns, without those that say which run a row is of."""
        return detail(self.name)

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
        return pa.struct([(one.name, arrow_type(one.type)) for one in self.columns.values()])

    def wanted(self, spec: StudySpec) -> bool:
        """True if runs of this study have it."""
        if self.asked is not None:
            return self.asked(spec)
        named = any(self.name in (factor.name, *factor.settings) for factor in spec.design.factors)
        return named or bool(spec.base().get(self.name))

    def nest(self, runs: pa.Table, rows: pa.Table) -> pa.Table:
        """`runs` with the rows of each (a column `run` says whose, in order) as one more column."""
        first = runs.column("run")[0].as_py() if runs.num_rows else 0
        column = self.nested_column(runs.num_rows, rows, first)
        return runs.append_column(pa.field(self.column, self.nested), column)

    def nested_column(self, runs: int, rows: pa.Table | None, first: int = 0) -> pa.ListArray | None:
        """The rows of this many runs, numbered from `first`, as a column of the runs; None without rows."""
        if rows is None:
            return None
        counts = np.zeros(runs + 1, dtype=np.int32)
        np.add.at(counts, rows.column("run").to_numpy().astype(np.int64) - first + 1, 1)
        arrays = [rows.column(one.name).combine_chunks().cast(one.type) for one in self._row]
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
        columns += zip(schema_of(self.columns.values()), values.flatten(), strict=True)
        flat = pa.Table.from_arrays(
            [array for _, array in columns], schema=pa.schema([field for field, _ in columns])
        )
        return table.drop_columns([self.column]), flat


INTERVALS = Detail("intervals", 'intervals = "5 s"', "nothing was measured by intervals")
"""One row per interval and sender."""

RETRANSMISSIONS = Detail("retransmissions", "retransmissions = true", "retransmissions were not counted")
"""A row for each number and class of the retransmissions of a sender."""

MESSAGES = Detail("messages", "messages = true", "messages were not measured")
"""One row per connection with a sender: how late its messages were."""

PROGRAMS = Detail(
    "programs", 'hosts.client.program = "..."', "no host ran a program", lambda spec: spec.has_programs
)
"""One row per program: its exit code and what it printed."""

_MEASURE = 'measure = { every = "1 s" }'
_UNMEASURED = "connections and links were not measured"

TRANSFERS = Detail("transfers", "measure = {}", _UNMEASURED, lambda spec: spec.measures)
"""One row per connection: its completion time, its goodput, what it sent again, its round-trip times."""

LINKS = Detail("links", "measure = {}", _UNMEASURED, lambda spec: spec.measures)
"""One row per direction of a link: its utilisation, its drops, its queue."""

TRANSFERS_OVER_TIME = Detail(
    "transfers_over_time", _MEASURE, _UNMEASURED + " over time", lambda spec: spec.measures_over_time
)
"""One row per interval and connection that delivered something in it."""

LINKS_OVER_TIME = Detail(
    "links_over_time", _MEASURE, _UNMEASURED + " over time", lambda spec: spec.measures_over_time
)
"""One row per interval and direction of a link."""

DETAILS = (
    INTERVALS,
    RETRANSMISSIONS,
    MESSAGES,
    PROGRAMS,
    TRANSFERS,
    LINKS,
    TRANSFERS_OVER_TIME,
    LINKS_OVER_TIME,
)


def details_of(spec: StudySpec) -> tuple[Detail, ...]:
    """Those that runs of this study have."""
    return tuple(one for one in DETAILS if one.wanted(spec))


def split(table: pa.Table) -> tuple[pa.Table, dict[str, pa.Table]]:
    """The whole table of a study without what is nested in it, and that as tables of their own, by name."""
    found = {}
    for one in DETAILS:
        table, flat = one.take_from(table)
        if flat is not None:
            found[one.name] = flat
    return table, found


def nest(details: Sequence[Detail], runs: pa.Table, rows: Mapping[str, pa.Table]) -> pa.Table:
    """`runs` with the rows of each detail, by its name, as columns."""
    for one in details:
        runs = one.nest(runs, rows[one.name])
    return runs
