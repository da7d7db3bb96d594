"""The path between two hosts: its bottleneck, its queue, what it does to packets; and the limit of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rexmit.study.draw.numbers import Numbers, bytes_of, ms, us

KINDS = ("syn", "syn-ack", "fin", "pure-ack", "data", "retransmission")
"""Kinds of packets that a pattern may name."""

Effect = Callable[[Numbers, str], Any]


def draw_path(numbers: Numbers) -> dict[str, Any]:
    """Bottleneck and delay of both directions, and impairments of each."""
    path = _bottleneck(numbers)
    fast = path.get("shaper", "exact")
    for direction, scale in (("down", 1.0), ("up", 0.5)):
        own = _effects(numbers, f"path.{direction}", scale)
        if direction == "up" and "rate" in path and numbers.chance("path.up.slower", 0.15):
            own["rate"] = f"{numbers.spread('path.up.rate', 50_000, 2_000_000)} bit/s"
        if fast == "exact" and numbers.chance(f"path.{direction}.changes", 0.12 * scale):
            own["changes"] = _changes(numbers, f"path.{direction}.changes", "rate" in path)
        if own:
            path[direction] = own
    return path


def draw_limit(numbers: Numbers) -> str:
    """The run's limit: in one of ten it is likely to cut the run off."""
    if numbers.chance("limit", 0.1):
        return ms(numbers.spread("limit.short", 20, 5000))
    return "900 s"


def _bottleneck(numbers: Numbers) -> dict[str, Any]:
    path: dict[str, Any] = {}
    limited = not numbers.chance("path.rate.none", 0.07)
    # Where nothing takes time, whatever is written is sent at one instant, without end.
    if not limited or not numbers.chance("path.delay.none", 0.05):
        path["delay"] = us(numbers.spread("path.delay", 100, 150_000))
    if not limited:
        return path
    rate = numbers.spread("path.rate", 64_000, 50_000_000)
    path["rate"] = f"{rate} bit/s"
    shaper = numbers.weighed("path.shaper", {"exact": 0.8, "tbf": 0.08, "dummynet": 0.06, "cisco": 0.06})
    if shaper != "exact":
        path["shaper"] = shaper
    if shaper == "tbf":
        path["burst"] = bytes_of(numbers.spread("path.burst", 10_000, 60_000))
    if shaper != "exact" and numbers.chance("path.tick", 0.3):
        path["tick"] = ms(numbers.one_of("path.tick.ms", (1, 4, 10)))
    if shaper == "exact" and numbers.chance("path.delay_rule", 0.04):
        path["delay_rule"] = "netem-2.6"
    if shaper != "dummynet" and numbers.chance("path.aqm", 0.18):
        path["aqm"] = _aqm(numbers)
    path["queue"] = _queue(numbers, rate)
    if numbers.chance("path.overhead", 0.1):
        path["overhead"] = bytes_of(numbers.one_of("path.overhead.bytes", (14, 38)))
    if numbers.chance("path.link", 0.1):
        path["link"] = f"{numbers.one_of('path.link.rate', (10, 100, 1000))} Mbit/s"
    return path


def _queue(numbers: Numbers, rate: int) -> str:
    unit = numbers.weighed("path.queue.unit", {"packets": 6.0, "bytes": 3.0, "time": 1.0})
    if unit == "packets":
        return f"{numbers.spread('path.queue.packets', 3, 200)} packets"
    if unit == "bytes":
        return bytes_of(numbers.spread("path.queue.bytes", 10_000, 300_000))
    # At least three full packets.
    return ms(numbers.spread("path.queue.ms", 20, 500) + 40_000_000 // rate)


def _aqm(numbers: Numbers) -> Any:
    kind = numbers.one_of("path.aqm.kind", ("codel", "fq_codel", "pie", "red"))
    if numbers.chance("path.aqm.default", 0.4):
        return kind
    ecn = {"ecn": numbers.chance("path.aqm.ecn", 0.5)}
    if kind == "red":
        least = numbers.whole("path.aqm.min", 2, 8)
        probability = numbers.one_of("path.aqm.probability", (0.02, 0.1, 0.3))
        limits = {"min": f"{least} packets", "max": f"{3 * least} packets"}
        return {kind: {**ecn, **limits, "probability": probability, "weight": 0.01}}
    return {kind: {**ecn, "target": ms(numbers.spread("path.aqm.target", 2, 60))}}


def _changes(numbers: Numbers, name: str, has_rate: bool) -> list[dict[str, Any]]:
    """Other rates and delays, and outages that end or do not."""
    at, changes = 0, []
    for i in range(numbers.whole(f"{name}.count", 1, 3)):
        at += numbers.spread(f"{name}.{i}.at", 20, 3000)
        kinds = {"delay": 1.0, **({"rate": 2.0, "outage": 1.0} if has_rate else {})}
        kind = numbers.weighed(f"{name}.{i}.kind", kinds)
        if kind == "delay":
            changes.append({"at": ms(at), "delay": us(numbers.spread(f"{name}.{i}.delay", 100, 200_000))})
        elif kind == "rate":
            rate = numbers.spread(f"{name}.{i}.rate", 50_000, 20_000_000)
            changes.append({"at": ms(at), "rate": f"{rate} bit/s"})
        else:
            changes.append({"at": ms(at), "rate": "0 bit/s"})
            if numbers.chance(f"{name}.{i}.ends", 0.8):
                at += numbers.spread(f"{name}.{i}.lasts", 50, 20_000)
                changes.append({"at": ms(at), "rate": "1 Mbit/s"})
    return changes


def _effects(numbers: Numbers, of: str, scale: float) -> dict[str, Any]:
    """Impairments of a direction; `scale` is how likely they are compared with those of `down`."""
    return {
        key: effect(numbers, f"{of}.{key}")
        for key, (chance, effect) in EFFECTS.items()
        if numbers.chance(f"{of}.{key}", chance * scale)
    }


def _pattern(numbers: Numbers, name: str) -> Any:
    kind = numbers.weighed(f"{name}.kind", {"positions": 5.0, "match": 2.0, "time": 1.0, "period": 1.0})
    if kind == "match":
        which = numbers.one_of(f"{name}.match", KINDS)
        first = numbers.spread(f"{name}.nth", 1, 20 if which in KINDS[3:] else 2)
        return {"match": which, "nth": f"1-{first}" if numbers.chance(f"{name}.all", 0.3) else first}
    if kind == "time":
        start = numbers.spread(f"{name}.start", 10, 3000)
        return {"time": f"{start} ms-{start + numbers.spread(f'{name}.lasts', 5, 2000)} ms"}
    if kind == "period":
        period = numbers.whole(f"{name}.period", 8, 60)
        return {"position": numbers.whole(f"{name}.phase", 1, period), "period": period}
    return numbers.positions(f"{name}.positions", 120, numbers.whole(f"{name}.count", 1, 4))


def _loss(numbers: Numbers, name: str) -> Any:
    if numbers.chance(f"{name}.bursts", 0.4):
        p, r = numbers.spread(f"{name}.p", 2, 40) / 1000, numbers.spread(f"{name}.r", 100, 900) / 1000
        return {"gilbert_elliott": {"p": p, "r": r}}
    return numbers.spread(f"{name}.loss", 1, 80) / 1000


def _hold(numbers: Numbers, name: str) -> dict[str, Any]:
    which = numbers.positions(f"{name}.positions", 100, numbers.whole(f"{name}.count", 1, 4))
    keep = {"keep_order": True} if numbers.chance(f"{name}.keep", 0.3) else {}
    return {"position": which, "by": us(numbers.spread(f"{name}.by", 500, 400_000)), **keep}


def _reorder(numbers: Numbers, name: str) -> dict[str, Any]:
    which = numbers.positions(f"{name}.positions", 100, numbers.whole(f"{name}.count", 1, 5))
    return {"position": which, "past": numbers.whole(f"{name}.past", 1, 12)}


def _jitter(numbers: Numbers, name: str) -> dict[str, Any]:
    jitter: dict[str, Any] = {"spread": us(numbers.spread(f"{name}.spread", 50, 20_000))}
    if numbers.chance(f"{name}.normal", 0.5):
        jitter["distribution"] = "normal"
    if numbers.chance(f"{name}.reorder", 0.3):
        jitter["reorder"] = True
    return jitter


EFFECTS: Mapping[str, tuple[float, Effect]] = {
    "drop": (0.35, _pattern),
    "loss": (0.2, _loss),
    "duplicate": (0.1, _pattern),
    "corrupt": (0.06, _pattern),
    "mark": (0.06, _pattern),
    "hold": (0.1, _hold),
    "reorder": (0.12, _reorder),
    "jitter": (0.12, _jitter),
}
"""What a direction may do to packets, and how likely."""
