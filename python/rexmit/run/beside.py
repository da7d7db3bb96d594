"""A merged results folder: written under another name beside its place, then renamed; what goes along."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rexmit.errors import RexmitError, StoreError
from rexmit.run.files import store_error
from rexmit.run.lock import LOCK_NAME, FolderLock
from rexmit.run.provenance import environment, now
from rexmit.run.results import Results

KEPT = ("captures", "tables")
"""Folders with files of single runs, `run-NUMBER-...`."""


@contextlib.contextmanager
def written_beside(out: Path) -> Iterator[Path]:
    """A folder that gets the name `out` at the end of the block, or goes if it fails.

    One that a kill left is used anew.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise StoreError(f"{out}: is there already; choose another --out")
    folder = out.with_name(f".{out.name}.merging")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise store_error(out.parent, error, resumable=False) from None
    try:
        with FolderLock(folder):
            _clear(folder)
            yield folder
        if out.exists():
            out.rmdir()
        folder.rename(out)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise store_error(out, error, resumable=False) from None
    except StoreError as error:
        if not (folder / LOCK_NAME).exists():  # else another merge holds it
            shutil.rmtree(folder, ignore_errors=True)
        raise error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _clear(folder: Path) -> None:
    for left in folder.iterdir():
        if left.is_dir():
            shutil.rmtree(left)
        elif left.name != LOCK_NAME:
            left.unlink()


def keep_files(source: Path, folder: Path, number: Callable[[int], int | None]) -> None:
    """Takes captures and tables of single runs along: linked where the disk can, else copied.

    `number` gives a run's new number, None for one that does not go along.
    """
    for kind in KEPT:
        for path in sorted((source / kind).glob("run-*-*")):
            run, _, rest = path.name.removeprefix("run-").partition("-")
            new = number(int(run)) if run.isdigit() else None
            if new is None:
                continue
            target = folder / kind / f"run-{new:08d}-{rest}"
            target.parent.mkdir(exist_ok=True)
            try:
                os.link(path, target)
            except OSError:
                shutil.copyfile(path, target)


def provenance_of(results: Results) -> dict[str, Any] | None:
    """That of results that are merged; None where the file is gone: they are good without it."""
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
