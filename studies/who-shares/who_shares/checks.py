"""The check of each published row, by its tag."""

from __future__ import annotations

from . import of_bbr, of_pairs
from .evidence import LINUX, MODEL
from .of_pairs import Function

CHECKS: dict[str, Function] = of_pairs.checks(MODEL, "") | of_pairs.checks(LINUX, "l") | of_bbr.CHECKS
