"""The page of deboer-2005: what `scripts/study_page.py deboer-2005` writes.

Puts the tables into the study's README and the figures into its page. The parts on Linux 6.1 are run with
`--linux`. Every number of a table comes from the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl
from rexmit import Results
from rexmit.analyse import averages

from .charts import throughputs

if TYPE_CHECKING:
    from study_page import Page

MODEL = ("buffers", "sack", "newreno", "tick", "acks", "queue", "reassembly")
LINUX = ("linux-buffers", "linux-loss")
CONGESTION = "hosts.client.linux.congestion"
TABLES: dict[str, Sequence[tuple[Sequence[str], str]]] = {
    "buffers": [(("rfc1323", "bufspace"), "latency")],
    "sack": [(("sack", "loss"), "latency")],
    "newreno": [(("newreno", "loss"), "latency")],
    "acks": [(("bufspace", "path.down.loss"), "latency")],
    "queue": [(("path.up.queue",), "latency")],
    "reassembly": [(("hosts.server.stack.buffers.reassembly_limit", "recovery"), "loss")],
    "linux-buffers": [((CONGESTION, "bufspace"), "latency")],
    "linux-loss": [((CONGESTION, "sack", "latency"), "loss")],
}
"""Of each file: the factors down the side and the one across the top of its table."""
SHOWN = ("figure-5-01", "figure-5-02", "figure-5-03", "figure-5-04", "figure-5-05", "figure-5-06")
SHOWN_ELSE = ("queue", "reassembly", "reassembly-packets")


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
    compared = [results[name] for name in MODEL if name != "reassembly"]
    page.put(tables | {"compare": page.compare(compared).to_markdown()})


def shown(figure: str) -> str | None:
    """The name in the documentation of a figure that the page shows."""
    if figure[:11] in SHOWN:
        return f"deboer-{figure[:11]}"
    return f"deboer-{figure}" if figure in SHOWN_ELSE else None


def table(results: Results, sides: Sequence[str], top: str) -> str:
    """A Markdown table of mean throughput in Mbit/s, with half the 95 % interval where it can be told."""
    seconds = float(results.study["scenario"]["transfers"][0]["bulk"].removesuffix(" s"))
    frame = throughputs(results.table(), results.intervals(), seconds)
    found = averages(frame, [*sides, top], ["mbit_s"])
    across = found[top].unique(maintain_order=True).to_list()
    lines = ["| " + " | ".join([*(side.rpartition(".")[2] for side in sides), *map(str, across)]) + " |"]
    lines.append("|" + " --- |" * len(sides) + " ---: |" * len(across))
    for key in found.select(sides).unique(maintain_order=True).rows():
        rows = found.filter(pl.all_horizontal(pl.col(s) == k for s, k in zip(sides, key, strict=True)))
        cells = [cell(rows.filter(pl.col(top) == at)) for at in across]
        lines.append("| " + " | ".join([*map(str, key), *cells]) + " |")
    return "\n".join(lines) + "\n"


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
