"""Systems that are wrong on purpose: what the comparison of pedersen-2006 can catch (`make power`)."""

from __future__ import annotations

from collections.abc import Mapping

from rexmit.analyse.power import Settings, System

CLIENT, SERVER = "hosts.client.stack", "hosts.server.stack"
SCTP = ("thin", "enhancements", "burst", "restart", "rto", "thick")
TCP = ("tcp-thin", "tcp-thick")

SAMPLE: Mapping[str, Settings] = {
    "thin": {},
    "enhancements": {},
    "burst": {},
    "restart": {"design.replications": 3},
    "rto": {"design.replications": 1},
    "thick": {"rtt": ["100 ms"], "design.replications": 4},
    "tcp-thin": {},
    "tcp-thick": {},
}
"""The parts whole but for SCTP's thick streams and what is listed chunk by chunk."""

SYSTEMS = (
    System("loss-6", "6 % loss for 5 %", {"path.down.loss": "6 %", "path.up.loss": "6 %"}),
    System("data-lost-only", "no SACK or ACK is lost", {"path.down.loss": "0 %"}),
    System("min-rto-900", "SCTP's least RTO 900 ms for 1 s", {f"{CLIENT}.rto.min": "900 ms"}, parts=SCTP),
    System(
        "three-reports",
        "SCTP's fast retransmit after three reports for four",
        {f"{CLIENT}.recovery.missing_reports": 3},
        parts=SCTP,
    ),
    System(
        "fast-restarts-timer",
        "a fast retransmit restarts SCTP's timer",
        {f"{CLIENT}.recovery.fast_restarts_timer": True},
        parts=SCTP,
    ),
    System(
        "once",
        "SCTP sends a chunk by fast retransmit once, with fast recovery",
        {f"{CLIENT}.recovery.fast_recovery": True, f"{CLIENT}.recovery.fast_retransmits": "once"},
        parts=SCTP,
    ),
    System(
        "no-delayed-sack", "a SACK for each packet, without delay", {f"{SERVER}.sack.packets": 1}, parts=SCTP
    ),
    System(
        "sack-delay-100",
        "SACKs delayed by 100 ms for 200 ms",
        {f"{SERVER}.sack.delay": "100 ms"},
        parts=("thin", "burst", "restart", "thick"),
    ),
    System(
        "two-mtu",
        "SCTP's first window two MTU (2.2) for 4380 bytes",
        {f"{CLIENT}.congestion.initial_bytes": "3000 bytes"},
        parts=SCTP,
    ),
    System(
        "chunk-of-1000",
        "thick messages of 1000 bytes for 1400",
        {"transfers.0.write_size": "1000 bytes"},
        parts=("thick",),
    ),
    System(
        "interval-252",
        "messages each 252 ms for 256 ms",
        {"transfers.0.pause": "246 ms"},
        parts=("thin", "enhancements", "restart", "rto"),
    ),
    System(
        "fine-clock",
        "the sender's timers in ticks of 1 ms for 4 ms",
        {f"{CLIENT}.clock.tick": "1 ms"},
        parts=SCTP,
    ),
    System("reno", "Reno for BIC", {f"{CLIENT}.congestion.algorithm": "reno"}, parts=TCP),
    System(
        "tcp-min-rto-100",
        "TCP's least RTO RTT + 100 ms for RTT + 200",
        {f"{CLIENT}.rtt.variance_floor": "100 ms"},
        parts=TCP,
    ),
    System(
        "no-delayed-ack",
        "TCP acknowledges each segment at once",
        {f"{SERVER}.delayed_ack.policy": "immediate"},
        parts=TCP,
    ),
    System(
        "two-duplicates",
        "TCP's fast retransmit after two duplicates for three",
        {f"{CLIENT}.recovery.dupack_threshold": 2},
        parts=TCP,
    ),
)
"""Each in ways that the thesis's author, or a reader of it, could have got wrong."""
