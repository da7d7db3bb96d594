"""Figures of publication quality: time-sequence graphs of captures, and the figures of studies.

Static files only (SVG, PNG, PDF), drawn without a display and the same to the byte for the same input.
"""

from __future__ import annotations

from rexmit.plot.style import Theme, save
from rexmit.plot.tsg import draw

__all__ = ["Theme", "draw", "save"]
