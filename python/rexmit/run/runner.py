"""Runs a study: chunk by chunk, stored as it goes, stoppable at any moment, resumable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from rexmit import _native
from rexmit.errors import Interrupted, RexmitError, StudyError, UsageError
from rexmit.files import make_folder, remove_folder
from rexmit.run.backends import CHECKED_AT_ONCE, Backend, BackendOptions, open_backend
from rexmit.run.capture import CAPTURE_CHOICES, HostNames, capture_runs
from rexmit.run.columns import with_factors
from rexmit.run.details import split
from rexmit.run.keeping import Keep
from rexmit.run.lock import FolderLock
from rexmit.run.measured import Measured
from rexmit.run.provenance import Provenance, usable_cores
from rexmit.run.repeats import LEVELS, Repeats, repeats
from rexmit.run.results import Results, check_table, did_fail
from rexmit.run.schema import KEY, SCHEMA
from rexmit.run.shard import Shard, checked, runs_of
from rexmit.run.stack_programs import KEY as STACK_PROGRAMS
from rexmit.run.stack_programs import programs_in, varies_programs
from rexmit.run.stopping import stop_flag, workers
from rexmit.run.store import PROVENANCE, RUNS, Store
from rexmit.run.tables import TABLE_KINDS, write_tables
from rexmit.study import StudySpec
from rexmit.study.factors import factor_to_record
from rexmit.units import plural

if TYPE_CHECKING:
    from rexmit.run.cluster import Cluster

Progress = Callable[[str, int, int], None]
"""Called with a stage, how many are done and how many there are.

Stages: `checking` (of large designs), `runs` (on a cluster `runs on 4 workers`), `captures`, `tables of
state`, `tables of verdicts`, `tables of transmissions`.
"""


@dataclass(frozen=True)
class RunOptions:
    """How to run.

    `jobs` is the number of threads or guests (None: every core, or one run at a time where they take real
    time).

    `capture`, `state`, `verdicts` and `transmissions` say of which runs captures, tables of the hosts' state
    over time, of the path's verdicts and of why each packet was sent are kept: none, failed or all. `shard`
    is `(3, 16)` for the third of 16 parts of the runs: they are stored as such, and
    :func:`rexmit.run.merge_results` joins the parts. `cluster` is the address of a Dask cluster
    (`tcp://HOST:PORT`, or a scheduler's file) whose workers run it; `jobs` is then for each of their threads.
    `state_at` says when state is noted: at every change (`changes`), after each of the application's writes
    (`writes`), or at an interval such as `10 ms`. `allow_unsupported` runs a study even where the
    backend cannot have its settings, with a warning. `kernel` names the kernel of guests (backend `uml`)
    whose hosts name none, such as `6.12`. `on_rows` is called with each table of runs that have just
    finished: their numbers and responses, without the factors; `note` with remarks, such as how far runs of
    programs are the same again.
    """

    backend: str = "model"
    jobs: int | None = None
    resume: bool = False
    capture: str = "none"
    state: str = "none"
    state_at: str = "changes"
    verdicts: str = "none"
    transmissions: str = "none"
    allow_unsupported: bool = False
    progress: Progress | None = None
    warn: Callable[[str], None] | None = None
    note: Callable[[str], None] | None = None
    on_rows: Callable[[pa.Table], object] | None = None
    shard: Shard | None = None
    cluster: str | None = None
    kernel: str | None = None


def run_study(spec: StudySpec, out: Path | None, options: RunOptions | None = None) -> Results:
    """Runs every run of a study and returns its results, stored in the folder `out` unless that is None.

    Raises StudyError for a wrong study, StoreError for a folder that cannot be used, and Interrupted after
    SIGINT or SIGTERM, when every finished run has been stored.
    """
    options = options or RunOptions()
    if options.shard is not None:
        runs_of(checked(options.shard), spec.design.runs)
    if options.jobs is not None and options.jobs < 1:
        raise UsageError(f"jobs: {options.jobs} is too few; give at least 1")
    for name in ("capture", *TABLE_KINDS):
        choice = getattr(options, name)
        if choice not in CAPTURE_CHOICES:
            raise UsageError(f"{name}: {choice!r} is none of {', '.join(CAPTURE_CHOICES)}")
        if choice != "none" and out is None:
            raise UsageError(f"{name}: what is kept of single runs needs a folder; give one to write into")
    if options.state_at != "changes" and options.state == "none":
        raise UsageError(
            f"state_at: {options.state_at!r} goes with state, which says for which runs it is kept"
        )
    try:
        _native.check_sampling(options.state_at)
    except ValueError as error:
        raise UsageError(f"state_at: {error}") from None
    backend = open_backend(
        options.backend,
        spec,
        BackendOptions(
            options.allow_unsupported, _keep(spec, out, options), options.state_at, options.kernel
        ),
    )
    if options.transmissions != "none" and "transmissions" not in backend.table_kinds:
        raise UsageError(
            f"backend {backend.name}: no stack that the hosts have says why it sends a packet; leave "
            "transmissions out, and analyze captures of the runs"
        )
    _check_cluster(backend, options)
    cores = 1 if backend.real_time or options.cluster else usable_cores()
    session = _Session(spec, backend, options.jobs or cores, options)
    with session.connected():
        return session.in_memory() if out is None else session.in_folder(out)


def _keep(spec: StudySpec, out: Path | None, options: RunOptions) -> Keep | None:
    if out is None or options.cluster is not None:
        return None
    return Keep(out, HostNames(spec), options.capture, options.state, options.verdicts, options.state_at)


def _check_cluster(backend: Backend, options: RunOptions) -> None:
    """What is kept of single runs is made here, by running them again, which real time does not allow."""
    if options.cluster is None or not backend.real_time:
        return
    for name in ("capture", *TABLE_KINDS):
        if getattr(options, name) != "none":
            raise UsageError(
                f"{name}: a run in real time is recorded where it runs, which on a cluster is elsewhere; "
                f"leave {name} or the cluster out"
            )


class _Session:
    def __init__(self, spec: StudySpec, backend: Backend, jobs: int, options: RunOptions) -> None:
        self._spec = spec
        self._backend = backend
        self._jobs = jobs
        self._options = options
        self._cluster: Cluster | None = None
        self._stored = False
        self._runs = runs_of(options.shard, spec.design.runs) if options.shard else range(spec.design.runs)
        self._warnings = self._check()
        for text in self._warnings:
            self._warn(text)

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Holds the connection to the cluster, where there is one to run on."""
        if self._options.cluster is None:
            yield
            return
        # Loaded where it is used: Dask is an extra.
        from rexmit.run.cluster import Cluster, work_of

        work = work_of(self._spec, self._backend, self._options, self._jobs)
        with Cluster(self._options.cluster, work, self._backend) as self._cluster:
            yield

    def in_memory(self) -> Results:
        """Runs without a folder."""
        tables: list[pa.Table] = []
        with stop_flag() as stop:
            self._sweep([self._runs], lambda _, table: tables.append(table), stop)
        whole = pa.concat_tables(tables).sort_by("run")
        table, details = split(with_factors(whole, self._spec.design, self._runs.start))
        self._warn_never_reached(len(self._runs))
        return Results(table, self._record(), None, table.num_rows, details)

    def in_folder(self, out: Path) -> Results:
        """Runs into a folder that no other run may use meanwhile.

        A study that fails before anything is stored leaves no folder: it would be in the way of the next one.
        """
        made = not out.exists()
        make_folder(out)
        try:
            self._stored = True
            with FolderLock(out):
                store = Store(out, self._spec.design, self._runs)
                try:
                    return self._in_locked(out, store)
                except (Interrupted, KeyboardInterrupt):
                    raise
                except BaseException:
                    _quietly(store.undo)
                    raise
        except BaseException:
            if made:
                remove_folder(out)  # only if it is empty
            raise

    def _in_locked(self, out: Path, store: Store) -> Results:
        record = self._record()
        store.begin(record, self._spec.to_table(record["scenario"]), self._options.resume)
        provenance = Provenance(out / PROVENANCE, self._spec.design.seed, self._jobs)
        missing = store.missing()
        provenance.begin()
        try:
            with stop_flag() as stop:
                self._sweep(missing, store.add, stop)
                store.finish()
                if not missing:
                    check_table(out / RUNS, record)
                results = Results(None, record, out, sum(map(len, missing)))
                self._keep(out, results, stop)
        except BaseException as error:
            outcome = "interrupted" if isinstance(error, Interrupted | KeyboardInterrupt) else "failed"
            _quietly(lambda: provenance.end(outcome))
            raise
        never = self._warn_never_reached(results.new_runs)
        facts: dict[str, Any] = {"cluster": self._cluster.facts()} if self._cluster else {}
        if (told := self._repeats(results)) is not None:
            facts["repeats"] = told.level
        if led := sorted({one["host"] for one in results.study.get(STACK_PROGRAMS, ()) if one.get("led")}):
            facts["led"] = led
        warnings = [*self._warnings, *never]
        provenance.end("finished", runs=results.new_runs, warnings=warnings, **facts)
        return results

    def _check(self) -> list[str]:
        try:
            self._spec.check()
        except StudyError as error:
            raise StudyError(f"{self._spec.path or self._spec.name}: {error}") from None
        with stop_flag() as stop:

            def step(done: int, total: int) -> None:
                if stop:
                    raise Interrupted(f"stopped after checking {done} of {total}; nothing was run", stop[0])
                if total > CHECKED_AT_ONCE:
                    self._progress("checking", done, total)

            return self._backend.check(step)

    def _sweep(self, missing: list[range], add: Callable[[range, pa.Table], None], stop: list[int]) -> None:
        total = len(self._runs)
        done = total - sum(map(len, missing))
        self._progress(self._stage(), done, total)
        measured = Measured(self._spec)
        for chunk, found in self._chunks(missing, stop):
            table = measured.beside(found)
            add(chunk, table)
            done += len(chunk)
            if self._options.on_rows:
                self._options.on_rows(table)
            self._progress(self._stage(), done, total)
        self._stop_if_asked(stop, done, total)

    def _stage(self) -> str:
        return f"runs {self._cluster.words}" if self._cluster else "runs"

    def _chunks(self, missing: list[range], stop: list[int]) -> Iterator[tuple[range, pa.Table]]:
        """Finished runs; ends early once it is asked to stop."""
        if self._cluster is not None:
            yield from self._cluster.sweep(missing, lambda: bool(stop))
            return
        for gap in missing:
            if not stop:
                yield from self._backend.sweep(gap, self._jobs, lambda: bool(stop))

    def _keep(self, out: Path, results: Results, stop: list[int]) -> None:
        """Captures and tables of the runs that were asked for; each is run again."""
        with workers(self._jobs, lambda: bool(stop)) as pool:
            if self._options.capture != "none":
                runs = _runs_to_keep(results, self._options.capture)
                work = capture_runs(pool, self._backend, HostNames(self._spec), out, runs)
                self._follow("captures", work, len(runs), stop)
            for kind in TABLE_KINDS:
                choice = getattr(self._options, kind)
                if choice != "none":
                    runs = _runs_to_keep(results, choice)
                    work = write_tables(pool, self._backend, out, kind, list(runs))
                    self._follow(f"tables of {kind}", work, len(runs), stop)

    def _follow(self, stage: str, work: Iterator[int], total: int, stop: list[int]) -> None:
        done = 0
        self._progress(stage, done, total)
        try:
            for done, _ in enumerate(work, start=1):
                self._progress(stage, done, total)
                self._stop_if_asked(stop, done, total)
        except KeyboardInterrupt:
            # One that was under way has ended early, unless it is a second signal.
            self._stop_if_asked(stop, done, total)
            raise

    def _record(self) -> dict[str, Any]:
        """What study.json holds: the resolved study, its levels and size. A resume must find the same."""
        spec = self._spec
        return {
            KEY: SCHEMA,
            "version": _native.version(),
            "name": spec.name,
            "file": None if spec.path is None else str(spec.path.resolve()),
            **spec.texts,
            "backend": self._backend.name,
            **self._backend.facts(),
            "scenario": self._backend.resolved(),
            "factors": [factor_to_record(factor) for factor in spec.design.factors],
            **spec.design.to_table(),
            **({"responses": own} if (own := spec.responses_table()) else {}),
            "runs": spec.design.runs,
            **({"shard": list(self._options.shard)} if self._options.shard else {}),
        }

    def _warn_never_reached(self, runs: int) -> list[str]:
        """Warns of what patterns named but no packet matched, in the `runs` runs of this session."""
        texts = (self._cluster or self._backend).unreached()
        found = [f"{text} in {count:,} of {plural(runs, 'run')}" for text, count in texts]
        for text in found:
            self._warn(text)
        return found

    def _repeats(self, results: Results) -> Repeats | None:
        """How far runs of programs are the same again; None for all others.

        The first run of each program that did not fail is repeated; the worst outcome counts.
        """
        programs = self._spec.has_programs or getattr(self._backend, "has_stack_programs", False)
        if not programs or self._backend.real_time or self._cluster is not None or not results.new_runs:
            return None
        hosts, found = HostNames(self._spec), []
        for stacks, run in self._first_of_each_program(results).items():
            told = replace(repeats(run, hosts.of(run), self._backend.capture), stacks=stacks)
            found.append(told)
            if told.level == "none":
                self._warn(told.words)
            elif self._options.note:
                self._options.note(told.words)
        return min(found, key=lambda told: LEVELS.index(told.level), default=None)

    def _first_of_each_program(self, results: Results) -> dict[str, int]:
        """The first run that did not fail with each program, or combination of them, that is a stack."""
        table, first = results.arrow(), dict[str, int]()
        well = table.column("run").filter(pc.invert(did_fail(table)))
        last = -1
        for run in (well if varies_programs(self._spec) else well.slice(0, 1)).to_pylist():
            point = run // self._spec.design.replications
            if point != last:
                first.setdefault(programs_in(self._spec.scenario_of(run)), run)
                last = point
        return first

    def _stop_if_asked(self, stop: list[int], done: int, total: int) -> None:
        if stop:
            go_on = "; go on with --resume" if self._stored else "; nothing was stored"
            raise Interrupted(f"stopped after {done} of {total}{go_on}", stop[0])

    def _progress(self, stage: str, done: int, total: int) -> None:
        if self._options.progress:
            self._options.progress(stage, done, total)

    def _warn(self, text: str) -> None:
        if self._options.warn:
            self._options.warn(text)


def _runs_to_keep(results: Results, choice: str) -> dict[int, int]:
    """The runs of which something is kept, with the time that each took, ns."""
    found: dict[int, int] = {}
    for table in results.batches(("run", "completed", "time_ns", "error")):
        if choice == "failed":
            table = table.filter(did_fail(table))
        found.update(zip(table.column("run").to_pylist(), table.column("time_ns").to_pylist(), strict=True))
    return found


def _quietly(action: Callable[[], None]) -> None:
    """An error on top of the one being raised would hide it."""
    with suppress(RexmitError, OSError):
        action()
