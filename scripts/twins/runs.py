"""Runs scenarios on each backend, with a capture at the server that is read and then thrown away."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rexmit
from rexmit.kernel import find_kernel
from rexmit.run.agents import Crew, Launch, RunJob
from rexmit.run.guests import Reach, guest_command, inside_command
from rexmit.run.processes import agent_command

from twins.packets import Seen, read_capture

CORES = os.cpu_count() or 1


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


def on_model(scenarios: Tables, folder: Path, told: Told) -> list[Ran]:
    """Runs them on the model. Settings of real kernels mean nothing to it."""

    def one(given: tuple[int, Mapping[str, Any]]) -> Ran:
        number, scenario = given
        capture = folder / f"model-{number}.pcapng"
        answer = rexmit.run_one(scenario, options={"capture_server": capture})
        told(number)
        return Ran(answer["row"], _read(capture))

    with ThreadPoolExecutor(CORES) as pool:
        return list(pool.map(one, enumerate(scenarios)))


def on_uml(scenarios: Tables, folder: Path, told: Told) -> list[Ran]:
    """Runs them on guests whose clock is virtual."""
    kernel = find_kernel()
    reach = Reach((folder.resolve(),))

    def launch(job: Path, beside: Path) -> list[str]:
        if kernel.has_driver:
            return inside_command(kernel, job, beside, reach)
        return guest_command(kernel, "runs", job, beside, reach)

    return _on_agents(scenarios, folder, (launch, kernel.hz, CORES), told)


def on_kernel(scenarios: Tables, folder: Path, told: Told, jobs: int) -> list[Ran]:
    """Runs them on this machine's kernel, in real time, `jobs` at a time."""

    def launch(job: Path, beside: Path) -> list[str]:
        return agent_command("host", job)

    return _on_agents(scenarios, folder, (launch, None, jobs), told)


def describe(backend: str) -> str:
    """A backend's kernel, in a few words."""
    if backend == "kernel":
        return f"Linux {platform.release().partition('-')[0]}"
    kernel = find_kernel()
    return f"Linux {kernel.version}, HZ {kernel.hz}"


def _on_agents(scenarios: Tables, folder: Path, how: tuple[Launch, int | None, int], told: Told) -> list[Ran]:
    launch, hz, jobs = how

    def capture(run: int) -> Path:
        return folder / f"agent-{run}.pcapng"

    def job(run: int) -> RunJob:
        options = {"virtual_hz": hz, "captures": [str(capture(run)), None]}
        return RunJob(run, scenarios[run], 1, str(run), options)

    def work() -> Iterator[tuple[int, Ran]]:
        for done in Crew(launch, job, jobs, pinned=hz is not None).work(range(len(scenarios)), lambda: False):
            if done.failed:
                raise rexmit.RexmitError(f"scenario {done.run}: {done.failed}")
            told(done.run)
            yield done.run, Ran(done.answer["row"], _read(capture(done.run)), done.answer["late_max_ns"])

    return [ran for _, ran in sorted(work(), key=lambda pair: pair[0])]


def _read(capture: Path) -> Seen:
    seen = read_capture(capture)
    capture.unlink()
    return seen
