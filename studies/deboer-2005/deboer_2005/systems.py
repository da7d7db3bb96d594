"""Systems that are wrong on purpose, and the sample of the study on which they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rexmit.analyse.power import System

TESTS = ["newreno-1-0.1-100", *(f"bufspace-16776960-1-{latency}" for latency in (50, 100))]
_SHORT = {"design.replications": 1, "transfers.0.bulk": "5 s", "intervals": "1 s"}
SAMPLE = {
    "buffers": _SHORT | {"transfers.0.bulk": "3 s"},
    "sack": _SHORT | {"transfers.0.bulk": "6 s"},
    "newreno": _SHORT | {"transfers.0.bulk": "6 s"},
    "acks": _SHORT | {"transfers.0.bulk": "3 s", "path.down.loss": ["0 %", "1 %"]},
    "dummynet": _SHORT
    | {
        "transfers.0.bulk": "3 s",
        "path.queue": ["40 KiB", "100 KiB", "4000 KiB"],
        "latency": ["50 ms", "100 ms"],
    },
    "order": {"design.replications": 1, "test": TESTS},
    "connections": _SHORT | {"transfers.0.bulk": "3 s", "latency": ["50 ms"]},
}
"""Times of 3 to 6 s instead of 60, but where what counts is how far a minute leads."""

_ARRAYS = ("buffers", "sack", "newreno")
_LOSS = ("sack", "newreno")


def _both(key: str, value: Any) -> dict[str, Any]:
    return {f"hosts.{host}.stack.{key}": value for host in ("client", "server")}


def _columns(study: Any, factor: str, change: Callable[[str, list[Any]], list[Any]]) -> Any:
    """The study with each setting that a factor varies changed: of its name and its levels."""
    own = next((one for one in study.spec.design.factors if one.name == factor), None)
    if own is None:
        return study
    settings = {
        name: change(name, [level["together"][name] for level in own.levels]) for name in own.settings
    }
    return study.set(f"vary.{factor}", {"together": settings, "labels": list(own.labels)})


def _times(text: str, factor: float) -> str:
    number, unit = text.split(" ")
    return f"{float(number) * factor:g} {unit}"


def _whole_loss(part: str, study: Any) -> Any:
    return _columns(study, "loss", lambda _, values: [_times(value, 2) for value in values])


def _data_alone(part: str, study: Any) -> Any:
    return _columns(
        study, "loss", lambda name, values: ["0 %"] * len(values) if name == "path.down.loss" else values
    )


def _latency(change: Callable[[str], str]) -> Callable[[str, Any], Any]:
    def wrong(part: str, study: Any) -> Any:
        return _columns(
            study,
            "latency",
            lambda name, values: [change(v) for v in values] if name == "path.delay" else values,
        )

    return wrong


def _exact(part: str, study: Any) -> Any:
    study = _columns(
        study, "latency", lambda name, values: ["exact"] * len(values) if name == "path.shaper" else values
    )
    return study.set("path.shaper", "exact") if part == "dummynet" else study


def _small_window(part: str, study: Any) -> Any:
    return _columns(
        study,
        "bufspace",
        lambda name, values: (
            [f"{int(v.split()[0]) // 2} bytes" for v in values]
            if name.endswith("stack.buffers.receive")
            else values
        ),
    )


def _newreno_always(part: str, study: Any) -> Any:
    if part == "newreno":
        return _columns(study, "newreno", lambda _, values: ["new-reno"] * len(values))
    return study.set("hosts.client.stack.recovery.plain", "new-reno")


def _sack_at_one_end(part: str, study: Any) -> Any:
    return _columns(study, "sack", lambda name, values: [False] * len(values) if "client" in name else values)


def _slow_tick(part: str, study: Any) -> Any:
    return study.set("path.tick", {"levels": ["1 ms", "0.05 ms"], "labels": ["0.5 ms", "0.05 ms"]})


def _rtt_5(delay: str) -> str:
    return "2.5 ms" if delay == "2 ms" else delay


def _base_2(delay: str) -> str:
    return "1 ms" if delay == "0.1 ms" else delay


def _doubled(delay: str) -> str:
    return delay if delay == "0.1 ms" else _times(delay, 2)


SYSTEMS = (
    System("rtt-5", "a round trip of 5 ms at '5 ms'", change=_latency(_rtt_5), parts=("buffers",)),
    System("latency-each-way", "the whole latency in each pipe", change=_latency(_doubled), parts=_ARRAYS),
    System("base-2ms", "2 ms of round trip left at 0 ms", change=_latency(_base_2), parts=_ARRAYS),
    System("link-100", "links of 100 Mbit/s", {"path.link": "100 Mbit/s"}),
    System("half-window", "half of the receive buffer", change=_small_window, parts=("buffers",)),
    System("whole-loss", "the whole loss in each pipe", change=_whole_loss, parts=_LOSS),
    System("loss-of-data", "loss of data alone", change=_data_alone, parts=_LOSS),
    System(
        "room-1000",
        "a receiver that keeps 1000 segments",
        _both("buffers.reassembly_limit", 1000),
        parts=_LOSS,
    ),
    System("newreno-always", "NewReno where plain Reno was", change=_newreno_always, parts=_LOSS),
    System("sack-at-one-end", "SACK at one end alone", change=_sack_at_one_end, parts=("sack",)),
    System("delayed-acks", "delayed ACKs", _both("delayed_ack.policy", "timer-toggle"), parts=_ARRAYS),
    System("min-rto-1s", "a least RTO of 1 s", _both("rtt.min_rto", "1 s"), parts=_LOSS),
    System(
        "one-duplicate",
        "fast retransmit at the first duplicate",
        _both("recovery.dupack_threshold", 1),
        parts=_LOSS,
    ),
    System("initial-window-10", "an initial window of 10", _both("initial_window", 10), parts=_ARRAYS),
    System("nagle", "Nagle's algorithm on", _both("output.nagle", "on"), parts=_ARRAYS),
    System("hz-1000", "Dummynet at HZ 1000", change=_slow_tick, parts=("dummynet",)),
    System("no-tick", "pipes without a tick", change=_exact, parts=("dummynet",)),
    System("no-cache", "hosts that remember nothing", _both("host_cache.on", False), parts=("order",)),
)
