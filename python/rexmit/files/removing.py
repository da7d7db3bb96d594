"""Removing: only what rexmit made, known by its name; only regular files; only inside the folder's handle."""

from __future__ import annotations

import contextlib
import re
import shutil
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from rexmit.files.errors import store_error
from rexmit.files.folders import Handle, opened

TEMPORARY = re.compile(
    r".+\.[0-9a-f]{16}\.tmp"
    # Of versions up to 0.1, which had no random names.
    r"|(study\.json|study\.toml|provenance\.json|\w+\.parquet|part-\d{10}-\d{10}\.parquet"
    r"|run-\d{8}-[\w-]+\.(pcapng|parquet)(\.other)?|report\.(html|pdf|md))\.tmp(\.\d+\.partial)?",
    re.DOTALL,
)
"""Names of files that are being written; whatever still has one after a kill is worthless."""


def remove_files(folder: Path, names: re.Pattern[str], root: Path | None = None) -> None:
    """Removes the regular files of a folder whose whole names match; nothing where there is no such folder.

    Raises StoreError where a file cannot be removed, and where a link stands in the folder's place below a
    results folder or `root`.
    """
    _remove(folder, lambda handle: filter(names.fullmatch, handle.names()), root)


def remove_file(path: Path, root: Path | None = None) -> None:
    """Removes a file that rexmit made, if it is there and a regular one. Raises as `remove_files`."""
    _remove(path.parent, lambda _: [path.name], root)


def remove_folder(folder: Path) -> bool:
    """Removes a folder that is empty and not a link; False if it stays."""
    with contextlib.suppress(OSError), opened(folder.parent) as handle:
        handle.rmdir(folder.name)
        return True
    return False


def remove_tree(folder: Path, names: re.Pattern[str]) -> None:
    """Removes a folder with all that is in it, following no link; only one whose own name matches `names`.

    What cannot be removed stays.
    """
    assert names.fullmatch(folder.name), f"{folder} is not a folder that rexmit made"
    if not folder.is_symlink():
        shutil.rmtree(folder, ignore_errors=True)


def _remove(folder: Path, chosen: Callable[[Handle], Iterable[str]], root: Path | None) -> None:
    try:
        with opened(folder, root) as handle:
            for name in chosen(handle):
                mode = handle.mode(name)
                if mode is not None and stat.S_ISREG(mode):
                    handle.unlink(name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise store_error(folder, error) from None
