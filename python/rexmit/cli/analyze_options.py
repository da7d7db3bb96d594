"""What the options of `rexmit analyze` say together: which need others, which exclude each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rexmit.analyse.captures import SMALL, Options, table_names
from rexmit.analyse.listing import Listing, Window
from rexmit.analyse.overview import Wanted
from rexmit.errors import UsageError

JSON_FLOWS = 1_000
"""Connections, and associations, that JSON holds unless more are asked for: a scan of a million ports would
take gigabytes."""

Numbers = tuple[int, int]
"""A first and a last number."""


@dataclass(frozen=True)
class Listed:
    """Whose packets are listed, and which of them."""

    kind: str | None
    number: int | None
    window: Window

    def make(self) -> Listing:
        """A listing that has seen nothing."""
        return Listing(self.kind, self.number)


@dataclass(frozen=True)
class Asked:
    """What the options of the command ask for."""

    options: Options
    wanted: Wanted
    lines: bool
    as_json: bool
    tables: Path | None
    only: tuple[str, ...]
    form: str
    graphs: Path | None
    graph_formats: tuple[str, ...]
    listed: Listed | None = None
    several: bool = False
    by_number: bool = False


@dataclass(frozen=True)
class Given:
    """The options of the command as they were given, by the names of their parameters."""

    connection: int | None
    association: int | None
    lines: bool
    packets: bool
    tsn: Numbers | None
    seq: Numbers | None
    around: int | None
    sort: str
    limit: int | None
    condition: str | None
    loss_event_rtts: float
    sctp_threshold: int
    tables: Path | None
    only: str | None
    form: str | None
    graphs: Path | None
    graph_formats: tuple[str, ...]
    separate: bool
    same_clock: bool
    whole: bool
    jobs: int | None
    as_json: bool

    def check(self, pair: bool) -> None:
        """Raises UsageError for an option without another that it needs, and beside one that excludes it."""
        needed = (
            (self.only is not None, "--only", "--tables DIR", self.tables is not None),
            (self.form is not None, "--format", "--tables DIR", self.tables is not None),
            (bool(self.graph_formats), "--graph-format", "--graphs DIR", self.graphs is not None),
            (self.same_clock, "--same-clock", "two captures", pair),
            (self.whole, "--whole", "two captures", pair),
            (self.tsn is not None, "--tsn", "--packets", self.packets),
            (self.seq is not None, "--seq", "--packets", self.packets),
            (self.around is not None, "--around", "--packets", self.packets),
        )
        for given, name, other, there in needed:
            if given and not there:
                raise UsageError(f"{name} does nothing without {other}; give both")
        if pair and (self.connection or self.association or self.graphs or self.packets):
            text = "--connection, --association, --packets and --graphs show one capture; add --separate"
            raise UsageError(text)

    def judged(self, tables: tuple[str, ...] = SMALL) -> Options:
        """How captures are judged, where these tables are wanted."""
        return Options(self.condition, self.loss_event_rtts, self.sctp_threshold, self.jobs, tables)

    def asked(self) -> Asked:
        """What is asked for of captures that are judged one by one."""
        names = SMALL if self.only is None else table_names([name.strip() for name in self.only.split(",")])
        listed = self._listed() if self.packets else None
        waits = ("held",) if self.connection is not None else ()
        every = (
            *SMALL,
            *waits,
            *(() if self.tables is None else names),
            *(listed.make().tables if listed else ()),
        )
        shown = self.limit if self.limit is not None else JSON_FLOWS if self.as_json else 20
        return Asked(
            options=self.judged(tuple(dict.fromkeys(every))),
            wanted=Wanted(self.sort, shown or None, self.connection, self.association, self.lines),
            lines=self.lines,
            as_json=self.as_json,
            tables=self.tables,
            only=names,
            form=self.form or "parquet",
            graphs=self.graphs,
            graph_formats=self.graph_formats or ("svg", "html"),
            listed=listed,
            by_number=self.as_json and not self.limit,
        )

    def _listed(self) -> Listed:
        """What is listed: the packets of a connection or of an association, by a span or around one."""
        tcp = self.connection is not None or self.seq is not None
        sctp = self.association is not None or self.tsn is not None
        if tcp and sctp:
            raise UsageError("packets of one connection or one association are listed; choose one of the two")
        if self.around is not None and (self.seq or self.tsn):
            raise UsageError("--around says where, and so do --tsn and --seq; choose one of them")
        kind = "connection" if tcp else "association" if sctp else None
        return Listed(kind, self.connection or self.association, Window(self.seq or self.tsn, self.around))
