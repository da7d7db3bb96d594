"""A COMMAND that stands before its `--`: told from the options and the file of `rexmit emulate`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from rexmit.errors import UsageError

AT_HOSTS = ("--at", "--server-at")
"""Options whose last value is a command."""


def check_separated(words: Sequence[str], values: Mapping[str, int]) -> None:
    """Raises UsageError, with the line to write, where words before `--` begin a command.

    `values` says how many values each of the options takes; any other `--name` is a setting with one value.
    """
    at = 0
    file = ""
    while at < len(words):
        word = words[at]
        if word in ("-h", "--help"):
            return
        if word.startswith("-") and word != "-":
            name, equals, _ = word.partition("=")
            at += 1 if equals or not word.startswith("--") else 1 + values.get(name, 1)
            if name in AT_HOSTS and at < len(words):
                _check_quoted(words[at - 3 :], values)
            continue
        if file or not _is_file(word):
            before = f" {shlex.quote(file)}" if file else ""
            command = shlex.join(words[at:])
            raise UsageError(f"put -- before COMMAND: rexmit emulate [OPTIONS]{before} -- {command}")
        file = word
        at += 1


def _check_quoted(words: Sequence[str], values: Mapping[str, int]) -> None:
    """Refuses a command at a host whose further words follow it as if they were ours."""
    option, host, command, first, *more = words
    option_of_ours = first.startswith("--") or first[:2] in values
    if option_of_ours or (not first.startswith("-") and _is_file(first)):
        return
    last = next((n for n, word in enumerate(more) if word.startswith("--") or word in values), len(more))
    whole = shlex.join([command, first, *more[:last]])
    quoted = shlex.quote(whole) if "'" not in whole else f'"{whole}"'
    raise UsageError(f"{option} {host}: put its command in quotes: {option} {host} {quoted}")


def _is_file(word: str) -> bool:
    """A path's file ends in .toml; a file of another name may be one unless it is a program."""
    return word.endswith(".toml") or (Path(word).is_file() and not os.access(word, os.X_OK))
