"""The one way to the terminal: what rexmit prints carries no control characters but its own.

Names, titles and comments in files are anybody's, and printed raw they could rule the terminal, forge a
line or turn the reading direction. `guarded` puts a stream in front of standard output and standard error
that shows every control character but newline and tab as an escape. Styles and cursor movements of our own
go past it: a console made here cleans the texts and styles them afterwards, `write_control` is for what a
panel draws.

With `NO_COLOR` in the environment, and where the output is not a terminal, nothing is styled and nothing
moves the cursor.
"""

from __future__ import annotations

import codecs
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from rexmit.errors import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment


@contextmanager
def guarded() -> Iterator[None]:
    """Standard output and error carry no control characters while the block lasts."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Guard(raw(sys.stdout)), _Guard(raw(sys.stderr))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def raw(stream: TextIO) -> TextIO:
    """The stream behind the guard: for bytes that are data, and for tables of text that go to a program."""
    return stream.behind if isinstance(stream, _Guard) else stream


def moves(stream: TextIO) -> bool:
    """Whether this is a terminal on which lines may be styled and drawn again."""
    return stream.isatty() and not os.environ.get("NO_COLOR")


def write_control(stream: TextIO, text: str) -> None:
    """Writes text whose control characters are our own; other texts in it have been through `printable`."""
    behind = raw(stream)
    behind.write(text)
    behind.flush()


def terminal(stderr: bool = False, width: int | None = None) -> Console:
    """A console for tables and styled lines on standard output, or standard error; `width` in letters."""
    stream = sys.stderr if stderr else sys.stdout
    styled = moves(stream)
    # Brackets and colons in addresses and names are not marks of ours.
    return _clean_console()(
        file=raw(stream),
        width=width,
        markup=False,
        emoji=False,
        force_terminal=styled,
        color_system="auto" if styled else None,
    )


@cache
def _clean_console() -> type[Console]:
    """A console that cleans every text, and leaves styles and movements of its own as they are."""
    # Loaded when something is shown in a table: work begins without it.
    from rich.console import Console
    from rich.segment import Segment

    class Clean(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else clean(text), style, control)

    return Clean


class _Guard(io.TextIOBase):
    """A text stream that passes everything on, with control characters as escapes."""

    def __init__(self, behind: TextIO) -> None:
        self.behind = behind
        self.buffer = _GuardedBytes(self)

    def write(self, text: str) -> int:
        self.behind.write(clean(text))
        return len(text)

    def flush(self) -> None:
        self.behind.flush()

    def isatty(self) -> bool:
        return self.behind.isatty()

    def fileno(self) -> int:
        return self.behind.fileno()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.behind.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self.behind.errors


class _GuardedBytes(io.RawIOBase):
    """What click writes bytes to: text all the same, so that nothing passes the guard by mistake."""

    def __init__(self, guard: _Guard) -> None:
        self._guard = guard
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def write(self, data: Any) -> int:
        self._guard.write(self._decoder.decode(bytes(data)))
        return len(data)

    def flush(self) -> None:
        self._guard.flush()

    def writable(self) -> bool:
        return True


def clean(text: str) -> str:
    """The text with control characters as escapes, but for newlines and tabs."""
    return _DOUBTFUL.sub(lambda found: printable(found[0]), text)


_DOUBTFUL = re.compile(r"[^ -~\n\t]+")
"""All but what is harmless at a glance: long texts are mostly that."""


def binary(stream: TextIO) -> BinaryIO:
    """The bytes behind a stream, for content that is not text."""
    behind: Any = raw(stream)
    found: BinaryIO = behind.buffer
    return found
