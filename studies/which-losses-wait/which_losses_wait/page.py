"""The page of which-losses-wait: what `scripts/study_page.py which-losses-wait` writes (`make stacks`)."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from .repairs import FAST, NOTHING, PROBE, STACK, TIMER, repairs, shares, stacks
from .streams import delays, spurious

if TYPE_CHECKING:
    from study_page import Page

SHOWN = {"positions": "which-losses-wait", "tails": "which-losses-wait-tails"}


def make(page: Page) -> None:
    """Run what is not there yet, draw, write tables."""
    short, long, thin, reordering = (page.run(part) for part in ("short", "long", "thin", "reordering"))
    page.draw("short", short, SHOWN.get)
    page.draw("long", long, lambda name: "which-losses-wait-long" if name == "positions" else None)
    page.draw("thin", thin, lambda _: "which-losses-wait-thin")
    page.draw("reordering", reordering, lambda _: "which-losses-wait-reordering")
    of_short, of_long = repairs(short.table()), repairs(long.table())
    page.put(
        {
            "positions": positions(of_short),
            "tails": tails(of_short),
            "long": positions(of_long),
            "thin": thin_table(delays(thin)),
            "reordering": reordering_table(spurious(reordering)),
        }
    )


def positions(repaired: pl.DataFrame) -> str:
    """Which packets are repaired how on more than half of the paths, or in no such way; one row per stack."""
    lines = [
        "| stack | paths | packets | fast | probe | timer | none of these |",
        "| --- | ---: | ---: | --- | --- | --- | --- |",
    ]
    by = shares(repaired)
    for stack in stacks(repaired):
        part = repaired.filter((pl.col(STACK) == stack) & (pl.col("lost") == 0))
        most = {lost: _usual(parts) for lost, parts in by[stack].items()}
        cells = [
            spans(lost for lost, kind in most.items() if kind == wanted)
            for wanted in (FAST, PROBE, TIMER, None)
        ]
        nothing = spans(lost for lost, kind in most.items() if kind == NOTHING)
        assert nothing == "-", (stack, nothing)
        counts = sorted(part["last"].to_list())
        count = str(counts[0]) if counts[0] == counts[-1] else f"{counts[0]} to {counts[-1]}"
        lines.append(f"| {stack} | {part.height} | {count} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _usual(parts: dict[str, float]) -> str | None:
    """The kind of repair on more than half of the paths; None where there is none."""
    kind = max(parts, key=lambda one: parts[one])
    return kind if parts[kind] > 0.5 else None


def spans(numbers: Iterable[int]) -> str:
    """Whole numbers as ranges: `1-17, 19`."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in found) or "-"


def tails(repaired: pl.DataFrame) -> str:
    """What late losses cost: medians over paths in round trips, and in ms on one path."""
    names = "last but two | last but one | last |"
    lines = [f"| stack | {names} 1 Mbit/s, 80 ms: {names}", "| --- |" + " ---: |" * 6]
    one = (pl.col("path.rate_bit_s") == 1_000_000) & (pl.col("path.delay_ns") == 40_000_000)
    for stack in stacks(repaired):
        # A flow of more packets than were lost in turn has no last one here.
        mine = repaired.filter((pl.col(STACK) == stack) & (pl.col("last") <= repaired["lost"].max()))
        late = [mine.filter(pl.col("lost") == pl.col("last") - back) for back in (2, 1, 0)]
        rtts = [f"{median(part['extra_rtts'].to_list()):.1f} RTT" for part in late]
        times = [f"{part.filter(one)['extra_ms'].item():,.0f} ms" for part in late]
        lines.append(f"| {stack} | " + " | ".join([*rtts, *times]) + " |")
    return "\n".join(lines) + "\n"


def thin_table(found: pl.DataFrame) -> str:
    """How late messages of a thin stream are: 90th and 99th percentile, by round trip."""
    columns = found["rtt_ms"].unique(maintain_order=True).to_list()
    lines = [
        "| stack |" + "".join(f" {rtt:.0f} ms |" for rtt in columns),
        "| --- |" + " ---: |" * len(columns),
    ]
    for stack in stacks(found):
        part = found.filter(pl.col(STACK) == stack)
        cells = [f" {row['p90_ms']:,.0f} / {row['p99_ms']:,.0f} |" for row in part.to_dicts()]
        lines.append(f"| {stack} |" + "".join(cells))
    return "\n".join(lines) + "\n"


def reordering_table(found: pl.DataFrame) -> str:
    """What is sent again though nothing is lost: of 1,000 packets, and the time relative to none."""
    columns = found["path"].unique(maintain_order=True).to_list()
    lines = ["| stack |" + "".join(f" {one} |" for one in columns), "| --- |" + " ---: |" * len(columns)]
    for stack in stacks(found):
        part = found.filter(pl.col(STACK) == stack)
        cells = [f" {row['again']:,.0f} ({row['time']:.2f}) |" for row in part.to_dicts()]
        lines.append(f"| {stack} |" + "".join(cells))
    return "\n".join(lines) + "\n"
