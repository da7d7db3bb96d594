"""Effects of two-level factors: what each does on average over all the others, and what pairs do together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import polars as pl

from rexmit.analyse.stats import t_quantile
from rexmit.errors import UsageError


def effects(
    frame: pl.DataFrame, factors: Sequence[str], response: str, confidence: float = 0.95
) -> pl.DataFrame:
    """Main effects and two-factor interactions of a full factorial with two levels each.

    `frame` has one row per run, every combination of levels equally often. The first level that a column
    shows is low, the other high. A main effect is the mean of `response` at the high level less that at the
    low one; an interaction of two is half of how much the effect of the one changes from the low to the high
    level of the other. Returns `first`, `second` (null for a main effect), `effect`, `low`, `high`: Student's
    interval from the spread of replications, null without any. Raises UsageError for another design.
    """
    signs = frame.select(_sign(frame, name).alias(name) for name in factors)
    points = 2 ** len(factors)
    sizes = frame.group_by(factors).len()["len"]
    if len(sizes) != points or sizes.n_unique() != 1:
        raise UsageError(
            f"{len(frame)} runs are not a full factorial of {len(factors)} factors with two levels each"
        )
    values = frame[response].cast(pl.Float64)
    half = _half(frame, factors, response, confidence) if len(frame) > points else None
    rows = []
    for names in [*((name,) for name in factors), *combinations(factors, 2)]:
        sign = math.prod((signs[name] for name in names[1:]), start=signs[names[0]])
        effect = 2 * float((sign * values).mean())  # type: ignore[arg-type]
        bounds = (None, None) if half is None else (effect - half, effect + half)
        rows.append((names[0], names[1] if len(names) > 1 else None, effect, *bounds))
    schema = {"first": pl.String, "second": pl.String, **dict.fromkeys(("effect", "low", "high"), pl.Float64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _sign(frame: pl.DataFrame, name: str) -> pl.Expr:
    levels = frame[name].unique(maintain_order=True)
    if len(levels) != 2:
        raise UsageError(f"{name}: has {len(levels)} levels; effects are defined for two")
    return pl.when(pl.col(name) == levels[0]).then(-1).otherwise(1)


def _half(frame: pl.DataFrame, factors: Sequence[str], response: str, confidence: float) -> float:
    """Half the interval of any effect: each is a difference of two means of half of the runs."""
    spread = frame.group_by(factors).agg(pl.col(response).var().alias("s2"), pl.len())
    freedom = int((spread["len"] - 1).sum())
    variance = float(((spread["len"] - 1) * spread["s2"]).sum()) / freedom
    return t_quantile(0.5 + confidence / 2, freedom) * math.sqrt(variance * 4 / len(frame))
