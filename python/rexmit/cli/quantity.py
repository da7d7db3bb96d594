"""Quantities with their units as options: `--rtt "200 ms"`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click
from click.core import Context, Parameter

from rexmit import _native
from rexmit.errors import one_line
from rexmit.units import parse_bytes

if TYPE_CHECKING:
    _Type = click.ParamType[float]
else:
    _Type = click.ParamType


class Quantity(_Type):
    """A text with a unit, read exactly or refused; the number is in the unit that `read` gives."""

    def __init__(self, name: str, read: Callable[[str], float]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> Any:
        """The number, or click's error that names the option."""
        if not isinstance(value, str):
            return value
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(one_line(error), param, ctx)


def _probability(text: str) -> float:
    number = text.strip()
    try:
        return float(number.removesuffix("%")) / 100 if number.endswith("%") else float(number)
    except ValueError:
        raise ValueError(f"{text!r} is not a share such as 0.01 or '1 %'") from None


RATE = Quantity("rate", _native.parse_rate)
"""In bit/s."""

TIME = Quantity("time", lambda text: _native.parse_duration(text) / 1e9)
"""In seconds."""

BYTES = Quantity("bytes", parse_bytes)
"""In bytes."""

SHARE = Quantity("share", _probability)
"""A number, or per cent."""
