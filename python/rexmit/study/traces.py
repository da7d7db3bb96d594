"""Traces of links given by a file: whole names, and the hash of what each holds in a study's record.

A trace may be larger than memory, so its content does not take the place of its name, as that of a profile
does. The hash does: a run with another content is refused.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.errors import StudyError, one_line
from rexmit.study.factors import TOGETHER, Factor
from rexmit.study.settings import Table

_PATHS = ("path", "alternate")
_KEYS = ("rate", "changes")
_SETTING = re.compile(r"(?:path|alternate)(?:\.(?:down|up))?(?:\.(rate|changes))?(?:\.(trace))?")


def place_traces(scenario: Table, folder: Path) -> Table:
    """The scenario with each trace's whole name and hash; `folder` is where names start from.

    Raises StudyError naming the setting, the file, the line in it and what to write.
    """
    placed = dict(scenario)
    for name in _PATHS:
        if isinstance(scenario.get(name), dict):
            placed[name] = place_traces_of_path(scenario[name], folder, name)
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
    return placed


def place_levels(factor: Factor, folder: Path) -> Factor:
    """The factor with whole names and hashes in its levels; the labels stay as written."""
    if factor.settings:
        levels: list[Any] = [
            {TOGETHER: {name: _level(value, name, folder) for name, value in level[TOGETHER].items()}}
            for level in factor.levels
        ]
    else:
        levels = [_level(level, factor.name, folder) for level in factor.levels]
    return factor if levels == list(factor.levels) else replace(factor, levels=tuple(levels))


def trace_files(scenario: Mapping[str, Any], factors: Sequence[Factor]) -> tuple[Path, ...]:
    """The files of all traces of a study, whose names are whole."""
    levels = [level for factor in factors if _is_of_path(factor) for level in factor.levels]
    found = dict.fromkeys(_files([*(scenario.get(name) for name in _PATHS), *levels]))
    return tuple(map(Path, found))


def _is_of_path(factor: Factor) -> bool:
    return any(name.startswith(_PATHS) for name in (factor.settings or (factor.name,)))


def _files(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping) and set(value) == {"file", "sha256"}:
        yield value["file"]
    elif isinstance(value, Mapping | list):
        for inside in value.values() if isinstance(value, Mapping) else value:
            yield from _files(inside)


def _level(level: Any, name: str, folder: Path) -> Any:
    """A level of the setting `name`: a trace's name, its table, or a table of a path with some in it."""
    found = _SETTING.fullmatch(name)
    if found is None:
        return level
    key, trace = found.groups()
    where = f"vary.{name}"
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


def _whole(trace: Any, folder: Path, name: str) -> Any:
    """The name of a trace, whole, with the hash of what the file holds now; one that has a hash keeps it."""
    if not isinstance(trace, str):
        return trace
    path = os.path.abspath(folder / Path(trace).expanduser())
    try:
        about = json.loads(_native.trace_about(path))
    except ValueError as error:
        raise StudyError(f"{name}: {one_line(error)}") from None
    return {"file": path, "sha256": about["sha256"]}
