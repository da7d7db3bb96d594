"""The study deboer-2005 from nothing to its page: every file on the model, and on Linux 6.1 with `--linux`.

Writes the tables of studies/deboer-2005/README.md between its marks, and the figures that its page shows.
Every number of a table comes from the results. Results stay in results/deboer-2005 and are gone on with.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import time
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import polars as pl
import rexmit
from rexmit.analyse import averages
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.cli.compare import to_markdown
from rexmit.report.figures import draw_figures

throughputs = study_module("deboer-2005", "charts").throughputs
ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "studies" / "deboer-2005" / "README.md"
IMAGES = ROOT / "docs" / "img"
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
SHOWN_ELSE = ("queue.png", "reassembly.png", "reassembly-packets.png")


def main() -> int:
    """Run what is not there yet, draw, write the tables."""
    options = argparse.ArgumentParser(description="deboer-2005, whole.")
    options.add_argument("--results", type=Path, default=ROOT / "results" / "deboer-2005")
    options.add_argument("--linux", action="store_true", help="also the Linux part (--backend uml)")
    given = options.parse_args()
    results = {}
    for name in (*MODEL, *(LINUX if given.linux else ())):
        place, started = given.results / name, time.monotonic()
        study = rexmit.Study.load(f"deboer-2005/{name}")
        backend = "uml" if name in LINUX else "model"
        results[name] = study.run(place, backend=backend, resume=place.exists())
        print(f"{name}: {len(results[name])} runs, {time.monotonic() - started:.0f} s")
        if name in MODEL:
            copy_images(draw_figures(results[name], place / "figures"))
    text = README.read_text()
    for name, found in results.items():
        for sides, top in TABLES.get(name, ()):
            text = put(text, name, table(found, sides, top))
    compared = [results[name] for name in MODEL if name != "reassembly"]
    text = put(text, "compare", to_markdown(comparison_of(results["buffers"])(compared)))
    README.write_text(text)
    return 0


def table(results: rexmit.Results, sides: Sequence[str], top: str) -> str:
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


def put(text: str, name: str, content: str) -> str:
    """The text with the content between the marks of this name."""
    marks = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    if not all(mark in text for mark in marks):
        raise SystemExit(f"{README}: has no marks for {name}")
    return re.sub(f"{marks[0]}.*?{marks[1]}", lambda _: marks[0] + content + marks[1], text, flags=re.DOTALL)


def copy_images(files: Sequence[Path]) -> None:
    """Copies the figures that the page shows."""
    for file in files:
        if file.suffix == ".png" and (file.name[:11] in SHOWN or file.name in SHOWN_ELSE):
            name = file.name[:11] + ".png" if file.name[:11] in SHOWN else file.name
            shutil.copy(file, IMAGES / f"deboer-{name}")


if __name__ == "__main__":
    sys.exit(main())
