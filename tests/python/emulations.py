"""What tests of `rexmit emulate` share: its command, its processes, and what it may not leave behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .conftest import processes

REXMIT = [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", "emulate"]


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
