"""Quantities of the scenario as numbers, for axes and for arithmetic; and numbers of things in words.

The native code reads rates and times; this module asks it. For amounts of data it offers Python no reader.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from rexmit import _native

UNIT_NAMES = ("bit_s", "ns")
"""Units of rates and of times, as the names of columns end."""

NANOSECONDS = {"us": 1e3, "ms": 1e6, "s": 1e9}
"""Units of times that no column uses, and how many nanoseconds they have."""


def as_numbers(labels: Sequence[object]) -> tuple[str, list[int]] | None:
    """The labels of a factor as whole numbers and their unit, or None where they are not rates or times.

    Rates come in bit/s with the unit `bit_s`, times in nanoseconds with the unit `ns`.
    """
    if not labels or not all(isinstance(label, str) for label in labels):
        return None
    texts = [str(label) for label in labels]
    for unit, parse in zip(UNIT_NAMES, (_native.parse_rate, _native.parse_duration), strict=True):
        try:
            return unit, [parse(text) for text in texts]
        except ValueError:
            continue
    return None


def parse_bytes(text: str) -> int:
    """An amount of data such as `64 KiB`, in bytes, read as a scenario reads it.

    Raises ValueError of one line for what is not one, or not a whole number of bytes.
    """
    found = _BYTES.fullmatch(text.strip())
    if found is None or found[2] not in _BYTE_UNITS:
        known = ", ".join(unit for unit in _BYTE_UNITS if unit not in ("byte", "B"))
        raise ValueError(f"{text!r} is not an amount of data such as '64 KiB'; units: {known}")
    count = Fraction(found[1]) * _BYTE_UNITS[found[2]]
    if count.denominator != 1 or count > MOST_BYTES:
        raise ValueError(f"{text!r} is not a whole number of bytes that fits in 64 bits")
    return int(count)


MOST_BYTES = 2**64 - 1
_BYTES = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?)\s*(\w+)", re.ASCII)
_BYTE_UNITS = {
    "bytes": 1,
    "kB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "byte": 1,
    "B": 1,
}


def plural(number: int, noun: str, many: str | None = None) -> str:
    """Such as `1 connection` or `3 connections`."""
    return f"{number:,} {noun if number == 1 else many or noun + 's'}"
