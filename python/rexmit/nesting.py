"""JSON and TOML from anybody, parsed within bounds: depth, number of tables and lists, size of numbers.

The parsers of the standard library call themselves for each level, and take time quadratic in the parts of a
dotted key; so the text is looked over once before it is parsed, in time linear in its length.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator
from typing import Any

MOST_NESTED = 64
"""Tables and lists within each other, and parts of a dotted key. The native code takes 128 of the first."""

MOST_TABLES = 8_000_000
"""Tables and lists in all, each of which takes some 64 bytes of memory, however short its text."""


class TooDeepError(ValueError):
    """A text is nested deeper, or has more tables and lists, than is read."""


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Raises TooDeepError for one beyond the bounds, ValueError for what is not JSON, and for numbers and texts
    that no file of this package has: those that are not finite, need more than 64 bits, or have halves of
    surrogate pairs.
    """
    _check_nesting(text, _JSON)
    try:
        value = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    for key, fault in _faults(value):
        raise ValueError(f"{key}: {fault}" if key else fault)
    return value


def parse_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text. Raises TooDeepError for one beyond the bounds, ValueError if not TOML."""
    _check_nesting(text, _TOML)
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(_twice(str(error), text) or str(error)) from None


def _twice(message: str, text: str) -> str | None:
    """What the parser says of a key or a table that appears twice, by its name; None for anything else."""
    if found := re.match(r"Cannot declare \((.+?),?\) twice", message):
        names = [name.strip().strip("'\"") for name in found[1].split(",")]
        return f"[{'.'.join(names)}] appears twice{message[found.end() :]}; leave one out"
    if not message.startswith("Cannot overwrite a value"):
        return None
    lines = text.splitlines()
    at = re.search(r"at line (\d+)", message)
    number = int(at[1]) if at else len(lines)
    key = _key(lines[number - 1]) if number <= len(lines) else ""
    if parent := _parent(lines[: number - 1], key):
        name, line = parent
        return f"{key} (at line {number}) lies in {name}, which has a value (at line {line}); leave one out"
    return f"{key or 'a key'} appears twice (at line {number}); leave one out"


def _key(line: str) -> str:
    return line.partition("=")[0].strip()


def _parent(before: list[str], key: str) -> tuple[str, int] | None:
    """The key with a value that the dotted `key` lies in, and its line, from its table's lines so far."""
    for number in range(len(before), 0, -1):
        line = before[number - 1]
        if line.lstrip().startswith("["):
            return None
        if "=" in line and key.startswith(f"{_key(line)}."):
            return _key(line), number
    return None


def _check_nesting(text: str, token: re.Pattern[str]) -> None:
    """Raises TooDeepError for a text that is nested too deep, whatever else may be wrong with it."""
    depth = tables = dots = 0
    for found in token.finditer(text):
        kind = found.lastgroup
        if kind == "open":
            dots, depth, tables = 0, depth + 1, tables + 1
            if depth > MOST_NESTED:
                raise _too_deep()
        elif kind == "close":
            dots, depth = 0, depth - 1
        elif kind == "dot":
            dots += 1
            if dots > MOST_NESTED:
                raise _too_deep()
        elif kind == "end":
            dots = 0
    if tables > MOST_TABLES:
        raise TooDeepError(f"has more than {MOST_TABLES:,} tables and lists")


def _too_deep() -> TooDeepError:
    return TooDeepError(f"is nested deeper than {MOST_NESTED} tables and lists")


# Each string matches at the first try, closed or not: no text makes the search start over at its letters.
_JSON = re.compile(
    r'(?:"(?:[^"\\]++|\\.)*+"?|[^"\[\]{}]++)*+(?:(?P<open>[\[{])|(?P<close>[\]}])|)', re.DOTALL
)
_TOML = re.compile(
    r"""
      ""\"(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\Z)
    | '''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)
    | "(?:[^"\\\n]++|\\[^\n])*+"?
    | '[^'\n]*+'?
    | \#[^\n]*+
    | (?P<open>[\[{])
    | (?P<close>[\]}])
    | (?P<dot>\.)
    | (?P<end>[\n=,])
    """,
    re.DOTALL | re.VERBOSE,
)

_Place = tuple["_Place", object] | None
"""A key and the place of its table; None at the top."""


def _faults(value: Any) -> Iterator[tuple[str, str]]:
    """Keys and what is wrong with their values, none where all is well. Without recursion."""
    left: list[tuple[Any, Any]] = [(value, None)]
    while left:
        node, place = left.pop()
        if isinstance(node, dict):
            for key, entry in node.items():
                if not _is_text(key):
                    yield _told(place), "has a key with half of a surrogate pair"
                left.append((entry, (place, key)))
        elif isinstance(node, list):
            left.extend((entry, (place, number)) for number, entry in enumerate(node))
        elif isinstance(node, str):
            if not _is_text(node):
                yield _told(place), "holds half of a surrogate pair, which is not text"
        elif isinstance(node, float):
            if not math.isfinite(node):
                yield _told(place), f"{node} is not a finite number"
        elif isinstance(node, int) and not -(2**63) <= node < 2**64:
            yield _told(place), "is a number that needs more than 64 bits"


def _is_text(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _told(place: Any) -> str:
    """The place as a dotted key, such as `factors[0].levels[3]`."""
    parts: list[str] = []
    while place is not None:
        place, key = place
        parts.append(f"[{key}]" if isinstance(key, int) else f".{key}")
    return "".join(reversed(parts)).removeprefix(".")
