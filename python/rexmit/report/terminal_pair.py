"""Two captures of the same flows for a terminal: clocks, what was lost where, and why it was sent again."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rexmit.analyse import rows as plain
from rexmit.analyse.pairs import Paired
from rexmit.analyse.quantities import NOTHING, count, duration, share
from rexmit.analyse.rows import Row
from rexmit.analyse.words import evidence
from rexmit.report.terminal import DIM, STRONG, WIDE, cause_style, causes_text
from rexmit.units import plural

MOST = 40
"""Directions shown."""

MOST_STEPS = 5
"""Steps of a clock shown."""

WIDE_PPM = 1000
"""Bounds of a skew so far apart say nothing: no clock is taken to be wrong by more than 1000 ppm."""

Causes = dict[tuple[int, str], Counter[str]]
"""Retransmissions by pair and side."""


def print_pair(console: Console, paired: Paired, names: tuple[str, str]) -> None:
    """Prints what both captures together say."""
    for letter, name, summary in zip("AB", names, paired.captures, strict=True):
        console.print(Text(f"{letter}: {name}, {plural(summary.packets, 'packet')}", style=STRONG))
    rows = list(plain.rows(paired.tables["pairs"]))
    for line in clock_lines(paired.clock, any(row["arrived"] for row in rows)):
        console.print(Text(line))
    for letter, unpaired in zip("AB", paired.unpaired, strict=True):
        if unpaired:
            console.print(f"{plural(len(unpaired), 'connection')} in {letter} only")
    if rows:
        shown = [row for row in rows if row["packets"] or row["not_sent"]]
        console.print()
        table = _table if console.width >= WIDE else _blocks
        console.print(table(shown[:MOST], _causes(paired)))
        for row in shown[:MOST]:
            for line in unseen_lines(row):
                console.print(Text(line))
        if len(shown) > MOST:
            console.print(Text(f"{len(shown) - MOST:,} more directions: --tables has all", style=DIM))
    print_pair_warnings(console, paired)


def print_pair_warnings(console: Console, paired: Paired) -> None:
    """Prints what makes the answers less than certain."""
    for letter, summary in zip("AB", paired.captures, strict=True):
        for text in summary.warnings:
            console.print(Text(f"warning: {letter}: {text}", style="yellow"))
    for text in paired.warnings:
        console.print(Text(f"warning: {text}", style="yellow"))


def clock_lines(clock: dict[str, Any], matched: bool) -> Iterator[str]:
    """How the clocks stand, how well that is known, and when they were set."""
    method = clock["method"]
    if method == "unknown":
        what = "No packet is unique in both captures" if matched else "No packet is in both captures"
        yield f"{what}; nothing is known of their clocks." + (" Delays are not corrected." if matched else "")
        return
    if method == "same":
        yield "Both captures were stamped by one clock, as you say: delays are true."
        return
    low, high = clock["offset_low_ns"], clock["offset_high_ns"]
    bounds = [] if low is None or high is None else [low, high]
    offset, *around = exact([clock["offset_ns"], *bounds])
    way = "less" if clock["offset_ns"] < 0 else "more"
    text = f"B's clock shows {offset.lstrip('-')} {way} than A's"
    if around:
        text += f" (B minus A: between {around[0]} and {around[1]})"
    text += _skew_text(clock)
    if method == "one-way":
        yield f"{text}. Packets of one direction only: delays are those above the smallest."
    else:
        trip = duration(clock["round_trip_ns"])
        yield f"{text}. Smallest delays both ways are taken as equal; half of {trip} is uncertain."
    steps = clock["steps"]
    for step in steps[:MOST_STEPS]:
        second, ns = divmod(step["time_ns"], 10**9)
        at = f"{datetime.fromtimestamp(second, UTC):%Y-%m-%d %H:%M:%S}.{ns // 1000:06}"
        more = "more" if step["size_ns"] > 0 else "less"
        yield (
            f"A clock was set: from {at} UTC by A's clock on, B's shows "
            f"{duration(abs(step['size_ns']))} {more} than before, against A's. Delays are corrected for it."
        )
    if len(steps) > MOST_STEPS:
        yield f"{len(steps) - MOST_STEPS:,} more steps of a clock: --json has all"


def exact(values: Sequence[float]) -> list[str]:
    """Times in nanoseconds: the first one, and its bounds, with digits down to what is uncertain."""
    value, *bounds = values
    uncertain = max((abs(bound - value) for bound in bounds), default=0)
    if not uncertain or abs(value) < 100 * uncertain:
        return [_signed(number) for number in values]
    scale, unit = next(
        ((s, u) for s, u in ((1e9, "s"), (1e6, "ms"), (1e3, "us")) if abs(value) >= s), (1, "ns")
    )
    digits = max(0, math.ceil(math.log10(scale / uncertain)) + 1) if scale > 1 else 0
    return [f"{number / scale:,.{digits}f} {unit}" for number in values]


def unseen_lines(row: Row) -> Iterator[str]:
    """What a capture missed of a direction, and what cannot be compared."""
    near = row["near_sender"].upper()
    far = "B" if near == "A" else "A"
    who = f"pair {row['pair']}, from {row['side']}"
    if row["not_sent"]:
        yield f"{who}: {plural(row['not_sent'], 'packet')} seen at {far} only: missed by {near}"
    if row["not_comparable"]:
        number = plural(row["not_comparable"], "packet")
        yield f"{who}: {number} seen at {near} only, while {far} was perhaps not recording: not taken as lost"


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


def _causes(paired: Paired) -> Causes:
    causes: Causes = {}
    again = paired.tables["pair_retransmissions"]
    for pair, side, cause in zip(
        *(plain.values(again, name) for name in ("pair", "side", "cause")), strict=True
    ):
        causes.setdefault((pair, side), Counter())[cause] += 1
    return causes


def _table(rows: list[Row], causes: Causes) -> RenderableType:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("#", "from", "A:B", "packets", "lost", "damaged", "overtaken", "copies"):
        table.add_column(title, justify="left" if title == "from" else "right", no_wrap=True)
    table.add_column("delay min / median / p95", justify="right", no_wrap=True)
    table.add_column("sent again")
    table.add_column("lost before A..B / between / after / not lost", justify="right")
    for row in rows:
        counted = dict(causes.get((row["pair"], row["side"]), Counter()).most_common())
        table.add_row(
            str(row["pair"]),
            _from(row),
            f"{row['connection_a']}:{row['connection_b']}",
            count(row["packets"]),
            _lost(row),
            count(row["damaged"]),
            count(row["reordered"]),
            count(row["duplicated"]),
            _delays(row),
            causes_text(counted),
            " / ".join(count(row[name]) for name in _WHERE) if counted else "",
        )
    return table


def _blocks(rows: list[Row], causes: Causes) -> RenderableType:
    """The same as the table for narrow terminals: some lines for each direction."""
    lines: list[RenderableType] = []
    for row in rows:
        connections = f"connections {row['connection_a']}:{row['connection_b']}"
        lines.append(Text.assemble(Text(f"{row['pair']:>4}  ", style=STRONG), f"{_from(row)}, {connections}"))
        facts = [plural(row["packets"], "packet"), f"lost {_lost(row)}"]
        for name, word in (("damaged", "damaged"), ("reordered", "overtaken")):
            if row[name]:
                facts.append(f"{count(row[name])} {word}")
        if row["duplicated"]:
            facts.append(plural(row["duplicated"], "copy", "copies"))
        lines.append(Padding(Text(", ".join(facts)), _INDENT))
        lines.append(Padding(Text(f"delay min / median / p95: {_delays(row)}"), _INDENT))
        counted = dict(causes.get((row["pair"], row["side"]), Counter()).most_common())
        if counted:
            lines.append(Padding(Text.assemble("sent again ", causes_text(counted)), _INDENT))
            where = ", ".join(f"{word} {count(row[name])}" for name, word in _WHERE.items())
            lines.append(Padding(Text(where), _INDENT))
    return Group(*lines)


def _from(row: Row) -> str:
    return f"{row['side']}, near {row['near_sender'].upper()}"


def _lost(row: Row) -> str:
    return f"{row['lost']:,} ({share(row['loss_rate'])})"


def _delays(row: Row) -> str:
    return " / ".join(duration(row[f"delay_{part}_ns"]) for part in ("min", "p50", "p95"))


def _skew_text(clock: dict[str, Any]) -> str:
    skew, low, high = clock["skew_ppm"], clock["skew_low_ppm"], clock["skew_high_ppm"]
    if low is None or high is None:
        return f" and runs {_ppm(skew)} ppm, if no queue grew or shrank" if skew else ""
    if skew == 0 and high - low >= WIDE_PPM:
        return "; how fast it runs is not known"
    return f" and runs {_ppm(skew)} ppm (between {_ppm(low)} and {_ppm(high)})"


def _ppm(value: float) -> str:
    return f"{value:+.0f}" if abs(value) >= 100 else f"{value:+.3g}" if value else "0"


def _sorted(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["pair"], row["time_ns"]))


def _signed(value: object) -> str:
    assert isinstance(value, int | float)
    return f"-{duration(-value)}" if value < 0 else duration(value)


def _line(values: Iterable[str]) -> str:
    return "  ".join(f"{value:{width}}" for value, width in zip(values, _WIDTHS, strict=True)).rstrip()


_WIDTHS = (">4", ">9", ">8", "<6", ">11", ">6", ">3", ">11", "<7", "<14", "<7", "<1")
_INDENT = (0, 0, 0, 6)
_WHERE = {
    "lost_before": "lost before A..B",
    "lost_between": "between",
    "lost_after": "after",
    "spurious": "not lost",
}
