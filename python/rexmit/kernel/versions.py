"""Versions by name: `6.12` names Debian's source of that version, and kernels that were built from one."""

from __future__ import annotations

import re
from pathlib import Path

from rexmit.errors import UsageError

VERSIONS = ("6.1", "6.12")
"""Versions whose sources are known to fit all patches and options; the first is built where none is named."""

DEFAULT_VERSION = VERSIONS[0]

SOURCES = Path("/usr/src")
"""Where Debian's packages put the kernel's sources."""


def debian_source(version: str = DEFAULT_VERSION) -> Path:
    """The archive that Debian's package of this version's source installs."""
    return SOURCES / f"{source_package(version)}.tar.xz"


def source_package(version: str = DEFAULT_VERSION) -> str:
    """The name of that package."""
    return f"linux-source-{version}"


def version_of_source(path: Path) -> str | None:
    """The version whose Debian source this is; None for any other file."""
    found = re.fullmatch(r"linux-source-(\d+\.\d+)\.tar\.xz", path.name)
    return found[1] if found and path.parent == SOURCES else None


def installed() -> list[str]:
    """The versions whose Debian sources are on this machine, the oldest first."""
    found = map(version_of_source, SOURCES.glob("linux-source-*.tar.xz"))
    return sorted((version for version in found if version), key=_numbers)


def check_version(version: str) -> None:
    """Raises UsageError for what can be no name of Debian's source, such as 6.12.117."""
    if not re.fullmatch(r"\d+\.\d+", version):
        raise UsageError(
            f"version: {version!r} names no source of Debian: write two numbers, such as "
            f"{' or '.join(installed() or VERSIONS)}"
        )


def is_of(version: str, name: str) -> bool:
    """Whether a kernel of this version, such as 6.12.117, is one that `name` means: 6.12, or all of it."""
    return version == name or version.startswith((f"{name}.", f"{name}-"))


def build_line(version: str | None = None, hz: int | None = None) -> str:
    """The command that builds Debian's source of this version, such as 6.12, with so many ticks."""
    named = "" if version in (None, DEFAULT_VERSION) else f" --version {version}"
    return f"rexmit kernel build{named}{'' if hz is None else f' --hz {hz}'}"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in version.split(".")]
