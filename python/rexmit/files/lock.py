"""The file `.lock` of a folder: who holds it writes there. The operating system frees it with its process."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import sys
from pathlib import Path

from rexmit.errors import StoreError
from rexmit.files.errors import store_error
from rexmit.files.folders import POSIX, Handle, open_folder

LOCK_NAME = ".lock"

_HOLDER = re.compile(rb"\d{0,20}")


class LockFile:
    """The lock file of a folder. Order of calls: `take`, then `close`.

    Anything else under its name is left as it is: a link, another file, one that has a second name.
    """

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        """Opens the folder. Raises StoreError of one line where that cannot be."""
        self._folder = folder
        try:
            self._handle: Handle = open_folder(folder, root)
        except OSError as error:
            raise store_error(folder, error) from None
        self._descriptor = -1

    def take(self, wait: bool = False) -> bool:
        """Takes the lock, after whoever has it where `wait` says so; False if another process has it.

        Raises StoreError where what stands there is not our lock, and where none can be made.
        """
        while True:
            try:
                with self._handle.rights.taken(self._folder):
                    self._open()
            except OSError as error:
                raise store_error(self._folder, error) from None
            try:
                _lock(self._descriptor, wait)
            except OSError:
                return False
            if self._is_current():
                break
            self._forget()  # its last holder removed it between our two steps
        with contextlib.suppress(OSError):
            os.truncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            os.write(self._descriptor, str(os.getpid()).encode())
        return True

    def holder(self) -> str:
        """The number of the process that holds it, as far as it is known."""
        if self._descriptor < 0 or not POSIX:
            return ""
        return os.pread(self._descriptor, 20, 0).decode(errors="replace").strip()

    def close(self, remove: bool = False) -> None:
        """Frees the lock, if it was taken, and with `remove` removes its file then."""
        if remove and self._is_current():
            with contextlib.suppress(OSError, StoreError), self._handle.rights.taken(self._folder):
                self._handle.unlink(LOCK_NAME)
        self._forget()
        self._handle.close()

    def _open(self) -> None:
        self._forget()
        mode = self._handle.mode(LOCK_NAME)
        if mode is not None and not stat.S_ISREG(mode):
            raise self._foreign("a link" if stat.S_ISLNK(mode) else "not a regular file")
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        self._descriptor = self._handle.open(LOCK_NAME, flags)
        facts = os.fstat(self._descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink > 1:
            raise self._foreign("a file with a second name (hard link)")
        if POSIX and not _HOLDER.fullmatch(os.pread(self._descriptor, 21, 0)):
            raise self._foreign("a file of something else")

    def _foreign(self, what: str) -> StoreError:
        self._forget()
        path = self._folder / LOCK_NAME
        return StoreError(f"{path}: is {what}, not a lock of rexmit; remove it or choose another --out")

    def _is_current(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._handle.facts(LOCK_NAME))
        except OSError:
            return False

    def _forget(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int, wait: bool) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int, wait: bool) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
