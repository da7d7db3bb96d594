"""Shards of one study joined: their tables one after another, in the very bytes of a run on one machine.

Tables pass through row group by row group, so memory does not grow with the number of runs.
"""

from __future__ import annotations

import filecmp
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from rexmit.errors import StoreError
from rexmit.files import write_json, write_text, write_whole
from rexmit.inputs import RECORD_TOML, TABLE, check_file, read_text
from rexmit.run.beside import keep_files, merged_provenance, provenance_of, written_beside
from rexmit.run.details import DETAILS, Detail
from rexmit.run.parquet import ROWS_A_GROUP
from rexmit.run.parts import read_pieces
from rexmit.run.provenance import now
from rexmit.run.record import STUDY_JSON
from rexmit.run.results import Results, open_results, read_study
from rexmit.run.schema import KEY, layout_of
from rexmit.run.shard import Shard, runs_of, shard_of
from rexmit.run.store import (
    PROVENANCE,
    RUNS,
    STUDY_TOML,
    decisive,
    first_difference,
    write_tables,
)

_SHOWN = 8
"""Missing shards that a line names."""


@dataclass(frozen=True)
class _Part:
    """The folder of a shard."""

    folder: Path
    study: dict[str, Any]
    shard: Shard

    @property
    def runs(self) -> range:
        return runs_of(self.shard, self.study["runs"])


def shards_among(folders: Sequence[Path]) -> bool:
    """True if these folders are shards of a study.

    Raises StoreError where some are and others are not.
    """
    are = [shard_of(read_study(folder)) is not None for folder in folders]
    if any(are) and not all(are):
        whole, part = folders[are.index(False)], folders[are.index(True)]
        raise StoreError(f"{part}: is a shard, and {whole} is not; merge the shards of {part} first")
    return any(are)


def merge_shards(folders: Sequence[Path], out: Path | None, skip_duplicates: bool = False) -> Results:
    """Joins all shards of a study, in any order; stored in the new folder `out` unless it is None.

    Raises StoreError of one line that names what differs, which shards are missing, not finished, or there
    twice; with `skip_duplicates` these are taken once, if they agree.
    """
    started = now()
    parts = [_Part(folder, study, _shard(study)) for folder in folders for study in [read_study(folder)]]
    _check_same(parts)
    parts = _ordered(parts, skip_duplicates)
    record = {key: value for key, value in parts[0].study.items() if key != "shard"}
    details = [detail for detail in DETAILS if _has(parts, detail)]
    if out is None:
        tables = {one.name: pa.concat_tables(_tables(parts, one.file)) for one in details}
        table = pa.concat_tables(_in_order(parts)).combine_chunks()
        return Results(table, record, None, details=tables)
    with written_beside(out) as folder:
        write_json(folder / STUDY_JSON, record)
        write_text(folder / STUDY_TOML, read_text(parts[0].folder / STUDY_TOML, RECORD_TOML), resumable=False)
        for detail in details:
            write = partial(write_tables, _tables(parts, detail.file))
            write_whole(folder / detail.file, write, resumable=False)
        write_whole(folder / RUNS, partial(write_tables, _in_order(parts)), resumable=False)
        for part in parts:
            keep_files(part.folder, folder, partial(_own_number, part.runs))
        write_json(folder / PROVENANCE, _provenance(parts, record, started))
    return open_results(out)


def _own_number(runs: range, run: int) -> int | None:
    return run if run in runs else None


def _shard(study: dict[str, Any]) -> Shard:
    shard = shard_of(study)
    assert shard is not None, "all of them are shards"
    return shard


def _check_same(parts: Sequence[_Part]) -> None:
    first = parts[0]
    for other in parts[1:]:
        counts = {"number of shards": first.shard[1]}, {"number of shards": other.shard[1]}
        difference = first_difference({"name": first.study["name"]}, {"name": other.study["name"]})
        difference = difference or first_difference(*counts)
        difference = difference or first_difference(_record(first), _record(other))
        layouts = {KEY: layout_of(first.study)}, {KEY: layout_of(other.study)}
        difference = difference or first_difference(*layouts)
        if difference:
            raise StoreError(
                f"{other.folder}: is of a different study from {first.folder}: {difference}; merge "
                "shards of one study"
            )


def _record(part: _Part) -> dict[str, Any]:
    return {key: value for key, value in decisive(part.study).items() if key != "shard"}


def _ordered(parts: Sequence[_Part], skip_duplicates: bool) -> list[_Part]:
    """Each shard once, in order."""
    count = parts[0].shard[1]
    found: dict[int, _Part] = {}
    unfinished: dict[int, str] = {}
    for part in parts:
        number = part.shard[0]
        if not _has_table(part):
            unfinished[number] = f"{number}/{count} (not finished: {part.folder})"
        elif number not in found:
            found[number] = part
        elif not skip_duplicates:
            raise StoreError(
                f"{part.folder}: is shard {number}/{count}, and so is {found[number].folder}; name one "
                "of them, or give --skip-duplicates"
            )
        elif not filecmp.cmp(part.folder / RUNS, found[number].folder / RUNS, shallow=False):
            raise StoreError(
                f"{part.folder}: is shard {number}/{count}, and so is {found[number].folder}, with other "
                "runs: one of the two is damaged, or something beside the study changed"
            )
    lacking = [n for n in range(1, count + 1) if n not in found]
    if lacking:
        names = [unfinished.get(n, f"{n}/{count}") for n in lacking[:_SHOWN]]
        more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
        verb = "is" if len(lacking) == 1 else "are"
        raise StoreError(
            f"of {count} shards of {parts[0].study['name']} {len(lacking)} {verb} missing: "
            f"{', '.join(names)}{more}; run each with --shard, an unfinished one with --resume"
        )
    return [found[n] for n in range(1, count + 1)]


def _has_table(part: _Part) -> bool:
    path = part.folder / RUNS
    if path.exists():
        check_file(path, TABLE)
        return True
    return False


def _has(parts: Sequence[_Part], detail: Detail) -> bool:
    """True if they hold this table. Raises StoreError where some do and others do not."""
    lacking = [part for part in parts if not (part.folder / detail.file).exists()]
    if lacking and len(lacking) < len(parts):
        raise StoreError(
            f"{lacking[0].folder}: holds no {detail.file}, which the others hold; run it again into another "
            "--out"
        )
    return not lacking


def _in_order(parts: Sequence[_Part]) -> Iterator[pa.Table]:
    """The table of all runs, piece by piece."""
    for part in parts:
        at = part.runs.start
        for table in read_pieces(part.folder / RUNS, ROWS_A_GROUP):
            runs = table.column("run")
            if runs[0].as_py() != at or runs[-1].as_py() != at + table.num_rows - 1:
                break
            at += table.num_rows
            yield table
        if at != part.runs.stop:
            raise StoreError(f"{part.folder / RUNS}: its runs are not those of its {STUDY_JSON}")


def _tables(parts: Sequence[_Part], file: str) -> Iterator[pa.Table]:
    for part in parts:
        yield from read_pieces(part.folder / file, ROWS_A_GROUP)


def _provenance(parts: Sequence[_Part], record: dict[str, Any], started: str) -> dict[str, Any]:
    told = [
        {
            "folder": str(part.folder.resolve()),
            "shard": list(part.shard),
            "runs": len(part.runs),
            "provenance": provenance_of(Results(None, part.study, part.folder)),
        }
        for part in parts
    ]
    return merged_provenance(record, told, started)
