"""The content of study.json, checked key by key: a results folder may come from anybody.

One checker holds it against `STUDY_KEYS`, the table from which its page in the documentation and its JSON
Schema come, and against what a design is; what passes can be used without another look. A key that is not
known is left alone, since a later version may have added it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from rexmit.errors import RexmitError, StoreError, one_line
from rexmit.inputs import RECORD, read_json
from rexmit.run.schema import STUDY_KEYS, check_schema
from rexmit.run.shard import runs_of, shard_of
from rexmit.study import Design, Factor
from rexmit.study.design import LARGEST_SEED, parse_design
from rexmit.study.factors import factor_from_record
from rexmit.study.profiles import is_file, stacks_of
from rexmit.tables import Column, responses, run_columns

STUDY_JSON = "study.json"

LONGEST_TEXT = 1 << 20
"""Letters of a text of a study, such as its description."""

LONGEST_NAME = 1 << 10
"""Letters of the name of a study or factor."""


def read_record(folder: Path) -> dict[str, Any]:
    """The content of the study.json of a folder.

    Raises StoreError, naming the file and the key, for one that describes no study or that a newer version
    has written; FileNotFoundError where there is none, OSError where it cannot be read.
    """
    path = folder / STUDY_JSON
    record = read_json(path, RECORD)
    if not isinstance(record, dict):
        raise StoreError(f"{path}: {_short(record)} is not a table")
    check_schema(record, folder)
    missing = [key for key, (_, needed, _) in STUDY_KEYS.items() if needed and key not in record]
    if missing:
        raise StoreError(f"{path}: has no {', '.join(missing)}, so it describes no study")
    for fault in _faults(record):
        raise StoreError(f"{path}: {fault}")
    return record


def factors_of(record: Mapping[str, Any]) -> tuple[Factor, ...]:
    """The factors of a record that has been checked."""
    return tuple(factor_from_record(factor) for factor in record["factors"])


def design_of(record: Mapping[str, Any]) -> Design:
    """The design of a record that has been checked."""
    return parse_design(_design_table(record), factors_of(record))


def _design_table(record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record has of the table `[design]`."""
    return {key: record[key] for key in ("replications", "seed", "sequence") if key in record}


def check_columns(schema: pa.Schema, record: Mapping[str, Any], path: Path) -> None:
    """Raises StoreError unless a table of runs has the columns of its design, and the responses."""
    for name in ("run", "replication", *(n for f in factors_of(record) for n in (f.name, *f.settings))):
        if schema.names.count(name) != 1:
            many = "no" if name not in schema.names else "more than one"
            raise StoreError(f"{path}: has {many} column {_short(name)}, which its {STUDY_JSON} names")
    for name in ("completed", "error", "time_ns"):
        if schema.names.count(name) != 1:
            raise StoreError(f"{path}: has no column {name}, so it is not a table of runs")
    known = {**run_columns(), **responses()}
    for name in known.keys() & set(schema.names):
        test, what = _test(known[name])
        if schema.names.count(name) != 1 or not test(schema.field(name).type):
            raise StoreError(f"{path}: its column {name} has no {what}")


_Test = tuple[Callable[[pa.DataType], bool], str]
"""Whether a column has what it must have, and what that is."""

_NUMBERS: _Test = (pa.types.is_integer, "whole numbers")

_TRUTHS: _Test = (pa.types.is_boolean, "truth values")

_TEXTS: _Test = (lambda kind: kind in (pa.string(), pa.large_string(), pa.null()), "texts")


def _test(column: Column) -> _Test:
    if column.is_number:
        return _NUMBERS
    return _TRUTHS if column.type == "|b1" else _TEXTS


def _faults(record: dict[str, Any]) -> Iterator[str]:
    """What is wrong, each with its key; what comes later relies on what comes first."""
    for key, (kind, needed, _) in STUDY_KEYS.items():
        value = record.get(key)
        if value is None and not needed:
            if key != "file":  # which is null where there was none
                record.pop(key, None)
        elif not _is(value, kind):
            yield f"{key}: {_short(value)} is not {_KINDS[kind]}"
    for key in ("name", "backend", "version"):
        if not record[key].strip() or len(record[key]) > LONGEST_NAME:
            yield f"{key}: {_short(record[key])} is empty or longer than {LONGEST_NAME} characters"
    for key, (kind, _, _) in STUDY_KEYS.items():
        if kind == "string" and len(record.get(key) or "") > LONGEST_TEXT:
            yield f"{key}: is longer than {LONGEST_TEXT} characters"
    yield from _of_scenario(record["scenario"])
    yield from _of_design(record)
    yield from _of_lists(record)


def _of_scenario(scenario: dict[str, Any]) -> Iterator[str]:
    """The shape that every scenario has had; the native code knows its keys, and judges before it runs."""
    for key in ("hosts", "path", "alternate"):
        if not isinstance(scenario.get(key) or {}, dict):
            yield f"scenario.{key}: {_short(scenario[key])} is not a table"
    for name, host in (scenario.get("hosts") or {}).items():
        if not isinstance(host, dict):
            yield f"scenario.hosts.{name}: {_short(host)} is not a table"
        else:
            yield from _of_stack(f"scenario.hosts.{name}.stack", host.get("stack"))
    transfers = scenario.get("transfers", [])
    if not isinstance(transfers, list):
        yield f"scenario.transfers: {_short(transfers)} is not a list"
        return
    for number, transfer in enumerate(transfers):
        if not isinstance(transfer, dict):
            yield f"scenario.transfers[{number}]: {_short(transfer)} is not a table"


def _of_stack(key: str, stack: Any) -> Iterator[str]:
    """A record has the content of profiles; the name of a file would have one of the reader's read."""
    while isinstance(stack, dict):
        stack, key = stack.get("inherits"), f"{key}.inherits"
    if is_file(stack):
        yield f"{key}: {_short(stack)} names a file; a record has the profile itself"


def _of_design(record: dict[str, Any]) -> Iterator[str]:
    factors = []
    for number, one in enumerate(record["factors"]):
        key = f"factors[{number}]"
        name = one.get("name") if isinstance(one, dict) else None
        if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
            yield f"{key}: {_short(one)} is not a factor with a name"
            return
        try:
            factors.append(factor_from_record(one))
        except RexmitError as error:
            yield f"{key}: {error}"
            return
        yield from _of_levels(key, factors[-1])
    names = Counter(name for factor in factors for name in (factor.name, *factor.settings))
    for name, times in names.items():
        if times > 1:
            yield f"factors: {_short(name)} appears twice"
    try:
        runs = parse_design(_design_table(record), factors).runs
    except RexmitError as error:
        yield str(error)
        return
    if record["runs"] != runs:
        yield f"runs: {record['runs']} are not the {runs} of its factors and replications"


def _of_levels(key: str, factor: Factor) -> Iterator[str]:
    """Levels that would have a profile read."""
    for number in range(len(factor.levels)):
        for setting, value in factor.assigned(number).items():
            for stack in stacks_of(setting, value):
                yield from _of_stack(f"{key}: {setting}", stack)


def _of_lists(record: dict[str, Any]) -> Iterator[str]:
    for number, seed in enumerate(record.get("seeds", [])):
        if not _is(seed, "integer") or not 0 <= seed <= LARGEST_SEED:
            yield f"seeds[{number}]: {_short(seed)} is not a seed from 0 to {LARGEST_SEED}"
    if "seeds" in record and not record["seeds"]:
        yield "seeds: is empty"
    for number, patch in enumerate(record.get("patches", [])):
        if not isinstance(patch, str):
            yield f"patches[{number}]: {_short(patch)} is not text"
    for number, kernel in enumerate(record.get("kernels", [])):
        if not isinstance(kernel, dict) or not isinstance(kernel.get("hash"), str):
            yield f"kernels[{number}]: {_short(kernel)} is not a kernel with a hash"
    try:
        shard = shard_of(record)
        if shard is not None:
            runs_of(shard, record["runs"])
    except RexmitError as error:
        yield str(error)


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, _TYPES[kind]) and not (kind == "integer" and isinstance(value, bool))


_TYPES: dict[str, type] = {"string": str, "integer": int, "array": list, "object": dict}
_KINDS = {"string": "text", "integer": "a whole number", "array": "a list", "object": "a table"}


def _short(value: Any) -> str:
    text = one_line(repr(value))
    return text if len(text) <= 60 else f"{text[:57]}..."
