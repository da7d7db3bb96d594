"""The pages of hurtig-2006: what `scripts/study_page.py hurtig-2006` writes.

From runs on the model the tables of the study's README, the figures of its page and the three pages on what
chapter 5 of the thesis proposes. With `--linux` (`make linux`) also the page *Twenty years later*: the
short flows on the kernel with a virtual clock (`make kernel` builds it), with captures of one path, and the
long ones once, whose claims are checked. With `--whole` (`make linux WHOLE=1`) also its sections on long
flows and on Linux 6.12: all replications of both studies on both kernels. Every number of a page comes from
the results; what the prose of *Twenty years later* claims is checked, and a claim that no longer holds is an
error.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rexmit import Results, RexmitError, Study
from rexmit.analyse.statements import load_statements
from rexmit.plot import style

from . import beside, beyond, captions, kernels, linux_facts, linux_whole, searches
from .flows import Flow
from .handshakes import handshakes_table
from .products import products_table

if TYPE_CHECKING:
    from study_page import Page

FOLDER = Path(__file__).parent.parent
PARTS = ("short", "long", "earlier")
LATER = "twenty-years-later"
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
    """The same flows on Linux 6.1; with `--whole` on 6.12 beside it."""
    associations(page)
    short = page.run("linux-short", "uml")
    page.draw("linux-short", short, SHOWN.get)
    seen = {}
    for name, levels in (("packets", PACKETS), ("window", FIRST_WINDOW)):
        study = Study.load("hurtig-2006/linux-short").set("design.replications", 1)
        for key, value in levels.items():
            study = study.set(key, value)
        seen[name] = page.run(
            f"linux-{name}", "uml", study=study, capture="all" if name == "packets" else "none"
        )
    facts = linux_facts.collect(short, **seen) | model_beside(page)
    facts["whole"] = whole(page, short) if page.whole else once(page)
    page.fill(LATER, facts)


def model_beside(page: Page) -> dict[str, str]:
    """The same flows on the model of Linux 6.1 and on the kernel, with the same draws."""
    study = Study.load("hurtig-2006/model-short")
    return beside.facts(page.run("model-short"), page.run("linux-model-short", "uml", study=study))


def once(page: Page) -> str:
    """Checks the claims on long flows on one replication; the page keeps what it says of them and of 6.12."""
    study = Study.load("hurtig-2006/linux-long").set("design.replications", 1)
    linux_facts.long_claims(linux_facts.Sides(page.run("linux-long-once", "uml", study=study)))
    return page.kept(LATER, "whole")


def whole(page: Page, short: Results) -> str:
    """The sections on Linux 6.12 and on long flows."""
    beside = linux_whole.KERNEL
    flows = {
        "short": linux_whole.Pair(short, page.run("linux-short", "uml", kernel=beside)),
        "long": linux_whole.Pair(page.run("linux-long", "uml"), page.run("linux-long", "uml", kernel=beside)),
    }
    captured = {}
    for flow in flows:
        name, study = f"linux-{flow}-first", linux_whole.sample(flow)
        sides = [
            page.run(name, "uml", study=study, capture="all", kernel=kernel) for kernel in (None, beside)
        ]
        captured[flow] = linux_whole.Pair(*sides)
    study = linux_whole.in_the_middle()
    sides = [page.run("linux-middle", "uml", study=study, kernel=kernel) for kernel in (None, beside)]
    middle = linux_whole.Pair(*sides)
    frame = kernels.differences(flows["short"].old, flows["short"].new)
    with style.styled(style.LIGHT):
        page.keep(style.save(kernels.maps(frame), page.results / "linux-kernels", ["png"]), "linux-kernels")
    return page.filled("linux-whole", linux_whole.collect(**flows, captured=captured, middle=middle))
