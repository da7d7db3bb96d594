"""How fast TCP goes at a loss rate: every formula, under one roof.

A formula gives an average window in segments (segments a round trip), the measure of klaver-2005's figure
5.1: BW RTT / MSS. :func:`bandwidth` makes it a rate. :data:`FORMULAS` has them all by name, for tables and
figures that lay one beside the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rexmit.models._domain import LEAST_LOSS, Floats, loss_rate, positive
from rexmit.models.cubic import CUBIC_BETA, CUBIC_C, cubic_window
from rexmit.models.klaver import (
    KLAVER_LARGEST_P,
    KLAVER_LARGEST_P_EVEN,
    KLAVER_LARGEST_P_ODD,
    KLAVER_SMALLEST_WINDOW,
    klaver_cycle_segments,
    klaver_cycle_window,
    klaver_even_window,
    klaver_odd_window,
    klaver_peak_even,
    klaver_peak_odd,
    loss_of_delivered,
)
from rexmit.models.pftk import (
    UNLIMITED,
    pftk_full_window,
    pftk_peak_window,
    pftk_timeout_share,
    pftk_window,
)
from rexmit.models.square_root import (
    MATHIS_C,
    MATHIS_C_DELAYED,
    OTT_C,
    OTT_C_DELAYED,
    aimd_window,
    mathis_window,
    ott_window,
)
from rexmit.models.tfrc import tfrc_window

__all__ = [
    "CUBIC_BETA",
    "CUBIC_C",
    "FORMULAS",
    "KLAVER_LARGEST_P",
    "KLAVER_LARGEST_P_EVEN",
    "KLAVER_LARGEST_P_ODD",
    "KLAVER_SMALLEST_WINDOW",
    "MATHIS_C",
    "MATHIS_C_DELAYED",
    "OTT_C",
    "OTT_C_DELAYED",
    "Flow",
    "Formula",
    "aimd_window",
    "bandwidth",
    "cubic_window",
    "klaver_cycle_segments",
    "klaver_cycle_window",
    "klaver_even_window",
    "klaver_odd_window",
    "klaver_peak_even",
    "klaver_peak_odd",
    "loss_of_delivered",
    "mathis_window",
    "ott_window",
    "pftk_full_window",
    "pftk_peak_window",
    "pftk_timeout_share",
    "pftk_window",
    "tfrc_window",
]


def bandwidth(window: ArrayLike, mss: ArrayLike, rtt: ArrayLike) -> Floats:
    """The rate in bit/s of an average window in segments: 8 mss window / rtt (klaver-2005 (4.8)).

    `mss` is a segment's payload in bytes, `rtt` the mean round-trip time in seconds; the rate is of payload.
    """
    return 8 * positive("mss", mss) * positive("window", window) / positive("rtt", rtt)


@dataclass(frozen=True)
class Flow:
    """What formulas ask of a connection beside its loss rate.

    `mss` is a segment's payload in bytes and `rtt` the mean round-trip time in seconds. `rto` is the first
    retransmission timeout in seconds, 4 rtt where it is None (RFC 5348, section 3.1). `delayed_acks` is
    whether an ACK acknowledges two segments, `max_window` the receiver's window in segments, None where it
    does not limit.
    """

    mss: float
    rtt: float
    rto: float | None = None
    delayed_acks: bool = False
    max_window: float | None = None

    def __post_init__(self) -> None:
        for name in ("mss", "rtt", "rto", "max_window"):
            value = getattr(self, name)
            if value is not None:
                positive(name, value)


@dataclass(frozen=True)
class Formula:
    """One formula, as a table or figure needs it.

    `domain` is the largest loss rate that it takes, and `holds_to` the largest for which its assumptions
    may hold, with `holds` in words.
    """

    name: str
    title: str
    source: str
    holds: str
    holds_to: float
    domain: float
    of: Callable[[Floats, Flow], Floats]

    def window(self, p: ArrayLike, flow: Flow) -> Floats:
        """The average window in segments. Raises ModelError outside the formula's domain."""
        return self.of(loss_rate("p", p, self.domain), flow)

    def bandwidth(self, p: ArrayLike, flow: Flow) -> Floats:
        """The rate of payload in bit/s. Raises ModelError outside the formula's domain."""
        return bandwidth(self.window(p, flow), flow.mss, flow.rtt)

    def takes(self, p: ArrayLike) -> NDArray[np.bool_]:
        """Whether each loss rate is in the formula's domain."""
        rates = np.asarray(p, dtype=np.float64)
        return (rates >= LEAST_LOSS) & (rates <= self.domain)

    def holds_at(self, p: ArrayLike) -> NDArray[np.bool_]:
        """Whether the formula's assumptions may hold at each loss rate."""
        return self.takes(p) & (np.asarray(p, dtype=np.float64) <= self.holds_to)


def _segments_an_ack(flow: Flow) -> float:
    return 2.0 if flow.delayed_acks else 1.0


def _rto(flow: Flow) -> float:
    return 4 * flow.rtt if flow.rto is None else flow.rto


def _most(flow: Flow) -> float:
    return UNLIMITED if flow.max_window is None else flow.max_window


_NO_TIMEOUTS = "one loss a cycle repaired without a timeout; the receiver's window does not limit"
_CYCLE = "Linux 2.6.9's Reno with SACK; every segment acknowledged or counted; a bottleneck always busy"

FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {
        formula.name: formula
        for formula in (
            Formula(
                "mathis",
                "Mathis 1997",
                "Mathis et al. 1997; klaver-2005 (2.4)",
                f"p evenly spaced; {_NO_TIMEOUTS}",
                0.01,
                1.0,
                lambda p, flow: mathis_window(p, flow.delayed_acks),
            ),
            Formula(
                "ott",
                "Ott 1996",
                "Ott, Kemperman, Mathis 1996; klaver-2005, chapter 2",
                "random losses, each by itself; no timeouts; the receiver's window does not limit",
                0.01,
                1.0,
                lambda p, flow: ott_window(p, flow.delayed_acks),
            ),
            Formula(
                "pftk-full",
                "PFTK, full",
                "Padhye et al. 1998, the full model",
                "Reno without SACK; after a loss the rest of its round is lost; timeouts counted",
                1.0,
                1.0,
                lambda p, flow: pftk_full_window(
                    p, flow.rtt, _rto(flow), _most(flow), _segments_an_ack(flow)
                ),
            ),
            Formula(
                "pftk",
                "PFTK, approximate",
                "Padhye et al. 1998, the approximate model",
                "as the full model",
                1.0,
                1.0,
                lambda p, flow: pftk_window(p, flow.rtt, _rto(flow), _most(flow), _segments_an_ack(flow)),
            ),
            Formula(
                "klaver-odd",
                "Klaver, odd W",
                "klaver-2005 (4.12), (4.14)",
                f"{_CYCLE}; W >= 5",
                KLAVER_LARGEST_P_ODD,
                KLAVER_LARGEST_P,
                lambda p, flow: klaver_odd_window(p),
            ),
            Formula(
                "klaver-even",
                "Klaver, even W",
                "klaver-2005 (4.13), (4.15)",
                f"{_CYCLE}; W >= 4",
                KLAVER_LARGEST_P_EVEN,
                KLAVER_LARGEST_P,
                lambda p, flow: klaver_even_window(p),
            ),
            Formula(
                "tfrc",
                "TFRC",
                "RFC 5348, section 3.1",
                "as the approximate model of PFTK, without the receiver's window",
                1.0,
                1.0,
                lambda p, flow: tfrc_window(p, flow.rtt, _rto(flow), 1),
            ),
            Formula(
                "reno",
                "Reno, AIMD(1, 0.5)",
                "RFC 9438, section 4.3",
                _NO_TIMEOUTS,
                0.01,
                1.0,
                lambda p, flow: aimd_window(p),
            ),
            Formula(
                "cubic",
                "CUBIC",
                "RFC 9438, section 5, and Reno where that is larger",
                f"p evenly spaced; {_NO_TIMEOUTS}; the RTT does not change",
                0.01,
                1.0,
                lambda p, flow: cubic_window(p, flow.rtt),
            ),
        )
    }
)
"""Every formula of an average window at a loss rate, by name, in the order of a table."""
