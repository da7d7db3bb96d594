"""What the explorer of a page is told: a study's factors and responses, and its tables as blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rexmit.analyse.reached import is_unreached
from rexmit.plot.figures import readable
from rexmit.plot.network import FAIRNESS, JAIN_LABEL, JAIN_RANGE, fairness_of, timed_transfers
from rexmit.plot.pack import Column, pack
from rexmit.report.flows import OVER_TIME, RATE, over_time
from rexmit.report.responses import (
    Response,
    Scale,
    Timed,
    describe,
    kind_of,
    ranked,
    responses_of,
    with_derived,
    without_failed,
)
from rexmit.report.single import flow_names
from rexmit.run import Results
from rexmit.run.details import DETAILS, INTERVALS, TRANSFERS, Detail
from rexmit.study import Factor
from rexmit.study.words import in_words
from rexmit.units import as_numbers, parse_bytes

FORMAT = 1
"""Version of the JSON: `FORMAT` in web/src/format.ts."""

MOST_CELLS = 2_000_000
"""Values of responses that a table of a page may hold: some 10 MB."""

MOST_ROWS = 1_000_000
LEAST_RESPONSES = 2
JAIN_SCALE = Scale(JAIN_LABEL, *JAIN_RANGE)
UNREACHED = "unreached"
"""Column of a block: true for rows of a run in which a pattern met no packet."""


@dataclass(frozen=True)
class Explorer:
    """The tables of a study for a page: the JSON's part about them, the blocks by id, what was left out."""

    factors: list[dict[str, Any]]
    tables: list[dict[str, Any]]
    first: dict[str, str | None]
    blocks: dict[str, str]
    remarks: list[str] = field(default_factory=list)
    flows: dict[str, str | None] = field(default_factory=dict)
    """`FlowsInfo` of web/src/format.ts."""


def explorer_of(results: Results, most_bytes: int | None = None) -> Explorer | None:
    """What a page shows of these results; None where no response is left to show.

    What was measured over time is there for as many runs as a page of `most_bytes` can bear.
    """
    design = results.spec().design
    frame = _with_fairness(results, with_derived(without_failed(results.table())))
    jain = _jain_measures(results)
    responses = [
        replace(one, scale=JAIN_SCALE) if one.name in jain else one
        for one in responses_of(frame, results.arrow().schema)
    ]
    if not frame.height or not responses:
        return None
    remarks: list[str] = []
    blocks, tables = {}, []
    levels = _Levels(design.factors, design.replications)
    keys = [describe(name, "number") for name in ("seed", "seed_replication") if name in frame.columns]
    made = [("runs", frame, responses, keys)]
    timed = over_time(results, most_bytes)
    remarks += [timed.note] if timed.note else []
    for detail in DETAILS:
        if detail.name not in OVER_TIME:
            made += _detail(results, detail)
        elif detail.name in timed.frames:
            made += _detail(results, detail, timed.frames[detail.name])
    never = frame.filter(is_unreached(frame))["run"]
    for name, rows, found, own in made:
        rows, found = _bounded(name, rows, found, remarks)
        columns = levels.columns(rows) | {one.name: _column(rows[one.name]) for one in (*own, *found)}
        told: dict[str, Any] = {
            "responses": [r.record() for r in found],
            "keys": [key.record() for key in own],
        }
        if not never.is_empty():
            columns[UNREACHED] = _column(rows["run"].is_in(never.implode()))
            told["unreached"] = UNREACHED
        if RATE in rows.columns and name in OVER_TIME:
            columns[RATE] = _column(rows[RATE])
        blocks[name] = pack({"table": name}, {name: columns})
        tables.append({"name": name, "block": name, **told})
    words = in_words([factor.name for factor in design.factors], results.study["scenario"])
    factors = [factor_record(factor, words[factor.name]) for factor in design.factors]
    told = {"note": timed.note, "fairness": _jain(results, responses)}
    first = first_choice(design.factors, responses)
    if first["x"] is None and any(one["name"] == INTERVALS.name for one in tables):
        # Nothing varies: what happened over time says more than one dot.
        first["table"] = INTERVALS.name
    return Explorer(factors, tables, first, blocks, remarks, told)


def factor_record(factor: Factor, title: str) -> dict[str, Any]:
    """A factor as `Factor` in web/src/format.ts; `title` is what people call it."""
    values, unit = sizes(factor)
    return {
        "name": factor.name,
        "title": title,
        "labels": [readable(label) for label in factor.labels],
        "values": values,
        "unit": unit,
        "position": factor.is_position,
    }


def sizes(factor: Factor) -> tuple[list[float] | None, str]:
    """The levels of a factor as numbers, and their unit; None where they are not quantities."""
    labels = factor.labels
    known = as_numbers(labels)
    if known is not None:
        return list(known[1]), {"bit_s": "bit/s", "ns": "ns"}[known[0]]
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        return [float(label) if isinstance(label, float) else int(label) for label in labels], ""
    counted = [_PACKETS.fullmatch(str(label)) for label in labels]
    if all(counted):
        return [int(match[1]) for match in counted if match], "packets"
    shares = [_SHARE.fullmatch(str(label)) for label in labels]
    if all(shares):
        return [float(match[1]) / 100 for match in shares if match], "share"
    try:
        return [parse_bytes(str(label)) for label in labels], "bytes"
    except ValueError:
        return None, ""


def first_choice(factors: Sequence[Factor], responses: Sequence[Response]) -> dict[str, str | None]:
    """What a page shows first: the most useful response over positions, or over the largest quantity.

    Curves are told apart by the factor with the fewest levels.
    """
    many = [factor for factor in factors if len(factor.levels) > 1]
    x = max(many, key=lambda f: (f.is_position, sizes(f)[0] is not None, len(f.levels)), default=None)
    others = [factor for factor in many if factor is not x]
    colour = min(others, key=lambda factor: len(factor.levels), default=None)
    return {
        "response": responses[0].name,
        "x": None if x is None else x.name,
        "colour": None if colour is None else colour.name,
    }


class _Levels:
    """The columns that say which run a row is of."""

    def __init__(self, factors: Sequence[Factor], replications: int) -> None:
        self._factors = factors
        self._replications = replications

    def columns(self, frame: pl.DataFrame) -> dict[str, Column]:
        runs = frame["run"].to_numpy().astype(np.int64)
        columns: dict[str, Column] = {"run": runs, "replication": runs % self._replications}
        rest = runs // self._replications
        for factor in reversed(self._factors):
            columns[f"level:{factor.name}"] = rest % len(factor.levels)
            rest = rest // len(factor.levels)
        return columns


def _with_fairness(results: Results, frame: pl.DataFrame) -> pl.DataFrame:
    """The table of runs with Jain's index of all flows, where no measure of the study has it."""
    own = (one for one in (results.study.get("responses") or {}).values() if isinstance(one, dict))
    index = None if any(one.get("measure") == "jain" for one in own) else fairness_of(results)
    if index is None or FAIRNESS in frame.columns or index[FAIRNESS].null_count() == index.height:
        return frame
    return frame.join(index, on="run", how="left", maintain_order="left")


def _jain(results: Results, responses: Sequence[Response]) -> str | None:
    """The response that is Jain's index."""
    known = {response.name for response in responses}
    return next((name for name in _jain_measures(results) if name in known), None)


def _jain_measures(results: Results) -> list[str]:
    """The measures of a study that are Jain's index; without any, that of all flows."""
    own = results.study.get("responses") or {}
    names = [name for name, one in own.items() if isinstance(one, dict) and one.get("measure") == "jain"]
    return names or ([] if FAIRNESS in own else [FAIRNESS])


def _detail(
    results: Results, detail: Detail, part: pl.DataFrame | None = None
) -> Iterator[tuple[str, pl.DataFrame, list[Response], list[Response]]]:
    table = results.detail(detail)
    if table is None or not table.num_rows:
        return
    frame = pl.DataFrame(pl.from_arrow(table)) if part is None else part
    if detail.name not in OVER_TIME:
        # The view of flows and queues joins its tables by numbers.
        frame = _with_names(results, frame)
    own = [name for name in detail.columns if name in frame.columns]
    keys = []
    for name in own:
        kind = kind_of(frame[name])
        if name in _KEYS and kind is not None:
            keys.append(describe(name, kind, table.schema))
    responses = ranked(frame, [name for name in own if name not in _KEYS], table.schema)
    if detail is TRANSFERS:
        names, rest = timed_transfers(results, frame)
        timed = Timed(names, rest.is_empty()) if names else None
        responses = [
            replace(one, title=_TITLES[one.name], timed=timed) if one.name in _TITLES else one
            for one in responses
        ]
    if responses:
        yield detail.name, frame, responses, keys


def _with_names(results: Results, frame: pl.DataFrame) -> pl.DataFrame:
    """The table with connections by the names of their transfers, where it has no column of these."""
    scenario = results.study["scenario"]
    named = any(one.get("name") is not None for one in scenario.get("transfers") or ())
    names = flow_names(scenario)
    if not named or "connection" not in frame.columns or "transfer" in frame.columns:
        return frame
    last = frame["connection"].max()
    if not isinstance(last, int) or last >= len(names):
        return frame
    known = dict(enumerate(names))
    return frame.with_columns(pl.col("connection").replace_strict(known, return_dtype=pl.String))


def _bounded(
    name: str, frame: pl.DataFrame, responses: list[Response], remarks: list[str]
) -> tuple[pl.DataFrame, list[Response]]:
    """As much of a table as a page can bear; `remarks` say what is left out."""
    if frame.height > MOST_ROWS:
        # Whole replications while they last, so that every combination of levels keeps as many runs.
        every = -(-frame.height // MOST_ROWS)
        if "replication" in frame.columns and int(frame["replication"].max() or 0) + 1 >= every:  # type: ignore[arg-type]
            kept = frame.filter(pl.col("replication") < (int(frame["replication"].max() or 0) + 1) // every)  # type: ignore[arg-type]
            what = "the first replications alone"
        else:
            kept = frame.gather_every(every)
            what = f"every {every}th row"
        remarks.append(
            f"The table {name} has {frame.height:,} rows; the explorer has {kept.height:,} of them, {what}."
        )
        frame = kept
    most = max(MOST_CELLS // max(frame.height, 1), LEAST_RESPONSES)
    if len(responses) > most:
        left = ", ".join(response.name for response in responses[most:])
        remarks.append(f"The explorer has the most useful responses of the table {name}; without {left}.")
        responses = responses[:most]
    return frame, responses


def _column(column: pl.Series) -> Column:
    """A column for a block: numbers, NaN where there is none; texts."""
    if column.dtype in (pl.String, pl.Categorical):
        texts: list[str | None] = column.cast(pl.String).to_list()
        return texts
    if column.null_count():
        numbers: npt.NDArray[Any] = column.cast(pl.Float64).to_numpy()
        return numbers
    plain: npt.NDArray[Any] = (
        column.cast(pl.UInt8).to_numpy() if column.dtype == pl.Boolean else column.to_numpy()
    )
    if plain.dtype.kind in "iu" and plain.size and max(abs(int(plain.min())), abs(int(plain.max()))) > 2**53:
        return plain.astype(np.float64)
    return plain


_KEYS = {
    *("interval", "from_ns", "to_ns", "connection", "host", "protocol", "number", "class"),
    *("transfer", "sender", "receiver", "link", "from_point", "to_point"),
}
_TITLES = {"time_ns": "completion time"}
_PACKETS = re.compile(r"(\d+) packets?")
_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")


def study_page(results: Results, explorer: Explorer, runs: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The JSON of a page: `StudyPage` in web/src/format.ts."""
    return {
        "format": FORMAT,
        "version": version,
        "kind": "study",
        "title": results.title,
        "name": results.name,
        "backend": str(results.study.get("backend", "model")),
        "factors": explorer.factors,
        "replications": int(results.study["replications"]),
        "tables": explorer.tables,
        "first": explorer.first,
        "flows": explorer.flows,
        "runs": dict(runs),
    }
