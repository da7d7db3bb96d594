"""Emulations: a process of their own that runs programs behind a path, and what it says.

The process begins with one thread, as user namespaces demand, and leads a process group of its own, so that
Ctrl-C on the terminal is COMMAND's alone. It ends with this one, and with it all that it has made.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

from rexmit import _native
from rexmit.errors import RexmitError, one_line
from rexmit.files import check_writable, make_folder, move_in, put, write_whole
from rexmit.places import temporary_folder
from rexmit.run.guests import open_because
from rexmit.run.processes import agent_command
from rexmit.run.virtual import BEAT_NS, Guest, StalledError, StoppedError, Streams, run_in_guest
from rexmit.terminal import binary

INVALID = 1
"""Exit code where the emulation was not what it should be."""


@dataclass(frozen=True)
class ProgramAt:
    """A program at a host.

    `role` is `command` (it has the terminal, and is waited for), `shell` (all ends with it), `beside` (waited
    for), `server` (started first, ended with the others) or `holder` (it keeps its host open).
    """

    host: str
    argv: tuple[str, ...]
    role: str


@dataclass(frozen=True)
class EmulationOptions:
    """What is to be emulated: `path`, a scenario's, or `network`, a scenario. Times are in ns.

    `hosts` are those with captures, by their number; `host_names` is what programs see as
    /etc/hosts. `virtual` runs it in a guest whose clock is virtual.
    """

    path: dict[str, Any] | None = None
    network: dict[str, Any] | None = None
    programs: tuple[ProgramAt, ...] = ()
    hosts: tuple[str, ...] = ("server", "client")
    host_names: str | None = None
    between: tuple[str, str] | None = None
    ready: Any = "listening"
    addresses: tuple[str, str] | None = None
    mtu: int = 0
    seed: int = 1
    duration_ns: int | None = None
    mode: str = "hybrid"
    beat_ns: int | None = None
    capture: Path | None = None
    verdicts: Path | None = None
    to_stderr: bool = False
    virtual: Guest | None = None
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def has_terminal(self) -> bool:
        """Whether Ctrl-C is a program's."""
        return any(program.role in ("command", "shell") for program in self.programs)


@dataclass
class Listener:
    """What is done with what an emulation says: lines for people, counts while it runs."""

    note: Callable[[str], None]
    now: Callable[[dict[str, Any]], None]


class EmulationError(RexmitError):
    """The emulation could not be set up, or broke off."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def emulate(options: EmulationOptions, listener: Listener) -> dict[str, Any]:
    """Runs an emulation to its end and returns its last words.

    They are `code`, `summary`, `invalid`, `unreached`, and `device`: `tun`, `veth`, None between interfaces.
    Raises EmulationError where it could not be set up, or broke off.
    """
    if options.verdicts is not None:
        if not options.verdicts.resolve().parent.is_dir():
            raise EmulationError(f"{options.verdicts}: there is no such folder to write it into", 2)
        check_writable(options.verdicts.parent)
    if options.capture is not None:
        make_folder(options.capture, resumable=False)
        check_writable(options.capture)
    with temporary_folder() as folder, _terminal():
        if options.virtual:
            last = _run_virtual(options, options.virtual, folder, listener)
        else:
            job = folder / "job.json"
            put(job, json.dumps(_job(options, folder)))
            last = _run(job, listener, alone=not options.has_terminal)
        if options.capture is not None:
            for made in filter(Path.exists, _captures(options, folder)):
                move_in(made, options.capture / made.name)
    if options.verdicts is not None:
        columns = last.pop("verdicts")
        write_whole(options.verdicts, lambda file: _write_table(file, columns), resumable=False)
    return last


def records() -> Path | None:
    """Where emulations write what is to be undone after a kill; None without root, where nothing is."""
    return Path("/run/rexmit") if os.geteuid() == 0 else None


def probe() -> dict[str, Any]:
    """Whether emulations are possible here, found by making the parts of one.

    The answer has `carrier` (`tun` or `veth`), `closed` (why there is no TUN device), `rootless` and
    `own_proc` (programs see their own processes in /proc), or `wrong` alone: why there can be none.
    """
    try:
        done = subprocess.run(
            agent_command("probe", Path("-")), capture_output=True, text=True, timeout=60, check=False
        )
        answer: dict[str, Any] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return {"wrong": f"the emulator does not start: {one_line(str(error))}"}
    return answer


def _captures(options: EmulationOptions, folder: Path) -> list[Path]:
    """Where the emulator, which may be root, writes captures: in a folder of its own."""
    return [folder / f"{host}.pcapng" for host in options.hosts]


def _job(options: EmulationOptions, folder: Path) -> dict[str, Any]:
    captures = [] if options.capture is None else [str(path) for path in _captures(options, folder)]
    place = records()
    names = None
    if options.host_names is not None:
        names = folder / "hosts"
        # Readable by programs, whoever runs them.
        put(names, options.host_names, 0o644)
    chosen = asdict(options)
    for key in ("capture", "verdicts", "environment", "virtual", "hosts"):
        del chosen[key]
    return {
        **chosen,
        "id": uuid.uuid4().hex,
        "parent": os.getpid(),
        "foreground": os.getpgrp(),
        "captures": captures,
        "host_names": None if names is None else str(names),
        "verdicts": options.verdicts is not None,
        "records": None if place is None else str(place),
        "environment": list(options.environment.items()),
    }


def _run(job: Path, listener: Listener, alone: bool) -> dict[str, Any]:
    heard, answer = os.pipe()
    command = agent_command("emulate", job, answer)
    try:
        process = subprocess.Popen(command, pass_fds=[answer], process_group=0)
    finally:
        os.close(answer)
    with open(heard, "rb") as lines, _passed_on(process, alone):
        said = _Last(listener)
        for line in lines:
            said.hear(json.loads(line))
        # The descriptor is closed by the last of its processes: whatever it has started is gone.
        code = process.wait()
    if said.nothing():
        _tidy(listener)
    why = f"by signal {-code}" if code < 0 else f"with exit code {code}"
    return said.over(f"the emulator was ended {why}; COMMAND and all that it had started were ended too")


def _run_virtual(options: EmulationOptions, guest: Guest, folder: Path, listener: Listener) -> dict[str, Any]:
    job = _job(options, folder)
    # A guest's first process has no parent, no terminal, and nothing that would be left.
    job.update(parent=0, foreground=None, records=None, beat_ns=BEAT_NS)
    job["environment"] = [*os.environ.items(), ("TMPDIR", "/run"), *options.environment.items()]
    if (why := open_because()) is not None:
        listener.note(
            f"warning: the guest cannot be confined on this machine ({why}): "
            "its programs can write wherever you can"
        )
    said = _Last(Listener(listener.note, _now_and_then(listener.now, options.beat_ns)))
    streams = Streams(binary(sys.stderr if options.to_stderr else sys.stdout), binary(sys.stderr))
    try:
        words = run_in_guest(job, folder, said.hear, streams, guest)
    except StoppedError as stop:
        raise EmulationError("the emulation was stopped", 128 + stop.args[0]) from None
    except StalledError as stall:
        raise EmulationError(_spinning(stall.args[0], guest.patience)) from None
    return said.over(f"the guest ended before the emulation was over: {words}")


def _now_and_then(
    show: Callable[[dict[str, Any]], None], beat_ns: int | None
) -> Callable[[dict[str, Any]], None]:
    """Shows some of the events: one for each beat of this machine's clock, or none without a beat."""
    due = time.monotonic() + (beat_ns or 0) / 1e9

    def hear(now: dict[str, Any]) -> None:
        nonlocal due
        if beat_ns and time.monotonic() >= due:
            due = time.monotonic() + beat_ns / 1e9
            show(now)

    return hear


def _spinning(program: str, patience: float) -> str:
    text = f"the virtual clock has stood still for {patience:g} s"
    if not program:
        return f"{text}; a program that never sleeps stops it, and a long computation needs more --patience"
    return (
        f"{text}: {program} runs and does not sleep. A program that waits without sleeping stops a virtual "
        "clock; one that computes for so long needs more --patience"
    )


class _Last:
    """What an emulation says, passed on; its last word is kept."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._last: dict[str, Any] | None = None

    def hear(self, event: dict[str, Any]) -> None:
        if "note" in event:
            self._listener.note(event["note"])
        elif "now" in event:
            self._listener.now(event["now"])
        elif "up" not in event:
            self._last = event

    def nothing(self) -> bool:
        """True where there has been no last word."""
        return self._last is None

    def over(self, otherwise: str) -> dict[str, Any]:
        """What came of it. Raises EmulationError where nothing did: with its word, else `otherwise`."""
        if self._last is None:
            raise EmulationError(otherwise)
        if "wrong" in self._last:
            raise EmulationError(self._last["wrong"]["text"], self._last["wrong"]["code"])
        over: dict[str, Any] = self._last["over"]
        return over


def _tidy(listener: Listener) -> None:
    place = records()
    if place is not None:
        for line in _native.sweep_emulations(str(place)):
            listener.note(line)


@contextmanager
def _passed_on(process: subprocess.Popen[bytes], alone: bool) -> Iterator[None]:
    """SIGTERM and SIGHUP end the emulation; Ctrl-C is COMMAND's, and ends an emulation without one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _: object) -> None:
        with suppress(ProcessLookupError):
            process.send_signal(number)

    before = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    for number in (signal.SIGINT, signal.SIGQUIT):
        before[number] = signal.signal(number, end if alone else lambda *_: None)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _terminal() -> Iterator[None]:
    """The terminal is ours again at the end: a shell that was killed has kept it."""
    try:
        group = os.tcgetpgrp(0)
    except OSError:
        yield
        return
    try:
        yield
    finally:
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        with suppress(OSError):
            os.tcsetpgrp(0, group)
        signal.signal(signal.SIGTTOU, before)


def _write_table(file: IO[bytes], columns: dict[str, list[Any]]) -> None:
    # Loaded when there is something to write: work begins without it.
    import pyarrow.parquet as pq

    from rexmit.tables import single
    from rexmit.tables.arrow import from_lists

    pq.write_table(from_lists(columns, single("verdicts")), file)
