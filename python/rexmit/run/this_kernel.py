"""What a study takes from this machine's kernel on backend `kernel` without naming it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rexmit.study import Factor, StudySpec

OF_GUESTS = "cubic"
"""The congestion control of guests where nothing names another (CONFIG_DEFAULT_TCP_CONG)."""

_KEYS = (
    ("linux", "congestion"),
    ("linux", "sysctl", "net", "ipv4", "tcp_congestion_control"),
    ("stack", "congestion"),
)
"""The keys of a host that name a congestion control."""


def machine_congestion() -> str | None:
    """What this machine's kernel gives sockets that ask for no congestion control; None where it hides it."""
    try:
        return Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip() or None
    except OSError:
        return None


def unnamed_congestion(spec: StudySpec) -> list[str]:
    """A warning where connections get a congestion control of this machine that guests do not have."""
    found = machine_congestion()
    if found in (None, OF_GUESTS) or _names_congestion(spec):
        return []
    return [
        f"backend kernel: TCP has {found}, this machine's default, where nothing names a congestion control; "
        f"guests of backend uml have {OF_GUESTS}: set hosts.X.linux.congestion"
    ]


def _names_congestion(spec: StudySpec) -> bool:
    """Whether each transfer names one, or those of its hosts that send do."""
    factors, hosts = spec.design.factors, spec.scenario.get("hosts") or {}

    def of_host(name: str) -> bool:
        return any(_has(hosts, (name, *key)) or _varies(factors, ("hosts", name, *key)) for key in _KEYS)

    return all(
        _has(one, ("congestion",))
        or _varies(factors, ("transfers", str(number), "congestion"))
        or all(of_host(name) for name in _senders(one))
        for number, one in enumerate(spec.scenario.get("transfers") or ())
    )


def _senders(transfer: Mapping[str, Any]) -> list[str]:
    """The hosts that send data: for requests, both ends."""
    keys = ("from", "to") if "requests" in transfer else ("from",)
    return [str(transfer[key]) for key in keys if key in transfer]


def _has(table: Any, key: Sequence[str]) -> bool:
    """Whether a table has this key, in parts; a name with dots, like a sysctl's, may be one of its keys."""
    if not key:
        return True
    if not isinstance(table, Mapping):
        return False
    firsts = ((".".join(key[:end]), key[end:]) for end in range(1, len(key) + 1))
    return any(first in table and _has(table[first], rest) for first, rest in firsts)


def _varies(factors: Sequence[Factor], key: Sequence[str]) -> bool:
    """Whether a factor sets this key, a part of it, or a table around it that always has it."""
    wanted = ".".join(key)
    for factor in factors:
        for name in factor.settings or (factor.name,):
            if f"{name}.".startswith(f"{wanted}."):
                return True
            if wanted.startswith(f"{name}."):
                rest = wanted.removeprefix(f"{name}.").split(".")
                return all(_has(factor.assigned(level)[name], rest) for level in range(len(factor.levels)))
    return False
