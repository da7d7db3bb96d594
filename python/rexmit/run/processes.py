"""Commands of the processes that this one starts: agents, and programs that do not outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rexmit import _native

_SCRIPTS = Path(__file__).resolve().parents[1]

_DYING_SECONDS = 5.0
"""How long a process's descendants may take to end once killed: one in the kernel ends late."""


def agent_command(place: str, job: Path, *more: object) -> list[str]:
    """An agent for the job in a file. `place` and `more` are as `_agent.py` has them."""
    return script_command("_agent.py", _native.__file__, place, job, *more)


def leashed(command: Sequence[str], core: int | None = None) -> list[str]:
    """The command that is killed when the thread that started it ends; it stays on a core if given one."""
    return [*script_command("_leash.py", os.getpid(), "any" if core is None else core), *command]


def script_command(script: str, *words: object) -> list[str]:
    """A script of this package by its name. Its interpreter reads nothing of its user's and starts fast."""
    return [sys.executable, "-ISB", str(_SCRIPTS / script), *map(str, words)]


def end_group(process: subprocess.Popen[bytes]) -> None:
    """Kills a process that leads a group, and all others of the group, and waits until they have ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    until = time.monotonic() + _DYING_SECONDS
    while _lives(process.pid) and time.monotonic() < until:
        time.sleep(0.001)


def _lives(group: int) -> bool:
    """Whether a process of the group still runs; one that has ended and waits to be reaped does not."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # After the command, which stands in parentheses: state, parent, group.
            state, _, of = entry.read_text(errors="replace").rpartition(") ")[2].split(" ")[:3]
            if int(of) == group and state not in "ZX":
                return True
    return False
