"""CUBIC's response function, RFC 9438, section 5 and appendix C.

A deterministic loss model: one loss in every 1/p segments, so that CUBIC is always in its concave part.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rexmit.models._domain import Floats, between, loss_rate, positive
from rexmit.models.square_root import aimd_window

CUBIC_C = 0.4
"""Segments/s^3: how fast the window grows (RFC 9438, section 5.1)."""

CUBIC_BETA = 0.7
"""The share of the window that a loss leaves (RFC 9438, section 4.6)."""


def cubic_window(
    p: ArrayLike, rtt: ArrayLike, c: ArrayLike = CUBIC_C, beta: ArrayLike = CUBIC_BETA, friendly: bool = True
) -> Floats:
    """The average window of CUBIC, in segments: Figure 6 of RFC 9438, or Reno's where that is larger.

    (C (3 + beta) / (4 (1 - beta)))^(1/4) rtt^(3/4) / p^(3/4), `rtt` in seconds, 0 < p <= 1. `friendly` takes
    the larger of this and AIMD(1, 0.5), the Reno-friendly region (section 4.3). The RFC's own tables take
    1.2/sqrt(p) for Reno, from RFC 3649, where section 4.3's formula gives 1.22/sqrt(p).
    """
    p, rtt = loss_rate("p", p), positive("rtt", rtt)
    c, beta = positive("c", c), between("beta", beta, 0, 1)
    cubic = (c * (3 + beta) / (4 * (1 - beta))) ** 0.25 * (rtt / p) ** 0.75
    return np.maximum(cubic, aimd_window(p)) if friendly else cubic
