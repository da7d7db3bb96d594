"""Compare the model with a real kernel, and that in virtual with one in real time: `fidelity.py`.

Draws scenarios at random from a fixed seed, runs each on `uml` and on the model, and writes tables, figures
and the page docs/studies/fidelity.md. With `--kernel N`, N of them also run on this machine's kernel, which
needs root.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from rexmit.diff.systems import System
from rexmit.kernel import KernelError, find_kernel
from twins import bbr, figures, live, page, runs, wide_page
from twins.scenarios import (
    APART,
    BBR,
    GROUPS,
    MODELS,
    NAMES,
    PLAIN_PROFILE,
    RFC,
    Drawn,
    draw,
    draw_bbr,
    system_of,
    table_of,
)
from twins.tables import Comparison

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = 500
REAL = 100


def main() -> int:
    """Run, compare and write; 2 where there is no kernel."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--scenarios", type=int, default=SCENARIOS, help="how many (default 500)")
    options.add_argument("--kernel", type=int, default=0, metavar="N", help="how many in real time as well")
    options.add_argument("--jobs", type=int, default=1, help="runs at the same time in real time (default 1)")
    options.add_argument(
        "--out", type=Path, default=ROOT / "results" / "fidelity", help="folder of the tables"
    )
    options.add_argument("--page", action="store_true", help="write docs/studies/fidelity.md and its figures")
    chosen = options.parse_args()
    try:
        find_kernel()
    except KernelError as error:
        print(f"fidelity: {error}", file=sys.stderr)
        return 2
    if chosen.kernel and os.geteuid() != 0:
        print("fidelity: not root, so nothing runs in real time", file=sys.stderr)
        chosen.kernel = 0
    chosen.out.mkdir(parents=True, exist_ok=True)
    took: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="rexmit-fidelity-") as scratch:
        compared, real = run(chosen, Path(scratch), took)
        apart = run_apart(chosen, Path(scratch), took)
        rates = run_bbr(chosen, Path(scratch), took)
    table = compared.table()
    compared.write(chosen.out, "scenarios")
    if real is not None:
        real.write_csv(chosen.out / "real-time.csv")
    drawings(table, real, chosen.out)
    text = page.write(page.Content(table, compared.causes(), real, apart.table(), rates.table()))
    (chosen.out / "fidelity.md").write_text(text)
    if chosen.page:
        written = ROOT / "docs" / "studies" / "fidelity.md"
        written.write_text(wide_page.carried(written.read_text(), text))
        drawings(table, real, ROOT / "docs" / "img")
    print(page.summary_text(table))
    print(f"\nnobody looks at these:\n{page.summary_text(apart.table())}")
    print(f"\nBBR:\n{page.summary_text(rates.table())}")
    print(", ".join(f"{name} {seconds:.0f} s" for name, seconds in took.items()))
    return 0


def run(
    chosen: argparse.Namespace, scratch: Path, took: dict[str, float]
) -> tuple[Comparison, pl.DataFrame | None]:
    """Every run, and what differs."""
    drawn = [draw(number) for number in range(chosen.scenarios)]
    compared, virtual = beside(drawn, MODELS, scratch, took)
    if not chosen.kernel:
        return compared, None
    began = time.monotonic()
    few = live.choose(drawn, virtual["plain"], chosen.kernel)
    real = live.compare(few, scratch, shown("real time", len(few) * (1 + live.PHASES)), chosen.jobs)
    took["real time"] = time.monotonic() - began
    return compared, real


def run_apart(chosen: argparse.Namespace, scratch: Path, took: dict[str, float]) -> Comparison:
    """As many scenarios again that are looked at here alone, on what stands for the kernel."""
    drawn = [draw(number) for number in range(APART, APART + chosen.scenarios)]
    return beside(drawn, [name for name in MODELS if name != RFC], scratch, took, "apart, ")[0]


def run_bbr(chosen: argparse.Namespace, scratch: Path, took: dict[str, float]) -> Comparison:
    """The scenarios with BBR in place of their congestion control, and as many that nobody looks at."""
    compared = Comparison(NAMES)
    for group, first in (("default", 0), ("default, apart", APART)):
        began = time.monotonic()
        drawn = [draw_bbr(number) for number in range(first, first + chosen.scenarios)]
        tables = [one.table("linux-6.1", GROUPS["default"]) for one in drawn]
        real = runs.on(runs.LINUX, tables, scratch, shown(f"BBR, uml {group}", len(drawn)))
        model = bbr.nearest(drawn, real, scratch, lambda _: None)
        compared.add((group, BBR), drawn, real, model)
        took[f"BBR, {group}"] = time.monotonic() - began
    return compared


def beside(
    drawn: Sequence[Drawn], models: Iterable[str], scratch: Path, took: dict[str, float], prefix: str = ""
) -> tuple[Comparison, dict[str, list[runs.Ran]]]:
    """Scenarios on the kernel of each group and on these models: what differs, and the kernels' runs."""
    compared = Comparison(NAMES)

    def timed(name: str, system: System, tables: list[dict[str, Any]]) -> list[runs.Ran]:
        began = time.monotonic()
        answer = runs.on(system, tables, scratch, shown(prefix + name, len(drawn)))
        took[prefix + name] = time.monotonic() - began
        return answer

    # Settings of a real kernel mean nothing to the model, so one run of it serves every group.
    ran = {
        name: timed(f"model {name}", system_of(name), [table_of(one, name) for one in drawn])
        for name in models
    }
    virtual = {
        group: timed(f"uml {group}", runs.LINUX, [table_of(one, PLAIN_PROFILE, group) for one in drawn])
        for group in GROUPS
    }
    for group, left in virtual.items():
        for name, right in ran.items():
            compared.add((group, name), drawn, left, right)
    return compared, virtual


def drawings(table: pl.DataFrame, real: pl.DataFrame | None, folder: Path) -> None:
    """The figures."""
    figures.cumulative(table, folder / "fidelity-differences.png")
    figures.scatter(table, folder / "fidelity-times.png")
    if real is not None:
        figures.lateness(real, folder / "fidelity-real-time.png")


def shown(name: str, total: int) -> runs.Told:
    """Shows on a terminal how many runs are done."""
    done = 0

    def told(_: int) -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            print(f"\r{name}: {done} of {total} ", end="\n" if done == total else "", file=sys.stderr)

    return told


if __name__ == "__main__":
    sys.exit(main())
