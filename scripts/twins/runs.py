"""Runs scenarios on each backend, with a capture at the server that is read and then thrown away."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rexmit
from rexmit.diff.systems import System
from rexmit.kernel import find_kernel
from rexmit.run.agents import Crew, RunJob
from rexmit.run.processes import agent_command

from twins.packets import Seen, read_capture

AT_ONCE = 1000
"""Scenarios whose captures are there at one time."""

LINUX = System.parse("linux")
"""The kernel, in virtual time."""


@dataclass(frozen=True)
class Ran:
    """One run: its row of results, the packets at the server, and how late the emulator was."""

    row: Mapping[str, Any]
    seen: Seen
    late_ns: int = 0

    @property
    def time_ns(self) -> int:
        """From the opener's connect() to the receiver's end of stream."""
        return int(self.row["time_ns"])


Tables = Sequence[Mapping[str, Any]]
Told = Callable[[int], None]
"""Told of each run that is done."""


def on(system: System, scenarios: Tables, folder: Path, told: Told) -> list[Ran]:
    """Runs them on a system of `rexmit diff`, in virtual time."""
    found = []
    for start in range(0, len(scenarios), AT_ONCE):
        some = dict(enumerate(scenarios[start : start + AT_ONCE], start))
        ran = system.run(some, folder)
        for number in some:
            one = ran[number]
            if one.captures is None:
                raise rexmit.RexmitError(f"scenario {number}: {one.failed}")
            server, client = one.captures
            client.unlink()
            found.append(Ran(one.row, _read(server)))
            told(number)
    return found


def on_kernel(scenarios: Tables, folder: Path, told: Told, jobs: int) -> list[Ran]:
    """Runs them on this machine's kernel, in real time, `jobs` at a time."""

    def launch(job: Path, beside: Path) -> list[str]:
        return agent_command("host", job)

    def capture(run: int) -> Path:
        return folder / f"agent-{run}.pcapng"

    def job(run: int) -> RunJob:
        options = {"virtual_hz": None, "captures": [str(capture(run)), None]}
        return RunJob(run, scenarios[run], 1, str(run), options)

    def work() -> Iterator[tuple[int, Ran]]:
        for done in Crew(launch, job, jobs).work(range(len(scenarios)), lambda: False):
            if done.failed:
                raise rexmit.RexmitError(f"scenario {done.run}: {done.failed}")
            told(done.run)
            yield done.run, Ran(done.answer["row"], _read(capture(done.run)), done.answer["late_max_ns"])

    return [ran for _, ran in sorted(work(), key=lambda pair: pair[0])]


def describe(backend: str) -> str:
    """A backend's kernel, in a few words."""
    if backend == "kernel":
        return f"Linux {platform.release().partition('-')[0]}"
    kernel = find_kernel()
    return f"Linux {kernel.version}, HZ {kernel.hz}"


def _read(capture: Path) -> Seen:
    seen = read_capture(capture)
    capture.unlink()
    return seen
