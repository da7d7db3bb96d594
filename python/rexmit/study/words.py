"""Settings in words, for figures and explorers: `hosts.near.access.delay` is "access delay of near".

A name that is not that of a path, a link, a host or a transfer stays as it is: settings that vary together
have a name that people choose.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

PATH_WORDS = {
    "rate": "bandwidth",
    "delay": "delay",
    "queue": "queue",
    "aqm": "AQM",
    "qdisc": "queueing discipline",
    "shaper": "shaper",
    "burst": "burst of the bucket",
    "tick": "tick of the emulator",
    "delay_rule": "delay rule",
    "link": "links to the hosts",
    "overhead": "overhead per packet",
    "emulator": "emulator",
    "drop": "dropped packet",
    "loss": "random loss",
}
"""What the settings of a path or link are called."""


def in_words(names: Sequence[str], scenario: Mapping[str, Any] | None = None) -> dict[str, str]:
    """What people call each of these settings; transfers have the names that `scenario` gives them.

    Where two would be called the same, both keep their dotted names.
    """
    told = {name: setting_in_words(name, scenario) for name in names}
    counts = Counter(told.values())
    return {name: name if counts[words] > 1 else words for name, words in told.items()}


def setting_in_words(name: str, scenario: Mapping[str, Any] | None = None) -> str:
    """What people call the setting of this dotted name."""
    head, dot, rest = name.partition(".")
    if not dot or not all(name.split(".")):
        return name
    if head in ("path", "alternate"):
        return _of_path(rest) + (" of the second path" if head == "alternate" else "")
    whose, _, key = rest.partition(".")
    if head == "links":
        return _of_link(whose, key)
    if head == "hosts":
        return _of_host(whose, key)
    if head == "transfers" and whose.isdecimal():
        return _of_transfer(int(whose), key, scenario)
    return name


def level_in_words(words: str, label: str) -> str:
    """A setting with its level: "queue of link core 40 packets", "AQM of link core: none"."""
    return f"{words} {label}" if label[:1].isdecimal() else f"{words}: {label}"


def _of_path(setting: str) -> str:
    for way, words in (("down", "server to client"), ("up", "client to server")):
        if setting == way:
            return f"path, {words}"
        if setting.startswith(f"{way}."):
            return f"{_path_word(setting.removeprefix(f'{way}.'))}, {words}"
    return "one-way delay" if setting == "delay" else _path_word(setting)


def _of_link(link: str, setting: str) -> str:
    if not setting:
        return f"link {link}"
    head, _, rest = setting.partition(".")
    point, dot, key = rest.partition(".")
    if head == "from" and point:
        return f"{_path_word(key)} of link {link} from {point}" if dot else f"link {link} from {point}"
    return f"{_path_word(setting)} of link {link}"


def _of_host(host: str, setting: str) -> str:
    if setting in _HOST:
        return _HOST[setting].format(host)
    head, _, rest = setting.partition(".")
    if head == "access":
        way, dot, key = rest.partition(".")
        if way in ("up", "down"):
            direction = {"up": "from", "down": "to"}[way]
            return (
                f"access {_path_word(key)} {direction} {host}" if dot else f"access link {direction} {host}"
            )
        return f"access {_path_word(rest)} of {host}"
    if head == "linux" and rest.startswith("sysctl."):
        return f"{rest.removeprefix('sysctl.')} of {host}"
    words = rest if head == "stack" else setting
    return f"{_STACK.get(words) or _spoken(words.removeprefix('options.'))} of {host}"


def _of_transfer(number: int, setting: str, scenario: Mapping[str, Any] | None) -> str:
    transfers = scenario.get("transfers") if scenario else None
    own = transfers[number] if isinstance(transfers, list) and number < len(transfers) else None
    name = own.get("name") if isinstance(own, Mapping) else None
    whose = f"transfer {number if name is None else name}"
    return f"{_spoken(setting.removeprefix('flows.'))} of {whose}" if setting else whose


def _path_word(setting: str) -> str:
    return PATH_WORDS.get(setting) or _spoken(setting)


def _spoken(setting: str) -> str:
    """The keys of a setting one after another, with abbreviations as the field writes them."""
    words = setting.replace(".", " ").replace("_", " ").split()
    return " ".join(word.upper() if word in _ABBREVIATIONS else _NAMES.get(word, word) for word in words)


_HOST = {
    "": "host {}",
    "access": "access link of {}",
    "at": "point of {}",
    "count": "number of hosts {}",
    "stack": "stack of {}",
}
_STACK = {"congestion.algorithm": "congestion control", "congestion": "congestion control"}
_ABBREVIATIONS = frozenset(
    (
        "ack",
        "aqm",
        "dsack",
        "ecn",
        "fack",
        "frto",
        "mss",
        "mtu",
        "prr",
        "rack",
        "red",
        "rto",
        "rtt",
        "sack",
        "srtt",
        "tcp",
    )
)
_NAMES = {"acks": "ACKs", "hystart": "HyStart", "linux": "Linux", "rtts": "RTTs", "nagle": "Nagle"}
