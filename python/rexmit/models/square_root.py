"""Windows that go with the root of the loss rate: Mathis, Ott, and AIMD as RFC 9438 writes Reno.

All assume: losses are rare and repaired by fast recovery (no timeouts), the sender always has data, no
receiver's window limits it, and the round-trip time does not depend on the window.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from rexmit.models._domain import Floats, between, loss_rate, positive

MATHIS_C = math.sqrt(3 / 2)
"""1.22: one loss in 1/p segments, every segment acknowledged (Mathis et al. 1997; klaver-2005 (2.4))."""

MATHIS_C_DELAYED = math.sqrt(3 / 4)
"""0.87: the same with an acknowledgment for every second segment.

It is 1.22/sqrt(2): klaver-2005, chapter 2, condition 2, says that C is "effectively halved", which is a
slip. With b segments an ACK the window grows by 1/b a round trip; (2.1) becomes 3 b W^2 / 8 and C becomes
sqrt(3/(2b)).
"""

OTT_C = 1.31
"""Independent random losses, every segment acknowledged (Ott et al. 1996; klaver-2005 cites 1.3)."""

OTT_C_DELAYED = 0.93
"""The same with an acknowledgment for every second segment, as Mathis et al. 1997 give it."""


def mathis_window(p: ArrayLike, delayed_acks: bool = False) -> Floats:
    """The average window of Mathis, Semke, Mahdavi and Ott 1997, in segments: C / sqrt(p).

    klaver-2005 (2.1) to (2.4). `p` is lost segments over segments, 0 < p <= 1; one loss a cycle, evenly
    spaced. Holds for p up to about 0.01: beyond it, timeouts and the steps of the window count.
    """
    return (MATHIS_C_DELAYED if delayed_acks else MATHIS_C) / np.sqrt(loss_rate("p", p))


def ott_window(p: ArrayLike, delayed_acks: bool = False) -> Floats:
    """The average window for independent random losses, in segments: 1.31 / sqrt(p).

    Ott, Kemperman and Mathis 1996, "The stationary behavior of ideal TCP congestion avoidance"; 0.93 with
    delayed ACKs. `p` is the probability that a segment is lost, 0 < p <= 1. Holds for small p.
    """
    return (OTT_C_DELAYED if delayed_acks else OTT_C) / np.sqrt(loss_rate("p", p))


def aimd_window(p: ArrayLike, alpha: ArrayLike = 1.0, beta: ArrayLike = 0.5) -> Floats:
    """The average window of AIMD(alpha, beta), in segments: sqrt(alpha (1 + beta) / (2 (1 - beta) p)).

    RFC 9438, section 4.3 (Figure 3), after Floyd, Handley and Padhye 2000. `alpha` segments are added a round
    trip, a loss leaves the share `beta` of the window. AIMD(1, 0.5) is Reno, and the same as Mathis.
    """
    p, alpha, beta = loss_rate("p", p), positive("alpha", alpha), between("beta", beta, 0, 1)
    return np.sqrt(alpha * (1 + beta) / (2 * (1 - beta) * p))
