"""The page of appenzeller-2004: what `scripts/study_page.py appenzeller-2004` writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl
from rexmit.analyse import load_published

from .checks import CELLS
from .evidence import Evidence
from .figures import PUBLISHED

if TYPE_CHECKING:
    from study_page import Page

PARTS = ("table", "hosts", "least", "one", "few", "short", "completion")
SHOWN = {
    "table": {"figure-15": "appenzeller-simulated"},
    "hosts": {"figure-15": "appenzeller-hosts"},
    "least": {"figure-11": "appenzeller-least"},
    "one": {"figure-4": "appenzeller-sawtooth"},
    "few": {"few": "appenzeller-few"},
    "short": {"figure-10": "appenzeller-short"},
}
"""Figures of each part that the page shows, and their names there."""


def make(page: Page) -> None:
    """Run what is not there yet, draw, write the tables."""
    results = {name: page.run(name) for name in PARTS}
    comparison = page.compare(list(results.values()))
    page.put({"systems": systems(Evidence(list(results.values()))), "compare": comparison.to_markdown()})
    for name, shown in SHOWN.items():
        page.draw(name, results[name], shown.get)


def systems(evidence: Evidence) -> str:
    """Figure 15 by who sends: how near to either column, and which losses wait for the timer."""
    rows = {row.id: row for row in load_published(PUBLISHED)}
    found = [("hosts of 2004", "hosts", evidence.used("hosts"))]
    table = evidence.used("table")
    for name in ("SACK", "NewReno", "Reno"):
        found.insert(0, (name, "table", table.filter(pl.col("system") == name)))
    lines = [
        "| senders | within, of 16: Sim. | Exp. | mean distance: Sim. | Exp. "
        "| loss events that wait for the timer: 100 flows | 400 |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, part, used in found:
        ours = dict(used.select("cell", "utilisation").rows())
        cells = []
        for tag in "se":
            pairs = [(rows[f"P-005-15.{n}.{m}{tag}"], ours[f"{n} flows, {m} x"]) for n, m in CELLS]
            within = sum(row.allows(value) for row, value in pairs)
            distance = sum(abs(row.difference(value)) for row, value in pairs) / len(pairs)
            cells.append((f"{within}", f"{distance:.2f} points"))
        timers = [_timers(evidence, part, used, f"{n} flows, 1 x") for n in (100, 400)]
        columns = [name, *(within for within, _ in cells), *(far for _, far in cells), *timers]
        lines.append(f"| {' | '.join(columns)} |")
    return "\n".join(lines) + "\n"


def _timers(evidence: Evidence, part: str, used: pl.DataFrame, cell: str) -> str:
    """Timeouts over timeouts and entries into fast recovery, of the runs of a cell."""
    runs: Sequence[int] = used.filter(pl.col("cell") == cell)["run"].to_list()
    table = evidence.results(part).table().filter(pl.col("run").is_in(runs))
    timeouts, fast = table.select(pl.col("timeouts", "fast_retransmits").sum()).row(0)
    return f"{100 * timeouts / (timeouts + fast):.0f} %"
