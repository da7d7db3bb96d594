"""Parts of the study's page that say how strict its comparison is: coverage, scores, readings, misprints."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl
from rexmit import Results
from rexmit.analyse import (
    NOT_COVERED,
    OUTSIDE,
    RECORDED,
    TOO_WIDE,
    WITHIN,
    Check,
    Comparison,
    retransmission_delays,
)
from rexmit.analyse.compare import MEASURED
from rexmit.analyse.power import read_power
from rexmit.analyse.score import Score, score
from rexmit.analyse.statements import load_statements

FOLDER = Path(__file__).parent.parent
TABLES = ("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "5.1", "5.2", "5.3")
READ_TWICE = {"3.6": "3.6", "3.7": "3.7", "5.1-2": "5.1, +reduce RTO+FR", "5.2": "5.2", "5.3": "5.3"}
"""Tables and blocks of which a row can be read in two ways."""

VERDICTS = (WITHIN, TOO_WIDE, RECORDED, OUTSIDE, NOT_COVERED)


def coverage() -> str:
    """What the list of statements says, and what no row holds."""
    found = load_statements(FOLDER)
    kept = [f"<details><summary>The statements without a row</summary>\n\n{found.table()}\n</details>\n"]
    return f"{found.text()}\n\n{kept[0]}"


def weak() -> set[str]:
    """The rows that catch none of the wrong systems."""
    return set(read_power("pedersen-2006", FOLDER).weak)


def misprints() -> str:
    """Where the thesis contradicts itself, as a Markdown table."""
    with (FOLDER / "misprints.csv").open(newline="") as file:
        return markdown(["where", "printed", "what counts"], list(csv.reader(file))[1:])


def cells(comparison: Comparison, stem: str) -> list[Check]:
    """The measured checks of a table, or of a block of one."""
    return [
        check
        for check in comparison.checks
        if check.published.id.startswith(f"P-002-{stem}-") and check.published.role == MEASURED
    ]


def verdicts(comparison: Comparison) -> str:
    """How many measured rows have each verdict, table by table, and of what is said in words."""
    rows = [[number, *_counted(cells(comparison, number))] for number in TABLES]
    said = [
        check
        for check in comparison.checks
        if check.published.id.startswith(("P-002-S", "P-002-T")) and check.published.role == MEASURED
    ]
    rows.append(["text and figures", *_counted(said)])
    rows.append(["all", *_counted([c for c in comparison.checks if c.published.role == MEASURED])])
    return markdown(["", "numbers", *VERDICTS], rows)


def scores(comparison: Comparison, many: Comparison | None = None) -> str:
    """The score of each table and of all, and beside 199 runs where these are given."""
    whole = [check for number in TABLES for check in cells(comparison, number)]
    text = f"{score(whole).text()}\n\n"
    rows = [[number, *_scored(score(cells(comparison, number)))] for number in TABLES]
    for number in TABLES if many else ():
        own = [check for check in cells(many, number) if check.values]  # type: ignore[arg-type]
        if own:
            rows.append([f"{number}, 199 runs", *_scored(score(own))])
    return text + markdown(["table", *_HEAD], rows)


def readings(chosen: Comparison, literal: Comparison) -> str:
    """Both readings of the rows that can be read in two ways."""
    rows = []
    for stem, name in READ_TWICE.items():
        for told, comparison in (("compared", chosen), ("literal, Reno", literal)):
            own = cells(comparison, stem)
            counts = [str(sum(check.verdict == one for check in own)) for one in (WITHIN, TOO_WIDE)]
            counts.append(str(sum(check.verdict in (OUTSIDE, RECORDED) for check in own)))
            rows.append([name, told, *counts, *_scored(score(own))])
    text = markdown(["table", "reading", "within", "too wide", "outside", *_HEAD], rows)
    means = [
        [
            check.published.id,
            check.published.value,
            check.ours,
            next(c.ours for c in literal.checks if c.published.id == check.published.id),
        ]
        for stem in ("3.6", "5.1-2", "5.2-2", "5.2-3", "5.3")
        for check in cells(chosen, stem)
        if check.published.quantity in ("mean delay", "retransmissions")
    ]
    return f"{text}\n{markdown(['', 'published', 'compared', 'literal, Reno'], means)}"


_HEAD = ("cells", "in 50 %", "in 80 %", "in 95 %", "median factor", "too wide to score")


def _scored(found: Score) -> list[str]:
    shares = [f"{one.share:.0%} ({one.low:.0%} to {one.high:.0%})" for one in found.shares] or ["-"] * 3
    return [str(found.cells), *shares, f"{found.sharpness:.2f}", str(found.wide)]


def _counted(checks: Sequence[Check]) -> list[str]:
    found: Mapping[str, int] = {name: sum(check.verdict == name for check in checks) for name in VERDICTS}
    return [str(len(checks)), *(str(found[name]) for name in VERDICTS)]


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def window(results: Results) -> str:
    """What each change does to the delays of table 3.1 and to the rate that figure 3.9 shows."""
    rows = [["published", "7.5", "168.9", "225.8", "245.8", "0"]]
    runs, frame = results.table(), results.retransmissions()
    for name in runs["changed"].unique(maintain_order=True):
        own = runs.filter(pl.col("changed") == name)
        chunks = own["data_segments"].mean() / 600 * 0.104  # type: ignore[operator]
        delays = retransmission_delays(frame.filter(pl.col("changed") == name), ["number"])
        means = [f"{delay:.1f}" for delay in delays.sort("number")["mean"].to_list()[:3]]
        rows.append(
            [str(name), f"{chunks:.1f}", *means, f"{statistics.fmean(own['timeouts'].to_list()):.1f}"]
        )
    return markdown(["changed", "new chunks an RTT", "first", "second", "third", "timeouts a run"], rows)


def clocks(results: Results) -> str:
    """The runs of each clock by their mean first timeout, and what those between the two kinds have."""
    rows = [["published", "", "", "", "282.9", "425", "47.1"]]
    frame = results.retransmissions().filter(pl.col("number") == 1)
    for tick in results.table()["path.tick"].unique(maintain_order=True):
        own = frame.filter(pl.col("path.tick") == tick)
        timeouts, bundled = (
            retransmission_delays(own.filter(pl.col("class") == kind), ["run"])
            for kind in ("timeout", "bundled-in-flight")
        )
        both = timeouts.select("run", "mean").join(
            bundled.select("run", "count", pl.col("mean").alias("bundled")), on="run"
        )
        between = both.filter(pl.col("mean").is_between(262, 325))
        counts = [both.filter(pl.col("mean") < 262), between, both.filter(pl.col("mean") > 325)]
        spans = [_span(between[name].to_list()) for name in ("mean", "count", "bundled")]
        rows.append([str(tick), *(str(len(one)) for one in counts), *spans])
    head = ["emulator's tick", "below 262 ms", "between", "above 325 ms"]
    return markdown([*head, "between: mean timeout", "bundled", "mean of these"], rows)


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "-"
