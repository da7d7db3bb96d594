"""The study hurtig-2006 on Linux 6.1, from nothing to its page: `make linux`.

Runs the short and the long flows on the kernel with a virtual clock (`make kernel` builds it), keeps captures
of one path, draws the figures, and writes docs/studies/twenty-years-later.md from its template here. Every
number of the page comes from the results; what its prose claims is checked, and a claim that no longer holds
is an error. Results stay in results/linux and are gone on with.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import linux_facts
import rexmit

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "results" / "linux"
TEMPLATE = Path(__file__).with_name("twenty-years-later.md.in")
PAGE = ROOT / "docs" / "studies" / "twenty-years-later.md"
IMAGES = ROOT / "docs" / "img"
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


def main() -> int:
    """Run what is not there yet, draw, write; stops at the first failure."""
    options = argparse.ArgumentParser(description="hurtig-2006 on Linux 6.1.")
    options.add_argument("--results", type=Path, default=OUT, help="where the results are kept")
    folder: Path = options.parse_args().results
    started = time.monotonic()
    studies = {name: rexmit.Study.load(f"hurtig-2006/linux-{name}") for name in ("short", "long")}
    for name, levels in (("packets", PACKETS), ("window", FIRST_WINDOW)):
        studies[name] = studies["short"]
        for key, value in levels.items():
            studies[name] = studies[name].set(key, value)
    results = {}
    for name, study in studies.items():
        keep = "all" if name == "packets" else "none"
        place = folder / name
        results[name] = study.run(place, backend="uml", resume=place.exists(), capture=keep)
    for name in ("short", "long"):
        subprocess.run([Path(sys.executable).with_name("rexmit"), "plot", folder / name], check=True)
    for name, shown in SHOWN.items():
        shutil.copyfile(folder / "short" / "figures" / f"{name}.png", IMAGES / f"{shown}.png")
    facts = linux_facts.collect(**results)
    PAGE.write_text(TEMPLATE.read_text().format_map(facts))
    print(f"make linux: {PAGE.relative_to(ROOT)} written, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
