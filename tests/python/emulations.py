"""What tests of `rexmit emulate` share: its command, its processes, and what it may not leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .conftest import commands, processes

REXMIT = [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", "emulate"]


@contextmanager
def emulating(mark: str, sleepers: int, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """An emulation, once so many of its programs run, `sleep MARK1` and so on; killed at the end."""
    line = [*REXMIT, "-q", *arguments]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True) as emulation:
        until = time.monotonic() + 30
        while sum(f"sleep\0{mark}{n}\0" in commands() for n in range(1, sleepers + 1)) < sleepers:
            assert time.monotonic() < until, "it does not start"
            time.sleep(0.05)
        try:
            yield emulation
        finally:
            emulation.kill()


@contextmanager
def nothing_left() -> Iterator[None]:
    """Afterwards there is no other process of ours, interface or namespace than before."""
    before = machine()
    yield
    until = time.monotonic() + 10
    while (left := machine() - before) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def machine() -> set[str]:
    """Interfaces that we make, and processes of emulations with their namespaces."""
    found = {f"interface {link.name}" for link in Path("/sys/class/net").iterdir() if "rexmit" in link.name}
    for process in processes():
        try:
            emulated = b"REXMIT_EMULATION=" in (process / "environ").read_bytes()
            space = os.readlink(process / "ns/net")
        except OSError:
            continue
        if emulated:
            found |= {f"process {process.name}", f"namespace {space}"}
    return found


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return sorted(int(one) for one in text.split())
