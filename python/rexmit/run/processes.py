"""Commands of the processes that this one starts: agents, and programs that do not outlive it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rexmit import _native

_SCRIPTS = Path(__file__).resolve().parents[1]


def agent_command(place: str, job: Path, *more: object) -> list[str]:
    """An agent for the job in a file. `place` and `more` are as `_agent.py` has them."""
    return script_command("_agent.py", _native.__file__, place, job, *more)


def leashed(command: Sequence[str], core: int | None = None) -> list[str]:
    """The command that is killed when the thread that started it ends; it stays on a core if given one."""
    return [*script_command("_leash.py", os.getpid(), "any" if core is None else core), *command]


def script_command(script: str, *words: object) -> list[str]:
    """A script of this package by its name. Its interpreter reads nothing of its user's and starts fast."""
    return [sys.executable, "-ISB", str(_SCRIPTS / script), *map(str, words)]
