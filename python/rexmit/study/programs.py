"""Programs at the hosts of a study: where they begin, and whether there are any."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rexmit.errors import StudyError
from rexmit.study.factors import Factor
from rexmit.study.settings import Table

_VARIED = re.compile(r"hosts\.[^.]+\.program(\..+)?")


def have_programs(scenario: Table, factors: tuple[Factor, ...] | list[Factor] = ()) -> bool:
    """Whether a host of a scenario, or of one of a study's runs, has a program."""
    hosts = scenario.get("hosts")
    own = isinstance(hosts, dict) and any(
        isinstance(host, dict) and "program" in host for host in hosts.values()
    )
    names = [name for factor in factors for name in (factor.settings or (factor.name,))]
    varied = any(_VARIED.fullmatch(name) for name in names)
    return own or varied


def place_programs(scenario: Table, factors: list[Factor], folder: Path) -> Table:
    """The scenario with the folder that its programs start in, and absolute paths of those they may write to.

    `folder` is the study's, from which relative paths start. Raises StudyError for one that is not there.
    """
    if not have_programs(scenario, factors):
        return scenario
    for name in (name for factor in factors for name in (factor.settings or (factor.name,))):
        if name in ("programs", "programs.folder", "programs.writable"):
            raise StudyError(f"vary.{name}: where programs begin and write is the same in all runs")
    given = scenario.get("programs", {})
    if not isinstance(given, dict):
        return scenario
    begins = _whole(given.get("folder", "."), folder, "programs.folder")
    placed: dict[str, Any] = {**given, "folder": begins}
    if isinstance(given.get("writable"), list):
        placed["writable"] = [_whole(path, Path(begins), "programs.writable") for path in given["writable"]]
    return {**scenario, "programs": placed}


def _whole(path: object, folder: Path, key: str) -> str:
    if not isinstance(path, str):
        raise StudyError(f"{key}: {path!r} is not a folder")
    whole = (folder / Path(path).expanduser()).resolve()
    if not whole.is_dir():
        raise StudyError(f"{key}: {whole}: there is no such folder")
    return str(whole)
