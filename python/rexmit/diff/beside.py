"""A report of two results folders: what differs in words and pictures, side by side, then both testbeds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from rexmit.analyse.influence import effects
from rexmit.analyse.quantities import quantity
from rexmit.diff.changes import Changes, diff_results
from rexmit.diff.matching import different_settings
from rexmit.diff.sheets import SETTINGS_SHOWN, sheets_of, summary
from rexmit.diff.words import change_of, interval_of
from rexmit.errors import UsageError
from rexmit.plot import style
from rexmit.plot.effect import Panel, Quantity, draw_effect
from rexmit.report.answer import Answer, answer_of, candidates, counted
from rexmit.report.document import Document, Picture, Sheet, Told, document_of, picture_of
from rexmit.report.testbed import Facts
from rexmit.run import Results
from rexmit.study.words import in_words

MOST_PICTURES = 4
"""Responses that have a figure."""

MOST_CELLS = 10
"""Cells of the response that changed most, in its table."""


def document_of_two(before: Results, after: Results, notices: Sequence[str] = ()) -> Document:
    """What a report of two folders says.

    Of one design they are compared cell by cell. Others, such as two studies, stand side by side: the answer
    of each, figures with one axis where both have the factor and the response, and settings that differ.
    """
    names = names_of(before, after)
    first, second = (document_of(one) for one in (before, after))
    whole = f"{names[0]} beside {names[1]}"
    told = _told(before, after, names)
    return replace(
        first,
        name=whole,
        title=first.title if first.title == second.title else f"{first.title} beside {second.title}",
        question=first.question if first.question == second.question else "",
        source=first.source if first.source == second.source else "",
        description=first.description if first.description == second.description else "",
        runs=f"{first.runs.partition(':')[0]} and {second.runs.partition(':')[0]}",
        testbed=_both(first.testbed, second.testbed, names),
        provenance=_both(first.provenance, second.provenance, names),
        pictures=_alternating(first.pictures, second.pictures, names),
        counts="",
        checks=[],
        not_covered=[],
        notices=[*notices, *dict.fromkeys([*first.notices, *second.notices])],
        no_figures=first.no_figures if first.no_figures == second.no_figures else "",
        unreached=" ".join(dict.fromkeys(filter(None, (first.unreached, second.unreached)))),
        answer=told,
    )


def _told(before: Results, after: Results, names: tuple[str, str]) -> Told:
    try:
        return _compared(diff_results(before, after), names)
    except UsageError as error:
        why = str(error).partition("; compare what both have")[0]
    if before.name == after.name:
        try:
            told = _compared(diff_results(before, after, only_common=True), names)
            return replace(told, more=[*told.more, f"Only runs that both have are compared ({why})."])
        except UsageError:
            pass
    return _beside(before, after, names, why)


def names_of(before: Results, after: Results) -> tuple[str, str]:
    """What the two are called: by their folders, as far as these differ."""
    folders = [one.folder or Path(one.name) for one in (before, after)]
    short = [folder.resolve().name for folder in folders]
    if short[0] != short[1]:
        return short[0], short[1]
    return str(folders[0]), str(folders[1])


def _compared(changes: Changes, names: tuple[str, str]) -> Told:
    """Of one design: what changed, the response with the largest first."""
    words = in_words(changes.factors, changes.before.study["scenario"])
    frames = [counted(one)[0] for one in (changes.before, changes.after)]
    known = _common(changes.before, changes.after)
    changed = set(changes.totals["response"].to_list())
    # The table of changes has no row for what is derived from the runs.
    wanted = [one for one in known if one.column in changed] or known[:1]
    sheets = [
        # How the command of a comparison shows more is of no use here.
        Sheet(sheet.title, sheet.heads, sheet.rows, sheet.below.partition(": --")[0])
        for sheet in sheets_of(changes, [], [], MOST_CELLS)
        if sheet.title != "settings that differ"
    ]
    return Told(
        _headline(changes, wanted, names),
        [f"{summary(changes)[:1].upper()}{summary(changes)[1:]}."],
        _pictures(frames, wanted[:MOST_PICTURES], changes.factors, words, names),
        [_settings(changes.settings), *sheets],
    )


def _headline(changes: Changes, wanted: Sequence[Quantity], names: tuple[str, str]) -> str:
    rows = {row["response"]: row for row in changes.totals.iter_rows(named=True)}
    told = []
    for one in wanted:
        row = rows.get(one.column)
        if row is None or row["before"] is None or row["after"] is None:
            continue
        bounds = interval_of(row["low"], row["high"], row["before"], one.unit)
        sure = f", 95 % interval {bounds}" if row["low"] is not None and row["low"] != row["high"] else ""
        told.append(
            f"{one.words} is {quantity(row['after'], one.unit)} in {names[1]} and "
            f"{quantity(row['before'], one.unit)} in {names[0]} "
            f"({change_of(row['before'], row['after'], one.unit)}{sure})"
        )
    if not told:
        return f"Nothing differs between {names[0]} and {names[1]}, as far as both have it."
    return f"Over all runs {'; '.join(told[:2])}."


def _beside(before: Results, after: Results, names: tuple[str, str], why: str) -> Told:
    """Of different designs: the answer of each."""
    answers = [answer_of(one) for one in (before, after)]
    lines = [
        f"{name}: {answer.headline}" if answer else f"{name}: no run of it counts."
        for name, answer in zip(names, answers, strict=True)
    ]
    more = [f"They are not compared run by run ({why})."]
    pictures: list[Picture] = []
    factors = [name for name in before.factors if name in after.factors]
    if factors and all(answers):
        frames = [counted(one)[0] for one in (before, after)]
        words = in_words(factors, before.study["scenario"])
        wanted = _common(before, after)[:MOST_PICTURES]
        pictures = _pictures(frames, wanted, factors, words, names)
    return Told(" ".join(lines), more, pictures, [_settings(different_settings(before, after))])


def _common(before: Results, after: Results) -> list[Quantity]:
    """Responses that both have, those that an answer would be about first."""
    ours, theirs = (candidates(one, counted(one)[0]) for one in (before, after))
    have = {one.column for one in theirs}
    return [one for one in ours if one.column in have]


def _settings(lines: Sequence[str]) -> Sheet:
    rows = [[line] for line in lines[:SETTINGS_SHOWN]]
    left = len(lines) - len(rows)
    below = f"and {left} more" if left else "" if rows else "None: the same settings, seed and backend."
    return Sheet("Settings that differ", [], rows, below)


def _pictures(
    frames: Sequence[pl.DataFrame],
    wanted: Sequence[Quantity],
    factors: Sequence[str],
    words: dict[str, str],
    names: tuple[str, str],
) -> list[Picture]:
    """A figure for each response: both side by side over the factor that moves it most, on one axis."""
    pictures: list[Picture] = []
    for one in wanted:
        found = [effects(frame, factors, one.column) for frame in frames]
        strongest = next((each for each in found if each), None)
        if strongest is None:
            continue
        x = strongest[0].factor
        second = Answer("", [], strongest, one, frames[0], words).second
        panels = [Panel(frame, name) for frame, name in zip(frames, names, strict=True)]
        plain = one.words.removeprefix("the ")
        title = f"{plain[:1].upper()}{plain[1:]} over {words[x]}"
        with style.styled(style.LIGHT):
            sheet = draw_effect(panels, x, second, one, words, [title])
        caption = f"{title}: {names[0]} on the left, {names[1]} on the right, on one axis."
        pictures.append(picture_of(sheet, f"beside-{len(pictures) + 1}", caption))
    return pictures


def _both(first: Sequence[Facts], second: Sequence[Facts], names: tuple[str, str]) -> list[Facts]:
    """Facts of both: once where they are the same."""
    same = [one for one in first if one in second]
    return [
        *same,
        *(
            replace(one, title=f"{one.title} ({name})")
            for name, facts in zip(names, (first, second), strict=True)
            for one in facts
            if one not in same
        ),
    ]


def _alternating(
    first: Sequence[Picture], second: Sequence[Picture], names: tuple[str, str]
) -> list[Picture]:
    """The figures of both studies, those of one name after each other."""
    ours, theirs = ({one.name: one for one in pictures} for pictures in (first, second))
    return [
        replace(one, name=f"{name}-{letter}", caption=f"{one.caption} ({whose})")
        for name in dict.fromkeys([*ours, *theirs])
        for letter, whose, pictures in (("a", names[0], ours), ("b", names[1], theirs))
        if (one := pictures.get(name)) is not None
    ]
