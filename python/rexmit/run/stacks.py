"""The protocol stacks that hosts can run in virtual time: the registry of the native code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from rexmit import _native

MODEL = "model"
"""The name of rexmit's own code, and of the backend on which hosts that choose nothing have it."""

LINUX = "linux"
"""The name of the kernel itself as a host's code."""

PREFIX = "stack:"
"""What the name of a backend on which they have another's begins with."""


@dataclass(frozen=True)
class Stack:
    """A stack: its name in scenarios, what it is, and what tells one build of it from another.

    `protocols` are those that it speaks, as profiles name them; `missing` says what this machine lacks for
    it, and what to do; `transmissions` whether the table of that name has its packets.
    """

    name: str
    summary: str
    version: str
    protocols: tuple[str, ...]
    missing: str | None
    transmissions: bool

    @property
    def backend(self) -> str:
        """The backend on which hosts that choose nothing have it."""
        return PREFIX + self.name


def lacking(stack: Stack) -> str | None:
    """What this machine lacks for a stack, and what to do."""
    if stack.name != LINUX:
        return stack.missing
    # Loaded where it is used: it looks for kernels.
    from rexmit.run.kernel_stacks import missing

    return missing()


@cache
def third_parties() -> dict[str, Stack]:
    """The stacks that are not rexmit's own, by their names."""
    entries: list[dict[str, Any]] = json.loads(_native.stacks())
    return {
        entry["name"]: Stack(
            name=entry["name"],
            summary=entry["summary"],
            version=entry["version"],
            protocols=tuple(entry["protocols"]),
            missing=entry["missing"],
            transmissions=entry["transmissions"],
        )
        for entry in entries
        if entry["version"] is not None
    }
