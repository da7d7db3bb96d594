"""The cells of tables 3.1 to 3.7, 5.1 and 5.2 on Linux 6.1: as published, on the model of 2006, and today.

The same checks read the same rows of other parts: `linux-thin` for `thin` and so on.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl
from rexmit import Results
from rexmit.analyse import WITHIN, Check, Comparison, Uncovered, load_published

from . import PUBLISHED
from .evidence import Evidence
from .numbers import number
from .parts import markdown

PARTS: Mapping[str, str] = {
    "thin": "linux-thin",
    "thick": "linux-thick",
    "tcp-thin": "linux-tcp-thin",
    "tcp-thick": "linux-tcp-thick",
    "enhancements": "linux-enhancements",
    "burst": "linux-burst",
}
"""Which part stands for which on Linux 6.1."""
PLACES = ("rtt_ms", "variant", "retransmission", "class")
TABLES = ("3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "5.1", "5.2")
SHOWN = ("mean delay", "retransmissions")
"""Quantities of the table of cells. Thick streams are shorter than the thesis's, and so are their counts."""


def tables(model: Comparison, results: Mapping[str, Results]) -> dict[str, str]:
    """What the page has between its marks of these runs."""
    checks = checked(list(results.values()))
    return {
        "linux-cells": summary(checks),
        "linux-thin": thin_table(results["linux-thin"]),
        "linux-delays": cells(model, checks),
    }


def checked(results: Sequence[Results]) -> list[Check]:
    """Each number of the tables that these runs on Linux 6.1 have, beside them; nothing is recorded."""
    evidence, found = Evidence(results, parts=PARTS), []
    for row in load_published(PUBLISHED):
        if row.id.startswith(_ids(TABLES)):
            try:
                found.append(number(replace(row, deviation="", deviation_reason=""), evidence))
            except Uncovered:
                continue
    return found


def summary(checks: Sequence[Check]) -> str:
    """Of each table: its numbers, those that these runs have, and those that one more run could give."""
    rows, printed = [], [row.id for row in load_published(PUBLISHED)]
    for table in TABLES:
        own = [check for check in checks if check.published.id.startswith(_ids((table,)))]
        within = sum(check.verdict == WITHIN for check in own)
        count = sum(name.startswith(_ids((table,))) for name in printed)
        rows.append([table, str(count), str(len(own)), str(within)])
    return markdown(["table", "numbers", "on Linux 6.1 too", "of these within"], rows)


def cells(model: Comparison, checks: Sequence[Check]) -> str:
    """Mean delay and count in every cell: as published; lksctp or TCP of 2.6.15 on the model; Linux 6.1."""
    before = {check.published.id: check for check in model.checks}
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for check in checks:
        published = check.published
        if published.quantity not in SHOWN or (published.quantity == SHOWN[1] and is_thick(check)):
            continue
        table = published.id.split("-")[2]
        place = (table, *(published.place[key] for key in PLACES))
        told = "; ".join((published.value, mean_of(before[published.id]), mean_of(check)))
        found.setdefault(place, {})[published.quantity] = told
    head = ["table", *(key.replace("_", " ") for key in PLACES), *SHOWN]
    return markdown(head, ([*place, *(row.get(name, "") for name in SHOWN)] for place, row in found.items()))


def is_thick(check: Check) -> bool:
    """Whether it is of a thick stream."""
    return str(check.published.place["part"]).endswith("thick")


def mean_of(check: Check) -> str:
    """Ours, the mean of the runs; a dash where such a retransmission was in less than two of them."""
    values = [float(one) for one in check.values]
    return f"{statistics.fmean(values):.1f}" if values else "-"


def _ids(tables: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"P-002-{table}-" for table in tables)


def thin_table(thin: Results) -> str:
    """What became of a lost chunk on a thin stream of SCTP. Raises AssertionError for a claim that fails."""
    frame = thin.retransmissions()
    runs = thin.table().group_by("rtt").len()["len"].to_list()[0]
    first, again = ({} for _ in range(2))
    for rtt in frame["rtt"].unique(maintain_order=True):
        here = frame.filter(pl.col("rtt") == rtt)
        first[rtt] = {kind: _pooled(here, 1, kind) for kind in ("fast", "timeout")}
        again[rtt] = _pooled(here, 2, "timeout")
    assert all(one["fast"][0] > 2 * one["timeout"][0] for one in first.values())
    lines = [
        ["RTT", "fast, a run", "mean delay", "timeouts, a run", "mean delay", "second timeouts", "needless"]
    ]
    for rtt, one in first.items():
        cells = [f"{one[kind][at] / (runs if at == 0 else 1):,.0f}" for kind in one for at in (0, 1)]
        lines.append([rtt, *cells, f"{again[rtt][0] / runs:.0f}", f"{again[rtt][2] / runs:.0f}"])
    return markdown(lines[0], lines[1:])


def _pooled(frame: pl.DataFrame, number: int, kind: str) -> tuple[int, float, int]:
    """Retransmissions of a class: how many, mean delay since first sent in ms, how many were not needed."""
    own = frame.filter(pl.col("number") == number, pl.col("class") == kind)
    count = int(own["count"].sum())
    mean = float((own["cumulative_mean_ms"] * own["count"]).sum()) / max(count, 1)
    return count, mean, int(own["not_needed"].sum())
