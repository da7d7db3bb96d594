"""Programs as stacks of hosts: which a study has, and what they say of themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rexmit import _native
from rexmit.study import Factor, StudySpec
from rexmit.study.profiles import stacks_of
from rexmit.study.settings import Table

PROGRAM = "program"
"""The code of a host whose stack is a program."""
FAILURE = "failure"
"""Why a program does not say what it is."""
KEY = "stack_programs"
"""The key of a record that is about them."""

_VARIED = re.compile(r"hosts(\.[^.]+(\.(stack|code)(\..+)?)?)?")
_NAMED = re.compile(r"hosts\.[^.]+\.stack(\.inherits)*\.program")


def told_by_programs(spec: StudySpec) -> list[dict[str, Any]]:
    """What each program of a study is: host, command, and the name and version that it gives.

    Both are None for a program that gives none. One whose clock is led has `led`. Each is started to ask it.
    """
    return [{key: told[key] for key in told if key != FAILURE} for told in asked_programs(spec)]


def asked_programs(spec: StudySpec) -> list[dict[str, Any]]:
    """The same; one that does not start has `failure`, which says why."""
    found: dict[str, dict[str, Any]] = {}
    for scenario in _scenarios(spec):
        try:
            entries = json.loads(_native.stack_programs(json.dumps(scenario)))
        except ValueError:
            # The check of the study says what is wrong.
            continue
        for entry in entries:
            command = scenario["hosts"][entry["host"]]["stack"][PROGRAM]
            told = {
                "host": entry["host"],
                "program": _as_text(command),
                "name": entry.get("name"),
                "version": entry.get("version"),
                **({"led": True} if entry["led"] else {}),
                **({FAILURE: entry[FAILURE]} if FAILURE in entry else {}),
            }
            found[json.dumps([told["host"], command])] = told
    return list(found.values())


def _scenarios(spec: StudySpec) -> Iterator[dict[str, Any]]:
    """Run 0, and one for each level of what may name a program."""
    design = spec.design
    yield dict(spec.scenario_of(0))
    for at, factor in enumerate(design.factors):
        if _may_name_one(factor):
            for level in range(1, len(factor.levels)):
                levels = [level if other == at else 0 for other in range(len(design.factors))]
                yield dict(spec.scenario_of(design.number(levels)))


def varies_programs(spec: StudySpec) -> bool:
    """Whether its runs may have different programs as stacks."""
    return any(map(_may_name_one, spec.design.factors))


def _may_name_one(factor: Factor) -> bool:
    return any(_VARIED.fullmatch(name) for name in factor.settings or (factor.name,))


def names_programs(spec: StudySpec) -> bool:
    """Whether the stack of a host is a program in some run, by what is written alone.

    Whether a stranger's study starts programs must be known even where a scenario cannot be resolved.
    """
    stacks = stacks_of("hosts", spec.scenario.get("hosts"))
    for factor in spec.design.factors:
        for level in range(len(factor.levels)):
            for setting, value in factor.assigned(level).items():
                if _NAMED.fullmatch(setting):
                    return True
                stacks += stacks_of(setting, value)
    return any(map(_is_program, stacks))


def _is_program(stack: Any) -> bool:
    while isinstance(stack, dict):
        if PROGRAM in stack:
            return True
        stack = stack.get("inherits")
    return False


def programs_in(scenario: Table) -> str:
    """The programs that are stacks of its hosts, such as `./mine at the server`; equal where the same run."""
    found = []
    for name, host in scenario.get("hosts", {}).items():
        stack = host.get("stack") if isinstance(host, dict) else None
        if isinstance(stack, dict) and PROGRAM in stack:
            found.append(f"{_as_text(stack[PROGRAM])} at the {name}")
    return ", ".join(found)


def _as_text(command: str | list[str]) -> str:
    return command if isinstance(command, str) else " ".join(command)
