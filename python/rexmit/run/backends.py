"""What can run a study. Now the built-in model in virtual time; others come with later releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

from rexmit import _native
from rexmit.errors import StudyError, UsageError, nearest, one_line
from rexmit.run.columns import from_native
from rexmit.study import Factor, StudySpec

BACKENDS = {"model": "the built-in TCP model and path emulator in virtual time"}
_PLANNED = ("stack:NAME", "uml", "kernel")


CHECKED_AT_ONCE = 5000
"""Points that are checked between two looks at the stop flag: about a quarter of a second."""

Step = Callable[[int, int], None]


class Backend(Protocol):
    """Runs the runs of one study."""

    name: str

    def check(self, step: Step) -> list[str]:
        """Warnings about the study. Raises StudyError where a run of it could not be built.

        Calls `step` with how many points of the design are checked and how many there are, now and then.
        """

    def resolved(self) -> dict[str, Any]:
        """The scenario of run 0 with every default filled in."""

    def run(self, runs: range, jobs: int) -> pa.Table:
        """A row for each run, in order: run, replication and the responses."""

    def unreached(self) -> list[tuple[str, int]]:
        """What patterns named and no packet was in the runs so far: a text, and in how many of them."""

    def capture(self, run: int, server: Path | None, client: Path | None) -> dict[str, Any]:
        """Runs one run again, writes a capture at each host that is given a file, and returns its row."""

    def tables(self, run: int, kinds: Sequence[str]) -> dict[str, pa.Table]:
        """Runs one run again and returns tables of it: `state`, `verdicts`, `transmissions`."""


class ModelBackend:
    """The built-in model."""

    name = "model"

    def __init__(self, spec: StudySpec) -> None:
        self._spec = spec
        self._design = spec.design
        self._where = spec.path or spec.name
        self._plan = self._plan_of(self._design.factors)

    def check(self, step: Step) -> list[str]:
        """Warnings of the native code, which builds every run's scenario to find errors."""
        # A design over positions has the level 0 for "no loss": meant so, and no reason for a warning.
        factors = [_without_none(factor) if factor.is_position else factor for factor in self._design.factors]
        plan = self._plan_of(factors)
        try:
            points = plan.points()
            warnings: dict[str, None] = {}
            for start in range(0, points, CHECKED_AT_ONCE):
                step(start, points)
                stop = min(start + CHECKED_AT_ONCE, points)
                warnings.update(dict.fromkeys(plan.check(start, stop)))
            step(points, points)
        except ValueError as error:
            raise self._wrong(error) from None
        return list(warnings)

    def _plan_of(self, factors: Sequence[Factor]) -> _native.Plan:
        try:
            return _native.Plan(
                to_json(self._spec.base()),
                [factor.name for factor in factors],
                to_json([list(factor.levels) for factor in factors]),
            )
        except ValueError as error:
            raise self._wrong(error) from None

    def resolved(self) -> dict[str, Any]:
        """The scenario of run 0 with every default filled in."""
        try:
            scenario: dict[str, Any] = json.loads(_native.resolve(to_json(self._spec.scenario_of(0))))
        except ValueError as error:
            raise self._wrong(error) from None
        for host in scenario["hosts"].values():
            # The whole profile takes the place of its name, so that the resolved study stands alone.
            if "profile" in host:
                host["stack"] = host.pop("profile")
        return scenario

    def run(self, runs: range, jobs: int) -> pa.Table:
        """Runs them on `jobs` threads; the answer is the same for any number."""
        design = self._design
        columns = self._plan.run((runs.start, runs.stop), design.replications, design.seed, jobs)
        return from_native(columns)

    def unreached(self) -> list[tuple[str, int]]:
        """What patterns named and no packet was in the runs so far: a text, and in how many of them."""
        return self._plan.unreached()

    def capture(self, run: int, server: Path | None, client: Path | None) -> dict[str, Any]:
        """Runs one run again with its captures."""
        files = {"capture_server": server, "capture_client": client}
        row = self._again(run, {name: str(path) for name, path in files.items() if path})["row"]
        assert isinstance(row, dict)
        return row

    def tables(self, run: int, kinds: Sequence[str]) -> dict[str, pa.Table]:
        """Runs one run again with these tables."""
        answer = self._again(run, dict.fromkeys(kinds, True))
        return {kind: from_native(answer[kind]) for kind in kinds}

    def _again(self, run: int, options: dict[str, Any]) -> dict[str, Any]:
        key = self._plan.run_key(run, self._design.replications)
        scenario = to_json(self._spec.scenario_of(run))
        return _native.run_one(scenario, self._design.seed, key, to_json(options))

    def _wrong(self, error: ValueError) -> StudyError:
        return StudyError(f"{self._where}: {one_line(error)}")


def open_backend(name: str, spec: StudySpec) -> Backend:
    """The backend of this name for this study. Raises UsageError where there is none (yet)."""
    if name == "model":
        return ModelBackend(spec)
    kind = name.partition(":")[0]
    if any(kind == planned.partition(":")[0] for planned in _PLANNED):
        raise UsageError(f"backend {name!r} is not part of this release; available: {', '.join(BACKENDS)}")
    raise UsageError(f"unknown backend {name!r}{nearest(name, BACKENDS)}")


def _without_none(factor: Factor) -> Factor:
    kept = [n for n, label in enumerate(factor.labels) if label != 0]
    if not kept:
        return factor
    return Factor(factor.name, tuple(factor.levels[n] for n in kept), tuple(factor.labels[n] for n in kept))


def to_json(value: Any) -> str:
    """JSON for the native code; TOML's dates, which no setting takes, become text and are refused there."""
    try:
        return json.dumps(value, default=str, allow_nan=False)
    except ValueError:
        raise ValueError("nan and inf are no values of a setting; write a finite one") from None
