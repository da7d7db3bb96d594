"""Arguments of formulas: turned into arrays, refused outside the domain by one line that names them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rexmit.errors import ModelError

Floats = NDArray[np.float64]
"""What formulas give: an array of the shape of the arguments, or one number (NumPy's) for plain numbers."""


LEAST_LOSS = 1e-15
"""The least loss rate that is taken: well below it 1 - p is 1 in floating point, and PFTK divides by 0."""


def loss_rate(name: str, value: ArrayLike, most: float = 1.0) -> Floats:
    """Loss rates, 0 < value <= most, of at least `LEAST_LOSS`."""
    wanted = f"at least {LEAST_LOSS:g} and at most {most:g}"
    return _checked(name, value, lambda array: (array >= LEAST_LOSS) & (array <= most), wanted)


def positive(name: str, value: ArrayLike) -> Floats:
    """Finite numbers above 0: times, sizes, rates, windows."""
    return _checked(name, value, lambda array: array > 0, "above 0")


def not_negative(name: str, value: ArrayLike) -> Floats:
    """Finite numbers from 0 on."""
    return _checked(name, value, lambda array: array >= 0, "0 or more")


def between(name: str, value: ArrayLike, low: float, high: float) -> Floats:
    """Numbers strictly between two bounds."""
    wanted = f"above {low:g} and below {high:g}"
    return _checked(name, value, lambda array: (array > low) & (array < high), wanted)


def whole(name: str, value: ArrayLike, least: int) -> Floats:
    """Whole numbers from `least` on."""
    wanted = f"a whole number of at least {least}"
    return _checked(name, value, lambda array: (array >= least) & (array == np.floor(array)), wanted)


def _checked(
    name: str, value: ArrayLike, holds: Callable[[Floats], NDArray[np.bool_]], wanted: str
) -> Floats:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{name}: {value!r} is not a number; it must be {wanted}") from None
    wrong = ~(np.isfinite(array) & holds(array))
    if wrong.any():
        raise ModelError(
            f"{name}: {array[wrong].flat[0]:g} is outside the formula's domain; it must be {wanted}"
        )
    # A plain number leaves as a plain number of NumPy, so that what follows gives one, too.
    plain: Floats = array[()]
    return plain
