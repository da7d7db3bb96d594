"""Files that are whole or absent: written under another name, flushed, then renamed."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rexmit.errors import StoreError, one_line

TEMPORARY = ".tmp"
"""Ending of a file that is being written; whatever still has it after a kill is worthless."""

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def write_whole(path: Path, write: Callable[[Path], None], resumable: bool = True) -> None:
    """Lets `write` fill a temporary file beside `path`, then gives it its name.

    Raises StoreError of one line on a full disk, missing rights and the like; nothing half-written is left.
    `resumable` is whether --resume goes on with what this is part of.
    """
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        write(temporary)
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise store_error(path, error, resumable) from None
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str, resumable: bool = True) -> None:
    """Writes a text file whole."""
    write_whole(path, lambda temporary: _write_bytes(temporary, text.encode()), resumable)


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file whole, indented, keys in the order given."""

    def write(temporary: Path) -> None:
        # Piece by piece: the levels of a factor may be a million.
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            json.dump(value, file, indent=2, ensure_ascii=False)
            file.write("\n")

    write_whole(path, write)


def store_error(path: Path, error: OSError, resumable: bool = True) -> StoreError:
    """An error of the operating system as one line that says what to change.

    What is not `resumable` is written to a place that no --out names, such as graphs of a capture.
    """
    again, place = (", then go on with --resume", "--out") if resumable else ("", "place")
    number = error.errno
    if number in _FULL:
        return StoreError(f"{path}: no space left on its disk; free some{again}")
    if number in _FORBIDDEN:
        return StoreError(
            f"{path}: cannot be written ({error.strerror}); choose another {place} or change its rights"
        )
    if number in (errno.ENOTDIR, errno.EEXIST):
        return StoreError(f"{path}: a file stands where a folder is needed; choose another {place}")
    return StoreError(f"{path}: cannot be written: {one_line(error.strerror or error)}")


def _write_bytes(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
