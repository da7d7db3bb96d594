"""A study's own responses: numbers in what its programs print or write, and measures of its network."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rexmit.errors import StudyError, nearest
from rexmit.study.keys import nearest_key
from rexmit.study.measures import Measure, parse_measure
from rexmit.study.settings import Table
from rexmit.tables import Column, reserved

SOURCES = tuple(f"{host}.{what}" for host in ("server", "client") for what in ("output", "errors", "file"))
"""Where a response may come from: what a host's program prints, prints as errors, or writes to its `file`."""

_KEYS = {"from", "match", "json", "unit", "meaning"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class OwnResponse:
    """One column of the table of runs, of a study's own.

    `source` is one of `SOURCES`. One of the others says where the number is in it: `match`, a regular
    expression whose first group is the number where it first matches, or `path`, keys and indices in JSON,
    separated by dots.
    """

    name: str
    source: str
    match: str | None = None
    path: str | None = None
    unit: str | None = None
    meaning: str | None = None

    def value(self, programs: Iterable[Mapping[str, Any]]) -> float | None:
        """The number in what the programs of a run left (rows of `programs`); None if there is none."""
        host, what = self.source.split(".")
        text = next((row.get(what) for row in programs if row.get("host") == host), None)
        if not isinstance(text, str):
            return None
        found = self._matched(text) if self.match is not None else self._in_json(text)
        try:
            number = None if found is None else float(found)
        except (ValueError, OverflowError):
            return None
        return number if number is not None and math.isfinite(number) else None

    @property
    def column(self) -> Column:
        """Its column."""
        where = f"what matches {self.match!r}" if self.match is not None else f"{self.path} of the JSON"
        meaning = self.meaning or f"{where} in {self.source}"
        return Column(self.name, "<f8?", meaning, self.unit, "there was no such number")

    def to_table(self) -> Table:
        """As its table in a study's file has it."""
        told = {
            "from": self.source,
            "match": self.match,
            "json": self.path,
            "unit": self.unit,
            "meaning": self.meaning,
        }
        return {key: value for key, value in told.items() if value is not None}

    def _matched(self, text: str) -> str | None:
        found = re.search(self.match or "", text, re.MULTILINE)
        return None if found is None else found[1]

    def _in_json(self, text: str) -> float | str | None:
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return None
        for key in (self.path or "").split("."):
            if isinstance(value, dict):
                value = value.get(key)
            elif (
                isinstance(value, list)
                and re.fullmatch(r"-?\d+", key)
                and -len(value) <= int(key) < len(value)
            ):
                value = value[int(key)]
            else:
                return None
        plain = isinstance(value, int | float | str) and not isinstance(value, bool)
        return value if plain else None


def parse_responses(table: Table) -> tuple[OwnResponse | Measure, ...]:
    """The responses of the table `[responses]`. Raises StudyError naming the key that does not fit."""
    return tuple(_parse(name, given) for name, given in table.items())


def _parse(name: str, given: Any) -> OwnResponse | Measure:
    where = f"responses.{name}"
    if not _NAME.fullmatch(name):
        raise StudyError(f"{where}: a name is letters, digits and underscores")
    if name in reserved():
        raise StudyError(f"{where}: every study has a column of this name; take another")
    if not isinstance(given, dict):
        raise StudyError(
            f"{where}: {given!r} is not a table; write {{ from = \"client.output\", match = '...' }} "
            'or { measure = "jain" }'
        )
    if "measure" in given:
        return parse_measure(name, given)
    for key, value in given.items():
        if key not in _KEYS:
            raise StudyError(f"{where}: unknown key {key!r}{nearest_key(key, _KEYS)}")
        if not isinstance(value, str):
            raise StudyError(f"{where}.{key}: {value!r} is not text")
    source = given.get("from")
    if source not in SOURCES:
        raise StudyError(
            f"{where}.from: {source!r} is not one of {', '.join(SOURCES)}{nearest(str(source), SOURCES)}"
        )
    if ("match" in given) == ("json" in given):
        raise StudyError(
            f"{where}: give one of match (a regular expression) and json (a path such as end.rate)"
        )
    if "match" in given:
        _check(given["match"], where)
    return OwnResponse(
        name, source, given.get("match"), given.get("json"), given.get("unit"), given.get("meaning")
    )


def _check(pattern: str, where: str) -> None:
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise StudyError(f"{where}.match: {pattern!r} is not a regular expression: {error}") from None
    if groups < 1:
        raise StudyError(f"{where}.match: {pattern!r} has no group: put the number into (...)")
