"""The figures of a results folder: those of its publication where the study has them, else of its design."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from rexmit.analyse.study_code import own_code
from rexmit.files import make_folder
from rexmit.plot import figures
from rexmit.run import Results
from rexmit.study import list_studies

_STUDIES = "rexmit.report.studies"


def draw_figures(results: Results, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files.

    `formats` are some of `svg`, `png` and `pdf`, SVG and PNG where none is given.

    Raises UsageError where there is nothing to draw, StoreError where a file cannot be written.
    """
    make_folder(out)
    name = f"{_STUDIES}.{results.name.partition('/')[0].replace('-', '_')}"
    # Of the package's own studies alone: a name that results bring along chooses nothing else to run.
    if results.name not in {entry.name for entry in list_studies()} or find_spec(name) is None:
        return figures.draw_results(results.table(), results.factors, out, results.title, formats)
    with own_code([results]):
        files: list[Path] = import_module(name).draw(results, out, formats)
    return files
