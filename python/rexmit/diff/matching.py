"""Which runs of two results folders belong together, and what else differs between the folders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from rexmit.errors import UsageError
from rexmit.run import Results
from rexmit.run.added import added_columns
from rexmit.run.backends import is_real_time
from rexmit.run.columns import SEED_COLUMNS, design_columns
from rexmit.run.record import design_of
from rexmit.tables import responses
from rexmit.units import plural

LEVELS_NAMED = 4
"""How many of the levels that only one folder has are named; the others are counted."""


def _usual_units() -> dict[str, str | None]:
    """The units of the responses that every study has."""
    return {name: column.unit for name, column in responses().items()}


@dataclass(frozen=True)
class Matched:
    """The runs of both folders side by side.

    `frame` has the factors, `replication` and then the responses of both folders: NAME of the first and
    NAME_after of the second. With `paired` a row holds the same run under the same random numbers; otherwise
    its two runs are unrelated, and only means over replications can be compared.
    """

    frame: pl.DataFrame
    factors: Sequence[str]
    responses: Sequence[str]
    paired: bool
    units: Mapping[str, str | None] = field(default_factory=_usual_units)

    @property
    def numbers(self) -> list[str]:
        """Names of the responses that are numbers, or true and false."""
        schema = self.frame.schema
        return [name for name in self.responses if schema[name].is_numeric() or schema[name] == pl.Boolean]

    @property
    def differs(self) -> pl.Expr:
        """Whether anything differs, for each run."""
        return pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_after")) for name in self.responses)


def match(before: Results, after: Results, *, only_common: bool) -> Matched:
    """The runs with the same levels and replication.

    Raises UsageError where the designs differ, naming factors and levels; with `only_common` what both have
    is taken, as long as there is any, and as long as they have the same factors.
    """
    check_designs(before, after, only_common=only_common)
    left, right = before.table(), after.table()
    factors = list(before.factors)
    keys = [*factors, "replication", *(name for name in SEED_COLUMNS if name in left.columns)]
    if missing := [name for name in keys if name not in right.columns]:
        raise UsageError(
            f"{_where(after)}: has no column {missing[0]}, by which runs of the other are told apart"
        )
    own = {*design_columns(left.columns), *design_columns(right.columns)}
    both = [name for name in left.columns if name not in own and name in right.columns]
    casts = [name for name in keys if left.schema[name] != right.schema[name]]
    left, right = (frame.with_columns(pl.col(casts).cast(pl.String)) for frame in (left, right))
    frame = left.select(*keys, *both).join(
        right.select(*keys, *both), on=keys, how="inner", suffix="_after", maintain_order="left"
    )
    if frame.is_empty():
        raise UsageError(f"{_where(before)} and {_where(after)}: have no run in common")
    return Matched(frame, factors, both, _is_paired(before, after), _units(before))


def _units(results: Results) -> dict[str, str | None]:
    """The units of responses: of those that every study has, and of the study's own."""
    schema = results.arrow().schema
    own = [*results.study.get("responses", {}), *added_columns(schema)]
    told = {name: schema.field(name).metadata or {} for name in own if name in schema.names}
    return _usual_units() | {name: _text(one.get(b"unit")) for name, one in told.items()}


def _text(given: bytes | None) -> str | None:
    return None if given is None else given.decode(errors="replace")


def check_designs(before: Results, after: Results, *, only_common: bool) -> None:
    """Raises UsageError naming the factors, levels or runs that one design lacks."""
    where = f"{_where(before)} and {_where(after)}"
    ours, theirs = (
        {one.name: one.labels for one in design_of(results.study).factors} for results in (before, after)
    )
    only = [[name for name in a if name not in b] for a, b in ((ours, theirs), (theirs, ours))]
    if any(only):
        told = "; ".join(
            f"only {_where(results)} varies {', '.join(names)}"
            for results, names in zip((before, after), only, strict=True)
            if names
        )
        raise UsageError(f"{where} have different designs: {told}")
    if only_common:
        return
    for name, labels in ours.items():
        for results, lacking in (
            (before, [one for one in labels if one not in theirs[name]]),
            (after, [one for one in theirs[name] if one not in labels]),
        ):
            if lacking:
                shown = ", ".join(map(str, lacking[:LEVELS_NAMED]))
                more = f" and {len(lacking) - LEVELS_NAMED} more" if len(lacking) > LEVELS_NAMED else ""
                raise UsageError(
                    f"{where} have different designs: only {_where(results)} has {name} = {shown}{more}; "
                    "compare what both have with --only-common"
                )
    if len(before) != len(after):
        raise UsageError(
            f"{where} have {plural(len(before), 'run')} and {plural(len(after), 'run')}; compare what both "
            "have with --only-common"
        )


def different_settings(before: Results, after: Results) -> list[str]:
    """What the two systems are told differently, a line each, factors apart: `path.rate: 1 -> 2`."""
    parts = ("scenario", "factors", "backend", "kernel", "hash", "seed", "seeds", "replications")
    old, new = ({key: results.study.get(key) for key in parts} for results in (before, after))
    return [line.removeprefix("scenario.") for line in _differences(old, new, "")]


def _differences(before: Any, after: Any, name: str) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _differences(before.get(key), after.get(key), f"{name}.{key}" if name else str(key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for at, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differences(one, other, f"{name}.{at}")
    elif before != after:
        yield f"{name}: {_words(before)} -> {_words(after)}"


def _words(value: Any) -> str:
    text = (
        "absent" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    )
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_paired(before: Results, after: Results) -> bool:
    """Whether runs with the same number draw the same random numbers, and would be the same on one system."""
    studies = (before.study, after.study)
    if any(is_real_time(str(study["backend"])) for study in studies):
        return False
    return studies[0].get("seed") == studies[1].get("seed") and studies[0].get("seeds") == studies[1].get(
        "seeds"
    )


def _where(results: Results) -> str:
    return str(results.folder) if results.folder else results.name
