"""What a block has of a TCP connection; `rexmit.plot.trace` says what its tables are."""

from __future__ import annotations

from typing import Any

import numpy as np

from rexmit._native import comment_says_dropped
from rexmit.analyse.held import HELD, LETTERS, why
from rexmit.analyse.overview import cause_counts, goodput
from rexmit.analyse.quantities import duration, rate, size
from rexmit.analyse.words import evidence, vantage_limits
from rexmit.plot import series
from rexmit.plot.causes import groups
from rexmit.plot.connections import Causes
from rexmit.plot.flows import NOTHING, Columns, Flow, chosen
from rexmit.plot.held import COLOURS, HATCHED
from rexmit.plot.pack import Scaled
from rexmit.plot.trace_columns import NEW, Known, Table, jumps, look, notes, or_less, places, repairs
from rexmit.plot.trace_queues import is_of_network, lost_on_links
from rexmit.units import plural

SIDES = ("client", "server")


def flow_views(
    flow: Flow, known: Known, states: dict[str, Table], tables: dict[str, Table]
) -> list[dict[str, Any]]:
    """The heads of the views of a connection, one for each side that sent data; its tables join `tables`."""
    number = flow.row["connection"]
    own = {side: _part(flow.of(flow.segments, side), flow, known) for side in SIDES}
    sent = [side for side in SIDES if flow.row[f"{side}_bytes"]] or [
        max(SIDES, key=lambda side: int(flow.row[f"{side}_packets"]))
    ]
    views = []
    for side in SIDES:
        rows = own[side]
        kinds, group = _groups(rows, flow.of(flow.retransmissions, side))
        tables[f"{number}-{side}.packets"] = _packets(flow, side, rows, known) | {"group": group}
        _add(tables, f"{number}-{side}.sacks", _sacks(rows, flow.of(flow.sacks, side)))
        if side not in sent:
            continue
        waits, held = _held(flow, side, known)
        _add(tables, f"{number}-{side}.held", waits, "t")
        views.append(_head(flow, side, known, kinds) | held)
        _add(tables, f"{number}-{side}.again", _again(rows, flow.of(flow.retransmissions, side)))
        _add(tables, f"{number}-{side}.rtt", _rtt(own[series.other(side)], flow.of(flow.rtt, side)))
        state = states[side] if side in states else _urgent(flow, side, rows)
        if state:
            times = state["t"]
            keep = known.within(times, flow.start_ns)
            cut = {name: _rows(column, keep) for name, column in state.items()}
            tables[f"{number}-{side}.state"] = cut | {"t": Scaled(times[keep] - flow.start_ns, 1e-9)}
    return views


def _head(flow: Flow, side: str, known: Known, kinds: list[dict[str, Any]]) -> dict[str, Any]:
    row = flow.row
    route = f"{row[f'{side}_address']} to {row[f'{series.other(side)}_address']}"
    if flow.interface and not known.short:
        route += f", seen at {flow.interface}"
    return {
        "key": f"{row['connection']}-{side}",
        "protocol": "tcp",
        "connection": row["connection"],
        "direction": side,
        "title": route,
        "facts": _facts(flow, side, known),
        "groups": kinds,
        "start": (flow.start_ns - known.begin_ns) / 1e9,
        "bytes": row[f"{side}_bytes"],
        "interval": series.intervals(flow, side)[1],
        **known.told,
    }


def _facts(flow: Flow, name: str, known: Known) -> str:
    row = flow.row
    causes = ", ".join(f"{count:,} {cause}" for cause, count in cause_counts(row, name).items())
    length = duration(row["end_ns"] - row["start_ns"])
    limits = "" if known.short else f" {vantage_limits(row['vantage_client_share'])}"
    # The goodput of a run counts from the start of its transfer, and may stand beside this one.
    good = f"goodput {rate(goodput(row, name))} from the first data on"
    return (
        f"{plural(row['packets'], 'packet')} in {length}, {size(row[f'{name}_unique_bytes'])} of data, "
        f"{good}. Sent again: {causes or 'nothing'}.{limits}"
    )


def _packets(flow: Flow, side: str, rows: Columns, known: Known) -> Table:
    jump, highest = jumps(rows["seq"], rows["end"])
    heard = flow.of(flow.segments, series.other(side))
    heard = chosen(heard, (heard["ack"] != NOTHING) & known.within(heard["time_ns"], flow.start_ns))
    # All from the last acknowledgment to the highest end, of which SACK may have reported some.
    levels = np.concatenate([[0], np.maximum.accumulate(heard["ack"])])
    # Numbers may stand out of order where a capture's times went back: the page goes on likewise.
    heard_before, sent = (np.maximum.accumulate(table["number"]) for table in (heard, rows))
    acked = levels[np.searchsorted(heard_before, sent)]
    said = _said(side, rows, known)
    lost = [
        note if note is not None and comment_says_dropped(note) else own
        for note, own in zip(rows["note"].tolist(), said, strict=True)
    ]
    return {
        "t": Scaled(rows["time_ns"] - flow.start_ns, 1e-9),
        "number": rows["number"],
        "jump": jump,
        "span": rows["end"] - rows["seq"],
        "flags": rows["flags"],
        "less": np.maximum(highest - acked, 0) - rows["outstanding"],
        "ack": or_less(rows["ack"]),
        "window": np.where(rows["ack"] == NOTHING, 0, rows["window"]),
        "duplicate": rows["duplicate"],
        "lost": lost,
    }


def _said(side: str, rows: Columns, known: Known) -> list[str | None]:
    """What the emulator's log says of each packet that it dropped."""
    if known.verdicts is not None and known.ends is not None and is_of_network(known.verdicts):
        return lost_on_links(side, rows, known.ends.number, known.verdicts)
    return notes(side, rows["number"], rows["time_ns"], known)


def _groups(rows: Columns, again: Columns) -> tuple[list[dict[str, Any]], Any]:
    """How packets look: new, by cause, overtaken, copies; and which is which."""
    kinds: list[dict[str, Any]] = [NEW]
    which = np.zeros(len(rows["seq"]), dtype=np.uint8)

    def add(label: str, letter: str, colour: str, repeated: bool, those: Any) -> None:
        if those.any():
            which[those] = len(kinds)
            kinds.append({"label": label, "letter": letter, "colour": colour, "again": repeated})

    late, copy = rows["kind"] == "reordered", rows["kind"] == "copy"
    add("sent again (R)", "R", "again", True, (rows["transmission"] > 1) & ~copy & ~late)
    for group in groups(rows["number"], Causes(again["number"], again["cause"], again["need"])):
        add(group.label, group.letter, group.colour, True, group.rows)
    add("reordered on its way here (O)", "O", "late", False, late)
    add("copy of a packet (C)", "C", "late", False, copy)
    return look(kinds, which)


def _sacks(rows: Columns, blocks: Columns) -> Table:
    at, keep = _places(rows, blocks["number"])
    base = or_less(rows["ack"])[at]
    return {
        "row": at,
        "left": blocks["left"][keep] - base,
        "right": blocks["right"][keep] - base,
        "duplicate": blocks["duplicate"][keep],
    }


def _again(rows: Columns, again: Columns) -> Table:
    at, keep = _places(rows, again["number"])
    return repairs(at, chosen(again, keep), evidence)


def _held(flow: Flow, side: str, known: Known) -> tuple[Table, dict[str, Any]]:
    """What held the sender back, one row each; and the words for it, with the sentence that sums it up."""
    rows = flow.of(flow.held, side)
    if known.t is not None:
        first, last = (flow.start_ns + round(1e9 * seconds) for seconds in known.t)
        rows = chosen(rows, (rows["end_ns"] >= first) & (rows["start_ns"] <= last))
    there = [by for by in HELD if (rows["by"] == by).any()]
    words = [
        {"label": HELD[by], "letter": LETTERS[by], "colour": COLOURS[by], "hatched": by in HATCHED}
        for by in there
    ]
    table = {
        "t": Scaled(rows["start_ns"] - flow.start_ns, 1e-9),
        "until": Scaled(rows["end_ns"] - flow.start_ns, 1e-9),
        "by": np.array([there.index(by) for by in rows["by"]], dtype=np.uint8),
        "certain": rows["confidence"] == "certain",
        "bytes": rows["bytes"],
        "from": rows["first_number"],
        "to": rows["last_number"],
    }
    told = why(flow.row, side)
    return table, ({"held": words} if words else {}) | (
        {"why": f"{told[:1].upper()}{told[1:]}."} if told else {}
    )


def _rtt(heard: Columns, samples: Columns) -> Table:
    at, keep = _places(heard, samples["number"])
    return {
        "row": at,
        "rtt": Scaled(samples["rtt_ns"][keep], 1e-6),
        "method": samples["method"][keep].tolist(),
    }


def _urgent(flow: Flow, side: str, rows: Columns) -> Table:
    """The congestion window that klaver-2005's senders write into the urgent pointer field."""
    told = chosen(rows, (rows["urgent"] > 0) & ((rows["flags"] & series.URG) == 0))
    if not len(told["urgent"]):
        return {}
    mss = flow.row[f"{series.other(side)}_mss"] or int(np.median(rows["len"][rows["len"] > 0]))
    return {"t": told["time_ns"], "cwnd": told["urgent"] * mss}


def _places(rows: Columns, number: Any) -> tuple[Any, Any]:
    """The rows of packets of these numbers, and which of these numbers are there."""
    return places(rows["number"], number)


def _part(rows: Columns, flow: Flow, known: Known) -> Columns:
    if known.t is None:
        return rows
    return chosen(rows, known.within(rows["time_ns"], flow.start_ns))


def _rows(column: Any, keep: Any) -> Any:
    if isinstance(column, Scaled):
        return Scaled(column.values[keep], column.scale)
    if isinstance(column, list):
        return [value for value, kept in zip(column, keep, strict=True) if kept]
    return column[keep]


def _add(tables: dict[str, Table], name: str, table: Table, key: str = "row") -> None:
    column = table[key]
    if len(column.values if isinstance(column, Scaled) else column):
        tables[name] = table
