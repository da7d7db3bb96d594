"""The path of an emulation from a file and from dotted options such as `--down.drop 18`."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.errors import StudyError, UsageError, nearest, one_line
from rexmit.study.settings import parse_value, with_setting

Setting = tuple[str, Any]
"""A dotted name below the path, and its value."""

DIRECTIONS = ("down", "up")


def split_settings(
    arguments: Sequence[str], own: dict[str, bool]
) -> tuple[list[str], list[Setting]]:
    """The arguments without those that are settings of a path, and these.

    `own` names the command's own options and says of each whether a value follows.
    """
    rest: list[str] = []
    settings: list[Setting] = []
    waiting = list(arguments)
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("--") or name in own:
            rest.append(word)
            if own.get(name, False) and not equals and waiting:
                rest.append(waiting.pop(0))
            continue
        names = _names(name.removeprefix("--"), own)
        if not equals:
            if not waiting:
                raise UsageError(f"{name} needs a value")
            value = waiting.pop(0)
        settings += [(one, parse_value(value)) for one in names]
    return rest, settings


def read_path(file: Path | None, settings: Sequence[Setting]) -> dict[str, Any]:
    """The path of a file, changed by settings, and checked: as the native code wants it.

    Raises UsageError with one line that names the key and what is allowed.
    """
    path = {} if file is None else _from_file(file)
    try:
        for name, value in settings:
            path = with_setting(path, name, value)
        _native.check_path(json.dumps(path))
    except (ValueError, TypeError) as error:
        raise UsageError(one_line(error)) from None
    return path


def describe(path: dict[str, Any]) -> str:
    """A path in a few words: the prompt's hint."""
    words = [f"{key} {path[key]}" for key in ("rate", "delay", "queue") if key in path]
    words += [f"{key}: {', '.join(path[key])}" for key in DIRECTIONS if path.get(key)]
    return ", ".join(words) or "a path without limits"


def _names(name: str, own: dict[str, bool]) -> list[str]:
    """The settings that an option stands for: a key of a direction alone is for both."""
    whole, one_way = _keys()
    bare = name.removeprefix("path.")
    first = bare.split(".")[0]
    if first in whole:
        return [bare]
    if first in one_way:
        return [f"{direction}.{bare}" for direction in DIRECTIONS]
    dotted = [f"{direction}.{key}" for direction in DIRECTIONS for key in one_way]
    known = [*own, *(f"--{key}" for key in (*whole, *one_way, *dotted))]
    raise UsageError(f"no such option: --{one_line(name)}{_near(f'--{bare}', known)}")


def _near(word: str, known: Sequence[str]) -> str:
    hint = nearest(word, known)
    return hint if "did you mean" in hint else "; `rexmit emulate --help` lists them"


def _keys() -> tuple[list[str], list[str]]:
    """The keys of a path and those of its directions."""
    definitions = json.loads(_native.schema())["$defs"]
    whole = list(definitions["PathSpec"]["properties"])
    one_way = [key for key in definitions["DirectionOverride"]["properties"] if key not in whole]
    return whole, one_way


def _from_file(file: Path) -> dict[str, Any]:
    """The path of a study, of a scenario, or of a file that is a path itself."""
    try:
        table: Any = tomllib.loads(file.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file}: cannot be read: {one_line(reason)}") from None
    if isinstance(table.get("scenario"), dict):
        table = table["scenario"]
        if "path" not in table:
            raise UsageError(f"{file}: its scenario has no path")
    path = table.get("path", table)
    if not isinstance(path, dict):
        raise StudyError(f"{file}: path: holds {path!r}, not a table")
    return path
