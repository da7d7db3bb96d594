"""Traces of links given by a file: absolute paths, and the hash of what each holds in a study's record.

A trace may be larger than memory, so its content does not take the place of its name, as that of a profile
does. The hash does: a run with another content is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.errors import StudyError, one_line
from rexmit.inputs import FLOWS, read_bytes
from rexmit.study.factors import TOGETHER, Factor
from rexmit.study.network import paths_of
from rexmit.study.settings import Table, with_setting

_KEYS = ("rate", "changes")
_PATH = r"(?:path|alternate|links\.[^.]+|hosts\.[^.]+\.access)"
_WAY = r"(?:\.(?:down|up)|\.from\.[^.]+)?"
_SETTING = re.compile(rf"{_PATH}{_WAY}(?:\.(rate|changes))?(?:\.(trace))?")
_FLOWS = re.compile(r"transfers\.\d+\.flows(?:\.(file|size))?(?:\.cdf)?")


def place_traces(scenario: Table, folder: Path) -> Table:
    """The scenario with each trace's absolute path and hash; `folder` is where names start from.

    Raises StudyError naming the setting, the file, the line in it and what to write.
    """
    placed: Table = dict(scenario)
    for name, path in paths_of(scenario):
        placed = with_setting(placed, name, place_traces_of_path(path, folder, name))
    transfers = scenario.get("transfers")
    for number, transfer in enumerate(transfers if isinstance(transfers, list) else ()):
        if isinstance(transfer, dict) and isinstance(transfer.get("flows"), dict):
            name = f"transfers.{number}.flows"
            placed = with_setting(placed, name, _placed_flows(transfer["flows"], folder, name))
    return placed


def place_traces_of_path(path: Table, folder: Path, name: str = "path") -> Table:
    """The same of one path, whose setting in a scenario is `name`."""
    placed = dict(path)
    for key in _KEYS:
        if key in path:
            placed[key] = _placed(path[key], folder, f"{name}.{key}")
    for way in ("down", "up"):
        if isinstance(path.get(way), dict):
            placed[way] = place_traces_of_path(path[way], folder, f"{name}.{way}")
    if isinstance(ends := path.get("from"), dict):
        own = {end: table for end, table in ends.items() if isinstance(table, dict)}
        made = {end: place_traces_of_path(own[end], folder, f"{name}.from.{end}") for end in own}
        placed["from"] = {**ends, **made}
    return placed


def _placed_flows(flows: Table, folder: Path, name: str) -> Table:
    """The flows of a transfer with the absolute paths and hashes of the files that they name."""
    placed = dict(flows)
    if "file" in flows:
        placed["file"] = _whole_table(flows["file"], folder, f"{name}.file")
    size = flows.get("size")
    if isinstance(size, dict) and "cdf" in size:
        placed["size"] = {**size, "cdf": _whole_table(size["cdf"], folder, f"{name}.size.cdf")}
    return placed


def place_levels(factor: Factor, folder: Path) -> Factor:
    """The factor with absolute paths and hashes in its levels; the labels stay as written."""
    if factor.settings:
        levels: list[Any] = [
            {TOGETHER: {name: _level(value, name, folder) for name, value in level[TOGETHER].items()}}
            for level in factor.levels
        ]
    else:
        levels = [_level(level, factor.name, folder) for level in factor.levels]
    return factor if levels == list(factor.levels) else replace(factor, levels=tuple(levels))


def trace_files(scenario: Mapping[str, Any], factors: Sequence[Factor]) -> tuple[Path, ...]:
    """The files of all traces of a study, whose paths are absolute."""
    levels = [level for factor in factors if _names_files(factor) for level in factor.levels]
    paths = [path for _, path in paths_of(scenario)]
    found = dict.fromkeys(_files([*paths, scenario.get("transfers"), *levels]))
    return tuple(map(Path, found))


def _names_files(factor: Factor) -> bool:
    """Whether it may vary a file."""
    return any(
        _SETTING.fullmatch(name) or name.startswith("transfers.")
        for name in (factor.settings or (factor.name,))
    )


def _files(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and set(value) == {"file", "sha256"}:
        yield value["file"]
    elif isinstance(value, Mapping | list):
        for inside in value.values() if isinstance(value, Mapping) else value:
            yield from _files(inside)


def _level(level: Any, name: str, folder: Path) -> Any:
    """A level of the setting `name`: a trace's name, its table, or a table of a path with some in it."""
    where = f"vary.{name}"
    if flows := _FLOWS.fullmatch(name):
        if isinstance(level, dict) and flows.group(1) is None:
            return _placed_flows(level, folder, where)
        if name.endswith((".file", ".cdf")):
            return _whole_table(level, folder, where)
        return _placed_flows({"size": level}, folder, where)["size"]
    found = _SETTING.fullmatch(name)
    if found is None:
        return level
    key, trace = found.groups()
    if trace is not None:
        return _whole(level, folder, where)
    if key is not None:
        return _placed(level, folder, where)
    if not isinstance(level, dict):
        return level
    return place_traces_of_path(level, folder, where)


def _placed(value: Any, folder: Path, name: str) -> Any:
    if isinstance(value, dict) and "trace" in value:
        return {**value, "trace": _whole(value["trace"], folder, name)}
    return value


def _whole_table(name: Any, folder: Path, setting: str) -> Any:
    """The absolute path of a file of a transfer, with its hash; one that has a hash keeps it."""
    if not isinstance(name, str):
        return name
    path = Path(os.path.abspath(folder / Path(name).expanduser()))
    try:
        content = read_bytes(path, FLOWS)
    except StudyError as error:
        raise StudyError(f"{setting}: {error}") from None
    except OSError as error:
        raise StudyError(f"{setting}: cannot read {path}: {error.strerror}") from None
    return {"file": str(path), "sha256": hashlib.sha256(content).hexdigest()}


def _whole(trace: Any, folder: Path, name: str) -> Any:
    """A trace's absolute path, with the hash of what the file holds now; one that has a hash keeps it."""
    if not isinstance(trace, str):
        return trace
    path = os.path.abspath(folder / Path(trace).expanduser())
    try:
        about = json.loads(_native.trace_about(path))
    except ValueError as error:
        raise StudyError(f"{name}: {one_line(error)}") from None
    return {"file": path, "sha256": about["sha256"]}
