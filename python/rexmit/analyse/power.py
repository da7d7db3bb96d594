"""What a comparison can catch: wrong systems run through it, row by row.

A row that no wrong system fails says little, however near its numbers are. So each published study has a list
of systems that are wrong on purpose (`systems.py` in its own package): another threshold, a shaper without
its tick, no delayed ACKs. Each runs on the same sample of the study as the right one, through the same
comparison; a row catches a system where its verdict turns to outside.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, Self

from rexmit.analyse.compare import MEASURED, NOT_COVERED, OUTSIDE, RECORDED, WITHIN, Check, Comparison
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.errors import StudyError
from rexmit.inputs import PUBLISHED, read_text
from rexmit.run import Results

POWER = "power.csv"
STUDIES = ("hurtig-2006", "klaver-2005", "merritt-2010", "deboer-2005", "pedersen-2006")
"""The published studies, which have wrong systems."""
CAUGHT, KEPT = "x", "="
"""A row's mark for a system that it catches, and for one that it lets pass; empty where it is not covered."""

Settings = Mapping[str, Any]


class Part(Protocol):
    """A part of a study as it is to be run: a :class:`rexmit.Study`."""

    def set(self, name: str, value: Any, /) -> Self:
        """The same with one setting changed."""

    def run(self, *, progress: bool) -> Results:
        """Runs it."""


Change = Callable[[str, Any], Any]
"""Of the name of a part and the :class:`rexmit.Study` that it is: the wrong study."""
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
    """What settings cannot say: makes the wrong study of the name of a part and its sample."""
    parts: Sequence[str] = ()
    """The parts in which it differs; empty: all of the sample. The others are taken from the right system."""

    def of(self, part: str, study: Part) -> Part:
        """A part of this system."""
        for name, value in self.settings.items():
            study = study.set(name, value)
        changed: Part = self.change(part, study) if self.change else study
        return changed


@dataclass(frozen=True)
class Power:
    """Which rows catch which systems."""

    study: str
    systems: Sequence[System]
    rows: Mapping[str, str]
    """The verdict of each measured row on the right system's sample, of those that it covers."""
    marks: Mapping[str, Mapping[str, str]]
    """By system and row: :data:`CAUGHT`, :data:`KEPT`, or empty."""

    def caught_by(self, system: str) -> list[str]:
        """The rows that catch a system."""
        return [row for row, mark in self.marks[system].items() if mark == CAUGHT]

    def catches(self, row: str) -> int:
        """How many systems a row catches."""
        return sum(marks.get(row) == CAUGHT for marks in self.marks.values())

    @property
    def weak(self) -> list[str]:
        """Rows that catch none of the systems."""
        return [row for row in self.rows if not self.catches(row)]

    @property
    def caught(self) -> int:
        """How many systems at least one row catches."""
        return sum(bool(self.caught_by(system.name)) for system in self.systems)

    def text(self) -> str:
        """One sentence for a page."""
        return (
            f"{self.caught} of {len(self.systems)} wrong systems are caught; {len(self.weak)} of "
            f"{len(self.rows)} rows catch none of them and are weak."
        )

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
        writer.writerow(["id", "verdict", *(system.name for system in self.systems)])
        for row, verdict in self.rows.items():
            writer.writerow([row, verdict, *(self.marks[system.name][row] for system in self.systems)])
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
    """The comparison of the right system (None), then that of each wrong one, or of those named.

    `load` is :meth:`rexmit.Study.load`, which stands above this module. Parts in which a system does not
    differ are run once. Raises StudyError for a name that no system has.
    """
    systems = systems_of(study)
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
    rows = {
        check.published.id: check.verdict
        for check in right.checks
        if check.published.role == MEASURED and check.verdict in (WITHIN, RECORDED)
    }
    marks = {
        system.name: {
            check.published.id: _mark(check) for check in comparison.checks if check.published.id in rows
        }
        for system, comparison in wrong
        if system is not None
    }
    return Power(study, [system for system, _ in wrong if system is not None], rows, marks)


def read_power(study: str, folder: Path) -> Power:
    """What is stored in `power.csv` of a study's folder.

    Raises StudyError where it is not of the study's wrong systems.
    """
    path = folder / POWER
    lines = list(csv.reader(io.StringIO(read_text(path, PUBLISHED), newline="")))
    systems = systems_of(study)
    head = ["id", "verdict", *(system.name for system in systems)]
    if not lines or lines[0] != head or any(len(line) != len(head) for line in lines):
        raise StudyError(f"{path}: has not the columns of the study's wrong systems; run make power")
    rows = {line[0]: line[1] for line in lines[1:]}
    marks = {system.name: {line[0]: line[at] for line in lines[1:]} for at, system in enumerate(systems, 2)}
    return Power(study, systems, rows, marks)


def _mark(check: Check) -> str:
    if check.verdict == NOT_COVERED:
        return ""
    return CAUGHT if check.verdict == OUTSIDE else KEPT
