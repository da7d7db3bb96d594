"""How what was found in captures shows itself in a notebook: plain HTML, no script."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from rexmit.analyse.friendly import LEAST_SEGMENTS
from rexmit.analyse.quantities import NOTHING, duration, rate, size
from rexmit.analyse.rows import Row
from rexmit.errors import printable
from rexmit.run.shown import html_table, shown_html
from rexmit.units import plural

if TYPE_CHECKING:
    from rexmit.report.analysis import Analysis
    from rexmit.report.friendly import TcpFriendly

MOST_ROWS = 20
"""Directions that a table has at most."""

_FLOWS = (("connection", "TCP", "retransmissions"), ("association", "SCTP", "sctp_retransmissions"))
_SAYS = {"yes": "Yes.", "unclear": "As far as can be seen.", "no": "No."}


def analysis_html(found: Analysis) -> str:
    """One row per direction that carries data: how much, how fast, and what was sent again, by cause."""
    names = printable(", ".join(path.name for path in found.captures))
    kinds = [plural(getattr(found, f"{key}s").height, f"{kind} {key}") for key, kind, _ in _FLOWS]
    parts = [_line(f"{plural(found.summary.packets, 'packet')}, {', '.join(kinds)}")]
    for key, _, again in _FLOWS:
        frame: pl.DataFrame = getattr(found, f"{key}s")
        heads = (key, "data went", "data", "goodput", "median RTT", "sent again")
        rows = list(_directions(frame, key, getattr(found, again)))
        if rows:
            parts.append(html_table(heads, rows[:MOST_ROWS], 2, ("sent again",)))
            parts.append(_more(len(rows), f"{key}s"))
    return shown_html(names, [*parts, *_warnings(found.warnings)])


def friendly_html(found: TcpFriendly) -> str:
    """One row per direction: whether the TCP-friendly formula may be applied, and the measures."""
    flows = found.flows
    several = flows["capture"].n_unique() > 1
    heads = ("connection", "sender", "may be applied", "p", "F", "RTT", "rate")
    rows = [
        (
            f"{row['capture']} {row['connection']}" if several else str(row["connection"]),
            str(row["sender"]),
            _verdict(row),
            NOTHING if row["p"] is None else f"{row['p']:.4g}",
            NOTHING if row["f"] is None else f"{row['f']:.4g}",
            duration(row["rtt_ns"]),
            rate(row["rate_bit_s"]),
        )
        for row in flows.head(MOST_ROWS).iter_rows(named=True)
    ]
    names = printable(", ".join(looked.capture for looked in found.looked))
    parts = [_line("May the TCP-friendly formula be applied? F in segments.")]
    parts.append(
        html_table(heads, rows, 3) if rows else _line(f"No direction has {LEAST_SEGMENTS} segments.")
    )
    parts.append(_more(flows.height, "flows"))
    return shown_html(names, [*parts, *_warnings([w for one in found.looked for w in one.warnings])])


def _directions(frame: pl.DataFrame, key: str, again: pl.DataFrame) -> Iterator[Sequence[str]]:
    causes: dict[tuple[int, str], Counter[str]] = {}
    for number, side, cause in again.select(key, "side", "cause").iter_rows():
        causes.setdefault((number, side), Counter())[cause] += 1
    for row in frame.iter_rows(named=True):
        for side in ("client", "server"):
            counted = causes.get((row[key], side), Counter())
            if not row[f"{side}_bytes"] and not counted:
                continue
            arrow = "→" if side == "client" else "←"
            yield (
                str(row[key]),
                f"{row['client_address']} {arrow} {row['server_address']}",
                size(row[f"{side}_bytes"]),
                rate(row[f"{side}_goodput_bit_s"]),
                duration(row[f"{side}_rtt_p50_ns"]),
                _causes(counted),
            )


def _causes(counted: Counter[str]) -> str:
    if not counted:
        return "0"
    told = ", ".join(f"{number:,} {cause}" for cause, number in counted.most_common())
    return f"{counted.total():,}: {told}"


def _verdict(row: Row) -> str:
    why = {"no": "failed", "unclear": "unseen"}.get(row["applies"])
    told = row[why].replace(",", ", ") if why and row[why] else ""
    words = {"no": "Fails", "unclear": "Not seen"}.get(row["applies"], "")
    return " ".join([_SAYS[row["applies"]], *([f"{words}: {told}."] if told else [])])


def _more(rows: int, table: str) -> str:
    return _line(f"{rows - MOST_ROWS:,} more: {table} has all.") if rows > MOST_ROWS else ""


def _warnings(warnings: Sequence[str]) -> list[str]:
    return [_line(f"warning: {text}") for text in warnings]


def _line(text: str) -> str:
    return f"<div>{html.escape(text)}</div>"
