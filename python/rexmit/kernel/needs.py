"""What a build needs of this machine: programs, headers, the source, room on the disk."""

from __future__ import annotations

import platform
import shutil
import sys
from pathlib import Path

from rexmit.kernel.errors import KernelError
from rexmit.kernel.versions import DEFAULT_VERSION, debian_source, installed, source_package

ROOM = 2_500_000_000
"""Bytes that a build takes for a while: measured 1.6 GB for 6.1, sources of later kernels are larger."""

_PROGRAMS = {
    "gcc": "gcc",
    "ld": "binutils",
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "tar": "tar",
    "xz": "xz-utils",
    "strip": "binutils",
}
"""Program, and the Debian package that brings it."""

_HEADERS = {
    Path("/usr/include/stdio.h"): "libc6-dev",
    Path("/usr/include/elf.h"): "libc6-dev",
}
"""Header without which the compiler has nothing to begin with, and its Debian package."""


def missing(source: Path | None = None, version: str = DEFAULT_VERSION) -> dict[str, str]:
    """What a build of `source` (None: Debian's of `version`) lacks here, each with its Debian package."""
    lacking = {name: package for name, package in _PROGRAMS.items() if shutil.which(name) is None}
    lacking |= {str(path): package for path, package in _HEADERS.items() if not path.exists()}
    if source is None and not debian_source(version).exists():
        lacking[str(debian_source(version))] = source_package(version)
    return lacking


def install_line(lacking: dict[str, str]) -> str:
    """How to have on Debian what is lacking."""
    return "apt-get install " + " ".join(sorted(set(lacking.values())))


def require_platform() -> None:
    """Raises KernelError anywhere but on Linux with x86_64: User-Mode Linux runs nowhere else."""
    system, machine = sys.platform, platform.machine()
    if system != "linux" or machine not in ("x86_64", "AMD64"):
        raise KernelError(
            f"the kernel with a virtual clock needs Linux on x86_64; this is {system} on {machine}"
        )


def require_tools(source: Path | None, version: str = DEFAULT_VERSION) -> None:
    """Raises KernelError that names every missing program with its Debian package."""
    lacking = missing(source, version)
    if lacking:
        what = ", ".join(f"{name} ({package})" for name, package in lacking.items())
        others = ""
        if str(debian_source(version)) in lacking and (here := installed()):
            others = f"; of Debian's sources {' and '.join(here)} {'is' if len(here) == 1 else 'are'} here"
        raise KernelError(
            f"a build needs what is not on this machine: {what}; on Debian: {install_line(lacking)}{others}"
        )


def require_room(folder: Path) -> None:
    """Raises KernelError where the disk of `folder` has less than `ROOM` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise KernelError(
            f"{folder}: a build needs {ROOM / 1e9:.1f} GB for a while and {free / 1e9:.1f} GB are free; "
            "free some, or name another folder in REXMIT_CACHE"
        )
