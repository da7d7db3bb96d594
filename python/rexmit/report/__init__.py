"""What people are shown: figures and pages of results folders, and what an analysis of captures found."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rexmit.report.figures import draw_figures
    from rexmit.report.runs import RunsOptions
    from rexmit.report.write import ReportOptions, write_report

__all__ = ["ReportOptions", "RunsOptions", "draw_figures", "write_report"]

_HOMES = {
    "ReportOptions": "write",
    "RunsOptions": "runs",
    "draw_figures": "figures",
    "write_report": "write",
}
"""Where each name comes from: loaded when it is used, because drawing takes long to load."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
