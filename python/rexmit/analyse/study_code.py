"""The comparison of a study of the package: Python beside its files, called by `rexmit compare`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from rexmit.analyse.compare import Comparison
from rexmit.errors import StudyError
from rexmit.run import Results
from rexmit.study import list_studies

CompareFunction = Callable[[Sequence[Results]], Comparison]


def comparison_of(results: Results) -> CompareFunction:
    """The function `compare(list of results) -> Comparison` of the study that gave these results.

    It stands in a package beside the study's file that is named as its folder, `-` written as `_`
    (`studies/hurtig-2006/hurtig_2006`). Nothing is run of a study that does not come with this package.
    Raises StudyError where the study has none.
    """
    folder = _folder_of(results)
    package = folder.name.replace("-", "_")
    path = folder / package / "__init__.py"
    if not path.is_file():
        raise StudyError(f"{results.name}: has no published numbers to compare with")
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


def _folder_of(results: Results) -> Path:
    """The folder of the package's study of this name.

    Only of the package: results come from anywhere, and must not choose what code is run. And only of those
    whose source is the publication that the folder is named after.
    """
    published = [entry for entry in list_studies() if entry.source.startswith(entry.path.parent.name)]
    for entry in published:
        if entry.name == results.name:
            return entry.path.parent
    raise StudyError(
        f"{results.name}: has no published numbers to compare with; those that have: "
        + ", ".join(entry.name for entry in published)
    )
