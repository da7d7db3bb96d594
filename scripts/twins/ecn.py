"""ECN and DCTCP on the model beside Linux: score, its clusters, the page docs/studies/fidelity-ecn.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from twins import bbr, page, runs
from twins.scenarios import (
    APART,
    BBR,
    GROUPS,
    NAMES,
    SEED,
    WHOLE,
    Drawn,
    draw_ecn,
    system_of,
    table_of,
)
from twins.tables import Comparison

READINGS = Path(__file__).with_name("readings-ecn.md")
"""What a person found out about the clusters, by hand."""

SEEN, UNSEEN = "default", "default, apart"
BBR_EVERY = 5
"""One scenario in so many also runs with BBR in place of its congestion control."""


def compare(count: int, folder: Path, told: Callable[[str, int], runs.Told]) -> pl.DataFrame:
    """One row per scenario: those numbered from 0, those that nobody looks at, and some of both with BBR."""
    compared = Comparison(NAMES)
    for group, first in ((SEEN, 0), (UNSEEN, APART)):
        drawn = [draw_ecn(number) for number in range(first, first + count)]
        real = on_linux(drawn, folder, told(f"uml {group}", count))
        tables = [table_of(one, WHOLE) for one in drawn]
        model = runs.on(system_of(WHOLE), tables, folder, told(f"model {group}", count))
        compared.add((group, WHOLE), drawn, real, model)
        some = [replace(one, algorithm="bbr") for one in drawn[::BBR_EVERY]]
        real = on_linux(some, folder, told(f"BBR, uml {group}", len(some)))
        compared.add((group, BBR), some, real, bbr.nearest(some, real, folder, lambda _: None))
    return compared.table()


def on_linux(drawn: Sequence[Drawn], folder: Path, told: runs.Told) -> list[runs.Ran]:
    """The scenarios on the kernel with its defaults."""
    return runs.on(runs.LINUX, [one.table("linux-6.1", GROUPS["default"]) for one in drawn], folder, told)


def write(table: pl.DataFrame) -> str:
    """The page."""
    count = len(table.filter(pl.col("group") == SEEN, pl.col("profile") == WHOLE))
    parts = [
        "# ECN and DCTCP: the model beside Linux",
        "`make fidelity-ecn` writes this page; the interpretations in it are written by hand.",
        f"{count} scenarios were drawn at random "
        f'(`rexmit.draw_scenario(n, seed={SEED}, family="marks")`): those of [the basic one](fidelity.md), '
        "with Reno, CUBIC or DCTCP, behind a queue that marks by CoDel, FQ-CoDel, PIE or RED with random "
        "parameters, or with marks at random positions. In 85 % of them both ends request ECN; in the "
        "others one end may only accept it or have it off. Half of them also lose one or two packets. "
        "Each ran on "
        f"`uml` ({runs.describe('uml')}, default settings) and on the model (`linux-6.1`).",
        "Sequences are *identical* by the definition there, and also in the flags ECE and CWR and the ECN "
        f"field of each IP header. *Apart* are as many scenarios with numbers from {APART:,} on, which "
        f"nobody looks at while working on the model. One scenario in {BBR_EVERY} ran with BBR as well; of "
        "its seven first phases, the closest counts.",
        page.summary_text(table),
        "## By congestion control and by queue",
        *(_shares(table, key) for key in ("algorithm", "discipline")),
        "## Where the sequences part",
        _clusters(table),
        READINGS.read_text().strip(),
    ]
    return "\n\n".join(parts) + "\n"


def _shares(table: pl.DataFrame, key: str) -> str:
    of = table.filter(pl.col("profile") == WHOLE).with_columns(pl.col(key).fill_null("positions"))
    counted = of.group_by(key, "group").agg(pl.len().alias("all"), pl.col("identical").sum())
    rows = []
    for name in sorted(counted[key].unique()):
        row = [str(name)]
        for group in (SEEN, UNSEEN):
            one: dict[str, Any] = counted.filter(pl.col(key) == name, pl.col("group") == group).to_dicts()[0]
            row.append(f"{one['identical']} of {one['all']} ({100 * one['identical'] / one['all']:.1f} %)")
        rows.append(row)
    return page.table_text([key, "identical", "identical, apart"], rows)


def _clusters(table: pl.DataFrame) -> str:
    of = table.filter(pl.col("profile") == WHOLE, ~pl.col("identical")).sort(
        "group", "first_packet", "scenario"
    )
    found = of.group_by("kind").agg(
        (pl.col("group") == SEEN).sum().alias("seen"),
        (pl.col("group") == UNSEEN).sum().alias("apart"),
        pl.first("scenario"),
        pl.first("algorithm"),
        pl.first("first_packet"),
        pl.first("uml_first_packet"),
        pl.first("model_first_packet"),
    )
    rows = [
        [
            str(row["seen"]),
            str(row["apart"]),
            row["kind"],
            f"{row['scenario']} ({row['algorithm']}): packet {row['first_packet']}, "
            f"uml {row['uml_first_packet']}, model {row['model_first_packet']}",
        ]
        for row in found.sort("seen", "kind", descending=[True, False]).to_dicts()
    ]
    return page.table_text(["scenarios", "apart", "first difference", "for example"], rows)
