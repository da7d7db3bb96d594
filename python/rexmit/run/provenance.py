"""Where results come from: what ran them, on what, when, by which command."""

from __future__ import annotations

import datetime
import os
import platform
import shlex
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.errors import StoreError
from rexmit.files import write_json
from rexmit.inputs import PROVENANCE, read_json

_PACKAGES = ("numpy", "polars", "pyarrow", "matplotlib")


def usable_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on this system
        return os.cpu_count() or 1


class Provenance:
    """The file provenance.json: facts about the machine, and one entry for each session that ran."""

    def __init__(self, path: Path, seed: int, jobs: int) -> None:
        self._path = path
        sessions = _earlier(path)
        self._session: dict[str, Any] = {
            "command": shlex.join(sys.argv),
            "started": now(),
            "ended": None,
            "jobs": jobs,
            "outcome": "started",
        }
        self._content: dict[str, Any] = {
            "seed": seed,
            **environment(),
            "sessions": [*sessions, self._session],
        }

    def begin(self) -> None:
        """Writes the file at the start of a session."""
        write_json(self._path, self._content)

    def end(self, outcome: str, **facts: Any) -> None:
        """Writes how the session ended: `finished`, `interrupted` or `failed`."""
        self._session.update(ended=now(), outcome=outcome, **facts)
        write_json(self._path, self._content)


def environment() -> dict[str, Any]:
    """Version, machine, kernel and packages, as they are now."""
    return {
        "version": metadata.version("rexmit"),
        "native_version": _native.version(),
        "git": _git_describe(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": usable_cores(),
        "system": platform.system(),
        "kernel": platform.release(),
        "packages": {name: metadata.version(name) for name in _PACKAGES},
    }


def _earlier(path: Path) -> list[Any]:
    try:
        sessions: list[Any] = read_provenance(path).get("sessions", [])
    except (OSError, StoreError):
        return []
    return sessions


def read_provenance(path: Path) -> dict[str, Any]:
    """The content of a provenance.json.

    Raises StoreError for a wrong value, naming its key; OSError where the file cannot be opened. What is told
    of the machine is for people, and may be anything.
    """
    found = read_json(path, PROVENANCE)
    if not isinstance(found, dict):
        raise StoreError(f"{path}: is not a table")
    for key in ("sessions", "sources"):
        entries = found.get(key, [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise StoreError(f"{path}: {key}: is not a list of tables")
    if not isinstance(found.get("packages", {}), dict):
        raise StoreError(f"{path}: packages: is not a table")
    return found


def now() -> str:
    """The date and time, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def _git_describe() -> str | None:
    """What git calls the checkout that this package runs from; None for an installed wheel."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--tags"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
