"""Captures of chosen runs: each is run again, and must give the same answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path

from rexmit.errors import RexmitError
from rexmit.run.backends import Backend
from rexmit.run.files import TEMPORARY, store_error, write_whole

CAPTURE_CHOICES = ("none", "failed", "all")
HOSTS = ("server", "client")


def capture_path(out: Path, run: int, host: str) -> Path:
    """Where the capture at a host of a run is."""
    return out / "captures" / f"run-{run:08d}-{host}.pcapng"


def capture_runs(pool: Executor, backend: Backend, out: Path, runs: Mapping[int, int]) -> Iterator[int]:
    """Captures these runs, given with the ns that each took, at both hosts; yields the number of each.

    Files that are there already are kept. Raises RexmitError where a run does not repeat exactly, which
    would be a defect of this package.
    """
    try:
        (out / "captures").mkdir(exist_ok=True)
    except OSError as error:
        raise store_error(out / "captures", error) from None
    todo = [run for run in runs if not all(capture_path(out, run, host).exists() for host in HOSTS)]
    missing = set(todo)
    yield from (run for run in runs if run not in missing)
    yield from pool.map(lambda run: _capture(backend, out, run, runs[run]), todo)


def _capture(backend: Backend, out: Path, run: int, time_ns: int) -> int:
    server, client = (capture_path(out, run, host) for host in HOSTS)
    beside = client.with_name(client.name + ".other" + TEMPORARY)

    def write(temporary: Path) -> None:
        row = backend.capture(run, temporary, beside)
        if row["time_ns"] != time_ns:
            raise RexmitError(f"run {run} took {time_ns} ns and now {row['time_ns']} ns; please report this")

    def move(temporary: Path) -> None:
        beside.replace(temporary)

    write_whole(server, write)
    write_whole(client, move)
    return run
