"""The TCP-friendly formula put to captures: flows, cycles, conditions and predictions as tables."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from rexmit.analyse.captures import SMALL, Options, Progress
from rexmit.analyse.friendly import TABLES, Applies, Cycles, Estimate, Judged, Verdict, judge
from rexmit.analyse.rows import Row
from rexmit.errors import UsageError, nearest, printable
from rexmit.models.tcp_friendly import FORMULAS, Flow
from rexmit.report.analysis import Analysis

Columns: TypeAlias = dict[str, tuple[pl.DataType | type[pl.DataType], str]]

KEY: Columns = {
    "capture": (pl.String, "file of the capture"),
    "connection": (pl.Int64, "number of the connection"),
    "side": (pl.String, "who sent the data, `client` or `server`"),
}

_ESTIMATES = {
    "p": "loss events for each segment sent (klaver-2005, equation 3.1)",
    "p_delivered": "loss events for each segment delivered, as its chapter 4 counts a cycle",
    "p_lost": "lost segments for each segment sent",
    "rate_bit_s": "payload, each byte once, over time, bit/s",
    "rtt_ns": "mean of unambiguous RTT samples, ns",
    "f": "rate x RTT / MSS, segments (equation 4.9)",
    "f_samples": "mean segments outstanding when the segments that gave a sample were sent",
    "w": "mean peak W, segments",
}

FLOWS: Columns = {
    **KEY,
    "sender": (pl.String, "address and port of the side"),
    "receiver": (pl.String, "address and port of the other side"),
    "applies": (pl.String, "whether the formula may be applied: `yes`, `unclear`, `no`"),
    "failed": (pl.String, "names of the conditions that forbid it, separated by commas"),
    "unseen": (pl.String, "names of the conditions the capture says nothing about, separated by commas"),
    "mss": (pl.Int64, "payload of a full segment, bytes"),
    "segments": (pl.Int64, "segments sent on the wire, of the whole flow"),
    "loss_events": (pl.Int64, "loss events of the whole flow"),
    "cycles": (pl.Int64, "whole cycles between them"),
    "acked_every": (
        pl.Int64,
        "1 or 2: every segment or every second one is acknowledged; none where neither",
    ),
    "cwnd_from": (pl.String, "what W comes from: `urgent pointer` or `outstanding`"),
    "kept": (pl.Float64, "share of W that a loss leaves"),
    "segments_per_round": (pl.Float64, "growth after it, segments for each round trip"),
    "bend": (pl.Float64, "0 for linear growth, above 0 where it slows down, below 0 where it speeds up"),
    "window_cycles": (pl.Int64, "cycles of the measurement window; none, like all that follows, without one"),
    "window_period": (pl.Int64, "1, or 2 where every second cycle is alike"),
    "window_start_ns": (pl.Int64, "its beginning, ns since 1970"),
    "window_end_ns": (pl.Int64, "its end"),
    "window_segments": (pl.Int64, "segments sent in it, the lost ones counted"),
    "window_lost": (pl.Int64, "segments lost in it"),
    **{
        name: (pl.Float64, meaning + end)
        for stem, about in _ESTIMATES.items()
        for name, meaning, end in (
            (stem, about, ""),
            (f"{stem}_low", about, "; lower end of the 95 % interval over cycles"),
            (f"{stem}_high", about, "; upper end of it"),
        )
    },
    "parity": (pl.String, "of the peaks: `odd`, `even` (nine of ten are) or `mixed`"),
    "w_start": (pl.Float64, "W at the beginning, segments"),
    "w_end": (pl.Float64, "W at the end, segments"),
}

CYCLES: Columns = {
    **KEY,
    "cycle": (pl.Int64, "its number, from 1; the first one follows slow start"),
    "start_ns": (pl.Int64, "when the packet whose loss begins it was sent, ns since 1970"),
    "time_ns": (pl.Int64, "its length"),
    "w": (pl.Float64, "its peak, reached at its beginning, segments"),
    "segments": (pl.Int64, "segments sent, the lost ones counted"),
    "lost": (pl.Int64, "segments lost"),
    "timeout": (pl.Boolean, "a timer was needed to repair them"),
    "payload": (pl.Int64, "bytes sent for the first time"),
    "rtt_ns": (pl.Float64, "mean of unambiguous RTT samples, ns"),
    "f_samples": (pl.Float64, "mean segments outstanding when those were sent"),
    "chosen": (pl.Boolean, "it is in the measurement window"),
}

CONDITION_COLUMNS: Columns = {
    **KEY,
    "number": (pl.Int64, "number of the condition in klaver-2005, chapter 2; none for a further reason"),
    "condition": (pl.String, "its name"),
    "verdict": (pl.String, "`holds`, `fails` or `cannot be seen`"),
    "decides": (pl.Boolean, "it fails, and so forbids the formula"),
    "sentence": (pl.String, "why, in words"),
    "evidence": (pl.String, "why, in numbers: JSON"),
}

PREDICTIONS: Columns = {
    **KEY,
    "formula": (pl.String, "name in `rexmit.models.FORMULAS`"),
    "holds": (pl.Boolean, "the formula's own assumptions may hold at this p"),
    "p": (pl.Float64, "p of the measurement"),
    "f": (pl.Float64, "average window that the formula gives for it, segments"),
    "rate_bit_s": (pl.Float64, "rate that it gives, bit/s"),
    "error": (pl.Float64, "how far that exceeds the measured value, as a share: of f and of the rate"),
    "f_delivered": (pl.Float64, "the same for p_delivered"),
    "rate_delivered_bit_s": (pl.Float64, "the same for p_delivered"),
    "error_delivered": (pl.Float64, "the same for p_delivered"),
}

MEANINGS: dict[str, Columns] = {
    "flows": FLOWS,
    "cycles": CYCLES,
    "conditions": CONDITION_COLUMNS,
    "predictions": PREDICTIONS,
}
"""The tables, their columns, and what these mean."""

_PART = {Verdict.FAILS: "failed", Verdict.UNSEEN: "unseen"}


@dataclass(frozen=True)
class Looked:
    """What was found in one capture: directions judged, and how many were too short to be."""

    capture: str
    judged: list[Judged]
    too_short: int
    warnings: list[str]


class TcpFriendly:
    """What captures say of the TCP-friendly formula, as Polars tables; `meaning` explains their columns."""

    def __init__(self, looked: Sequence[Looked]) -> None:
        self.looked = list(looked)

    @property
    def flows(self) -> pl.DataFrame:
        """One row per direction with enough data: may the formula be applied, and the measures."""
        return self._frame("flows", (row for key, one in self._each() for row in [_flow(key, one)]))

    @property
    def cycles(self) -> pl.DataFrame:
        """One row per congestion-avoidance cycle."""
        frames = [_cycles(key, one) for key, one in self._each()]
        return pl.concat([self._frame("cycles", []), *frames])

    @property
    def conditions(self) -> pl.DataFrame:
        """One row per condition of a direction, in the order of the study, then further reasons."""
        return self._frame("conditions", (row for key, one in self._each() for row in _conditions(key, one)))

    @property
    def predictions(self) -> pl.DataFrame:
        """One row per formula and direction with a measurement, whether or not the formula may be applied."""
        rows = (row for key, one in self._each() for row in predictions(key, one))
        return self._frame("predictions", rows)

    def table(self, name: str) -> pl.DataFrame:
        """The table of this name. Raises UsageError for an unknown one."""
        if name not in MEANINGS:
            raise UsageError(f"no table {name!r}{nearest(name, MEANINGS)}")
        found: pl.DataFrame = getattr(self, name)
        return found

    def meaning(self, name: str) -> dict[str, str]:
        """What each column of a table means. Raises UsageError for an unknown name."""
        self.table(name)
        return {column: about for column, (_, about) in MEANINGS[name].items()}

    def plot(self, out: str | os.PathLike[str], connection: int | None = None) -> list[Path]:
        """Draws the window of a direction over time, with its loss events and the cycles chosen.

        The first direction that is there, or that of a connection. `out` ends in `.svg`, `.png` or `.pdf`, or
        is a name without ending for SVG and PNG. Raises UsageError where there is no such direction,
        StoreError where a file cannot be written.
        """
        from rexmit.plot.friendly import draw

        every = [one for looked in self.looked for one in looked.judged]
        chosen = [one for one in every if connection in (None, one.flow.connection["connection"])]
        if not chosen:
            raise UsageError("no direction with enough data to draw")
        best = max(chosen, key=lambda one: int(one.flow.sent.segments.sum()))
        return draw(best, Path(out))

    def _each(self) -> Iterable[tuple[Row, Judged]]:
        for looked in self.looked:
            for one in looked.judged:
                number = one.flow.connection["connection"]
                yield {"capture": looked.capture, "connection": number, "side": one.flow.side}, one

    def _frame(self, name: str, rows: Iterable[Row]) -> pl.DataFrame:
        return pl.DataFrame(list(rows), {column: kind for column, (kind, _) in MEANINGS[name].items()})

    def __repr__(self) -> str:
        said = [one.applies.value for looked in self.looked for one in looked.judged]
        counts = ", ".join(f"{said.count(word)} {word}" for word in Applies if word in said)
        names = printable(", ".join(looked.capture for looked in self.looked))
        return f"<TcpFriendly of {names}: {counts or 'no direction with enough data'}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: of each direction the verdict and the measures."""
        from rexmit.report.shown import friendly_html

        return friendly_html(self)


def look(found: Analysis, name: str, connection: int | None = None) -> Looked:
    """Judges the directions of an open analysis. Raises UsageError where the connection is not there."""
    numbers = found.connections["connection"]
    if connection is not None and connection not in numbers:
        there = f"{len(numbers):,} TCP connection{'s' * (len(numbers) != 1)}"
        raise UsageError(f"no connection {connection}; {name} has {there}, counted from 1")
    judged = list(judge(found, connection))
    carrying = sum(
        int((found.connections[f"{side}_data_packets"] > 0).sum()) for side in ("client", "server")
    )
    short = carrying - len(judged) if connection is None else 0
    return Looked(name, judged, short, found.warnings)


def open_capture(
    path: str | Path, condition: str | None = None, progress: Progress | None = None
) -> Analysis:
    """Reads a capture with the tables that are needed; what could not be read is in `warnings`."""
    options = Options(filter=condition, tables=(*SMALL, *TABLES))
    return Analysis([Path(path)], options, progress)


def tcp_friendly(
    captures: str | Path | Analysis | Sequence[str | Path], connection: int | None, condition: str | None
) -> TcpFriendly:
    """Judges captures, or an open analysis; see `rexmit.tcp_friendly`."""
    if isinstance(captures, Analysis):
        name = " and ".join(str(path) for path in captures.captures)
        return TcpFriendly([look(captures, name, connection)])
    paths = [captures] if isinstance(captures, (str, Path)) else list(captures)
    looked = [look(open_capture(path, condition), str(path), connection) for path in paths]
    for one in looked:
        for text in one.warnings:
            warnings.warn(f"{one.capture}: {text}", stacklevel=3)
    return TcpFriendly(looked)


def _flow(key: Row, one: Judged) -> Row:
    flow, connection = one.flow, one.flow.connection
    named = {part: ",".join(_names(one, verdict)) for verdict, part in _PART.items()}
    row = {
        **key,
        "sender": connection[f"{flow.side}_address"],
        "receiver": connection[f"{flow.other}_address"],
        "applies": one.applies.value,
        **named,
        "mss": flow.mss,
        "segments": int(flow.sent.segments.sum()),
        "loss_events": len(flow.events.row),
        "cycles": len(one.cycles),
        "acked_every": one.manner.every,
        "cwnd_from": "urgent pointer" if flow.carries_cwnd else "outstanding",
        "kept": one.growth.kept,
        "segments_per_round": one.growth.slope,
        "bend": one.growth.bend,
    }
    return row | _measures(one)


def _names(one: Judged, verdict: Verdict) -> list[str]:
    findings = one.failed if verdict is Verdict.FAILS else one.findings
    return [found.condition.name for found in findings if found.verdict is verdict]


def _measures(one: Judged) -> Row:
    measured, window = one.measured, one.window
    if measured is None or window is None:
        return {}
    start = int(one.flow.sent.time[one.cycles.start[window.first]])
    row: Row = {
        "window_cycles": measured.cycles,
        "window_period": window.period,
        "window_start_ns": start,
        "window_end_ns": int(one.flow.sent.time[one.cycles.stop[window.last - 1]]),
        "window_segments": measured.segments,
        "window_lost": measured.lost,
        "parity": measured.parity,
        "w_start": measured.w_start,
        "w_end": measured.w_stop,
    }
    for name in _ESTIMATES:
        estimate: Estimate | None = getattr(measured, _FIELDS.get(name, name))
        if estimate is not None:
            row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value for name, value in row.items()
    }


_FIELDS = {"rate_bit_s": "rate", "rtt_ns": "rtt"}


def _cycles(key: Row, one: Judged) -> pl.DataFrame:
    cycles: Cycles = one.cycles
    number = np.arange(len(cycles))
    window = one.window
    inside = np.zeros(len(cycles), dtype=bool)
    if window is not None:
        inside[window.slice] = True
    samples = np.where(cycles.samples > 0, cycles.samples, 1)
    nothing = np.where(cycles.samples > 0, 0.0, np.nan)
    columns: dict[str, Any] = {
        **{name: [value] * len(cycles) for name, value in key.items()},
        "cycle": number + 1,
        "start_ns": one.flow.sent.time[cycles.start],
        "time_ns": cycles.time,
        "w": cycles.peak,
        "segments": cycles.segments,
        "lost": cycles.lost,
        "timeout": cycles.timeout,
        "payload": cycles.payload,
        "rtt_ns": cycles.rtt / samples + nothing,
        "f_samples": cycles.flight / samples + nothing,
        "chosen": inside,
    }
    schema = {column: kind for column, (kind, _) in CYCLES.items()}
    return pl.DataFrame(columns, schema, nan_to_null=True)


def _conditions(key: Row, one: Judged) -> Iterable[Row]:
    for found in one.findings:
        yield {
            **key,
            "number": found.condition.number,
            "condition": found.condition.name,
            "verdict": found.verdict.value,
            "decides": found.decides,
            "sentence": found.sentence,
            "evidence": json.dumps(found.evidence),
        }


def predictions(key: Row, one: Judged) -> Iterable[Row]:
    """A row for each formula, of a direction that has a measurement of F."""
    measured = one.measured
    if measured is None or measured.f is None or measured.rtt is None or not measured.f.value:
        return
    most = one.flow.of("max_window", of_receiver=True)
    flow = Flow(
        mss=one.flow.mss,
        rtt=measured.rtt.value / 1e9,
        delayed_acks=one.ack_ratio == 2,
        max_window=most / one.flow.mss if most else None,
    )
    for name, formula in FORMULAS.items():
        row: Row = {**key, "formula": name, "p": measured.p.value}
        row["holds"] = bool(formula.holds_at(measured.p.value))
        for end, p in (("", measured.p.value), ("_delivered", measured.p_delivered.value)):
            if not formula.takes(p):
                continue
            window = float(formula.window(p, flow))
            row[f"f{end}"] = window
            row[f"rate{end}_bit_s"] = float(formula.bandwidth(p, flow)) if window > 0 else None
            row[f"error{end}"] = window / measured.f.value - 1
        yield row
