"""Guests: the command that starts an agent as the first process of a kernel with a virtual clock."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rexmit.kernel import Kernel, boot_command

MEMORY = "256M"
"""Memory of a guest; what is not touched costs nothing."""


_FAST = Path("/dev/shm")
_ROOM = 2 << 30


def guest_environment(folder: Path) -> dict[str, str]:
    """The environment of the command: it says where a guest's memory lies, a file that has no name any more.

    That is where files are memory themselves, if there is room and code may be run from it, else `folder`.
    """
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
    memory: str = MEMORY,
    seed: int = 0,
    start_ns: int = 0,
    name: str | None = None,
) -> list[str]:
    """The command that boots `kernel` with `agent` as its first process.

    `folder` is for what it needs beside; its kernel's management console is `uml/NAME/mconsole` in it. `seed`
    is that of its random numbers until an agent sets another, `start_ns` what its clock shows first.
    """
    init = folder / "init"
    # A shebang takes one argument and no blank in the path: the shell passes on all.
    init.write_text(f"#!/bin/sh\nexec {shlex.join(agent)}\n")
    init.chmod(0o755)
    extra = [f"uml_dir={folder / 'uml'}", *([f"umid={name}"] if name else [])]
    return boot_command(kernel, init, seed=seed, memory=memory, start=start_ns, extra=extra)
