"""All graphs of one direction of a connection on one page that opens from disk: pan, zoom, hover."""

from __future__ import annotations

import base64
import html
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from rexmit.analyse.overview import cause_counts, goodput
from rexmit.analyse.quantities import duration, plural, rate, size
from rexmit.analyse.words import evidence, vantage_limits
from rexmit.plot import series
from rexmit.plot.causes import groups
from rexmit.plot.connections import Connection, Side, of_flow
from rexmit.plot.flows import NOTHING, Flow

if TYPE_CHECKING:
    from rexmit.plot.graphs import View

_METHODS = {"ack": 0, "timestamp": 1, "sack": 2, "handshake": 3}
"""Their numbers in the page."""


def page(flow: Flow, name: str, view: View) -> str:
    """The page as text; it needs no other file and no network."""
    here = files("rexmit.plot")
    title = view.title or f"{flow.row[f'{name}_address']} to {flow.row[f'{series.other(name)}_address']}"
    content = json.dumps(_data(flow, name, title), separators=(",", ":"), ensure_ascii=False)
    parts = {
        "@TITLE@": html.escape(title),
        # Nothing in a text may end the script.
        "@DATA@": content.replace("</", "<\\/"),
        "@SCRIPT@": here.joinpath("page.js").read_text(),
    }
    text = here.joinpath("page.html").read_text()
    for mark, part in parts.items():
        before, _, after = text.partition(mark)
        text = before + part + after
    return text


def _data(flow: Flow, name: str, title: str) -> dict[str, Any]:
    seen = of_flow(flow)
    side = seen.side(name)
    again = flow.of(flow.retransmissions, name)
    kinds, group = _groups(side)
    why, before = {}, {}
    columns = list(again)
    for row in zip(*(again[column].tolist() for column in columns), strict=True):
        fields = dict(zip(columns, row, strict=True))
        known = {key: None if value == NOTHING else value for key, value in fields.items()}
        why[known["number"]] = f"{known['confidence']}: {evidence(known)}"
        if known["delay_previous_ns"] is not None:
            sent = known["time_ns"] - known["delay_previous_ns"]
            before[known["number"]] = round((sent - flow.start_ns) / 1e9, 9)
    return {
        "title": title,
        "facts": _facts(flow, name),
        "duration": (flow.row["end_ns"] - flow.start_ns) / 1e9,
        "groups": kinds,
        "why": why,
        "before": before,
        "tables": _tables(flow, seen, side, group),
    }


def _groups(side: Side) -> tuple[list[dict[str, Any]], Any]:
    """How packets look: new, by cause, overtaken, copies; and which is which."""
    rows = side.segments
    kinds: list[dict[str, Any]] = [{"label": "segment", "letter": "", "colour": "segment", "again": False}]
    which = np.zeros(len(rows.seq), dtype=np.uint8)

    def add(label: str, letter: str, colour: str, again: bool, chosen: Any) -> None:
        if chosen.any():
            which[chosen] = len(kinds)
            kinds.append({"label": label, "letter": letter, "colour": colour, "again": again})

    add("sent again (R)", "R", "again", True, (rows.transmission > 1) & ~rows.copy & ~rows.late)
    for group in groups(rows.number, side.causes):
        add(group.label, group.letter, group.colour, True, group.rows)
    add("overtaken on its way here (O)", "O", "late", False, rows.late)
    add("copy of a packet (C)", "C", "late", False, rows.copy)
    used = np.unique(which)
    order = np.searchsorted(used, which).astype(np.uint8)
    return [kinds[at] for at in used] if len(used) else kinds[:1], order


def _tables(flow: Flow, seen: Connection, side: Side, group: Any) -> dict[str, dict[str, str]]:
    start, rows = seen.start_ns, side.segments
    own = flow.of(flow.segments, side.name)
    heard = flow.of(flow.segments, series.other(side.name))
    heard_number = heard["number"][heard["ack"] != NOTHING]
    takes = rows.end > rows.seq
    data = series.throughput(flow, side.name)
    each, length = series.intervals(flow, side.name)
    begun = len(data.time) and data.time[0] + length
    late = data.goodput.time >= begun
    samples = flow.of(flow.rtt, side.name)
    method = np.array([_METHODS[name] for name in samples["method"].tolist()], dtype=np.uint8)
    out, edge = series.outstanding(flow, side.name), series.window(flow, side.name)
    return {
        "segments": {
            "t": _column((rows.time_ns - start)[takes] / 1e9),
            "seq": _column(rows.seq[takes]),
            "end": _column(rows.end[takes]),
            "len": _column(rows.len[takes], "<u4"),
            "number": _column(rows.number[takes], "<u4"),
            "group": _column(group[takes], "u1"),
            "outstanding": _column(own["outstanding"][takes], "<u4"),
        },
        "acks": {
            "t": _column((side.acks.time_ns - start) / 1e9),
            "ack": _column(side.acks.ack),
            "edge": _column(side.acks.window_edge),
            "number": _column(heard_number, "<u4"),
            "duplicate": _column(side.acks.duplicate, "<u4"),
        },
        "sacks": {
            "t": _column((side.sacks.time_ns - start) / 1e9),
            "left": _column(side.sacks.left),
            "right": _column(side.sacks.right),
        },
        "outstanding": {"t": _column(out.time), "v": _column(out.value)},
        "window": {"t": _column(edge.time), "v": _column(edge.value)},
        "rtt": {
            "t": _column(series.seconds(flow, samples["time_ns"])),
            "v": _column(samples["rtt_ns"] / 1e6),
            "method": _column(method, "u1"),
        },
        "throughput": {
            "t": _column(data.time),
            "average": _column(np.where(data.time >= begun, data.average, np.nan) / 1e6),
        },
        "intervals": {"t": _column(each.time), "v": _column(each.value / 1e6)},
        "goodput": {"t": _column(data.goodput.time[late]), "v": _column(data.goodput.value[late] / 1e6)},
    }


def _facts(flow: Flow, name: str) -> str:
    row = flow.row
    causes = ", ".join(f"{count:,} {cause}" for cause, count in cause_counts(row, name).items())
    length = duration(row["end_ns"] - row["start_ns"])
    return (
        f"{plural(row['packets'], 'packet')} in {length}, {size(row[f'{name}_unique_bytes'])} of data, "
        f"goodput {rate(goodput(row, name))}. Sent again: {causes or 'nothing'}. "
        f"{vantage_limits(row['vantage_client_share'])}"
    )


def _column(values: Any, kind: str = "<f8") -> str:
    """Numbers as base64 of their bytes, after their type: `f8:...`."""
    data = np.ascontiguousarray(values, dtype=np.dtype(kind)).tobytes()
    return f"{kind.removeprefix('<')}:{base64.b64encode(data).decode()}"
