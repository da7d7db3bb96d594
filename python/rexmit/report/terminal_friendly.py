"""The TCP-friendly formula and a capture, for a terminal: verdict, conditions, measures, predictions."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from rexmit.analyse.friendly import LEAST_SEGMENTS, Applies, Estimate, Judged, Verdict
from rexmit.analyse.quantities import NOTHING, count, duration, rate
from rexmit.errors import printable
from rexmit.models.tcp_friendly import FORMULAS
from rexmit.report.friendly import Looked, predictions
from rexmit.report.terminal import BAD, DIM, GOOD, STRONG, print_table, route
from rexmit.units import plural

_STYLES = {Verdict.HOLDS: GOOD, Verdict.FAILS: BAD, Verdict.UNSEEN: "yellow"}


def print_looked(console: Console, looked: Looked, named: bool) -> None:
    """Prints what was found in one capture; `named` puts its name above."""
    if named:
        console.print(Text(f"\n{printable(looked.capture)}", style="bold underline"))
    for at, one in enumerate(looked.judged):
        if at:
            console.print()
        print_judged(console, one)
    if not looked.judged:
        console.print(Text(f"no direction carries {LEAST_SEGMENTS} segments: {_too_short(looked)}"))
    elif looked.too_short:
        console.print(Text(f"\n{_too_short(looked)}", style=DIM))
    for text in looked.warnings:
        console.print(Text(f"warning: {text}", style="yellow"))


def print_judged(console: Console, one: Judged) -> None:
    """Prints a direction: may the formula be applied, the conditions, the measures, the formulas' answers."""
    row = one.flow.connection
    console.print(Text.assemble((f"{row['connection']:>4}  ", STRONG), route(row, one.flow.side)))
    console.print(Padding(_answer(one), (0, 0, 0, 6), expand=False))
    console.print()
    _print_conditions(console, one)
    if one.measured is not None:
        measured = one.measured
        length = duration(1e9 * measured.seconds)
        over = f"{plural(measured.cycles, 'cycle')}, {plural(measured.segments, 'segment')}, {length}"
        console.print(Text(f"\nMeasured over {over}", style=STRONG))
        print_table(console, _measures(one))
    if one.applies is not Applies.NO and (rows := list(predictions({}, one))):
        console.print(Text("\nWhat formulas give for this p", style=STRONG))
        print_table(console, _predictions(rows))


def _answer(one: Judged) -> Text:
    """The overall verdict as a sentence."""
    text = Text("May the TCP-friendly formula be applied? ")
    if one.applies is Applies.YES:
        return text.append("Yes.", style=GOOD)
    if one.applies is Applies.NO:
        text.append("No. What fails: ", style=BAD)
        return text.append(f"{', '.join(found.condition.label for found in one.failed)}.", style=BAD)
    unseen = [found.condition.label for found in one.findings if found.verdict is Verdict.UNSEEN]
    text.append("As far as can be seen. ", style="yellow")
    return text.append(f"Not seen: {', '.join(unseen)}.")


def _print_conditions(console: Console, one: Judged) -> None:
    table = _table("", "condition", "verdict", "why", wide="why")
    for found in one.findings:
        condition = found.condition
        table.add_row(
            NOTHING if condition.number is None else str(condition.number),
            condition.title,
            Text(found.verdict.value, style=_STYLES[found.verdict]),
            found.sentence,
        )
    console.print(Padding(table, (0, 0, 0, 2), expand=False))


def _measures(one: Judged) -> Table:
    measured = one.measured
    assert measured is not None
    table = _table("", "value", "95 % over cycles", "")
    source = "cwnd in the urgent pointer field" if one.flow.carries_cwnd else "from what is outstanding"
    if one.window is not None:
        left = len(one.cycles) - len(one.window)
        ends = f"{count(measured.w_start)} at the start, {count(measured.w_stop)} at the end"
        source += f"; {measured.parity}, {ends}"
        table.add_row(
            "cycles left out", count(left), "", "slow start, what follows it, and cycles unlike these"
        )
    rows: tuple[tuple[str, Estimate | None, str], ...] = (
        ("p", measured.p, "loss events for each segment sent"),
        ("p, delivered", measured.p_delivered, "for each segment delivered"),
        ("lost", measured.p_lost, "lost segments for each segment sent"),
        ("rate", measured.rate, "payload over time"),
        ("RTT", measured.rtt, "mean of unambiguous samples"),
        ("F = rate x RTT / MSS", measured.f, f"segments of {one.flow.mss:,} bytes"),
        ("F of samples", measured.f_samples, "mean outstanding when a timed segment was sent"),
        ("W", measured.w, source),
    )
    for name, estimate, about in rows:
        if estimate is not None:
            table.add_row(
                name, _value(name, estimate.value), _interval(name, estimate), Text(about, style=DIM)
            )
    return table


def _predictions(rows: list[dict[str, object]]) -> Table:
    table = _table("", "F", "rate", "off by", "with p, delivered", "")
    for row in rows:
        cells = [_share(row.get("error")), _share(row.get("error_delivered"))]
        note = "" if row["holds"] else "outside the range of its assumptions"
        title = FORMULAS[str(row["formula"])].title
        window, speed = row.get("f"), row.get("rate_bit_s")
        table.add_row(
            title,
            f"{window:.4g}" if isinstance(window, float) else NOTHING,
            rate(speed if isinstance(speed, float) else None),
            *cells,
            Text(note, style=DIM),
        )
    return table


def _table(*titles: str, wide: str = "") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in titles:
        table.add_column(title, no_wrap=title != wide)
    return table


def _value(name: str, value: float) -> str:
    if name == "rate":
        return rate(value)
    if name == "RTT":
        return duration(value)
    return f"{value:.4g}"


def _interval(name: str, estimate: Estimate) -> str:
    if estimate.low != estimate.low:
        return NOTHING
    return f"{_value(name, estimate.low)} to {_value(name, estimate.high)}"


def _share(value: object) -> str:
    return f"{100 * value:+.1f} %" if isinstance(value, float) else NOTHING


def _too_short(looked: Looked) -> str:
    there = plural(looked.too_short, "direction carries", "directions carry")
    return f"{there} less than {LEAST_SEGMENTS} segments, which is too short (see --connection)"
