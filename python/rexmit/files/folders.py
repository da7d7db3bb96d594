"""Handles of the folders that are written into.

The path that the user named may go through links. What lies below a results folder may not, since such a
folder may be a stranger's: every folder below it is opened by its name within the one above (O_DIRECTORY,
O_NOFOLLOW), and a linked one is refused. A results folder is known by its `study.json`, whoever names the
path.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rexmit.errors import StoreError
from rexmit.files.errors import store_error
from rexmit.files.rights import Rights, rights_for

MARK = "study.json"
"""Whatever holds it is a results folder."""

POSIX = sys.platform != "win32"
_PLAIN = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEW = os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | _PLAIN
# A handle alone: a folder that may be written but not read is enough [open(2), O_PATH].
_HANDLE = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | _PLAIN


class Handle:
    """An open folder. Its methods take names in it, never paths."""

    def __init__(self, path: Path, descriptor: int, rights: Rights) -> None:
        self.path = path
        self.rights = rights
        self._descriptor = descriptor

    def create(self, name: str) -> IO[bytes]:
        """A new file to be written; never one that is there, nor one that a link leads to."""
        return os.fdopen(self.open(name, os.O_WRONLY | _NEW), "wb")

    def open(self, name: str, flags: int) -> int:
        """A descriptor of a file; no link is followed."""
        flags |= getattr(os, "O_NOFOLLOW", 0) | _PLAIN
        if POSIX:
            return os.open(name, flags, 0o666, dir_fd=self._descriptor)
        return os.open(self.path / name, flags, 0o666)

    def mode(self, name: str) -> int | None:
        """The kind of what is there under this name, even if it is a link; None for nothing."""
        try:
            return self.facts(name).st_mode
        except FileNotFoundError:
            return None

    def facts(self, name: str) -> os.stat_result:
        """The same with all that there is to know."""
        if POSIX:
            return os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        return os.lstat(self.path / name)

    def rename(self, old: str, new: str) -> None:
        """Gives a file another name; one that has that name is replaced."""
        if POSIX:
            os.rename(old, new, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)
        else:
            os.replace(self.path / old, self.path / new)

    def link(self, source: Path, name: str) -> None:
        """Gives a file one more name, this one. A link is linked itself, not what it leads to."""
        if POSIX:
            os.link(source, name, dst_dir_fd=self._descriptor, follow_symlinks=False)
        else:
            os.link(source, self.path / name)

    def unlink(self, name: str) -> None:
        """Removes a file or a link."""
        if POSIX:
            os.unlink(name, dir_fd=self._descriptor)
        else:
            os.unlink(self.path / name)

    def rmdir(self, name: str) -> None:
        """Removes an empty folder."""
        if POSIX:
            os.rmdir(name, dir_fd=self._descriptor)
        else:
            os.rmdir(self.path / name)

    def names(self) -> list[str]:
        """What is in it."""
        if not POSIX:
            return os.listdir(self.path)
        readable = os.open(".", os.O_RDONLY | _PLAIN, dir_fd=self._descriptor)
        try:
            return os.listdir(readable)
        finally:
            os.close(readable)

    def below(self, name: str, make: bool) -> Handle:
        """A folder in it, made where `make` says so. Raises StoreError where a link stands there."""
        path = self.path / name
        if not POSIX:
            if make:
                path.mkdir(exist_ok=True)
            return Handle(path, -1, self.rights)
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=self._descriptor)
        try:
            descriptor = os.open(name, _HANDLE | os.O_NOFOLLOW, dir_fd=self._descriptor)
        except OSError as error:
            mode = self.mode(name)
            if mode is not None and stat.S_ISLNK(mode):
                raise StoreError(
                    f"{path}: is a link, and below a results folder none is followed; remove it"
                ) from None
            raise error
        return Handle(path, descriptor, self.rights)

    def close(self) -> None:
        """Frees it."""
        if POSIX:
            os.close(self._descriptor)


def open_folder(folder: Path, root: Path | None = None, make: bool = False) -> Handle:
    """The folder, with the rights that fit it. Below `root`, and below a results folder, no link is followed.

    Raises StoreError for a link and for a folder that root had better not write into, OSError for the rest.
    """
    folder = folder.absolute()
    top = _top(folder, root)
    below = folder.relative_to(top).parts
    if ".." in below:
        raise StoreError(f"{folder}: leads out of {top} with '..'; name the place itself")
    rights = rights_for(folder)
    with rights.taken(folder):
        if make:
            top.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(top, _HANDLE) if POSIX else -1
        handle = Handle(top, descriptor, rights)
        for name in below:
            above = handle
            try:
                handle = above.below(name, make)
            finally:
                above.close()
    return handle


@contextmanager
def opened(folder: Path, root: Path | None = None, make: bool = False) -> Iterator[Handle]:
    """The same while the block lasts, which has the rights, too."""
    handle = open_folder(folder, root, make)
    try:
        with handle.rights.taken(handle.path):
            yield handle
    finally:
        handle.close()


def make_folder(folder: Path, root: Path | None = None, resumable: bool = True) -> None:
    """Makes a folder with those above it, where they are not there. Below `root` no link is followed.

    Raises StoreError of one line where that cannot be.
    """
    try:
        open_folder(folder, root, make=True).close()
    except OSError as error:
        raise store_error(folder, error, resumable) from None


def _top(folder: Path, root: Path | None) -> Path:
    """The highest of `root` and the results folders above `folder`, itself among them; else `folder`."""
    found = folder if root is None else root.absolute()
    for one in (folder, *folder.parents):
        outside = folder.parts[len(one.parts) :][:1] == ("..",)
        if not outside and len(one.parts) < len(found.parts) and os.path.lexists(one / MARK):
            found = one
    return found
