"""Files in folders that this process has just made for itself, such as temporary ones: written in place.

No rename and no flush: whoever reads them is a process that this one starts.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import IO

_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def create(path: Path) -> IO[bytes]:
    """A new file to be written; one that is there, and a link, is an error (OSError)."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _SAFE, 0o666), "wb")


def put(path: Path, content: str | bytes, mode: int | None = None) -> None:
    """Writes a new file in the place of one that is there, with the mode of new files or this one."""
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    with create(path) as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        file.write(content.encode() if isinstance(content, str) else content)


def append(path: Path) -> IO[bytes]:
    """A file that grows, made where it is not there; no link is followed."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _SAFE, 0o666), "ab")
