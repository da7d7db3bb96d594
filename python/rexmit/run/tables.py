"""Tables of chosen runs: state of both hosts over time, the path's verdicts, why each packet was sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import IO, TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from rexmit.files import make_folder, write_whole
from rexmit.inputs import RUN_TABLE
from rexmit.run.backends import Backend
from rexmit.run.parquet import whole_table
from rexmit.run.parts import unreadable

if TYPE_CHECKING:
    import polars as pl

TABLE_KINDS = ("state", "verdicts", "transmissions")


def table_path(out: Path, run: int, kind: str) -> Path:
    """Where a table of a run is."""
    return out / "tables" / f"run-{run:08d}-{kind}.parquet"


def run_table(path: Path) -> pl.DataFrame:
    """A table of a run that was kept in a results folder, of any version of its layout.

    Raises StoreError of one line where it cannot be read, FileNotFoundError where it is not there.
    """
    import polars as pl

    try:
        return without_marks(pl.DataFrame(pl.from_arrow(whole_table(path, RUN_TABLE))))
    except FileNotFoundError:
        raise
    except (OSError, pa.ArrowException) as error:
        raise unreadable(path, error) from None


def without_marks(table: pl.DataFrame) -> pl.DataFrame:
    """The table with null where layout 1 had the largest number for what nobody knows."""
    import polars as pl

    marked = pl.col(pl.UInt64)
    return table.with_columns(pl.when(marked != _NOBODY).then(marked).name.keep())


_NOBODY = 2**64 - 1


def write_tables(
    pool: Executor, backend: Backend, out: Path, kind: str, runs: Sequence[int]
) -> Iterator[int]:
    """Writes the table of this kind for each of these runs and yields its number as it is done.

    Files that are there already are kept.
    """
    make_folder(out / "tables", root=out)

    def write(run: int) -> int:
        path = table_path(out, run, kind)
        if not path.exists():
            store_table(path, backend.tables(run, (kind,))[kind], out)
        return run

    yield from pool.map(write, runs)


def store_table(path: Path, table: pa.Table, out: Path) -> None:
    """Writes a table of a run into the results folder `out`."""

    def write(file: IO[bytes]) -> None:
        pq.write_table(table, file)

    write_whole(path, write, root=out)
