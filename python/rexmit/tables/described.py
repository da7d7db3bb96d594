"""The columns of tables: name, type, unit, meaning and what null stands for. Loads no other library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

from rexmit import _native

NUMBER, TEXT = "<u8", "utf8-json"
NAMES = "dict:"


@dataclass(frozen=True)
class Column:
    """What a column of a table holds.

    `type` is as the native code names it: numpy's name, with a question mark where a mark stands for no
    value; `utf8-json`; `dict:` and a JSON list of names. `null` says what null stands for, and is None where
    there is none.
    """

    name: str
    type: str
    meaning: str
    unit: str | None = None
    null: str | None = None

    @property
    def plain_type(self) -> str:
        """The type without what says that there may be no value."""
        return self.type.removesuffix("?")

    @property
    def is_number(self) -> bool:
        """True for numbers, whole or not."""
        return self.type != TEXT and self.type != "|b1" and not self.type.startswith(NAMES)

    @property
    def words(self) -> str:
        """All of that in one line: the meaning, the unit, and what null stands for."""
        return in_words(self.meaning, self.unit, self.null)

    def metadata(self) -> dict[str, str]:
        """What a Parquet file says of it."""
        told = {"meaning": self.meaning, "unit": self.unit, "null": self.null}
        return {key: text for key, text in told.items() if text is not None}


def in_words(meaning: str, unit: str | None, null: str | None) -> str:
    """What a column holds, in one line."""
    return "; ".join([meaning, *([unit] if unit else []), *([f"null: {null}"] if null else [])])


Columns: TypeAlias = Mapping[str, Column]
"""The columns of a table by name, in their order."""


def _columns(columns: Iterable[Column]) -> Columns:
    return {column.name: column for column in columns}


SEEDS = _columns(
    [
        Column("seed", "<i8", "of merged results: the seed of the run"),
        Column("seed_replication", "<i8", "of merged results: the run's replication under that seed, from 0"),
    ]
)
"""What tells the runs of merged results apart, where one seed and the replication do not."""

FACTORS = _columns(
    [
        Column("name", TEXT, "dotted name of the factor"),
        Column("level", "<i8", "number of the level, from 0"),
        Column("label", TEXT, "the level as the study writes it"),
        Column("value", "<f8?", "the level as a number, in the unit beside it", null="it is none"),
        Column("unit", TEXT, "bit/s or ns of rates and times", null="the level has no unit"),
    ]
)
"""The table of a study's factors, as SQL has it."""

CAPTURES = _columns(
    [
        Column("run", "<u4", "number of the run in the design, from 0"),
        Column("host", TEXT, "where it was captured: server or client, or a host of a network"),
        Column("path", TEXT, "the pcapng file"),
    ]
)
"""The table of the captures in a folder, as SQL has it."""


@cache
def _native_tables() -> dict[str, dict[str, list[dict[str, Any]]]]:
    found: dict[str, dict[str, list[dict[str, Any]]]] = json.loads(_native.table_descriptions())
    return found


@cache
def _table(kind: str, name: str) -> Columns:
    """A table, whose columns are made when somebody first asks: a command needs few of all that there are."""
    return _columns(Column(**column) for column in _native_tables()[kind][name])


def run_columns() -> Columns:
    """How every table of a study begins: `run` and `replication`. The columns of the factors follow."""
    runs = _table("study", "runs")
    return {name: runs[name] for name in ("run", "replication")}


def responses() -> Columns:
    """Every column of `runs.parquet` but those that say which run it is; :data:`SEEDS` are the last."""
    own = {name: column for name, column in _table("study", "runs").items() if name not in run_columns()}
    return {**own, **lateness(), **SEEDS}


def lateness() -> Columns:
    """The columns that runs on a real kernel have beside a model's."""
    return _table("study", "late")


def detail(name: str) -> Columns:
    """The columns of its own that a table with several rows a run has, such as `intervals`."""
    return {name: column for name, column in _table("study", name).items() if name != "run"}


def single(kind: str) -> Columns:
    """The columns of a table of a single run: `state`, `verdicts`, `transmissions` or `messages`."""
    return _table("single", kind)


def single_kinds() -> tuple[str, ...]:
    """The tables that there are of a single run."""
    return tuple(_native_tables()["single"])


def analysis() -> Mapping[str, Columns]:
    """The tables that an analysis of captures gives, by name."""
    return {name: _table("capture", name) for name in _native_tables()["capture"]}


MEASURED = ("transfers", "links", "transfers_over_time", "links_over_time")
"""Tables of what connections and links did, which only studies that measure it have."""


@cache
def reserved() -> frozenset[str]:
    """The names that no factor may have, in lower case: of columns besides its own, and of a study's tables.

    `folder` is the column in front where `rexmit sql` has several folders. Those of `MEASURED` are reserved
    only in studies that have them: :func:`reserved_where_measured`.
    """
    tables = {name: table for name, table in _native_tables()["study"].items() if name not in MEASURED}
    return _names_in(tables) | frozenset((*map(str.lower, SEEDS), "folder"))


@cache
def reserved_where_measured() -> frozenset[str]:
    """The same of a study that measures its connections and links."""
    tables = _native_tables()["study"]
    return reserved() | _names_in({name: tables[name] for name in MEASURED})


def _names_in(tables: Mapping[str, list[dict[str, Any]]]) -> frozenset[str]:
    columns = (column["name"] for table in tables.values() for column in table)
    return frozenset(map(str.lower, (*columns, *tables))) - {"runs"}
