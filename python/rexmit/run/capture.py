"""Captures of chosen runs: each is run again, and must give the same answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rexmit import _native
from rexmit.errors import RexmitError
from rexmit.files import make_folder, move_in, store_error
from rexmit.places import temporary_folder
from rexmit.run.stopping import asked

if TYPE_CHECKING:
    from rexmit.run.backends import Backend

CAPTURE_CHOICES = ("none", "failed", "all")
HOSTS = ("server", "client")
"""The hosts of a scenario without a network."""


def hosts_in(scenario: Mapping[str, Any]) -> list[str]:
    """The hosts of a scenario by their names, those of groups one by one, in the order of their numbers."""
    if set(scenario.get("hosts", {})) == set(HOSTS) and not scenario.get("links"):
        return [*HOSTS]
    return _native.hosts_of(json.dumps(scenario, default=str))


def capture_path(out: Path, run: int, host: str) -> Path:
    """Where the capture at a host of a run is."""
    return out / "captures" / f"run-{run:08d}-{host}.pcapng"


def capture_runs(pool: Executor, backend: Backend, out: Path, runs: Mapping[int, int]) -> Iterator[int]:
    """Captures these runs, given with the ns that each took, at all hosts; yields the number of each.

    Files that are there already are kept. Raises RexmitError where a run does not repeat exactly, which
    would be a defect of this package.
    """
    make_folder(out / "captures", root=out)
    hosts = {run: backend.hosts(run) for run in runs}
    todo = [run for run in runs if not all(capture_path(out, run, host).exists() for host in hosts[run])]
    missing = set(todo)
    yield from (run for run in runs if run not in missing)
    with temporary_folder() as folder:

        def capture(run: int) -> int:
            made = {host: folder / capture_path(out, run, host).name for host in hosts[run]}
            try:
                row = backend.capture(run, made)
            except OSError as error:
                raise store_error(folder, error) from None
            if row["time_ns"] != runs[run]:
                raise RexmitError(
                    f"run {run} took {runs[run]} ns and now {row['time_ns']} ns; please report this"
                )
            for host, source in made.items():
                move_in(source, capture_path(out, run, host), out, asked)
            return run

        yield from pool.map(capture, todo)
