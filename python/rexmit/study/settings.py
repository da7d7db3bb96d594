"""Dotted names of settings in nested tables: `path.down.rate`, `transfers.0.writes`.

The native code has the same rule (`crates/scenario/src/settings.rs`), by which it sets a run's levels. It is
not asked here: these are tables of a study as its file says it, in TOML's types, before files of profiles
are read into them, and they are written again as TOML; what goes to the native code is JSON. That both give
one scenario is checked wherever a run is repeated (`run/again.py`): its scenario is made here, and its row
must be the stored one.
"""

from __future__ import annotations

from typing import Any

from rexmit.errors import StudyError, one_line
from rexmit.nesting import TooDeepError, parse_toml

Table = dict[str, Any]


def with_setting(table: Table, name: str, value: Any) -> Table:
    """A copy of `table` in which the setting `name` is `value`; missing tables on the way are made.

    A host's stack given by its name becomes a profile that inherits from it when a setting inside it is
    set. Raises StudyError where the name leads through something that is not a table.
    """
    result: Table = _copied(table)
    parts = _parts(name)
    if not all(parts):
        raise StudyError(f"{name!r} is not a dotted name of a setting such as 'path.rate'")
    here: Any = result
    for depth, part in enumerate(parts[:-1]):
        here = _child(here, part, ".".join(parts[: depth + 1]))
    if isinstance(here, list):
        here[_index(here, parts[-1], name)] = value
    else:
        here[parts[-1]] = value
    return result


def _parts(name: str) -> list[str]:
    """The keys on the way to a setting: that of a sysctl has dots itself."""
    tables, sysctl, last = name.partition(".linux.sysctl.")
    return [*tables.split("."), "linux", "sysctl", last] if sysctl else name.split(".")


def _copied(value: Any) -> Any:
    """A copy in which every table is its own: two hosts that are one object in Python are two here."""
    if isinstance(value, dict):
        return {key: _copied(entry) for key, entry in value.items()}
    return [_copied(entry) for entry in value] if isinstance(value, list) else value


def get_setting(table: Table, name: str) -> Any:
    """The value of the setting `name`, or None where there is none."""
    here: Any = table
    for part in _parts(name):
        if isinstance(here, list) and part.isdecimal() and int(part) < len(here):
            here = here[int(part)]
        elif isinstance(here, dict) and part in here:
            here = here[part]
        else:
            return None
    return here


def path_setting(scenario: Table, direction: str, key: str) -> Any:
    """A setting of the path in one direction, `down` or `up`: its own, or that for both; None for neither."""
    path = scenario.get("path", {})
    return path.get(direction, {}).get(key, path.get(key))


def parse_value(text: str) -> Any:
    """A value from a command line: TOML where it is TOML (`3`, `true`, `[1, 2]`, `{ a = 1 }`), else text."""
    try:
        return parse_toml(f"value = {text}")["value"]
    except TooDeepError as error:
        raise StudyError(f"{one_line(text[:40])}...: {error}") from None
    except ValueError:
        return text


def parse_assignment(text: str) -> tuple[str, Any]:
    """`key=value` as given to `--set`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise StudyError(f"--set {one_line(text)!r}: write KEY=VALUE, for instance path.rate='1 Mbit/s'")
    return key.strip(), parse_value(value.strip())


def _child(here: Any, part: str, name: str) -> Any:
    if isinstance(here, list):
        return here[_index(here, part, name)]
    child = here.setdefault(part, {})
    if isinstance(child, str) and part == "stack":
        child = here[part] = {"inherits": child}
    if not isinstance(child, dict | list):
        raise StudyError(f"{name}: holds {child!r}, not a table, so nothing can be set inside it")
    return child


def _index(here: list[Any], part: str, name: str) -> int:
    if not part.isdecimal() or int(part) >= len(here):
        raise StudyError(f"{name}: there is no entry {part!r}; allowed are 0..{len(here) - 1}")
    return int(part)
