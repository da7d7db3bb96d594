"""The configuration of the kernel: what it must have, what it has where it can, and whether it was taken."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from rexmit.kernel.errors import KernelError

HZ_CHOICES = (100, 250, 1000)
"""Ticks a second: User-Mode Linux's own, and the two that distributions have."""

REQUIRED = "options.config"
OPTIONAL = "optional.config"


def options_text(name: str) -> str:
    """The text of one of the two lists of options, `REQUIRED` or `OPTIONAL`."""
    return (files("rexmit.kernel") / "data" / name).read_text()


def absent_options(wanted: str, config: str) -> list[str]:
    """The lines of `wanted` that the finished configuration does not have."""
    taken = set(config.splitlines())
    return [line for line in wanted.splitlines() if line.startswith("CONFIG_") and line not in taken]


def verify(config: Path, hz: int) -> list[str]:
    """Optional options that were not taken.

    Raises KernelError that names every required option which Kconfig did not take, and the rate of ticks.
    """
    text = config.read_text()
    wanted = options_text(REQUIRED) + f"CONFIG_HZ={hz}\n"
    if refused := absent_options(wanted, text):
        raise KernelError(
            f"this source does not take {', '.join(refused)}; use Debian's linux-source-6.1 or -6.12"
        )
    return [line.partition("=")[0] for line in absent_options(options_text(OPTIONAL), text)]
