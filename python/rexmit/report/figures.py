"""The figures of a results folder: those of its publication where the study has them, else of its design."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from rexmit.analyse.influence import effects
from rexmit.analyse.study_code import has_module, own_code, study_module
from rexmit.errors import UsageError
from rexmit.files import make_folder
from rexmit.plot import figures, network, style
from rexmit.plot.effect import MOST_LINES, Panel, Quantity, draw_effect
from rexmit.report.answer import Answer, answer_of, counted, quantity_of
from rexmit.report.responses import describe
from rexmit.report.single import draw_single
from rexmit.run import Results
from rexmit.run.added import added_columns
from rexmit.study import list_studies
from rexmit.study.words import in_words


def draw_figures(
    results: Results,
    out: Path,
    formats: Sequence[str] = (),
    runs: Sequence[int] = (),
    *,
    answer: bool = False,
) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files.

    `formats` are some of `svg`, `png` and `pdf`, SVG and PNG where none is given. `runs` are those whose
    flows are drawn over time, where connections and links were measured; the first where none is given.
    `answer` adds the figure of the answer where the others show single runs: a report has it already.

    Raises UsageError where there is nothing to draw, StoreError where a file cannot be written.
    """
    varied = any(len(factor.levels) > 1 for factor in results.spec().design.factors)
    if runs and varied and not results.spec().measures:
        raise UsageError(
            f"run {runs[0]}: its flows were not measured over time; give the scenario measure.every"
        )
    for run in runs:
        if run >= len(results):
            raise UsageError(f"run {run}: {results.name} has runs 0 to {len(results) - 1}")
    make_folder(out)
    added = draw_added(results, out, formats)
    try:
        files = _of_study(results, out, formats, runs)
        shows_runs_alone = bool(files) and all(file.name.startswith(network.FLOWS) for file in files)
        if answer and varied and shows_runs_alone and not added:
            files += draw_answer(results, out, formats)
        return [*added, *files]
    except UsageError:
        if not added:
            raise
        return added


def draw_added(results: Results, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """A figure of each column that was added: over the factor that moves it most, else over replications."""
    schema = results.arrow().schema
    files: list[Path] = []
    for name in added_columns(schema):
        frame, _ = counted(results)
        found = effects(frame, results.factors, name)
        if not found:
            continue
        words = in_words(results.factors, results.study["scenario"])
        response = quantity_of(describe(name, "number", schema))
        few = (one.factor for one in found[1:] if frame[one.factor].n_unique() <= MOST_LINES)
        with style.styled(style.LIGHT):
            title = [results.title, f"{response.words} over {words[found[0].factor]}"]
            sheet = draw_effect([Panel(frame)], found[0].factor, next(few, None), response, words, title)
            files += style.save(sheet, out / figures.file_part(name), formats)
    return files


def draw_answer(results: Results, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """The figure of the answer: the response that a factor moves, over the factor that moves it most."""
    found = answer_of(results)
    if found is None or found.quantity is None or not found.effects:
        return []
    response, x = found.quantity, found.effects[0].factor
    title = [results.title, f"{response.words.removeprefix('the ')} over {found.words[x]}"]
    with style.styled(style.LIGHT):
        sheet = answer_figure(found, response, title)
        return style.save(sheet, out / figures.file_part(response.column.replace("_", "-")), formats)


def answer_figure(found: Answer, response: Quantity, title: Sequence[str]) -> Figure:
    """The response of an answer over the factor that moves it most; in the style that is set."""
    factor = found.effects[0].factor
    return draw_effect([Panel(found.frame)], factor, found.second, response, found.words, title)


def _of_study(results: Results, out: Path, formats: Sequence[str], runs: Sequence[int]) -> list[Path]:
    study = results.name.partition("/")[0]
    # Only the package's own studies: a name in results must not choose other code to run.
    if results.name not in {entry.name for entry in list_studies()} or not has_module(study, "figures"):
        found = network.draw_network(results, out, formats, runs) if results.spec().measures else []
        if found:
            return found
        if all(len(factor.levels) < 2 for factor in results.spec().design.factors):
            alone = draw_single(results, out, formats, runs)
            if alone:
                return alone
        words = in_words(results.factors, results.study["scenario"])
        return figures.draw_results(results.table(), words, out, results.title, formats)
    with own_code([results]):
        files: list[Path] = study_module(study, "figures").draw(results, out, formats)
    return files
