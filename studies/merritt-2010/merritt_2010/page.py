"""The page of merritt-2010: what `scripts/study_page.py merritt-2010` writes.

Puts the tables into the study's README and the figures into its page; with `--linux` also those of Linux 6.1,
with `--whole` of 6.12.
Power has a script of its own, which takes longer: `scripts/power.py merritt-2010`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rexmit import Results, Study
from rexmit.analyse.score import score
from rexmit.analyse.statements import load_statements
from rexmit.plot import style

from . import compare, linux, pairs
from .tables import estimates, in_order, readings, timeouts

if TYPE_CHECKING:
    from study_page import Page

FOLDER = Path(__file__).parent.parent
SHOWN = {
    "figure-5-01": "performance",
    "figure-1-01": "throughput",
    "figure-5-06": "windows",
    "phase": "phase",
    "figure-6-02": "estimates",
    "figure-3-02": "sequence",
    "figure-5-02": "throughput-buffers",
    "figure-5-08": "tracking",
    "figure-5-12": "variability",
    "ratios": "ratios",
}
"""Figures of the page: how their files begin, and their names in docs/img after `merritt-`."""
REPLICATIONS = 10


def make(page: Page) -> None:
    """Run what is not there yet, draw, write the tables."""
    alone, together = page.run("two-way"), page.run("in-order")
    many = Study.load("merritt-2010/two-way").set("design.replications", REPLICATIONS)
    thirty = page.run("two-way-30", study=many)
    page.compare([alone])
    own = {"in-order": in_order(alone, together), "score": scored(thirty), "timeouts": timeouts(thirty)}
    page.put(tables(alone, together) | own)
    page.draw("two-way", alone, shown)
    distinct = page.run("pairs")
    frame = pairs.shares(distinct)
    exact = pairs.shares(page.run("pairs-exact", study=pairs.exactly(Study.load(pairs.NAME))))
    page.put({"pairs": pairs.share_table(frame), "pairs-words": pairs.words(frame, exact)})
    page.put({"pairs-tick": pairs.tick(distinct)})
    page.keep(style.save(pairs.figure(frame), page.results / "pairs", ["png"]), "merritt-pairs")
    if page.linux:
        today = page.run("linux", "uml")
        frame = linux.shares(alone, today)
        page.put({"linux": linux.share_table(frame), "linux-words": linux.words(frame, alone, today)})
        if page.whole:
            page.put(linux.newer(frame, alone, page.run("linux", "uml", kernel=linux.NEWER)))
        page.keep(style.save(linux.figure(frame), page.results / "linux-shares", ["png"]), "merritt-linux")


def tables(alone: Results, together: Results) -> dict[str, str]:
    """What the README has between its marks of the ninety runs and those in order, but for packets."""
    coverage = load_statements(FOLDER)
    return {
        "compare": compare([alone]).to_markdown(),
        "readings": readings(alone, together),
        "estimates": estimates(alone),
        "coverage": f"{coverage.text()}\n",
        "gaps": coverage.table(),
    }


def scored(results: Results) -> str:
    """How well 30 runs of each point foretell what the thesis prints of one."""
    return f"{score(compare([results]).checks).text()}\n"


def shown(stem: str) -> str | None:
    """The name in the documentation of a figure that the page shows."""
    return next((f"merritt-{name}" for begin, name in SHOWN.items() if stem.startswith(begin)), None)
