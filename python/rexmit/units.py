"""Quantities of the scenario as numbers, for axes and for arithmetic.

The native code is the one reader of units; this asks it.
"""

from __future__ import annotations

from collections.abc import Sequence

from rexmit import _native


def as_numbers(labels: Sequence[object]) -> tuple[str, list[int]] | None:
    """The labels of a factor as whole numbers and their unit, or None where they are no rate or time.

    Rates come in bit/s with the unit `bit_s`, times in nanoseconds with the unit `ns`.
    """
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    texts = [str(label) for label in labels]
    for unit, parse in (("bit_s", _native.parse_rate), ("ns", _native.parse_duration)):
        try:
            return unit, [parse(text) for text in texts]
        except ValueError:
            continue
    return None
