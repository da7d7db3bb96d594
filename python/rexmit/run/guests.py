"""Guests: the command that starts an agent as the first process of a kernel with a virtual clock.

A guest's root is this machine's, as far as its kernel's process can reach that. So that process is shut in
(`_cage.py`): not even a program that takes over the guest's kernel can write to more than the named folders.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rexmit import _native
from rexmit.errors import RexmitError, one_line
from rexmit.files import put
from rexmit.kernel import Kernel, boot_command, engine_words, init_words
from rexmit.places import temporary_folder
from rexmit.run.processes import script_command

CONSOLE = "con0=fd:0,fd:1"
STEPPED = "con0=null,fd:1"
"""Where a guest's console reads and writes, and that of one whose standard input is the engine's."""

MEMORY = "1G"
"""Memory of a guest; what is not touched costs nothing.

The kernel lets TCP have a sixteenth of it before sockets are under pressure and offer windows of four
segments (`tcp_mem`, which namespaces do not have): with 256 MB a single send buffer of 16 MB was under
pressure.
"""


@dataclass(frozen=True)
class Reach:
    """What a guest reaches of this machine besides its own folder.

    It may write to the folders `writable`. Of other files it sees those that are `readable`, or all that the
    user may read where that is None.
    """

    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] | None = None


@cache
def open_because() -> str | None:
    """Why guests cannot be shut in on this machine; None where they can."""
    with temporary_folder() as folder:
        for readable in (None, ("/usr", "/bin", "/lib", "/lib64")):
            plan = _plan(folder, 1 << 20, Reach())
            plan["readable"] = readable
            command = script_command("_cage.py", json.dumps(plan), "/bin/sh", "-c", ":")
            tried = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if tried.returncode != 0:
                return one_line(tried.stderr) or "the reason is not known"
    return None


def guest_environment(folder: Path) -> dict[str, str]:
    """The environment of the command: it says where a guest's memory lies, a file that has no name any more.

    That is an in-memory file system of the guest's own. Where guests cannot be shut in, it is the machine's
    /dev/shm, if it has room and code may be run from it, else `folder`.
    """
    if open_because() is None:
        return {**os.environ, "TMPDIR": str(folder / "memory")}
    fast = False
    with suppress(OSError):
        about = os.statvfs(_FAST)
        room = about.f_bavail * about.f_frsize >= _ROOM
        fast = room and not about.f_flag & os.ST_NOEXEC and os.access(_FAST, os.W_OK)
    return {**os.environ, "TMPDIR": str(_FAST if fast else folder)}


def guest_command(
    kernel: Kernel,
    does: str,
    job: Path,
    folder: Path,
    reach: Reach,
    memory: str = MEMORY,
    **clock: int,
) -> list[str]:
    """The command that boots `kernel` with an agent as its first process, which `does` the job in a file.

    `does` is `runs` or `emulate`. The rest is as for `shut_in`.
    """
    return shut_in(kernel, _agent_words(does, job), folder, reach, memory, **clock)


def guests_command(
    kernel: Kernel, jobs: Sequence[tuple[Path, int]], folder: Path, reach: Reach, memory: str = MEMORY
) -> list[str]:
    """The command that boots a guest for each of these jobs, one after another, whose agents run them.

    Each job comes with what the clock of its guest shows first, ns since 1970.
    """
    file = folder / "guests"
    booted = [
        _booted(kernel, _agent_words("runs", job), folder, memory, seed=0, start=start) for job, start in jobs
    ]
    put(file, "".join(f"{json.dumps(words)}\n" for words in booted))
    return _caged([str(agent_program()), str(file)], folder, _with(kernel, reach), memory)


def inside_command(kernel: Kernel, job: Path, folder: Path, reach: Reach) -> list[str]:
    """The command that boots `kernel` with the agent inside it, for the job in a file."""
    return shut_in(kernel, engine_words(engine(), job), folder, reach)


def stepped_command(kernel: Kernel, folder: Path) -> list[str]:
    """The command that boots `kernel` with the agent inside it, for one host of runs in steps of time.

    It asks its standard input what to do, and answers on its standard output. Its name is one more word.
    """
    first = engine_words(engine(), f"steps:{kernel.hz}")
    words = shut_in(kernel, first, folder, Reach((), of_this_system([engine()])))
    # Nobody types there.
    return [STEPPED if word == CONSOLE else word for word in words if not word.startswith("umid=")]


def engine() -> Path:
    """The library that a kernel loads: the agent, whose system calls are plain calls.

    Raises RexmitError where this installation has none.
    """
    return _part("_inside.so")


def agent_program() -> Path:
    """The agent of guests, a program. Raises RexmitError where this installation has none."""
    return _part("_guest")


def _part(name: str) -> Path:
    path = Path(_native.__file__).with_name(name)
    if not path.exists():
        raise RexmitError(f"{path}: is missing: reinstall rexmit, or run `make setup`")
    return path


def _agent_words(does: str, job: Path) -> list[str]:
    # What the kernel does not know reaches the program's environment.
    return [*init_words(agent_program()), f"REXMIT_DOES={does}", f"REXMIT_JOB={job}"]


def shut_in(
    kernel: Kernel,
    first: Sequence[str],
    folder: Path,
    reach: Reach,
    memory: str = MEMORY,
    **clock: int,
) -> list[str]:
    """The command that boots `kernel`, shut in, with `first` as `boot_command` has it.

    `folder` is for what else the guest needs; its management console is `uml/guest/mconsole` in it.
    Of `clock`, `seed` is that of its random numbers until an agent sets another, `start` what it shows first,
    ns since 1970.
    """
    return _caged(_booted(kernel, first, folder, memory, **clock), folder, _with(kernel, reach), memory)


def _with(kernel: Kernel, reach: Reach) -> Reach:
    """What a guest reaches, and its kernel."""
    if reach.readable is None:
        return reach
    return Reach(reach.writable, (*reach.readable, kernel.path.parent))


def _booted(kernel: Kernel, first: Sequence[str], folder: Path, memory: str, **clock: int) -> list[str]:
    extra = [f"uml_dir={folder / 'uml'}", f"umid={NAME}"]
    return boot_command(kernel, first, memory=memory, extra=extra, **clock)


def _caged(command: list[str], folder: Path, reach: Reach, memory: str) -> list[str]:
    if open_because() is not None:
        return command
    # What lies in it besides the guest's own memory is small.
    room = (int(memory[:-1]) << {"M": 20, "G": 30}[memory[-1]]) + (16 << 20)
    return script_command("_cage.py", json.dumps(_plan(folder, room, reach)), *command)


def management_console(folder: Path) -> Path:
    """The management console of the guest whose folder this is."""
    return folder / "uml" / NAME / "mconsole"


def of_this_system(more: Iterable[Path]) -> tuple[Path, ...]:
    """What a guest needs to see besides its files: the libraries of the system, and these."""
    return tuple(dict.fromkeys([*map(Path, _SYSTEM), *more]))


def _plan(folder: Path, memory: int, reach: Reach) -> dict[str, object]:
    readable = None if reach.readable is None else [str(path) for path in reach.readable]
    writable = [str(path) for path in reach.writable]
    return {"folder": str(folder), "bytes": memory, "writable": writable, "readable": readable}


NAME = "guest"
"""The name of a guest, for its kernel."""

_FAST = Path("/dev/shm")
_ROOM = 2 << 30
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/usr", "/etc/ld.so.cache", "/nix/store", "/gnu/store")
"""Where a system's programs and libraries are."""
