"""Agents: processes that run scenarios on a real kernel and answer line by line.

An agent gets a list of runs as a file, and is either a process of this machine or the first process of a
guest. It may crash, hang, or be killed: what it has answered stays, the run that it was at is tried once
more, and the rest goes to the next agent.
"""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from rexmit.errors import RexmitError, StoreError, StudyError
from rexmit.files import FULL, put
from rexmit.kernel import why_it_ended
from rexmit.places import temporary_folder
from rexmit.run.console import spinning
from rexmit.run.cores import idle_core
from rexmit.run.guests import guest_environment, management_console
from rexmit.run.processes import end_group, leashed

MARK = b"\x1e"
"""What a line of an agent begins with; other lines are from a guest's kernel."""

STALL_SECONDS = 60.0
"""An agent that says nothing new for this long hangs."""

FIRST_BLOCK = 16
AIM_SECONDS = 15.0
"""Time that one agent should work before another takes its place: starting a guest takes half a second."""

_GATHER_SECONDS = 0.003
"""Time between two looks at what an agent says: what came meanwhile is taken in one wake-up."""

_PIPE = 1 << 20
"""Bytes that may wait until then, where the system allows that many."""

_START, _ANSWER = b'{"start":', b'{"run":'
"""What the line that announces a run begins with, and that with its answer; the run's number follows."""

_DYING_SECONDS = 5.0
"""How long a process that has closed its output may take to end."""

_WORDS = 1000
"""Lines that are kept of what it said: a panic's comes first, and its registers and stacks are long."""

TRIES = 2
"""How often a run that takes its agent down is tried."""

Launch = Callable[[Path, Path], "list[str]"]
"""Gives the command of an agent for a job file and a folder for what the process needs beside it."""


@dataclass(frozen=True)
class RunJob:
    """One run for an agent: of the crew's study, or with a scenario of its own.

    `seed` and `key` are those of its random streams, `options` those of the native code.
    """

    run: int
    scenario: Mapping[str, Any] | None = None
    seed: int = 0
    key: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_table(self) -> dict[str, Any]:
        """As the job file has it."""
        table: dict[str, Any] = {"run": self.run, "options": dict(self.options)}
        if self.scenario is not None:
            table["own"] = {"scenario": dict(self.scenario), "seed": self.seed, "key": self.key}
        return table


@dataclass(frozen=True)
class Done:
    """What became of a run: the agent's answer as it was written, or why there is none (`failed`)."""

    run: int
    line: bytes = b"{}"
    failed: str | None = None

    @cached_property
    def answer(self) -> Mapping[str, Any]:
        """The answer, read."""
        read: dict[str, Any] = json.loads(self.line)
        return read


class Crew:
    """Runs jobs on up to `size` agents at a time.

    `launch` gives an agent's command. `make` makes the job of a run. Iterate over :meth:`work`. Agents
    that are `pinned` stay on a core each. An agent gets runs of one `kind` only, such as those of one kernel.
    `study` is what jobs without a scenario are runs of: `design`, `replications`, `seed`. The first agent
    gets `block` runs, and later ones as many as the times of others suggest. Where runs are `of_programs`,
    one that hangs is not tried again: it has a program that does not sleep.
    """

    def __init__(
        self,
        launch: Launch,
        make: Callable[[int], RunJob],
        size: int,
        pinned: bool = False,
        kind: Callable[[int], Hashable] = lambda run: None,
        study: Mapping[str, Any] | None = None,
        block: int = FIRST_BLOCK,
        of_programs: bool = False,
    ) -> None:
        self._study = study
        self._of_programs = of_programs
        self._launch = launch
        self._pinned = pinned
        self._make = make
        self._size = max(size, 1)
        self._kind = kind
        self._todo: dict[Hashable, deque[int]] = {}
        self._tries: dict[int, int] = {}
        self._lock = threading.Lock()
        self._answers: queue.Queue[list[Done] | BaseException | None] = queue.Queue()
        self._stop = threading.Event()
        self._block = block

    def work(self, runs: Sequence[int], stopped: Callable[[], bool]) -> Iterator[Done]:
        """Yields what became of each run, in whatever order they end; ends early once `stopped()`.

        Raises StudyError where a run cannot be run at all, and RexmitError where no agent can be started.
        """
        for run in runs:
            self._todo.setdefault(self._kind(run), deque()).append(run)
        crew = [threading.Thread(target=self._serve, daemon=True) for _ in range(min(self._size, len(runs)))]
        for one in crew:
            one.start()
        working = len(crew)
        try:
            while working:
                try:
                    answer = self._answers.get(timeout=0.2)
                except queue.Empty:
                    if stopped():
                        return
                    continue
                if answer is None:
                    working -= 1
                elif isinstance(answer, BaseException):
                    raise answer
                else:
                    for done in answer:
                        yield done
                        if stopped():
                            return
        finally:
            self._stop.set()
            for one in crew:
                one.join()

    def _serve(self) -> None:
        try:
            while not self._stop.is_set() and (block := self._take()):
                began = time.monotonic()
                left = self._one_agent(block)
                self._learn(len(block) - len(left), time.monotonic() - began)
                with self._lock:
                    for run in reversed(left):
                        self._todo[self._kind(run)].appendleft(run)
        except RexmitError as error:
            self._answers.put(error)
        except OSError as error:
            self._answers.put(RexmitError(f"an agent cannot be started: {error}"))
        except BaseException as error:  # whoever waits for answers would wait for ever
            self._answers.put(error)
        self._answers.put(None)

    def _take(self) -> list[int]:
        """Runs for an agent: the first one that waits, and others of its kind."""
        with self._lock:
            waiting = [todo for todo in self._todo.values() if todo]
            if not waiting:
                return []
            todo = min(waiting, key=lambda one: one[0])
            fair = -(-sum(map(len, waiting)) // self._size)
            return [todo.popleft() for _ in range(min(self._block, fair, len(todo)))]

    def _learn(self, done: int, seconds: float) -> None:
        if done:
            with self._lock:
                self._block = max(
                    FIRST_BLOCK, min(int(done / max(seconds, 0.1) * AIM_SECONDS), 8 * self._block)
                )

    def _one_agent(self, block: list[int]) -> list[int]:
        """Runs a block on one agent and returns what is left of it."""
        jobs = [self._make(run).to_table() for run in block]
        with temporary_folder() as folder:
            job = folder / "job.json"
            put(job, json.dumps({"study": self._study, "runs": jobs}))
            command = self._launch(job, folder)
            with (
                idle_core() if self._pinned else nullcontext() as core,
                Agent(command, folder, core, len(block) if self._of_programs else 1) as agent,
            ):
                return self._follow(agent, block)

    def _follow(self, agent: Agent, block: list[int]) -> list[int]:
        left = deque(block)
        for answers in agent.answers(self._stop):
            for run, _ in answers:
                left.remove(run)
            self._answers.put([Done(run, line) for run, line in answers])
        if self._stop.is_set() or not left:
            return list(left)
        if not agent.started:
            raise RexmitError(f"an agent ended before its first run: {agent.last_words()}")
        run = agent.at if agent.at is not None and agent.at in left else left[0]
        self._tries[run] = self._tries.get(run, 0) + 1
        if agent.hangs and self._of_programs:
            left.remove(run)
            self._answers.put([Done(run, failed=agent.last_words())])
        elif self._tries[run] >= TRIES:
            left.remove(run)
            why = f"the agent did not survive it, {TRIES} times: {agent.last_words()}"
            self._answers.put([Done(run, failed=why)])
        return list(left)


def last_words(said: Sequence[str]) -> str:
    """The line of all that a process said that tells why it ended, else the last; nothing without any."""
    return _telling(said) or next((line.strip() for line in reversed(said) if line.strip()), "")


def _telling(said: Sequence[str]) -> str:
    """The line that says why a process ended; nothing if none does."""
    lines = [line.strip() for line in said]
    telling = [line for line in lines if "rror" in line or line.startswith("engine: ")]
    return why_it_ended(lines) or (telling or [""])[-1]


def _signal_name(number: int) -> str:
    """Such as SIGKILL."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _widen(descriptor: int) -> None:
    """Lets much wait in a pipe, so that its writer need not."""
    if sys.platform == "linux":
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, _PIPE)


def _read(line: bytes) -> dict[str, Any]:
    """A line that is not an answer; nothing where it is not whole."""
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return told


def _refusal(told: Mapping[str, Any]) -> RexmitError:
    """The error of a run that an agent could not run."""
    text = f"run {told['of']}: {told['wrong']}"
    if told.get("os_error") in FULL:
        return StoreError(f"{text}; free some space, then go on with --resume")
    return StudyError(text)


class Agent:
    """The process of an agent; leaving the context ends it and all that it started."""

    def __init__(self, command: Sequence[str], folder: Path, core: int | None = None, ends: int = 1) -> None:
        """`ends` is how often it says that nothing is left: where guests follow each other, each does."""
        self._ends = ends
        self._process = subprocess.Popen(
            leashed(command, core),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=guest_environment(folder),
            start_new_session=True,
        )
        self._console = management_console(folder)
        self._words: deque[str] = deque(maxlen=_WORDS)
        self._why = ""
        self.hangs = False
        self.started = False
        self.at: int | None = None

    def __enter__(self) -> Agent:
        return self

    def __exit__(self, *_: object) -> None:
        # Whatever a guest has started is in its group; an agent that has ended has none left.
        end_group(self._process)
        if self._process.stdout:
            self._process.stdout.close()

    def answers(self, stop: threading.Event) -> Iterator[list[tuple[int, bytes]]]:
        """Runs that it has answered for, each with its answer, until it ends, hangs, or `stop` is set.

        Raises StudyError for a run that cannot be run, and StoreError where the disk is full.
        """
        heard, before = time.monotonic(), b""
        buffer = b""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        _widen(descriptor)
        while not stop.is_set():
            ready, _, _ = select.select([descriptor], [], [], 0.2)
            if time.monotonic() - heard > STALL_SECONDS:
                self.hangs = True
                self._why = f"it said nothing new for {STALL_SECONDS:.0f} s{spinning(self._console)}"
                return
            if not ready:
                continue
            data = os.read(descriptor, _PIPE)
            if not data:
                return
            *whole, buffer = (buffer + data).split(b"\n")
            answers = []
            for line in filter(None, map(self._marked, whole)):
                if line != before:
                    heard, before = time.monotonic(), line
                if line.startswith(_ANSWER):
                    answers.append((int(line[len(_ANSWER) : line.index(b",")]), line))
                elif line.startswith(_START):
                    self.started, self.at = True, int(line[len(_START) : line.index(b"}")])
                elif (told := _read(line)) and "wrong" in told:
                    yield answers
                    raise _refusal(told)
                elif "end" in told:
                    self._ends -= 1
                    if self._ends == 0:
                        yield answers
                        return
            if answers:
                yield answers
            if len(data) < _PIPE // 4:
                time.sleep(_GATHER_SECONDS)

    def _marked(self, text: bytes) -> bytes:
        """What follows the mark in a line; nothing where it has none: that is a guest's kernel's line."""
        words, mark, line = text.strip(b"\r").partition(MARK)
        if not mark and words.strip():
            self._words.append(words.decode(errors="replace").strip())
        return line

    def last_words(self) -> str:
        """Why it ended, as far as it said so, in one line."""
        if self._why:
            return self._why
        if told := _telling(self._words):
            return told
        code = None
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_DYING_SECONDS)
        if code is not None and code < 0:
            return f"ended by {_signal_name(-code)}"
        return last_words(self._words) or ("it closed its output" if code is None else f"exit code {code}")
