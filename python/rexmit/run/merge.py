"""Results of one study joined: further replications, other levels, or parts of the runs.

A run is known by its seed, its levels and its replication under that seed. The joined table has every run
once, in the order of its design; so parts of one study give the very bytes that the whole would have given.
Nothing is in the new folder before all is: it is written under another name beside it, then renamed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import tomli_w

from rexmit.errors import StoreError, UsageError
from rexmit.files import write_json, write_text, write_whole
from rexmit.run.backends import BackendOptions, ModelBackend, is_real_time
from rexmit.run.beside import keep_files, merged_provenance, provenance_of, written_beside
from rexmit.run.columns import SEED_COLUMNS, factor_columns, with_factors
from rexmit.run.details import DETAILS, Detail, split
from rexmit.run.merge_shards import merge_shards, shards_among
from rexmit.run.provenance import now
from rexmit.run.record import STUDY_JSON, factors_of
from rexmit.run.results import Results, open_results
from rexmit.run.schema import KEY, layout_of
from rexmit.run.store import (
    PROVENANCE,
    RUNS,
    STUDY_TOML,
    decisive,
    first_difference,
    without_nulls,
    write_details,
    write_runs,
)
from rexmit.study import Design, StudySpec
from rexmit.study.factors import Factor, factor_to_record
from rexmit.units import as_numbers

OWN = ("scenario", "factors", "replications", "seed", "seeds", "runs")
"""What may differ in the records of two results of one study; the first two are compared by themselves."""

TEXTS = ("title", "source", "question", "description")


def merge_results(
    folders: Sequence[str | Path], out: str | Path | None, skip_duplicates: bool = False
) -> Results:
    """Joins finished results of one study and returns them, stored in the new folder `out` unless it is None.

    They must have the same scenario, factors, backend and version. Runs of other seeds become further
    replications; other levels, and other parts of one design, are put in their places; every combination of
    levels must then have as many runs. Captures and tables of single runs go along under their new numbers.
    Shards of one study (`--shard i/n`) must all be there, and give the very folder of a run on one machine.

    Raises StoreError of one line that names what differs, which runs are missing, or which appear twice;
    with `skip_duplicates` these are taken once, if they agree.
    """
    started = now()
    places = [Path(folder) for folder in folders]
    _check_named_once(places)
    if shards_among(places):
        return merge_shards(places, None if out is None else Path(out), skip_duplicates)
    sources = _open(places)
    _check_apart(sources)
    _check_same_study(sources)
    factors = _joined_factors(sources)
    _check_same_scenario(sources)
    rows = _numbered(sources, factors, skip_duplicates)
    table, record = _joined(sources, factors, rows)
    table, details = split(table)
    if out is None:
        return Results(table, record, None, details=details)
    out = Path(out)
    with written_beside(out) as folder:
        _write(folder, table, record)
        write_details(folder, details, resumable=False)
        _keep_files(folder, sources, rows)
        write_json(folder / PROVENANCE, _provenance(sources, rows, record, started))
    return Results(table, record, out)


@dataclass(frozen=True)
class _Source:
    """Results to join; `start` is the number of its first row among all."""

    folder: Path
    results: Results
    start: int

    @property
    def factors(self) -> tuple[Factor, ...]:
        return factors_of(self.results.study)


def _check_named_once(folders: Sequence[Path]) -> None:
    if not folders:
        raise UsageError("there is nothing to merge; name results folders")
    seen: set[Path] = set()
    for folder in folders:
        if folder.resolve() in seen:
            raise UsageError(f"{folder}: is named twice")
        seen.add(folder.resolve())


def _open(folders: Sequence[Path]) -> list[_Source]:
    sources: list[_Source] = []
    start = 0
    for folder in folders:
        results = open_results(folder)
        sources.append(_Source(folder, results, start))
        start += len(results)
    return sources


# What must agree


def _check_apart(sources: Sequence[_Source]) -> None:
    """Runs of a sequence depend on those before them; merged, others would come in between."""
    for source in sources:
        if "sequence" in source.results.study:
            raise StoreError(
                f"{source.folder}: its runs follow each other (design.sequence), so that other seeds "
                "or levels would be another study; merge the shards of one"
            )


def _check_same_study(sources: Sequence[_Source]) -> None:
    first = sources[0]
    for other in sources[1:]:
        difference = first_difference({"name": first.results.name}, {"name": other.results.name})
        difference = difference or first_difference(_record(first), _record(other))
        names = list(first.results.factors), list(other.results.factors)
        if difference is None and names[0] != names[1]:
            difference = f"vary was {', '.join(names[0]) or 'nothing'}, is {', '.join(names[1]) or 'nothing'}"
        if difference is None and _responses(first).column_names != _responses(other).column_names:
            difference = "the columns of runs.parquet differ"
        if difference:
            raise _differs(first, other, difference)


def _check_same_scenario(sources: Sequence[_Source]) -> None:
    """A record's scenario is that of its first run: the other's levels are set before two are compared."""
    first = sources[0]
    for other in sources[1:]:
        design = Design(other.factors)
        spec = StudySpec(first.results.name, None, {}, first.results.study["scenario"], design)
        expected = ModelBackend(spec, BackendOptions()).resolved()
        difference = first_difference(expected, other.results.study["scenario"])
        if difference:
            raise _differs(first, other, difference)


def _record(source: _Source) -> dict[str, Any]:
    return {key: value for key, value in decisive(source.results.study).items() if key not in OWN}


def _differs(first: _Source, other: _Source, difference: str) -> StoreError:
    return StoreError(
        f"{other.folder}: is of a different study from {first.folder}: {difference}; "
        "merge results of one study"
    )


def _joined_factors(sources: Sequence[_Source]) -> tuple[Factor, ...]:
    """The factors with the levels of all: ascending where each has them so, else in order of the folders."""
    joined = []
    for versions in zip(*(source.factors for source in sources), strict=True):
        levels: dict[str, tuple[Any, Any]] = {}
        for factor in versions:
            for label, level in zip(factor.labels, factor.levels, strict=True):
                levels.setdefault(repr(label), (label, level))
        pairs = list(levels.values())
        if all(_heights(factor.labels, rising=True) for factor in versions):
            heights = _heights([label for label, _ in pairs])
            if heights is not None:
                pairs = [pairs[n] for n in np.argsort(heights, kind="stable")]
        labels, values = zip(*pairs, strict=True)
        joined.append(Factor(versions[0].name, values, labels))
    return tuple(joined)


def _heights(labels: Sequence[Any], rising: bool = False) -> list[float] | None:
    """The labels as numbers in one unit; None where they are not numbers, or should rise and do not."""
    numbers = as_numbers(labels)
    if numbers is not None:
        heights = [float(value) for value in numbers[1]]
    elif all(isinstance(label, int | float) and not isinstance(label, bool) for label in labels):
        heights = [float(label) for label in labels]
    else:
        return None
    return None if rising and any(np.diff(heights) <= 0) else heights


# Which run is which


def _numbered(sources: Sequence[_Source], factors: tuple[Factor, ...], skip: bool) -> pl.DataFrame:
    """One row per run, in the order of the joined design.

    Columns: `point` (number of its combination of levels), `seed`, `replication` (under that seed), `source`,
    `run` (its number there), `row` (among the rows of all), `place` (its replication in the joined design).
    """
    rows = pl.concat([_rows_of(number, source, factors) for number, source in enumerate(sources)])
    rows = _without_equal(rows, sources, skip)
    rows = rows.sort("point", "seed", "replication", "source", "row")
    rows = rows.with_columns(pl.int_range(pl.len()).over("point").alias("place"))
    _check_complete(rows, factors, sources)
    return rows


def _rows_of(number: int, source: _Source, factors: tuple[Factor, ...]) -> pl.DataFrame:
    table = source.results.table()
    design = Design(source.factors, source.results.study["replications"])
    runs = table["run"].cast(pl.Int64).to_numpy()
    if runs.size and (runs.max() >= design.runs or len(np.unique(runs)) != runs.size):
        raise StoreError(f"{source.folder / RUNS}: its runs are not those of its {STUDY_JSON}")
    rest, replication = np.divmod(runs, design.replications)
    point = np.zeros_like(runs)
    weight = 1
    for factor, joined in zip(reversed(design.factors), reversed(factors), strict=True):
        rest, level = np.divmod(rest, len(factor.levels))
        place = {repr(label): n for n, label in enumerate(joined.labels)}
        point += np.array([place[repr(label)] for label in factor.labels])[level] * weight
        weight *= len(joined.levels)
    seed = np.full(runs.size, source.results.study["seed"], dtype=np.int64)
    if SEED_COLUMNS[0] in table.columns:
        seed, replication = (table[name].cast(pl.Int64).to_numpy() for name in SEED_COLUMNS)
    return pl.DataFrame(
        {
            "point": point,
            "seed": seed,
            "replication": replication,
            "source": np.full(runs.size, number),
            "run": runs,
            "row": source.start + np.arange(runs.size),
        }
    )


def _without_equal(rows: pl.DataFrame, sources: Sequence[_Source], skip: bool) -> pl.DataFrame:
    """The rows without those of runs that earlier rows already hold.

    Raises StoreError where there are any and they are not to be skipped, or where they do not agree.
    """
    whole = pl.from_arrow(pa.concat_tables([_responses(source) for source in sources]))
    assert isinstance(whole, pl.DataFrame)
    key = ["point", "seed", "replication"]
    if is_real_time(sources[0].results.study["backend"]):
        # There, the same seed does not make the same run: only the same values do.
        rows = rows.with_columns(whole.hash_rows().alias("digest"))
        key.append("digest")
    rows = rows.with_columns(pl.col("row").first().over(key).alias("first"))
    again = rows.filter(pl.col("row") != pl.col("first"))
    before, after = whole[again["first"].to_numpy()], whole[again["row"].to_numpy()]
    same = [before[name].eq_missing(after[name]).alias(name) for name in whole.columns]
    equal = pl.DataFrame(same).select(pl.all_horizontal(pl.all()).alias("equal"))["equal"]
    if not equal.all():
        found = again.filter(~equal).row(0, named=True)
        column = next(one.name for one in same if not one.filter(~equal)[0])
        raise StoreError(
            f"{sources[found['source']].folder}: run {found['run']} is also in "
            f"{_folder_of(found['first'], sources)}, with another {column}: one of the two is damaged, or "
            "something beside the study changed"
        )
    twice = again.filter(equal)
    if not twice.is_empty() and not skip:
        found = twice.row(0, named=True)
        raise StoreError(
            f"{sources[found['source']].folder}: holds {twice.height} runs that "
            f"{_folder_of(found['first'], sources)} holds too, such as run {found['run']} (seed "
            f"{found['seed']}, replication {found['replication']}); run it with another --seed, or give "
            "--skip-duplicates"
        )
    return rows.filter(~pl.col("row").is_in(twice["row"].implode()))


def _check_complete(rows: pl.DataFrame, factors: tuple[Factor, ...], sources: Sequence[_Source]) -> None:
    """Raises StoreError unless every combination of levels has as many runs."""
    points = math.prod(len(factor.levels) for factor in factors)
    counts = np.bincount(rows["point"].to_numpy(), minlength=points)
    most = int(counts.max())
    if (counts == most).all() and most:
        return
    few = int(np.argmax(counts < most))
    where = []
    for factor, level in zip(factors, Design(factors).point(few).levels, strict=True):
        where.append(f"{factor.name} = {factor.labels[level]}")
    names = ", ".join(str(source.folder) for source in sources)
    raise StoreError(
        f"{names}: together lack runs: {', '.join(where)} has {counts[few]} where another combination of "
        f"levels has {most} ({(counts < most).sum()} of {points} combinations lack some); merge the missing "
        "parts, too"
    )


def _folder_of(row: int, sources: Sequence[_Source]) -> Path:
    return next(source.folder for source in reversed(sources) if source.start <= row)


# The joined results


def _joined(
    sources: Sequence[_Source], factors: tuple[Factor, ...], rows: pl.DataFrame
) -> tuple[pa.Table, dict[str, Any]]:
    """The joined table and its record."""
    seeds = rows["seed"].unique().sort().to_list()
    replications = int(rows["place"].max()) + 1  # type: ignore[arg-type]
    design = Design(factors, replications, seeds[0])
    responses = pa.concat_tables([_responses(source) for source in sources]).take(rows["row"].to_arrow())
    first = sources[0].results.arrow().schema
    columns = {
        "run": pa.array(np.arange(len(rows))).cast(first.field("run").type),
        "replication": rows["place"].to_arrow().cast(first.field("replication").type),
        **{name: responses.column(name) for name in responses.column_names},
    }
    if len(seeds) > 1 or not (rows["place"] == rows["replication"]).all():
        for name, own in zip(SEED_COLUMNS, ("seed", "replication"), strict=True):
            columns[name] = rows[own].to_arrow()
    for detail in DETAILS:
        nested = _nested(sources, detail)
        if nested is not None:
            columns[detail.column] = nested.take(rows["row"].to_arrow())
    study = sources[0].results.study
    spec = StudySpec(study["name"], None, {}, study["scenario"], design)
    record = {
        **study,
        KEY: min(layout_of(source.results.study) for source in sources),
        "scenario": ModelBackend(spec, BackendOptions()).resolved(),
        "factors": [factor_to_record(factor) for factor in factors],
        "replications": replications,
        "seed": seeds[0],
        "runs": design.runs,
    }
    record.pop("seeds", None)
    if SEED_COLUMNS[0] in columns:
        record["seeds"] = seeds
    return with_factors(pa.table(columns), design), record


def _nested(sources: Sequence[_Source], detail: Detail) -> pa.ChunkedArray | None:
    """What all of them have of a detail, nested by run; None where none has any."""
    nested = [detail.nested_column(len(one.results), one.results.detail(detail)) for one in sources]
    if all(column is None for column in nested):
        return None
    for source, column in zip(sources, nested, strict=True):
        if column is None:
            raise StoreError(
                f"{source.folder}: holds no {detail.file}, which the others hold; run it again into "
                "another --out, or merge without it"
            )
    return pa.chunked_array(nested)


def _responses(source: _Source) -> pa.Table:
    """The table without the columns that number a run and give its levels."""
    table = source.results.arrow()
    own = {"run", "replication", *SEED_COLUMNS}
    settings = [name for factor in source.factors for name in (factor.name, *factor.settings)]
    own |= {column for name in settings for column in factor_columns(name)}
    return table.select([name for name in table.column_names if name not in own])


# The folder


def _write(folder: Path, table: pa.Table, record: dict[str, Any]) -> None:
    write_json(folder / STUDY_JSON, record)
    texts = {key: record[key] for key in TEXTS if key in record}
    spec = replace(Results(table, record, None).spec(), texts=texts)
    note = ""
    if "seeds" in record:
        seeds = ", ".join(map(str, record["seeds"]))
        note = f"# Merged from runs with the seeds {seeds}; this file runs all with the first of them.\n"
    write_text(folder / STUDY_TOML, note + tomli_w.dumps(without_nulls(spec.to_table(record["scenario"]))))
    write_whole(folder / RUNS, partial(write_runs, table), resumable=False)


def _keep_files(folder: Path, sources: Sequence[_Source], rows: pl.DataFrame) -> None:
    """Captures and tables of single runs, under their new numbers."""
    replications = int(rows["place"].max()) + 1  # type: ignore[arg-type]
    rows = rows.with_columns((pl.col("point") * replications + pl.col("place")).alias("now"))
    for number, source in enumerate(sources):
        own = rows.filter(pl.col("source") == number)
        names = dict(zip(own["run"].to_list(), own["now"].to_list(), strict=True))
        keep_files(source.folder, folder, names.get)


def _provenance(
    sources: Sequence[_Source], rows: pl.DataFrame, record: dict[str, Any], started: str
) -> dict[str, Any]:
    taken = dict(rows.group_by("source").len().iter_rows())
    told = [
        {
            "folder": str(source.folder.resolve()),
            "seeds": source.results.study.get("seeds", [source.results.study["seed"]]),
            "replications": source.results.study["replications"],
            "levels": {factor.name: _plain(factor.labels) for factor in source.factors},
            "runs": len(source.results),
            "taken": taken.get(number, 0),
            "provenance": provenance_of(source.results),
        }
        for number, source in enumerate(sources)
    ]
    return merged_provenance(record, told, started)


def _plain(levels: Sequence[Any]) -> list[Any]:
    found: list[Any] = json.loads(json.dumps(levels, default=str))
    return found
