"""Graphs as files for xplot, in the manner of tcptrace: xplot.org and jPlot read them.

A file is lines of commands: a line of the types of both axes, title and labels, then colours, symbols at a
time and a value, and `go`. Times are seconds from the connection's first packet (`dtime`), sequence numbers
relative.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from rexmit.errors import UsageError
from rexmit.plot import series
from rexmit.plot.causes import Group, groups
from rexmit.plot.connections import (
    FIN,
    PSH,
    RST,
    SYN,
    Causes,
    Connection,
    Floats,
    Integers,
    Side,
    of_flow,
)
from rexmit.plot.flows import Flow

COLOURS = ("white", "green", "red", "blue", "yellow", "purple", "orange", "magenta", "pink")
"""What xplot knows."""

SYMBOLS = (
    *("x", "dot", "plus", "box", "diamond", "utick", "dtick", "ltick", "rtick", "htick", "vtick"),
    *("uarrow", "darrow", "larrow", "rarrow"),
)
TEXTS = ("atext", "btext", "ltext", "rtext")
TYPES = ("timeval", "unsigned", "signed", "double", "dtime")


def graph(flow: Flow, side: str, name: str, state: Path | None = None) -> str:
    """One graph of a connection as the text of a file. Raises UsageError where there is nothing to show."""
    makers = {
        "tsg": _time_sequence,
        "outstanding": _outstanding,
        "rtt": _rtt,
        "throughput": _throughput,
    }
    if name == "cwnd":
        return _file(flow, side, ("signed", "congestion window", "bytes"), _cwnd(flow, side, state))
    kind, title, label = _HEADS[name]
    return _file(flow, side, (kind, title, label), makers[name](flow, side))


_HEADS = {
    "tsg": ("signed", "time sequence graph", "sequence number"),
    "outstanding": ("signed", "outstanding data", "bytes"),
    "rtt": ("double", "rtt samples", "rtt (ms)"),
    "throughput": ("signed", "throughput", "thruput (bytes/sec)"),
}
"""Type of the values, title and label of each graph, as tcptrace words them."""


def check(text: str) -> int:
    """Reads a file as xplot does and returns the number of commands. Raises UsageError with a wrong line."""
    lines = text.splitlines()
    types = lines[0].split() if lines else []
    if len(types) != 2 or any(kind not in TYPES for kind in types):
        raise UsageError("line 1: no types of two axes")
    at, commands = 1, 0
    while at < len(lines):
        words = lines[at].split()
        if not words:
            raise UsageError(f"line {at + 1}: is empty")
        arity = _arity(words[0])
        texts = 1 if words[0] in TEXTS or words[0] in ("title", "xlabel", "ylabel") else 0
        coloured = len(words) == arity + 2 and words[-1] in COLOURS
        if len(words) != arity + 1 and not coloured:
            raise UsageError(f"line {at + 1}: {words[0]!r} with {len(words) - 1} values")
        for word in words[1 : arity + 1]:
            try:
                float(word)
            except ValueError:
                raise UsageError(f"line {at + 1}: {word!r} is not a number") from None
        if at + texts >= len(lines):
            raise UsageError(f"line {at + 1}: the text after it is missing")
        at += 1 + texts
        commands += 1
    if not lines or lines[-1] != "go":
        raise UsageError("the file does not end with 'go'")
    return commands


def _arity(word: str) -> int:
    if word in ("title", "xlabel", "ylabel", "go", *COLOURS):
        return 0
    if word == "line":
        return 4
    if word in SYMBOLS or word in TEXTS:
        return 2
    raise UsageError(f"no command {word!r}")


def _file(flow: Flow, side: str, head: tuple[str, str, str], body: Iterable[str]) -> str:
    kind, title, label = head
    ends = [flow.row[f"{name}_address"] for name in (side, series.other(side))]
    lines = [
        f"dtime {kind}",
        "title",
        f"{'_==>_'.join(ends)} ({title})",
        "xlabel",
        "time",
        "ylabel",
        label,
        *body,
        "go",
    ]
    return "\n".join(lines) + "\n"


def _time_sequence(flow: Flow, name: str) -> Iterator[str]:
    seen = of_flow(flow)
    side = seen.side(name)
    yield from _segments(seen, side)
    yield from _bare(seen, side)
    acked = (side.acks.time_ns - seen.start_ns) / 1e9
    yield from _levels(acked, side.acks.ack, "green", "dtick")
    yield from _levels(acked, side.acks.window_edge, "yellow", "utick")
    for time, ack, duplicate in zip(acked, side.acks.ack, side.acks.duplicate, strict=True):
        if duplicate == 3:
            yield from ("green", f"btext {_x(time)} {ack}", "3")
    sacked = (side.sacks.time_ns - seen.start_ns) / 1e9
    for time, left, right in zip(sacked, side.sacks.left, side.sacks.right, strict=True):
        yield from ("purple", f"line {_x(time)} {left} {_x(time)} {right}", f"rtext {_x(time)} {right}", "S")


def _segments(seen: Connection, side: Side) -> Iterator[str]:
    rows = side.segments
    sent = (rows.time_ns - seen.start_ns) / 1e9
    letters, colours = _letters(side)
    for at in np.flatnonzero(rows.len > 0):
        time, low, high = _x(sent[at]), rows.seq[at], rows.end[at]
        upper = "diamond" if rows.flags[at] & PSH else "uarrow"
        yield colours[at]
        yield from (f"line {time} {low} {time} {high}", f"darrow {time} {low}", f"{upper} {time} {high}")
        if letters[at]:
            yield from (f"atext {time} {high}", letters[at])


def _letters(side: Side) -> tuple[list[str], list[str]]:
    """The letter and the colour of each packet: those of its cause where it was sent again."""
    rows = side.segments
    letters, colours = [""] * len(rows.seq), ["white"] * len(rows.seq)
    again = np.flatnonzero(rows.transmission > 1)
    known: list[Group] = groups(rows.number, side.causes)
    for at in again:
        letters[at], colours[at] = "R", "red"
    for group in known:
        for at in np.flatnonzero(group.rows):
            letters[at], colours[at] = f"R {group.letter}", "red" if group.needed else "pink"
    for marked, letter in ((rows.late, "O"), (rows.copy, "C")):
        for at in np.flatnonzero(marked):
            letters[at], colours[at] = letter, "magenta"
    return letters, colours


def _bare(seen: Connection, side: Side) -> Iterator[str]:
    """SYN, FIN and RST by name, and packets without data."""
    rows = side.segments
    sent = (rows.time_ns - seen.start_ns) / 1e9
    for at in np.flatnonzero(rows.len == 0):
        time, flags = _x(sent[at]), int(rows.flags[at])
        names = [name for bit, name in ((SYN, "SYN"), (FIN, "FIN"), (RST, "RST")) if flags & bit]
        again = "R " if rows.transmission[at] > 1 else ""
        if names:
            yield from ("orange", f"diamond {time} {rows.seq[at]}")
            yield from (f"btext {time} {rows.seq[at]}", f"{again}{names[0]}")
        else:
            yield from ("white", f"x {time} {rows.seq[at]}")


def _outstanding(flow: Flow, side: str) -> Iterator[str]:
    yield from _steps(series.outstanding(flow, side), "red")
    yield from _steps(series.window(flow, side), "yellow")
    mean = flow.row[f"{side}_mean_outstanding"]
    if mean:
        end = _x((flow.row["end_ns"] - flow.start_ns) / 1e9)
        yield from ("blue", f"line {_x(0.0)} {mean:.0f} {end} {mean:.0f}")
    yield from _marks(flow, side)


def _cwnd(flow: Flow, side: str, state: Path | None) -> Iterator[str]:
    for (_, steps), colour in zip(series.cwnd(flow, side, state).items(), ("green", "blue"), strict=False):
        yield from _steps(steps, colour)
    yield from _outstanding(flow, side)


def _rtt(flow: Flow, side: str) -> Iterator[str]:
    rows = flow.of(flow.rtt, side)
    if not len(rows["rtt_ns"]):
        raise UsageError("no RTT sample in this direction; choose the other one")
    time, ms = series.seconds(flow, rows["time_ns"]), rows["rtt_ns"] / 1e6
    looks = {"ack": "white", "handshake": "orange", "sack": "purple", "timestamp": "blue"}
    for method, colour in looks.items():
        own = rows["method"] == method
        if own.any():
            yield colour
            yield from (f"dot {_x(x)} {y:.6f}" for x, y in zip(time[own], ms[own], strict=True))
    # As tcptrace: the samples of unambiguous ACKs are joined.
    own = rows["method"] == "ack"
    yield from _polyline(time[own], ms[own], "red", "{:.6f}")


def _throughput(flow: Flow, side: str) -> Iterator[str]:
    """Yellow for each segment, red for the last ten, blue since the first (as tcptrace); green: goodput."""
    data = series.throughput(flow, side)
    if not len(data.time):
        raise UsageError("no data in this direction; choose the other one")
    yield "yellow"
    known = np.isfinite(data.instant)
    for x, y in zip(data.time[known], data.instant[known] / 8, strict=True):
        yield f"dot {_x(x)} {y:.0f}"
    yield from _polyline(data.time, data.recent / 8, "red", "{:.0f}")
    yield from _polyline(data.time, data.average / 8, "blue", "{:.0f}")
    yield from _polyline(data.goodput.time, data.goodput.value / 8, "green", "{:.0f}")


def _marks(flow: Flow, side: str) -> Iterator[str]:
    """The letter of the cause where something was sent again."""
    rows = flow.of(flow.retransmissions, side)
    time = series.seconds(flow, rows["time_ns"])
    for group in groups(rows["number"], Causes(rows["number"], rows["cause"], rows["need"])):
        for x in time[group.rows]:
            yield from ("red" if group.needed else "pink", f"atext {_x(x)} 0", group.letter)


def _levels(time: Floats, value: Integers, colour: str, tick: str) -> Iterator[str]:
    yield colour
    for at in range(len(time)):
        if at:
            yield f"line {_x(time[at - 1])} {value[at - 1]} {_x(time[at])} {value[at - 1]}"
        if at and value[at] != value[at - 1]:
            yield f"line {_x(time[at])} {value[at - 1]} {_x(time[at])} {value[at]}"
        yield f"{tick} {_x(time[at])} {value[at]}"


def _steps(data: series.Steps, colour: str) -> Iterator[str]:
    yield colour
    for at in range(1, len(data.time)):
        here, before = data.value[at], data.value[at - 1]
        start, end = _x(data.time[at - 1]), _x(data.time[at])
        yield f"line {start} {before:.0f} {end} {before:.0f}"
        if here != before:
            yield f"line {end} {before:.0f} {end} {here:.0f}"


def _polyline(time: Floats, value: Floats, colour: str, form: str) -> Iterator[str]:
    known = np.isfinite(value)
    x, y = time[known], value[known]
    yield colour
    for at in range(1, len(x)):
        yield f"line {_x(x[at - 1])} {form.format(y[at - 1])} {_x(x[at])} {form.format(y[at])}"


def _x(time: float) -> str:
    return f"{time:.6f}"
