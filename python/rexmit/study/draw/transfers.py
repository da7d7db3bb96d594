"""What applications send: every kind of work, over one connection or several, one way or both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rexmit.study.draw.numbers import Numbers, bytes_of, ms

Work = Callable[[Numbers, str], dict[str, Any]]

MESSAGE_MOST = 8000
"""The most bytes of an SCTP message: the smallest send buffer holds it."""


def draw_transfers(numbers: Numbers, sctp: bool, limited: bool) -> list[dict[str, Any]]:
    """One transfer mostly, some with a second one in the other or the same direction.

    Where the path is not `limited` by a rate, nothing is sent for long.
    """
    count = numbers.weighed("transfers", {1: 0.75, 2: 0.22, 3: 0.03})
    transfers = [_transfer(numbers, f"transfers.{i}", sctp, i) for i in range(count)]
    for i, transfer in enumerate(transfers):
        if not limited and str(transfer.get("bulk", "")).endswith(" ms"):
            transfer["bulk"] = ms(numbers.spread(f"transfers.{i}.bulk.short", 2, 30))
    return transfers


def _transfer(numbers: Numbers, of: str, sctp: bool, index: int) -> dict[str, Any]:
    up = numbers.chance(f"{of}.up", 0.7 if index else 0.15)
    ends = ("client", "server") if up else ("server", "client")
    kind = numbers.weighed(f"{of}.kind", {name: chance for name, (chance, _) in WORKS.items()})
    transfer: dict[str, Any] = {"from": ends[0], "to": ends[1], **WORKS[kind][1](numbers, of)}
    if "bulk" in transfer and sctp:
        transfer["write_size"] = bytes_of(numbers.spread(f"{of}.write_size", 100, MESSAGE_MOST))
    if numbers.chance(f"{of}.connections", 0.15):
        transfer["connections"] = numbers.whole(f"{of}.connections.count", 2, 6)
        if numbers.chance(f"{of}.stagger", 0.6):
            transfer["stagger"] = ms(numbers.spread(f"{of}.stagger.ms", 1, 500))
    if numbers.chance(f"{of}.close", 0.2):
        transfer["close"] = False
    if numbers.chance(f"{of}.opened_by", 0.25):
        transfer["opened_by"] = ends[0]
    if index or numbers.chance(f"{of}.start", 0.1):
        transfer["start"] = ms(numbers.spread(f"{of}.start.ms", 1, 2000))
    if kind != "requests" and numbers.chance(f"{of}.read", 0.1):
        transfer["read"] = _read(numbers, f"{of}.read")
    if "pause" in transfer and numbers.chance(f"{of}.sleep", 0.2):
        rule = numbers.one_of(f"{of}.sleep.rule", ("nanosleep", "itimer"))
        transfer["sleep"] = {"tick": ms(numbers.one_of(f"{of}.sleep.tick", (1, 4, 10))), "rule": rule}
    if sctp and kind != "requests":
        transfer.update(_of_messages(numbers, of))
    return transfer


def _read(numbers: Numbers, of: str) -> dict[str, str]:
    size = {"size": bytes_of(numbers.spread(f"{of}.size", 200, 20_000))}
    if numbers.chance(f"{of}.slow", 0.6):
        size["rate"] = f"{numbers.spread(f'{of}.rate', 100_000, 10_000_000)} bit/s"
    return size


def _of_messages(numbers: Numbers, of: str) -> dict[str, Any]:
    """What only SCTP has."""
    own: dict[str, Any] = {}
    if numbers.chance(f"{of}.streams", 0.3):
        own["streams"] = numbers.whole(f"{of}.streams.count", 2, 8)
    if numbers.chance(f"{of}.unordered", 0.2):
        own["unordered"] = True
    if numbers.chance(f"{of}.reliability", 0.2):
        if numbers.chance(f"{of}.lifetime", 0.5):
            own["lifetime"] = ms(numbers.spread(f"{of}.lifetime.ms", 5, 2000))
        else:
            own["max_retransmits"] = numbers.whole(f"{of}.max_retransmits", 0, 3)
    return own


def _writes(numbers: Numbers, of: str) -> dict[str, Any]:
    count = numbers.spread(f"{of}.writes.count", 1, 40)
    each = numbers.spread(f"{of}.writes.size", 100, MESSAGE_MOST)
    first = bytes_of(numbers.spread(f"{of}.writes.first", 1, MESSAGE_MOST))
    return {"writes": f"{first}, {count} x {each} bytes"}


def _amount(numbers: Numbers, of: str) -> dict[str, Any]:
    return {"bulk": bytes_of(numbers.spread(f"{of}.bulk.bytes", 5000, 400_000))}


def _time(numbers: Numbers, of: str) -> dict[str, Any]:
    # A write waits for room, so that the buffer's content is sent after the time is over.
    size = {"write_size": bytes_of(numbers.spread(f"{of}.bulk.write", 500, 8000))}
    return {"bulk": ms(numbers.spread(f"{of}.bulk.ms", 20, 1500)), **size}


def _thin(numbers: Numbers, of: str) -> dict[str, Any]:
    count, size = numbers.whole(f"{of}.thin.count", 3, 40), numbers.spread(f"{of}.thin.size", 20, 1500)
    return {"writes": f"{count} x {size} bytes", "pause": ms(numbers.spread(f"{of}.thin.pause", 2, 800))}


def _bursts(numbers: Numbers, of: str) -> dict[str, Any]:
    size, many = numbers.spread(f"{of}.bursts.size", 50, 4000), numbers.whole(f"{of}.bursts.writes", 1, 6)
    every = ms(numbers.spread(f"{of}.bursts.every", 20, 3000))
    count = numbers.whole(f"{of}.bursts.count", 2, 8)
    pause = {"pause": ms(2)} if numbers.chance(f"{of}.bursts.pause", 0.4) else {}
    return {"writes": f"{many} x {size} bytes", "bursts": {"count": count, "every": every}, **pause}


def _requests(numbers: Numbers, of: str) -> dict[str, Any]:
    requests: dict[str, Any] = {
        "count": numbers.whole(f"{of}.requests.count", 1, 8),
        "request": bytes_of(numbers.spread(f"{of}.requests.request", 20, 3000)),
        "response": bytes_of(numbers.spread(f"{of}.requests.response", 100, MESSAGE_MOST)),
    }
    for key, most in (("think", 300), ("pause", 4000)):
        if numbers.chance(f"{of}.requests.{key}", 0.4):
            requests[key] = ms(numbers.spread(f"{of}.requests.{key}.ms", 1, most))
    return {"requests": requests}


def _messages(numbers: Numbers, of: str) -> dict[str, Any]:
    sizes = (
        "100 bytes",
        "uniform 50 bytes to 3 kB",
        "exponential 300 bytes",
        "lognormal 200 bytes 0.8",
    )
    every = numbers.spread(f"{of}.messages.every", 5, 300)
    messages = {
        "time": ms(numbers.spread(f"{of}.messages.time", 100, 8000)),
        "size": numbers.one_of(f"{of}.messages.size", sizes),
        "every": numbers.one_of(f"{of}.messages.how", (f"{every} ms", f"exponential {every} ms")),
    }
    if numbers.chance(f"{of}.messages.burst", 0.3):
        messages |= {"burst": "uniform 1 to 6", "within": "1 ms"}
    return {"messages": messages}


WORKS: Mapping[str, tuple[float, Work]] = {
    "writes": (3.0, _writes),
    "amount": (3.0, _amount),
    "time": (1.5, _time),
    "thin": (1.5, _thin),
    "bursts": (1.0, _bursts),
    "requests": (1.5, _requests),
    "messages": (1.0, _messages),
}
"""Kinds of work, and how likely each is."""
