"""`rexmit emulate --enter`: a shell at a host of a network that another terminal emulates."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from rexmit.cli.emulate_network import prompt
from rexmit.errors import UsageError, nearest, one_line
from rexmit.run.emulation import EmulationError

_HOLDER = "REXMIT_HOLDER"
"""The variable of a process that holds a host open."""
_FROM_HERE = 'cd "$1" 2>/dev/null; shift; exec "$@"'
"""Whoever enters a namespace of mounts begins in its root."""


@dataclass(frozen=True)
class _Holder:
    """A process that holds a host of an emulation open, with its environment."""

    pid: int
    emulation: str
    network: str
    host: str
    environment: dict[str, str]


def enter_host(host: str, file: Path | None, command: Sequence[str]) -> NoReturn:
    """Becomes a shell, or the command, at a host of an emulation that runs: of that of `file`, if given.

    Raises UsageError where there is no such host, or more than one.
    """
    running = [one for one in _holders() if file is None or one.network == file.stem]
    if not running and "REXMIT_HOST" in os.environ:
        raise UsageError(f"--enter {one_line(host)}: this is inside an emulation; use a terminal outside it")
    if not running:
        of = "a network" if file is None else str(file)
        raise UsageError(f"--enter {one_line(host)}: no emulation of {of} is running that you may enter")
    found = [one for one in running if one.host == host]
    if not found:
        raise UsageError(
            f"--enter {one_line(host)}: no such host in a running emulation"
            f"{nearest(host, {one.host for one in running})}"
        )
    if len(found) > 1:
        networks = ", ".join(sorted(one.network for one in found))
        raise UsageError(
            f"--enter {host}: {len(found)} emulations have such a host ({networks}): name the file of one, "
            "and end others of the same file"
        )
    (one,) = found
    if (nsenter := shutil.which("nsenter")) is None:
        raise EmulationError("--enter: there is no `nsenter` here; it is a part of util-linux")
    own = {
        key: one.environment[key] for key in one.environment if key.startswith("REXMIT_") and key != _HOLDER
    }
    environment = {**os.environ, **own}
    words = list(command)
    if not words:
        words = [os.environ.get("SHELL", "/bin/sh")]
        environment |= prompt(f"{one.network} {host}")
    # In its PID namespace, so that all of it ends with the emulation.
    user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
    into = [nsenter, f"--target={one.pid}", *user, "--net", "--mount", "--pid", "--"]
    os.execve(nsenter, [*into, "sh", "-c", _FROM_HERE, "sh", os.getcwd(), *words], environment)


def _holders() -> Iterator[_Holder]:
    """The processes that hold hosts open, as far as this one may look at them."""
    for process in Path("/proc").iterdir():
        if not process.name.isdecimal():
            continue
        try:
            content = (process / "environ").read_bytes()
        except OSError:
            continue
        if f"{_HOLDER}=".encode() not in content:
            continue
        pairs = (entry.partition("=") for entry in content.decode(errors="surrogateescape").split("\0"))
        variables = {name: value for name, equals, value in pairs if equals}
        if _HOLDER in variables and "REXMIT_HOST" in variables:
            yield _Holder(
                int(process.name),
                variables.get("REXMIT_EMULATION", ""),
                variables.get("REXMIT_NETWORK", ""),
                variables["REXMIT_HOST"],
                variables,
            )
