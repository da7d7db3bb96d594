"""What a report says, before it is HTML, Markdown or a PDF."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from rexmit.analyse.compare import NOT_COVERED, OUTSIDE, RECORDED, TOO_WIDE, WITHIN, Check, Comparison
from rexmit.analyse.reached import unreached_of
from rexmit.analyse.study_code import UnfitError, comparison_of, own_code
from rexmit.errors import RexmitError, StudyError, one_line
from rexmit.plot import style
from rexmit.plot.figures import OPEN_MARKS, OPEN_MEANING, readable
from rexmit.report.answer import HEADS, answer_of
from rexmit.report.figures import answer_figure, draw_figures
from rexmit.report.testbed import Facts, provenance_facts, testbed_facts
from rexmit.report.why import WHY, why_lines
from rexmit.run import Results
from rexmit.units import plural


@dataclass(frozen=True)
class Picture:
    """A figure: `name` is of its file, `caption` and `note` what people read, `svg` the drawing."""

    name: str
    caption: str
    svg: str
    note: str = ""


@dataclass(frozen=True)
class FactorRow:
    """A factor and its levels as people read them."""

    name: str
    levels: Sequence[str]


@dataclass(frozen=True)
class CheckRow:
    """A published number beside ours."""

    id: str
    quantity: str
    published: str
    ours: str
    difference: str
    tolerance: str
    verdict: str
    notes: Sequence[str]


@dataclass(frozen=True)
class Sheet:
    """A table of texts with its title ("" for none), and a line below it; without heads it is only lines."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    below: str = ""


@dataclass(frozen=True)
class Told:
    """The answer: a sentence, others, its pictures, and tables of what it rests upon."""

    headline: str
    more: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    sheets: Sequence[Sheet] = ()


@dataclass
class Document:
    """A report of one study. Texts are plain."""

    name: str
    title: str
    question: str
    source: str
    description: str
    runs: str
    factors: list[FactorRow]
    testbed: list[Facts]
    provenance: list[Facts]
    pictures: list[Picture]
    counts: str
    """How the comparison ends, in a line; empty where nothing is published."""
    checks: list[CheckRow]
    not_covered: list[str]
    notices: list[str] = field(default_factory=list)
    """Where this is not the whole study, or not a current one: shown first."""
    no_figures: str = ""
    """Why there are none."""
    unreached: str = ""
    """Of runs in which a pattern met no packet; empty where there are none."""
    answer: Told | None = None
    """What the report opens with."""


def every_picture(document: Document) -> list[Picture]:
    """The pictures of the answer, and the others."""
    return [*(document.answer.pictures if document.answer else ()), *document.pictures]


def document_of(results: Results, notices: Sequence[str] = (), notes: bool = True) -> Document:
    """What a report of these results says. `notes` adds to each published number the reason of its tolerance.

    What cannot be had (a figure, the comparison, provenance) is left out, with a notice.
    """
    told = list(notices)
    provenance = _provenance(results, told)
    unreached = unreached_of(results)
    pictures, why = _pictures(results, told)
    comparison = _comparison(results, told)
    checks = [] if comparison is None else list(comparison.checks)
    return Document(
        name=results.name,
        title=results.title,
        question=str(results.study.get("question", "")),
        source=str(results.study.get("source", "")),
        description=str(results.study.get("description", "")),
        runs=_runs(results),
        factors=[
            FactorRow(factor.name, [readable(label) for label in factor.labels])
            for factor in results.spec().design.factors
        ],
        testbed=testbed_facts(results),
        provenance=provenance_facts(results, provenance),
        pictures=pictures,
        counts="" if comparison is None else counts_text(comparison),
        checks=[_check(check, notes) for check in checks if check.verdict != NOT_COVERED],
        not_covered=[check.published.id for check in checks if check.verdict == NOT_COVERED],
        notices=told,
        no_figures=why,
        unreached="" if unreached is None else unreached.text,
        answer=told_answer(results, why=True),
    )


def told_answer(results: Results, *, pictures: bool = True, why: bool = False) -> Told | None:
    """The answer, with its figure where `pictures` are asked for; None where there is none.

    `why` adds what held the senders of its runs back, for which these may be run again.
    """
    found = answer_of(results)
    if found is None:
        return None
    drawn = []
    if pictures and found.effects and found.quantity is not None:
        x, second = found.effects[0].factor, found.second
        with style.styled(style.LIGHT):
            sheet = answer_figure(found, found.quantity, [results.title])
        name = found.quantity.words.removeprefix("the ")
        caption = f"{name[:1].upper()}{name[1:]} over {found.words[x]}: mean over all other levels"
        if found.effects[0].interval is not None:
            caption += ", with its 95 % interval"
        if second is not None:
            caption += f"; thin: each level of {found.words[second]}"
        drawn.append(picture_of(sheet, "answer-figure", f"{caption}."))
    sheets = [Sheet("", HEADS, found.rows)] if len(found.effects) > 1 else []
    if why and (lines := why_lines(results, found)):
        sheets.insert(0, Sheet(WHY, [], [[line] for line in lines]))
    return Told(found.headline, found.more, drawn, sheets)


def picture_of(figure: Figure, name: str, caption: str) -> Picture:
    """A figure in a report."""
    with tempfile.TemporaryDirectory() as work, warnings.catch_warnings(), style.styled(style.LIGHT):
        warnings.simplefilter("ignore")
        (file,) = style.save(figure, Path(work) / name, ("svg",))
        return Picture(name, caption, _inline(file))


def counts_text(comparison: Comparison) -> str:
    """How many numbers lie within their tolerance, outside, and so on."""
    counts = comparison.counts()
    return ", ".join(f"{counts[one]} {one}" for one in (WITHIN, TOO_WIDE, RECORDED, OUTSIDE) if counts[one])


def words(name: str) -> str:
    """The name of a figure's file as words: its number in the publication, if it has one, and the rest."""
    number, rest = re.fullmatch(r"(?:figure-(\d+-\d+)-)?(.*)", name).groups()  # type: ignore[union-attr]
    text = rest.replace("-", " ").replace("kbit s", "kbit/s")
    text = text[:1].upper() + text[1:]
    return text if number is None else f"{'.'.join(str(int(n)) for n in number.split('-'))} {text}"


def _runs(results: Results) -> str:
    design = results.spec().design
    told = f"{len(results):,}"
    parts = [f"{plural(len(factor.levels), 'level')} of {factor.name}" for factor in design.factors]
    if design.replications > 1:
        parts.append(f"{design.replications} replications")
    told = f"{told}: {' x '.join(parts)}" if parts else told
    return told if design.sequence is None else f"{told}, {design.sequence}"


def _provenance(results: Results, notices: list[str]) -> dict[str, Any]:
    if results.folder is None:
        return {}
    try:
        return results.provenance()
    except RexmitError as error:
        notices.append(f"What ran the study is not known: {error}")
        return {}


def _pictures(results: Results, notices: list[str]) -> tuple[list[Picture], str]:
    try:
        with tempfile.TemporaryDirectory() as work, warnings.catch_warnings():
            # matplotlib's own remarks are of no use to readers of the page.
            warnings.simplefilter("ignore")
            with own_code([results]):
                files = draw_figures(results, Path(work), ("svg",))
            return [_picture(file) for file in files], ""
    except UnfitError as error:  # a part of its runs, those of another version, or a stranger's
        notices.append(f"The study's figures could not be drawn from these results ({error.why}).")
        return [], ""
    except RexmitError as error:
        return [], one_line(error)


def _comparison(results: Results, notices: list[str]) -> Comparison | None:
    try:
        compare = comparison_of(results)
        with own_code([results]):
            return compare([results])
    except UnfitError as error:
        notices.append(f"Published numbers could not be compared with these results ({error.why}).")
        return None
    except StudyError:
        return None


def _check(check: Check, notes: bool) -> CheckRow:
    published = check.published
    recorded = published.deviation_reason if check.verdict == RECORDED else ""
    reasons = [check.note, recorded]
    if notes and published.tolerance_reason:
        reasons.insert(1, f"tolerance: {published.tolerance_reason}")
    return CheckRow(
        id=published.id,
        quantity=published.what,
        published=f"{published.value} {published.unit}".strip() if published.value else "holds",
        ours=check.ours,
        difference="" if check.shown_difference is None else f"{check.shown_difference:+.3g}",
        tolerance=f"±{published.tolerance}" if published.tolerance else "",
        verdict=check.verdict,
        notes=[reason for reason in reasons if reason],
    )


def _picture(file: Path) -> Picture:
    svg = _inline(file)
    return Picture(file.stem, words(file.stem), svg, OPEN_MEANING if f'id="{OPEN_MARKS}-' in svg else "")


def _inline(file: Path) -> str:
    """The drawing without its XML head, which has no place inside HTML."""
    text = file.read_text(encoding="utf-8")
    return text[text.index("<svg") :]
