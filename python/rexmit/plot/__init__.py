"""Figures of publication quality: graphs of captures, and the figures of studies.

Static files (SVG, PNG, PDF), drawn without a display and the same to the byte for the same input; pages with
graphs that can be moved and enlarged; files for xplot.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rexmit.plot.style import Theme, save
    from rexmit.plot.tsg import draw

__all__ = ["Theme", "draw", "save"]

_HOMES = {"Theme": "style", "draw": "tsg", "save": "style"}
"""Where each name comes from: loaded when it is used, because drawing takes long to load."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
