"""A merged results folder: written under another name beside its place, then renamed; its other files."""

from __future__ import annotations

import contextlib
import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rexmit.errors import RexmitError, StoreError
from rexmit.files import (
    LOCK_NAME,
    TEMPORARY,
    keep_copy,
    make_folder,
    remove_files,
    remove_folder,
    rename_folder,
    store_error,
)
from rexmit.inputs import KEPT_CAPTURE, check_file
from rexmit.run.lock import FolderLock
from rexmit.run.provenance import environment, now
from rexmit.run.results import Results

KEPT = ("captures", "tables")
"""Folders with files of single runs."""

_OF_RUNS = re.compile(r"run-(\d+)-([\w.-]+)", re.ASCII)
_OF_ALL = re.compile(r"study\.json|study\.toml|provenance\.json|[a-z]+\.parquet")


@contextlib.contextmanager
def written_beside(out: Path) -> Iterator[Path]:
    """A folder that gets the name `out` at the end of the block, or goes if it fails.

    One that a kill left is reused.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise StoreError(f"{out}: is there already; choose another --out")
    folder = out.with_name(f".{out.name}.merging")
    make_folder(folder, root=out.parent, resumable=False)
    try:
        with _one_line(out), FolderLock(folder, root=out.parent):
            try:
                _clear(folder)
                yield folder
            except BaseException:
                with contextlib.suppress(StoreError):
                    _clear(folder)
                raise
    except BaseException:
        # Stays if anything is in it: the lock of another merge, or what rexmit did not make.
        remove_folder(folder)
        raise
    remove_folder(out)
    rename_folder(folder, out.name)


@contextlib.contextmanager
def _one_line(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise store_error(out, error, resumable=False) from None


def _clear(folder: Path) -> None:
    """Removes what a merge writes. Raises StoreError where anything else is there."""
    for kind in KEPT:
        for names in (_OF_RUNS, TEMPORARY):
            remove_files(folder / kind, names, root=folder)
        remove_folder(folder / kind)
    for names in (_OF_ALL, TEMPORARY):
        remove_files(folder, names)
    foreign = sorted(path.name for path in folder.iterdir() if path.name != LOCK_NAME)
    if foreign:
        raise StoreError(f"{folder}: holds {foreign[0]}, which no merge has made; remove that folder")


def keep_files(source: Path, folder: Path, number: Callable[[int], int | None]) -> None:
    """Takes captures and tables of single runs along: linked where the disk can, else copied.

    `number` gives a run's new number, None for one that does not go along.
    """
    for kind in KEPT:
        if (source / kind).is_symlink():
            continue
        for path in sorted((source / kind).glob("run-*-*")):
            match = _OF_RUNS.fullmatch(path.name)
            new = number(int(match[1])) if match else None
            if match and new is not None:
                check_file(path, KEPT_CAPTURE)
                keep_copy(path, folder / kind / f"run-{new:08d}-{match[2]}", root=folder)


def provenance_of(results: Results) -> dict[str, Any] | None:
    """The provenance of results to be merged; None where the file is gone: they are good without it."""
    try:
        return results.provenance()
    except RexmitError:
        return None


def merged_provenance(
    record: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], started: str
) -> dict[str, Any]:
    """The provenance.json of merged results: this session, and what each of the `sources` was."""
    session = {"command": shlex.join(sys.argv), "started": started, "ended": now(), "outcome": "merged"}
    return {
        "seed": record["seed"],
        **environment(),
        "sessions": [{**session, "runs": record["runs"]}],
        "sources": list(sources),
    }
