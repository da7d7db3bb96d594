"""Rows about the formulas alone: arithmetic without a run, derived and not counted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rexmit import models
from rexmit.analyse import Check, Published

from .evidence import Evidence

Function = Callable[[Published, Evidence], Check]
ODD, EVEN = np.arange(5.0, 200.0, 2.0), np.arange(4.0, 200.0, 2.0)


def classic(published: Published, evidence: Evidence) -> Check:
    """The constant of (2.4)."""
    return Check.of_number(published, models.MATHIS_C, "sqrt(3/2)")


def just_above_one(published: Published, evidence: Evidence) -> Check:
    """Both curves at p = 0.1."""
    odd, even = (float(f(0.1)) for f in (models.klaver_odd_window, models.klaver_even_window))
    return Check.of_statement(published, 1 < odd < even < 2, f"{odd:.2f} (odd), {even:.2f} (even)")


def pole(published: Published, evidence: Evidence) -> Check:
    """Where the denominator of (4.13) is 0, against where the even curve falls below 1."""
    at = (-18 + np.sqrt(18**2 + 4 * 48 * 9)) / (2 * 48)
    values = np.linspace(0.1, 0.28, 1801)
    even = np.array([_even(p) for p in values])
    crossing = float(values[np.flatnonzero(even < 1)[0]])
    return Check.of_statement(
        published, 0.1 < crossing < at, f"even curve below 1 from p = {crossing:.3f}, pole at {at:.3f}"
    )


def _even(p: float) -> float:
    root = np.sqrt(49 * p**2 + 24 * p)
    above = (200 * p + 84) * root - 1400 * p**2 - 1332 * p
    return float(above / (108 * p**2 + 324 * p - 108 * p * root))


def same_shape(published: Published, evidence: Evidence) -> Check:
    """How far the curves are from the classic one."""

    def apart(p: float) -> list[float]:
        curves = (models.klaver_odd_window, models.klaver_even_window)
        return [float(curve(p) / models.mathis_window(p)) - 1 for curve in curves]

    low = max(abs(x) for p in np.geomspace(1e-5, 1e-3, 21) for x in apart(float(p)))
    high = min(abs(x) for p in np.geomspace(1e-2, 1e-1, 21) for x in apart(float(p)))
    ours = f"at most {100 * low:.1f} % from 0.00001 to 0.001; at least {100 * high:.0f} % from 0.01 to 0.1"
    return Check.of_statement(published, low < 0.05 and high > 0.1, ours)


def inverse(even: bool) -> Function:
    """(4.5) or (4.6), as printed in its second line, of the p of (4.3) or (4.4)."""

    def check(published: Published, evidence: Evidence) -> Check:
        windows = EVEN if even else ODD
        n = 3 / 8 * windows**2 + (7 / 4 * windows if even else 2 * windows + 13 / 8)
        a, b = (49 / 9, 7 / 3) if even else (25 / 9, 8 / 3)
        back = np.sqrt(a + 24 / 9 * n) - b
        return Check.of_number(published, float(100 * np.max(np.abs(back / windows - 1))))

    return check


def by_p(even: bool) -> Function:
    """(4.12) or (4.13) of the p of each W, against (4.10) or (4.11) of this W."""

    def check(published: Published, evidence: Evidence) -> Check:
        windows = EVEN if even else ODD
        curve = models.klaver_even_window if even else models.klaver_odd_window
        far = [
            float(curve(1 / models.klaver_cycle_segments(w))) / float(models.klaver_cycle_window(w)) - 1
            for w in windows[windows >= 4]
        ]
        return Check.of_number(published, 100 * max(map(abs, far)))

    return check


def rectangle(published: Published, evidence: Evidence) -> Check:
    """(2.1) to (2.4): a triangle's area and mean give the constant."""
    w = 100.0
    p = 1 / (3 / 8 * w**2)
    return Check.of_number(published, float(3 / 4 * w * np.sqrt(p)), "3/4 W sqrt(p) with 1/p = 3/8 W^2")


def allowed(kilobytes: float, rtt: float) -> Function:
    """Window over RTT in Mbit/s."""
    return lambda published, evidence: Check.of_number(published, kilobytes * 1024 * 8 / rtt / 1e6)


def five_minutes(published: Published, evidence: Evidence) -> Check:
    """The number of cycles that the length of one gives."""
    return Check.of_number(published, 300 / 1.2, "300 s / 1.2 s")


FORMULAS: dict[str, Function] = {
    "P-003-1": classic,
    "P-003-8": just_above_one,
    "P-003-8.1": pole,
    "P-003-11": same_shape,
    "P-003-12.4": five_minutes,
    "P-003-17.1": inverse(even=False),
    "P-003-17.2": inverse(even=True),
    "P-003-17.3": by_p(even=False),
    "P-003-17.4": by_p(even=True),
    "P-003-17.5": rectangle,
    "P-003-18.1": allowed(232, 0.108),
    "P-003-18.2": allowed(32, 0.237),
}
