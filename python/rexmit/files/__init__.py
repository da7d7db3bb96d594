"""Every file that rexmit writes, and every name that it removes, goes through this package.

A results folder may come from a stranger, and root may write where others do. So:

- A file is written under a random temporary name that did not exist before (O_EXCL, O_NOFOLLOW), is flushed
  to the disk, and gets its name within the handle of its folder: it is there whole or not at all.
- Below a results folder no link is followed, see :mod:`rexmit.files.folders`.
- As root, the rights are those of whoever called sudo, see :mod:`rexmit.files.rights`.
- Only regular files are removed, only by names that rexmit gives, see :mod:`rexmit.files.removing`.

`scripts/check_writes.py` forbids other ways. On systems without handles of folders (Windows) a plain rename
takes their place.
"""

from rexmit.files.errors import FULL, store_error
from rexmit.files.folders import make_folder
from rexmit.files.lock import LOCK_NAME, LockFile
from rexmit.files.private import append, create, put
from rexmit.files.removing import TEMPORARY, remove_file, remove_files, remove_folder, remove_tree
from rexmit.files.writing import (
    Pending,
    check_writable,
    keep_copy,
    move_in,
    rename_folder,
    write_bytes,
    write_json,
    write_text,
    write_whole,
)

__all__ = [
    "FULL",
    "LOCK_NAME",
    "TEMPORARY",
    "LockFile",
    "Pending",
    "append",
    "check_writable",
    "create",
    "keep_copy",
    "make_folder",
    "move_in",
    "put",
    "remove_file",
    "remove_files",
    "remove_folder",
    "remove_tree",
    "rename_folder",
    "store_error",
    "write_bytes",
    "write_json",
    "write_text",
    "write_whole",
]
