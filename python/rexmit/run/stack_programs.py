"""Programs as stacks of hosts: which a study has, and what they say of themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from rexmit import _native
from rexmit.study import StudySpec
from rexmit.study.settings import Table

PROGRAM = "program"
"""The code of a host whose stack is a program."""
FAILURE = "failure"
"""Why a program does not say what it is."""
KEY = "stack_programs"
"""What of a record is about them."""

_VARIED = re.compile(r"hosts\.[^.]+(\.(stack|code)(\..+)?)?")


def told_by_programs(spec: StudySpec) -> list[dict[str, Any]]:
    """What each program of a study is: host, command, and the name and version that it says itself.

    Both are None of a program that does not say. One whose clock is led has `led`. Each is started for it.
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
                "program": command if isinstance(command, str) else " ".join(command),
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
        if any(_VARIED.fullmatch(name) for name in factor.settings or (factor.name,)):
            for level in range(1, len(factor.levels)):
                levels = [level if other == at else 0 for other in range(len(design.factors))]
                yield dict(spec.scenario_of(design.number(levels)))


def varies_programs(spec: StudySpec) -> bool:
    """Whether its runs may have different programs as stacks."""
    settings = (name for factor in spec.design.factors for name in factor.settings or (factor.name,))
    return any(_VARIED.fullmatch(name) for name in settings)


def programs_in(scenario: Table) -> str:
    """The programs that are stacks of its hosts, such as `./mine at the server`; equal where the same run."""
    found = []
    for name, host in scenario.get("hosts", {}).items():
        stack = host.get("stack") if isinstance(host, dict) else None
        if isinstance(stack, dict) and PROGRAM in stack:
            command = stack[PROGRAM]
            found.append(f"{command if isinstance(command, str) else ' '.join(command)} at the {name}")
    return ", ".join(found)
