"""Systems that are wrong on purpose, and the sample on which they run: `make power`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rexmit.analyse.power import System

SAMPLE: Mapping[str, Mapping[str, Any]] = {"short": {}, "long": {}, "earlier": {}}
"""The whole study: it runs in seconds, and many rows speak of the whole of Table 3.1."""

_MAIN = ("short", "long")


def server(key: str, value: Any) -> dict[str, Any]:
    """A setting of the server's stack."""
    return {f"hosts.server.stack.{key}": value}


def client(key: str, value: Any) -> dict[str, Any]:
    """A setting of the client's stack."""
    return {f"hosts.client.stack.{key}": value}


def both(key: str, value: Any) -> dict[str, Any]:
    """A setting of both hosts' stacks."""
    return server(key, value) | client(key, value)


SYSTEMS = (
    System("min-rto-1s", "a minimum RTO of 1 s", both("rtt.min_rto", "1 s"), parts=_MAIN),
    System("slop-0", "no slop in the RTO", both("rtt.slop", "0 ms"), parts=_MAIN),
    System("slop-230", "a slop of 230 ms, as in later versions", both("rtt.slop", "230 ms"), parts=_MAIN),
    System(
        "timestamps-exact",
        "RTT samples without the tick that the kernel adds",
        both("rtt_source", "timestamps"),
        parts=_MAIN,
    ),
    System(
        "no-timestamps",
        "no timestamps: full segments of 1460 bytes",
        both("options.timestamps", False),
        parts=_MAIN,
    ),
    System(
        "threshold-2",
        "fast retransmit at the second duplicate",
        server("recovery.dupack_threshold", 2),
        parts=_MAIN,
    ),
    System(
        "updates-are-duplicates",
        "a duplicate that changes the window counts",
        server("recovery.changed_window_is_no_duplicate", False),
        parts=_MAIN,
    ),
    System("no-limited-transmit", "no limited transmit", server("recovery.limited_transmit", 0), parts=_MAIN),
    System("no-sack", "no SACK", both("options.sack", False), parts=_MAIN),
    System(
        "plain-exit",
        "recovery ends with the window of congestion avoidance",
        server("recovery.exit", "ssthresh"),
        parts=_MAIN,
    ),
    System(
        "initial-window-3",
        "the handshake's ACK does not open the window",
        server("handshake.third_segment_opens_cwnd", False),
        parts=_MAIN,
    ),
    System(
        "syn-ack-1s", "a timer of 1 s for the SYN-ACK", server("handshake.syn_ack_timer", "1 s"), parts=_MAIN
    ),
    System(
        "exact-buffer",
        "a send buffer that is not rounded up to whole segments",
        server("buffers.round_to_mss", False),
        parts=_MAIN,
    ),
    System(
        "one-segment-less",
        "a send buffer one segment smaller",
        server("buffers.send", "31856 bytes"),
        parts=_MAIN,
    ),
    System(
        "inflight-on",
        "window limiting by the bandwidth-delay product left on",
        server("congestion.inflight.on", True),
        parts=_MAIN,
    ),
    System("no-delayed-acks", "no delayed ACKs", client("delayed_ack.policy", "immediate"), parts=_MAIN),
    System("delayed-ack-200", "delayed ACKs of 200 ms", client("delayed_ack.timeout", "200 ms"), parts=_MAIN),
    System("exact-shaper", "an emulator without ticks", {"path.shaper": "exact"}, parts=_MAIN),
    System("queue-10", "a queue of 10 packets", {"path.queue": "10 packets"}, parts=_MAIN),
    System(
        "bsd-7.2",
        "FreeBSD 7.2 on both hosts",
        {"hosts.server.stack": "freebsd-7.2", "hosts.client.stack": "freebsd-7.2"},
        parts=_MAIN,
    ),
    System(
        "initial-window-10", "an initial window of 10 segments", server("initial_window", 10), parts=_MAIN
    ),
    System(
        "updates-after-one-segment",
        "a window update after one segment is read, instead of two",
        client("window.update_segments", 1),
        parts=_MAIN,
    ),
    System(
        "earlier-updates-are-duplicates",
        "figure 4.25 where a duplicate that changes the window counts",
        server("recovery.changed_window_is_no_duplicate", False),
        parts=("earlier",),
    ),
    System(
        "earlier-on-6.0",
        "figure 4.25 on FreeBSD 6.0",
        {"hosts.server.stack": "freebsd-6.0", "hosts.client.stack": "freebsd-6.0"},
        parts=("earlier",),
    ),
)
