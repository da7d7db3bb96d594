"""The summary of an analysis for a terminal: what matters first, for one connection and for thousands."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rexmit.analyse.captures import Summary
from rexmit.analyse.held import answers
from rexmit.analyse.overview import Overview, Totals, cause_counts, data_sides, goodput
from rexmit.analyse.quantities import NOTHING, count, duration, rate, share, size
from rexmit.analyse.rows import Row
from rexmit.analyse.words import vantage
from rexmit.units import plural

GOOD, BAD, DIM, STRONG = "green", "bold red", "dim", "bold"

WIDE = 150
"""Columns that a terminal needs for a table with a row for each direction of a connection."""


def print_overview(console: Console, overview: Overview, summary: Summary) -> None:
    """Prints totals, a table of connections and one of associations, and warnings."""
    console.print(totals_line(overview, summary))
    _print_why(console, overview)
    for title, shown, totals, table in (
        ("connection", overview.connections, overview.tcp, tcp_table),
        ("association", overview.associations, overview.sctp, sctp_table),
    ):
        if not totals.flows:
            continue
        console.print()
        console.print(table(shown) if console.width >= WIDE else blocks(shown, title))
        if len(shown) < totals.flows:
            rest = plural(totals.flows - len(shown), f"more {title}", f"more {title}s")
            console.print(Text(f"{rest} not shown; see --limit and --sort", style=DIM))
    print_warnings(console, summary)


def title(text: str) -> Text:
    """A heading above what is said of one of several captures."""
    return Text(f"\n{text}", style="bold underline")


def _print_why(console: Console, overview: Overview) -> None:
    """Prints what held each direction of the connections shown back, a line each."""
    lines = [
        Text.assemble(
            (f"{row['connection']:>4}  ", STRONG),
            ("→  " if side == "client" else "←  ", "cyan"),
            sentence(text),
        )
        for row in overview.connections
        for side, text in answers(row).items()
    ]
    if lines:
        console.print()
        console.print(Text("Why not faster?", style=STRONG))
        for line in lines:
            console.print(line)


def sentence(text: str) -> str:
    """With a capital."""
    return text[:1].upper() + text[1:]


def totals_line(overview: Overview, summary: Summary) -> RenderableType:
    """What the capture holds, in one or two lines."""
    parts = [plural(summary.packets, "packet")]
    if overview.tcp.flows or not overview.sctp.flows:
        parts.append(plural(overview.tcp.flows, "TCP connection"))
    if overview.sctp.flows:
        parts.append(plural(overview.sctp.flows, "SCTP association"))
    if summary.quic:
        parts.append(f"{plural(summary.quic, 'QUIC packet')} passed over")
    if summary.others:
        parts.append(f"{plural(summary.others, 'other packet')} passed over")
    lines = [Text(", ".join(parts), style=STRONG)]
    for name, totals in (("TCP", overview.tcp), ("SCTP", overview.sctp)):
        if totals.flows:
            lines.append(_retransmissions_line(name, totals))
        if totals.unseen:
            many = size(totals.unseen) if name == "TCP" else plural(totals.unseen, "chunk")
            flows = plural(totals.gaps, "connection" if name == "TCP" else "association")
            lines.append(Text(f"{name}: {many} of {flows} acknowledged, not in the capture", style="yellow"))
    return Group(*lines)


def tcp_table(rows: list[Row]) -> Table:
    """A row for each direction with data of each connection."""
    table = _table(
        "connection", "in", "data", "goodput", "RTT min / median / p95", "loss events", "sent again"
    )
    for row in rows:
        for at, side in enumerate(data_sides(row)):
            again = cause_counts(row, side)
            table.add_row(
                str(row["connection"]) if at == 0 else "",
                route(row, side),
                duration(row["end_ns"] - row["start_ns"]) if at == 0 else "",
                size(row[f"{side}_unique_bytes"]),
                rate(goodput(row, side)),
                _rtt(row, side),
                _losses(row, side),
                causes_text(again, _not_needed(row, side)),
                _seen(row) if at == 0 else "",
            )
    return table


def sctp_table(rows: list[Row]) -> Table:
    """A row for each direction with data of each association."""
    table = _table("association", "in", "data", "goodput", "RTT min / median / p95", "chunks", "sent again")
    for row in rows:
        for at, side in enumerate(data_sides(row)):
            table.add_row(
                str(row["association"]) if at == 0 else "",
                route(row, side),
                duration(row["end_ns"] - row["start_ns"]) if at == 0 else "",
                size(row[f"{side}_unique_bytes"]),
                rate(goodput(row, side)),
                _spread_text(row, f"{side}_rtt"),
                count(row[f"{side}_unique_chunks"]),
                causes_text(cause_counts(row, side), _not_needed(row, side)),
                _seen(row) if at == 0 else "",
            )
    return table


def blocks(rows: list[Row], kind: str) -> RenderableType:
    """The same as the tables for narrow terminals: some lines for each direction with data."""
    lines: list[RenderableType] = []
    for row in rows:
        for side in data_sides(row):
            tcp = kind == "connection"
            length = duration(row["end_ns"] - row["start_ns"])
            head = Text(f"{row[kind]:>4}  ", style=STRONG)
            lines.append(Text.assemble(head, route(row, side), f"  {length}, seen at: {_seen(row)}"))
            rtt = _rtt(row, side) if tcp else _spread_text(row, f"{side}_rtt")
            facts = [size(row[f"{side}_unique_bytes"]), rate(goodput(row, side)), f"RTT {rtt}"]
            if tcp and row[f"{side}_loss_events"]:
                facts.append(f"loss events {_losses(row, side)}")
            lines.append(Padding(Text(", ".join(facts)), (0, 0, 0, 6)))
            again = cause_counts(row, side)
            if again:
                counted = causes_text(again, _not_needed(row, side))
                lines.append(Padding(Text.assemble("sent again ", counted), (0, 0, 0, 6)))
    return Group(*lines)


def print_warnings(console: Console, summary: Summary) -> None:
    """Prints what makes the answers less than certain."""
    for text in summary.warnings:
        console.print(Text(f"warning: {text}", style="yellow"))


def route(row: Row, side: str) -> Text:
    """The two ends, the client first, with the direction of the data of `side` between them."""
    arrow = "→" if side == "client" else "←"
    return Text.assemble(row["client_address"], (f" {arrow} ", "cyan"), row["server_address"])


def causes_text(counts: dict[str, int], not_needed: int = 0) -> Text:
    """Such as `14: 8 fast, 6 sack-recovery`."""
    total = sum(counts.values())
    if not total:
        return Text("0", style=GOOD)
    text = Text(f"{total:,}", style=STRONG)
    for at, (cause, number) in enumerate(counts.items()):
        text.append(": " if at == 0 else ", ", style="not bold")
        text.append(f"{number:,} {cause}", style=f"not bold {cause_style(cause)}")
    if not_needed:
        text.append(f" ({not_needed:,} not needed)", style="not bold magenta")
    return text


def cause_style(cause: str) -> str:
    """The colour of a cause: timers stand out."""
    if cause.startswith(("timeout", "go-back", "after-timeout", "syn", "fin")):
        return "red"
    return "yellow" if cause in ("unknown", "tail-probe", "window-probe", "keep-alive") else "cyan"


def _retransmissions_line(name: str, totals: Totals) -> Text:
    counts = dict(totals.causes.most_common())
    line = Text(f"{name} retransmissions: ")
    line.append_text(causes_text(counts, totals.not_needed))
    return line


def _table(first: str, *titles: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column(f"{first} (client first)", no_wrap=True)
    for title in titles:
        left = title in ("sent again",)
        table.add_column(title, justify="left" if left else "right", no_wrap=not left)
    table.add_column("seen at", no_wrap=True)
    return table


def _rtt(row: Row, side: str) -> str:
    """By unambiguous ACKs, else by timestamps, else by SACK."""
    for method in ("rtt", "rtt_timestamps", "rtt_sack"):
        if row[f"{side}_{method}_count"]:
            return _spread_text(row, f"{side}_{method}")
    return NOTHING


def _spread_text(row: Row, prefix: str) -> str:
    if not row[f"{prefix}_count"]:
        return NOTHING
    return " / ".join(_ms(row[f"{prefix}_{part}_ns"]) for part in ("min", "p50", "p95")) + " ms"


def _seen(row: Row) -> str:
    return vantage(row["vantage_client_share"])


def _not_needed(row: Row, side: str) -> int:
    known = f"{side}_not_needed"
    return int(row[known] if known in row else row[f"{side}_spurious"] + row[f"{side}_unnecessary"])


def _ms(ns: float) -> str:
    ms = ns / 1e6
    return f"{ms:.0f}" if ms >= 100 else f"{ms:.1f}" if ms >= 1 else f"{ms:.3f}"


def _losses(row: Row, side: str) -> str:
    events = row[f"{side}_loss_events"]
    return f"{events:,} ({share(row[f'{side}_loss_event_rate'])})" if events else "0"


def print_table(console: Console, table: Table) -> None:
    """Prints a table, or a few lines for each of its rows where the terminal is too narrow for it."""
    natural = console.measure(table, options=console.options.update(max_width=10_000)).maximum
    if natural <= console.width:
        console.print(table)
        return
    # Of a table without rows there is nothing to measure, and nothing to say.
    for cells in zip(*(column.cells for column in table.columns), strict=True):
        line = Text()
        for column, cell in zip(table.columns, cells, strict=True):
            value = cell if isinstance(cell, Text) else Text(str(cell))
            if value.plain:
                line.append("; " if len(line) else "")
                line.append_text(Text(f"{column.header} ".lstrip(), style=DIM))
                line.append_text(value)
        console.print(Padding(line, (0, 0, 0, 2)))


def columns(pairs: Iterable[tuple[str, str, str]]) -> Table:
    """Facts with a value for each side."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("", "client", "server"):
        table.add_column(title, no_wrap=title == "")
    for name, client, server in pairs:
        table.add_row(Text(name, style=DIM), client, server)
    return table
