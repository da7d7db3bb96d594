"""Parts of the study's page that say how strict its comparison is: coverage, scores, readings, misprints."""

from __future__ import annotations

import csv
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    of_tables = tuple(f"P-002-{number}-" for number in TABLES)
    measured = [check for check in comparison.checks if check.published.role == MEASURED]
    said = [check for check in measured if not check.published.id.startswith(of_tables)]
    rows.append(["text and figures", *_counted(said)])
    rows.append(["all", *_counted(measured)])
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


TRIED_TO_MATCH = (7.5, 168.9, 225.8, 245.8)
"""New chunks each RTT by figure 3.9, and the mean delays of table 3.1 at RTT 100 ms."""


def tried(results: Results) -> Iterator[tuple[str, float, list[float], float]]:
    """Of each change in `window`: new chunks each RTT, the first three mean delays, timeouts a run."""
    runs, frame = results.table(), results.retransmissions()
    for name in runs["changed"].unique(maintain_order=True):
        own = runs.filter(pl.col("changed") == name)
        chunks = statistics.fmean(own["data_segments"].to_list()) / 600 * 0.104
        delays = retransmission_delays(frame.filter(pl.col("changed") == name), ["number"])
        means = delays.sort("number")["mean"].to_list()[:3]
        yield str(name), chunks, means, statistics.fmean(own["timeouts"].to_list())


def window(results: Results) -> str:
    """What each change does to the delays of table 3.1 and to the rate that figure 3.9 shows."""
    rows = [["published", *map(str, TRIED_TO_MATCH), "0"]]
    for name, chunks, means, timeouts in tried(results):
        rows.append([name, f"{chunks:.1f}", *(f"{mean:.1f}" for mean in means), f"{timeouts:.1f}"])
    return markdown(["changed", "new chunks an RTT", "first", "second", "third", "timeouts a run"], rows)


LAST_BLOCK = (282.9, 425, 47.1)
"""The last block of table 5.1: mean first timeout, chunks bundled in flight, their mean delay."""


def by_clock(results: Results) -> Iterator[tuple[str, pl.DataFrame]]:
    """Runs of each clock: mean first timeout (`mean`), chunks bundled (`count`), their delay (`bundled`)."""
    frame = results.retransmissions().filter(pl.col("number") == 1)
    for tick in results.table()["path.tick"].unique(maintain_order=True):
        own = frame.filter(pl.col("path.tick") == tick)
        timeouts, bundled = (
            retransmission_delays(own.filter(pl.col("class") == kind), ["run"])
            for kind in ("timeout", "bundled-in-flight")
        )
        joined = timeouts.select("run", "mean").join(
            bundled.select("run", "count", pl.col("mean").alias("bundled")), on="run"
        )
        yield str(tick), joined


def clocks(results: Results) -> str:
    """The runs of each clock by their mean first timeout, and what those between the two kinds have."""
    rows = [["published", "", "", "", *map(str, LAST_BLOCK)]]
    for tick, both in by_clock(results):
        between = both.filter(pl.col("mean").is_between(262, 325))
        counts = [both.filter(pl.col("mean") < 262), between, both.filter(pl.col("mean") > 325)]
        spans = [_span(between[name].to_list()) for name in ("mean", "count", "bundled")]
        rows.append([tick, *(str(len(one)) for one in counts), *spans])
    head = ["emulator's tick", "below 262 ms", "between", "above 325 ms"]
    return markdown([*head, "between: mean timeout", "bundled", "mean of these"], rows)


TOLD = ("P-002-5.2-1-BF-min", "P-002-5.2-1-BF-max", "P-002-5.2-2-FR-min", "P-002-5.2-2-FR-avg")
"""The cells of table 5.2 that tell one timing of bursts from another best: 1 and 2 are its blocks."""


def timings(comparisons: Mapping[str, Comparison]) -> str:
    """How table 5.2 comes out with bursts that are timed in other ways."""
    rows: list[list[str]] = []
    for name, comparison in comparisons.items():
        own = cells(comparison, "5.2")
        if not rows:
            rows.append(["published", "", "", "", *_of(own, "value")])
        counts = [sum(check.verdict == verdict for check in own) for verdict in (WITHIN, TOO_WIDE, OUTSIDE)]
        rows.append([name, *map(str, counts), *_of(own, "ours")])
    names = (told.removeprefix("P-002-5.2-") for told in TOLD)
    return markdown(["between messages, between bursts", WITHIN, TOO_WIDE, OUTSIDE, *names], rows)


def _of(checks: Sequence[Check], what: str) -> list[str]:
    by_id = {check.published.id: check for check in checks}
    return [by_id[told].published.value if what == "value" else by_id[told].ours for told in TOLD]


def _span(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "-"
