"""What a comparison can catch: wrong systems run through it, row by row.

A row that no wrong system fails says little, however near its numbers are. So each published study has a list
of systems that are wrong on purpose (`systems.py` in its own package): another threshold, a shaper without
its tick, no delayed ACKs. Each runs on the same sample of the study as the right one, through the same
comparison; a row catches a system where its verdict turns to outside.

What a row catches must not be chance: the right system runs with other seeds as well (:data:`CONTROLS`), and
a row that one of these fails counts as catching nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, Self

from rexmit.analyse.compare import (
    MEASURED,
    NOT_COVERED,
    OUTSIDE,
    RECORDED,
    TOO_WIDE,
    WITHIN,
    Check,
    Comparison,
)
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.errors import StudyError
from rexmit.inputs import PUBLISHED, read_text
from rexmit.run import Results

POWER = "power.csv"
STUDIES = ("hurtig-2006", "klaver-2005", "merritt-2010", "deboer-2005", "pedersen-2006")
"""The published studies, which have wrong systems."""
CAUGHT, KEPT = "x", "="
"""A row's mark for a system that it catches, and for one that it lets pass; empty where it is not covered."""

_JUDGED = (WITHIN, RECORDED)
"""What the right system's sample must say of a row that is to catch a wrong one."""

Settings = Mapping[str, Any]


class Part(Protocol):
    """A part of a study as it is to be run: a :class:`rexmit.Study`."""

    def set(self, name: str, value: Any, /) -> Self:
        """The same with one setting changed."""

    def run(self, *, progress: bool) -> Results:
        """Runs it."""


Change = Callable[[str, Any], Any]
"""From the name of a part and its :class:`rexmit.Study`: the wrong study."""
Load = Callable[[str], Part]
"""Such as :meth:`rexmit.Study.load`."""


@dataclass(frozen=True)
class System:
    """A system that is wrong on purpose."""

    name: str
    """Such as `min-rto-1s`."""
    what: str
    """What is wrong with it, for a page: `a least RTO of 1 s`."""
    settings: Settings = field(default_factory=dict)
    """Dotted names and values, as for `rexmit run --set`; set in every part that is run."""
    change: Change | None = None
    """What settings cannot say: makes the wrong study from the name of a part and its sample."""
    parts: Sequence[str] = ()
    """The parts in which it differs; empty: all of the sample. The others are taken from the right system."""

    def of(self, part: str, study: Part) -> Part:
        """A part of this system."""
        for name, value in self.settings.items():
            study = study.set(name, value)
        changed: Part = self.change(part, study) if self.change else study
        return changed


CONTROLS = tuple(
    System(f"seed-{seed}", f"the right system with seed {seed}", {"design.seed": seed}) for seed in (2, 3, 4)
)
"""The right system with other seeds: what fails here fails by chance."""


@dataclass(frozen=True)
class Power:
    """Which rows catch which systems."""

    study: str
    systems: Sequence[System]
    rows: Mapping[str, str]
    """The verdict of each measured row on the right system's sample, of those that can catch something."""
    marks: Mapping[str, Mapping[str, str]]
    """By system or control, and row: :data:`CAUGHT`, :data:`KEPT`, or empty."""
    untried: Mapping[str, str] = field(default_factory=dict)
    """The other measured rows, which the sample does not cover or leaves undecided, and their verdicts."""

    def caught_by(self, system: str) -> list[str]:
        """The rows that catch a system, except those that fail by chance."""
        return [
            row for row, mark in self.marks[system].items() if mark == CAUGHT and row not in self.unsteady
        ]

    @cached_property
    def unsteady(self) -> Sequence[str]:
        """The rows that the right system fails with another seed."""
        controls = [self.marks[one.name] for one in CONTROLS if one.name in self.marks]
        return [row for row in self.rows if any(marks.get(row) == CAUGHT for marks in controls)]

    @property
    def weak(self) -> list[str]:
        """Rows that catch none of the systems."""
        caught = {row for system in self.systems for row in self.caught_by(system.name)}
        return [row for row in self.rows if row not in caught]

    @property
    def caught(self) -> int:
        """How many systems at least one row catches."""
        return sum(bool(self.caught_by(system.name)) for system in self.systems)

    @property
    def caught_within(self) -> int:
        """How many systems are caught by a row within its tolerance, and so by a published value."""
        return sum(
            any(self.rows[row] == WITHIN for row in self.caught_by(system.name)) for system in self.systems
        )

    @property
    def left_out(self) -> list[str]:
        """The rows that met no wrong system, except those too wide to say anything."""
        return [row for row, verdict in self.untried.items() if verdict != TOO_WIDE]

    def text(self) -> str:
        """What came out, for a page."""
        seeds = ", ".join(one.name.removeprefix("seed-") for one in CONTROLS)
        return (
            f"{self.caught} of {len(self.systems)} wrong systems are caught, {self.caught_within} of them by "
            "a row within its tolerance, and so by a published value. "
            f"{len(self.weak)} of {len(self.rows)} rows catch none of them and are weak, among them "
            f"{len(self.unsteady)} that the right system fails as well with another seed ({seeds}). "
            f"Not judged on the sample, so that they met no wrong system: {len(self.left_out)}."
        )

    def page(self) -> str:
        """All of it for a page, as Markdown: the text, which rows it speaks of, and the table."""
        lists = {
            "Weak": self.weak,
            "Of these, outside with another seed": self.unsteady,
            "Met no wrong system": self.left_out,
        }
        told = "\n\n".join(f"{what}: {', '.join(rows) or 'none'}." for what, rows in lists.items())
        summary = "<summary>Which rows these are</summary>"
        return f"{self.text()}\n\n<details>{summary}\n\n{told}\n\n</details>\n\n{self.table()}"

    def table(self, most: int = 12) -> str:
        """Systems, how many rows catch each, and which, as a Markdown table."""
        lines = ["| wrong system | caught by | rows |\n| --- | --- | --- |\n"]
        for system in self.systems:
            rows = self.caught_by(system.name)
            more = f" and {len(rows) - most} more" if len(rows) > most else ""
            shown = ", ".join(rows[:most]) + more if rows else "**none**"
            lines.append(f"| {system.what} | {len(rows)} of {len(self.rows)} | {shown} |\n")
        return "".join(lines)

    def csv(self) -> str:
        """The marks as a table: a row of `published.csv` each, a column for each system."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = [one.name for one in (*CONTROLS, *self.systems)]
        writer.writerow(["id", "verdict", *names])
        for row, verdict in (*self.rows.items(), *self.untried.items()):
            writer.writerow([row, verdict, *(self.marks[name].get(row, "") for name in names)])
        return text.getvalue()


def systems_of(study: str) -> Sequence[System]:
    """The wrong systems of a published study (`hurtig-2006`). Raises StudyError where it has none."""
    systems: Sequence[System] = study_module(study, "systems").SYSTEMS
    names = [system.name for system in systems]
    if len(set(names)) < len(names):
        raise StudyError(f"{study}: two wrong systems have one name")
    return systems


def sample_of(study: str, load: Load) -> dict[str, Part]:
    """The parts and the sample of them on which wrong systems run: `SAMPLE` of the study's `systems.py`."""
    chosen: Mapping[str, Settings] = study_module(study, "systems").SAMPLE
    parts: dict[str, Part] = {}
    for part, settings in chosen.items():
        parts[part] = load(f"{study}/{part}")
        for name, value in settings.items():
            parts[part] = parts[part].set(name, value)
    return parts


def measure(study: str, load: Load, names: Sequence[str] = ()) -> Iterator[tuple[System | None, Comparison]]:
    """The comparison of the right system (None), then those of controls and wrong systems, or of those named.

    `load` is :meth:`rexmit.Study.load`, which stands above this module. Parts in which a system does not
    differ are run once. Raises StudyError for a name that no system has.
    """
    systems = (*CONTROLS, *systems_of(study))
    unknown = sorted(set(names) - {system.name for system in systems})
    if unknown:
        known = ", ".join(system.name for system in systems)
        raise StudyError(f"{study}: no wrong system is named {unknown[0]}; there are {known}")
    parts = sample_of(study, load)
    results = {name: part.run(progress=False) for name, part in parts.items()}
    compare = comparison_of(next(iter(results.values())))
    yield None, compare(list(results.values()))
    for system in systems:
        if names and system.name not in names:
            continue
        wrong = {name: system.of(name, parts[name]) for name in system.parts or parts}
        ours = {name: wrong[name].run(progress=False) if name in wrong else results[name] for name in parts}
        yield system, compare(list(ours.values()))


def power_of(study: str, comparisons: Sequence[tuple[System | None, Comparison]]) -> Power:
    """What :func:`measure` gave, as a table. Derived rows are left out."""
    (_, right), *wrong = comparisons
    verdicts = {
        check.published.id: check.verdict for check in right.checks if check.published.role == MEASURED
    }
    rows = {row: verdict for row, verdict in verdicts.items() if verdict in _JUDGED}
    untried = {row: verdict for row, verdict in verdicts.items() if row not in rows}
    marks = {
        system.name: {
            check.published.id: _mark(check) for check in comparison.checks if check.published.id in rows
        }
        for system, comparison in wrong
        if system is not None
    }
    systems = [system for system, _ in wrong if system is not None and system not in CONTROLS]
    return Power(study, systems, rows, marks, untried)


def read_power(study: str, folder: Path) -> Power:
    """What is stored in `power.csv` of a study's folder.

    Raises StudyError where it does not have the study's wrong systems.
    """
    path = folder / POWER
    lines = list(csv.reader(io.StringIO(read_text(path, PUBLISHED), newline="")))
    systems = systems_of(study)
    names = [one.name for one in (*CONTROLS, *systems)]
    head = ["id", "verdict", *names]
    if not lines or lines[0] != head or any(len(line) != len(head) for line in lines):
        raise StudyError(f"{path}: lacks the columns of the study's wrong systems; run make power")
    judged = [line for line in lines[1:] if line[1] in _JUDGED]
    marks = {name: {line[0]: line[at] for line in judged} for at, name in enumerate(names, 2)}
    rows = {line[0]: line[1] for line in judged}
    return Power(study, systems, rows, marks, {line[0]: line[1] for line in lines[1:] if line[0] not in rows})


def _mark(check: Check) -> str:
    if check.verdict == NOT_COVERED:
        return ""
    return CAUGHT if check.verdict == OUTSIDE else KEPT
