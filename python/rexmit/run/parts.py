"""Finished runs of a study under way: one file per chunk, neighbours joined so that the files stay few."""

from __future__ import annotations

import contextlib
import re
from bisect import insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from rexmit.errors import StoreError, one_line
from rexmit.files import TEMPORARY, remove_file, remove_files, remove_folder, write_whole
from rexmit.inputs import RUN_TABLE, TABLE, Kind
from rexmit.run.parquet import GroupWriter, table_file, table_metadata, table_schema

JOINED_AT_ONCE = 32
"""How many neighbours become one file."""

GROWTH = 16
MOST_PARTS = 512

_PART = re.compile(r"part-(\d{10})-(\d{10})\.parquet")


class Parts:
    """The folder `parts` of a results folder, which one process writes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stored: list[range] | None = None

    def ranges(self) -> list[range]:
        """The runs that are stored, as ranges in order, no run twice."""
        return list(self._known())

    def add(self, runs: range, table: pa.Table) -> None:
        """Stores finished runs: whole on the disk before this returns."""
        known = self._known()

        def write(file: IO[bytes]) -> None:
            pq.write_table(table, file, compression="zstd")

        write_whole(self._path(runs), write)
        insort(known, runs, key=lambda one: one.start)
        while (found := to_join(known)) is not None:
            self._join(known[found])
            known[found] = [range(known[found][0].start, known[found][-1].stop)]

    def tables(self, rows: int, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
        """What is stored, in order of runs, in tables of up to `rows` rows. Memory holds one of them."""
        for runs in self._known():
            yield from read_pieces(self._path(runs), rows, columns, RUN_TABLE)

    def schema(self) -> pa.Schema:
        """The columns of what is stored."""
        return self._schema_of(self._known()[0])

    def remove(self) -> None:
        """Removes the parts, and the folder if nothing else is in it."""
        with contextlib.suppress(StoreError):
            for names in (_PART, TEMPORARY):
                remove_files(self._folder, names)
            remove_folder(self._folder)
        self._stored = None

    def _known(self) -> list[range]:
        if self._stored is None:
            self._stored = without_overlap(self._found())
        return self._stored

    def _found(self) -> Iterator[range]:
        for path in self._folder.glob("part-*.parquet"):
            match = _PART.fullmatch(path.name)
            if match and _is_readable(path):
                yield range(int(match[1]), int(match[2]))

    def _join(self, parts: Sequence[range]) -> None:
        """Makes one file of neighbours; a kill in between leaves the runs there, once or twice."""
        whole = range(parts[0].start, parts[-1].stop)

        def write(file: IO[bytes]) -> None:
            with GroupWriter(file, self._schema_of(parts[0]), by_bytes=True) as writer:
                for part in parts:
                    for table in read_pieces(self._path(part), 1 << 12, kind=RUN_TABLE):
                        writer.add(table)

        write_whole(self._path(whole), write)
        for part in parts:
            with contextlib.suppress(StoreError):
                remove_file(self._path(part))

    def _schema_of(self, runs: range) -> pa.Schema:
        path = self._path(runs)
        try:
            return table_schema(path, RUN_TABLE)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, error) from None

    def _path(self, runs: range) -> Path:
        return self._folder / f"part-{runs.start:010d}-{runs.stop:010d}.parquet"


def to_join(parts: Sequence[range]) -> slice | None:
    """Neighbours that should become one file; None where the files are few enough.

    No file is written again unless the new one is `GROWTH` times as large, so a run is written again as often
    as its file can grow. Where files lie so that none may be joined, as many gaps may leave them, the
    smallest neighbours are joined beyond `MOST_PARTS`.
    """
    runs_before = list(accumulate(map(len, parts), initial=0))
    found: list[tuple[int, int]] = []
    for start in range(len(parts) + 1 - JOINED_AT_ONCE):
        stop = start + JOINED_AT_ONCE
        total = runs_before[stop] - runs_before[start]
        if total != parts[stop - 1].stop - parts[start].start:
            continue  # runs are missing in between
        if GROWTH * max(map(len, parts[start:stop])) <= total:
            return slice(start, stop)
        found.append((total, start))
    if len(parts) > MOST_PARTS and found:
        _, start = min(found)
        return slice(start, start + JOINED_AT_ONCE)
    return None


def without_overlap(ranges: Iterable[range]) -> list[range]:
    """The ranges in order without those that lie in others: what a kill left while files were joined."""
    kept: list[range] = []
    for one in sorted(ranges, key=lambda one: (one.start, -one.stop)):
        if not kept or one.start >= kept[-1].stop:
            kept.append(one)
    return kept


def read_pieces(
    path: Path, rows: int, columns: Sequence[str] | None = None, kind: Kind = TABLE
) -> Iterator[pa.Table]:
    """The rows of a Parquet file, in tables of up to `rows` rows; memory holds little more than one of them.

    Raises StoreError of one line for a file that cannot be read.
    """
    try:
        with table_file(path, kind) as file:
            names = None if columns is None else list(columns)
            for batch in file.iter_batches(rows, columns=names):
                table = pa.Table.from_batches([batch])
                # A dotted name also finds columns whose names go on after a dot.
                yield table if names is None else table.select(names)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from None


def check_readable(path: Path) -> None:
    """Raises StoreError of one line for a Parquet file that cannot be read."""
    try:
        table_metadata(path)
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: Exception) -> StoreError:
    """One line about a table of a results folder that cannot be read."""
    if isinstance(error, PermissionError):
        return StoreError(f"{path}: cannot be read; change its rights, then go on with --resume")
    return StoreError(f"{path}: is damaged ({one_line(error)}); remove it, then go on with --resume")


def _is_readable(path: Path) -> bool:
    """False for a part that the disk lost in a crash; its runs are then run again."""
    try:
        table_metadata(path, RUN_TABLE)
    except (OSError, pa.ArrowInvalid):
        return False
    return True
