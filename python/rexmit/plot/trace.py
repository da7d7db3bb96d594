"""The block of a capture: all that the pages' graphs of its connections show, in few bytes.

`pack_trace` reads a capture, judges it and packs it; what else is known of the run that gave it (states of
the endpoints, the emulator's verdicts) stands beside. `web/src/trace` reads it. The tables of a connection
are named `FLOW-SIDE.TABLE`, where FLOW is `1` for connection 1 and `a1` for association 1:

- `packets`: what the side sent, one row per packet (SCTP: one row per DATA chunk). `jump` is how far it
  begins above the highest end before it; `less` is how much less than all from the last acknowledgment to the
  highest end is outstanding (what SACK has reported). What has no value is -1. A column of nothing but 0 is
  left out.
- `sacks`: SACK blocks, by the row of the acknowledgment and from its number on (of SCTP, `reports` has those
  rows).
- `rtt`, `again` (retransmissions), `state` (cwnd, ssthresh, SRTT, RTO).
- `held`: what held the side back, from `t` to `until`, by its number among the words of the view's head
  (`held`); `from` and `to` are the packets with data at both ends of that time.
- `verdicts`, of all connections: what the emulator did to each packet.
- `queue-N`, of a run: when each packet entered and left the queue of link N of the head's `queues`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rexmit.analyse.captures import Options
from rexmit.errors import UsageError
from rexmit.plot.flows import Flow, read_flows
from rexmit.plot.pack import pack
from rexmit.plot.trace_columns import Known, Table, compact
from rexmit.plot.trace_queues import ends_of, queue_tables, queues_of, side_of
from rexmit.plot.trace_run import absolute, beginning, states_of, verdicts_of
from rexmit.plot.trace_sctp import Association, association_views, read_associations
from rexmit.plot.trace_tcp import flow_views

MOST_PACKETS = 3_000_000
"""More packets than this are not put into a page: a browser would take long to open it."""


@dataclass(frozen=True)
class About:
    """What is known of the run that gave a capture, beside its packets.

    `levels` has the label of each factor, `responses` those of the run, `state` and `verdicts` the tables of
    `Results.trace`, None where they are not known.
    """

    run: int | None = None
    title: str = ""
    levels: Mapping[str, str] = field(default_factory=dict)
    responses: Mapping[str, Any] = field(default_factory=dict)
    state: pl.DataFrame | None = None
    verdicts: pl.DataFrame | None = None


@dataclass(frozen=True)
class Part:
    """What of a capture is wanted.

    `connections` and `associations` are numbers, all where both are empty; `t` is a range in seconds from the
    first packet of each; `direction` is the sender of the data that a page begins with, `client` or `server`.
    """

    connections: Sequence[int] = ()
    associations: Sequence[int] = ()
    t: tuple[float, float] | None = None
    direction: str | None = None


def pack_trace(capture: Path, about: About | None = None, connections: Sequence[int] = ()) -> str:
    """The block of these connections of a capture, or of all.

    Raises UsageError where the file is not a capture, has no connections or none of these numbers.
    """
    return pack_part(capture, Part(connections), about)


def pack_part(capture: Path, part: Part, about: About | None = None, options: Options | None = None) -> str:
    """The block of a part of a capture; see `pack_trace`."""
    about = about or About(title=capture.name)
    flows, associations, remarks = _read(capture, part, options)
    starts = [flow.start_ns for flow in flows] + [one.start_ns for one in associations]
    ends = [flow.row["end_ns"] for flow in flows] + [one.row["end_ns"] for one in associations]
    begin = beginning(min(starts), about.state, about.verdicts)
    known = Known(begin, part.t, about.run is not None, absolute(about.verdicts, begin))
    tables: dict[str, Table] = {}
    views: list[dict[str, Any]] = []
    for flow in flows:
        own = ends_of(_addresses(flow.row), about.verdicts)
        states = states_of(about.state, side_of(own, flow.row["connection"]), begin)
        views += flow_views(flow, replace(known, ends=own), states, tables)
    for association in associations:
        own = ends_of(_addresses(association.row), about.verdicts)
        states = states_of(about.state, side_of(own, association.row["association"]), begin)
        views += association_views(association, replace(known, ends=own), states, tables)
    if about.verdicts is not None:
        tables["verdicts"] = verdicts_of(about.verdicts, len(flows) == 1)
    head = {
        "run": about.run,
        "title": about.title or capture.name,
        "levels": dict(about.levels),
        "responses": {name: _plain(value) for name, value in about.responses.items()},
        "duration": (max(ends) - min(starts)) / 1e9,
        "views": _ordered(views, part.direction),
        "remarks": remarks,
    }
    if about.verdicts is not None and (queues := queues_of(about.verdicts)):
        head["queues"] = queues
        tables |= queue_tables(about.verdicts)
    return pack(head, {name: compact(table) for name, table in tables.items()})


def _addresses(row: Mapping[str, Any]) -> list[str]:
    return [str(row[f"{side}_address"]) for side in ("client", "server") if f"{side}_address" in row]


def _ordered(views: list[dict[str, Any]], direction: str | None) -> list[dict[str, Any]]:
    """The direction that is wanted first, and then what sent most."""
    if direction is not None and all(view["direction"] != direction for view in views):
        raise UsageError(f"the {direction} sent no data; choose the other direction")
    return sorted(views, key=lambda view: (view["direction"] != direction, -int(view["bytes"])))


def _read(
    capture: Path, part: Part, options: Options | None
) -> tuple[list[Flow], list[Association], list[str]]:
    if part.t is not None and not part.t[0] < part.t[1]:
        text = f"the range of time from {part.t[0]:g} to {part.t[1]:g} s is empty; give the smaller one first"
        raise UsageError(text)
    every = not part.connections and not part.associations
    flows, summary = read_flows(capture, None if every else part.connections, options)
    remarks = [f"The capture is incomplete or uncertain: {text}." for text in summary.warnings]
    associations: list[Association] = []
    if summary.sctp and (every or part.associations):
        associations = read_associations(capture, None if every else part.associations, options)
    missing = set(part.connections) - {flow.row["connection"] for flow in flows}
    if missing and summary.tcp == 0 and summary.sctp:
        raise UsageError(
            f"{str(capture)!r} has no TCP connection; its SCTP associations are drawn without --connection"
        )
    if summary.quic and not (summary.tcp or summary.sctp):
        raise UsageError(f"{str(capture)!r} has QUIC alone, which is not drawn; Wireshark opens it")
    if missing:
        raise UsageError(f"no connection {min(missing)} in {str(capture)!r}; `rexmit analyze` lists them")
    if not flows and not associations:
        raise UsageError(
            f"no TCP connection and no SCTP association in {str(capture)!r}; "
            "`rexmit analyze` says what it holds"
        )
    return _limited(flows, associations, part, remarks)


def _limited(
    flows: list[Flow], associations: list[Association], part: Part, remarks: list[str]
) -> tuple[list[Flow], list[Association], list[str]]:
    """As many as a browser opens, with what there is to say of those left out."""
    left, total = MOST_PACKETS, len(flows) + len(associations)
    chosen: list[list[Any]] = [[], []]
    groups: tuple[Sequence[Flow | Association], ...] = (flows, associations)
    for group, kept_of in zip(groups, chosen, strict=True):
        for one in group:
            packets = one.packets(part.t)
            if packets <= left:
                left -= packets
                kept_of.append(one)
    kept = len(chosen[0]) + len(chosen[1])
    if not kept:
        raise UsageError(
            f"more than {MOST_PACKETS:,} packets are too many for one page; "
            "choose a range of time with --t FROM:TO"
        )
    if kept < total:
        remarks.append(
            f"{kept:,} of {total:,} connections are shown, with {MOST_PACKETS - left:,} packets; choose "
            "others with --connection, or a range of time with --t."
        )
    if part.t is not None:
        remarks.append(f"Of each connection, {part.t[0]:g} to {part.t[1]:g} s are shown.")
    return chosen[0], chosen[1], remarks


def _plain(value: Any) -> Any:
    """A value that JSON holds."""
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value.item() if isinstance(value, np.generic) else value
