"""Two captures of the same flows for a terminal: clocks, what was lost where, and why it was sent again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rexmit.analyse import rows as plain
from rexmit.analyse.pairs import Paired
from rexmit.analyse.quantities import NOTHING, count, duration, plural, share
from rexmit.analyse.rows import Row
from rexmit.analyse.words import evidence
from rexmit.report.terminal import DIM, STRONG, cause_style, causes_text

MOST = 40
"""Directions shown."""


def print_pair(console: Console, paired: Paired, names: tuple[str, str]) -> None:
    """Prints what both captures together say."""
    for letter, name, summary in zip("AB", names, paired.captures, strict=True):
        console.print(Text(f"{letter}: {name}, {plural(summary.packets, 'packet')}", style=STRONG))
    console.print(clock_line(paired.clock))
    rows = list(plain.rows(paired.tables["pairs"]))
    for letter, unpaired in zip("AB", paired.unpaired, strict=True):
        if unpaired:
            console.print(f"{plural(len(unpaired), 'connection')} in {letter} only")
    if rows:
        console.print()
        console.print(_table(rows[:MOST], paired))
        if len(rows) > MOST:
            console.print(Text(f"{len(rows) - MOST:,} more directions: --tables has all", style=DIM))
    print_pair_warnings(console, paired)


def print_pair_warnings(console: Console, paired: Paired) -> None:
    """Prints what makes the answers less than certain."""
    for letter, summary in zip("AB", paired.captures, strict=True):
        for text in summary.warnings:
            console.print(Text(f"warning: {letter}: {text}", style="yellow"))


def clock_line(clock: dict[str, object]) -> str:
    """How the clocks stand, and how well that is known."""
    method = clock["method"]
    if method == "unknown":
        return "No packet is in both captures; nothing is known of their clocks."
    if method == "same":
        return "Both captures were made by one clock, as you say: delays are true."
    offset = _signed(clock["offset_ns"])
    text = f"B's clock shows {offset} more than A's"
    low, high = clock["offset_low_ns"], clock["offset_high_ns"]
    if low is not None and high is not None:
        text += f" (between {_signed(low)} and {_signed(high)})"
    skew = clock["skew_ppm"]
    assert isinstance(skew, int | float)
    text += f" and runs {skew:+.3g} ppm"
    if method == "one-way":
        return f"{text}. Packets of one direction only: delays are those above the smallest."
    trip = clock["round_trip_ns"]
    assert trip is None or isinstance(trip, int | float)
    return f"{text}. Smallest delays both ways are taken as equal; half of {duration(trip)} is uncertain."


def pair_lines(paired: Paired) -> Iterator[Text]:
    """A line for each retransmission, after one of titles."""
    titles = (
        "pair",
        "packet",
        "arrived",
        "from",
        "seq",
        "bytes",
        "no.",
        "since last",
        "lost",
        "cause",
        "sure",
    )
    yield Text(_line((*titles, "evidence")), style="bold")
    for row in _sorted(plain.rows(paired.tables["pair_retransmissions"])):
        arrived = NOTHING if row["number_received"] is None else str(row["number_received"])
        numbers = (
            row["pair"],
            f"{row['seen_at']}:{row['number']}",
            arrived,
            row["side"],
            row["seq"],
            row["len"],
        )
        rest = (row["transmission"], duration(row["delay_previous_ns"]), row["lost_at"], row["cause"])
        text = Text(_line((*map(str, (*numbers, *rest)), row["confidence"], evidence(row))), no_wrap=True)
        start = text.plain.find(row["cause"], text.plain.find(row["lost_at"]) + len(row["lost_at"]))
        text.stylize(cause_style(row["cause"]), start, start + len(row["cause"]))
        yield text


def _table(rows: list[Row], paired: Paired) -> Table:
    causes: dict[tuple[int, str], Counter[str]] = {}
    again = paired.tables["pair_retransmissions"]
    for pair, side, cause in zip(
        *(plain.values(again, name) for name in ("pair", "side", "cause")), strict=True
    ):
        causes.setdefault((pair, side), Counter())[cause] += 1
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("#", "from", "A:B", "packets", "lost", "damaged", "overtaken", "copies"):
        table.add_column(title, justify="left" if title == "from" else "right", no_wrap=True)
    table.add_column("delay min / median / p95", justify="right", no_wrap=True)
    table.add_column("sent again")
    table.add_column("lost before A..B / between / after / not lost", justify="right")
    for row in rows:
        if not row["packets"] and not row["not_sent"]:
            continue
        where = [row[name] for name in ("lost_before", "lost_between", "lost_after", "spurious")]
        counted = dict(causes.get((row["pair"], row["side"]), Counter()).most_common())
        table.add_row(
            str(row["pair"]),
            f"{row['side']}, near {row['near_sender'].upper()}",
            f"{row['connection_a']}:{row['connection_b']}",
            count(row["packets"]),
            f"{row['lost']:,} ({share(row['loss_rate'])})",
            count(row["damaged"]),
            count(row["reordered"]),
            count(row["duplicated"]),
            " / ".join(duration(row[f"delay_{part}_ns"]) for part in ("min", "p50", "p95")),
            causes_text(counted),
            " / ".join(map(count, where)) if counted else "",
        )
    return table


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["pair"], row["time_ns"]))


def _signed(value: object) -> str:
    assert isinstance(value, int | float)
    return f"-{duration(-value)}" if value < 0 else duration(value)


def _line(values: Iterable[str]) -> str:
    return "  ".join(f"{value:{width}}" for value, width in zip(values, _WIDTHS, strict=True)).rstrip()


_WIDTHS = (">4", ">9", ">8", "<6", ">11", ">6", ">3", ">11", "<7", "<14", "<7", "<1")
