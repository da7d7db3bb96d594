"""The page of pedersen-2006: what `scripts/study_page.py pedersen-2006` writes.

Puts the tables into the study's README and the figures into its page. The parts on Linux 6.1 are run with
`--linux`; without it the table of all stacks, which has them too, stays as it is. Every number of a table
comes from the results.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl
from rexmit import Results, RexmitError, Study
from rexmit.analyse import NOT_COVERED, OUTSIDE, RECORDED, TOO_WIDE, Check, Comparison, lateness

from . import addresses, compare, compare_another, compare_literally, eifel, linux_cells, messages, parts

if TYPE_CHECKING:
    from study_page import Page

COMPARED = (
    *("thin", "thick", "tcp-thin", "tcp-thick", "enhancements", "burst", "restart", "rto"),
    *("figure-4-03", "figure-5-01"),
)
MODEL = (
    *COMPARED,
    "tcp-thin-reno",
    "tcp-thick-reno",
    "window",
    "clocks",
    "switches",
    "switches-today",
    "today",
)
MANY, RUNS = ("thin", "enhancements", "burst"), 199
"""Parts that are also run so often that one more run's interval needs no assumption."""
TIMINGS: Mapping[str, Mapping[str, object]] = {
    "16, 1004 ms (nanosleep)": {},
    "12, 1000 ms (interval timer)": {"transfers.0.sleep.rule": "itimer"},
    "16, 964 ms (nanosleep, 960)": {"transfers.0.bursts.every": "990 ms", "transfers.0.bursts.count": 1780},
    "10, 1000 ms (no ticks)": {"transfers.0.sleep": {"tick": "1 us", "rule": "itimer"}},
    "10, 960 ms (no ticks)": {
        "transfers.0.sleep": {"tick": "1 us", "rule": "itimer"},
        "transfers.0.bursts.every": "990 ms",
        "transfers.0.bursts.count": 1818,
    },
}
"""How bursts of four messages can be timed: 10 and 1000 ms in 5.1.2; 5.3.2 has 960 ms to the next burst."""
LINUX = ("linux", "linux-tcp")
LOSS = 0.05
TABLES = ("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "5.1", "5.2")
QUANTITIES = {
    "retransmissions": "number",
    "least delay": "least",
    "greatest delay": "greatest",
    "mean delay": "mean",
    "standard deviation of the delay": "deviation",
}
PLACES = ("rtt_ms", "variant", "retransmission", "class")
SHOWN = (
    *("figure-3-02-thick", "counts-thin", "figure-3-07-tcp-thick", "figure-3-08-tcp-thin"),
    *("figure-3-03-thin-rtt-0", "figure-3-04-thin-rtt-100", "figure-3-05-thin-rtt-200"),
    *("figure-3-06-thin-rtt-400", "figure-4-01-rto-with-sack-delay", "figure-4-02-rto-without-sack-delay"),
    *("figure-5-02-enhancements", "figure-5-03-bursts", "switches-today-effects", "switches-today-alone"),
    *("today-100-ms", "sixth-chunk", "two-kinds"),
    *("figure-3-09-again", "figure-4-03-restart", "figure-5-01-restart", "figure-3-07-tcp-thick-reno"),
)
"""Figures that the page shows."""

WEAK = parts.weak()
"""Rows that catch none of the wrong systems, marked ° in tables."""

STACKS = {"linux": "Linux 6.1, SCTP", "linux-tcp": "Linux 6.1, TCP", "usrsctp": "usrsctp"}


def make(page: Page) -> None:
    """Run what is not there yet, draw, write the tables."""
    results = {name: page.run(name) for name in MODEL}
    try:
        results["usrsctp"] = page.run("usrsctp", "stack:usrsctp")
    except RexmitError as error:
        print(f"usrsctp: left out: {error}")
    if page.linux:
        results |= {name: page.run(name, "uml") for name in LINUX}
    for name, found in results.items():
        page.draw(name, found, lambda figure: f"pedersen-{figure}" if figure in SHOWN else None)
    comparison = page.compare([results[name] for name in COMPARED])
    if page.linux:
        today = [results[name] for name in ("today", "usrsctp", *LINUX) if name in results]
        page.put({"today": stacks(today)})
        cells = {name: page.run(name, "uml") for name in linux_cells.PARTS.values()}
        page.put(linux_cells.tables(comparison, cells))
    page.put(
        {
            **tables(comparison),
            **strict(page, results, comparison),
            **{name: switches(results[name]) for name in ("switches", "switches-today")},
        }
    )
    beyond(page, results["rto"])


def beyond(page: Page, results: Results) -> None:
    """Pages of the two experiments that section 6.2 proposes."""
    rtts = eifel.by_delay(results)
    page.keep(eifel.draw(rtts, page.results / "eifel"), "pedersen-eifel")
    page.put({"timers": eifel.table(rtts)}, "pedersen-eifel")
    events = {
        least: addresses.events_of(page.run(f"addresses-{least}", study=addresses.study(least)))
        for least in addresses.LEAST
    }
    found = {
        (least, pair): addresses.outcomes(events[least], pair, least)
        for least in addresses.LEAST
        for pair in addresses.PAIRS
    }
    page.keep(addresses.draw(events, page.results / "addresses"), "pedersen-lowest-rto")
    page.put({"addresses": addresses.table(found)}, "pedersen-lowest-rto")


def strict(page: Page, results: Mapping[str, Results], comparison: Comparison) -> dict[str, str]:
    """How strict the comparison is: coverage, scores, both readings, misprints."""
    scores = parts.scores(comparison, compare([many(page, name) for name in MANY]))
    print(scores.partition("\n")[0])
    return {
        "coverage": parts.coverage(),
        "misprints": parts.misprints(),
        "window": parts.window(results["window"]),
        "clocks": parts.clocks(results["clocks"]),
        "timings": parts.timings({name: compare_another([timed(page, name)]) for name in TIMINGS}),
        "scores": scores,
        "readings": parts.readings(comparison, compare_literally(list(results.values()))),
    }


def many(page: Page, name: str) -> Results:
    """A part run so often that one more run's interval needs no assumption."""
    study = Study.load(f"{page.study}/{name}").set("design.replications", RUNS)
    return page.run(f"{name}-{RUNS}", study=study)


def timed(page: Page, name: str) -> Results:
    """The bursts of table 5.2 timed in another way."""
    study = Study.load(f"{page.study}/burst")
    for key, value in TIMINGS[name].items():
        study = study.set(key, value)
    return page.run(f"burst-{list(TIMINGS).index(name)}", study=study)


def tables(comparison: Comparison) -> dict[str, str]:
    """The thesis's tables with ours beside them, what differs, and what is said in words."""
    found = {f"table-{number}": thesis_table(comparison.checks, number) for number in TABLES}
    rest = [check for check in comparison.checks if not check.published.id.startswith(tuple(_ids(TABLES)))]
    found["words"] = markdown(
        ["", "published", "where", "value", "ours", ""],
        (
            [c.published.id, *_place(c), c.published.value, c.ours, said(c)]
            for c in rest
            if c.verdict != NOT_COVERED
        ),
    )
    found["differs"] = markdown(
        ["", "published", "where", "value", "ours", "why"],
        (
            [c.published.id, *_place(c), c.published.value, c.ours, c.published.deviation_reason or "outside"]
            for c in comparison.checks
            if c.verdict in (OUTSIDE, RECORDED)
        ),
    )
    found["verdicts"] = parts.verdicts(comparison)
    return found


def thesis_table(checks: Iterable[Check], number: str) -> str:
    """One table of the thesis: each cell as published, and ours with where one more run would lie."""
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for check in checks:
        if check.published.id.startswith(f"P-002-{number}-"):
            place = tuple(check.published.place[key] for key in PLACES)
            cells.setdefault(place, {})[QUANTITIES[check.published.quantity]] = cell(check)
    shown = [n for n in range(len(PLACES)) if len({place[n] for place in cells}) > 1]
    columns = [name for name in QUANTITIES.values() if any(name in row for row in cells.values())]
    head = [*(PLACES[n].replace("_", " ") for n in shown), *columns]
    rows = (
        [*(place[n] for n in shown), *(row.get(name, "") for name in columns)] for place, row in cells.items()
    )
    return markdown(head, rows)


def cell(check: Check) -> str:
    """A published value and ours; in bold where it lies outside, slanted where the interval says nothing."""
    if check.verdict == NOT_COVERED:
        return f"{check.published.value}; -"
    text = f"{check.published.value}; {check.ours}{' °' if check.published.id in WEAK else ''}"
    if check.verdict == TOO_WIDE:
        return f"_{text}_"
    return f"**{text}**" if check.verdict in (OUTSIDE, RECORDED) else text


def switches(results: Results) -> str:
    """What each enhancement does alone and on average over the others, of both workloads."""
    frame = lateness(results.messages(), LOSS)
    found = {
        str(name): messages.named_effects(own)
        for (name,), own in frame.group_by("workload", maintain_order=True)
    }
    rows = []
    for label, own in messages.one_at_a_time(frame):
        cells = [own.filter(pl.col("workload") == name) for name in found]
        rows.append([label, *(f"{mean(c, 'latency_p99_ms'):.0f}; {mean(c, 'late_ms'):.0f}" for c in cells)])
    text = markdown(["", *(f"{name}: 99 % no later than; wait per loss" for name in found)], rows) + "\n"
    names = next(iter(found.values())).filter(pl.col("second").is_null())["name"]
    rows = [[name, *(effect(own.filter(pl.col("name") == name)) for own in found.values())] for name in names]
    text += (
        markdown(["on average over the others", *(f"{name}: wait per loss" for name in found)], rows) + "\n"
    )
    pairs = pl.concat(own.filter(pl.col("second").is_not_null()) for own in found.values())
    top = pairs.group_by("name").agg(pl.col("effect").abs().max()).sort("effect", descending=True)["name"][:6]
    rows = [[name, *(effect(own.filter(pl.col("name") == name)) for own in found.values())] for name in top]
    return text + markdown(["two of them, beyond", *(f"{name}: wait per loss" for name in found)], rows)


def effect(row: pl.DataFrame) -> str:
    """An effect in ms with half its interval."""
    value, low, high = row.select("effect", "low", "high").row(0)
    return f"{value:+.0f} ± {(high - low) / 2:.0f}"


def stacks(parts: Sequence[Results]) -> str:
    """How late messages are on each stack: the rows of the parts of today."""
    head = ["", "", "RTT", "half", "95 %", "98 %", "99 %", "99.9 %", "wait per loss", "packets a message"]
    rows: list[tuple[bool, int, list[str]]] = []
    for results in parts:
        frame = lateness(results.messages(), LOSS)
        sent = results.table().select("run", "packets_up")
        frame = frame.join(sent, on="run").with_columns(
            (pl.col("packets_up") / pl.col("written")).alias("packets")
        )
        others = [name for name in results.factors if name not in ("workload", "path.delay")]
        own = STACKS.get(results.name.partition("/")[2], "")
        for key, cell in frame.group_by("workload", "path.delay", *others, maintain_order=True):
            workload, delay, *levels = map(name_of, key)
            rtt = 2 * int(delay.removesuffix(" ms"))
            shown = [f"{mean(cell, f'latency_{q}_ms'):.0f}" for q in ("p50", "p95", "p98", "p99", "p999")]
            shown += [f"{mean(cell, 'late_ms'):.0f}", f"{mean(cell, 'packets'):.2f}"]
            label = " ".join([own, *levels]).strip()
            rows.append((workload != "thin", rtt, [label, workload, f"{rtt} ms", *shown]))
    return markdown(head, (row for *_, row in sorted(rows, key=lambda row: row[:2])))


def mean(frame: pl.DataFrame, column: str) -> float:
    """The mean of a column of numbers."""
    return statistics.fmean(frame[column].to_list())


def name_of(level: object) -> str:
    """A level as a row's label says it: thin linear timeouts are the only switch among them."""
    if isinstance(level, bool):
        return "with thin linear timeouts" if level else ""
    return str(level)


def said(check: Check) -> str:
    """The verdict on a statement or a number in the text, with what was seen."""
    weak = "weak" if check.published.id in WEAK else ""
    return "; ".join(part for part in (check.verdict, weak, check.note) if part)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _ids(numbers: Sequence[str]) -> Iterable[str]:
    return (f"P-002-{number}-" for number in numbers)


def _place(check: Check) -> tuple[str, str]:
    place: Mapping[str, str] = check.published.place
    return check.published.quantity, " ".join(place[key] for key in ("part", *PLACES) if place[key])
