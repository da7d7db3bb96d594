"""The throughput equation of TCP-Friendly Rate Control, RFC 5348, section 3.1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rexmit.models._domain import Floats, loss_rate, positive


def tfrc_window(p: ArrayLike, rtt: ArrayLike = 1.0, rto: ArrayLike | None = None, b: ArrayLike = 1) -> Floats:
    """The allowed sending rate of RFC 5348, in segments a round trip: X_Bps R / s.

    1 / (sqrt(2bp/3) + (rto/rtt) 3 sqrt(3bp/8) p (1 + 32 p^2)). `p` is the loss event rate, 0 < p <= 1; `rtt`
    and `rto` in the same unit of time, `rto` 4 rtt where it is not given and `b` 1, as the RFC recommends. It
    is the approximate model of PFTK without the receiver's window and the min().
    """
    p, rtt, b = loss_rate("p", p), positive("rtt", rtt), positive("b", b)
    ratio = 4.0 if rto is None else positive("rto", rto) / rtt
    timeouts = 3 * np.sqrt(3 * b * p / 8) * p * (1 + 32 * p**2)
    return 1 / (np.sqrt(2 * b * p / 3) + ratio * timeouts)
