"""Measures of a study's connections and links as responses: what `[responses]` says with `measure`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rexmit import _native
from rexmit.errors import StudyError, nearest
from rexmit.study.network import Direction, directions
from rexmit.study.settings import Table
from rexmit.tables import Column
from rexmit.units import parse_bytes

STATS = ("mean", "p50", "p95", "p99", "max")
REASONS = ("pattern", "random", "queue", "aqm")

_WINDOW = ("from", "to")
_SIZES = ("at_least", "below")
KEYS: Mapping[str, tuple[str, ...]] = {
    "jain": ("transfers", *_WINDOW),
    "ratio": ("transfers", "over", *_WINDOW),
    "share": ("transfers", "link", *_WINDOW),
    "utilisation": ("link", *_WINDOW),
    "drops": ("link", "reason", *_WINDOW),
    "queue": ("link", "stat", "unit", *_WINDOW),
    "completion": ("transfers", "stat", *_SIZES),
    "slowdown": ("transfers", "stat", *_SIZES),
    "convergence": ("transfers", "within", "span"),
}
"""The kinds of measures, and the keys of each beside `measure` and `meaning`."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    kind: ("link",) if "link" in keys else () for kind, keys in KEYS.items()
} | {"ratio": ("transfers", "over"), "share": ("transfers",)}
"""Those that each must have."""

_UNITS = {"drops": "packets", "completion": "ms", "convergence": "s"}
_NULL = {
    "jain": "no connection was open and delivered anything",
    "ratio": "a side had no connection that was open, or the second delivered nothing",
    "share": "nothing was delivered; of a link: its rate has no limit, or follows a trace",
    "utilisation": "the link's rate has no limit, or changes; or the run ended before the window",
    "drops": "there was no such link, or the run ended before the window",
    "queue": "it was not sampled, or the link has no rate, or the run ended before the window",
    "completion": "no such connection ended",
    "slowdown": "no such connection ended, or a link on its way has no fixed rate",
    "convergence": "they never did for that long",
}


@dataclass(frozen=True)
class LinkEnd:
    """A direction of a link. Without `start` and `end` it is the one from the first of its points."""

    name: str
    start: str | None = None
    end: str | None = None

    def __str__(self) -> str:
        start = f" from {self.start}" if self.start else ""
        return f"{self.name}{start}{f' to {self.end}' if self.end else ''}"

    def is_of(self, way: Direction) -> bool:
        """Whether this direction is meant, or may be."""
        return way.name == self.name and self.start in (None, way.start) and self.end in (None, way.end)


@dataclass(frozen=True)
class Measure:
    """A column of the table of runs that is computed from what connections and links did.

    `kind` is one of `KEYS`, `given` its table as the study has it. Times are in ns; without an end a
    window lasts until that of the run. `sizes` are bytes: at least the first, below the second.
    """

    name: str
    kind: str
    given: Table
    transfers: tuple[str, ...] | None = None
    over: tuple[str, ...] = ()
    link: LinkEnd | None = None
    window: tuple[int, int | None] | None = None
    stat: str = "mean"
    reason: str | None = None
    in_packets: bool = False
    sizes: tuple[int, int | None] = (0, None)
    within: float = 1.25
    span: int = 5_000_000_000

    @property
    def needs_intervals(self) -> bool:
        """Whether it is computed from tables over time."""
        return self.window is not None or self.kind == "convergence"

    @property
    def unit(self) -> str | None:
        """The unit of its values."""
        if self.kind == "queue":
            return "packets" if self.in_packets else "ms"
        return _UNITS.get(self.kind)

    @property
    def column(self) -> Column:
        """Its column."""
        return Column(
            self.name, "<f8?", self.given.get("meaning") or self._words(), self.unit, _NULL[self.kind]
        )

    def to_table(self) -> Table:
        """As its table in a study's file has it."""
        return dict(self.given)

    def _words(self) -> str:
        whose = "all transfers" if self.transfers is None else _listed(self.transfers)
        stat = "largest" if self.stat == "max" else self.stat
        of_all = "all bytes delivered"
        what: dict[str, Callable[[], str]] = {
            "jain": lambda: f"Jain's index of the goodputs of {whose}",
            "ratio": lambda: f"mean goodput of a connection of {whose} over that of {_listed(self.over)}",
            "share": lambda: (
                f"share of {whose} in {of_all if self.link is None else f'what {self.link} allows'}"
            ),
            "utilisation": lambda: f"utilisation of {self.link}",
            "drops": lambda: f"drops at {self.link}{f' by {self.reason}' if self.reason else ''}",
            "queue": lambda: f"{stat} queue at {self.link}",
            "completion": lambda: f"{stat} completion time of {whose}",
            "slowdown": lambda: f"{stat} slowdown of {whose}: completion time over the ideal one",
            "convergence": lambda: (
                f"time until {whose} stay within a factor of {self.within:g} of the fair share "
                f"for {self.span / 1e9:g} s"
            ),
        }
        return "".join([what[self.kind](), *self._limits()])

    def _limits(self) -> Iterator[str]:
        if self.window is not None:
            start, end = self.window
            yield f", from {start / 1e9:g} s" + ("" if end is None else f" to {end / 1e9:g} s")
        least, below = self.sizes
        if least or below is not None:
            yield f", of flows of at least {least:,} bytes" if least else ", of flows"
            yield "" if below is None else f"{' and' if least else ' of'} less than {below:,} bytes"


def parse_measure(name: str, given: Mapping[str, Any]) -> Measure:
    """A measure from its table. Raises StudyError naming the key that does not fit."""
    where = f"responses.{name}"
    kind = given["measure"]
    if kind not in KEYS:
        raise StudyError(f"{where}.measure: {kind!r} is not a measure{nearest(str(kind), KEYS)}")
    known = ("measure", "meaning", *KEYS[kind])
    for key in given:
        if key not in known:
            raise StudyError(f"{where}: {kind} has no key {key!r}{nearest(key, known)}")
    for key in NEEDED[kind]:
        if key not in given:
            what = 'such as "bottleneck"' if key == "link" else 'such as ["near"]'
            raise StudyError(f"{where}.{key}: is missing; {kind} needs it, {what}")
    read = _Reader(where, given)
    if not isinstance(given.get("meaning", ""), str):
        raise StudyError(f"{where}.meaning: {given['meaning']!r} is not text")
    stats = tuple(one for one in STATS if one != "p50") if kind == "queue" else STATS
    window = read.time("from", 0), read.time("to", None)
    sizes = read.size("at_least", 0), read.size("below", None)
    for (low, high), keys in ((window, _WINDOW), (sizes, _SIZES)):
        if low is not None and high is not None and high <= low:
            raise StudyError(
                f"{where}.{keys[1]}: {given[keys[1]]!r} is not after {keys[0]} {given.get(keys[0], 0)!r}"
            )
    if given.keys() & set(_WINDOW):
        if kind == "drops" and "reason" in given:
            raise StudyError(f"{where}.reason: drops in a window are not split by reason; leave it out")
        if kind == "queue" and given.get("stat", "mean") not in ("mean", "max"):
            raise StudyError(f"{where}.stat: {given['stat']!r} is not one of mean, max, which a window has")
    return Measure(
        name,
        kind,
        dict(given),
        transfers=read.names("transfers"),
        over=read.names("over") or (),
        link=read.link(),
        window=(window[0] or 0, window[1]) if given.keys() & set(_WINDOW) else None,
        stat=read.choice("stat", stats) or "mean",
        reason=read.choice("reason", REASONS),
        in_packets=read.choice("unit", ("ms", "packets")) == "packets",
        sizes=(sizes[0] or 0, sizes[1]),
        within=read.factor(),
        span=read.time("span", None) or Measure.span,
    )


class _Reader:
    """Values of one measure's table, each refused in one line."""

    def __init__(self, where: str, given: Mapping[str, Any]) -> None:
        self._where = where
        self._given = given

    def names(self, key: str) -> tuple[str, ...] | None:
        value = self._given.get(key)
        if value is None:
            return None
        if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
            raise self._wrong(key, 'is not a list of names; write such as ["near", "far"]')
        return tuple(dict.fromkeys(value))

    def link(self) -> LinkEnd | None:
        value = self._given.get("link")
        if value is None:
            return None
        if isinstance(value, str):
            return LinkEnd(value)
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            raise self._wrong(
                "link", 'is not a link; write "bottleneck" or { name = "bottleneck", from = "left" }'
            )
        for key, one in value.items():
            if key not in ("name", "from", "to"):
                raise StudyError(
                    f"{self._where}.link: unknown key {key!r}{nearest(key, ('name', 'from', 'to'))}"
                )
            if not isinstance(one, str):
                raise StudyError(f"{self._where}.link.{key}: {one!r} is not a name")
        return LinkEnd(value["name"], value.get("from"), value.get("to"))

    def time(self, key: str, default: int | None) -> int | None:
        return self._number(key, default, _native.parse_duration, "is not a time")

    def size(self, key: str, default: int | None) -> int | None:
        return self._number(key, default, parse_bytes, "is not an amount of data")

    def choice(self, key: str, known: tuple[str, ...]) -> str | None:
        value = self._given.get(key)
        if value is not None and value not in known:
            raise self._wrong(key, f"is none of {', '.join(known)}{nearest(str(value), known)}")
        return value

    def factor(self) -> float:
        value = self._given.get("within", Measure.within)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 1 < value < float("inf"):
            raise self._wrong("within", "is not a factor above 1; write such as 1.25")
        return float(value)

    def _number(self, key: str, default: int | None, parse: Callable[[str], int], what: str) -> int | None:
        value = self._given.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self._wrong(key, f'{what}; write it with its unit, such as "{_EXAMPLES[key]}"')
        try:
            return parse(value)
        except ValueError as error:
            raise StudyError(f"{self._where}.{key}: {error}") from None

    def _wrong(self, key: str, text: str) -> StudyError:
        return StudyError(f"{self._where}.{key}: {self._given.get(key)!r} {text}")


_EXAMPLES = {"from": "5 s", "to": "25 s", "span": "5 s", "at_least": "100 kB", "below": "10 MB"}


# Against the scenario


def check_measures(measures: Iterable[Measure], scenarios: Iterable[Table], over_time: bool | None) -> None:
    """Checks measures against the scenarios of the runs that they measure.

    `scenarios` are those between which the names of transfers and links differ; `over_time` says whether runs
    tell what was by intervals, and is None where they tell nothing of connections and links.

    Raises StudyError for one that names what no run has, or asks for what no run tells.
    """
    found = list(measures)
    if not found:
        return
    if over_time is None:
        raise StudyError(
            f"responses.{found[0].name}: measures are taken of connections and links; give the scenario "
            "measure = {}, or take a network"
        )
    tables = list(scenarios)
    transfers = {name for table in tables for name in transfer_names(table)}
    links = {way[:3] for table in tables for way in directions(table)}
    for one in found:
        where = f"responses.{one.name}"
        if one.needs_intervals and not over_time:
            what = (
                "convergence is measured by intervals"
                if one.window is None
                else "a window is made of intervals"
            )
            raise StudyError(f'{where}: {what}; give the scenario measure.every = "500 ms"')
        for key, names in (("transfers", one.transfers or ()), ("over", one.over)):
            for name in names:
                if name not in transfers:
                    raise StudyError(f"{where}.{key}: {name!r} is not a transfer{nearest(name, transfers)}")
        if one.link is not None:
            _check_link(f"{where}.link", one.link, links)
            between = any(end[0] != "access" for end in links)
            if one.kind == "queue" and one.link.name == "access" and between:
                raise StudyError(
                    f"{where}.link: queues of hosts' own links are not sampled where there are others; "
                    "name one of these"
                )
            if one.window is not None and one.link.name == "access":
                raise StudyError(
                    f"{where}: hosts' own links are not measured by intervals; leave from and to out"
                )


def _check_link(where: str, link: LinkEnd, ends: set[tuple[str, str, str]]) -> None:
    own = [end for end in ends if end[0] == link.name]
    if not own:
        raise StudyError(
            f"{where}: {link.name!r} is not a link{nearest(link.name, {end[0] for end in ends})}"
        )
    for key, name, place in (("from", link.start, 1), ("to", link.end, 2)):
        points = {end[place] for end in own}
        if name is not None and name not in points:
            raise StudyError(f"{where}.{key}: {name!r} is not an end of {link.name}{nearest(name, points)}")
    if link.name == "access" and link.start is None and link.end is None:
        hosts = {end[2] for end in own}
        raise StudyError(
            f'{where}: each host has an access link; write from or to, such as from = "{min(hosts)}"'
        )
    fits = [end for end in own if link.start in (None, end[1]) and link.end in (None, end[2])]
    if link.name == "access" and len(fits) > 1:
        raise StudyError(f"{where}: {link} is more than one link; name the host with from or to")


def transfer_names(scenario: Mapping[str, Any]) -> Iterator[str]:
    """The names of a scenario's transfers, as results have them."""
    transfers = scenario.get("transfers")
    for number, transfer in enumerate(transfers if isinstance(transfers, list) else ()):
        name = transfer.get("name") if isinstance(transfer, Mapping) else None
        yield name if isinstance(name, str) else str(number)


def _listed(names: tuple[str, ...]) -> str:
    return re.sub(r", ([^,]*)$", r" and \1", ", ".join(names))
