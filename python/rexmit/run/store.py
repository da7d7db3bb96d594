"""The results folder: finished runs in parts while a study runs, one table at its end.

    study.toml       the study with every default filled in; `rexmit run study.toml` repeats it
    study.json       the same for programs, with the levels of each factor; a resume compares with it
    provenance.json  version, seed, machine, kernel, command lines, times
    parts/           finished runs while the study is under way, one file for some chunks
    runs.parquet     one row per run, sorted by run; written at the end, whole or not at all
    intervals.parquet  one row per interval and sender, where the scenario has intervals; written just before
    retransmissions.parquet  what was sent again, where the scenario has it counted; likewise
    captures/        pcapng files where asked for

`runs.parquet` holds nothing of time or machine, and is made of the runs in order: the same study gives the
same bytes for any number of jobs and after any number of resumes. It is one file, however many runs there
are, since every reader takes one file and can stream its row groups; parts are for runs under way. Nothing
here holds more of the table in memory than a row group.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import tomli_w

from rexmit.errors import StoreError
from rexmit.files import (
    TEMPORARY,
    make_folder,
    remove_file,
    remove_files,
    remove_folder,
    write_json,
    write_text,
    write_whole,
)
from rexmit.run.columns import FIRST_RESPONSE, FactorColumns
from rexmit.run.details import DETAILS, Detail
from rexmit.run.lock import LOCK_NAME
from rexmit.run.parquet import ROWS_A_GROUP, GroupWriter
from rexmit.run.parts import Parts, check_readable
from rexmit.run.record import STUDY_JSON, read_record
from rexmit.run.schema import KEY, layout_of
from rexmit.study import Design

RUNS = "runs.parquet"
STUDY_TOML = "study.toml"
PROVENANCE = "provenance.json"
PARTS = "parts"
SUB_FOLDERS = (PARTS, "captures", "tables", "figures", "report-data", "report-figures")
"""Folders of a results folder, some of which only reports and figures make."""
DETAIL_ROWS = 1 << 12
"""Runs whose details are unpacked at once: each may have a hundred rows."""

_BEGUN = {STUDY_JSON, STUDY_TOML, PROVENANCE}

_WORDS = {KEY, "name", "file", "title", "source", "question", "description"}
"""What may change between a run and its resume: it changes no result."""


class Store:
    """A results folder that the caller has locked.

    Order of calls: `begin`, then `missing`, `add` for each chunk, `finish`.
    """

    def __init__(self, folder: Path, design: Design, runs: range | None = None) -> None:
        """A store of all runs of a design, or of these only."""
        self.folder = folder
        self._design = design
        self._runs = range(design.runs) if runs is None else runs
        self._parts = Parts(folder / PARTS)
        self._new = False

    def begin(self, record: dict[str, Any], resolved: dict[str, Any], resume: bool) -> None:
        """Makes an empty folder ready, or with `resume` checks that it holds the same study.

        `record` goes to study.json and decides whether a folder is of the same study; `resolved` goes to
        study.toml. Raises StoreError where the folder is not empty and `resume` is not set, where it is of
        another study, or cannot be written.
        """
        content = self._content()
        if content and not resume:
            raise StoreError(
                f"{self.folder}: is not empty; add --resume to finish its study, or choose another --out"
            )
        self._new = not content
        if content:
            self._compare(record)
        else:
            write_json(self.folder / STUDY_JSON, record)
        if not (self.folder / STUDY_TOML).exists():
            write_text(self.folder / STUDY_TOML, tomli_w.dumps(without_nulls(resolved)))
        make_folder(self.folder / PARTS, root=self.folder)
        if content:
            for place in (self.folder, *(self.folder / name for name in SUB_FOLDERS)):
                remove_files(place, TEMPORARY, root=self.folder)

    def missing(self) -> list[range]:
        """The runs that are not stored yet, as ranges in order."""
        if (self.folder / RUNS).exists():
            return []
        gaps, at = [], self._runs.start
        for done in self._parts.ranges():
            if done.start > at:
                gaps.append(range(at, done.start))
            at = max(at, done.stop)
        if at < self._runs.stop:
            gaps.append(range(at, self._runs.stop))
        return gaps

    def add(self, runs: range, table: pa.Table) -> None:
        """Stores finished runs, in whatever order they come: whole on the disk before this returns."""
        self._parts.add(runs, table)

    def finish(self) -> None:
        """Writes runs.parquet and what stands beside it from the parts, and removes them."""
        path = self.folder / RUNS
        if path.exists():
            check_readable(path)
        else:
            columns = FactorColumns(self._design)
            names = self._parts.schema().names
            nested = [detail for detail in DETAILS if detail.column in names]
            for detail in nested:
                write_whole(self.folder / detail.file, partial(self._write_detail, detail, columns))
            plain = [name for name in names if name not in [detail.column for detail in nested]]
            write_whole(path, partial(write_tables, self._tables(columns, plain, ROWS_A_GROUP)))
        self._parts.remove()

    def undo(self) -> None:
        """Removes what `begin` has written into an empty folder, unless something was stored since.

        For a study that failed before its first run: what is left would be in the way of the next one.
        """
        if not self._new or self._parts.ranges() or (self.folder / RUNS).exists():
            return
        for name in SUB_FOLDERS:
            remove_folder(self.folder / name)
        if not self._content() - _BEGUN:
            for name in _BEGUN:
                remove_file(self.folder / name)

    def _content(self) -> set[str]:
        return {path.name for path in self.folder.iterdir() if path.name != LOCK_NAME}

    def _write_detail(self, detail: Detail, columns: FactorColumns, file: IO[bytes]) -> None:
        names = ["run", "replication", FIRST_RESPONSE, detail.column]
        flat = (detail.take_from(table)[1] for table in self._tables(columns, names, DETAIL_ROWS))
        write_tables((table for table in flat if table is not None), file)

    def _tables(self, columns: FactorColumns, names: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """The table of the runs that are stored, with these responses, piece by piece."""
        at = self._runs.start
        for table in self._parts.tables(rows, names):
            yield columns.beside(table, at)
            at += table.num_rows
        if at != self._runs.stop:
            raise StoreError(f"{self.folder}: lacks runs from {at} on; go on with --resume")

    def _compare(self, record: dict[str, Any]) -> None:
        path = self.folder / STUDY_JSON
        try:
            before = read_record(self.folder)
        except FileNotFoundError:
            raise StoreError(
                f"{self.folder}: holds no {STUDY_JSON}, so it is not a results folder; choose another --out"
            ) from None
        except OSError as error:
            raise StoreError(f"{path}: cannot be read ({error.strerror}); choose another --out") from None
        if layout_of(before) != layout_of(record) and not (self.folder / RUNS).exists():
            layouts = f"{KEY} {layout_of(before)}, this one writes {layout_of(record)}"
            raise StoreError(f"{self.folder}: was begun by another rexmit ({layouts}); choose another --out")
        difference = first_difference(decisive(before), decisive(json.loads(json.dumps(record))))
        if difference:
            raise StoreError(f"{self.folder}: holds another study: {difference}; choose another --out")


def write_tables(tables: Iterable[pa.Table], file: IO[bytes]) -> None:
    """Writes one or more tables of one schema as a single one, row group by row group."""
    rest = iter(tables)
    first = next(rest)
    with GroupWriter(file, first.schema) as writer:
        writer.add(first)
        for table in rest:
            writer.add(table)


def write_runs(table: pa.Table, file: IO[bytes]) -> None:
    """Writes the table of a study in the one form that gives the same bytes for the same rows."""
    pq.write_table(table, file, compression="zstd", row_group_size=ROWS_A_GROUP, version="2.6")


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
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for at, (one, other) in enumerate(zip(before, now, strict=True)):
            found = first_difference(one, other, f"{name}[{at}]") if isinstance(one, dict) else None
            if found:
                return found
    return f"{name} was {_short(before)}, is {_short(now)}"


def decisive(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what changes no result."""
    return {key: value for key, value in record.items() if key not in _WORDS}


def _short(value: Any) -> str:
    text = "absent" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."


def without_nulls(value: Any) -> Any:
    """TOML has no null; an absent key says the same."""
    if isinstance(value, dict):
        return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [without_nulls(entry) for entry in value if entry is not None]
    return value
