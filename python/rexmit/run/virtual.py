"""Emulations in virtual time: both programs and the path in a guest whose clock stands still in code.

The guest has the files of this machine and says everything through some of them, which are read as they grow.
It ends with this process, and with it all that it has started.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, BinaryIO

from rexmit.files import create, put
from rexmit.kernel import find_kernel
from rexmit.run.agents import last_words
from rexmit.run.console import running
from rexmit.run.cores import idle_core
from rexmit.run.guests import Reach, guest_command, guest_environment, management_console
from rexmit.run.processes import end_group, leashed

MEMORY = "1G"
"""Memory of a guest with somebody's programs; what is not touched costs nothing."""

BEAT_NS = 200_000_000
"""Virtual time between two signs that the guest's clock runs."""

_LOOK_SECONDS = 0.01


class StoppedError(Exception):
    """A signal has ended the guest: its number."""


class StalledError(Exception):
    """The guest's clock stood still for too long: the program that ran then, where it is known."""


@dataclass(frozen=True)
class Guest:
    """A guest: what its clock shows first, ns since 1970, and how many seconds of this machine it may stall.

    While something is printed, it may stall. `writable` are the folders that the guest may write to; `kernel`
    names its kernel, as `find_kernel` takes it.
    """

    start_ns: int
    patience: float
    writable: tuple[Path, ...] = ()
    kernel: str | None = None


@dataclass
class Streams:
    """Where what the programs print goes."""

    output: BinaryIO
    errors: BinaryIO


def run_in_guest(
    job: dict[str, Any],
    folder: Path,
    hear: Callable[[dict[str, Any]], None],
    streams: Streams,
    guest_is: Guest,
) -> str:
    """Runs an emulation in a guest, calls `hear` with all that it says, and returns its kernel's last words.

    It may write to its `writable` folders, and to temporary ones that go with it.

    Raises KernelError where none is built, StoppedError after a signal, and StalledError.
    """
    kernel = find_kernel(name=guest_is.kernel)
    files = {name: folder / name for name in ("output", "errors", "events")}
    for path in files.values():
        create(path).close()
    place = {"folder": os.getcwd(), **{name: str(path) for name, path in files.items()}}
    work = folder / "job.json"
    put(work, json.dumps({**job, "guest": place}))
    reach = Reach(guest_is.writable)
    command = guest_command(
        kernel, "emulate", work, folder, reach, MEMORY, seed=job["seed"], start=guest_is.start_ns
    )
    printed = folder / "console"
    with idle_core() as core, _started(leashed(command, core), printed, folder) as (guest, stop):
        tails = [_tail(files["output"], streams.output), _tail(files["errors"], streams.errors)]
        events = _lines(files["events"])
        heard = time.monotonic()
        over = False
        while not over:
            over = guest.poll() is not None
            new = sum(next(tail) for tail in tails)
            for line in next(events):
                hear(json.loads(line))
                new += 1
            if stop:
                raise StoppedError(stop[0])
            now = time.monotonic()
            heard = now if new else heard
            if now - heard > guest_is.patience:
                raise StalledError(running(management_console(folder)))
            if not new and not over:
                time.sleep(_LOOK_SECONDS)
    words = printed.read_text(errors="replace").splitlines()
    return last_words(words) or f"exit code {guest.returncode}"


def _tail(path: Path, to: BinaryIO) -> Iterator[int]:
    """Copies what is new in a file; yields how many bytes that were."""
    with path.open("rb") as file:
        while True:
            count = 0
            while data := file.read(1 << 16):
                to.write(data)
                count += len(data)
            if count:
                to.flush()
            yield count


def _lines(path: Path) -> Iterator[list[bytes]]:
    """The lines of a file that are new and whole."""
    left = b""
    with path.open("rb") as file:
        while True:
            *whole, left = (left + file.read()).split(b"\n")
            yield whole


@contextmanager
def _started(
    command: list[str], console: Path, folder: Path
) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """A guest, ended at the end with all that it has started; and a list that gets the number of a signal."""
    stop: list[int] = []
    before = {}
    if threading.current_thread() is threading.main_thread():

        def note(number: int, _: FrameType | None) -> None:
            stop.append(number)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            before[number] = signal.signal(number, note)
    try:
        with create(console) as printed:
            guest = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.STDOUT,
                env=guest_environment(folder),
                start_new_session=True,
            )
        try:
            yield guest, stop
        finally:
            end_group(guest)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
