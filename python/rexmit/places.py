"""Folders for what a process needs while it runs; those of processes that were killed are removed.

A folder belongs to whoever holds the lock on the file beside it. The kernel releases the lock when the
process ends, however that comes, and every PID namespace sees it; a process number says nothing in another
one. The file also names the boot of the machine: some network file systems keep locks to one machine, so
folders of other machines are left alone.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "rexmit-work-"
_LOCK = ".lock"
_WITHOUT_BLANKS = Path("/tmp")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that goes with the context. Its path has no blanks: a kernel's command line splits there."""
    place = Path(tempfile.gettempdir())
    if re.search(r"\s", str(place)):
        place = _WITHOUT_BLANKS
    _tidy(place)
    lock, descriptor = _take(place)
    folder = _folder_of(lock)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        with suppress(OSError):
            _remove(lock)
        os.close(descriptor)


def _take(place: Path) -> tuple[Path, int]:
    """A new lock that this process holds, and its descriptor."""
    while True:
        path = place / f"{_PREFIX}{secrets.token_hex(8)}{_LOCK}"
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600)
        except FileExistsError:
            continue
        _lock(descriptor, wait=True)
        if os.fstat(descriptor).st_nlink or not _POSIX:
            os.write(descriptor, _boot())
            return path, descriptor
        os.close(descriptor)  # somebody tidied between our two steps


def _tidy(place: Path) -> None:
    """Removes the folders of processes that are no more."""
    with suppress(OSError):
        for lock in place.glob(f"{_PREFIX}*{_LOCK}"):
            with suppress(OSError):
                _remove_if_left(lock)


def _remove_if_left(lock: Path) -> None:
    if not _POSIX:
        return
    descriptor = os.open(lock, os.O_RDWR | os.O_NONBLOCK | _NO_LINK)
    try:
        _lock(descriptor, wait=False)
        facts = os.fstat(descriptor)
        ours = stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid() and facts.st_nlink == 1
        # Without a word in it, its maker was killed before it made the folder.
        if ours and os.pread(descriptor, 64, 0) in (b"", _boot()):
            _remove(lock)
    finally:
        os.close(descriptor)


def _remove(lock: Path) -> None:
    """Removes a folder, then its lock, by which what is left of it would be found."""
    with suppress(FileNotFoundError):
        shutil.rmtree(_folder_of(lock))
    lock.unlink()


def _folder_of(lock: Path) -> Path:
    return lock.with_name(lock.name.removesuffix(_LOCK))


def _boot() -> bytes:
    """What names this machine since it was started; nothing where the system does not say."""
    try:
        return _BOOT.read_bytes().strip()
    except OSError:
        return b""


_POSIX = sys.platform != "win32"

if sys.platform == "win32":
    _NO_LINK = 0

    def _lock(descriptor: int, wait: bool) -> None:
        """Nothing: folders of killed processes stay here."""

else:
    import fcntl

    _NO_LINK = os.O_NOFOLLOW

    def _lock(descriptor: int, wait: bool) -> None:
        """Takes the lock. Raises BlockingIOError where another holds it and it is not waited for."""
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
