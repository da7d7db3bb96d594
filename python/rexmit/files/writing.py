"""Files that are whole or absent: written under another name, flushed, then renamed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import secrets
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from rexmit.errors import StoreError
from rexmit.files.errors import store_error
from rexmit.files.folders import Handle, open_folder, opened

Write = Callable[[IO[bytes]], object]
"""Fills an open file; whatever it returns is passed over."""

_PIECE = 1 << 20
_LONGEST_STEM = 200
"""Bytes of a file's name that its temporary name keeps: a name may have 255 in all [Linux, NAME_MAX]."""


def write_whole(path: Path, write: Write, resumable: bool = True, root: Path | None = None) -> None:
    """Lets `write` fill a temporary file beside `path`, then gives it its name.

    Between `root` and the file, and below a results folder, no link is followed. Folders below `root` are
    made. Raises StoreError of one line on a full disk, missing rights, a link and the like; nothing
    half-written is left. `resumable` is whether --resume goes on with what this is part of.
    """
    pending = Pending(path, resumable, root)
    try:
        write(pending.file)
        pending.keep()
    except OSError as error:
        pending.drop()
        raise store_error(path, error, resumable) from None
    except BaseException:
        pending.drop()
        raise


def write_text(path: Path, text: str, resumable: bool = True, root: Path | None = None) -> None:
    """Writes a text file whole."""
    write_bytes(path, text.encode(), resumable, root)


def write_bytes(path: Path, content: bytes, resumable: bool = True, root: Path | None = None) -> None:
    """Writes a file whole."""
    write_whole(path, lambda file: file.write(content), resumable, root)


def write_json(path: Path, value: Any, root: Path | None = None) -> None:
    """Writes a JSON file whole, indented, keys in the order given."""

    def write(file: IO[bytes]) -> None:
        # Piece by piece: the levels of a factor may be a million.
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        json.dump(value, text, indent=2, ensure_ascii=False)
        text.write("\n")
        text.detach()

    write_whole(path, write, root=root)


class Pending:
    """A file that is being written: `keep` gives it its name, `drop` removes it.

    Raises StoreError where it cannot be made. What stands under its name stays until `keep`.
    """

    def __init__(self, path: Path, resumable: bool = True, root: Path | None = None) -> None:
        self._path = path
        self._resumable = resumable
        try:
            self._handle: Handle | None = open_folder(path.parent, root, make=root is not None)
        except OSError as error:
            raise store_error(path, error, resumable) from None
        try:
            self._temporary, self.file = self._made(self._handle)
        except OSError as error:
            self._close()
            raise store_error(path, error, resumable) from None
        except BaseException:
            self._close()
            raise

    def flush(self) -> None:
        """Flushes the file to the disk, under its temporary name. Raises OSError."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def keep(self) -> None:
        """Flushes the file to the disk and gives it its name. Raises OSError."""
        assert self._handle is not None, "a file is kept or dropped once"
        self.flush()
        self.file.close()
        with self._handle.rights.taken(self._path):
            self._handle.rename(self._temporary, self._path.name)
        self._close()

    def drop(self) -> None:
        """Removes the file, unless it was kept."""
        if self._handle is None:
            return
        with contextlib.suppress(OSError):
            self.file.close()
        with contextlib.suppress(OSError, StoreError), self._handle.rights.taken(self._path):
            self._handle.unlink(self._temporary)
        self._close()

    def _made(self, handle: Handle) -> tuple[str, IO[bytes]]:
        with handle.rights.taken(self._path):
            mode = handle.mode(self._path.name)
            if mode is not None and not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
                what = "a folder" if stat.S_ISDIR(mode) else "not a regular file"
                raise StoreError(f"{self._path}: is {what}; choose another name for what is written")
            while True:
                name = _temporary_name(self._path.name)
                with contextlib.suppress(FileExistsError):
                    return name, handle.create(name)

    def _close(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


def check_writable(folder: Path) -> None:
    """Raises StoreError of one line where no file can be written into a folder, before long work for one.

    A folder that is not there yet is judged by the one in which it would be made.
    """
    folder = folder.absolute()
    while not folder.exists() and folder.parent != folder:
        folder = folder.parent
    Pending(folder / "probe", resumable=False).drop()


def keep_copy(source: Path, path: Path, root: Path | None = None) -> None:
    """Takes a regular file along to another place: linked where the disk can, else copied.

    Whatever is not a regular file is left out: a link in a stranger's folder may lead anywhere.
    """
    try:
        with opened(path.parent, root, make=root is not None) as handle:
            if not stat.S_ISREG(source.lstat().st_mode):
                return
            with contextlib.suppress(OSError):
                handle.link(source, path.name)
                if stat.S_ISREG(handle.facts(path.name).st_mode):
                    return
                handle.unlink(path.name)
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(source, flags), "rb") as file:
            write_whole(path, lambda to: shutil.copyfileobj(file, to), root=root)
    except OSError as error:
        raise store_error(path, error, resumable=False) from None


def move_in(
    source: Path, path: Path, root: Path | None = None, stopped: Callable[[], bool] = lambda: False
) -> None:
    """Gives a file of a temporary folder of this process its place for good, and removes it there.

    It is linked where the disk can and no other rights are needed, else copied. Raises KeyboardInterrupt
    once `stopped()`.
    """

    def copy(to: IO[bytes]) -> None:
        with source.open("rb") as file:
            while piece := file.read(_PIECE):
                if stopped():
                    raise KeyboardInterrupt
                to.write(piece)

    if not _linked_in(source, path, root):
        write_whole(path, copy, resumable=root is not None, root=root)
    source.unlink()


def _linked_in(source: Path, path: Path, root: Path | None) -> bool:
    try:
        with opened(path.parent, root, make=root is not None) as handle:
            if handle.rights.user is not None:
                return False
            # This replaces nothing that is there.
            handle.link(source, path.name)
    except OSError:
        return False
    return True


def rename_folder(folder: Path, name: str) -> None:
    """Gives a folder another name in the same place. Raises StoreError where something has that name."""
    try:
        with opened(folder.parent) as handle:
            handle.rename(folder.name, name)
    except OSError as error:
        raise store_error(folder.with_name(name), error, resumable=False) from None


def _temporary_name(name: str) -> str:
    stem = os.fsencode(name)[:_LONGEST_STEM].decode(errors="ignore")
    return f"{stem}.{secrets.token_hex(8)}.tmp"
