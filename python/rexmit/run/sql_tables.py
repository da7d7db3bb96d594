"""The tables of a results folder, or of a folder of tables, as Arrow data sets that nothing has read yet."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from pyarrow import fs

from rexmit.errors import StoreError, UsageError, one_line
from rexmit.inputs import KEPT_CAPTURE, RUN_TABLE, TABLE, Kind, check_file
from rexmit.run.capture import CAPTURE_NAME
from rexmit.run.columns import level_table
from rexmit.run.details import DETAILS
from rexmit.run.parquet import table_metadata, table_schema
from rexmit.run.record import STUDY_JSON, factors_of
from rexmit.run.results import read_study
from rexmit.run.schema import UNMARKED, layout_of
from rexmit.run.sql_about import ABOUT, ABOUT_CAPTURE
from rexmit.run.store import RUNS
from rexmit.study import Design
from rexmit.study.factors import Factor
from rexmit.tables import CAPTURES, FACTORS, responses, run_columns, single, single_kinds
from rexmit.tables.arrow import schema_of, words_of
from rexmit.tables.described import Columns
from rexmit.units import as_numbers


@dataclass(frozen=True)
class Levels:
    """The columns of a factor, to be joined where rows have the number of the run alone.

    The level of a run is `run // divisor % len(table)`; `table` has its number in the column `level`.
    """

    table: pa.Table
    divisor: int


@dataclass(frozen=True)
class Sourced:
    """A table that a query may name. With `levels`, columns of factors stand after `replication`."""

    data: pa.Table | ds.Dataset
    meanings: Mapping[str, str]
    levels: Sequence[Levels] = ()


@dataclass
class Source:
    """The tables of one `folder`, or of results in memory and their `study`.

    `notes` say what is not there as one would expect; `unmarked` are tables of an older layout, in which a
    number stands for null; `about` says what each table holds.
    """

    name: str
    tables: dict[str, Sourced]
    notes: list[str] = field(default_factory=list)
    unmarked: list[str] = field(default_factory=list)
    folder: Path | None = None
    study: Mapping[str, Any] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=lambda: ABOUT)

    def warning(self, query: str) -> str | None:
        """What is not as one would expect in the tables that a query names; a line."""
        asked = [name for name in self.unmarked if re.search(rf"\b{name}\b", query, re.IGNORECASE)]
        if not asked:
            return None
        told = f"written by an older rexmit, where {2**64 - 1} stands for null"
        return f"{self.name}: {', '.join(asked)}: {told}"


def folder_source(folder: Path) -> Source:
    """The tables of a results folder, of one that is not finished, or of a folder of tables.

    Raises StoreError where there is none, or one cannot be read; UsageError for what is not a folder.
    """
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "there is no such folder"
        raise UsageError(f"{folder}: {what}; name a results folder that `rexmit run` wrote")
    if not (folder / STUDY_JSON).exists():
        return _of_tables(folder)
    study = read_study(folder)
    factors = factors_of(study)
    source = Source(str(folder), {}, folder=folder)
    if (folder / RUNS).exists():
        source.tables["runs"] = _of_file(folder / RUNS, _runs())
    else:
        _add_parts(source, folder, study, factors)
    for detail in DETAILS:
        path = folder / detail.file
        if path.exists():
            source.tables[detail.name] = _of_file(path, {})
    for kind in single_kinds():
        found = _of_runs(folder / "tables", kind)
        if found is not None:
            # `messages` of single runs beside the table of that name, which has one row per connection.
            source.tables.setdefault(kind, found)
            if layout_of(study) < UNMARKED:
                source.unmarked.append(kind)
    source.tables["captures"] = _captures(folder / "captures")
    source.tables["factors"] = factors_table(factors)
    return source


def memory_source(name: str, tables: Mapping[str, pa.Table | None], study: Mapping[str, Any]) -> Source:
    """The tables of results in memory."""
    found = {
        key: Sourced(table, meanings_of(table.schema, _runs() if key == "runs" else {}))
        for key, table in tables.items()
        if table is not None
    }
    return Source(name, found | {"factors": factors_table(factors_of(study))}, study=study)


def factors_table(factors: Sequence[Factor]) -> Sourced:
    """One row per level of each factor."""
    rows = [row for factor in factors for row in _level_rows(factor)]
    return Sourced(pa.Table.from_pylist(rows, schema=schema_of(FACTORS.values())), _words(FACTORS))


def meanings_of(schema: pa.Schema, known: Columns) -> dict[str, str]:
    """What the columns of a file mean: as the file says, else as is known."""
    words = _words(known)
    return {one.name: words_of(one) or words.get(one.name, "") for one in schema}


def _words(columns: Columns) -> dict[str, str]:
    return {name: column.words for name, column in columns.items()}


def _runs() -> Columns:
    return {**run_columns(), **responses()}


def _level_rows(factor: Factor) -> Iterator[dict[str, Any]]:
    numbers = as_numbers(factor.labels)
    unit = None if numbers is None else {"bit_s": "bit/s"}.get(numbers[0], numbers[0])
    for level, label in enumerate(factor.labels):
        value = numbers[1][level] if numbers else label
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        text = label if isinstance(label, str) else json.dumps(label)
        yield {
            "name": factor.name,
            "level": level,
            "label": text,
            "value": float(value) if plain else None,
            "unit": unit,
        }


def _of_file(path: Path, known: Columns) -> Sourced:
    return Sourced(_dataset([path]), meanings_of(_schema(path), known))


def _schema(path: Path, kind: Kind = TABLE) -> pa.Schema:
    try:
        str(path).encode()
        schema = table_schema(path, kind)
        _ = schema.names
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{path}: cannot be read: {one_line(error)}") from None
    except UnicodeError:
        raise StoreError(f"{path}: cannot be read: its name, or that of a column, is not UTF-8") from None
    return schema


def _dataset(paths: Sequence[Path]) -> ds.Dataset:
    """Files with one schema, that of the first."""
    names = [str(path.resolve()) for path in paths]
    return ds.dataset(names, schema=_schema(paths[0]), format=_format(), filesystem=fs.LocalFileSystem())


def _format() -> ds.ParquetFileFormat:
    """Parquet read as it is needed: whole files read ahead would be held in memory."""
    options = ds.ParquetFragmentScanOptions(pre_buffer=False, use_buffered_stream=True)
    return ds.ParquetFileFormat(default_fragment_scan_options=options)


def _of_runs(folder: Path, kind: str) -> Sourced | None:
    """The tables of this kind of all runs as one, with the run's number in front; None if there are none."""
    pattern = re.compile(rf"run-(\d+)-{kind}\.parquet")
    found = [
        (int(match[1]), path) for path in sorted(folder.glob("*")) if (match := pattern.fullmatch(path.name))
    ]
    if not found:
        return None
    form, files = _format(), fs.LocalFileSystem()
    fragments = [
        form.make_fragment(str(path.resolve()), files, partition_expression=ds.field("run") == run)
        for run, path in found
    ]
    for _, path in found:
        check_file(path, RUN_TABLE)
    schema = _schema(found[0][1], RUN_TABLE)
    run = run_columns()["run"]
    whole = pa.schema([*schema_of([run]), *schema])
    meanings = {"run": run.words, **meanings_of(schema, single(kind))}
    return Sourced(ds.FileSystemDataset(fragments, whole, form, files), meanings)


def _captures(folder: Path) -> Sourced:
    matches = [(CAPTURE_NAME.fullmatch(path.name), path) for path in sorted(folder.glob("*"))]
    found = [(int(match[1]), match[2], str(path)) for match, path in matches if match]
    for *_, path in found:
        check_file(Path(path), KEPT_CAPTURE)
    columns = [list(column) for column in zip(*found, strict=True)] or [[], [], []]
    return Sourced(pa.table(columns, schema=schema_of(CAPTURES.values())), _words(CAPTURES))


def _add_parts(source: Source, folder: Path, study: Mapping[str, Any], factors: Sequence[Factor]) -> None:
    """The runs of a study that has not finished, from its parts; the factors are not in these."""
    source.notes.append(
        f"{folder}: is not finished: only its finished runs are there; `rexmit run --resume` goes on with it"
    )
    parts = _parts(folder / "parts")
    if not parts:
        return
    schema = _schema(parts[0], RUN_TABLE)
    kept = pa.schema([one for one in schema if not pa.types.is_nested(one.type)])
    left = [one.name.removesuffix("[]") for one in schema if pa.types.is_nested(one.type)]
    if left:
        source.notes.append(f"{folder}: {', '.join(left)}: will be there when the study has finished")
    names = [str(path.resolve()) for path in parts]
    data = ds.dataset(names, schema=kept, format=_format(), filesystem=fs.LocalFileSystem())
    levels, divisor = [], Design(tuple(factors), study["replications"]).runs
    meanings = meanings_of(kept, _runs())
    for factor in factors:
        divisor //= len(factor.levels)
        table = level_table(factor)
        meanings |= meanings_of(table.schema, {})
        numbers = pa.array(range(len(factor.levels)), type=pa.int64())
        levels.append(Levels(table.append_column("level", numbers), divisor))
    source.tables["runs"] = Sourced(data, meanings, levels)


def _parts(folder: Path) -> list[Path]:
    """The parts that can be read, of which no two hold the same runs."""
    found = []
    for path in folder.glob("part-*.parquet"):
        match = re.fullmatch(r"part-(\d+)-(\d+)\.parquet", path.name)
        if match and _is_whole(path):
            found.append((int(match[1]), -int(match[2]), path))
    kept, at = [], 0
    for start, stop, path in sorted(found):
        if start >= at:
            kept.append(path)
            at = -stop
    return kept


def _is_whole(path: Path) -> bool:
    try:
        table_metadata(path, RUN_TABLE)
    except (OSError, pa.ArrowException):
        return False
    return True


def _of_tables(folder: Path) -> Source:
    """A folder of Parquet files, such as `rexmit analyze --tables` writes: each is a table of its name."""
    files = sorted(folder.glob("*.parquet"))
    if not files:
        raise StoreError(
            f"{folder}: holds neither {STUDY_JSON} nor Parquet files; name a folder of `rexmit run` or of "
            "`rexmit analyze --tables`"
        )
    tables = {path.stem: _of_file(path, {}) for path in files}
    return Source(str(folder), tables, folder=folder, about=ABOUT_CAPTURE)
