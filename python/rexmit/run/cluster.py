"""A study on the workers of a Dask cluster that the user has.

Chunks of runs go to workers that can run them, a few for each of their threads, and their rows are handed
on as they arrive. A chunk whose worker is gone is run by another.
"""

from __future__ import annotations

import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from rexmit import _native
from rexmit.errors import RexmitError, StudyError, one_line
from rexmit.run.backends import Backend, as_recorded, is_virtual
from rexmit.run.on_worker import Work, pack, rows_of, run_chunk, what_it_can
from rexmit.run.scheduler import CONNECT_SECONDS, connect, quiet_logs
from rexmit.run.unreached import Unreached
from rexmit.study import StudySpec

if TYPE_CHECKING:
    from rexmit.run.runner import RunOptions

FETCH_SECONDS = 1.0
FETCH_TRIES = 60
"""How long, and how often, rows of a finished chunk are asked for while the worker that has them is there."""

GRACE_SECONDS = 30.0
"""How long a sweep waits where no worker is left: one that died is often restarted."""

CHUNKS_A_THREAD = 3
"""Chunks that wait or run, for each thread of the workers: none is idle, and all can be held."""

FIRST_CHUNK = 4
"""Small, so that a study of long runs can be stopped soon; it grows at once where runs are short."""
LARGEST_CHUNK = 1 << 16
AIM_SECONDS = 1.0
AIM_REAL_SECONDS = 15.0
"""Time that a chunk should take, for the models and for a real kernel, whose agents take long to start."""

FIRST_REAL_CHUNK = 8
_LOOK_SECONDS = 2.0
"""Time between two looks at who is there."""
_SHOWN = 4


@dataclass
class _Chunk:
    """A chunk under way: its future, its runs, and the workers that may run it."""

    future: Any
    runs: range
    where: frozenset[str]


@dataclass
class _Worker:
    """A worker that was asked what it can run. `lacks` is None where it can run the study."""

    threads: int
    host: str
    lacks: str | None
    machine: dict[str, Any] = field(default_factory=dict)
    runs: int = 0


class Cluster:
    """A connection to a cluster, for one sweep. Use it as a context."""

    def __init__(self, address: str, work: Work, backend: Backend) -> None:
        """`backend` is the local one: a worker's must have the same facts."""
        real = not is_virtual(backend.name)
        self.address = address
        self._work = work
        self._facts = backend.facts()
        self._real_time = backend.real_time
        self._aim = AIM_REAL_SECONDS if real else AIM_SECONDS
        self._size = FIRST_REAL_CHUNK if real else FIRST_CHUNK
        self._workers: dict[str, _Worker] = {}
        self._gone: list[_Worker] = []
        self._unreached = Unreached(shown=5)
        self._done: queue.Queue[_Chunk] = queue.Queue()
        self._under_way: dict[str, _Chunk] = {}
        self._todo: deque[range] = deque()
        self._left = 0
        self._looked = 0.0
        self._idle_since: float | None = None

    def __enter__(self) -> Cluster:
        self._quiet = quiet_logs()
        self._quiet.__enter__()
        try:
            self._client = connect(self.address)
            self._look()
            if not self._able():
                raise RexmitError(self._why_nobody())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        client = getattr(self, "_client", None)
        if client is not None:
            with suppress(Exception):
                client.cancel([chunk.future for chunk in self._under_way.values()], force=True)
            self._under_way.clear()
            with suppress(Exception):
                client.close(timeout=CONNECT_SECONDS)
        self._quiet.__exit__(None, None, None)

    @property
    def words(self) -> str:
        """Who works, for progress: `on 4 workers`."""
        count = len(self._able())
        return f"on {count} worker{'' if count == 1 else 's'}"

    def unreached(self) -> list[tuple[str, int]]:
        """What patterns named but no packet matched in the runs so far: a text, and in how many of them."""
        return self._unreached.texts()

    def facts(self) -> dict[str, Any]:
        """What provenance says of it: its address, and of each worker the machine and its number of runs."""
        everyone = [*self._gone, *self._workers.values()]
        return {
            "address": self.address,
            "workers": [{**one.machine, "runs": one.runs} for one in everyone if one.runs],
        }

    def sweep(
        self, missing: Sequence[range], stopped: Callable[[], bool]
    ) -> Iterator[tuple[range, pa.Table]]:
        """Runs them and yields finished ones, in whatever order they end; ends early once `stopped()`.

        Raises RexmitError where no worker is left, or one could not run a run.
        """
        self._todo = deque(missing)
        self._left = sum(map(len, missing))
        while self._left:
            self._submit()
            chunk = self._next()
            if stopped():
                yield from self._finished(chunk)
                return
            if chunk is not None:
                yield from self._answer(chunk)
            if time.monotonic() - self._looked > _LOOK_SECONDS:
                self._look()

    def _submit(self) -> None:
        while self._todo and (where := self._free()):
            first = self._todo.popleft()
            size = min(self._size, max(-(-self._left // (2 * self._slots())), FIRST_CHUNK))
            runs = range(first.start, min(first.start + size, first.stop))
            if runs.stop < first.stop:
                self._todo.appendleft(range(runs.stop, first.stop))
            future = self._client.submit(
                run_chunk,
                self._work,
                runs.start,
                runs.stop,
                workers=sorted(where),
                allow_other_workers=False,
                pure=False,
                key=f"rexmit-runs-{runs.start}-{runs.stop}-{time.monotonic_ns()}",
            )
            chunk = self._under_way[future.key] = _Chunk(future, runs, where)
            future.add_done_callback(lambda _, chunk=chunk: self._done.put(chunk))

    def _free(self) -> frozenset[str]:
        """The workers that the next chunk may go to; none where enough chunks are under way."""
        able = self._able()
        if not self._real_time:
            enough = len(self._under_way) >= CHUNKS_A_THREAD * self._slots()
            return frozenset() if enough else frozenset(able)
        # In real time a machine has one chunk at a time, whatever workers it has.
        busy = {able[name].host for chunk in self._under_way.values() for name in chunk.where if name in able}
        return frozenset([name for name, worker in able.items() if worker.host not in busy][:1])

    def _slots(self) -> int:
        return max(sum(worker.threads for worker in self._able().values()), 1)

    def _next(self) -> _Chunk | None:
        with suppress(queue.Empty):
            return self._done.get(timeout=0.2)
        return None

    def _finished(self, chunk: _Chunk | None) -> Iterator[tuple[range, pa.Table]]:
        """What has come already when a sweep is stopped."""
        while chunk is not None or not self._done.empty():
            chunk = chunk or self._done.get()
            if chunk.future.status == "finished":
                yield from self._answer(chunk)
            chunk = None

    def _answer(self, chunk: _Chunk) -> Iterator[tuple[range, pa.Table]]:
        if self._under_way.pop(chunk.future.key, None) is None:
            return  # given up before it ended
        if chunk.future.status in ("cancelled", "lost"):
            self._give_up(chunk)
            return
        try:
            answer = self._fetched(chunk.future)
        except Exception as error:
            raise RexmitError(self._broken(chunk.runs, error)) from None
        if answer is None:
            self._give_up(chunk)
            return
        if "wrong" in answer:
            raise (StudyError if answer["study"] else RexmitError)(answer["wrong"])
        self._learn(len(chunk.runs), answer)
        self._left -= len(chunk.runs)
        if answer["worker"] in self._workers:
            self._workers[answer["worker"]].runs += len(chunk.runs)
        for text, count in answer["unreached"]:
            self._unreached.add([text], count)
        yield chunk.runs, rows_of(answer)

    def _fetched(self, future: Any) -> Any:
        """The answer of a finished chunk; None where it was lost with its worker."""
        for _ in range(FETCH_TRIES):
            with suppress(TimeoutError):
                return future.result(timeout=FETCH_SECONDS)
            if not self._client.who_has([future]).get(future.key):
                return None
        return None

    def _give_up(self, chunk: _Chunk) -> None:
        """Lets its runs wait again."""
        self._under_way.pop(chunk.future.key, None)
        self._client.cancel([chunk.future], force=True)
        self._todo.appendleft(chunk.runs)

    def _learn(self, runs: int, answer: dict[str, Any]) -> None:
        """Grows or shrinks chunks towards the time aimed at, longer where a study takes long to read."""
        aim = max(self._aim, 10 * answer["setup"])
        seconds = max(answer["seconds"] - answer["setup"], 1e-6)
        wanted = max(1, min(int(runs * aim / seconds), LARGEST_CHUNK))
        # A small chunk that comes late says nothing against larger ones.
        self._size = wanted if wanted < self._size else max(self._size, min(wanted, 8 * runs))

    def _broken(self, runs: range, error: Exception) -> str:
        told = f"runs {runs.start} to {runs.stop - 1}"
        if type(error).__name__ == "KilledWorker":
            return f"{told}: every worker that tried them died; look at its log, then go on with --resume"
        return f"{told} on the cluster: {type(error).__name__}: {one_line(error)}; go on with --resume"

    # Who is there

    def _able(self) -> dict[str, _Worker]:
        return {name: worker for name, worker in self._workers.items() if worker.lacks is None}

    def _look(self) -> None:
        """Asks who is there, and what newcomers can run; chunks that nobody may run any more wait again."""
        try:
            there: dict[str, int] = self._client.nthreads()
        except Exception as error:
            raise RexmitError(
                f"--cluster {self.address}: its scheduler is gone ({one_line(error)}); what is finished is "
                "stored, go on with --resume"
            ) from None
        for name in [name for name in self._workers if name not in there]:
            self._gone.append(self._workers.pop(name))
        new = {name: threads for name, threads in there.items() if name not in self._workers}
        if new:
            self._workers |= self._asked(new)
        for chunk in list(self._under_way.values()):
            if chunk.where.isdisjoint(there):
                self._give_up(chunk)
        self._looked = time.monotonic()
        self._wait_for_somebody()

    def _wait_for_somebody(self) -> None:
        if self._able():
            self._idle_since = None
        elif self._idle_since is None:
            self._idle_since = time.monotonic()
        elif time.monotonic() - self._idle_since > GRACE_SECONDS:
            raise RexmitError(
                f"{self._why_nobody()}; none came in {GRACE_SECONDS:.0f} s: what is finished is stored, "
                "go on with --resume"
            )

    def _asked(self, new: dict[str, int]) -> dict[str, _Worker]:
        """What each of these workers can run; versions first, as one of another may not know the question."""
        versions = self._run(metadata.version, ("rexmit",), list(new))
        ours = metadata.version("rexmit")
        same = [name for name in new if versions.get(name) == ours]
        answers = self._run(what_it_can, (self._work,), same) if same else {}
        found = {}
        for name, threads in new.items():
            version, answer = versions.get(name), answers.get(name)
            if name not in versions or (name in same and answer is None):
                continue  # gone meanwhile
            machine = answer if isinstance(answer, dict) else {}
            lacks = self._lack(version, answer)
            host = str(machine.get("host", urlsplit(name).hostname))
            known = {key: value for key, value in machine.items() if key in ("host", "kernel", "python")}
            found[name] = _Worker(threads, host, lacks, {"address": name, **known})
        return found

    def _lack(self, version: object, answer: Any) -> str | None:
        if isinstance(version, metadata.PackageNotFoundError):
            return "rexmit is not installed"
        if isinstance(version, Exception):
            return f"{type(version).__name__}: {one_line(version)}"
        if answer is None:
            return f"rexmit {version} in place of {metadata.version('rexmit')}"
        if isinstance(answer, Exception):
            return f"{type(answer).__name__}: {one_line(answer)}"
        if answer["native_version"] != _native.version():
            return f"native code {answer['native_version']} in place of {_native.version()}"
        if answer["lacks"]:
            return str(answer["lacks"])
        for key, ours in self._facts.items():
            theirs = answer["facts"].get(key)
            if theirs != ours:
                return f"{key} {theirs} in place of {ours}"
        return None

    def _run(self, function: Callable[..., Any], arguments: tuple[Any, ...], names: list[str]) -> Any:
        """What a function returns on each of these workers, or its exception; without those that are gone."""
        answers = self._client.run(function, *arguments, workers=names, on_error="return")
        return {name: answer for name, answer in answers.items() if not isinstance(answer, OSError)}

    def _why_nobody(self) -> str:
        where = f"--cluster {self.address}"
        if not self._workers:
            return f"{where}: has no worker; start some, such as `dask worker {self.address}`"
        told = [f"{name}: {worker.lacks}" for name, worker in list(self._workers.items())[:_SHOWN]]
        more = f"; and {len(self._workers) - _SHOWN} more" if len(self._workers) > _SHOWN else ""
        return f"{where}: no worker can run backend {self._work['backend']}: {'; '.join(told)}{more}"


def work_of(spec: StudySpec, backend: Backend, options: RunOptions, jobs: int) -> Work:
    """What every chunk of a sweep shares."""
    return {
        "study": pack(spec),
        "name": spec.name,
        "backend": backend.name,
        "allow_unsupported": options.allow_unsupported,
        "kernel": options.kernel,
        "kernels": as_recorded(backend.facts()).kernels,
        "jobs": jobs,
    }
