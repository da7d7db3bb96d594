"""Results of a study that has not finished: what there is so far, to look at."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from rexmit.errors import StoreError
from rexmit.run.columns import FactorColumns
from rexmit.run.details import split
from rexmit.run.parquet import ROWS_A_GROUP
from rexmit.run.parts import Parts
from rexmit.run.record import design_of
from rexmit.run.results import Results, read_study
from rexmit.run.store import RUNS


def is_finished(folder: str | Path) -> bool:
    """Whether the results folder has all its runs in one table."""
    return (Path(folder) / RUNS).exists()


def open_unfinished(folder: str | Path) -> Results:
    """The runs that a folder has so far, as results.

    Raises StoreError where it is not a results folder, or has no run yet.
    """
    folder = Path(folder)
    study = read_study(folder)
    columns = FactorColumns(design_of(study))
    parts = Parts(folder / "parts")
    tables = [columns.beside(table, table.column("run")[0].as_py()) for table in parts.tables(ROWS_A_GROUP)]
    if not tables:
        raise StoreError(f"{folder}: no run is finished yet; begin with `rexmit run` and --resume")
    table, details = split(pa.concat_tables(tables))
    return Results(table, study, folder, details=details)
