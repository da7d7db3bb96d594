"""The section of docs/studies/fidelity.md on the wide set."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
from rexmit.study import SCENARIO_FAMILIES, WIDE_GROUPS
from rexmit.study.draw.wide_settings import SETTINGS, SYSCTLS, WITHOUT_KEY

from twins import runs, wide
from twins.page import number, share, table_text

HEAD = "## The wide set"
BEFORE = "## Real time beside virtual time"
READINGS = Path(__file__).with_name("readings-wide.md")
PACED = Path(__file__).with_name("readings-paced.md")
"""What a person found out about the clusters, by hand."""

SHOWN = 20


Both = tuple[pl.DataFrame, pl.DataFrame]
"""Scenarios that were looked at, and those kept apart."""


def section(whole: Both, paced: Both) -> str:
    """The section: what is drawn, both tables by group, the clusters, what is behind them, paced senders."""
    seen, apart = whole
    return "\n\n".join(
        [
            HEAD,
            "The 500 scenarios above have one or two losses and short flows. The wide set is harder: "
            f"{len(seen):,} scenarios in {len(WIDE_GROUPS)} groups (`rexmit.WIDE_GROUPS`, seed {wide.SEED}), "
            f"each on the kernel with its defaults ({runs.describe('uml')}) and on `linux-6.1`. "
            "With BBR, as above, the one of seven first phases that fits counts. "
            "`python scripts/fidelity_wide.py` runs the set again, with `--scenarios 10000` for more and "
            "`--group NAME` for one group; "
            f"`rexmit diff linux linux-6.1 --family wide/NAME --seed {wide.SEED}` lists a group's clusters "
            "with their smallest cases. *Identical* is as above; *times* are those of all packets, "
            "*completion* that of the run.",
            "`sysctls` draws the settings for which both sides have a key "
            f"({_names([*SETTINGS, *SYSCTLS])}). Not drawn, since the model has no counterpart: "
            f"{_names(WITHOUT_KEY)}.",
            summary_text(seen),
            f"The same for seed {wide.APART}, whose scenarios nobody looks at while working on the model:",
            summary_text(apart),
            "### Clusters",
            "Scenarios of the first seed, grouped by their first difference in the words of `rexmit diff` "
            "(A is the kernel, B the model); *cost* is how many of them end more than 1 % apart.",
            clusters_text(seen),
            READINGS.read_text().strip(),
            "### Paced senders",
            f"{len(paced[0]):,} scenarios of the basic set's kind "
            f"(`rexmit.draw_scenario(n, family='paced', seed={wide.SEED})`): "
            "one transfer with one or two losses, in which the application allows a rate from a tenth of "
            "the bottleneck's to ten times that (`socket.pacing_rate`, SO_MAX_PACING_RATE), so that Reno and "
            "CUBIC are paced (LK-PACE-4). `python scripts/fidelity_wide.py --group paced` runs these alone.",
            summary_text(paced[0]),
            f"The same for seed {wide.APART}:",
            summary_text(paced[1]),
            clusters_text(paced[0]),
            PACED.read_text().strip(),
        ]
    )


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def with_section(page: str, text: str) -> str:
    """A page with this section in place of the one that it has, before what is told of real time."""
    before, _, rest = page.partition(f"{HEAD}\n")
    following = rest if rest else before
    head, mark, tail = following.partition(BEFORE)
    kept = before if rest else head
    if not mark:
        return f"{kept.rstrip()}\n\n{text}\n"
    return f"{kept.rstrip()}\n\n{text}\n\n{mark}{tail}"


def carried(old: str, new: str) -> str:
    """A new page with the old one's section, and with its part on real time where the new one has none."""
    if BEFORE in old and BEFORE not in new:
        new = f"{new.rstrip()}\n\n{BEFORE}{old.partition(BEFORE)[2]}"
    _, found, rest = old.partition(f"{HEAD}\n")
    text = f"{HEAD}\n{rest.partition(BEFORE)[0]}".strip()
    return with_section(new, text) if found else new


def summary_text(table: pl.DataFrame) -> str:
    """The summary by group as a table of Markdown."""
    rows = [
        [
            f"`{row['group']}`" if row["group"] in wide.FAMILIES else f"**{row['group']}**",
            SCENARIO_FAMILIES.get(wide.FAMILIES.get(row["group"], ""), ""),
            str(row["scenarios"]),
            *(share(row[name], row["scenarios"]) for name in ("identical", "within_1us", "within_1_percent")),
            number(row["max_percent"]),
        ]
        for row in wide.summary(table).iter_rows(named=True)
    ]
    heads = [
        "group",
        "",
        "scenarios",
        "identical",
        "times within 1 us",
        "completion within 1 %",
        "at most [%]",
    ]
    return table_text(heads, rows)


def clusters_text(table: pl.DataFrame) -> str:
    """The most frequent clusters, the others counted."""
    found = wide.clusters(table)
    rows = [_cluster(row) for row in found.head(SHOWN).iter_rows(named=True)]
    others = found[SHOWN:]
    if len(others):
        cost = str(others["beyond_1_percent"].sum())
        rows.append([str(others["scenarios"].sum()), cost, f"{len(others)} others", "", ""])
    return table_text(["scenarios", "cost", "first difference", "groups", "for example"], rows)


def _cluster(row: dict[str, Any]) -> list[str]:
    groups = ", ".join(f"{one['group']} {one['count']}" for one in row["groups"][:4])
    more = ", ..." if len(row["groups"]) > 4 else ""
    example = (
        f"{row['group']} {row['example']}: uml {row['uml_first_packet']}; model {row['model_first_packet']}"
    )
    return [str(row["scenarios"]), str(row["beyond_1_percent"]), row["kind"], groups + more, example]
