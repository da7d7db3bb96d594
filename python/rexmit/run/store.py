"""The results folder: finished runs in parts while a study runs, one table at its end.

    study.toml       the study with every default filled in; `rexmit run study.toml` repeats it
    study.json       the same for programs, with the levels of each factor; a resume compares with it
    provenance.json  version, seed, machine, kernel, command lines, times
    parts/           finished runs while the study is under way, one file a chunk
    runs.parquet     a row a run, sorted by run; written at the end, whole or not at all
    intervals.parquet  a row an interval and sender, where the scenario has intervals; written just before
    retransmissions.parquet  what was sent again, where the scenario has it counted; likewise
    captures/        pcapng files where asked for

`runs.parquet` holds nothing of time or machine, and is made of the runs in order: the same study gives the
same bytes for any number of jobs and after any number of resumes.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from rexmit.errors import StoreError, one_line
from rexmit.run.columns import with_factors
from rexmit.run.details import DETAILS, split
from rexmit.run.files import TEMPORARY, store_error, write_json, write_text, write_whole
from rexmit.run.lock import LOCK_NAME
from rexmit.run.schema import KEY, check_schema
from rexmit.study import Design

RUNS = "runs.parquet"
STUDY_JSON = "study.json"
STUDY_TOML = "study.toml"
PROVENANCE = "provenance.json"
ROWS_A_GROUP = 1 << 16

_WORDS = {KEY, "name", "file", "title", "source", "question", "description"}
"""What may change between a run and its resume: it changes no result."""
_PART = re.compile(r"part-(\d{10})-(\d{10})\.parquet")


class Store:
    """A results folder that the caller has locked.

    Order of calls: `begin`, then `missing`, `add` for each chunk, `finish`.
    """

    def __init__(self, folder: Path, design: Design) -> None:
        self.folder = folder
        self._design = design
        self._parts = folder / "parts"

    def begin(self, record: dict[str, Any], resolved: dict[str, Any], resume: bool) -> None:
        """Makes an empty folder ready, or with `resume` checks that it holds the same study.

        `record` goes to study.json and decides whether a folder is of the same study; `resolved` goes to
        study.toml. Raises StoreError where the folder is not empty and `resume` is not set, where it is of
        another study, or cannot be written.
        """
        content = [path.name for path in self.folder.iterdir() if path.name != LOCK_NAME]
        if content and not resume:
            raise StoreError(f"{self.folder}: is not empty; go on with --resume, or choose another --out")
        if content:
            self._compare(record)
        else:
            write_json(self.folder / STUDY_JSON, record)
        if not (self.folder / STUDY_TOML).exists():
            write_text(self.folder / STUDY_TOML, tomli_w.dumps(without_nulls(resolved)))
        try:
            self._parts.mkdir(exist_ok=True)
            for left in (*self.folder.rglob(f"*{TEMPORARY}"),):
                left.unlink()
        except OSError as error:
            raise store_error(self._parts, error) from None

    def missing(self) -> list[range]:
        """The runs that are not stored yet, as ranges in order."""
        if (self.folder / RUNS).exists():
            return []
        gaps, at = [], 0
        for done in self._stored():
            if done.start > at:
                gaps.append(range(at, done.start))
            at = max(at, done.stop)
        if at < self._design.runs:
            gaps.append(range(at, self._design.runs))
        return gaps

    def add(self, runs: range, table: pa.Table) -> None:
        """Stores finished runs: whole on the disk before this returns."""
        path = self._parts / f"part-{runs.start:010d}-{runs.stop:010d}.parquet"
        write_whole(path, lambda temporary: pq.write_table(table, temporary, compression="zstd"))

    def finish(self) -> pa.Table:
        """Writes runs.parquet from the parts, removes them, and returns the whole table."""
        path = self.folder / RUNS
        if not path.exists():
            parts = [self._part_path(runs) for runs in self._stored()]
            responses = pa.concat_tables([_read_table(part) for part in parts])
            table, details = split(with_factors(responses, self._design))
            write_details(self.folder, details)
            write_whole(path, lambda temporary: write_runs(table, temporary))
        with contextlib.suppress(OSError):
            for part in self._parts.glob("*"):
                part.unlink()
            self._parts.rmdir()
        return _read_table(path)

    def _stored(self) -> list[range]:
        found = []
        for path in sorted(self._parts.glob("part-*.parquet")):
            match = _PART.fullmatch(path.name)
            if match and _is_readable(path):
                found.append(range(int(match[1]), int(match[2])))
        return found

    def _part_path(self, runs: range) -> Path:
        return self._parts / f"part-{runs.start:010d}-{runs.stop:010d}.parquet"

    def _compare(self, record: dict[str, Any]) -> None:
        path = self.folder / STUDY_JSON
        try:
            before = json.loads(path.read_text())
        except FileNotFoundError:
            raise StoreError(
                f"{self.folder}: holds no {STUDY_JSON}, so it is no results folder; choose another --out"
            ) from None
        except (OSError, ValueError) as error:
            raise StoreError(f"{path}: cannot be read ({error}); choose another --out") from None
        check_schema(before, self.folder)
        difference = first_difference(decisive(before), decisive(json.loads(json.dumps(record))))
        if difference:
            raise StoreError(f"{self.folder}: holds another study: {difference}; choose another --out")


def write_runs(table: pa.Table, path: Path) -> None:
    """Writes the table of a study in the one form that gives the same bytes for the same rows."""
    pq.write_table(table, path, compression="zstd", row_group_size=ROWS_A_GROUP, version="2.6")


def write_details(folder: Path, details: Mapping[str, pa.Table], resumable: bool = True) -> None:
    """Writes the tables that stand beside runs.parquet."""
    for detail in DETAILS:
        if detail.name in details:
            write = partial(write_runs, details[detail.name])
            write_whole(folder / detail.file, write, resumable=resumable)


def first_difference(before: Any, now: Any, name: str = "") -> str | None:
    """The first setting in which two records differ, as `path.rate was 1, is 2`; None where they agree."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*before, *now)):
            found = first_difference(before.get(key), now.get(key), f"{name}.{key}" if name else key)
            if found:
                return found
        return None
    if before == now:
        return None
    return f"{name} was {_short(before)}, is {_short(now)}"


def decisive(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what changes no result."""
    return {key: value for key, value in record.items() if key not in _WORDS}


def _short(value: Any) -> str:
    text = "absent" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_readable(path: Path) -> bool:
    """False for a part that the disk lost in a crash; its runs are then run again."""
    try:
        pq.read_metadata(path)
    except (OSError, pa.ArrowInvalid):
        return False
    return True


def _read_table(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except PermissionError:
        raise StoreError(f"{path}: cannot be read; change its rights, then go on with --resume") from None
    except (OSError, pa.ArrowException) as error:
        raise StoreError(
            f"{path}: is damaged ({one_line(error)}); remove it, then go on with --resume"
        ) from None


def without_nulls(value: Any) -> Any:
    """TOML has no null; an absent key says the same."""
    if isinstance(value, dict):
        return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [without_nulls(entry) for entry in value if entry is not None]
    return value
