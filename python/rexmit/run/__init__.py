"""Running studies: backends, the results folder, resume, provenance, captures."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rexmit.run.backends import Backend, open_backend
    from rexmit.run.merge import merge_results
    from rexmit.run.results import Results, open_results
    from rexmit.run.runner import RunOptions, run_study

__all__ = ["Backend", "Results", "RunOptions", "merge_results", "open_backend", "open_results", "run_study"]

_HOMES = {
    "Backend": "backends",
    "Results": "results",
    "RunOptions": "runner",
    "merge_results": "merge",
    "open_backend": "backends",
    "open_results": "results",
    "run_study": "runner",
}
"""Where each name comes from: loaded when it is used, because tables take long to load."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
