"""Writes the tables of studies/hurtig-2006/README.md and the figures of its page, from runs.

Runs the three parts of the study on the model, or takes them from `--results`; then the searches for what
would explain the recorded differences, each from runs of its own. `--only` makes single tables.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import mean

import rexmit
from rexmit.analyse.power import read_power
from rexmit.analyse.statements import load_statements
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.report import draw_figures

STUDY = "hurtig-2006"
ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "studies" / STUDY / "README.md"
PAGE = ROOT / "docs" / "studies" / f"{STUDY}.md"
IMAGES = ROOT / "docs" / "img"
PARTS = ("short", "long", "earlier")
TRIPLES = 100
"""Other draws of three replications."""

CAPTIONS, FLOWS = study_module(STUDY, "captions"), study_module(STUDY, "flows")
PRODUCTS, SEARCHES = study_module(STUDY, "products"), study_module(STUDY, "searches")


def main() -> None:
    """Run or open the parts, write the tables asked for and the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--results", type=Path, help="folder with a folder for each part; absent: run")
    options.add_argument("--only", nargs="*", help="names of tables; absent: all, and the figures")
    given = options.parse_args()
    results = {part: _results(part, given.results) for part in PARTS}
    comparison = comparison_of(results["short"])(list(results.values()))
    short, long = FLOWS.Flow(results["short"]), FLOWS.Flow(results["long"])
    coverage = load_statements(README.parent)
    tables: dict[str, Callable[[], str]] = {
        "compare": comparison.to_markdown,
        "coverage": lambda: f"{coverage.text()}\n\n{coverage.table()}",
        "weak": weak,
        "definitions": lambda: SEARCHES.definitions_table(short, long),
        "subsets": lambda: SEARCHES.subsets_table(short),
        "products": lambda: products_table(short, long),
        "replicates": replicates,
        "perturbed": perturbed,
        "earlier": earlier,
    }
    for name in given.only if given.only is not None else tables:
        _between(README, name, tables[name]())
        print(f"{STUDY}: {name}", flush=True)
    if given.only is None:
        _between(PAGE, "figures", CAPTIONS.figures(comparison))
        for part in PARTS:
            _draw(results[part])


def weak() -> str:
    """The rows that no wrong system fails, of power.csv."""
    text: str = CAPTIONS.weak(read_power(STUDY, README.parent))
    return text


def products_table(short: object, long: object) -> str:
    """How far apart paths of equal product are: the median and the greatest ratio or distance."""
    rows = []
    for name, flow in (("20 packets", short), ("100 packets", long)):
        for title, quantity in PRODUCTS.QUANTITIES.items():
            found = PRODUCTS.spread(flow, quantity)
            small = [high - low for product, low, high in found if product <= PRODUCTS.SMALL]
            large = [high - low for product, low, high in found if product > PRODUCTS.SMALL]
            cells = (f"{mean(gaps):.1f}, at most {max(gaps):.1f}" if gaps else "" for gaps in (small, large))
            rows.append([name, title.partition(" (")[0], str(len(found)), *cells])
    head = ["", "quantity", "products", "apart to 5 kB, points: mean", "above 5 kB"]
    return _table(head, rows)


def replicates() -> str:
    """Additional and average additional time of other draws of three replications."""
    rows = []
    for part, kbit_s, ms in SEARCHES.REPLICATED:
        found = SEARCHES.replicated(part, (kbit_s, ms), TRIPLES)
        cells = (f"{mean(v):.2f}, {min(v):.2f} to {max(v):.2f}" for v in zip(*found, strict=True))
        rows.append([f"{part}, {kbit_s} kbit/s, {ms} ms", str(len(found)), *cells])
    quantities = ["additional time, %: mean, range", "average additional time, %"]
    return _table(
        [
            "path",
            "draws",
            *quantities,
            "additional, of whole ms",
            "average, of whole ms",
            "additional, a ms more",
        ],
        rows,
    )


def perturbed() -> str:
    """The additional time with one change at a time."""
    rows = []
    for name, settings in SEARCHES.PERTURBED.items():
        values = SEARCHES.perturbed(settings)
        rows.append([name, *("none waits" if value is None else f"{value:.1f}" for value in values)])
    paths = [f"{kbit_s} kbit/s, {ms} ms" for kbit_s, ms in SEARCHES.PERTURBED_AT]
    return _table(["short flows with", *paths], rows)


def earlier() -> str:
    """The positions that wait in figure 4.25 with one change at a time."""
    changes = SEARCHES.EARLIER.items()
    rows = [[name, ", ".join(map(str, SEARCHES.earlier_ends(settings)))] for name, settings in changes]
    return _table(["figure 4.25 with", "positions that wait"], rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _between(page: Path, name: str, text: str) -> None:
    """Writes a text between the marks of its name on a page."""
    old = page.read_text()
    before, found, rest = old.partition(f"<!-- {name} -->\n")
    _, ended, after = rest.partition(f"<!-- /{name} -->")
    if not found or not ended:
        raise SystemExit(f"{page} has no marks of {name}")
    page.write_text(f"{before}{found}{text}<!-- /{name} -->{after}")


def _results(part: str, folder: Path | None) -> rexmit.Results:
    if folder is not None:
        return rexmit.open_results(folder / part)
    return rexmit.Study.load(f"{STUDY}/{part}").run(progress=False)


def _draw(results: rexmit.Results) -> None:
    """Puts the figures of a part among the images of the pages."""
    with tempfile.TemporaryDirectory() as work:
        for file in draw_figures(results, Path(work), ["png"]):
            words = file.stem.split("-")
            name = "-".join(words[1:3]) if words[0] == "figure" else file.stem
            shutil.copy(file, IMAGES / f"hurtig-figure-{name}.png")


if __name__ == "__main__":
    main()
