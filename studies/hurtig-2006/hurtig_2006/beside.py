"""The model of Linux 6.1 beside the kernel, run by run: what the page says of `model-short` on both."""

from __future__ import annotations

import polars as pl
import rexmit

from .linux import PATH, POSITION
from .repairs import repairs

STACK = "hosts.server.stack"
NEAR_MS = 1e-3
"""Times that differ by no more are the same."""

KEYS = [*PATH, POSITION, STACK, "replication"]


def both(model: rexmit.Results, kernel: rexmit.Results) -> pl.DataFrame:
    """Each run of both: `KEYS`, `time_ms`, `time_ms_kernel`, and `off_ms`: how much later the model ends."""
    mine, other = (
        results.table().select(*KEYS, (pl.col("time_ns") / 1e6).alias("time_ms"))
        for results in (model, kernel)
    )
    joined = mine.join(other, on=KEYS, suffix="_kernel", maintain_order="left")
    assert len(joined) == len(mine) == len(other), "both ran the same design"
    return joined.with_columns((pl.col("time_ms") - pl.col("time_ms_kernel")).alias("off_ms"))


def same_repairs(model: rexmit.Results, kernel: rexmit.Results) -> pl.DataFrame:
    """For each stack, how many losses count (`counted`), and how many both repaired in one way (`same`)."""
    mine, other = (repairs(results.table(), POSITION, [*PATH, STACK]) for results in (model, kernel))
    keys = [*PATH, STACK, "replication", "position"]
    joined = mine.join(other, on=keys, suffix="_kernel", maintain_order="left")
    same = pl.col("repair") == pl.col("repair_kernel")
    return joined.group_by(STACK, maintain_order=True).agg(
        pl.len().alias("counted"), same.sum().alias("same")
    )


def facts(model: rexmit.Results, kernel: rexmit.Results) -> dict[str, str]:
    """What the template names of the model: a table by stack, and the numbers of its text."""
    runs, repaired = both(model, kernel), same_repairs(model, kernel)
    near = pl.col("off_ms").abs() <= NEAR_MS
    by_stack = runs.group_by(STACK, maintain_order=True).agg(
        pl.len().alias("runs"), near.sum().alias("near"), pl.col("off_ms").abs().max().alias("most")
    )
    lines = [
        "| stack | runs | same time | repaired in one way | most apart |",
        "| --- | --: | --: | --: | --: |",
    ]
    for row in by_stack.join(repaired, on=STACK, maintain_order="left").iter_rows(named=True):
        most = f"{row['most']:.0f} ms" if row["near"] < row["runs"] else "-"
        same = f"{row['same']:,} of {row['counted']:,}"
        lines.append(f"| {row[STACK]} | {row['runs']:,} | {row['near']:,} | {same} | {most} |")
    apart = runs.filter(~near)
    return {
        "model_table": "\n".join(lines),
        "model_runs": f"{len(runs):,}",
        "model_near": f"{len(runs) - len(apart):,}",
        "model_apart": str(len(apart)),
        "model_most": f"{max(apart['off_ms'].abs().to_list(), default=0.0):.0f}",
        "model_same": f"{repaired['same'].sum():,} of {repaired['counted'].sum():,}",
    }
