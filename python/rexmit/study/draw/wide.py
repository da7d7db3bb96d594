"""TCP over many kinds of paths and with many kinds of work, in groups: the wide set of `make fidelity`.

Each scenario holds both sides of what it sets: keys of the model (`stack`) and of a kernel (`linux`) that
mean the same, so the model of Linux 6.1 can be held against the kernel in it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from rexmit.study.draw.numbers import Numbers, bytes_of, ms, us
from rexmit.study.draw.wide_settings import draw_settings

Scenario = dict[str, Any]
Group = Callable[[Numbers, Scenario], None]

PHASES_US = 512_000
"""The part of the timer wheel's round in which a run may start."""


def draw_wide(number: int, seed: int, group: str | None = None) -> Scenario:
    """The scenario of this number, from 0; without a group, those of `WIDE_GROUPS` take turns."""
    if group is None:
        names = list(WIDE_GROUPS)
        number, group = number // len(names), names[number % len(names)]
    numbers = Numbers("wide", group, seed, number)
    scenario = _plain(numbers)
    _DRAWN[group](numbers, scenario)
    return scenario


def _plain(numbers: Numbers) -> Scenario:
    """One transfer over a bottleneck, without any loss but its queue's."""
    host: dict[str, Any] = {
        "stack": {
            "inherits": "linux-6.1",
            "congestion": {"algorithm": numbers.one_of("algorithm", ("reno", "cubic"))},
        },
        "tick_phase": us(numbers.whole("phase", 0, PHASES_US - 1)),
    }
    path = {
        "rate": f"{numbers.spread('rate', 250_000, 50_000_000)} bit/s",
        "delay": us(numbers.spread("delay", 500, 100_000)),
        "queue": f"{numbers.spread('queue', 8, 300)} packets",
    }
    transfer = {"from": "server", "to": "client", **_amount(numbers, 20_000, 1_000_000)}
    return {
        "hosts": {"server": host, "client": copy.deepcopy(host)},
        "path": path,
        "transfers": [transfer],
    }


def _amount(numbers: Numbers, least: int, most: int) -> dict[str, Any]:
    """So much in all: as one write in half of the scenarios, else as writes of one size."""
    size = numbers.spread("size", least, most)
    if numbers.chance("whole", 0.5):
        return {"writes": bytes_of(size)}
    each = numbers.spread("write", max(500, size // 400), min(size, 65_536))
    count, rest = divmod(size, each)
    last = f", {rest} bytes" if rest else ""
    return {"writes": f"{count} x {each} bytes{last}"}


def _of_path(scenario: Scenario, direction: str, **effects: Any) -> None:
    own = scenario["path"].setdefault(direction, {})
    own.update(effects)


def _some_losses(numbers: Numbers, scenario: Scenario, most: int, count: int = 2) -> None:
    """In half of the scenarios a few packets of the server's are lost, by their positions."""
    if numbers.chance("lost", 0.5):
        positions = numbers.positions("lost.positions", most, numbers.whole("lost.count", 1, count))
        _of_path(scenario, "down", drop=positions)


def _loss(numbers: Numbers, name: str, least: float, most: float) -> Any:
    """Random loss, single or in bursts; the chances are that a packet is lost or begins a burst."""
    chance = numbers.spread(name, least * 1e4, most * 1e4) / 1e4
    if numbers.chance(f"{name}.bursts", 0.5):
        return {"gilbert_elliott": {"p": chance, "r": numbers.spread(f"{name}.r", 15, 90) / 100}}
    return chance


def _fast(numbers: Numbers, scenario: Scenario) -> None:
    scenario["path"] = {
        "rate": f"{numbers.spread('rate', 20_000_000, 1_000_000_000)} bit/s",
        "delay": us(numbers.spread("delay", 50, 40_000)),
        "queue": f"{numbers.spread('queue', 20, 2_000)} packets",
    }
    scenario["transfers"][0] |= {"bulk": bytes_of(numbers.spread("size", 300_000, 20_000_000))}
    del scenario["transfers"][0]["writes"]
    _some_losses(numbers, scenario, 2_000, 4)


def _bursts(numbers: Numbers, scenario: Scenario) -> None:
    _of_path(
        scenario,
        "down",
        loss={
            "gilbert_elliott": {
                "p": numbers.spread("bursts.p", 10, 300) / 10_000,
                "r": numbers.spread("bursts.r", 10, 80) / 100,
            }
        },
    )


def _reordering(numbers: Numbers, scenario: Scenario) -> None:
    count = numbers.whole("late.count", 1, 8)
    which = numbers.positions("late.positions", 300, count)
    kind = numbers.one_of("late.kind", ("reorder", "hold", "period"))
    if kind == "hold":
        by = us(numbers.spread("late.by", 200, 100_000))
        _of_path(scenario, "down", hold={"position": which, "by": by})
        return
    past = numbers.spread("late.past", 1, 20)
    where: dict[str, Any] = {"position": which}
    if kind == "period":
        period = numbers.whole("late.every", 20, 100)
        where = {"position": numbers.whole("late.first", 1, period), "period": period}
    _of_path(scenario, "down", reorder={**where, "past": past})


def _duplication(numbers: Numbers, scenario: Scenario) -> None:
    direction = numbers.weighed("twice.direction", {"down": 0.7, "up": 0.3})
    if numbers.chance("twice.period", 0.4):
        period = numbers.whole("twice.every", 10, 80)
        where: Any = {"position": numbers.whole("twice.first", 1, period), "period": period}
    else:
        where = numbers.positions("twice.positions", 300, numbers.whole("twice.count", 1, 10))
    _of_path(scenario, direction, duplicate=where)
    _some_losses(numbers, scenario, 200)


def _jitter(numbers: Numbers, scenario: Scenario) -> None:
    delay = int(scenario["path"]["delay"].split()[0])
    jitter: dict[str, Any] = {"spread": us(numbers.spread("jitter", max(20, delay / 50), max(40, delay / 3)))}
    if numbers.chance("jitter.normal", 0.5):
        jitter["distribution"] = "normal"
    if numbers.chance("jitter.reorder", 0.25):
        jitter["reorder"] = True
    for direction in numbers.one_of("jitter.where", (("down",), ("up",), ("down", "up"))):
        _of_path(scenario, direction, jitter=jitter)
    _some_losses(numbers, scenario, 200)


def _ack_loss(numbers: Numbers, scenario: Scenario) -> None:
    _of_path(scenario, "up", loss=_loss(numbers, "acks", 0.01, 0.4))
    _some_losses(numbers, scenario, 200)


def _ecn(numbers: Numbers, scenario: Scenario) -> None:
    for host in scenario["hosts"].values():
        host["linux"] = {"ecn": 1}
        host["stack"]["ecn"] = {"mode": "on"}
    if numbers.chance("marks.aqm", 0.5):
        _queue_managed(numbers, scenario, ecn=True)
    else:
        count = numbers.whole("marks.count", 1, 6)
        _of_path(scenario, "down", mark=numbers.positions("marks.positions", 300, count))
    _some_losses(numbers, scenario, 200)


def _queue_managed(numbers: Numbers, scenario: Scenario, ecn: bool) -> None:
    kind = numbers.one_of("aqm", ("codel", "fq_codel", "pie", "red"))
    if kind == "red":
        least = numbers.whole("aqm.min", 3, 20)
        own: dict[str, Any] = {
            "min": f"{least} packets",
            "max": f"{3 * least} packets",
            "probability": numbers.one_of("aqm.probability", (0.02, 0.05, 0.1)),
            "weight": 0.01,
        }
    else:
        own = {"target": ms(numbers.spread("aqm.target", 5, 40))}
    scenario["path"]["aqm"] = {kind: {**own, "ecn": ecn}}
    scenario["path"]["queue"] = f"{numbers.spread('queue', 50, 1_000)} packets"


def _aqm(numbers: Numbers, scenario: Scenario) -> None:
    _queue_managed(numbers, scenario, ecn=False)


def _small_buffers(numbers: Numbers, scenario: Scenario) -> None:
    """Receive buffers of 8 kB to 256 kB of memory at most: the window is what limits the sender."""
    most = numbers.spread("memory", 8_192, 262_144)
    first = min(131_072, numbers.spread("memory.first", 8_192, most) if most > 8_192 else most)
    client = scenario["hosts"]["client"]
    client["linux"] = {"sysctl": {"net.ipv4.tcp_rmem": f"4096 {first} {most}"}}
    client["stack"]["window"] = {"tuning": {"first": bytes_of(first), "most": bytes_of(most)}}
    # The window scale is computed for at least net.core.rmem_max.
    client["stack"]["buffers"] = {"max": bytes_of(max(most, RMEM_MAX))}
    _some_losses(numbers, scenario, 100)


RMEM_MAX = 212_992
"""The default of `net.core.rmem_max`."""


def _slow_readers(numbers: Numbers, scenario: Scenario) -> None:
    rate = int(scenario["path"]["rate"].split()[0])
    read = {"size": bytes_of(numbers.spread("read.size", 500, 65_536))}
    if numbers.chance("read.slow", 0.85):
        read["rate"] = f"{numbers.spread('read.rate', rate / 10, rate * 1.2)} bit/s"
    scenario["transfers"][0]["read"] = read
    _some_losses(numbers, scenario, 100)


def _thin(numbers: Numbers, scenario: Scenario) -> None:
    count, size = numbers.whole("thin.count", 10, 80), numbers.spread("thin.size", 20, 2_000)
    pause = ms(numbers.spread("thin.pause", 2, 500))
    scenario["transfers"][0] |= {"writes": f"{count} x {size} bytes", "pause": pause}
    if numbers.chance("thin.nodelay", 0.4):
        scenario["transfers"][0]["socket"] = {"nagle": False}
    _of_path(scenario, "down", loss=_loss(numbers, "thin.loss", 0.01, 0.1))


def _requests(numbers: Numbers, scenario: Scenario) -> None:
    requests: dict[str, Any] = {
        "count": numbers.whole("requests.count", 2, 12),
        "request": bytes_of(numbers.spread("requests.request", 20, 6_000)),
        "response": bytes_of(numbers.spread("requests.response", 100, 200_000)),
    }
    for key, most in (("think", 300), ("pause", 3_000)):
        if numbers.chance(f"requests.{key}", 0.5):
            requests[key] = ms(numbers.spread(f"requests.{key}.ms", 1, most))
    del scenario["transfers"][0]["writes"]
    scenario["transfers"][0]["requests"] = requests
    for direction, most in (("down", 100), ("up", 40)):
        if numbers.chance(f"requests.{direction}", 0.4):
            lost = numbers.positions(f"requests.{direction}.lost", most, 2)
            _of_path(scenario, direction, drop=lost)


def _sharing(numbers: Numbers, scenario: Scenario) -> None:
    scenario["transfers"][0] |= {
        "connections": numbers.whole("sharing", 2, 6),
        "stagger": ms(numbers.spread("sharing.stagger", 1, 300)),
    }


def _changes(numbers: Numbers, scenario: Scenario) -> None:
    rate = int(scenario["path"]["rate"].split()[0])
    at, changes = 0, []
    for i in range(numbers.whole("changes", 1, 4)):
        at += numbers.spread(f"changes.{i}.at", 50, 1_500)
        if numbers.chance(f"changes.{i}.delay", 0.5):
            changes.append({"at": ms(at), "delay": us(numbers.spread(f"changes.{i}.us", 500, 150_000))})
        else:
            new = numbers.spread(f"changes.{i}.rate", rate / 8, rate * 4)
            changes.append({"at": ms(at), "rate": f"{new} bit/s"})
    scenario["path"]["down"] = {"changes": changes}
    amount = {"writes": bytes_of(numbers.spread("changes.size", 100_000, 2_000_000))}
    scenario["transfers"][0] |= amount


def _sysctls(numbers: Numbers, scenario: Scenario) -> None:
    for name, host in scenario["hosts"].items():
        linux, stack = draw_settings(numbers, name, host["stack"])
        host["linux"], host["stack"] = linux, stack
    _of_path(scenario, "down", loss=_loss(numbers, "sysctls.loss", 0.002, 0.03))


def _bbr(numbers: Numbers, scenario: Scenario) -> None:
    for host in scenario["hosts"].values():
        host["stack"]["congestion"] = {"algorithm": "bbr"}
    if numbers.chance("bbr.loss", 0.5):
        _of_path(scenario, "down", loss=_loss(numbers, "bbr.lost", 0.002, 0.03))


_GROUPS: Mapping[str, tuple[str, Group]] = {
    "fast": ("20 Mbit/s to 1 Gbit/s, 300 kB to 20 MB", _fast),
    "bursts": ("random loss in bursts, of the server's packets", _bursts),
    "reordering": ("packets that others overtake", _reordering),
    "duplication": ("packets that arrive twice, either way", _duplication),
    "jitter": ("random variation of the delay", _jitter),
    "ack-loss": ("1 to 40 % of the acknowledgments are lost", _ack_loss),
    "ecn": ("marks instead of losses (RFC 3168)", _ecn),
    "aqm": ("CoDel, FlowQueue-CoDel, PIE and RED", _aqm),
    "small-buffers": ("receive buffers of 8 to 256 kB", _small_buffers),
    "slow-readers": ("an application that reads slowly", _slow_readers),
    "thin": ("small writes with pauses, with losses", _thin),
    "requests": ("requests and responses", _requests),
    "sharing": ("two to six connections over one bottleneck", _sharing),
    "changes": ("sudden changes of rate and delay", _changes),
    "sysctls": ("settings of the kernel that the model has a key for, with losses", _sysctls),
    "bbr": ("BBR, with and without losses", _bbr),
}

WIDE_GROUPS: Mapping[str, str] = {name: words for name, (words, _) in _GROUPS.items()}
"""What the wide set consists of, by name."""

_DRAWN: Mapping[str, Group] = {name: drawn for name, (_, drawn) in _GROUPS.items()}
