"""Responses as an explorer wants them: which there are, their meanings and units, the most useful first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

import polars as pl
import pyarrow as pa

from rexmit.plot.network import FAIRNESS
from rexmit.run.added import LABEL
from rexmit.run.columns import design_columns
from rexmit.run.details import DETAILS
from rexmit.tables import Column, responses
from rexmit.tables.described import Columns

Kind = Literal["number", "truth", "text"]

GOODPUT = "goodput_bit_s"


@dataclass(frozen=True)
class Scale:
    """A scale of colours: what it says and where it begins and ends."""

    title: str
    low: float
    high: float


@dataclass(frozen=True)
class Timed:
    """Transfers that write for a set time; `all` where a study has no others."""

    names: list[str]
    all: bool


@dataclass(frozen=True)
class Response:
    """A column of a table of results. `meaning` is one line."""

    name: str
    meaning: str
    unit: str
    kind: Kind
    title: str | None = None
    """What people call it, where that is not its name."""
    scale: Scale | None = None
    """The scale of its colours, where every chart is to have the same."""
    timed: Timed | None = None
    """Of completion times: transfers that do not complete by themselves."""

    def record(self) -> dict[str, Any]:
        """The column as `Column` in web/src/format.ts."""
        told: dict[str, Any] = {
            "name": self.name,
            "meaning": self.meaning,
            "unit": self.unit,
            "kind": self.kind,
        }
        parts = {"scale": self.scale, "timed": self.timed}
        told |= {key: asdict(part) for key, part in parts.items() if part is not None}
        return told if self.title is None else {**told, "title": self.title}


def without_failed(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of runs in which those that failed have no measures: their zeros were never measured."""
    if "error" not in frame.columns or frame["error"].null_count() == frame.height:
        return frame
    before = set(design_columns(frame.columns)) | {"completed", "error"}
    measures = [name for name in frame.columns if name not in before and frame[name].dtype.is_numeric()]
    return frame.with_columns(pl.when(pl.col("error").is_null()).then(pl.col(measures)))


def with_derived(frame: pl.DataFrame) -> pl.DataFrame:
    """A table of runs with what people ask for and no run answers by itself: `goodput_bit_s`."""
    if not {"bytes", "time_ns"} <= set(frame.columns) or GOODPUT in frame.columns:
        return frame
    time = pl.col("time_ns").cast(pl.Float64)
    rate = pl.when(time > 0).then(pl.col("bytes").cast(pl.Float64) * 8e9 / time)
    return frame.with_columns(rate.alias(GOODPUT))


def responses_of(frame: pl.DataFrame, schema: pa.Schema | None = None) -> list[Response]:
    """The responses of a table of runs: those that vary first, the study's own ahead of others.

    Others follow by their use. A column without any value is left out. `schema` may have meanings, as
    metadata.
    """
    before = set(design_columns(frame.columns)) or {"run", "replication"}
    names = [name for name in frame.columns if name not in before]
    return ranked(frame, names, schema)


def ranked(frame: pl.DataFrame, names: Sequence[str], schema: pa.Schema | None = None) -> list[Response]:
    """These columns as responses, in order of their use."""
    found = []
    for name in names:
        column = frame[name]
        kind = kind_of(column)
        if kind is None or column.null_count() == len(column):
            continue
        own = name not in _known()
        found.append(
            ((not varies(column), kind == "text", not own, _rank(name)), describe(name, kind, schema))
        )
    return [response for _, response in sorted(found, key=lambda pair: pair[0])]


def is_own(name: str) -> bool:
    """Whether a column is not one that this package writes: a study's own response, or one that was added."""
    return name not in _known()


def varies(column: pl.Series) -> bool:
    """Whether not all values are the same."""
    return column.n_unique() > 1


def kind_of(column: pl.Series) -> Kind | None:
    """What a page makes of a column; None where it cannot show it."""
    if column.dtype == pl.Boolean:
        return "truth"
    if column.dtype.is_numeric():
        return "number"
    return "text" if column.dtype in (pl.String, pl.Categorical) else None


def describe(name: str, kind: Kind, schema: pa.Schema | None = None) -> Response:
    """A column by its name."""
    unit = "" if kind != "number" else unit_of(name, schema)
    return Response(name, meaning_of(name, schema), unit, kind, label_of(name, schema))


def label_of(name: str, schema: pa.Schema | None) -> str | None:
    """What people call a column that they added; None for others."""
    if schema is None or name not in schema.names:
        return None
    label = (schema.field(name).metadata or {}).get(LABEL)
    return None if label is None else str(label.decode("utf-8", "replace"))


def meaning_of(name: str, schema: pa.Schema | None = None) -> str:
    """One line for people: as the file of results says it, else as this package does."""
    if schema is not None and name in schema.names:
        told: dict[bytes, Any] = schema.field(name).metadata or {}
        if b"meaning" in told:
            return str(told[b"meaning"].decode("utf-8", "replace"))
    return known[name].meaning if (known := _known()) and name in known else name.replace("_", " ")


def unit_of(name: str, schema: pa.Schema | None = None) -> str:
    """The unit of a column of numbers: as the file of results says it, else as this package does."""
    told: dict[bytes, bytes] = {}
    if schema is not None and name in schema.names:
        told = schema.field(name).metadata or {}
    if b"unit" in told:
        return told[b"unit"].decode("utf-8", "replace")
    if name in _known():
        return _known()[name].unit or ""
    return next((unit for ending, unit in _ENDINGS.items() if name.endswith(ending)), "")


@cache
def _known() -> Columns:
    """Every column of a study's tables by its name, those of runs rather than others of that name."""
    details = {name: column for one in DETAILS for name, column in one.columns.items()}
    return {**details, FAIRNESS: _FAIRNESS, **responses(), GOODPUT: _GOODPUT}


def _rank(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


_ORDER = (
    # Of runs.
    *("time_ns", GOODPUT, "completed", "retransmits", "timeouts", "fast_retransmits", "timeouts_server"),
    *("drops_down", "drops_up", "packets_down", "packets_up", "data_segments", "bytes"),
    *(f"drops_{way}_{by}" for way in ("down", "up") for by in ("pattern", "random", "queue", "aqm")),
    *("unreached_down", "unreached_up"),
    # Of messages, intervals and retransmissions.
    *("latency_p99_ms", "latency_mean_ms", "latency_max_ms", "latency_p50_ms", "latency_p95_ms"),
    *("count", "cumulative_mean_ms", "cumulative_max_ms", "consecutive_mean_ms", "consecutive_max_ms"),
    *("cwnd_mean", "cwnd_max", "srtt_mean_ns", "srtt_sd_ns"),
)

_ENDINGS = {"_ns": "ns", "_ms": "ms", "_bit_s": "bit/s"}
"""Of columns that this package does not know."""

_FAIRNESS = Column(FAIRNESS, "<f8?", "Jain's index of the goodputs of all flows; 1: all alike", "")
_GOODPUT = Column(GOODPUT, "<f8?", "bytes that applications read, over the time of the run", "bit/s")
