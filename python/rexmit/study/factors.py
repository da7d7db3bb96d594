"""Factors: the settings that a study varies, and their levels."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rexmit.errors import StudyError, nearest, one_line
from rexmit.tables import reserved
from rexmit.units import as_numbers

MOST_LEVELS = 1_000_000
"""A range with more levels than this is taken for a slip."""

_RANGE = re.compile(r"(\d{1,18})(?:\.\.(\d{1,18}))?")
TOGETHER = "together"
LEVEL_TABLES = {
    "position": {"position"},
    "range": {"range", "step", "unit"},
    "levels": {"levels", "labels"},
    TOGETHER: {TOGETHER, "labels"},
}

Label = str | int | float | bool


@dataclass(frozen=True)
class Factor:
    """A setting that varies, or several that vary together.

    `name` is the dotted name of the setting. `levels` are the values as the scenario takes them and
    `labels` the same as they stand in a table of results: text, numbers, or JSON text for tables. For several
    settings the name is free, and a level is `{"together": {setting: value, ...}}`.
    """

    name: str
    levels: tuple[Any, ...]
    labels: tuple[Label, ...]

    @property
    def is_position(self) -> bool:
        """True for `{ position = ... }`: the labels are packet positions, 0 for none."""
        return all(_is_position(level) for level in self.levels)

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that vary together; none where the factor is a setting itself."""
        first = self.levels[0]
        return tuple(first[TOGETHER]) if _is_together(first) else ()

    def assigned(self, level: int) -> dict[str, Any]:
        """What the level of this number sets: setting to value."""
        value = self.levels[level]
        return dict(value[TOGETHER]) if self.settings else {self.name: value}

    def columns_of(self, setting: str) -> tuple[Label, ...]:
        """The values of one of the settings that vary together, as they stand in a table of results."""
        return tuple(_label(level[TOGETHER][setting]) for level in self.levels)

    def with_labels(self, labels: Sequence[Any]) -> Factor:
        """The factor with the levels of these labels alone. Raises StudyError for an unknown one."""
        for label in labels:
            if label not in self.labels:
                known = ", ".join(map(str, self.labels))
                told = f"{label!r} is not one of its levels, each of which sets several settings: {known}"
                raise StudyError(f"vary.{self.name}: {told}")
        at = [self.labels.index(label) for label in labels]
        return Factor(self.name, tuple(self.levels[n] for n in at), tuple(self.labels[n] for n in at))

    @property
    def has_own_labels(self) -> bool:
        """True where the labels do not follow from the levels: a profile's file, now its content."""
        return self.labels != tuple(_label(level) for level in self.levels)


def parse_factor(name: str, given: Any) -> Factor:
    """A factor from its entry in `[vary]`.

    Takes a list of values; `{ position = "0..20" }` (also `"0,4,10..12"`), one level for a pattern that hits
    just that packet, 0 for none; `{ range = "10..50", step = 10, unit = "ms" }`;
    `{ levels = [..], labels = [..] }`, values and what a table of results calls them;
    `{ together = { "SETTING" = [..], "SETTING" = [..] }, labels = [..] }`, settings that vary together, the
    first level of each with the first of the others. Raises StudyError for an empty factor, for equal levels
    and for anything else.
    """
    levels = _levels(name, given)
    if not levels:
        raise StudyError(f"vary.{name}: has no levels; give at least one, or remove the line")
    _check_together(name, levels)
    labels = _own_labels(name, given, len(levels)) or tuple(_label(level) for level in levels)
    _check_numbers(name, labels)
    if _is_together(levels[0]):
        _check_name(name, labels)
    seen: set[str] = set()
    for label in labels:
        if repr(label) in seen:
            raise StudyError(f"vary.{name}: the level {label!r} appears twice; levels must differ")
        seen.add(repr(label))
    return Factor(name, tuple(levels), labels)


def factor_to_toml(factor: Factor) -> Any:
    """The entry in `[vary]` that gives this factor again."""
    if factor.is_position:
        return {"position": ",".join(_runs([level["position"] for level in factor.levels]))}
    if factor.settings:
        settings = {name: [level[TOGETHER][name] for level in factor.levels] for name in factor.settings}
        return {TOGETHER: settings} | ({"labels": list(factor.labels)} if factor.has_own_labels else {})
    if factor.has_own_labels:
        return {"levels": list(factor.levels), "labels": list(factor.labels)}
    return list(factor.levels)


def factor_to_record(factor: Factor) -> dict[str, Any]:
    """The factor as study.json has it."""
    if factor.settings:
        return {"name": factor.name, "labels": list(factor.labels), **factor_to_toml(factor)}
    record = {"name": factor.name, "levels": list(factor.levels)}
    return record | ({"labels": list(factor.labels)} if factor.has_own_labels else {})


def factor_from_record(record: dict[str, Any]) -> Factor:
    """The factor of an entry of study.json. Raises StudyError where it is not one."""
    given = {key: record[key] for key in ("levels", "labels", TOGETHER) if key in record}
    return parse_factor(record["name"], given)


def is_levels(value: Any) -> bool:
    """True for what stands for several levels, false for a single value."""
    return isinstance(value, list) or (isinstance(value, dict) and not LEVEL_TABLES.keys().isdisjoint(value))


def _levels(name: str, given: Any) -> list[Any]:
    if isinstance(given, list):
        return given
    if not isinstance(given, dict):
        raise StudyError(
            f'vary.{name}: {given!r} is not a list of levels; write [..], {{ position = "0..20" }} '
            'or { range = "10..50", step = 10, unit = "ms" }'
        )
    for kind, keys in LEVEL_TABLES.items():
        if kind in given:
            _refuse_unknown(name, given, keys)
            if kind == "levels":
                return _levels(name, _list(name, kind, given[kind]))
            if kind == TOGETHER:
                return _together(name, given[kind])
            return _positions(name, given) if kind == "position" else _range(name, given)
    unknown = next(iter(given), "")
    raise StudyError(f"vary.{name}: unknown kind of levels {unknown!r}{nearest(unknown, LEVEL_TABLES)}")


def _refuse_unknown(name: str, given: dict[str, Any], known: set[str]) -> None:
    for key in given:
        if key not in known:
            raise StudyError(f"vary.{name}: unknown key {key!r}{nearest(key, known)}")


def _list(name: str, key: str, given: Any) -> list[Any]:
    if not isinstance(given, list):
        raise StudyError(f"vary.{name}.{key}: {given!r} is not a list; write [..]")
    return given


def _together(name: str, given: Any) -> list[Any]:
    settings = dict(_settings(given)) if isinstance(given, dict) else {}
    if not settings:
        raise StudyError(
            f'vary.{name}.together: {given!r} is not a table of settings; write {{ "path.rate" = [..] }}'
        )
    for setting, values in settings.items():
        _list(name, f"together.{setting}", values)
    lengths = {setting: len(values) for setting, values in settings.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{setting} has {length}" for setting, length in lengths.items())
        raise StudyError(f"vary.{name}.together: {told} levels; give each setting as many")
    rows = zip(*settings.values(), strict=True)
    return [{TOGETHER: dict(zip(settings, row, strict=True))} for row in rows]


def _settings(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Settings, whether their names are quoted or written as dotted keys."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _settings(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _is_together(level: Any) -> bool:
    return isinstance(level, dict) and set(level) == {TOGETHER} and isinstance(level[TOGETHER], dict)


def _is_position(level: Any) -> bool:
    if not (isinstance(level, dict) and set(level) == {"position"}):
        return False
    return isinstance(level["position"], int) and not isinstance(level["position"], bool)


def _check_together(name: str, levels: Sequence[Any]) -> None:
    """Levels that set several settings all set the same ones."""
    found = [tuple(level[TOGETHER]) if _is_together(level) else None for level in levels]
    if any(found) and len(set(found)) > 1:
        raise StudyError(f"vary.{name}: its levels do not all set the same settings")


def _check_name(name: str, labels: Sequence[Label]) -> None:
    """The name of several settings is free, but for those of the columns and tables of results.

    No two may differ only in case: SQL ignores it.
    """
    if not name.strip():
        raise StudyError('vary."": settings that vary together need a name; write [vary.NAME.together]')
    for column in _columns(name, labels):
        if column.lower() in reserved():
            raise StudyError(f"vary.{name}: {column} is the name of a column of the results; choose another")


def columns_of_factor(factor: Factor) -> tuple[str, ...]:
    """The names of the columns that have its labels."""
    return _columns(factor.name, factor.labels)


def _columns(name: str, labels: Sequence[Label]) -> tuple[str, ...]:
    numbers = as_numbers(labels)
    return (name, *([f"{name}_{numbers[0]}"] if numbers else []))


def _check_numbers(name: str, labels: Sequence[Label]) -> None:
    """Labels are a column of a table: whole numbers of 64 bits, or of 53 beside fractions."""
    numbers = [label for label in labels if isinstance(label, int | float) and not isinstance(label, bool)]
    whole = all(isinstance(number, int) for number in numbers)
    most = 2**63 - 1 if whole else 2**53
    for number in numbers:
        if abs(number) > most if isinstance(number, int) else not math.isfinite(number):
            told = one_line(str(number)[:40])
            raise StudyError(f"vary.{name}: {told} is not a level: numbers must be finite and fit in 64 bits")


def _own_labels(name: str, given: Any, levels: int) -> tuple[Label, ...]:
    """The labels that `{ levels = .., labels = .. }` gives, none where it leaves them out."""
    if not isinstance(given, dict) or "labels" not in given:
        return ()
    labels = _list(name, "labels", given["labels"])
    if len(labels) != levels or not all(isinstance(label, Label) for label in labels):
        raise StudyError(
            f"vary.{name}.labels: {labels!r} are not {levels} texts or numbers, one for each level"
        )
    return tuple(labels)


def _positions(name: str, given: dict[str, Any]) -> list[Any]:
    return [{"position": n} for n in _numbers(name, "position", given["position"])]


def _range(name: str, given: dict[str, Any]) -> list[Any]:
    step, unit = given.get("step", 1), given.get("unit")
    if not isinstance(step, int) or isinstance(step, bool) or step < 1:
        raise StudyError(f"vary.{name}.step: {step!r} is not a whole number of at least 1")
    numbers = _numbers(name, "range", given["range"])[::step]
    return [f"{n} {unit}" for n in numbers] if unit is not None else list(numbers)


def _numbers(name: str, key: str, given: Any) -> list[int]:
    text = str(given) if isinstance(given, int) and not isinstance(given, bool) else given
    if not isinstance(text, str):
        raise StudyError(f"vary.{name}.{key}: {given!r} is not text such as '0..20'")
    numbers: list[int] = []
    for part in text.split(",") if text.strip() else []:
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise StudyError(
                f"vary.{name}.{key}: cannot read {part.strip()!r}; write '0..20' or '1,4,10..12'"
            )
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if last < first:
            raise StudyError(
                f"vary.{name}.{key}: {part.strip()!r} runs backwards; write the smaller one first"
            )
        if len(numbers) + last - first >= MOST_LEVELS:
            raise StudyError(f"vary.{name}.{key}: {text!r} has more than {MOST_LEVELS} levels")
        numbers.extend(range(first, last + 1))
    return numbers


def _label(level: Any) -> Label:
    if _is_position(level):
        position: int = level["position"]
        return position
    if isinstance(level, str | int | float | bool):
        return level
    if _is_together(level):
        return ", ".join(str(_label(value)) for value in level[TOGETHER].values())
    return json.dumps(level, sort_keys=True, separators=(",", ":"), default=str)


def _runs(numbers: list[int]) -> list[str]:
    """Numbers as runs: 0, 1, 2, 5 gives 0..2 and 5; the order is kept."""
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][1] + 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    return [str(a) if a == b else f"{a}..{b}" for a, b in runs]
