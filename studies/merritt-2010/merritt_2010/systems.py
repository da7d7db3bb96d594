"""Wrong systems for merritt-2010: what its authors could have had instead, and the rows should tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rexmit.analyse.power import System

SAMPLE: Mapping[str, Mapping[str, Any]] = {"two-way": {}}
"""All ninety runs: with fewer a timeout at one start decides too many rows."""
STACK = "freebsd-7.2"


def _hosts(**changes: Any) -> dict[str, Any]:
    """Settings that change both hosts."""
    return _both({"inherits": STACK} | changes)


def _both(stack: Any) -> dict[str, Any]:
    return {f"hosts.{host}.stack": stack for host in ("server", "client")}


def _short(name: str, study: Any) -> Any:
    """30 s alone and 30 s of both, as in the procedure of section 6.4."""
    starts = {"transfers.1.start": ["30 s", "30.33 s", "30.67 s"]}
    study = study.set("transfers.0.bulk", "60 s").set("transfers.1.bulk", "30 s")
    return study.set("vary.offset", {"labels": ["0 ms", "330 ms", "670 ms"], "together": starts})


SYSTEMS = (
    System("min-rto-1s", "a least RTO of 1 s", _hosts(rtt={"min_rto": "1 s"})),
    System("no-sack", "no SACK", _hosts(options={"sack": False})),
    System("no-timestamps", "no timestamps: segments of 1460 bytes", _hosts(options={"timestamps": False})),
    System("ack-each", "no delayed ACKs", _hosts(delayed_ack={"policy": "immediate"})),
    System("inflight", "inflight left on", _hosts(congestion={"inflight": {"on": True}})),
    System("freebsd-6.0", "FreeBSD 6.0, whose buffers do not grow", _both("freebsd-6.0")),
    System("cubic", "CUBIC for Reno", _hosts(congestion={"algorithm": "cubic"})),
    System("bic", "BIC for Reno", _hosts(congestion={"algorithm": "bic"})),
    System("r1-45", "45 packets in R1 for 50", {"path.down.queue": "45 packets"}),
    System("r1-49", "49 packets in R1 for 50", {"path.down.queue": "49 packets"}),
    System("no-ethernet", "shapers that do not count Ethernet's 14 bytes", {"path.overhead": "0 bytes"}),
    System("exact-shaper", "shapers that send bit after bit, without a tick", {"path.shaper": "exact"}),
    System("tick-40ms", "a shaper interval of 40 ms for 4 ms", {"path.tick": "40 ms"}),
    System("delay-20ms", "20 ms of delay each way for none", {"path.delay": "20 ms"}),
    System("loss-down", "1 packet in 1000 lost on the way down", {"path.down.loss": 0.001}),
    System("loss-up", "1 packet in 100 lost on the way up", {"path.up.loss": 0.01}),
    System("codel", "CoDel at the uplink for a FIFO", {"path.up.aqm": "codel"}),
    System("short", "30 s alone and 30 s of both for 120 s each", change=_short),
)
