"""Real kernels: a guest whose clock is virtual (`uml`), and this machine's own in real time (`kernel`)."""

from __future__ import annotations

import json
import platform
import socket
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from rexmit import _native
from rexmit.errors import RexmitError, StudyError, UsageError
from rexmit.files import put
from rexmit.run.agents import Crew, Done, RunJob
from rexmit.run.backends import BackendOptions, ModelBackend, Step, asked_for, to_json
from rexmit.run.capture import hosts_of
from rexmit.run.chosen_kernels import ChosenKernels, named_kernels
from rexmit.run.details import PROGRAMS, RETRANSMISSIONS, nest
from rexmit.run.guests import (
    Reach,
    agent_program,
    engine,
    guest_command,
    inside_command,
    of_this_system,
)
from rexmit.run.judged import JudgedCaptures
from rexmit.run.processes import agent_command
from rexmit.run.programs import IN_GUEST, guest_of_each, place_of, start_of
from rexmit.run.stopping import asked
from rexmit.run.this_kernel import unnamed_congestion
from rexmit.run.unreached import Unreached
from rexmit.study import StudySpec
from rexmit.study.traces import trace_files
from rexmit.tables import SEEDS, Column, lateness, responses, run_columns, single
from rexmit.tables.arrow import field, from_lists, from_native, schema_of

PIECE_SECONDS = 1.0
"""Finished runs are handed on at least this often."""


class RealBackend(ModelBackend):
    """A real kernel. The model's plan names its runs; agents run them."""

    table_kinds: tuple[str, ...] = ("state", "verdicts", "messages")

    def __init__(self, spec: StudySpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        self._unreached = Unreached()
        self._columns = [*run_columns().values(), *(c for c in responses().values() if c.name not in SEEDS)]
        self._own = spec.responses
        own = [field(one.column, pa.float64()) for one in self._own]
        nested = [pa.field(detail.column, detail.nested) for detail in self._details]
        self._schema = pa.schema([*schema_of(self._columns), *own, *nested])
        self._sent_again: dict[int, list[dict[str, Any]]] = {}
        self._judged = JudgedCaptures() if RETRANSMISSIONS in self._details else None

    def _kernel_stacks(self) -> None:
        """None: both hosts have the kernel of the backend."""
        if self._options.kernel is not None and self.real_time:
            raise UsageError(
                f"kernel: is for guests, which backend {self.name} lacks: its kernel is this machine's"
            )

    def command(self, job: Path, folder: Path) -> list[str]:
        """The command of an agent for a job."""
        raise NotImplementedError

    def check(self, step: Step) -> list[str]:
        """Warnings about the study. Raises StudyError where a run of it could not be built here."""
        if self._spec.design.sequence is not None:
            raise StudyError(
                f"{self._where}: design.sequence: on backend {self.name} every run begins at hosts that "
                "remember no other run; leave it out, or use backend model"
            )
        warnings = super().check(step)
        self._check_programs()
        scenario = self._spec.scenario_of(0)
        names = {
            host["stack"]
            for host in scenario.get("hosts", {}).values()
            if isinstance(host, dict) and isinstance(host.get("stack"), str)
        }
        if names:
            told = ", ".join(sorted(names))
            warnings.append(f"backend {self.name}: {self.describe()} takes the place of {told}")
        return warnings

    def _check_programs(self) -> None:
        """Raises StudyError where the date of some run is invalid."""
        name = "programs.date"
        dates = [one for one in self._design.factors if name in (one.name, *one.settings)]
        given = [one.assigned(level)[name] for one in dates for level in range(len(one.levels))]
        try:
            for scenario in (self._spec.scenario, *({"programs": {"date": date}} for date in given)):
                start_of(scenario)
        except StudyError as error:
            raise StudyError(f"{self._where}: {error}") from None

    def describe(self) -> str:
        """The kernel, in a few words."""
        raise NotImplementedError

    def sweep(self, runs: range, jobs: int, stopped: Callable[[], bool]) -> Iterator[tuple[range, pa.Table]]:
        """Runs them on `jobs` agents and yields finished ones, in ranges."""
        with self._judged or nullcontext(), self._options.keep or nullcontext():
            yield from self._sweep(runs, jobs, stopped)

    def _sweep(self, runs: range, jobs: int, stopped: Callable[[], bool]) -> Iterator[tuple[range, pa.Table]]:
        keep = self._options.keep
        crew = self._crew(lambda run: self._captured(run, keep.options(run) if keep else {}), jobs)
        finished: dict[int, Done] = {}
        flushed = time.monotonic()
        work = crew.work(runs, stopped)
        try:
            for done in work:
                finished[done.run] = done
                if self._judged:
                    self._sent_again[done.run] = self._judged.take(done.run, done.failed is None)
                self._settle(done)
                if time.monotonic() - flushed > PIECE_SECONDS:
                    yield from self._pieces(finished)
                    flushed = time.monotonic()
        except RexmitError:
            yield from self._pieces(finished)
            raise
        yield from self._pieces(finished)

    def unreached(self) -> list[tuple[str, int]]:
        """What patterns named but no packet matched in the runs so far: a text, and in how many of them."""
        return self._unreached.texts()

    def capture(self, run: int, files: Mapping[str, Path], snap_len: int | None = None) -> dict[str, Any]:
        """Runs one run again with its captures."""
        hosts = hosts_of(self._spec.scenario_of(run))
        captures = [str(files[host].resolve()) if host in files else None for host in hosts]
        return self._row(self._one(run, {"captures": captures, "capture_snap_len": snap_len}))

    def tables(self, run: int, kinds: Sequence[str]) -> dict[str, pa.Table]:
        """Runs one run again with these tables."""
        done = self._one(run, asked_for(kinds, self._options.state_at))
        return {kind: from_lists(done.answer["tables"][kind], single(kind)) for kind in kinds}

    def _one(self, run: int, options: dict[str, Any]) -> Done:
        crew = self._crew(lambda _: options, 1)
        done = next(iter(crew.work([run], asked)), None)
        if done is None:
            raise KeyboardInterrupt
        if done.failed:
            raise RexmitError(f"run {run}: {done.failed}")
        return done

    def _captured(self, run: int, options: dict[str, Any]) -> dict[str, Any]:
        """The options of a run, with captures where its retransmissions are counted."""
        return self._judged.options(run, self._spec.scenario_of(run), options) if self._judged else options

    def _crew(self, options: Callable[[int], dict[str, Any]], size: int) -> Crew:
        jobs, pinned = (lambda run: self._job(run, options(run))), not self.real_time
        design = self._design
        levels = [list(factor.levels) for factor in design.factors]
        varied = {
            "base": self._spec.base(),
            "factors": [one.name for one in design.factors],
            "levels": levels,
        }
        study = {"design": varied, "replications": design.replications, "seed": design.seed}
        programs = self._spec.has_programs
        return Crew(
            self.command, jobs, size, pinned, self._kind, json.loads(to_json(study)), of_programs=programs
        )

    def _kind(self, run: int) -> Hashable:
        """What runs must have in common for one agent to run them."""
        return None

    def _virtual_hz(self, run: int) -> int | None:
        """Ticks per second of a run's kernel, where its clock is virtual."""
        return None

    def _settle(self, done: Done) -> None:
        if keep := self._options.keep:
            row = {} if done.failed else done.answer["row"]
            failed = done.failed is not None or not row["completed"] or row["error"] is not None
            keep.settle(done.run, failed, None if done.failed else done.answer.get("tables", {}))

    def _job(self, run: int, options: dict[str, Any]) -> RunJob:
        options = {"virtual_hz": self._virtual_hz(run), **options}
        if not self._spec.has_programs:
            return RunJob(run, options=options)
        scenario = self._spec.scenario_of(run)
        captures = [Path(path).parent for path in options.get("captures") or () if path]
        options["programs"] = place_of(scenario, IN_GUEST, not self.real_time, captures)
        design = self._design
        key = self._plan.run_key(run, design.replications)
        return RunJob(run, json.loads(to_json(scenario)), design.seed, key, options)

    def _row(self, done: Done) -> dict[str, Any]:
        """The columns of a run that was run by itself."""
        numbers = {"run": done.run, "replication": done.run % self._design.replications}
        late = {name: done.answer[name] for name in lateness()}
        row = done.answer["row"]
        return {**row, **self._nested(row), **numbers, **late}

    def _nested(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {detail.column: row.get(detail.name, []) for detail in self._details}

    def _pieces(self, finished: dict[int, Done]) -> Iterator[tuple[range, pa.Table]]:
        """Takes out all that have finished, as ranges without a gap."""
        while finished:
            first = last = min(finished)
            while last + 1 in finished:
                last += 1
            runs = range(first, last + 1)
            done = [finished.pop(run) for run in runs]
            kinds = groupby(done, key=lambda one: one.failed is None)
            tables = [self._answered(list(some)) if well else self._failed(some) for well, some in kinds]
            yield runs, pa.concat_tables(tables)

    def _answered(self, done: list[Done]) -> pa.Table:
        """The rows of successive runs that agents have answered for."""
        first, replications = done[0].run, self._design.replications
        found = _native.rows_of_agents([one.line for one in done], first, replications)
        for texts in filter(None, found["unreached"]):
            self._unreached.add(texts)
        known = {**run_columns(), **responses()}
        table = from_native(found["runs"], known)
        late = from_native(found["late"], lateness())
        for name in late.column_names:
            table = table.append_column(late.field(name), late.column(name))
        rows = {one.name: from_native(found[one.name], {**known, **one.columns}) for one in self._details}
        table = nest(self._details, table, rows)
        if self._own:
            programs = table.column(PROGRAMS.column).to_pylist()
            for own in self._own:
                values = pa.array([own.value(one) for one in programs], type=pa.float64())
                table = table.append_column(field(own.column, pa.float64()), values)
        if self._judged:
            at, nested = table.column_names.index(RETRANSMISSIONS.column), RETRANSMISSIONS.nested
            sent = [self._sent_again.pop(one.run) for one in done]
            table = table.set_column(
                at, pa.field(RETRANSMISSIONS.column, nested), pa.array(sent, type=nested)
            )
        return table.select(self._schema.names).cast(self._schema)

    def _failed(self, done: Iterable[Done]) -> pa.Table:
        """The rows of runs that came to nothing."""
        nothing = {column.name: _nothing(column) for column in self._columns} | self._nested({})
        rows = [
            nothing
            | {own.name: None for own in self._own}
            | {"run": one.run, "replication": one.run % self._design.replications, "error": one.failed}
            | {"completed": False}
            for one in done
        ]
        return pa.Table.from_pylist(rows, schema=self._schema)


def _nothing(column: Column) -> Any:
    """What a run that failed has in a column: null where the column allows it, else 0 or false."""
    if column.null is not None:
        return None
    return False if column.type == "|b1" else 0


class KernelBackend(RealBackend):
    """The machine's own kernel, in network namespaces, in real time."""

    name = "kernel"
    real_time = True

    def __init__(self, spec: StudySpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        self._protocols: set[str] = set()

    def command(self, job: Path, folder: Path) -> list[str]:
        """An interpreter of this machine."""
        if self._spec.has_programs:
            runs = json.loads(job.read_text())
            for run in runs["runs"]:
                run["options"]["programs"]["temporary"] = str(folder / "programs")
            put(job, json.dumps(runs))
        return agent_command("host", job)

    def check(self, step: Step) -> list[str]:
        """Warnings about the study, and about what it takes from this machine without naming it."""
        warnings = super().check(step)
        return [*warnings, *(unnamed_congestion(self._spec) if "tcp" in self._protocols else [])]

    def _can_speak(self, protocols: Sequence[str]) -> None:
        self._protocols.update(protocols)
        if "sctp" in protocols and not has_sctp():
            raise StudyError(
                f"{self._where}: {self.describe()} has no SCTP; "
                "load its module (modprobe sctp), or take --backend uml or model"
            )

    def describe(self) -> str:
        """The machine's kernel."""
        return f"Linux {platform.release()}"

    def _judge(self, unsupported: list[str]) -> list[str]:
        return super()._judge([*unsupported, *named_kernels(self._spec)])

    def facts(self) -> dict[str, Any]:
        """The machine's kernel, for the record of a study."""
        return {"kernel": platform.release()}


def has_sctp() -> bool:
    """True if this machine's kernel makes SCTP sockets; it loads its module where it may."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_SCTP).close()
    except OSError:
        return False
    return True


class UmlBackend(RealBackend):
    """A guest kernel whose clock is virtual."""

    name = "uml"

    def __init__(self, spec: StudySpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        self._kernels = ChosenKernels(spec, options.kernel, options.kernels)

    def command(self, job: Path, folder: Path) -> list[str]:
        """A guest that runs the agent, inside its kernel where it can; it writes captures and sees little."""
        runs = json.loads(job.read_text())["runs"]
        captures = [path for run in runs for path in run["options"].get("captures") or () if path]
        writable = tuple(dict.fromkeys(Path(path).parent for path in captures))
        traces = trace_files(self._spec.scenario, self._design.factors)
        kernel = self._kernels.of(runs[0]["run"])
        if self._spec.has_programs:
            return guest_of_each(kernel, job, folder, writable)
        if kernel.has_driver:
            return inside_command(kernel, job, folder, Reach(writable, of_this_system([engine(), *traces])))
        readable = of_this_system([agent_program(), *traces])
        return guest_command(kernel, "runs", job, folder, Reach(writable, readable))

    def describe(self) -> str:
        """The guests' kernels."""
        return " or ".join(f"Linux {one.version} (HZ {one.hz})" for one in self._kernels.all())

    def facts(self) -> dict[str, Any]:
        """The guests' kernels, for the record of a study."""
        return self._kernels.facts()

    def _kind(self, run: int) -> Hashable:
        return self._kernels.of(run)

    def _virtual_hz(self, run: int) -> int:
        return self._kernels.of(run).hz
