"""Captures of chosen runs: each is run again, and must give the same answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from glob import escape
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.errors import RexmitError, StudyError, one_line
from rexmit.files import make_folder, move_in, store_error
from rexmit.places import temporary_folder
from rexmit.run.backends import Backend, to_json
from rexmit.run.stopping import asked
from rexmit.study import StudySpec
from rexmit.study.network import is_network

CAPTURE_CHOICES = ("none", "failed", "all")
HOSTS = ("server", "client")
"""The hosts of a scenario that is not a network."""

CAPTURE_NAME = re.compile(r"run-([0-9]{8,10})-([\w-]+)\.pcapng", re.ASCII)
"""The name of a capture in a results folder: the number of the run, and the host."""


class HostNames:
    """The names of the hosts in each run of a study, in the order of their numbers."""

    def __init__(self, spec: StudySpec) -> None:
        self._spec = spec
        settings = [name for one in spec.design.factors for name in one.settings or (one.name,)]
        self._vary = any(
            name.split(".")[0] in ("hosts", "links") and ".stack" not in name for name in settings
        )
        self._known: dict[int, tuple[str, ...]] = {}

    def of(self, run: int) -> tuple[str, ...]:
        """Those of a run. Raises StudyError for a scenario that has none."""
        key = run // self._spec.design.replications if self._vary else 0
        if key not in self._known:
            self._known[key] = hosts_of(self._spec.scenario_of(run))
        return self._known[key]


def hosts_of(scenario: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the hosts of a scenario; those of a group one by one."""
    if not is_network(scenario):
        return HOSTS
    try:
        return tuple(_native.hosts_of(to_json(scenario)))
    except ValueError as error:
        raise StudyError(one_line(error)) from None


def capture_path(out: Path, run: int, host: str) -> Path:
    """Where the capture at a host of a run is."""
    return out / "captures" / f"run-{run:08d}-{host}.pcapng"


def qlogs_beside(capture: Path) -> list[Path]:
    """The logs of QUIC stacks that a run has written beside a capture, one for each connection."""
    return sorted(capture.parent.glob(f"{escape(capture.stem)}-*.sqlog"))


def capture_runs(
    pool: Executor, backend: Backend, hosts: HostNames, out: Path, runs: Mapping[int, int]
) -> Iterator[int]:
    """Captures these runs, given with the ns that each took, at all hosts; yields the number of each.

    Files that are there already are kept. Raises RexmitError where a run does not repeat exactly, which
    would be a defect of this package.
    """
    make_folder(out / "captures", root=out)
    todo = [run for run in runs if not all(capture_path(out, run, host).exists() for host in hosts.of(run))]
    missing = set(todo)
    yield from (run for run in runs if run not in missing)
    with temporary_folder() as folder:

        def capture(run: int) -> int:
            made = {host: folder / capture_path(out, run, host).name for host in hosts.of(run)}
            try:
                row = backend.capture(run, made)
            except OSError as error:
                raise store_error(folder, error) from None
            if row["time_ns"] != runs[run]:
                raise RexmitError(
                    f"run {run} took {runs[run]} ns and now {row['time_ns']} ns; please report this"
                )
            for host, source in made.items():
                kept = capture_path(out, run, host)
                move_in(source, kept, out, asked)
                for log in qlogs_beside(source):
                    move_in(log, kept.with_name(log.name), out, asked)
            return run

        yield from pool.map(capture, todo)
