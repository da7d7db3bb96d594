"""Single runs of results, run again exactly as they were, for their packets and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rexmit import _native
from rexmit.errors import UsageError
from rexmit.run.backends import Backend, as_recorded, open_backend
from rexmit.run.columns import SEED_COLUMNS
from rexmit.run.results import Results
from rexmit.study import Design, StudySpec

if TYPE_CHECKING:
    import polars as pl

TOLD = ("time_ns", "bytes", "packets_down", "packets_up", "retransmits", "drops_down", "drops_up")
"""Responses by which a run that was run again is known to be the same."""


class Again:
    """Repeats runs of some results. One instance may serve several threads.

    Raises UsageError where none of the runs would be the same again: on a real kernel in real time, or on a
    system other than the one that ran them.
    """

    def __init__(self, results: Results) -> None:
        self._results = results
        self._spec = results.spec()
        self._backends: dict[int, Backend] = {}
        self._rows = RowsByRun(results.table(), (*SEED_COLUMNS, *TOLD))
        backend = self._backend(self._spec)
        if backend.real_time:
            raise UsageError("these runs took real time, and would not be the same again")
        for fact, now in backend.facts().items():
            then = results.study.get(fact)
            if then != now:
                raise UsageError(f"these runs were run with {fact} {then}, not {now}")

    def run(self, number: int, files: Mapping[str, Path]) -> dict[str, pa.Table]:
        """Runs it, writes its captures to the files of hosts, and returns its tables `state` and `verdicts`.

        Raises UsageError where its row differs from that in the results: this version of the package, or
        what it runs on, is then not the one that ran it.
        """
        spec, own = self._as_run(number)
        backend = self._backend(spec)
        row = backend.capture(own, files)
        before = self._rows.of(number)
        for name in TOLD:
            if name in before and before[name] != row.get(name):
                raise UsageError(
                    f"run {number} was run by rexmit {self._results.study.get('version')} with {name} "
                    f"{before[name]}, and comes out with {row.get(name)} now ({_native.version()})"
                )
        return backend.tables(own, [kind for kind in ("state", "verdicts") if kind in backend.table_kinds])

    def _as_run(self, number: int) -> tuple[StudySpec, int]:
        """The study and the number under which it was run: for merged results, those of its own seed."""
        row = self._rows.of(number)
        if SEED_COLUMNS[0] not in row:
            return self._spec, number
        seed, replication = (int(row[name]) for name in SEED_COLUMNS)
        design = Design(self._spec.design.factors, replication + 1, seed)
        spec = replace(self._spec, design=design)
        return spec, design.number(self._spec.design.point(number).levels, replication)

    def _backend(self, spec: StudySpec) -> Backend:
        key = hash((spec.design.seed, spec.design.replications))
        if key not in self._backends:
            study = self._results.study
            options = as_recorded(study, self._results.new_runs > 0)
            self._backends[key] = open_backend(str(study["backend"]), spec, options)
        return self._backends[key]


class RowsByRun:
    """Rows of a table of runs by their number: those of `columns` that the table has."""

    def __init__(self, table: pl.DataFrame, columns: Sequence[str]) -> None:
        self._frame = table.select([name for name in ("run", *columns) if name in table.columns])
        self._runs = self._frame["run"].to_numpy()

    def __contains__(self, number: int) -> bool:
        place = int(self._runs.searchsorted(number))
        return place < len(self._runs) and bool(self._runs[place] == number)

    def of(self, number: int) -> dict[str, Any]:
        """The row of a run. Raises UsageError where there is none."""
        if number not in self:
            raise UsageError(f"run {number} is not among these results; they have {len(self._runs)}")
        row = self._frame.row(int(self._runs.searchsorted(number)), named=True)
        del row["run"]
        return row


def numbers_of(text: str, least: int, most: int) -> Sequence[int]:
    """Runs by their numbers: `17,18,40..60`. Raises UsageError for anything but `least` to `most`."""
    found: dict[int, None] = {}
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        try:
            ends = int(first), int(last if dots else first)
        except ValueError:
            raise UsageError(
                f"{part.strip()!r} is not a run number; write for example 17,18,40..60"
            ) from None
        if ends[0] > ends[1] or ends[0] < least or ends[1] > most:
            raise UsageError(f"{part.strip()}: the runs are {least} to {most}; give the smaller one first")
        found |= dict.fromkeys(range(ends[0], ends[1] + 1))
    return list(found)
