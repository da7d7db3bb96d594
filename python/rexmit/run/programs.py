"""Programs at the hosts of a study's runs, on a real kernel: in a guest for each run, or on this machine."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rexmit.errors import StudyError
from rexmit.files import put
from rexmit.kernel import Kernel
from rexmit.run.guests import Reach, guests_command

MEMORY = "512M"
"""Memory of a guest; what is not touched costs nothing, but the more there is, the later it starts."""

IN_GUEST = Path("/run/rexmit")
"""Where programs in a guest have their temporary folders: in the guest's memory."""

_PASSED_ON = ("PATH", "HOME")
"""What programs have of this process's environment; all else would make a run depend on who runs it."""

_EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def place_of(
    scenario: Mapping[str, Any], temporary: Path, guest: bool, captures: Iterable[Path]
) -> dict[str, Any]:
    """What the native code is told of the programs of a run. `temporary` is a folder for what they write.

    `captures` are the folders that captures go to.
    """
    about = scenario.get("programs", {})
    own = sys.platform == "linux" and os.geteuid() != 0 and not guest
    return {
        "folder": about.get("folder", str(Path.cwd())),
        "temporary": str(temporary),
        "environment": {name: os.environ[name] for name in _PASSED_ON if name in os.environ},
        "user": [os.geteuid(), os.getegid()] if own else None,
        "contained": not guest,
        "writable": sorted({*about.get("writable", []), *map(str, captures)}),
        "elsewhere": about.get("elsewhere", "read-only"),
    }


def start_of(scenario: Mapping[str, Any]) -> int:
    """What the clock of a guest shows first, ns since 1970. Raises StudyError for an invalid date."""
    given = scenario.get("programs", {}).get("date")
    when = _EPOCH
    if given is not None:
        try:
            when = datetime.fromisoformat(str(given))
        except ValueError:
            raise StudyError(
                f'programs.date: {given!r} is not a time; allowed: such as "2026-07-01T12:00" (UTC)'
            ) from None
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
    if not _FIRST <= when <= _LAST:
        raise StudyError(f"programs.date: {given!r}: the kernel counts from 1970 to 2200")
    return int((when - _FIRST) / timedelta(microseconds=1)) * 1000


def guest_of_each(kernel: Kernel, job: Path, folder: Path, writable: tuple[Path, ...]) -> list[str]:
    """The command of an agent that runs each run of a job in a guest of its own."""
    jobs: list[tuple[Path, int]] = []
    places: list[Path] = []
    for number, run in enumerate(json.loads(job.read_text())["runs"]):
        own, scenario = folder / f"run-{number}.json", run["own"]["scenario"]
        put(own, json.dumps({"runs": [run]}))
        jobs.append((own, start_of(scenario)))
        places += map(Path, scenario.get("programs", {}).get("writable", []))
    reach = Reach(tuple(dict.fromkeys([*writable, *places])))
    return guests_command(kernel, jobs, folder, reach, MEMORY)
