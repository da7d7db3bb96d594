"""The driver that lets a library of the host run inside the kernel: C, which every build takes in.

It is part of a kernel: its licence is the kernel's or rexmit's, as the reader chooses (`driver/README.md`).
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from rexmit.files import put

PATCH = "engine-start"
"""The patch by which a kernel starts it."""

_PLACE = Path("arch/um/drivers")
_FILES = ("rexmit.h", "rexmit_interface.c", "rexmit_kern.c", "rexmit_user.c")


def driver_text() -> str:
    """The text of all its files."""
    return "\0".join(_read(name) for name in _FILES)


def add_driver(tree: Path) -> None:
    """Puts its files into the source in `tree`."""
    for name in _FILES:
        put(tree / _PLACE / name, _read(name))


def _read(name: str) -> str:
    return (files("rexmit.kernel") / "driver" / name).read_text()
