"""What can run a study: protocol stacks in virtual time, or a real kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa

from rexmit import _native
from rexmit.errors import StudyError, UsageError, nearest, one_line
from rexmit.run.details import details_of, nest
from rexmit.run.stack_programs import KEY as STACK_PROGRAMS
from rexmit.run.stack_programs import PROGRAM, names_programs, told_by_programs
from rexmit.run.stacks import LINUX, MODEL, PREFIX, Stack, third_parties
from rexmit.run.stopping import asked
from rexmit.study import Factor, StudySpec
from rexmit.study.spec import slips_of
from rexmit.tables import responses, run_columns, single
from rexmit.tables.arrow import from_native

if TYPE_CHECKING:
    from rexmit.run.keeping import Keep
    from rexmit.run.kernel_stacks import KernelStacks

BACKENDS = {
    MODEL: "the built-in TCP and SCTP models and path emulator in virtual time",
    **{
        stack.backend: f"{stack.summary}, behind the same emulator in virtual time"
        for stack in third_parties().values()
    },
    "uml": "a real Linux kernel whose clock is virtual: deterministic, no root",
    "kernel": "this machine's kernel in network namespaces, in real time",
}


CHECKED_AT_ONCE = 5000
"""Points that are checked between two looks at the stop flag: about a quarter of a second."""

AIM_SECONDS = 0.5
"""Time between two looks at what has ended: what a kill may lose, and how often progress shows."""

Step = Callable[[int, int], None]


@dataclass(frozen=True)
class BackendOptions:
    """What a backend is told besides the study.

    `allow_unsupported` runs a study even where the backend cannot have its settings. `keep` is what a
    backend writes down while a run happens, where running it again would not give the same. `state_at` says
    when state is noted: `changes`, `writes` or an interval. `kernel` names the kernel of guests where their
    hosts name none; of several that a name means, one whose hash is in `kernels` is taken. Without
    `programs`, a study whose hosts have programs for their stacks is refused: opening a stranger's results
    starts none.
    """

    allow_unsupported: bool = False
    keep: Keep | None = None
    state_at: str = "changes"
    kernel: str | None = None
    kernels: tuple[str, ...] = ()
    programs: bool = True


class Backend(Protocol):
    """Runs the runs of one study. With `real_time`, runs at the same time disturb each other.

    `table_kinds` are the tables that it makes of a run.
    """

    name: str
    table_kinds: tuple[str, ...]
    real_time: bool

    def check(self, step: Step) -> list[str]:
        """Warnings about the study. Raises StudyError where a run of it could not be built.

        Calls `step` with how many points of the design are checked and how many there are, now and then.
        """

    def resolved(self) -> dict[str, Any]:
        """The scenario of run 0 with every default filled in."""

    def facts(self) -> dict[str, Any]:
        """The facts about the backend that decide its results, for the record of a study."""

    def sweep(self, runs: range, jobs: int, stopped: Callable[[], bool]) -> Iterator[tuple[range, pa.Table]]:
        """Runs them and yields finished ones: a row for each, in order (run, replication, the responses).

        Ends early once `stopped()`, with what has finished.
        """

    def unreached(self) -> list[tuple[str, int]]:
        """What patterns named but no packet matched in the runs so far: a text, and in how many of them."""

    def capture(self, run: int, files: Mapping[str, Path], snap_len: int | None = None) -> dict[str, Any]:
        """Runs one run again, writes a capture at each host whose name has a file, and returns its row.

        `snap_len` is the most bytes of a packet that are kept, all where it is None. A QUIC that logs its
        connections does so in files beside the captures.
        """

    def tables(self, run: int, kinds: Sequence[str]) -> dict[str, pa.Table]:
        """Runs one run again and returns tables of it: `state`, `verdicts`, `transmissions`."""


class ModelBackend:
    """Virtual time. A host that chooses no code has the built-in model's."""

    name = MODEL
    table_kinds: tuple[str, ...] = ("state", "verdicts", "transmissions", "messages")
    real_time: bool = False

    def __init__(self, spec: StudySpec, options: BackendOptions) -> None:
        self._spec = spec
        self._options = options
        self._design = spec.design
        self._where = spec.path or spec.name
        self._plan = self._plan_of(self._design.factors)
        if not options.programs and (self.has_stack_programs or names_programs(spec)):
            raise UsageError(
                "hosts of these runs have programs for their stacks, and no command starts what a results "
                "folder names; keep what you want to see as they run (--capture, --state, --verdicts), or "
                "run them again"
            )
        self._stack_kernels = self._kernel_stacks()
        self._details = details_of(spec)
        if "transmissions" in self.table_kinds and self._sends_silently():
            self.table_kinds = tuple(kind for kind in self.table_kinds if kind != "transmissions")

    def _kernel_stacks(self) -> KernelStacks | None:
        """The kernels that hosts have as their code, where any has one."""
        if LINUX not in self._plan.stacks():
            if self._options.kernel is not None:
                raise UsageError(
                    "kernel: is for guests, which backend uml has, and for hosts that are Linux (`linux:`); "
                    f"{self.name} has none here"
                )
            return None
        # Loaded where it is used: few studies have such hosts.
        from rexmit.run.kernel_stacks import KernelStacks

        code = self.name.removeprefix(PREFIX)
        return KernelStacks(self._spec, code, self._options.kernel, self._options.kernels)

    def _sends_silently(self) -> bool:
        """Whether no stack that a host has in some run says why it sends a packet."""
        known, names = third_parties(), self._plan.stacks()
        silent = [name == PROGRAM or (name in known and not known[name].transmissions) for name in names]
        return bool(names) and all(silent)

    def check(self, step: Step) -> list[str]:
        """Warnings of the native code, which builds every run's scenario to find errors."""
        # A design over positions has the level 0 for "no loss": intended, and no reason for a warning.
        factors = [_without_none(factor) if factor.is_position else factor for factor in self._design.factors]
        changed = any(one is not own for one, own in zip(factors, self._design.factors, strict=True))
        # A second plan takes as much memory again, which matters where a factor has a million levels.
        plan = self._plan_of(factors) if changed else self._plan
        try:
            points = plan.points()
            warnings: dict[str, None] = {}
            unsupported: dict[str, None] = {}
            for start in range(0, points, CHECKED_AT_ONCE):
                step(start, points)
                stop = min(start + CHECKED_AT_ONCE, points)
                warned, cannot, protocols = plan.check(start, stop)
                self._can_speak(protocols)
                warnings.update(dict.fromkeys(warned))
                unsupported.update(dict.fromkeys(cannot))
            step(points, points)
        except ValueError as error:
            raise self._slipped(error) from None
        return [*warnings, *self._judge(list(unsupported)), *self._needless_sequence()]

    def _needless_sequence(self) -> list[str]:
        """A warning where runs follow each other and no host can have kept anything."""
        levels = [list(factor.levels) for factor in self._design.factors]
        said = to_json([self._spec.base(), [factor.name for factor in self._design.factors], levels])
        # Off in every profile of the package; a profile of the user's stands in the study with its content.
        if self._design.sequence is None or "host_cache" in said:
            return []
        return [
            "design.sequence: no host keeps anything of a run for the next; give such as "
            "hosts.server.stack.host_cache.on = true"
        ]

    def _can_speak(self, protocols: Sequence[str]) -> None:
        """Raises StudyError where this backend lacks one of these protocols (`tcp`, `sctp`)."""

    def _judge(self, unsupported: list[str]) -> list[str]:
        """A warning about settings that this backend cannot have, where that is allowed."""
        if not unsupported:
            return []
        verb, leave = ("have", "them") if len(unsupported) > 1 else ("has", "it")
        text = f"backend {self.name}: {', '.join(unsupported)} {verb} no effect here"
        if self._options.allow_unsupported:
            return [text]
        raise StudyError(f"{self._where}: {text}; leave {leave} out, or give --allow-unsupported")

    def _plan_of(self, factors: Sequence[Factor]) -> _native.Plan:
        sequence = self._design.sequence
        try:
            return _native.Plan(
                to_json(self._spec.base()),
                [factor.name for factor in factors],
                to_json([list(factor.levels) for factor in factors]),
                self.name,
                None if sequence is None else (list(sequence.along), sequence.gap),
            )
        except ValueError as error:
            raise self._slipped(error) from None

    def resolved(self) -> dict[str, Any]:
        """The scenario of run 0 with every default filled in."""
        try:
            text = _native.resolve(to_json(self._spec.scenario_of(0)), self.name)
        except ValueError as error:
            raise self._slipped(error) from None
        scenario: dict[str, Any] = json.loads(text)
        for host in scenario["hosts"].values():
            # The whole profile takes the place of its name, so that the resolved study stands alone.
            if "profile" in host:
                host["stack"] = host.pop("profile")
        return scenario

    def facts(self) -> dict[str, Any]:
        """The versions of third parties' stacks that hosts have, besides that of the package."""
        known = third_parties()
        versions = {name: known[name].version for name in self._plan.stacks() if name in known}
        programs = {STACK_PROGRAMS: told_by_programs(self._spec)} if self.has_stack_programs else {}
        return {
            **versions,
            **programs,
            **({} if self._stack_kernels is None else self._stack_kernels.facts()),
        }

    @property
    def has_stack_programs(self) -> bool:
        """Whether the stack of a host is a program in some run."""
        return PROGRAM in self._plan.stacks()

    def sweep(self, runs: range, jobs: int, stopped: Callable[[], bool]) -> Iterator[tuple[range, pa.Table]]:
        """Runs them on `jobs` threads; the rows are the same for any number."""
        design, known = self._design, {**run_columns(), **responses()}
        try:
            sweep = self._plan.sweep((runs.start, runs.stop), design.replications, design.seed, jobs)
            while (found := sweep.next(AIM_SECONDS, stopped)) is not None:
                table = from_native(found["runs"], known)
                rows = {
                    one.name: from_native(found[one.name], {**known, **one.columns}) for one in self._details
                }
                start = found["start"]
                yield range(start, start + table.num_rows), nest(self._details, table, rows)
        except ValueError as error:
            raise self._wrong(error) from None

    def unreached(self) -> list[tuple[str, int]]:
        """What patterns named but no packet matched in the runs so far: a text, and in how many of them."""
        return self._plan.unreached()

    def capture(self, run: int, files: Mapping[str, Path], snap_len: int | None = None) -> dict[str, Any]:
        """Runs one run again with its captures."""
        wanted: dict[str, Any] = {f"capture_{name}": str(path) for name, path in files.items()}
        row = self._again(run, wanted | {"capture_snap_len": snap_len, "qlog": True})["row"]
        assert isinstance(row, dict)
        return row

    def tables(self, run: int, kinds: Sequence[str]) -> dict[str, pa.Table]:
        """Runs one run again with these tables."""
        answer = self._again(run, asked_for(kinds, self._options.state_at))
        return {kind: from_native(answer[kind], single(kind)) for kind in kinds}

    def _again(self, run: int, options: dict[str, Any]) -> dict[str, Any]:
        design = self._design
        key = self._plan.run_key(run, design.replications)
        scenario = to_json(self._spec.scenario_of(run))
        if design.sequence is not None:
            kept = self._plan.caches_before(run, design.replications, design.seed, asked)
            options = {**options, "caches": json.loads(kept)}
        return _native.run_one(scenario, design.seed, key, to_json(options), asked, self.name)

    def _wrong(self, error: ValueError) -> StudyError:
        return StudyError(f"{self._where}: {one_line(error)}")

    def _slipped(self, error: ValueError) -> StudyError:
        """The same of a study that was not run yet: with all of its slips."""
        return slips_of(self._spec, self._wrong(error))


class StackBackend(ModelBackend):
    """Virtual time. A host that chooses no code has that of a third party."""

    def __init__(self, stack: Stack, spec: StudySpec, options: BackendOptions) -> None:
        self.name = stack.backend
        super().__init__(spec, options)


def open_backend(name: str, spec: StudySpec, options: BackendOptions | None = None) -> Backend:
    """The backend of this name for this study. Raises UsageError where there is none (yet)."""
    options = options or BackendOptions()
    if name == MODEL:
        return ModelBackend(spec, options)
    for stack in third_parties().values():
        if name == stack.backend:
            return StackBackend(stack, spec, options)
    if name in BACKENDS:
        # Loaded where it is used: it needs the model's backend, and few need it.
        from rexmit.run.real import KernelBackend, UmlBackend

        return (UmlBackend if name == "uml" else KernelBackend)(spec, options)
    raise UsageError(f"unknown backend {name!r}{nearest(name, BACKENDS)}")


def as_recorded(study: Mapping[str, Any], programs: bool = False) -> BackendOptions:
    """Options that give a backend the kernels named in a study.json, as far as they are here.

    `programs` says that its programs may be started: this process has run them already.
    """
    each = study.get("kernels") or [study]
    hashes = tuple(one["hash"] for one in each if isinstance(one.get("hash"), str))
    return BackendOptions(kernels=hashes, programs=programs)


def is_virtual(name: str) -> bool:
    """Whether the backend of this name runs protocol stacks in this process, and no kernel."""
    return name == MODEL or any(name == stack.backend for stack in third_parties().values())


def is_real_time(name: str) -> bool:
    """Whether the backend of this name takes real time, so that no run of it is the same again."""
    if name not in BACKENDS or is_virtual(name):
        return False
    from rexmit.run.real import KernelBackend, UmlBackend

    return (UmlBackend if name == "uml" else KernelBackend).real_time


def asked_for(kinds: Sequence[str], state_at: str) -> dict[str, Any]:
    """What native code is told to get these tables."""
    return {kind: state_at if kind == "state" else True for kind in kinds}


def _without_none(factor: Factor) -> Factor:
    kept = [n for n, label in enumerate(factor.labels) if label != 0]
    if not kept or len(kept) == len(factor.labels):
        return factor
    return Factor(factor.name, tuple(factor.levels[n] for n in kept), tuple(factor.labels[n] for n in kept))


def to_json(value: Any) -> str:
    """JSON for the native code; TOML's dates, which no setting takes, become text and are refused there."""
    try:
        return json.dumps(value, default=str, allow_nan=False)
    except ValueError:
        raise ValueError("nan and inf are not values of a setting; write a finite one") from None
