"""klaver-2005, chapter 4: one congestion-avoidance cycle of Linux 2.6.9, segment by segment.

The cycle begins with the ACK that raises the window to its maximum W, and ends before the next such ACK. It
holds for one loss a cycle, repaired by fast retransmit with SACK and rate halving; every segment
acknowledged, or the window's growth counted in segments; a bottleneck that is always busy, so that the rate
is constant and the round-trip time follows the window. Odd and even W differ, because after an even W the
counter of ACKs is left at 1.

Slips of the text, corrected here:

- (4.5), first line, has a minus before the root, which makes W negative: it is (-8p + root)/(3p). The second
  line is right, and used; so are both lines of (4.6).
- "We substitute (4.3) in (4.10)" and "(4.4) in (4.11)": it is their inverses, (4.5) and (4.6).
- Chapter 5 says that the even formula has discontinuities above p = 0.1. So has the odd one: at p = 3/7, the
  even one at p = (sqrt(57) - 3)/16 = 0.284.
- The dropped transmission is counted as 0 ("1 + 0 + (W - 1) + 2 + 1"), whereas (3.1) divides by all segments
  transmitted. A trace in front of the queue has one segment more in each cycle: see `with_dropped`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from rexmit.models._domain import Floats, between, loss_rate, whole

KLAVER_SMALLEST_WINDOW = 4
"""With a smaller W there are no three SACKs after the lost segment, so no fast retransmit."""

KLAVER_LARGEST_P = 0.1
"""The end of the thesis's own range: "the average buffer occupation is still just above 1" (chapter 5)."""

KLAVER_LARGEST_P_ODD = 1 / 21
"""p of the smallest odd cycle, W = 5. From here to 0.1 the odd formula only continues the curve."""

KLAVER_LARGEST_P_EVEN = 1 / 13
"""p of the smallest even cycle, W = 4."""


def klaver_cycle_segments(w: ArrayLike, with_dropped: bool = False) -> Floats:
    """Segments of one cycle, 1/p, for a maximum window of `w` segments (whole, at least 4).

    (4.3), odd: 3/8 W^2 + 2W + 13/8; (4.4), even: 3/8 W^2 + 7/4 W. These count delivered segments, the
    retransmission included; `with_dropped` adds the dropped one, as a trace in front of the queue does.
    """
    w = whole("w", w, KLAVER_SMALLEST_WINDOW)
    segments = np.where(w % 2 == 1, 3 / 8 * w**2 + 2 * w + 13 / 8, 3 / 8 * w**2 + 7 / 4 * w)[()]
    return segments + 1 if with_dropped else segments


def klaver_cycle_window(w: ArrayLike) -> Floats:
    """F_avg of a cycle with a maximum window of `w` segments (whole, at least 4): (4.10), (4.11).

    The mean number of segments in flight when a segment was sent, over those that give an unambiguous RTT.
    """
    w = whole("w", w, KLAVER_SMALLEST_WINDOW)
    odd = (7 * w**3 + 15 * w**2 - 31 * w + 9) / (9 * w**2 + 24 * w - 9)
    even = (7 * w**3 + 12 * w**2 - 52 * w) / (9 * w**2 + 18 * w - 48)
    windows: Floats = np.where(w % 2 == 1, odd, even)[()]
    return windows


def klaver_peak_odd(p: ArrayLike) -> Floats:
    """The maximum window W in segments at a loss rate, as a curve through odd W: (4.5), second line."""
    p = loss_rate("p", p, KLAVER_LARGEST_P)
    return np.sqrt(25 / 9 + 24 / (9 * p)) - 8 / 3


def klaver_peak_even(p: ArrayLike) -> Floats:
    """The maximum window W in segments at a loss rate, as a curve through even W: (4.6), second line."""
    p = loss_rate("p", p, KLAVER_LARGEST_P)
    return np.sqrt(49 / 9 + 24 / (9 * p)) - 7 / 3


def klaver_odd_window(p: ArrayLike) -> Floats:
    """F_avg in segments at a loss rate, as a curve through odd W: (4.12), and (4.14) by `bandwidth`.

    `p` is loss events over delivered segments, 0 < p <= 0.1; the model itself ends at W = 5, p = 1/21.
    """
    p = loss_rate("p", p, KLAVER_LARGEST_P)
    root = np.sqrt(25 * p**2 + 24 * p)
    above = (65 * p + 21) * root - 163 * p**2 - 369 * p
    return above / (54 * p**2 + 81 * p - 27 * p * root)


def klaver_even_window(p: ArrayLike) -> Floats:
    """F_avg in segments at a loss rate, as a curve through even W: (4.13), and (4.15) by `bandwidth`.

    `p` is loss events over delivered segments, 0 < p <= 0.1; the model itself ends at W = 4, p = 1/13.
    """
    p = loss_rate("p", p, KLAVER_LARGEST_P)
    root = np.sqrt(49 * p**2 + 24 * p)
    above = (200 * p + 84) * root - 1400 * p**2 - 1332 * p
    return above / (108 * p**2 + 324 * p - 108 * p * root)


def loss_of_delivered(p: ArrayLike) -> Floats:
    """Loss events over delivered segments, from `p` that counts the dropped ones, too: p / (1 - p).

    (3.1) and a trace in front of the queue give the latter, the formulas want the former.
    """
    p = between("p", p, 0, 1)
    return p / (1 - p)
