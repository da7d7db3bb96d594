"""The check of each published row, by its tag."""

from __future__ import annotations

from .formulas import FORMULAS
from .lines import LINES
from .phases import PHASES
from .points import POINTS

CHECKS = {**FORMULAS, **POINTS, **PHASES, **LINES}
