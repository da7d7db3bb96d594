"""The figures of a results folder: those of its publication where the study has them, else of its design."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rexmit.analyse.study_code import has_module, own_code, study_module
from rexmit.errors import UsageError
from rexmit.files import make_folder
from rexmit.plot import figures, network
from rexmit.run import Results
from rexmit.study import list_studies
from rexmit.study.words import in_words


def draw_figures(
    results: Results, out: Path, formats: Sequence[str] = (), runs: Sequence[int] = ()
) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files.

    `formats` are some of `svg`, `png` and `pdf`, SVG and PNG where none is given. `runs` are those whose
    flows are drawn over time, where connections and links were measured; the first where none is given.

    Raises UsageError where there is nothing to draw, StoreError where a file cannot be written.
    """
    if runs and not results.spec().measures:
        raise UsageError(
            f"run {runs[0]}: its flows were not measured over time; give the scenario measure.every"
        )
    for run in runs:
        if run >= len(results):
            raise UsageError(f"run {run}: {results.name} has runs 0 to {len(results) - 1}")
    make_folder(out)
    study = results.name.partition("/")[0]
    # Of the package's own studies alone: a name that results bring along chooses nothing else to run.
    if results.name not in {entry.name for entry in list_studies()} or not has_module(study, "figures"):
        found = network.draw_network(results, out, formats, runs) if results.spec().measures else []
        if found:
            return found
        words = in_words(results.factors, results.study["scenario"])
        return figures.draw_results(results.table(), words, out, results.title, formats)
    with own_code([results]):
        files: list[Path] = study_module(study, "figures").draw(results, out, formats)
    return files
