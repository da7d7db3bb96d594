"""The page docs/studies/fidelity.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from twins import runs
from twins.compare import NONE
from twins.figures import TITLES
from twins.scenarios import APART, PLAIN_PROFILE, SEED, WHOLE
from twins.tables import kinds, summary

READINGS = Path(__file__).with_name("readings.md")
REAL = Path(__file__).with_name("readings-real-time.md")
"""What a person found out about the most frequent kinds, by hand."""

SHOWN_KINDS = 10


@dataclass(frozen=True)
class Content:
    """What the page tells: tables of the scenarios, causes, runs in real time, scenarios apart, and BBR."""

    table: pl.DataFrame
    causes: pl.DataFrame
    real: pl.DataFrame | None
    apart: pl.DataFrame
    rates: pl.DataFrame


def write(content: Content) -> str:
    """The page."""
    parts = [
        "# Model, virtual time, real time: how far apart",
        "`make fidelity` writes this page; the interpretations in it are written by hand.",
        *_about(content.table),
        "## Summary",
        summary_text(content.table),
        f"The same for as many scenarios with numbers from {APART:,} on. Nobody looks at these while "
        "working on the model, so their score is not biased by the scenarios that were studied:",
        summary_text(content.apart),
        "The scenarios of both sets with BBR in place of Reno and CUBIC. The kernel draws the phase, one "
        "of seven, in which its probing for bandwidth begins; the model gets the phase as a setting "
        "(`congestion.bbr.first_phase`). Of seven runs of the model the identical one counts, or else the "
        "first. A flow that draws a second time, because it drained its queue to measure a new minimum "
        "round trip, is rarely identical for that reason alone.",
        summary_text(content.rates),
        "![Share of scenarios over the difference in time](../img/fidelity-differences.png)",
        "![Time on the model over time on uml](../img/fidelity-times.png)",
        "## Where the sequences part",
        _kinds(content.table),
        READINGS.read_text().strip(),
        "## Causes of retransmissions",
        "Retransmissions count as one if they repeat the same data for the same time; `none` means that "
        "only the other backend has the retransmission.",
        _causes(content.causes),
    ]
    if content.real is not None:
        parts += _real(content.real)
    return "\n\n".join(parts) + "\n"


def _about(table: pl.DataFrame) -> list[str]:
    count = table["scenario"].n_unique()
    return [
        f"{count} scenarios were drawn at random (seed {SEED}): rate 64 kbit/s to 20 Mbit/s and delay 1 to "
        "150 ms (log-uniform), queue 5 to 200 packets, 10 to 300 kB from the server as one write or as "
        "several, one or two losses at random positions, most of them of the server's packets, Reno or "
        "CUBIC, and a random phase of the timer wheel. "
        f"Each ran on `uml` ({runs.describe('uml')}) and on the model with three stacks. "
        "The kernel has two groups of settings: *plain*, without RACK and tail probes "
        "(`linux.recovery = 0`, `linux.early_retrans = 0`), which the profile `linux-6.1-no-rack` "
        "describes, and *default*, unchanged, which `linux-6.1` describes.",
        "Sequences are *identical* if the capture at the server has the same packets in the same order: "
        "direction, relative sequence number, length, flags except PSH, relative acknowledgment number; "
        "within one nanosecond, arriving packets come first. *Each side* requires the same only of each "
        "host's own packets. *All times* compares the time of every packet of an identical sequence; the "
        "other times run from connect() to the end of the stream at the receiver; causes are those that "
        "the analysis finds from packets alone.",
    ]


def summary_text(table: pl.DataFrame) -> str:
    """The summary as a table of Markdown."""
    rows = [
        [
            row["group"],
            row["profile"],
            share(row["identical"], row["scenarios"]),
            share(row["each_side_identical"], row["scenarios"]),
            str(row["within_1us"]),
            str(row["within_1ms"]),
            share(row["same_causes"], row["scenarios"]),
            *(number(row[f"{name}_ms"]) for name in ("median", "p90", "max")),
            *(number(row[f"{name}_percent"]) for name in ("median", "p90", "max")),
        ]
        for row in summary(table).iter_rows(named=True)
    ]
    heads = [
        "kernel",
        "profile",
        "identical",
        "each side",
        "all times within 1 us",
        "within 1 ms",
        "same causes",
    ]
    off = [f"{name} [{unit}]" for unit in ("ms", "%") for name in ("median", "p90", "max")]
    return table_text([*heads, *off], rows)


def _kinds(table: pl.DataFrame) -> str:
    parts = []
    found = kinds(table)
    for (group, profile), rows in found.group_by("group", "profile", maintain_order=True):
        if (group, profile) not in (("plain", PLAIN_PROFILE), ("default", WHOLE), ("default", "rfc-2014")):
            continue
        shown = [
            [
                str(row["scenarios"]),
                row["kind"],
                f"{number(row['median_percent'])} %",
                f"{row['example']}: packet {row['first_packet']}, uml {row['uml_first_packet']}, "
                f"model {row['model_first_packet']}",
            ]
            for row in rows.head(SHOWN_KINDS).iter_rows(named=True)
        ]
        others = sum(rows["scenarios"][SHOWN_KINDS:])
        if others:
            shown.append([str(others), "others", "", ""])
        parts.append(f"### {TITLES[str(group)]}, against `{profile}`")
        heads = ["scenarios", "first difference", "difference in time, median", "for example"]
        parts.append(table_text(heads, shown))
    return "\n\n".join(parts)


def _causes(causes: pl.DataFrame) -> str:
    parts = []
    for group, profile in (("default", WHOLE), ("plain", PLAIN_PROFILE)):
        rows = causes.filter(pl.col("group") == group, pl.col("profile") == profile)
        pivot = {(row["uml"], row["model"]): row["retransmissions"] for row in rows.iter_rows(named=True)}
        names = sorted({name for pair in pivot for name in pair} - {NONE})
        shown = [
            [one, *(str(pivot.get((one, other), "")) for other in [*names, NONE])] for one in [*names, NONE]
        ]
        parts.append(f"{TITLES[group]}, down, against `{profile}`, across:")
        parts.append(table_text(["", *names, NONE], shown))
    return "\n\n".join(parts)


def _real(real: pl.DataFrame) -> Sequence[str]:
    count, same = len(real), real.filter("identical")
    quiet = real.filter(~pl.col("shared_has_timeout"))
    late = pl.col("late_max_ms")
    share = 0.01 * pl.col("rtt_ms")
    within = [len(quiet.filter(pl.col("shared_off_ms") <= most)) for most in (late, share)]
    close = [len(same.filter(pl.col("difference_ms").abs() <= most)) for most in (late, share)]
    found = real.filter(~pl.col("identical")).group_by("kind").agg(pl.len(), pl.min("scenario").alias("n"))
    rows = [[str(r["len"]), r["kind"], str(r["n"])] for r in found.sort("len", "kind").reverse().to_dicts()]
    figures = [
        ["emulator late at most, per run [ms]", *_quantiles(real, "late_max_ms")],
        ["difference in time, all [ms]", *_quantiles(real, "difference_ms")],
        ["difference in time, identical sequences [ms]", *_quantiles(same, "difference_ms")],
        ["packets before sequences part, no timer: times apart [ms]", *_quantiles(quiet, "shared_off_ms")],
        ["the same, for each round trip up to there [us]", *_quantiles(quiet, "shared_off_per_trip_us")],
    ]
    return [
        "## Real time beside virtual time",
        f"{count} of the scenarios (RACK and TLP on, at most 2.5 s long, at most 10 Mbit/s) also ran on "
        f"{runs.describe('kernel')} in real time, one after another, and on `uml` at eight phases of the "
        "timer wheel. The phase with the closest result counts, since real time begins at an arbitrary "
        "phase.",
        table_text(["", "median", "p90", "max"], figures),
        f"{len(same)} of {count} sequences are identical; of these, {close[0]} end within the lateness that "
        f"the emulator states, and {close[1]} within the hundredth of a round trip beyond which a run is "
        f"flagged. Of the {len(quiet)} scenarios where no timer fires before the sequences diverge, the "
        "times "
        f"of all packets up to there agree within that lateness in {within[0]}, within a hundredth of a "
        f"round trip in {within[1]}.",
        "![Difference over lateness](../img/fidelity-real-time.png)",
        table_text(["scenarios", "first difference", "first scenario"], rows),
        REAL.read_text().strip(),
    ]


def _quantiles(table: pl.DataFrame, column: str) -> list[str]:
    values = table[column].abs()
    return [number(v) for v in (values.median(), values.quantile(0.9), values.max())]


def share(part: int, whole: int) -> str:
    """A part of a whole, with its percentage."""
    return f"{part} ({100 * part / whole:.1f} %)"


def number(value: Any) -> str:
    """A value in two digits; nothing for None."""
    if value is None:
        return ""
    return f"{value:.2g}" if abs(value) < 10 else f"{value:,.0f}"


def table_text(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
