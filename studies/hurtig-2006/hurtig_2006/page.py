"""The pages of hurtig-2006: what `scripts/study_page.py hurtig-2006` writes.

From runs on the model the tables of the study's README, the figures of its page and the three pages on what
chapter 5 of the thesis proposes. With `--linux` (`make linux`) also the page *Twenty years later*: the short
and the long flows on the kernel with a virtual clock (`make kernel` builds it), with captures of one path.
Every number of a page comes from the results; what the prose of *Twenty years later* claims is checked, and
a claim that no longer holds is an error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rexmit import Results, RexmitError, Study
from rexmit.analyse.statements import load_statements

from . import beyond, captions, linux_facts, searches
from .flows import Flow
from .handshakes import handshakes_table
from .products import products_table

if TYPE_CHECKING:
    from study_page import Page

FOLDER = Path(__file__).parent.parent
PARTS = ("short", "long", "earlier")
SHOWN = {
    "inhibitions-then-and-now": "linux-inhibitions",
    "late-loss-against-delay": "linux-late-loss",
    "what-a-tail-loss-costs": "linux-tail-loss",
    "positions-1000-kbit-s": "linux-positions-1000",
}
"""Figures of the short flows on Linux that their page shows, and their names there."""
PACKETS = {"path.rate": "1000 kbit/s", "path.delay": "10 ms"}
"""The path whose captures say how each loss was repaired."""
FIRST_WINDOW = {
    "path.rate": "10000 kbit/s",
    "path.delay": "300 ms",
    "path.down.drop": {"position": "0,19"},
    "hosts.server.linux": [{"congestion": "cubic"}, {"congestion": "cubic", "initial_window": 4}],
}
"""Two runs that ask whether the size of the first window explains a wait."""


def make(page: Page) -> None:
    """Run what is not there yet, draw, write; stops at the first failure."""
    results = [page.run(part) for part in PARTS]
    comparison = page.compare(results)
    page.put(tables(*results[:2]) | {"compare": comparison.to_markdown()})
    page.put({"figures": captions.figures(comparison)}, FOLDER.name)
    for part, found in zip(PARTS, results, strict=True):
        page.draw(part, found, captions.name_of)
    proposed(page)
    if page.linux:
        on_linux(page)


def tables(short: Results, long: Results) -> dict[str, str]:
    """What the README has between its marks, but the comparison."""
    flows = Flow(short), Flow(long)
    coverage = load_statements(FOLDER)
    return {
        "coverage": f"{coverage.text()}\n\n{coverage.table()}",
        "definitions": searches.definitions_table(*flows),
        "subsets": searches.subsets_table(flows[0]),
        "products": products_table(*flows),
        "handshakes": handshakes_table(short),
        "replicates": searches.replicates_table(),
        "score": searches.score_text(),
        "perturbed": searches.perturbed_table(),
        "earlier": searches.earlier_table(),
    }


def proposed(page: Page) -> None:
    """Sections 5.7 and 5.8: the send buffer, the threshold."""
    sizes = {size: beyond.buffer_runs(size) for size in beyond.BUFFERS}
    beyond.draw_buffers(sizes, page.images)
    page.put({"buffers": beyond.buffer_table(sizes)}, "hurtig-send-buffer")
    thresholds = {threshold: beyond.threshold_runs(threshold) for threshold in beyond.THRESHOLDS}
    beyond.draw_thresholds(thresholds, page.images)
    page.put({"thresholds": beyond.threshold_table(thresholds)}, "hurtig-threshold")


def associations(page: Page) -> None:
    """Section 5.2, SCTP: on the model, on usrsctp and on Linux 6.1."""
    try:
        runs = {name: beyond.sctp_runs(name) for name in beyond.SCTP}
    except RexmitError as error:
        print(f"hurtig-sctp: left as it is: {error}")
        return
    beyond.draw_sctp(runs, page.images)
    page.put({"sctp": beyond.sctp_table(runs)}, "hurtig-sctp")


def on_linux(page: Page) -> None:
    """The same flows on Linux 6.1."""
    associations(page)
    studies = {name: Study.load(f"hurtig-2006/linux-{name}") for name in ("short", "long")}
    for name, levels in (("packets", PACKETS), ("window", FIRST_WINDOW)):
        studies[name] = studies["short"]
        for key, value in levels.items():
            studies[name] = studies[name].set(key, value)
    results = {
        name: page.run(f"linux-{name}", "uml", study=study, capture="all" if name == "packets" else "none")
        for name, study in studies.items()
    }
    for name in ("short", "long"):
        page.draw(f"linux-{name}", results[name], SHOWN.get if name == "short" else lambda _: None)
    page.fill("twenty-years-later", linux_facts.collect(**results))
