"""Parts of a study for several machines: which runs are in which."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rexmit.errors import UsageError

Shard = tuple[int, int]
"""Number of the part, from 1, and how many parts there are."""


def parse_shard(text: str) -> Shard:
    """The shard that `3/16` names. Raises UsageError for anything else."""
    found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text.strip(), re.ASCII)
    if found is None:
        raise UsageError(f"shard: {text!r} is not part of a whole; write 3/16 for the third of 16")
    return checked((int(found[1]), int(found[2])))


def checked(shard: Sequence[int]) -> Shard:
    """The shard, if there is such a shard. Raises UsageError where there is none."""
    if len(shard) != 2 or not all(isinstance(n, int) and not isinstance(n, bool) for n in shard):
        raise UsageError(f"shard: {shard!r} is not part of a whole; give (3, 16) for the third of 16")
    number, count = shard
    if count < 1 or not 1 <= number <= count:
        last = f"1/{count} to {count}/{count}" if count > 0 else "1/1"
        raise UsageError(f"shard: there is no {number}/{count}; shards are numbered from 1: {last}")
    return number, count


def runs_of(shard: Shard, runs: int) -> range:
    """The numbers of its runs: shards are neighbours of like size that make up the whole.

    Raises UsageError where there are more shards than runs.
    """
    number, count = shard
    if count > runs:
        raise UsageError(f"shard: {count} shards are more than the {runs} runs; take {runs} or fewer")
    return range(runs * (number - 1) // count, runs * number // count)


def shard_of(study: dict[str, Any]) -> Shard | None:
    """The shard of the study of a results folder; None for a whole one."""
    found = study.get("shard")
    return checked(found) if isinstance(found, list | tuple) else None


def told(shard: Shard) -> str:
    """`part 3 of 16`."""
    return f"part {shard[0]} of {shard[1]}"
