"""The models of Padhye, Firoiu, Towsley and Kurose 1998 ("PFTK"): with timeouts and the receiver's window.

Reno without SACK: after a loss the rest of that round's window is lost, too, and three duplicate ACKs
must come back, or a timeout follows; timeouts double up to 64 times the first. The paper's two editions
(SIGCOMM 1998, Transactions on Networking 2000) number the equations differently, so they are named here.
The rates of the paper, in segments/s, are multiplied by the round-trip time: segments a round trip.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rexmit.models._domain import Floats, loss_rate, positive

UNLIMITED = 1e300
"""A largest window that limits nothing."""


def pftk_full_window(
    p: ArrayLike, rtt: ArrayLike, rto: ArrayLike, max_window: ArrayLike = UNLIMITED, b: ArrayLike = 2
) -> Floats:
    """The "full model", in segments sent a round trip.

    `p` is the probability that a segment is lost when none before it in its round was, 0 < p <= 1; `rtt` and
    `rto` (the first timeout, T0 in the paper) in the same unit of time; `max_window` is the receiver's window
    in segments; `b` segments are acknowledged by an ACK (2 with delayed ACKs).
    """
    p, rtt, rto = loss_rate("p", p), positive("rtt", rtt), positive("rto", rto)
    max_window, b = positive("max_window", max_window), positive("b", b)
    free = pftk_peak_window(p, b)
    limited = free >= max_window
    peak = np.where(limited, max_window, free)
    timeout = pftk_timeout_share(p, peak)
    sent = (1 - p) / p + peak
    rounds = np.where(limited, b * peak / 8 + (1 - p) / (p * peak) + 2, b * peak / 2 + 1)
    # The paper's fraction, both sides times 1 - p, so that p = 1 has its limit.
    windows: Floats = ((sent * (1 - p) + timeout) / (rounds * (1 - p) + timeout * (rto / rtt) * _backoff(p)))[
        ()
    ]
    return windows


def pftk_window(
    p: ArrayLike, rtt: ArrayLike, rto: ArrayLike, max_window: ArrayLike = UNLIMITED, b: ArrayLike = 2
) -> Floats:
    """The "approximate model", in segments sent a round trip; arguments as of :func:`pftk_full_window`.

    The smaller of `max_window` and 1 / (sqrt(2bp/3) + (rto/rtt) min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2)).
    """
    p, rtt, rto = loss_rate("p", p), positive("rtt", rtt), positive("rto", rto)
    max_window, b = positive("max_window", max_window), positive("b", b)
    timeouts = np.minimum(1, 3 * np.sqrt(3 * b * p / 8)) * p * (1 + 32 * p**2)
    windows: Floats = np.minimum(max_window, 1 / (np.sqrt(2 * b * p / 3) + rto / rtt * timeouts))
    return windows


def pftk_peak_window(p: ArrayLike, b: ArrayLike = 2) -> Floats:
    """E[W], the mean window at a loss in segments where no receiver's window limits it (equation 13)."""
    p, b = loss_rate("p", p), positive("b", b)
    offset = (2 + b) / (3 * b)
    return offset + np.sqrt(8 * (1 - p) / (3 * b * p) + offset**2)


def pftk_timeout_share(p: ArrayLike, window: ArrayLike) -> Floats:
    """Q(w), the share of loss indications at a window of `window` segments that are timeouts.

    All of them up to 3 segments, where no three duplicate ACKs can come; about 3/w for small p.
    """
    p, window = loss_rate("p", p), np.maximum(positive("window", window), 3)
    kept = 1 - p
    late = 1 + kept**3 * (1 - kept ** (window - 3))
    share: Floats = np.minimum(1, (1 - kept**3) * late / (1 - kept**window))
    return share


def _backoff(p: Floats) -> Floats:
    """f(p): a run of timeouts, each twice the one before, up to 64, lasts T0 f(p) / (1 - p) on average."""
    return 1 + p + 2 * p**2 + 4 * p**3 + 8 * p**4 + 16 * p**5 + 32 * p**6
