"""Systems that are wrong on purpose, and the sample of the study on which they run: `make power`."""

from __future__ import annotations

from rexmit.analyse.power import System

SERVER, CLIENT = "hosts.server.stack", "hosts.client.stack"
LINES = ("controlled", "cycles", "acks")
"""The parts with the token bucket."""
TCP = ("controlled", "cycles", "enschede", "shared")
"""Those with Linux's own ACKs, and the sender patched."""

SAMPLE = {
    "controlled": {
        "case": [
            *("100 kbit/s, 4 kB, 0 ms", "100 kbit/s, 8 kB, 0 ms", "100 kbit/s, 16 kB, 0 ms"),
            *("100 kbit/s, 16 kB, 100 ms", "1 Mbit/s, 8 kB, 0 ms", "1 Mbit/s, 16 kB, 0 ms"),
            *("1 Mbit/s, 32 kB, 100 ms", "1 Mbit/s, 64 kB, 0 ms"),
        ],
        "design.replications": 1,
    },
    "cycles": {},
    "enschede": {"case": ["80 ms", "75 ms"], "design.replications": 1},
    "acks": {"case": ["1 Mbit/s, 16 kB, 0 ms", "1 Mbit/s, 32 kB, 0 ms"]},
    "window": {"transfers.0.bulk": "60 s"},
    "conditions": {"design.replications": 1},
    "shared": {"case": ["Stockholm, light", "Cape Town, medium"]},
    "random": {"transfers.0.bulk": "300 s", "design.replications": 2},
}

SYSTEMS = (
    System(
        "each-acked", "each segment acknowledged", {f"{CLIENT}.delayed_ack.policy": "immediate"}, parts=TCP
    ),
    System(
        "every-second",
        "every second segment acknowledged",
        {f"{CLIENT}.delayed_ack.policy": "every-second"},
        parts=TCP,
    ),
    System(
        "acks-counted",
        "ACKs counted, the kernel without its patch",
        {f"{SERVER}.congestion.counts": "acks"},
        parts=TCP,
    ),
    System(
        "abc",
        "window grown after cwnd ACKs, not cwnd + 1",
        {f"{SERVER}.congestion.growth": "per-ack"},
        parts=TCP,
    ),
    System("bic", "BIC for Reno", {f"{SERVER}.congestion.algorithm": "bic"}, parts=TCP),
    System("cubic", "CUBIC for Reno", {f"{SERVER}.congestion.algorithm": "cubic"}, parts=TCP),
    System(
        "dupthresh-2",
        "retransmission at the second duplicate",
        {f"{SERVER}.recovery.dupack_threshold": 2},
        parts=LINES,
    ),
    System(
        "dupthresh-4",
        "retransmission at the fourth duplicate",
        {f"{SERVER}.recovery.dupack_threshold": 4},
        parts=LINES,
    ),
    System(
        "rfc6675",
        "recovery of RFC 6675 for rate halving",
        {f"{SERVER}.recovery.sack": "rfc6675"},
        parts=LINES,
    ),
    System("no-sack", "no SACK", {f"{CLIENT}.options.sack": False}, parts=LINES),
    System(
        "no-timestamps",
        "no timestamps: segments of 1460 bytes",
        {f"{CLIENT}.options.timestamps": False},
        parts=LINES,
    ),
    System("no-jiffies", "a token bucket without jiffies", {"path.tick": "1 us"}, parts=LINES),
    System("hz-100", "jiffies of 10 ms", {"path.tick": "10 ms"}, parts=LINES),
    System("large-bucket", "a bucket of 16 kB", {"path.down.burst": "16 kB"}, parts=LINES),
    System("overhead-38", "38 bytes counted beside each packet", {"path.overhead": "38 bytes"}, parts=TCP),
    System(
        "no-overhead",
        "packets counted without their Ethernet header",
        {"path.overhead": "0 bytes"},
        parts=TCP,
    ),
    System(
        "loss",
        "0.1 % of the data lost at random as well",
        {"path.down.loss": "0.1 %"},
        parts=(*TCP, "acks", "window"),
    ),
    System("ack-loss", "5 % of the ACKs lost", {"path.up.loss": "5 %"}, parts=(*TCP, "acks", "window")),
    System(
        "small-window", "a receiver window of 16 kB", {f"{CLIENT}.buffers.receive": "17856 bytes"}, parts=TCP
    ),
    System(
        "more-delay", "30 ms more on the way back", {"path.up.delay": "30 ms"}, parts=(*TCP, "acks", "window")
    ),
    System(
        "flight-half",
        "ssthresh of half the flight, not of half of cwnd",
        {f"{SERVER}.congestion.ssthresh": "flight-half"},
        parts=LINES,
    ),
    System("short", "100 s instead of 300", {"transfers.0.bulk": "100 s"}, parts=("enschede",)),
    System(
        "random-delayed",
        "random loss with every second segment acknowledged",
        {f"{CLIENT}.delayed_ack.policy": "every-second"},
        parts=("random",),
    ),
    System(
        "random-no-sack", "random loss without SACK", {f"{CLIENT}.options.sack": False}, parts=("random",)
    ),
    System(
        "random-bic", "random loss with BIC", {f"{SERVER}.congestion.algorithm": "bic"}, parts=("random",)
    ),
    System(
        "conditions-patient",
        "the hosts that break a condition: retransmission at the twentieth duplicate",
        {f"{SERVER}.recovery.dupack_threshold": 20},
        parts=("conditions",),
    ),
    System(
        "conditions-small-window",
        "the same with a receiver window of 16 kB",
        {f"{CLIENT}.buffers.receive": "17856 bytes"},
        parts=("conditions",),
    ),
    System(
        "conditions-no-timestamps",
        "the same without timestamps",
        {f"{CLIENT}.options.timestamps": False},
        parts=("conditions",),
    ),
)
