"""Guests: the command that starts an agent as the first process of a kernel with a virtual clock.

A guest's root is this machine's, as far as its kernel's process can reach that. So this process is shut in
(`_cage.py`): not even a program that takes over the guest's kernel can write to more than the named folders.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
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
    """What a guest reaches of this machine beside its own folder.

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
                return one_line(tried.stderr) or "it cannot be told why"
    return None


def guest_environment(folder: Path) -> dict[str, str]:
    """The environment of the command: it says where a guest's memory lies, a file that has no name any more.

    That is a file system in memory of the guest's own. Where it cannot be shut in, it is where files are
    memory themselves, if there is room and code may be run from it, else `folder`.
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
    agent: Sequence[str],
    folder: Path,
    reach: Reach,
    memory: str = MEMORY,
    **clock: int,
) -> list[str]:
    """The command that boots `kernel` with `agent` as its first process.

    `folder` is for what it needs beside; its kernel's management console is `uml/guest/mconsole` in it. Of
    `clock`, `seed` is that of its random numbers until an agent sets another, `start` what it shows first, ns
    since 1970.
    """
    init = folder / "init"
    # A shebang takes one argument and no blank in the path: the shell passes on all.
    put(init, f"#!/bin/sh\nexec {shlex.join(agent)}\n", executable=True)
    return _shut_in(kernel, init_words(init), folder, reach, memory, **clock)


def inside_command(kernel: Kernel, job: Path, folder: Path, reach: Reach) -> list[str]:
    """The command that boots `kernel` with the agent inside it, for the job in a file."""
    return _shut_in(kernel, engine_words(engine(), job), folder, reach, MEMORY)


def stepped_command(kernel: Kernel, folder: Path) -> list[str]:
    """The command that boots `kernel` with the agent inside it, for one host of runs in steps of time.

    It asks its standard input what to do, and answers on its standard output. Its name is one more word.
    """
    first = engine_words(engine(), f"steps:{kernel.hz}")
    reach = Reach((), of_this_python([engine()]))
    words = _shut_in(kernel, first, folder, reach, MEMORY)
    # Nobody types there.
    return [STEPPED if word == CONSOLE else word for word in words if not word.startswith("umid=")]


def engine() -> Path:
    """The library that a kernel loads: the agent, whose system calls are plain calls.

    Raises RexmitError where this installation has none.
    """
    library = Path(_native.__file__).with_name("_inside.so")
    if not library.exists():
        raise RexmitError(f"{library}: is missing: install rexmit anew, or run `make setup`")
    return library


def _shut_in(
    kernel: Kernel, first: Sequence[str], folder: Path, reach: Reach, memory: str, **clock: int
) -> list[str]:
    # Of level 4 is what a kernel says of a BUG before its panic: which file and line.
    extra = ["loglevel=5", f"uml_dir={folder / 'uml'}", f"umid={NAME}"]
    command = boot_command(kernel, first, memory=memory, extra=extra, **clock)
    if open_because() is not None:
        return command
    # What lies in it beside the guest's own memory is small.
    room = (int(memory[:-1]) << {"M": 20, "G": 30}[memory[-1]]) + (16 << 20)
    if reach.readable is not None:
        reach = Reach(reach.writable, (*reach.readable, kernel.path.parent))
    return script_command("_cage.py", json.dumps(_plan(folder, room, reach)), *command)


def management_console(folder: Path) -> Path:
    """The management console of the guest whose folder this is."""
    return folder / "uml" / NAME / "mconsole"


def of_this_python(more: Iterable[Path] = ()) -> tuple[Path, ...]:
    """What an agent needs to see: this interpreter with its libraries, and rexmit's native module."""
    own = [Path(prefix) for prefix in (sys.prefix, sys.base_prefix, sys.exec_prefix)]
    system = [Path(path) for path in _SYSTEM]
    return tuple(dict.fromkeys([*system, *own, Path(sys.executable).resolve().parent, *more]))


def _plan(folder: Path, memory: int, reach: Reach) -> dict[str, object]:
    readable = None if reach.readable is None else [str(path) for path in reach.readable]
    writable = [str(path) for path in reach.writable]
    return {"folder": str(folder), "bytes": memory, "writable": writable, "readable": readable}


NAME = "guest"
"""Of a guest, for its kernel."""

_FAST = Path("/dev/shm")
_ROOM = 2 << 30
_SYSTEM = ("/bin", "/lib", "/lib32", "/lib64", "/usr", "/etc/ld.so.cache", "/nix/store", "/gnu/store")
"""Where a system's programs and libraries are."""
