"""The path of an emulation from a file and from dotted options such as `--down.drop 18`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.errors import StudyError, UsageError, nearest, one_line
from rexmit.inputs import STUDY, read_toml
from rexmit.study.keys import nearest_key
from rexmit.study.settings import Table, get_setting, parse_value, with_setting
from rexmit.study.spec import parse_spec
from rexmit.study.traces import place_traces_of_path

Setting = tuple[str, Any]
"""A dotted name below the path, and its value."""

DIRECTIONS = ("down", "up")
TRACE = "trace"
"""An option of its own: `--down.trace FILE` is the key `down.rate` with that trace."""


def split_settings(arguments: Sequence[str], own: dict[str, bool]) -> tuple[list[str], list[Setting]]:
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
        setting = _setting(name.removeprefix("--"), own)
        if not equals:
            if not waiting:
                raise UsageError(f"{name} needs a value")
            value = waiting.pop(0)
        if "loss" in setting.split("."):
            _check_unit(name, value)
        settings.append(_named(setting, value))
    return rest, settings


def _named(setting: str, value: str) -> Setting:
    """A setting with the value of its option; a trace becomes a rate."""
    way, _, key = setting.rpartition(".")
    if key == TRACE and way in ("", *DIRECTIONS):
        return f"{way}.rate".removeprefix("."), {"trace": value}
    return setting, parse_value(value)


def read_path(file: Path | None, settings: Sequence[Setting]) -> dict[str, Any]:
    """The path of a file, changed by settings, and checked: as the native code wants it.

    Raises UsageError with one line that names the key and what is allowed.
    """
    path, varied = ({}, []) if file is None else _from_file(file, read_file(file))
    try:
        if file is not None:
            path = place_traces_of_path(path, file.parent)
        for name, value in sorted(settings, key=lambda setting: _is_of_one_way(setting[0])):
            path = _with(path, name, value)
        path = place_traces_of_path(path, Path())
        _native.check_path(json.dumps(path))
    except (ValueError, TypeError, StudyError) as error:
        raise UsageError(one_line(error)) from None
    for name in varied:
        both = name.split(".", 1)[1] if _is_of_one_way(name) else name
        if get_setting(path, name) is None and get_setting(path, both) is None:
            raise UsageError(
                f"{file}: varies path.{name}, and an emulation has one path: choose a level, "
                f"as --{name} VALUE"
            )
    return path


def read_file(file: Path) -> Table:
    """What the file of an emulation holds."""
    try:
        return read_toml(file, STUDY)
    except OSError as error:
        raise UsageError(f"{file}: cannot be read: {one_line(error.strerror or error)}") from None


def describe(path: dict[str, Any]) -> str:
    """A path in a few words: the prompt's hint."""
    first = [key for key in ("rate", "delay", "queue") if key in path]
    keys = [*first, *(key for key in path if key not in (*first, *DIRECTIONS))]
    words = [_in_words(key, path[key]) for key in keys]
    words += [f"{key}: {', '.join(path[key])}" for key in DIRECTIONS if path.get(key)]
    return ", ".join(words) or "a path without limits"


def _in_words(key: str, value: Any) -> str:
    if isinstance(value, dict) and isinstance(value.get("trace"), dict):
        return f"{key} of {Path(value['trace']['file']).name}"
    return f"{key} {value}" if isinstance(value, str | int) else key


def _setting(name: str, own: dict[str, bool]) -> str:
    """The setting that an option names: one of the path for both directions, or one of a direction."""
    bare = name.removeprefix("path.")
    keys = _keys()
    if bare.split(".")[0] in (*keys, TRACE):
        return bare
    dotted = [f"{direction}.{key}" for direction in DIRECTIONS for key in keys if key not in DIRECTIONS]
    traces = [TRACE, *(f"{direction}.{TRACE}" for direction in DIRECTIONS)]
    known = [*own, *(f"--{key}" for key in (*keys, *dotted, *traces))]
    raise UsageError(f"no such option: --{one_line(name)}{_near(f'--{bare}', known)}")


def _check_unit(option: str, text: str) -> None:
    """Refuses a probability as a number alone: 1 is 100 %, and seldom meant."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return
    if number:
        percent = f"{(number * 100).normalize():f}"
        raise UsageError(
            f"{option} {one_line(text)}: give its unit: '{number:f} %', "
            f"or '{percent} %' for the probability {number:f}"
        )


def _is_of_one_way(name: str) -> bool:
    return name.partition(".")[0] in DIRECTIONS


def _with(path: Table, name: str, value: Any) -> Table:
    """The path with a setting. One without a direction is for both, whatever the path says of either."""
    key, _, inside = name.partition(".")
    own = [way for way in DIRECTIONS if isinstance(path.get(way), dict) and key in path[way]]
    if _is_of_one_way(name) or not own:
        return with_setting(path, name, value)
    if inside:
        for way in own:
            path = with_setting(path, f"{way}.{name}", value)
        return with_setting(path, name, value) if key in path else path
    path = with_setting(path, name, value)
    for way in own:
        del path[way][key]
    return path


def _near(word: str, known: Sequence[str]) -> str:
    front, _, key = word.removeprefix("--").rpartition(".")
    if meant := _native.meant(key, _keys()):
        return f"; did you mean {f'--{front}.{meant}' if front else f'--{meant}'!r}?"
    hint = nearest(word, known)
    return hint if "did you mean" in hint else "; `rexmit emulate --help` lists them"


def _keys() -> list[str]:
    """The keys of a path, among them its two directions."""
    return list(json.loads(_native.schema())["$defs"]["PathSpec"]["properties"])


def _from_file(file: Path, table: Table) -> tuple[Table, list[str]]:
    """The path of a study, of a scenario, or of a file that is one itself; what of it the study varies."""
    varied: list[str] = []
    if isinstance(table.get("scenario"), dict):
        design = parse_spec(table, file.stem, file).design
        names = [name for factor in design.factors for name in (factor.settings or (factor.name,))]
        varied = [name.removeprefix("path.") for name in names if name.startswith("path.")]
        table = table["scenario"]
        if "path" not in table and not varied:
            raise UsageError(f"{file}: its scenario has no path")
        table.setdefault("path", {})
    if "path" not in table:
        return table, varied
    for name, known in _unknown(table):
        key = name.rpartition(".")[2]
        raise StudyError(f"{file}: {name}: unknown key {key!r}{nearest_key(key, known)}")
    path = table["path"]
    if not isinstance(path, dict):
        raise StudyError(f"{file}: path: holds {path!r}, not a table")
    return path, varied


def _unknown(scenario: Table) -> Iterator[tuple[str, list[str]]]:
    """Keys that no scenario has, with those that may stand there; the path is checked by itself."""
    schema = json.loads(_native.schema())
    # What a whole scenario needs is not among these.
    schema.pop("anyOf", None)
    definitions = schema["$defs"]

    def tables(part: Table) -> Iterator[Table]:
        found = definitions.get(str(part.get("$ref", "")).rpartition("/")[2], part)
        for one in found.get("anyOf", []):
            yield from tables(one)
        if "properties" in found:
            yield found

    def walk(value: Any, part: Table, name: str) -> Iterator[tuple[str, list[str]]]:
        if isinstance(value, list) and isinstance(part.get("items"), dict):
            for n, one in enumerate(value):
                yield from walk(one, part["items"], f"{name}{n}.")
        known = {key: inside for table in tables(part) for key, inside in table["properties"].items()}
        open_ = any(table.get("additionalProperties") is not False for table in tables(part))
        for key, inside in value.items() if isinstance(value, dict) and known else ():
            if key in known:
                yield from walk(inside, known[key], f"{name}{key}.")
            elif not open_:
                yield f"{name}{key}", list(known)

    return walk({key: value for key, value in scenario.items() if key != "path"}, schema, "")
