"""A lock on a results folder, so that two runs never write into one; a kill releases it."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from types import TracebackType

from rexmit.errors import StoreError
from rexmit.run.files import store_error

LOCK_NAME = ".lock"


class FolderLock:
    """Holds the folder from `with` to the end of the block.

    The operating system releases the lock when the process ends, however it ends, so that no stale lock
    needs removing. Raises StoreError where another process holds it or it cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK_NAME
        self._descriptor = -1

    def __enter__(self) -> FolderLock:
        while True:
            try:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            except OSError as error:
                raise store_error(self._path.parent, error) from None
            try:
                _lock(descriptor)
            except OSError:
                holder = os.pread(descriptor, 20, 0).decode(errors="replace").strip() if _POSIX else ""
                os.close(descriptor)
                who = f" (process {holder})" if holder else ""
                raise StoreError(
                    f"{self._path.parent}: another run{who} writes into it; wait or choose another --out"
                ) from None
            if self._is_current(descriptor):
                break
            os.close(descriptor)  # its last holder removed it between our two steps
        self._descriptor = descriptor
        with contextlib.suppress(OSError):
            os.truncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()
        os.close(self._descriptor)

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except OSError:
            return False


_POSIX = sys.platform != "win32"

if sys.platform == "win32":
    import msvcrt

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
