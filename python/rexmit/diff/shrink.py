"""The smallest scenario in which two systems still part in the same way.

Whatever can be left out of a scenario is left out as long as the first difference stays of its kind: a
setting, a transfer, a loss, half of the data. Each round tries every single step on both systems at once, and
then as many of those that kept the difference as can be taken together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rexmit import _native
from rexmit.diff.pairs import Pair, compare
from rexmit.diff.systems import Scenario, System, ran_on_both
from rexmit.errors import StudyError
from rexmit.run.backends import to_json
from rexmit.run.capture import HOSTS
from rexmit.study.settings import get_setting, with_setting

ROUNDS = 12
"""Rounds after which a scenario counts as small enough."""

Step = Callable[[Scenario], "dict[str, Any] | None"]
"""Makes a scenario smaller; None where there is nothing to leave out."""


def shrink(scenario: Scenario, pair: Pair, systems: tuple[System, System]) -> tuple[dict[str, Any], Pair]:
    """A scenario that is no larger, and how the systems part in it: at the same level, of the same kind.

    The scenario keeps its number, by which its random numbers are drawn.
    """
    best, found = dict(scenario), pair
    for _ in range(ROUNDS):
        steps = list(_steps(best))
        tried = _same_kind([step(best) for step in steps], pair, systems)
        kept = [steps[at] for at in tried]
        if not kept:
            return best, found
        together = [best]
        for step in kept:
            together.append(step(together[-1]) or together[-1])
        left = _same_kind(together[1:], pair, systems)
        if left:
            best, found = together[1:][max(left)], left[max(left)]
        else:
            best, found = kept[0](best) or best, tried[min(tried)]
    return best, found


def _same_kind(
    scenarios: Sequence[Scenario | None], pair: Pair, systems: tuple[System, System]
) -> dict[int, Pair]:
    """Which of these still part as `pair` does, by their places."""
    wanted = {at: one for at, one in enumerate(scenarios) if one is not None and _is_right(one)}
    found: dict[int, Pair] = {}
    while wanted:
        try:
            for at, one in compared(wanted, pair.number, systems).items():
                if (one.level, one.kind) == (pair.level, pair.kind):
                    found[at] = one
            return found
        except StudyError as error:
            # What no host can be told is left out, as its number in the line says.
            named = re.search(r"(?:run|scenario) (\d+): ", str(error))
            if named is None or int(named[1]) not in wanted:
                raise
            del wanted[int(named[1])]
    return found


def compared(
    scenarios: Mapping[int, Scenario], number: int, systems: tuple[System, System]
) -> dict[int, Pair]:
    """How the systems part in each of these, all with the random numbers of the scenario of this number."""
    with ran_on_both(systems, scenarios, key=number) as (left, right):
        return {at: compare(number, left[at], right[at]) for at in scenarios}


def _is_right(scenario: Scenario) -> bool:
    try:
        _native.resolve(to_json(scenario))
    except ValueError:
        return False
    return True


def _steps(scenario: Scenario) -> Iterator[Step]:
    """Every single thing that can be left out."""
    transfers = scenario.get("transfers", [])
    for at in range(len(transfers) if len(transfers) > 1 else 0):
        yield _without_entry(at)
    for at, transfer in enumerate(transfers):
        for key in transfer:
            if key not in ("from", "to"):
                yield _without(f"transfers.{at}.{key}")
        for key in ("bulk", "writes"):
            yield _halved(f"transfers.{at}.{key}")
    for key in scenario:
        if key not in ("hosts", "path", "transfers"):
            yield _without(key)
    for host in HOSTS:
        for part in ("linux.sysctl", "linux", "stack", ""):
            where = f"hosts.{host}.{part}".rstrip(".")
            found = get_setting(dict(scenario), where)
            for key in found if isinstance(found, Mapping) else ():
                if key not in ("stack", "inherits"):
                    yield _without_key(where, str(key))
    for where in ("path.down", "path.up", "path"):
        found = get_setting(dict(scenario), where)
        for key, value in found.items() if isinstance(found, Mapping) else ():
            # On a path without any, everything happens at one instant.
            if key not in ("rate", "delay"):
                yield _without(f"{where}.{key}")
            if key == "drop" and isinstance(value, str) and "," in value:
                for loss in value.split(","):
                    yield _with(f"{where}.{key}", ",".join(one for one in value.split(",") if one != loss))


def _without(name: str) -> Step:
    where, _, key = name.rpartition(".")
    return _without_key(where, key)


def _without_key(where: str, key: str) -> Step:
    """Leaves out a key, which may have dots in it."""

    def step(scenario: Scenario) -> dict[str, Any] | None:
        table = get_setting(dict(scenario), where) if where else scenario
        if not isinstance(table, Mapping) or key not in table:
            return None
        left = {name: value for name, value in table.items() if name != key}
        return with_setting(dict(scenario), where, left) if where else left

    return step


def _without_entry(at: int) -> Step:
    def step(scenario: Scenario) -> dict[str, Any] | None:
        transfers = scenario.get("transfers", [])
        if len(transfers) < 2 or at >= len(transfers):
            return None
        return {**scenario, "transfers": [one for place, one in enumerate(transfers) if place != at]}

    return step


def _with(name: str, value: Any) -> Step:
    return lambda scenario: with_setting(dict(scenario), name, value)


def _halved(name: str) -> Step:
    """Half of an amount of data, or of a list of writes."""

    def step(scenario: Scenario) -> dict[str, Any] | None:
        value = get_setting(dict(scenario), name)
        if not isinstance(value, str):
            return None
        if "," in value:
            writes = value.split(",")
            return with_setting(dict(scenario), name, ",".join(writes[: len(writes) // 2]).strip())
        amount = re.fullmatch(r"(\d+) bytes", value)
        if amount is None or int(amount[1]) < 2:
            return None
        return with_setting(dict(scenario), name, f"{int(amount[1]) // 2} bytes")

    return step
