"""What can go wrong, each with a message of one line that says what to change."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable


class RexmitError(Exception):
    """Base of all errors of this package. The message is one line; `exit_code` is what a command returns."""

    exit_code = 1


class UsageError(RexmitError):
    """The caller asked for something that does not exist or contradicts itself."""

    exit_code = 2


class StudyError(UsageError):
    """A study or scenario is wrong. The message names the file, the key and what is allowed."""


class StudySlips(StudyError):  # noqa: N818 - several errors
    """All slips of a study: `slips` has a line for each, and the message all of them."""

    def __init__(self, slips: tuple[str, ...]) -> None:
        super().__init__("\n".join(slips))
        self.slips = slips


class ModelError(UsageError, ValueError):
    """An argument of a formula lies outside its domain. The message names the argument and what it may be."""


class StoreError(RexmitError):
    """A results folder cannot be used: in use, not empty, unwritable, full or of another study."""


class Interrupted(RexmitError):  # noqa: N818 - not a mistake of anyone
    """A run was stopped by a signal after its finished runs were stored."""

    def __init__(self, message: str, signal_number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + signal_number


def one_line(text: object) -> str:
    """The text with every run of white space as one blank, and nothing that a terminal would obey."""
    return printable(" ".join(str(text).split()))


def printable(text: object) -> str:
    """The text with control characters and marks of direction as escapes, such as that of ESC.

    Names and comments in a capture are anybody's: printed raw they could rule the terminal or forge a line.
    """
    whole = str(text)
    if whole.isprintable():
        return whole
    return "".join(
        letter.encode("unicode_escape").decode() if unicodedata.category(letter) in _CONTROL else letter
        for letter in whole
    )


_CONTROL = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, formats, halves of pairs, separators of lines and paragraphs."""


def nearest(word: str, known: Iterable[str]) -> str:
    """The nearest known names as `; did you mean x?`, or the list of all where none is near."""
    choices = sorted(known)
    close = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; known: {', '.join(choices)}" if choices else ""
