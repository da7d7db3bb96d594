"""A lock on a results folder, so that two runs never write into one; a kill releases it."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from rexmit.errors import StoreError
from rexmit.files import LOCK_NAME, LockFile

__all__ = ["LOCK_NAME", "FolderLock"]


class FolderLock:
    """Holds the folder from `with` to the end of the block.

    The operating system releases the lock when the process ends, however it ends, so that no stale lock
    needs removing. Raises StoreError where another process holds it or it cannot be made. As for a file that
    is written, no link is followed below `root`.
    """

    def __init__(self, folder: Path, root: Path | None = None) -> None:
        self._folder = folder
        self._root = root
        self._file: LockFile

    def __enter__(self) -> FolderLock:
        self._file = LockFile(self._folder, self._root)
        try:
            if self._file.take():
                return self
            holder = self._file.holder()
        except BaseException:
            self._file.close()
            raise
        self._file.close()
        who = f" (process {holder})" if holder else ""
        raise StoreError(
            f"{self._folder}: another run{who} writes into it; wait or choose another --out"
        ) from None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close(remove=True)
