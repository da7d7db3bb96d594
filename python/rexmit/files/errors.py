"""What the operating system says of a file, as one line that says what to change."""

from __future__ import annotations

import errno
from pathlib import Path

from rexmit.errors import StoreError, one_line

FULL = {errno.ENOSPC, errno.EDQUOT}
"""Numbers of errors that say there is no room."""

_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


def store_error(path: Path, error: OSError, resumable: bool = True) -> StoreError:
    """An error of the operating system as one line that says what to change.

    What is not `resumable` is written to a place that no --out names, such as graphs of a capture.
    """
    again, place = (", then go on with --resume", "--out") if resumable else ("", "place")
    number = error.errno
    if number in FULL:
        return StoreError(f"{path}: no space left on its disk; free some{again}")
    if number in _FORBIDDEN:
        return StoreError(
            f"{path}: cannot be written ({error.strerror}); choose another {place} or change its rights"
        )
    if number in (errno.ENOTDIR, errno.EEXIST):
        return StoreError(f"{path}: a file stands where a folder is needed; choose another {place}")
    return StoreError(f"{path}: cannot be written: {one_line(error.strerror or error)}")
