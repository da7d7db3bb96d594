"""`rexmit diff` of two systems: scenarios on both, kinds of differences, the smallest case of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import polars as pl

from rexmit.cli.common import print_json
from rexmit.cli.diff_show import markdown, print_sheets
from rexmit.diff.matching import Matched
from rexmit.diff.pages import PAGE, as_json, cluster_words, state_words, summary, write_found
from rexmit.diff.search import Case, Found, search, smallest_cases
from rexmit.diff.sheets import Sheet, failing_sheet
from rexmit.diff.systems import System
from rexmit.diff.thresholds import Broken, Threshold, broken
from rexmit.errors import UsageError
from rexmit.run.progress import shown_progress
from rexmit.study import draw_scenario, load_spec
from rexmit.study.profiles import inline_stacks
from rexmit.study.traces import place_traces
from rexmit.units import plural

DRAWN = 200
"""Scenarios where nobody says how many."""

CLUSTERS_SHOWN = 15
CHANGES_SHOWN = 4


@dataclass(frozen=True)
class Asked:
    """What the command was asked: which scenarios, how many smallest cases, where files go."""

    scenarios: int | None
    seed: int | None
    family: str | None
    study: str | None
    cases: int
    out: Path | None
    thresholds: Sequence[Threshold]


def diff_systems(names: tuple[str, str], asked: Asked, *, as_markdown: bool, json: bool) -> int:
    """Compares two systems, prints what differs, and returns the exit code."""
    one, other = map(System.parse, names)
    scenario_of, total, about = _scenarios(asked, (one, other))
    with shown_progress() as report:
        told = report or (lambda *_: None)
        found = search((one, other), ((n, scenario_of(n)) for n in range(total)), total, told)
        if asked.cases:
            found = smallest_cases(found, scenario_of, asked.cases, told)
    failing = broken(asked.thresholds, _table_of(found))
    page = write_found(found, asked.out, about) if asked.out else None
    if json:
        print_json({**as_json(found), "failing": [one.row() for one in failing]})
        return 1 if failing else 0
    sheets = list(_sheets(found, failing))
    if as_markdown:
        click.echo(markdown(summary(found), sheets), nl=False)
    else:
        for name, system in zip("AB", found.systems, strict=True):
            click.echo(f"{name}  {system.text}: {system.describe()}")
        click.echo()
        print_sheets(sheets)
        click.echo(summary(found))
    if page is not None:
        click.echo(f"page: {page}", err=as_markdown)
    return 1 if failing else 0


def _scenarios(
    asked: Asked, systems: tuple[System, System]
) -> tuple[Callable[[int], Mapping[str, Any]], int, str]:
    """A scenario by its number, how many there are, and what they are."""
    if asked.study is not None:
        given = {"--scenarios": asked.scenarios, "--seed": asked.seed, "--family": asked.family}
        if wrong := [name for name, value in given.items() if value is not None]:
            raise UsageError(f"{wrong[0]} says what is drawn; with --study nothing is drawn")
        spec = load_spec(asked.study)
        if spec.has_programs:
            raise UsageError(
                f"--study {asked.study}: its hosts run programs, which are not compared packet by packet; "
                "run it on both systems (`rexmit run --kernel`), and compare the two folders"
            )
        total = spec.design.runs
        return (
            lambda number: place_traces(inline_stacks(spec.scenario_of(number), Path()), Path()),
            total,
            f"{plural(total, 'run')} of {spec.name}",
        )
    # The model knows nothing of a kernel's settings, and single losses show most.
    family = asked.family or ("tcp" if all(one.is_kernel for one in systems) else "losses")
    total, seed = asked.scenarios or DRAWN, asked.seed or 0
    draw_scenario(0, seed=seed, family=family)
    about = f"{plural(total, 'scenario')} drawn at random: family {family}, seed {seed}"
    return lambda number: draw_scenario(number, seed=seed, family=family), total, about


def _table_of(found: Found) -> Matched:
    """The rows of both systems side by side: a cell a scenario."""
    pairs = list(found.pairs.values())
    names = list(dict.fromkeys(name for pair in pairs for name in pair.rows[0] if name in pair.rows[1]))
    nested = {name for pair in pairs for name, value in pair.rows[0].items() if isinstance(value, list)}
    plain = [name for name in names if name not in nested]
    rows = [
        {"scenario": pair.number, "differs": False, "differs_after": pair.level is not None}
        | {name: pair.rows[0].get(name) for name in plain}
        | {f"{name}_after": pair.rows[1].get(name) for name in plain}
        for pair in pairs
    ]
    return Matched(
        pl.DataFrame(rows, infer_schema_length=None), ["scenario"], ["differs", *plain], paired=True
    )


def _sheets(found: Found, failing: Sequence[Broken]) -> Iterator[Sheet]:
    clusters = found.clusters
    rows = [[*cluster_words(one), str(one.pairs[0].number)] for one in clusters[:CLUSTERS_SHOWN]]
    left = len(clusters) - len(rows)
    heads = ["scenarios", "what differs", "first difference", "time", "sent again", "such as"]
    below = f"and {plural(left, 'more kind')}, all in {PAGE} with --out DIR" if left else ""
    if rows:
        yield Sheet("kinds of differences, of B against A", heads, rows, below)
    for number, case in enumerate(found.cases, start=1):
        yield _case(number, case)
    if failing:
        yield failing_sheet(failing)


def _case(number: int, case: Case) -> Sheet:
    lines = [f"scenario {case.drawn}, reduced as far as possible: {_words(case.scenario)}"]
    if case.pair.first is not None:
        first = case.pair.first
        lines += [f"{name}: {text}" for name, text in zip("AB", first.texts, strict=True)]
    changes = case.mechanism.changes if case.mechanism else ()
    if changes:
        told = "; ".join(map(state_words, changes[:CHANGES_SHOWN]))
        lines.append(f"before it: {told}")
    return Sheet(f"case {number}: {case.cluster.kind}", [], [[line] for line in lines])


def _words(value: Any) -> str:
    """A scenario in a line, as TOML would have it inline."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_words(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_words, value))}]"
    return str(value).lower() if isinstance(value, bool) else repr(value).replace("'", '"')
