"""Starting a kernel: its command line, and a check that it starts and its random numbers obey the seed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rexmit.errors import one_line
from rexmit.files import put
from rexmit.kernel.cache import Kernel
from rexmit.kernel.errors import KernelError
from rexmit.kernel.words import why_it_ended
from rexmit.places import temporary_folder

MEMORY = "128M"
"""Memory of a guest: enough for Python and a few namespaces. What is not touched costs nothing."""

_PATIENCE = 60.0
"""Seconds of the host until a boot counts as hung; one takes about half a second."""


@dataclass(frozen=True)
class BootCheck:
    """What a try saw: seconds of the host, and what the guest told of itself.

    `random` are 16 bytes drawn first, in hexadecimal digits; `reseeded` 64 bytes drawn after seed 7 was
    written. `repeats` is whether writing the same seed later gave the same bytes, `slept` how long a sleep of
    1000 s took by the guest's clock.
    """

    seconds: float
    release: str
    random: str
    reseeded: str
    repeats: bool
    slept: float


def boot_command(
    kernel: Kernel,
    first: Sequence[str],
    seed: int = 0,
    memory: str = MEMORY,
    start: int = 0,
    extra: Sequence[str] = (),
) -> list[str]:
    """The command that boots `kernel` on the host's files.

    `first` are the words that say what runs first, `init_words` or `engine_words`. `seed` is that of the
    random numbers, `start` what the guest's clock shows first, in nanoseconds since 1970. `extra` are more
    words of the command line; unknown `NAME=value` reach init's environment. Its standard input must be one
    that never has anything to say, such as /dev/null.
    """
    return [
        str(kernel.path),
        # A name that is not a device: without one, 6.1 looks for UML's first block device, and there is none.
        "root=host",
        "rootfstype=hostfs",
        "rw",
        # What a BUG says is a warning, which `quiet` would hide. Of two levels the last counts.
        "loglevel=5",
        *first,
        f"mem={memory}",
        "con0=fd:0,fd:1",
        "time-travel=inf-cpu",
        f"time-travel-start={start}",
        f"random.seed={seed}",
        *extra,
    ]


def init_words(program: str | Path) -> list[str]:
    """That a program is the first process."""
    return [f"init={program}"]


def engine_words(library: str | Path, job: str | Path) -> list[str]:
    """That an engine runs inside the kernel, and the file that says what it is to do; no program runs.

    Its guest starts once for many runs, and tells more: the place of a fault is logged at level info.
    """
    return ["loglevel=7", f"rexmit.engine={library}", f"rexmit.job={job}"]


def check_boot(kernel: Kernel, seed: int = 0) -> BootCheck:
    """Boots a kernel with a program that tells of itself and powers off.

    Raises KernelError with the guest's last words where it does not start, and where its clock or its random
    numbers do not obey.
    """
    with temporary_folder() as folder:
        init = _write_init(folder)
        environment = {
            "HOME": str(folder),
            "PATH": os.environ.get("PATH", os.defpath),
            "TMPDIR": str(folder),
        }
        started = time.monotonic()
        try:
            done = subprocess.run(
                boot_command(kernel, init_words(init), seed, extra=[f"uml_dir={folder / 'uml'}"]),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=environment,
                timeout=_PATIENCE,
                errors="replace",
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            raise KernelError(f"{kernel.path}: did not start within {_PATIENCE:.0f} s") from None
        except OSError as error:
            raise KernelError(f"{kernel.path}: cannot be run: {one_line(error.strerror)}") from None
        seconds = time.monotonic() - started
        try:
            told = json.loads((folder / "told.json").read_text())
        except (OSError, ValueError):
            lines = done.stdout.strip().splitlines()
            last = why_it_ended(lines) or one_line(" / ".join(lines[-3:])) or "it said nothing"
            raise KernelError(f"{kernel.path}: does not start: {last}") from None
    check = BootCheck(seconds=seconds, **told)
    _require_obedience(kernel, check)
    return check


def _require_obedience(kernel: Kernel, check: BootCheck) -> None:
    if not 1000 <= check.slept < 1001:
        raise KernelError(f"{kernel.path}: its clock is not virtual: a sleep of 1000 s took {check.slept} s")
    if "random-seed" in kernel.patches and not check.repeats:
        raise KernelError(f"{kernel.path}: the same seed gave different random numbers")


def _write_init(folder: Path) -> Path:
    """A first process: this Python, with flags that keep it from reading or writing any file of a user."""
    program = folder / "check.py"
    put(program, (files("rexmit.kernel") / "data" / "check.py").read_text())
    (folder / "sys").mkdir()
    init = folder / "init"
    # A shebang takes one argument and no blank in the path: the shell passes on both.
    put(init, f'#!/bin/sh\nexec "{sys.executable}" -ISB "{program}" "{folder}"\n', mode=0o755)
    return init
