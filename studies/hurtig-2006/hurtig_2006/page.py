"""The page of hurtig-2006 on Linux 6.1: what `scripts/study_page.py hurtig-2006` (`make linux`) writes.

Runs the short and the long flows on the kernel with a virtual clock (`make kernel` builds it), keeps captures
of one path, draws the figures, and fills docs/studies/twenty-years-later.md from its template. Every
number of the page comes from the results; what its prose claims is checked, and a claim that no longer holds
is an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rexmit import Study

from . import linux_facts

if TYPE_CHECKING:
    from study_page import Page

SHOWN = {
    "inhibitions-then-and-now": "linux-inhibitions",
    "late-loss-against-delay": "linux-late-loss",
    "what-a-tail-loss-costs": "linux-tail-loss",
    "positions-1000-kbit-s": "linux-positions-1000",
}
"""Figures of the short flows that the page shows, and their names there."""
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
    studies = {name: Study.load(f"hurtig-2006/linux-{name}") for name in ("short", "long")}
    for name, levels in (("packets", PACKETS), ("window", FIRST_WINDOW)):
        studies[name] = studies["short"]
        for key, value in levels.items():
            studies[name] = studies[name].set(key, value)
    results = {
        name: page.run(name, "uml", study=study, capture="all" if name == "packets" else "none")
        for name, study in studies.items()
    }
    for name in ("short", "long"):
        page.draw(name, results[name], SHOWN.get if name == "short" else lambda _: None)
    page.fill("twenty-years-later", linux_facts.collect(**results))
