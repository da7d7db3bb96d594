"""The code of the package's studies: Python beside their files, which compares and draws."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from rexmit.analyse.compare import Comparison
from rexmit.analyse.reached import compare_reached
from rexmit.errors import RexmitError, StoreError, StudyError, UsageError, one_line
from rexmit.run import Results
from rexmit.run.store import decisive, first_difference
from rexmit.study import list_studies
from rexmit.study.find import PACKAGED

CompareFunction = Callable[[Sequence[Results]], Comparison]


def check_parts(results: Sequence[Results]) -> None:
    """Raises UsageError where two of these results are of the same part of a study: one would not count.

    The line names both and the first setting in which they differ, the same in whatever order they come.
    """
    by_name: dict[str, list[Results]] = {}
    for one in sorted(results, key=lambda one: str(one.folder)):
        by_name.setdefault(one.name, []).append(one)
    for name, (first, *others) in by_name.items():
        if others:
            second = others[0]
            found = first_difference(decisive(first.study), decisive(second.study))
            what = f"{second.folder} differs from it: {found}" if found else "with the same settings"
            raise UsageError(
                f"{first.folder} and {second.folder}: both hold {name}, {what}; name one of the two, or join "
                "runs of other seeds with rexmit merge"
            )


class UnfitError(StoreError):
    """Results have the name of a study of the package, but its code cannot read them; `why` is a line."""

    def __init__(self, results: Sequence[Results], error: Exception) -> None:
        self.why = f"{type(error).__name__}: {one_line(error)}"
        folders = ", ".join(str(one.folder or one.name) for one in results)
        name = results[0].name
        super().__init__(f"{folders}: cannot be read as results of {name} ({self.why}); run the study again")


@contextmanager
def own_code(results: Sequence[Results]) -> Iterator[None]:
    """Runs the code of a study, which takes results of its own study for granted: these may be anybody's.

    Raises UnfitError, of one line, for whatever it trips over.
    """
    try:
        yield
    except RexmitError:
        raise
    except Exception as error:
        raise UnfitError(results, error) from error


def comparison_of(results: Results) -> CompareFunction:
    """The function `compare(list of results) -> Comparison` of the study that gave these results.

    It stands in the study's own package (:func:`study_module`). What it says rests upon runs whose patterns
    met packets, as :func:`compare_reached` has it. Raises StudyError where the study has none.
    """
    folder = _folder_of(results)
    if not has_module(folder.name):
        package = f"{_package(folder.name)}/__init__.py"
        raise StudyError(
            f"{folder.name}: {package} with `compare` is missing; without it nothing is compared"
        )
    compare: CompareFunction = study_module(folder.name).compare
    return _of_reached(compare)


def has_module(study: str, module: str = "__init__") -> bool:
    """Whether a study of the package (`hurtig-2006`) has this module in a package of its own."""
    return (PACKAGED / study / _package(study) / f"{module}.py").is_file()


def study_module(study: str, module: str = "") -> Any:
    """The package of a study that comes with rexmit (`hurtig-2006`), or a module of that package.

    It stands beside the study's files and is named as their folder, `-` written as `_`
    (`studies/hurtig-2006/hurtig_2006`): `compare` in `__init__.py`, `draw` in `figures.py`. Nothing is loaded
    of a study that does not come with this package. Raises StudyError where there is no such module.
    """
    if study not in {entry.path.parent.name for entry in list_studies()} or not has_module(study):
        raise StudyError(f"{study}: has no code of its own")
    name = f"rexmit_study_{_package(study)}"
    if name not in sys.modules:
        _load(name, PACKAGED / study / _package(study))
    return importlib.import_module(f"{name}.{module}") if module else sys.modules[name]


def _load(name: str, package: Path) -> None:
    """Imports the package in a folder under this name."""
    spec = importlib.util.spec_from_file_location(
        name, package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        told = f"{type(error).__name__}: {one_line(error)}"
        raise StudyError(f"{package / '__init__.py'}: cannot be loaded: {told}") from error
    except BaseException:
        del sys.modules[name]
        raise


def _package(study: str) -> str:
    return study.replace("-", "_")


@cache
def _of_reached(compare: CompareFunction) -> CompareFunction:
    """One function for each study, so that results of one study are known by it."""
    return partial(compare_reached, compare)


def _folder_of(results: Results) -> Path:
    """The folder of the package's study of this name.

    Only of the package: results come from anywhere, and must not choose what code is run. And only of those
    whose source is the publication that the folder is named after.
    """
    published = [entry for entry in list_studies() if entry.source.startswith(entry.path.parent.name)]
    for entry in published:
        if entry.name == results.name:
            return entry.path.parent
    studies = sorted({entry.path.parent.name for entry in published})
    raise StudyError(
        f"{results.name}: has no published numbers to compare with; those that have: {', '.join(studies)}; "
        "two results folders are compared by `rexmit diff A B`"
    )
