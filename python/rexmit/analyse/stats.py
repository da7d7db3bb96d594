"""Means over replications with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl


def summarise(
    frame: pl.DataFrame, by: Sequence[str], value: str = "time_ns", confidence: float = 0.95
) -> pl.DataFrame:
    """The mean of `value` over the rows of each group, with Student's confidence interval of the mean.

    Returns the columns `by`, then `n`, `mean`, `sd` (of the sample), `low`, `high`, in the unit of `value`,
    in the order in which the groups appear. With one row in a group, `sd`, `low` and `high` are null.
    """
    groups = frame.group_by(list(by), maintain_order=True).agg(
        pl.len().alias("n"), pl.col(value).mean().alias("mean"), pl.col(value).std(ddof=1).alias("sd")
    )
    sizes = sorted(set(groups["n"].to_list()))
    factors = {n: t_quantile(0.5 + confidence / 2, n - 1) / math.sqrt(n) for n in sizes if n > 1}
    half = pl.col("sd") * pl.col("n").replace_strict(factors, default=None, return_dtype=pl.Float64)
    return groups.with_columns((pl.col("mean") - half).alias("low"), (pl.col("mean") + half).alias("high"))


def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution. Raises ValueError outside 0 < probability < 1."""
    if not 0 < probability < 1 or freedom < 1:
        raise ValueError(f"no quantile for probability {probability} and {freedom} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    low, high = 0.0, 1.0
    while _t_cdf(high, freedom) < probability:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if _t_cdf(middle, freedom) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _t_cdf(t: float, freedom: int) -> float:
    """For t >= 0, by the finite sums for whole degrees of freedom (Abramowitz and Stegun 26.7.3-4)."""
    theta = math.atan(t / math.sqrt(freedom))
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term, total = (cosine, cosine) if odd else (1.0, 1.0)
    for k in range(2 if odd else 1, freedom - 1, 2):
        term *= cosine * cosine * k / (k + 1)
        total += term
    if odd:
        inside = theta if freedom == 1 else theta + sine * total
        return 0.5 + inside / math.pi
    return 0.5 + sine * total / 2
