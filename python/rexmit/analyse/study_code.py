"""A study's own comparison: Python beside its files, called by `rexmit compare`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rexmit.analyse.compare import Comparison
from rexmit.errors import StudyError
from rexmit.run import Results
from rexmit.study import find_study

CompareFunction = Callable[[Sequence[Results]], Comparison]


def comparison_of(results: Results) -> CompareFunction:
    """The function `compare(list of results) -> Comparison` of the study that gave these results.

    It stands in a package beside the study's file that is named as its folder, `-` written as `_`
    (`studies/hurtig-2006/hurtig_2006`). Raises StudyError where the study has none.
    """
    folder = study_folder(results)
    package = folder.name.replace("-", "_")
    path = folder / package / "__init__.py"
    if not path.is_file():
        raise StudyError(f"{results.name}: has no published numbers to compare with (no {path})")
    name = f"rexmit_study_{package}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, path, submodule_search_locations=[str(path.parent)]
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    compare: CompareFunction = sys.modules[name].compare
    return compare


def study_folder(results: Results) -> Path:
    """The folder of the study that gave these results: one of the package by name, else of its file."""
    try:
        return find_study(results.name)[1].parent
    except StudyError:
        file = results.study.get("file")
        if not file:
            raise
        return find_study(str(file))[1].parent
