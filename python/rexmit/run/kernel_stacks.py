"""Linux as the stack of a host beside any other: how the kernels that such hosts name are booted."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.errors import RexmitError
from rexmit.kernel import Kernel, KernelError, find_kernel
from rexmit.places import temporary_folder
from rexmit.run.chosen_kernels import facts_of, named_by, of_profile, scenarios_of, written_hosts
from rexmit.run.guests import guest_environment, stepped_command
from rexmit.run.stacks import LINUX, MODEL
from rexmit.study import StudySpec

PATCH = "engine-steps"
"""The patch by which a kernel's time advances in steps."""


class KernelStacks:
    """The kernels that hosts of a study may run as their own code, made known to the native code.

    `name` is the kernel of hosts that name none, `code` the code of hosts that choose none. Raises
    KernelError, which says how to build it, for one that is not there.
    """

    def __init__(
        self, spec: StudySpec, code: str, name: str | None = None, prefer: Sequence[str] = ()
    ) -> None:
        names = {named for one in scenarios_of(spec) for named in _named_in(one, code)}
        self._kernels = provide(names, name, prefer)

    def facts(self) -> dict[str, Any]:
        """What a record says of them."""
        return {LINUX: ", ".join(one.version for one in self._kernels), **facts_of(self._kernels)}


def provide_for(scenario: Mapping[str, Any]) -> None:
    """Makes known the kernels that hosts of one scenario may run.

    Raises KernelError for one that is not there.
    """
    provide(_named_in(scenario, MODEL))


def provide(
    names: Iterable[str | None], default: str | None = None, prefer: Sequence[str] = ()
) -> list[Kernel]:
    """Makes known the kernels of these names, `default` for None. Returns all of them, each once."""
    found: dict[Kernel, None] = {}
    for name in sorted(names, key=lambda name: name or ""):
        kernel = find_kernel(name=name or default, prefer=prefer)
        if PATCH not in kernel.patches:
            raise KernelError(
                f"{kernel.path}: its clock does not go in steps, since the patch {PATCH} is missing: "
                "rebuild it with `rexmit kernel build`"
            )
        command, environment = _boot(kernel)
        _native.provide_kernel(name or "", kernel.version, command, environment)
        found[kernel] = None
    return list(found)


def missing() -> str | None:
    """What this machine lacks for such hosts; None where it has a kernel."""
    try:
        provide([None])
    except RexmitError as error:
        return str(error)
    return None


def _named_in(scenario: Mapping[str, Any], code: str) -> set[str | None]:
    """The kernels named by hosts that run one, where those that choose no code run `code`."""
    tables = {host: scenario["hosts"][host] for host in written_hosts(scenario)}

    def runs_a_kernel(table: Any) -> bool:
        chosen = table.get("code") if isinstance(table, Mapping) else None
        return of_profile(table) is not None or (chosen or code) == LINUX

    return {named_by(scenario, host) for host, table in tables.items() if runs_a_kernel(table)}


@cache
def _boot(kernel: Kernel) -> tuple[list[str], list[tuple[str, str]]]:
    """The command that boots a kernel, and what its environment has besides this process's."""
    folder = _folder()
    environment = guest_environment(folder)
    more = [(key, value) for key, value in environment.items() if os.environ.get(key) != value]
    return stepped_command(kernel, folder), more


@cache
def _folder() -> Path:
    """A folder of the guests of this process, removed when it ends."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(temporary_folder())
