"""All slips of a study at once: each is found as a run would find the first, mended, and looked past.

A wrong key is taken for the one that was meant, or left out; a wrong value too. What is then wrong because
of a repair (a host without its stack) lies in the same table as a reported slip, and is not reported.
"""

from __future__ import annotations

import copy
import difflib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rexmit import _native
from rexmit.errors import StudyError, StudySlips, one_line
from rexmit.inputs import STUDY, read_text
from rexmit.study.lines import key_lines, line_of
from rexmit.study.settings import Table

if TYPE_CHECKING:
    from rexmit.study.spec import StudySpec

MOST = 30
"""The most slips of a file that are reported."""

MOST_LEVELS = 100
"""The most levels of a factor that are looked at."""

Parse = Callable[[Table], "StudySpec"]

_KEY = re.compile(r'((?:[\w-]+|"[^"]*")(?:\.(?:[^\s.:"]+|"[^"]*"))*): (.+)', re.DOTALL)
_UNKNOWN = re.compile(r"unknown key [`']([^`']+)[`']")
_MEANT = re.compile(r"did you mean [`'\"]([^`'\"]+)[`'\"]\?")
_MISSING = re.compile(r"`(\w+)` is missing")
_ALL_KNOWN = re.compile(r"(did you mean `[^`]+`\?); known here: .*", re.DOTALL)
_FILLED = {"stack": "linux-6.1", "writes": "1 x 1 byte", "rate": "1 Mbit/s"}
"""What a table cannot do without, in place of a value that is wrong."""


@dataclass(frozen=True)
class Slip:
    """What is wrong at a key (empty: at the whole), and what to write.

    `place` is where the key stands in the file, which is not where the scenario has it.
    """

    key: str
    place: str
    message: str
    level: int | None = None
    instead_of: str = ""
    """The error that it causes, where that names something else: the key missing because of it."""


def with_all_slips(
    error: StudyError, table: Table, path: Path | None, parse: Parse, where: str
) -> StudyError:
    """An error that reports all slips of a study, each with its line where the file of the study has it.

    `error` is that of the first; it is reported as it is where no more can be said. `where` names the study.
    """
    try:
        slips = list(_slips(copy.deepcopy(table), parse))
    except RecursionError:
        slips = []
    first = str(error).removeprefix(f"{where}: ")
    if not any(first.endswith(slip.message) or slip.instead_of == first for slip in slips):
        slips.insert(0, _slip(first, table, None))
    lines, file = _lines(path)
    places = {slip: _line(slip, lines, file, table) for slip in slips}
    slips.sort(key=lambda slip: places[slip] or 0)
    told = []
    for slip in slips:
        line = "" if places[slip] is None else f":{places[slip]}"
        message = _ALL_KNOWN.sub(r"\1", slip.message) if len(slips) > 1 else slip.message
        told.append(f"{where}{line}: {f'{slip.key}: ' if slip.key else ''}{message}")
    return StudySlips(tuple(map(one_line, told)))


def _lines(path: Path | None) -> tuple[dict[str, int], Table]:
    """The lines of the keys of a file, and what it holds; nothing where it cannot be read any more."""
    if path is None:
        return {}, {}
    # Loaded when something is wrong.
    import tomllib

    try:
        text = read_text(path, STUDY)
        return key_lines(text), tomllib.loads(text)
    except (StudyError, OSError, ValueError):
        return {}, {}


def _line(slip: Slip, lines: dict[str, int], file: Table, table: Table) -> int | None:
    """The line of a slip; None for what the file does not say, such as a setting of the command line."""
    steps, wanted = _find(file, slip.place), _find(table, slip.place)
    if steps is None and wanted is None:
        return line_of(lines, slip.place)
    if steps is None or (wanted is not None and _value(file, steps) != _value(table, wanted)):
        return None
    own = f"{slip.place}.{slip.level}" if slip.level is not None else slip.place
    return line_of(lines, own)


def _slips(table: Table, parse: Parse) -> Iterator[Slip]:
    """The slips of a study one after another; the table is mended on the way."""
    told: list[str] = []
    meant: dict[str, str] = {}
    for _ in range(2 * MOST):
        slip = _first(table, parse)
        if slip is None or len(told) >= MOST:
            return
        follows = any(_related(slip.place, other) or _lacks(slip, other) for other in told)
        if not follows:
            told.append(slip.place)
            yield replace(slip, key=_as_written(slip.key, meant), place=_as_written(slip.place, meant))
        if not _mend(table, slip, meant, prune=follows):
            return


def _as_written(key: str, meant: dict[str, str]) -> str:
    """A key as the file has it, which has another word for a part of it."""
    for new, old in meant.items():
        if key == new or key.startswith(f"{new}."):
            return old + key[len(new) :]
    return key


def _lacks(slip: Slip, place: str) -> bool:
    """Whether it says that what stood at `place`, which mending has left out, is missing."""
    missing = _MISSING.match(slip.message)
    around = slip.place or "scenario"
    return missing is not None and place == f"{around}.{missing[1]}"


def _related(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _first(table: Table, parse: Parse) -> Slip | None:
    """The first slip of a study, None where there is none."""
    try:
        spec = parse(table)
    except StudyError as error:
        return _slip(str(error), table, None)
    for scenario, name, level in _scenarios(spec):
        try:
            _native.resolve(json.dumps(scenario, default=str))
        except ValueError as error:
            return _slip(str(error), table, (name, level))
    return None


def _scenarios(spec: StudySpec) -> Iterator[tuple[Table, str, int]]:
    """The first run's scenario, and those that have another level of one factor."""
    # One factor at a time: the levels of several together are too many.
    design = spec.design
    yield spec.scenario_of(0), "", 0
    here = [0] * len(design.factors)
    for at, factor in enumerate(design.factors):
        for level in range(1, min(len(factor.levels), MOST_LEVELS)):
            number = design.number([*here[:at], level, *here[at + 1 :]])
            yield spec.scenario_of(number), factor.name, level


def _slip(text: str, table: Table, level: tuple[str, int] | None) -> Slip:
    """What an error says, and where the study has the key that it names."""
    found = _KEY.fullmatch(text)
    key, message = (found[1], found[2]) if found else ("", text)
    place = _place(key, table)
    unknown = _UNKNOWN.match(message)
    if unknown and not _ends(key, unknown[1]):
        place = f"{place}.{unknown[1]}" if place else unknown[1]
    if missing := _MISSING.match(message):
        return _misspelt(Slip(key, place, message), missing[1], table, text)
    factor, number = level or ("", 0)
    varied = _factor_of(key, table, factor)
    # A level counts before what the scenario says of the same setting.
    if varied is not None and (varied in (factor, key) or _find(table, f"scenario.{key}") is None):
        return Slip(key, f"vary.{varied}", message, number if varied == factor else 0)
    return Slip(key, place, message)


def _misspelt(slip: Slip, name: str, table: Table, text: str) -> Slip:
    """A missing key, as the slip for the misspelt one that its table has instead, if there is one."""
    steps = _find(table, slip.place)
    around = None if steps is None else _value(table, steps)
    near = difflib.get_close_matches(name, map(str, around), 1) if isinstance(around, dict) else []
    if not near:
        return slip
    message = f"unknown key `{near[0]}`: did you mean `{name}`?"
    return Slip(f"{slip.key}.{near[0]}", f"{slip.place}.{near[0]}", message, instead_of=text)


def _ends(key: str, name: str) -> bool:
    return key == name or key.endswith(f".{name}")


def _place(key: str, table: Table) -> str:
    own = key.partition(".")[0] in ("scenario", "vary", "design", "responses")
    alone = "." not in key and key in table
    return key if not key or own or alone else f"scenario.{key}"


def _factor_of(key: str, table: Table, first: str) -> str | None:
    """The factor that varies this setting, one in it, or one around it."""
    names: dict[str, list[str]] = {}
    for name, given in _flat(table.get("vary", {})):
        together = given.get("together") if isinstance(given, dict) else None
        names[name] = list(together) if isinstance(together, dict) else [name]
    order = [first] * (first in names) + [name for name in names if name != first]
    return next((name for name in order if any(_related(key, one) for one in names[name])), None)


def _flat(vary: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    from rexmit.study.factors import is_levels

    for key, value in vary.items() if isinstance(vary, dict) else ():
        if isinstance(value, dict) and value and "." not in key and not is_levels(value):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _mend(table: Table, slip: Slip, meant: dict[str, str], prune: bool) -> bool:
    """Takes a slip out of a study, or puts what was meant there; False where nothing can be done.

    With `prune` what was done before was not enough: more is left out.
    """
    steps = _find(table, slip.place)
    if steps is None or not steps:
        return False
    around, last = _value(table, steps[:-1]), steps[-1]
    missing = _MISSING.match(slip.message)
    if missing and missing[1] in _FILLED and isinstance(around[last], dict) and not prune:
        around[last][missing[1]] = _FILLED[missing[1]]
        return True
    near = _MEANT.search(slip.message)
    if _UNKNOWN.match(slip.message):
        return _rename(around, last, slip, near[1] if near else None, meant)
    if slip.place.startswith("vary."):
        value = around[last]
        if isinstance(value, list) and len(value) > 1 and not prune:
            del value[slip.level or 0]
        else:
            del around[last]
        return True
    if prune or isinstance(around, list):
        if len(steps) < 3 or (len(steps) == 3 and isinstance(around[last], dict)):
            return False
        del around[last]
    elif near and isinstance(around[last], str):
        around[last] = near[1]
    elif (host := _host(table, last, around)) is not None:
        around[last] = host
    elif last in _FILLED:
        around[last] = _FILLED[last]
    else:
        del around[last]
    return True


def _rename(around: Any, last: Any, slip: Slip, near: str | None, meant: dict[str, str]) -> bool:
    """Takes a key that is not known for the one that was meant, or leaves it out."""
    value = around.pop(last)
    # A factor has its whole name as its key.
    name = None if near is None else _swapped(last, near) if slip.place.startswith("vary.") else near
    if name is None or name in around or ("." in name and not slip.place.startswith("vary.")):
        return True
    around[name] = value
    old = slip.place
    new = f"{old.removesuffix(last)}{name}"
    meant[new] = old
    for head in ("scenario.", "vary."):
        if old.startswith(head):
            meant[new.removeprefix(head)] = old.removeprefix(head)
    return True


def _swapped(name: str, near: str) -> str:
    head, dot, _ = name.rpartition(".")
    return f"{head}{dot}{near}"


def _host(table: Table, key: Any, around: Table) -> str | None:
    """A host in place of a name that is not one: not the one at the other end."""
    hosts = table.get("scenario", {}).get("hosts")
    if key not in ("from", "to") or not isinstance(hosts, dict):
        return None
    other = around.get("to" if key == "from" else "from")
    return next((host for host in hosts if host != other), None)


def _find(table: Any, key: str) -> list[Any] | None:
    """The keys that lead to a dotted name; one of them may hold several of its parts."""
    if not key:
        return []
    if isinstance(table, list):
        head, _, rest = key.partition(".")
        if not head.isdecimal() or int(head) >= len(table):
            return None
        found = _find(table[int(head)], rest)
        return None if found is None else [int(head), *found]
    for name, value in table.items() if isinstance(table, dict) else ():
        if key == name or key.startswith(f"{name}."):
            found = _find(value, key[len(name) + 1 :])
            if found is not None:
                return [name, *found]
    return None


def _value(table: Any, steps: list[Any]) -> Any:
    for step in steps:
        table = table[step]
    return table
