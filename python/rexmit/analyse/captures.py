"""Captures read by the native analysis, a batch of rows at a time.

Memory follows what is kept of the rows: `read` keeps nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from rexmit import _native
from rexmit.analyse.quantities import duration
from rexmit.analyse.rows import RawTable
from rexmit.errors import UsageError, nearest, one_line
from rexmit.run.stopping import asked
from rexmit.units import plural

PACKETS = 1 << 16
"""Packets between two reports of progress; also roughly the rows of a batch."""

SMALL = (
    "connections",
    "retransmissions",
    "loss_events",
    "associations",
    "paths",
    "streams",
    "sctp_retransmissions",
    "sctp_controls",
)
"""Tables with one row per connection or retransmission: always judged."""

LARGE = ("segments", "sacks", "rtt", "held", "chunks", "sctp_sacks", "sctp_rtt")
"""Tables with one row per packet, sample or wait: only where asked for."""

TABLES = (*SMALL, *LARGE)

LARGEST = 2**31 - 1
"""The largest whole number that an option takes."""

Opened = TypeVar("Opened")

Progress = Callable[[int, int, int], None]
"""Called now and then with bytes read, bytes in all and packets."""


@dataclass(frozen=True)
class Options:
    """How captures are judged.

    `filter` keeps some packets only. Losses within `loss_event_rtts` RTTs are one loss event: 2 as
    klaver-2005, 1 as RFC 5348. `sctp_threshold` missing reports make sctp_trace call a retransmission of SCTP
    fast: 3 as RFC 9260, 4 as the lksctp of pedersen-2006. `jobs` is the number of threads, None for every
    core. `tables` names the tables whose rows are wanted.
    """

    filter: str | None = None
    loss_event_rtts: float = 2.0
    sctp_threshold: int = 3
    jobs: int | None = None
    tables: Sequence[str] = SMALL


@dataclass
class Summary:
    """What there is to say of a capture as a whole, after it was read."""

    packets: int = 0
    tcp: int = 0
    sctp: int = 0
    skipped: dict[str, Any] = field(default_factory=dict)
    interfaces: list[dict[str, Any]] = field(default_factory=list)
    broken_off: dict[str, Any] | None = None
    options_cut: int = 0
    backwards: dict[str, int] = field(default_factory=dict)
    limits: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def of(cls, told: dict[str, Any]) -> Summary:
        """From the JSON of the native analysis; unknown keys are ignored."""
        known = {own.name for own in fields(cls)}
        return cls(**{name: value for name, value in told.items() if name in known and value is not None})

    @property
    def damaged(self) -> bool:
        """Whether the file breaks off, so that packets may be missing at its end."""
        return self.broken_off is not None

    @property
    def nothing(self) -> list[str]:
        """Why there is nothing to judge, in at most one line."""
        if self.tcp or self.sctp:
            return []
        if not self.packets:
            return ["no packets: capture while the transfer runs, without a filter that leaves it out"]
        if self.quic:
            return ["QUIC alone, which hides what it retransmits; give captures of both ends to see losses"]
        return ["neither TCP nor SCTP, so nothing to judge: capture the transfer, as with the filter 'tcp'"]

    @property
    def warnings(self) -> list[str]:
        """What makes the answers less than certain, a line each."""
        found = []
        if self.broken_off is not None:
            found.append(f"{self.broken_off['what']}; everything before that was judged")
        for link, number in self.skipped.get("unknown_link", {}).items():
            found.append(f"{plural(number, 'frame')} of an unknown link-layer type, number {link}")
        for reason, text in _UNREADABLE.items():
            if number := self.skipped.get(reason, 0):
                found.append(plural(number, *text))
        if self.options_cut:
            found.append(
                f"{plural(self.options_cut, 'packet')} of which the capture kept only a part of the TCP "
                "options; SACK blocks and timestamps may be missing there"
            )
        if number := self.backwards.get("packets", 0):
            found.append(
                f"{plural(number, 'packet has a time', 'packets have times')} before the previous packet (by "
                f"up to {duration(self.backwards.get('largest_ns'))}); small steps were put in order, after "
                "larger ones, times and causes may be wrong"
            )
        found += [f"limit: {acted['text']}" for acted in self.limits]
        for interface in self.interfaces:
            drops = [interface[name] for name in ("dropped_by_interface", "dropped_by_system")]
            lost = max(sum(number for number in drops if number), interface["dropped_between"])
            if lost:
                name = one_line(interface["name"] or "") or f"of link type {interface['link_type']}"
                found.append(f"interface {name}: the capture misses {plural(lost, 'packet')} that passed")
        return found

    @property
    def limited(self) -> dict[str, int]:
        """How often each limit that acted did so, by its name (see the page on limits)."""
        return {acted["limit"]: acted["times"] for acted in self.limits}

    @property
    def quic(self) -> int:
        """Datagrams of QUIC, which is not judged."""
        return int(self.skipped.get("quic", 0))

    @property
    def others(self) -> int:
        """Packets of other protocols, and those that the filter left out."""
        return sum(int(self.skipped.get(name, 0)) for name in ("not_ip", "other_transport", "filtered"))


class Reading:
    """One pass over a capture, or over two of one flow. Iterate over it, then look at `summary`."""

    def __init__(
        self, paths: Sequence[str | Path], options: Options, progress: Progress | None = None
    ) -> None:
        """Opens the files.

        Raises UsageError for one that cannot be read or is not a capture, and for a wrong option.
        """
        self.paths = [Path(path) for path in paths]
        self.summary = Summary()
        self._options, self._progress = options, progress
        self._native = self._open()

    def __iter__(self) -> Iterator[dict[str, RawTable]]:
        """The tables asked for, as rows become final; a part may have none."""
        wanted = self._options.tables
        while (tables := self._native.step(PACKETS, asked)) is not None:
            if self._progress is not None:
                self._progress(*self._native.progress())
            yield {name: tables[name] for name in wanted}
        self.summary = Summary.of(json.loads(self._native.summary()))

    def _open(self) -> _native.Analysis:
        options = native_options(self._options)
        return opened(self.paths, lambda: _native.Analysis([str(path) for path in self.paths], options))


def native_options(options: Options) -> str:
    """The options as the native analysis takes them. Raises UsageError for one that is not allowed."""
    unknown = [name for name in options.tables if name not in TABLES]
    if unknown:
        raise UsageError(f"no table {unknown[0]!r}{nearest(unknown[0], TABLES)}")
    if not 0 < options.loss_event_rtts < math.inf:
        raise UsageError(f"loss_event_rtts {options.loss_event_rtts}: give a number above 0, such as 2")
    if not 1 <= options.sctp_threshold <= LARGEST:
        raise UsageError(f"sctp_threshold {options.sctp_threshold}: give a whole number from 1, such as 3")
    if options.jobs is not None and not 1 <= options.jobs <= LARGEST:
        raise UsageError(f"jobs {options.jobs}: give a number of threads from 1, or none for every core")
    given = {
        "filter": options.filter,
        "loss_event_rtts": options.loss_event_rtts,
        "missing_reports": options.sctp_threshold,
        "threads": options.jobs,
        "segments": bool({"segments", "sacks"}.intersection(options.tables)),
        "rtt": bool({"rtt", "sctp_rtt"}.intersection(options.tables)),
        "held": "held" in options.tables,
        "chunks": bool({"chunks", "sctp_sacks"}.intersection(options.tables)),
    }
    return json.dumps(given)


def opened(paths: Sequence[Path], make: Callable[[], Opened]) -> Opened:
    """What `make` opens. Raises UsageError of one line for a file that cannot be read or is not a capture."""
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: there is no such capture")
        if path.is_dir():
            raise UsageError(f"{path}: is a folder; name a capture in it")
    try:
        return make()
    except ValueError as error:
        raise UsageError(one_line(error)) from None
    except OSError as error:
        raise UsageError(one_line(error.strerror or error)) from None


def table_names(names: Sequence[str]) -> tuple[str, ...]:
    """The tables of that name, `all` for every one, in their order. Raises UsageError for an unknown one."""
    if "all" in names:
        return TABLES
    for name in names:
        if name not in TABLES:
            raise UsageError(f"no table {name!r}{nearest(name, [*TABLES, 'all'])}")
    return tuple(name for name in TABLES if name in names)


def limits() -> list[dict[str, str]]:
    """The limits of an analysis: its name, the `rule`, and the `effect` where there is more."""
    found: list[dict[str, str]] = json.loads(_native.analysis_limits())
    return found


_UNREADABLE = {
    "malformed": (
        "packet whose headers contradict themselves",
        "packets whose headers contradict themselves",
    ),
    "cut": (
        "packet cut short within its headers",
        "packets cut short within their headers",
    ),
    "incomplete_datagrams": (
        "IP datagram with missing fragments",
        "IP datagrams with missing fragments",
    ),
}
"""Why packets could not be judged."""
