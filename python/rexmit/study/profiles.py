"""Profiles given by a file: their content takes the place of its name, so that a run needs no file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from rexmit.errors import StudyError
from rexmit.inputs import PROFILE, read_toml
from rexmit.study.factors import TOGETHER, Factor
from rexmit.study.settings import Table, get_setting, with_setting

_STACK = re.compile(r"hosts\.[^.]+\.stack(\.inherits)*")
_HOST = re.compile(r"hosts\.[^.]+")


def inline_stacks(scenario: Table, folder: Path) -> Table:
    """The scenario with the content of every profile's file in place; `folder` is where names start from.

    Raises StudyError naming the setting where a file cannot be read, is not TOML or inherits from itself.
    """
    hosts = scenario.get("hosts")
    for host in hosts if isinstance(hosts, dict) else ():
        name = f"hosts.{host}.stack"
        stack = get_setting(scenario, name)
        if isinstance(stack, str | dict):
            scenario = with_setting(scenario, name, _whole_stack(stack, folder, name, ()))
    return scenario


def inline_levels(factor: Factor, folder: Path) -> Factor:
    """The factor with the content of every profile's file in its levels; the labels stay as written."""
    name = f"vary.{factor.name}"
    levels = []
    for number in range(len(factor.levels)):
        assigned = {
            setting: _whole_level(setting, value, folder, name)
            for setting, value in factor.assigned(number).items()
        }
        levels.append({TOGETHER: assigned} if factor.settings else assigned[factor.name])
    return replace(factor, levels=tuple(levels))


def stacks_of(setting: str, value: Any) -> list[Any]:
    """The stacks that a value of this setting gives to hosts: what names a profile."""
    if setting == "hosts":
        hosts = value.values() if isinstance(value, dict) else ()
        return [host["stack"] for host in hosts if isinstance(host, dict) and "stack" in host]
    if _HOST.fullmatch(setting):
        return [value["stack"]] if isinstance(value, dict) and "stack" in value else []
    return [value] if _STACK.fullmatch(setting) else []


def is_file(stack: Any) -> TypeGuard[str]:
    """Whether a stack is the name of a profile's file, and not of a profile of the package."""
    return isinstance(stack, str) and (stack.endswith(".toml") or "/" in stack)


def _whole_level(setting: str, value: Any, folder: Path, name: str) -> Any:
    if _STACK.fullmatch(setting):
        return _whole_stack(value, folder, name, ())
    if _HOST.fullmatch(setting) and isinstance(value, dict) and "stack" in value:
        return {**value, "stack": _whole_stack(value["stack"], folder, name, ())}
    return value


def _whole_stack(stack: Any, folder: Path, name: str, readers: tuple[Path, ...]) -> Any:
    """A stack with the files that it names in place, and those that these inherit from.

    Each file names others as seen from its own folder; `readers` are those that led here.
    """
    if is_file(stack):
        path = folder / stack
        if path.resolve() in readers:
            raise StudyError(f"{name}: {path} inherits from itself; name another profile there")
        return _whole_stack(_read_profile(path, name), path.parent, name, (*readers, path.resolve()))
    if isinstance(stack, dict) and "program" in stack:
        # A program begins in the folder of whoever names it, as the programs of hosts do.
        stack = {"folder": str(folder.resolve()), **stack}
    if isinstance(stack, dict) and "inherits" in stack:
        return {**stack, "inherits": _whole_stack(stack["inherits"], folder, name, readers)}
    return stack


def _read_profile(path: Path, name: str) -> Table:
    try:
        return read_toml(path, PROFILE)
    except StudyError as error:
        raise StudyError(f"{name}: {error}") from None
    except OSError as error:
        raise StudyError(f"{name}: cannot read {path}: {error.strerror}") from None
