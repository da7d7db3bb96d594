"""How large a bottleneck's buffer should be: merritt-2010's rule for a slow uplink, and the classic rules.

The rule, chapter 6 of the study: a download and an upload share a link whose uplink is the slow one. With the
uplink's buffer below a bound, the two connections stay out of phase and the download keeps its rate; above
it, the upload fills the buffer, the download's ACKs wait there, and the download falls.

Rates are in bit/s, times in seconds, windows in bytes, buffers in packets.

Slips of the text: the prose exchanges the labels of (2.4) and (2.5) (out of phase is (2.5), W_D > W_U + 2
BDP), and calls C_D the capacity of L21 where (6.5) means the uplink's, C_U.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rexmit.errors import ModelError
from rexmit.models._domain import Floats, not_negative, positive, whole

FULL_PACKET = 1500
"""Bytes of a full IP packet in merritt-2010."""

RULE_LIMITS = (
    "the buffer is a FIFO that counts packets, whatever their size: an ACK takes the place of a full packet",
    "one download and one upload, both long; with more the windows are sums, which the study has not tried",
    "the windows are those of FreeBSD 7.2's NewReno with SACK; another congestion control has others",
    "the maximum windows come from a run with some uplink buffer and depend on it: repeat it with the result",
    "the RTT is that without uplink queueing, of the download alone; the downlink's buffer is part of it",
    "it bounds the buffer from above only; what is best below it, the rule does not say",
)
"""What the rule assumes, a sentence each."""


@dataclass(frozen=True)
class UplinkMeasures:
    """The inputs of equation (6.6).

    `up_rate` is the uplink's rate in bit/s (C_U times 8); `rtt` the mean round-trip time in seconds of the
    download alone; `max_window_down` and `max_window_up` the largest congestion windows in bytes of the
    download and the upload while both run (W_D, W_U); `packet` the size of a full packet in bytes.
    """

    up_rate: float
    rtt: float
    max_window_down: float
    max_window_up: float
    packet: float = FULL_PACKET

    def __post_init__(self) -> None:
        for name in ("up_rate", "rtt", "max_window_down", "packet"):
            positive(name, getattr(self, name))
        not_negative("max_window_up", self.max_window_up)

    def bound(self) -> float:
        """The right side of (6.6) in packets; zero or negative where no buffer is small enough."""
        windows = (self.max_window_down, self.max_window_up)
        return float(uplink_buffer_bound(*windows, self.rtt, self.up_rate, self.packet))

    def packets(self) -> int:
        """The largest whole buffer below the bound. Raises ModelError where there is none, and says why."""
        packets = math.ceil(self.bound()) - 1
        if packets < 1:
            raise ModelError(self._why_none())
        return packets

    def out_of_phase(self, buffer: float) -> bool:
        """Whether (6.5) holds for `buffer` packets at the uplink: W_D > W_U + 2 (RTT + B packet/C_U) C_U."""
        in_flight = self.rtt * self.up_rate / 8 + not_negative("buffer", buffer) * self.packet
        return bool(self.max_window_down > self.max_window_up + 2 * in_flight)

    def _why_none(self) -> str:
        down, up, flight = self.max_window_down, self.max_window_up, self.rtt * self.up_rate / 8
        need = 2 * (flight + self.packet) + up
        text = f"the rule gives no buffer: the download's maximum window, {down:.0f} bytes, must be above "
        text += f"{need:.0f} bytes for one packet (the upload's {up:.0f}, twice the uplink's RTT C_U of "
        return (
            text + f"{flight:.0f}, and two packets); give the download a larger window, or shape the upload"
        )


def uplink_buffer_bound(
    max_window_down: ArrayLike,
    max_window_up: ArrayLike,
    rtt: ArrayLike,
    up_rate: ArrayLike,
    packet: ArrayLike = FULL_PACKET,
) -> Floats:
    """The bound of merritt-2010 (6.6), in packets: ((W_D - W_U)/2 - RTT C_U) / packet.

    Windows in bytes, `rtt` in seconds, `up_rate` in bit/s, `packet` in bytes. The buffer must be smaller;
    zero or a negative number means that no buffer is.
    """
    windows = positive("max_window_down", max_window_down) - not_negative("max_window_up", max_window_up)
    flight = positive("rtt", rtt) * positive("up_rate", up_rate) / 8
    return (windows / 2 - flight) / positive("packet", packet)


def drain_time(buffer: ArrayLike, rate: ArrayLike, packet: ArrayLike = FULL_PACKET) -> Floats:
    """Seconds in which a full buffer of `buffer` full packets drains at `rate` bit/s: B 8 packet / C.

    merritt-2010, table 5.1: the delay that the buffer may add to each ACK of the download.
    """
    return not_negative("buffer", buffer) * 8 * positive("packet", packet) / positive("rate", rate)


def bdp_buffer(rate: ArrayLike, rtt: ArrayLike, packet: ArrayLike = FULL_PACKET) -> Floats:
    """The classic rule, in packets: the bandwidth-delay product (Villamizar, Song 1994; merritt-2010 (2.2)).

    It keeps the link busy while one Reno connection, which halves its window, recovers from a loss.
    """
    return positive("rate", rate) * positive("rtt", rtt) / (8 * positive("packet", packet))


def many_flows_buffer(
    rate: ArrayLike, rtt: ArrayLike, flows: ArrayLike, packet: ArrayLike = FULL_PACKET
) -> Floats:
    """The rule for many flows, in packets: BDP / sqrt(N) (Appenzeller et al. 2004; merritt-2010 (2.3)).

    For hundreds of long flows or more whose losses do not fall together; N = 1 is the classic rule.
    """
    return bdp_buffer(rate, rtt, packet) / np.sqrt(whole("flows", flows, 1))
