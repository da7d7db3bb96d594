"""The page of deboer-2005: what `scripts/study_page.py deboer-2005` writes.

Puts the tables into the study's README and the figures into its page. The parts on Linux 6.1 are run with
`--linux`, and on 6.12 too with `--whole`. Every number of a table comes from the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING

import polars as pl
from rexmit import Results
from rexmit.analyse import averages
from rexmit.analyse.statements import load_statements

from . import linux
from .charts import throughputs
from .checks_loss import LATENCIES, LOSSES
from .throughput import Evidence

if TYPE_CHECKING:
    from study_page import Page

MODEL = (
    *("buffers", "sack", "newreno", "dummynet", "acks", "queue", "reassembly"),
    *("order", "queue-order", "connections", "writes", "again", "base"),
)
STUDY = Path(__file__).resolve().parent.parent
LINUX = ("linux-buffers", "linux-loss", *linux.SMALLER)
CONGESTION = "hosts.client.linux.congestion"
TABLES: dict[str, Sequence[tuple[Sequence[str], str]]] = {
    "buffers": [(("rfc1323", "bufspace"), "latency")],
    "sack": [(("sack", "loss"), "latency")],
    "newreno": [(("newreno", "loss"), "latency")],
    "acks": [(("bufspace", "path.down.loss"), "latency")],
    "queue": [(("path.up.queue",), "latency")],
    "reassembly": [(("hosts.server.stack.buffers.reassembly_limit", "recovery"), "loss")],
    "dummynet": [(("rate", "path.tick", "path.queue"), "latency")],
    "order": [(("test",), "transfers.0.connections")],
    "queue-order": [(("latency", "path.up.queue"), "replication")],
    "connections": [(("latency",), "transfers.0.connections")],
    "writes": [(("transfers.0.write_size",), "latency")],
    "again": [(("recovery",), "loss")],
    "linux-buffers": [(("rfc1323", "bufspace"), "latency")],
    "linux-loss": [((CONGESTION, "sack", "loss"), "latency")],
    "linux-acks": [(("bufspace", "path.down.loss"), "latency")],
    "linux-queue": [((CONGESTION, "path.up.queue"), "latency")],
    "linux-dummynet": [(("rate", "path.tick", "path.queue"), "latency")],
    "linux-writes": [(("transfers.0.write_size",), "latency")],
    "linux-connections": [(("latency",), "connections")],
    "linux-again": [(("recovery",), "loss")],
}
"""Of each file: the factors down the side and the one across the top of its table."""
SHOWN = ("figure-5-01", "figure-5-02", "figure-5-03", "figure-5-04", "figure-5-05", "figure-5-06")
SHOWN_ELSE = (
    *("queue", "reassembly", "reassembly-packets", "reports"),
    *("both-ways-5-03", "both-ways-5-04", "both-ways-5-05"),
)


def make(page: Page) -> None:
    """Run what is not there yet, draw, write the tables."""
    results = {}
    for name in (*MODEL, *(LINUX if page.linux else ())):
        results[name] = page.run(name, "uml" if name in LINUX else "model")
        if name in MODEL:
            page.draw(name, results[name], shown)
    tables = {
        name: table(found, sides, top)
        for name, found in results.items()
        for sides, top in TABLES.get(name, ())
    }
    if page.linux:
        tables |= linux.words({name: results[name] for name in LINUX})
    if page.whole:
        newer = {name: page.run(name, "uml", kernel=linux.NEWER) for name in LINUX}
        tables["linux-newer"] = linux.versions({name: (results[name], newer[name]) for name in LINUX})
    compared = [results[name] for name in MODEL if name in results]
    evidence = Evidence(compared)
    coverage = load_statements(STUDY)
    page.put(
        tables
        | {
            "compare": page.compare(compared).to_markdown(),
            "averages": averages_table(evidence),
            "base": base_table(evidence),
            "coverage": coverage.text() + "\n",
            "uncovered": coverage.table(),
        }
    )


def shown(figure: str) -> str | None:
    """The name in the documentation of a figure that the page shows."""
    if figure[:11] in SHOWN:
        return f"deboer-{figure[:11]}"
    if figure[:14] in SHOWN_ELSE:
        return f"deboer-{figure[:14]}"
    return f"deboer-{figure}" if figure in SHOWN_ELSE else None


def averages_table(evidence: Evidence) -> str:
    """The points of figure 5.5 that averages.pl changes by more than a hundredth, both ways."""
    test = evidence.of("newreno")
    ways = {heading: evidence.by_script("newreno", heading=heading) for heading in (False, True)}
    lines = ["| loss, latency | true mean | averages.pl | with the heading |\n| --- | ---: | ---: | ---: |\n"]
    for loss in LOSSES:
        for latency in LATENCIES:
            runs = test.runs({"newreno": 1, "loss": loss, "latency": latency})["run"]
            true = test.written(newreno=1, loss=loss, latency=latency)
            script = [mean(ways[heading][run] for run in runs) for heading in (False, True)]
            if abs(script[0] / true - 1) > 0.01:
                cells = " | ".join(digits(value, 3) for value in (true, *script))
                lines.append(f"| {loss}, {latency} | {cells} |\n")
    return "".join(lines)


def base_table(evidence: Evidence) -> str:
    """For each round trip at 0 ms: the four statements on that point, and which hold."""
    test = evidence.of("base")
    head = (
        "| round trip | no loss (P-004-3) | SACK 0.1, 0.5, 1 % (P-004-7) | larger over smaller (P-004-7b) |"
    )
    lines = [f"{head} NewReno falls (P-004-8) |\n| --- | ---: | ---: | ---: | --- |\n"]
    for base in test.levels("base"):
        sack, newreno = (
            {loss: test.written(base=base, recovery=name, loss=loss) for loss in LOSSES}
            for name in ("SACK", "NewReno")
        )
        low, high = sorted((sack["0.1 %"], sack["0.5 %"]))
        points = ", ".join(digits(sack[loss], 3) for loss in ("0.1 %", "0.5 %", "1 %"))
        dip = "dip" if high < sack["1 %"] else "no dip"
        falls = all(newreno[a] > newreno[b] for a, b in pairwise(LOSSES))
        cells = [base, digits(newreno["0 %"], 3), f"{points}: {dip}", digits(high / low, 3)]
        lines.append(f"| {' | '.join(map(str, cells))} | {'yes' if falls else 'no'} |\n")
    return "".join(lines)


def table(results: Results, sides: Sequence[str], top: str) -> str:
    """A Markdown table of mean throughput in Mbit/s, with half the 95 % interval where it can be told."""
    found = averages(measured(results), [*sides, top], ["mbit_s"])
    across = found[top].unique(maintain_order=True).to_list()
    lines = ["| " + " | ".join([*(side.rpartition(".")[2] for side in sides), *map(str, across)]) + " |"]
    lines.append("|" + " --- |" * len(sides) + " ---: |" * len(across))
    for key in found.select(sides).unique(maintain_order=True).rows():
        rows = found.filter(pl.all_horizontal(pl.col(s) == k for s, k in zip(sides, key, strict=True)))
        cells = [cell(rows.filter(pl.col(top) == at)) for at in across]
        lines.append("| " + " | ".join([*map(str, key), *cells]) + " |")
    return "\n".join(lines) + "\n"


def measured(results: Results) -> pl.DataFrame:
    """The table of runs with `mbit_s`: what arrives on Linux but for cells of loss, else what is written."""
    part = results.name.partition("/")[2]
    if part in LINUX and part != "linux-loss":
        return linux.steady(results)
    return throughputs(results.table(), results.intervals(), linux.seconds(results))


def cell(row: pl.DataFrame) -> str:
    """A mean to three digits, and half its interval where there is one and it shows."""
    mean, low, high = row.select("mean", "low", "high").row(0)
    text = digits(mean, 3)
    if low is None or (high - low) / 2 < 0.01 * mean:
        return text
    return f"{text} ± {digits((high - low) / 2, 2)}"


def digits(value: float, number: int) -> str:
    """A number to so many significant digits, without an exponent: 260 and not 2.6e+02."""
    return f"{Decimal(f'{value:.{number}g}'):f}"
