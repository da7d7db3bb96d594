"""On which line of a TOML file each key stands: the standard library's parser does not say.

The text is one that the parser has read: it is looked through for keys alone, and what a value is does not
matter. Keys are dotted, those of lists by number: `scenario.transfers.0.writes`.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right


def key_lines(text: str) -> dict[str, int]:
    """The line of each key and of each entry of a list, from 1, by its dotted name.

    For a key that stands in several places, as `hosts` in `hosts.a.stack` and `hosts.b.stack`, the first.
    """
    return _Scan(text).lines


def line_of(lines: dict[str, int], key: str) -> int | None:
    """The line of a key, or of the nearest table around it that has one."""
    while key:
        if key in lines:
            return lines[key]
        key = key.rpartition(".")[0]
    return None


class _Scan:
    """One look through a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._entries: dict[tuple[str, ...], int] = {}
        self.lines: dict[str, int] = {}
        table: tuple[str, ...] = ()
        while self._skip(_BLANK):
            if self._take("[["):
                table = self._inside(self._names())
                self._entries[table] = self._entries.get(table, -1) + 1
                self._note(table)
                table = (*table, str(self._entries[table]))
                self._note(table)
                self._skip(_CLOSING)
            elif self._take("["):
                table = self._inside(self._names())
                self._note(table)
                self._skip(_CLOSING)
            else:
                self._pair(table)

    def _pair(self, table: tuple[str, ...]) -> None:
        """A key and its value; what is neither is passed over, so that the scan always goes on."""
        before = self._at
        names = (*table, *self._names())
        self._note(names)
        self._skip(_EQUALS)
        self._value(names)
        if self._at == before:
            self._at += 1

    def _value(self, names: tuple[str, ...]) -> None:
        self._skip(_BLANK)
        if self._take("{"):
            while self._skip(_BLANK_COMMA) and not self._take("}"):
                self._pair(names)
        elif self._take("["):
            number = 0
            while self._skip(_BLANK_COMMA) and not self._take("]"):
                before = self._at
                own = (*names, str(number))
                self._note(own)
                self._value(own)
                self._at += self._at == before
                number += 1
        elif found := _STRING.match(self._text, self._at):
            self._at = found.end()
        else:
            self._skip(_OTHER)

    def _names(self) -> tuple[str, ...]:
        """A dotted key; the scan is then past it."""
        names = []
        while found := _NAME.match(self._text, self._at):
            names.append(_plain(found[1]))
            self._at = found.end()
            if not self._take("."):
                break
        self._skip(_SPACE)
        return tuple(names)

    def _inside(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The whole name of a table: what lies in a list of tables lies in its last entry so far."""
        whole: tuple[str, ...] = ()
        for depth, name in enumerate(names, 1):
            whole = (*whole, name)
            if depth < len(names) and whole in self._entries:
                whole = (*whole, str(self._entries[whole]))
        return whole

    def _note(self, names: tuple[str, ...]) -> None:
        line = bisect_right(self._starts, min(self._at, len(self._text) - 1))
        for depth in range(1, len(names) + 1):
            self.lines.setdefault(".".join(names[:depth]), line)

    def _take(self, mark: str) -> bool:
        found = self._text.startswith(mark, self._at)
        self._at += len(mark) if found else 0
        return found

    def _skip(self, what: re.Pattern[str]) -> bool:
        """Goes past it; False at the end of the text."""
        if found := what.match(self._text, self._at):
            self._at = found.end()
        return self._at < len(self._text)


def _plain(name: str) -> str:
    """A part of a key without its quotes."""
    if name.startswith("'"):
        return name[1:-1]
    if not name.startswith('"'):
        return name
    try:
        return str(json.loads(name))
    except ValueError:
        return name[1:-1]


_BLANK = re.compile(r"(?:\s++|#[^\n]*+)*+")
_BLANK_COMMA = re.compile(r"(?:[\s,]++|#[^\n]*+)*+")
_SPACE = re.compile(r"[ \t]*+")
_EQUALS = re.compile(r"[ \t]*+=?+[ \t]*+")
_CLOSING = re.compile(r"[\]\s]*+")
_NAME = re.compile(r"""[ \t]*+("(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[A-Za-z0-9_-]++)[ \t]*+""")
_OTHER = re.compile(r"[^,\]}\n#]*+")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+"{3,5}'
    r"|'''(?:[^']|'(?!''))*+'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*+'",
    re.DOTALL,
)
