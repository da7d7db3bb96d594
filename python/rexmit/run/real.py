"""Real kernels: a guest whose clock is virtual (`uml`), and this machine's own in real time (`kernel`)."""

from __future__ import annotations

import json
import platform
import socket
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa

from rexmit.errors import RexmitError, StudyError
from rexmit.run.agents import Crew, Done, RunJob
from rexmit.run.backends import BackendOptions, ModelBackend, Step, asked_for
from rexmit.run.chosen_kernels import ChosenKernels, named_kernels
from rexmit.run.details import RETRANSMISSIONS
from rexmit.run.guests import Reach, engine, guest_command, inside_command, of_this_python
from rexmit.run.judged import JudgedCaptures
from rexmit.run.processes import agent_command
from rexmit.run.stopping import asked
from rexmit.run.unreached import Unreached
from rexmit.study import StudySpec
from rexmit.tables import SEEDS, Column, lateness, responses, run_columns, single
from rexmit.tables.arrow import from_lists, schema_of

PIECE_SECONDS = 1.0
"""Finished runs are handed on at least this often."""


class RealBackend(ModelBackend):
    """A real kernel. The model's plan names its runs; agents run them."""

    table_kinds: tuple[str, ...] = ("state", "verdicts", "messages")

    def __init__(self, spec: StudySpec, options: BackendOptions) -> None:
        super().__init__(spec, options)
        self._unreached = Unreached()
        self._columns = [*run_columns().values(), *(c for c in responses().values() if c.name not in SEEDS)]
        nested = [pa.field(detail.column, detail.nested) for detail in self._details]
        self._schema = pa.schema([*schema_of(self._columns), *nested])
        self._judged = JudgedCaptures() if RETRANSMISSIONS in self._details else None

    def command(self, job: Path, folder: Path) -> list[str]:
        """The command of an agent for a job."""
        raise NotImplementedError

    def check(self, step: Step) -> list[str]:
        """Warnings about the study. Raises StudyError where a run of it could not be built here."""
        if self._spec.design.sequence is not None:
            raise StudyError(
                f"{self._where}: design.sequence: on backend {self.name} every run begins at hosts that "
                "know of no other; leave it out, or take backend model"
            )
        warnings = super().check(step)
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
        rows: dict[int, dict[str, Any]] = {}
        flushed = time.monotonic()
        work = crew.work(runs, stopped)
        try:
            for done in work:
                rows[done.run] = self._counted(done, self._row(done))
                self._settle(done, rows[done.run])
                if time.monotonic() - flushed > PIECE_SECONDS:
                    yield from self._pieces(rows)
                    flushed = time.monotonic()
        except RexmitError:
            yield from self._pieces(rows)
            raise
        yield from self._pieces(rows)

    def unreached(self) -> list[tuple[str, int]]:
        """What patterns named and no packet was in the runs so far: a text, and in how many of them."""
        return self._unreached.texts()

    def capture(
        self, run: int, server: Path | None, client: Path | None, snap_len: int | None = None
    ) -> dict[str, Any]:
        """Runs one run again with its captures."""
        files = [None if path is None else str(path.resolve()) for path in (server, client)]
        return self._row(self._one(run, {"captures": files, "capture_snap_len": snap_len}))

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

    def _counted(self, done: Done, row: dict[str, Any]) -> dict[str, Any]:
        """The row of a run, with its retransmissions."""
        if self._judged is None:
            return row
        found = self._judged.take(done.run)
        return row if done.failed else row | {RETRANSMISSIONS.column: found}

    def _crew(self, options: Callable[[int], dict[str, Any]], size: int) -> Crew:
        jobs, pinned = (lambda run: self._job(run, options(run))), not self.real_time
        return Crew(self.command, jobs, size, pinned, self._kind)

    def _kind(self, run: int) -> Hashable:
        """What runs must have in common for one agent to run them."""
        return None

    def _virtual_hz(self, run: int) -> int | None:
        """Ticks of a run's kernel a second, where its clock is virtual."""
        return None

    def _settle(self, done: Done, row: dict[str, Any]) -> None:
        if self._options.keep:
            failed = not row["completed"] or row["error"] is not None
            self._options.keep.settle(done.run, failed, done.answer.get("tables", {}))

    def _job(self, run: int, options: dict[str, Any]) -> RunJob:
        design = self._design
        key = self._plan.run_key(run, design.replications)
        chosen = {"virtual_hz": self._virtual_hz(run), **options}
        return RunJob(run, self._spec.scenario_of(run), design.seed, key, chosen)

    def _row(self, done: Done) -> dict[str, Any]:
        """The columns of a run."""
        numbers = {"run": done.run, "replication": done.run % self._design.replications}
        if done.failed:
            nothing = {column.name: _nothing(column) for column in self._columns}
            return nothing | numbers | {"completed": False, "error": done.failed, **self._nested({})}
        self._unreached.add(done.answer["unreached"])
        late = {name: done.answer[name] for name in lateness()}
        row = done.answer["row"]
        return {**row, **self._nested(row), **numbers, **late}

    def _nested(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {detail.column: row.get(detail.name, []) for detail in self._details}

    def _pieces(self, rows: dict[int, dict[str, Any]]) -> Iterator[tuple[range, pa.Table]]:
        """Takes all rows out, as ranges without a gap."""
        while rows:
            first = last = min(rows)
            while last + 1 in rows:
                last += 1
            runs = range(first, last + 1)
            yield runs, pa.Table.from_pylist([rows.pop(run) for run in runs], schema=self._schema)


def _nothing(column: Column) -> Any:
    """What a run that failed has in a column: nothing was counted, and what may not be known is not."""
    if column.null is not None:
        return None
    return False if column.type == "|b1" else 0


class KernelBackend(RealBackend):
    """The machine's own kernel, in network namespaces, in real time."""

    name = "kernel"
    real_time = True

    def command(self, job: Path, folder: Path) -> list[str]:
        """An interpreter of this machine."""
        return agent_command("host", job)

    def _can_speak(self, protocols: Sequence[str]) -> None:
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
        kernel = self._kernels.of(runs[0]["run"])
        if kernel.has_driver and not any(map(_takes_programs, runs)):
            return inside_command(kernel, job, folder, Reach(writable, of_this_python([engine()])))
        agent = agent_command("guest", job)
        reach = Reach(writable, of_this_python(Path(word) for word in agent[1:] if word.startswith("/")))
        return guest_command(kernel, agent, folder, reach)

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


def _takes_programs(run: Mapping[str, Any]) -> bool:
    """Whether the agent starts programs for a run, `ip` and `tc`: inside a kernel there are none."""
    return bool(run["scenario"].get("path", {}).get("emulator") == "netem")
