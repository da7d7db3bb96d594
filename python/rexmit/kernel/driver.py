"""The driver that lets a library of the host run inside the kernel: C, which every build takes in.

It is part of a kernel: its licence is the kernel's or rexmit's, as the reader chooses (`driver/README.md`).
"""

from __future__ import annotations

from importlib.resources import files

PATCH = "engine-start"
"""The patch by which a kernel starts it."""

_PLACE = "arch/um/drivers"
_NAMES = ("interface.c", "kern.c", "steps.c", "user.c", "wait.c")
_FILES = ("rexmit.h", *(f"rexmit_{name}" for name in _NAMES))


def driver_files() -> dict[str, str]:
    """Its files, by their names in a kernel's source."""
    return {f"{_PLACE}/{name}": (files("rexmit.kernel") / "driver" / name).read_text() for name in _FILES}


def driver_text() -> str:
    """The text of all its files."""
    return "\0".join(driver_files().values())
