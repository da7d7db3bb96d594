"""What a summary of captures shows: totals, the connections that matter most, one connection in detail.

Rows are looked at as they arrive and mostly forgotten, so that memory follows what is shown.
"""

from __future__ import annotations

import heapq
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rexmit.analyse import rows as plain
from rexmit.analyse.rows import RawTable, Row

SORTS = ("retransmissions", "bytes", "packets", "duration", "number")
"""What connections may be sorted by; the greatest first, but the first number first."""

SIDES = ("client", "server")

LIST_PART = 10_000
"""Rows of a list that are Python values at a time; the others wait as columns."""


@dataclass(frozen=True)
class Delays:
    """Delays of retransmissions in ns: how they spread."""

    count: int
    min: float
    max: float
    mean: float
    sd: float | None
    p50: float
    p90: float
    p95: float
    p99: float


@dataclass(frozen=True)
class Wanted:
    """What is kept of the rows.

    `sort` is one of `SORTS`, `limit` how many connections and associations are kept (None: all). Everything
    of `connection` and `association` is kept. `retransmissions` keeps those of all others too.
    """

    sort: str = "retransmissions"
    limit: int | None = 20
    connection: int | None = None
    association: int | None = None
    retransmissions: bool = False


@dataclass
class Totals:
    """Counts over all connections or all associations.

    `unseen` is what was acknowledged and is not in the capture, bytes of TCP and chunks of SCTP;
    `gaps` is the number of connections or associations with something unseen.
    """

    flows: int = 0
    causes: Counter[str] = field(default_factory=Counter)
    not_needed: int = 0
    vantages: Counter[float | None] = field(default_factory=Counter)
    unseen: int = 0
    gaps: int = 0

    @property
    def retransmissions(self) -> int:
        """Retransmissions of any cause."""
        return self.causes.total()


class Overview:
    """Give `add` each batch of rows in turn, then look at what was found."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.tcp, self.sctp = Totals(), Totals()
        self.kept: dict[str, list[Row]] = defaultdict(list)
        self.starts: dict[str, dict[int, int]] = {"connection": {}, "association": {}}
        self._lists: dict[str, list[RawTable]] = defaultdict(list)
        self._connections, self._associations = _Best(wanted, "connection"), _Best(wanted, "association")
        self._delays: dict[int, dict[tuple[int, str], _Pair]] = defaultdict(lambda: defaultdict(_Pair))

    def add(self, tables: dict[str, RawTable]) -> None:
        """Takes the next rows."""
        self._flows(tables["connections"], self._connections, self.tcp, "connection")
        self._flows(tables["associations"], self._associations, self.sctp, "association")
        self._retransmissions(tables["retransmissions"], self.tcp)
        self._retransmissions(tables["sctp_retransmissions"], self.sctp)
        self._sctp_delays(tables["sctp_retransmissions"])
        self._keep(tables, "connection", self.wanted.connection, ("retransmissions", "loss_events", "held"))
        of_association = ("sctp_retransmissions", "sctp_controls", "paths", "streams")
        self._keep(tables, "association", self.wanted.association, of_association)
        if self.wanted.retransmissions:
            for name, flow in (("retransmissions", "connection"), ("sctp_retransmissions", "association")):
                if plain.height(tables[name]):
                    self._lists[name].append(tables[name])
                flows = tables[f"{flow}s"]
                self.starts[flow].update(
                    zip(plain.values(flows, flow), plain.values(flows, "start_ns"), strict=True)
                )

    @property
    def connections(self) -> list[Row]:
        """The connections kept, in the order asked for."""
        return self._connections.rows()

    @property
    def associations(self) -> list[Row]:
        """The associations kept, in the order asked for."""
        return self._associations.rows()

    def retransmissions(self) -> Iterator[Row]:
        """Those of TCP, then those of SCTP, by their place in the capture; of the flow asked for, or all."""
        chosen = self.wanted.connection, self.wanted.association
        if chosen != (None, None):
            yield from self.kept["retransmissions"]
            yield from self.kept["sctp_retransmissions"]
            return
        for name in ("retransmissions", "sctp_retransmissions"):
            places = [
                (number, part, row)
                for part, table in enumerate(self._lists[name])
                for row, number in enumerate(plain.values(table, "number"))
            ]
            places.sort()
            for start in range(0, len(places), LIST_PART):
                yield from self._listed(name, places[start : start + LIST_PART])

    def sctp_delays(self, association: int) -> dict[tuple[int, str], tuple[Delays, Delays]]:
        """The tables of pedersen-2006 for an association.

        For each number of a retransmission and class of sctp_trace, how the delays since the first
        transmission (cumulative) and since the one before (consecutive) spread.
        """
        found = self._delays.get(association, {})
        pairs = {key: (spread(pair.first), spread(pair.previous)) for key, pair in sorted(found.items())}
        return {key: (first, last) for key, (first, last) in pairs.items() if first and last}

    def _listed(self, name: str, places: list[tuple[int, int, int]]) -> Iterator[Row]:
        parts = sorted({part for _, part, _ in places})
        found: dict[tuple[int, int], Row] = {}
        for part in parts:
            at = [row for _, other, row in places if other == part]
            found |= zip([(part, row) for row in at], plain.rows(self._lists[name][part], at), strict=True)
        for _, part, row in places:
            yield found[part, row]

    def _flows(self, table: RawTable, best: _Best, totals: Totals, name: str) -> None:
        count = plain.height(table)
        if not count:
            return
        totals.flows += count
        totals.vantages.update(plain.values(table, "vantage_client_share"))
        unseen = _both(table, "unseen_bytes" if name == "connection" else "unseen_chunks")
        totals.unseen += sum(unseen)
        totals.gaps += sum(number > 0 for number in unseen)
        best.take(table)
        own = getattr(self.wanted, name)
        if own is not None:
            at = [row for row, number in enumerate(plain.values(table, name)) if number == own]
            self.kept[f"{name}s"] += plain.rows(table, at)

    def _retransmissions(self, table: RawTable, totals: Totals) -> None:
        totals.causes.update(plain.values(table, "cause"))
        needs = Counter(plain.values(table, "need"))
        totals.not_needed += needs["spurious"] + needs["unnecessary"]

    def _sctp_delays(self, table: RawTable) -> None:
        own = self.wanted.association
        if own is None:
            return
        names = ("association", "retransmission", "class", "delay_first_ns", "delay_previous_ns")
        for association, number, kind, first, previous in zip(
            *(plain.values(table, name) for name in names), strict=True
        ):
            if association == own and first is not None and previous is not None:
                pair = self._delays[association][(number, kind)]
                pair.first.append(first)
                pair.previous.append(previous)

    def _keep(self, tables: dict[str, RawTable], key: str, own: int | None, names: Sequence[str]) -> None:
        if own is None:
            return
        for name in (name for name in names if name in tables):
            numbers = plain.values(tables[name], key)
            at = [row for row, number in enumerate(numbers) if own == number]
            self.kept[name] += plain.rows(tables[name], at)


@dataclass
class _Pair:
    first: list[int] = field(default_factory=list)
    previous: list[int] = field(default_factory=list)


class _Best:
    """The rows that come first by what they are sorted by."""

    def __init__(self, wanted: Wanted, number: str) -> None:
        self._wanted, self._number = wanted, number
        self._heap: list[tuple[tuple[float, ...], int, Row]] = []
        self._seen = 0

    def take(self, table: RawTable) -> None:
        """Keeps the rows that are among the best so far."""
        limit, keys = self._wanted.limit, self._keys(table)
        self._seen += len(keys)
        chosen = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)
        if limit is not None:
            least = self._heap[0][0] if len(self._heap) == limit and limit else None
            chosen = [row for row in chosen[:limit] if least is None or keys[row] > least]
        for at, row in zip(chosen, plain.rows(table, chosen), strict=True):
            entry = (keys[at], row[self._number], row)
            if limit is None or len(self._heap) < limit:
                heapq.heappush(self._heap, entry)
            else:
                heapq.heappushpop(self._heap, entry)

    def rows(self) -> list[Row]:
        """The rows in order: as asked for, and by number where all are there and nothing was asked."""
        entries = sorted(self._heap, key=lambda entry: entry[0], reverse=True)
        return [entry[2] for entry in entries]

    def _keys(self, table: RawTable) -> list[tuple[float, ...]]:
        numbers = plain.values(table, self._number)
        packets = plain.values(table, "packets")
        size = _both(table, "bytes")
        again = _both(
            table, "retransmitted_packets" if self._number == "connection" else "retransmitted_chunks"
        )
        last = [-number for number in numbers]
        if self._wanted.sort == "number":
            return [(number,) for number in last]
        if self._wanted.sort == "duration":
            times = zip(plain.values(table, "start_ns"), plain.values(table, "end_ns"), strict=True)
            lengths = [end - start for start, end in times]
            return list(zip(lengths, size, last, strict=True))
        first = {"retransmissions": again, "bytes": size, "packets": packets}[self._wanted.sort]
        return list(zip(first, size, last, strict=True))


def spread(values: Sequence[int | None]) -> Delays | None:
    """How delays spread; None where there are none. Percentiles between two samples are interpolated."""
    known = sorted(value for value in values if value is not None)
    if not known:
        return None
    sd = statistics.stdev(known) if len(known) > 1 else None
    parts = [_percentile(known, part) for part in (50, 90, 95, 99)]
    return Delays(len(known), known[0], known[-1], statistics.fmean(known), sd, *parts)


def data_sides(row: Row) -> list[str]:
    """The sides that sent data, the one that sent more first; both where neither did."""
    order = sorted(SIDES, key=lambda side: row[f"{side}_bytes"], reverse=True)
    return [side for side in order if row[f"{side}_bytes"]] or order[:1]


def cause_counts(row: Row, side: str) -> dict[str, int]:
    """Retransmissions of a side by cause, the most frequent first, those that did not occur left out."""
    prefix = f"{side}_cause_"
    found = {name.removeprefix(prefix): count for name, count in row.items() if name.startswith(prefix)}
    order = sorted(found, key=lambda name: -found[name])
    return {name.replace("_", "-"): found[name] for name in order if found[name]}


def goodput(row: Row, side: str) -> float | None:
    """The goodput of a side in bit/s; None where most of what was acknowledged is not in the capture."""
    found: float | None = row[f"{side}_goodput_bit_s"]
    unseen = row.get(f"{side}_unseen_bytes") or 0
    return None if 2 * unseen > row[f"{side}_acked_bytes"] else found


def nested(row: Row) -> dict[str, Any]:
    """A row for JSON: what belongs to one side is under `client` or `server`."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        side, _, field_name = name.partition("_")
        if side in SIDES:
            found.setdefault(side, {})[field_name] = value
        else:
            found[name] = value
    return found


def _both(table: RawTable, name: str) -> list[int]:
    sides = (plain.values(table, f"{side}_{name}") for side in SIDES)
    return [client + server for client, server in zip(*sides, strict=True)]


def _percentile(ordered: Sequence[int], percent: float) -> float:
    place = (len(ordered) - 1) * percent / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
