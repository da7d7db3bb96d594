"""The page of klaver-2005: what `scripts/study_page.py klaver-2005` writes.

Puts the tables into the study's README and the figures into its page. The part on Linux 6.1 is run with
`--linux`; its table stays as it is without.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from rexmit import Study, tcp_friendly_runs
from rexmit.analyse import summarise
from rexmit.analyse.statements import load_statements

from .evidence import Evidence
from .lines import off_curve
from .points import distance

if TYPE_CHECKING:
    from study_page import Page

PARTS = (*("controlled", "acks", "cycles", "enschede", "window", "conditions", "random", "shared", "absent"),)
CASE, COUNTS = "case", "hosts.server.stack.congestion.counts"
POLICY, ALGORITHM = "hosts.client.stack.delayed_ack.policy", "hosts.server.stack.congestion.algorithm"
FOLDER = Path(__file__).parent.parent
BURST = "path.down.burst"
FORMULAS = {
    "error_klaver_odd": "odd W",
    "error_klaver_even": "even W",
    "error_reno": "classic",
    "error_ott": "Ott",
    "error_pftk_full": "PFTK, full",
    "error_pftk": "PFTK",
}
POLICIES = ("immediate", "quick-ack", "every-second")
SHOWN = {
    "controlled": ("figure-5-1", "relative-errors", "windows"),
    "acks": ("constant",),
    "cycles": ("figure-4-1", "figure-4-2", "figure-4-3", "figure-4-4", "figure-4-5", "figure-2-2"),
    "window": ("figure-2-4",),
    "conditions": ("figure-2-1", "figure-2-1-kernel", "figure-2-5", "figure-2-6"),
    "shared": ("figure-5-2", "figure-5-3"),
    "linux": ("linux-points",),
}
"""Figures of each part that the page shows."""


def make(page: Page) -> None:
    """Run what is not there yet, draw, write the tables."""
    results = {name: page.run(name) for name in PARTS}
    evidence = Evidence(list(results.values()))
    tables = {
        "errors": errors(evidence.part("controlled")),
        "constants": constants(evidence.part("acks")),
        "absent": absent(evidence.part("absent")),
        "buffers": buffers(tcp_friendly_runs(page.run("buffers"))),
        "shared": shared(evidence),
        **covered(),
        "compare": page.compare(list(results.values())).to_markdown(),
    }
    if page.linux:
        results["linux"] = page.run("linux", "uml", capture="all")
        model = Study.load("klaver-2005/linux").run(progress=False)
        tables["linux"] = linux(*(tcp_friendly_runs(one) for one in (results["linux"], model)))
    page.put(tables)
    for name in SHOWN:
        if name in results:
            page.draw(name, results[name], shown_of(name))


def shown_of(part: str) -> Callable[[str], str | None]:
    """The names in the documentation of the figures of a part that the page shows."""
    return lambda figure: f"klaver-{figure}" if figure in SHOWN[part] else None


def errors(frame: pl.DataFrame) -> str:
    """The relative error of each formula at each point, with 95 % intervals over replications."""
    parts = {}
    for column in FORMULAS:
        found = summarise(frame.filter(pl.col(column).is_not_null()), [CASE], column)
        parts[column] = {row["case"]: row for row in found.iter_rows(named=True)}
    head = ["point", "W", "cycles", "p", "F", "± over cycles", *FORMULAS.values(), "may it be applied?"]
    rows = []
    for case, *values in frame.group_by(CASE, maintain_order=True).agg(MEASURED).iter_rows():
        w, cycles, p, f, low, high, applies, failed = values
        said = {"no": f"no: {failed}", "unclear": "as far as can be seen"}.get(applies, applies)
        if f is None:
            rows.append([case, *["-"] * (len(head) - 2), said])
            continue
        cells = [_error(parts[column].get(case)) for column in FORMULAS]
        spread = f"{(high - low) / 2:.3f}"
        rows.append([case, f"{w:.4g}", f"{cycles:.0f}", f"{p:.3g}", f"{f:.2f}", spread, *cells, said])
    return _markdown(head, rows)


MEASURED = [
    pl.col("w").mean(),
    pl.col("window_cycles").mean(),
    pl.col("p_delivered").mean(),
    pl.col("f", "f_low", "f_high").mean(),
    pl.col("applies", "failed_conditions").first(),
]


def _error(row: dict[str, float] | None) -> str:
    if row is None:
        return "-"
    half = "" if row["high"] is None else f" ± {100 * (row['high'] - row['mean']):.2f}"
    return f"{100 * row['mean']:+.2f}{half} %"


def constants(frame: pl.DataFrame) -> str:
    """C for each combination of what the sender counts and what the receiver acknowledges."""
    constant = (pl.col("f") * pl.col("p_delivered").sqrt()).alias("c")
    keyed = {tuple(key): c for *key, c in frame.select(CASE, COUNTS, POLICY, constant).iter_rows()}
    cases = frame[CASE].unique(maintain_order=True)
    columns = [(counts, policy) for counts in ("segments", "acks") for policy in POLICIES]
    head = ["path", *(f"{counts}, {policy}" for counts, policy in columns), "acks, every-second / immediate"]
    rows = []
    for case in cases:
        values = [keyed[case, counts, policy] for counts, policy in columns]
        rows.append([case, *(f"{value:.3f}" for value in values), f"{values[5] / values[3]:.3f}"])
    return _markdown(head, rows)


def covered() -> dict[str, str]:
    """What the text states and what holds it; the statements without a row."""
    coverage = load_statements(FOLDER)
    return {"coverage": f"{coverage.text()}\n", "uncovered": coverage.table()}


def absent(frame: pl.DataFrame) -> str:
    """The cells that table 5.1 leaves out, by what fails of the conditions."""
    told: dict[str, list[str]] = {}
    for case, f, failed in frame.select(CASE, "f", "failed_conditions").iter_rows():
        what = (failed or "").replace(",", ", ") or ("nothing" if f is not None else "too few cycles")
        told.setdefault(what, []).append(case)
    rows = [[what, str(len(cases)), "; ".join(cases)] for what, cases in sorted(told.items(), key=_by_number)]
    return _markdown(["what fails", "cells", "which"], rows)


def _by_number(item: tuple[str, list[str]]) -> int:
    return -len(item[1])


def buffers(frame: pl.DataFrame) -> str:
    """The point of a buffer of one, two and three packets, by the bucket."""
    rows = []
    for row in frame.iter_rows(named=True):
        far = None if row["f"] is None else distance({**row, "p": row["p"]})
        point = ["-"] * 3 if row["f"] is None else [f"{row['w']:.0f}", f"{row['p']:.4f}", f"{row['f']:.3f}"]
        end = [row["failed_conditions"]] if far is None else [f"{far:+.1f} %"]
        rows.append([str(row["path.down.queue"]), str(row[BURST]), *point, *end])
    return _markdown(["buffer", "bucket", "W", "p", "F", "from the curve"], rows)


def shared(evidence: Evidence) -> str:
    """The lines with other traffic: complete windows and alike cycles against the curves."""
    head = ["line and load", "Mbit/s", "cycles", "W", "W varies by", "complete", "alike cycles"]
    rows = []
    for case in evidence.cases("shared"):
        for one in evidence.seen("shared", case):
            if one.complete is None:
                rows.append([case, f"{one.rate_bit_s / 1e6:.2f}", str(max(one.events - 1, 0)), *["-"] * 4])
                continue
            alike = one.selected
            chosen = "-" if alike is None or not alike.f else f"{off_curve(alike):+.1f} % of {alike.cycles}"
            cells = [f"{one.rate_bit_s / 1e6:.2f}", str(one.events - 1), f"{one.peaks.mean():.0f}"]
            rows.append(
                [case, *cells, f"{one.spread_of_peaks:.0%}", f"{off_curve(one.complete):+.1f} %", chosen]
            )
    return _markdown(head, rows)


def linux(kernel: pl.DataFrame, model: pl.DataFrame) -> str:
    """Reno and CUBIC of the kernel: the errors of the formulas, and those of the model's."""
    chosen = model.select(ALGORITHM, CASE, 1 / pl.col("p_delivered"), "error_klaver")
    own = {(algorithm, case): found for algorithm, case, *found in chosen.iter_rows()}
    head = ["", "path", "W", "cycles", "lost each", "segments each", "F", *FORMULAS.values(), "CUBIC"]
    head.append("model: segments each, new formula")
    rows = []
    for row in kernel.iter_rows(named=True):
        key = row[ALGORITHM], row[CASE]
        cells = [_percent(row[column]) for column in (*FORMULAS, "error_cubic")]
        segments, error = own[key]
        each = [f"{row['window_lost'] / row['window_cycles']:.2f}", f"{1 / row['p_delivered']:.1f}"]
        shown = [f"{row['w']:.4g}", f"{row['window_cycles']}", *each, f"{row['f']:.2f}"]
        own_cell = "-" if segments is None else f"{segments:.1f}, {_percent(error)}"
        rows.append([*key, *shown, *cells, own_cell])
    return _markdown(head, rows)


def _percent(share: float | None) -> str:
    return "-" if share is None or math.isnan(share) else f"{100 * share:+.1f} %"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
