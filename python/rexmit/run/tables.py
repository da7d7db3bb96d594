"""Tables of chosen runs: state of both hosts over time, the path's verdicts, why each packet was sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

import pyarrow.parquet as pq

from rexmit.run.backends import Backend
from rexmit.run.files import store_error, write_whole

TABLE_KINDS = ("state", "verdicts", "transmissions")


def table_path(out: Path, run: int, kind: str) -> Path:
    """Where a table of a run is."""
    return out / "tables" / f"run-{run:08d}-{kind}.parquet"


def write_tables(
    pool: Executor, backend: Backend, out: Path, kind: str, runs: Sequence[int]
) -> Iterator[int]:
    """Writes the table of this kind for each of these runs and yields its number as it is done.

    Files that are there already are kept.
    """
    try:
        (out / "tables").mkdir(exist_ok=True)
    except OSError as error:
        raise store_error(out / "tables", error) from None

    def write(run: int) -> int:
        path = table_path(out, run, kind)
        if not path.exists():
            table = backend.tables(run, (kind,))[kind]
            write_whole(path, lambda temporary: pq.write_table(table, temporary))
        return run

    yield from pool.map(write, runs)
