"""Guests: the command that starts an agent as the first process of a kernel with a virtual clock."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rexmit.kernel import Kernel, boot_command

MEMORY = "256M"
"""Memory of a guest; what is not touched costs nothing."""


def guest_command(kernel: Kernel, agent: Sequence[str], folder: Path) -> list[str]:
    """The command that boots `kernel` with `agent` as its first process.

    `folder` is for what it needs beside.
    """
    init = folder / "init"
    # A shebang takes one argument and no blank in the path: the shell passes on all.
    init.write_text(f"#!/bin/sh\nexec {shlex.join(agent)}\n")
    init.chmod(0o755)
    return boot_command(kernel, init, memory=MEMORY, extra=[f"uml_dir={folder / 'uml'}"])
