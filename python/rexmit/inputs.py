"""Files that a user or a stranger names, opened to be read: regular ones only, of a bounded size.

Each kind of file has its limit below. What is a folder, a named pipe, a socket or a device is refused
before it is opened, so that nothing waits for a writer and nothing reads `/dev/zero` to its end. A results
folder may come from a stranger: links in it are not followed, since they could lead to any file that the
reader may read. Captures are opened by the native code, which has the same rule.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from rexmit.errors import RexmitError, StoreError, StudyError, UsageError, one_line
from rexmit.nesting import TooDeepError, parse_json, parse_toml

MIB = 1 << 20


@dataclass(frozen=True)
class Kind:
    """A kind of file: what it is called, its most bytes (None: any number), and what a wrong one raises.

    `below` is how many folders it is below a results folder, where links are not followed; None for a file
    that is named by itself, which may be one.
    """

    name: str
    most: int | None
    error: type[RexmitError] = UsageError
    below: int | None = None


STUDY = Kind("a study's file", 64 * MIB, StudyError)
PROFILE = Kind("a profile", MIB, StudyError)
FLOWS = Kind("a table of flows or sizes", 64 * MIB, StudyError)
PUBLISHED = Kind("a table of published numbers", 4 * MIB, StudyError)
RECORD = Kind("study.json", 128 * MIB, StoreError, 1)
RECORD_TOML = Kind("study.toml", 64 * MIB, StoreError, 1)
PROVENANCE = Kind("provenance.json", 64 * MIB, StoreError, 1)
TABLE = Kind("a table of results", None, StoreError, 1)
RUN_TABLE = Kind("a table of a run", None, StoreError, 2)
KEPT_CAPTURE = Kind("a capture of a run", None, StoreError, 2)
NAMED_TABLE = Kind("a table", None)
QUERY = Kind("a query", MIB)
PATTERN = Kind("a pattern", 64 * MIB)
SCHEDULER = Kind("a scheduler's file", MIB)

KINDS = (STUDY, PROFILE, FLOWS, PUBLISHED, RECORD, RECORD_TOML, PROVENANCE, QUERY, PATTERN, SCHEDULER)
"""Those with a limit of bytes: they are read whole. Tables and captures are read piece by piece."""


def read_bytes(path: Path, kind: Kind) -> bytes:
    """The whole content of a file.

    Raises the kind's error for what is not a regular file, a link where none is followed, and more bytes than
    the kind may have; OSError where the system cannot open or read it.
    """
    with open_input(path, kind) as file:
        data = file.read(-1 if kind.most is None else kind.most + 1)
    if kind.most is not None and len(data) > kind.most:
        raise _too_large(path, kind)
    return data


def read_text(path: Path, kind: Kind) -> str:
    """The same as text, without the byte-order mark that spreadsheets write before it.

    Raises the kind's error for what is not UTF-8, too.
    """
    try:
        return read_bytes(path, kind).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise kind.error(f"{path}: is not text in UTF-8: {one_line(error)}") from None


def read_json(path: Path, kind: Kind) -> Any:
    """The value of a JSON file. Raises the kind's error for anything else, naming the key."""
    return _parsed(path, kind, parse_json, "JSON")


def read_toml(path: Path, kind: Kind) -> dict[str, Any]:
    """The table of a TOML file. Raises the kind's error for anything else."""
    table: dict[str, Any] = _parsed(path, kind, parse_toml, "TOML")
    return table


def check_file(path: Path, kind: Kind) -> None:
    """Raises as `open_input` does; for files that a library opens by their names."""
    open_input(path, kind).close()


def open_input(path: Path, kind: Kind) -> BinaryIO:
    """Opens a regular file. Raises the kind's error for anything else, and OSError as `open` does."""
    _check_not_linked(path, kind)
    _check_regular(path, kind, path.stat())
    # Without waiting: between the two looks it may have become a pipe.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    if kind.below is not None:
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise _linked(path, kind) if error.errno == errno.ELOOP and kind.below else error from None
    try:
        found = os.fstat(descriptor)
        _check_regular(path, kind, found)
        if kind.most is not None and found.st_size > kind.most:
            raise _too_large(path, kind)
    except BaseException:
        os.close(descriptor)
        raise
    return open(descriptor, "rb")


def _parsed(path: Path, kind: Kind, parse: Callable[[str], Any], form: str) -> Any:
    text = read_text(path, kind)
    try:
        return parse(text)
    except TooDeepError as error:
        raise kind.error(f"{path}: {error}") from None
    except ValueError as error:
        raise kind.error(f"{path}: is not {form}: {one_line(error)}") from None


def _check_not_linked(path: Path, kind: Kind) -> None:
    for place in (path, *path.parents)[: kind.below or 0]:
        if place.is_symlink():
            raise _linked(place, kind)


def _check_regular(path: Path, kind: Kind, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    what = next((word for test, word in _OTHERS if test(found.st_mode)), "something else")
    raise kind.error(f"{path}: is {what}, and {kind.name} is read from a regular file only")


_OTHERS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def _linked(path: Path, kind: Kind) -> RexmitError:
    return kind.error(f"{path}: is a link, and links in a results folder are not followed; put a copy there")


def _too_large(path: Path, kind: Kind) -> RexmitError:
    assert kind.most is not None
    return kind.error(f"{path}: is larger than the {kind.most // MIB} MiB that {kind.name} may have")
