"""Means over replications with their confidence intervals, and where one more run would lie."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import polars as pl

MOST_SUMMED = 2000
"""Degrees of freedom up to which Student's distribution is summed term by term."""


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


def prediction_interval(values: Sequence[float], confidence: float = 0.99) -> tuple[float, float]:
    """Where one more value of the same kind would lie with this probability.

    With as many values as that takes (199 at 99 %) it is between two of them in order of size, whatever their
    distribution: of n values, one more lies between the k-th least and the k-th greatest with probability
    1 - 2k/(n + 1). With fewer it is Student's, mean ± t s sqrt(1 + 1/n); of the logarithms where all
    values are above zero, since greatest times, which double, are far from normal. Raises ValueError for
    fewer than two.
    """
    n = len(values)
    if n < 2:
        raise ValueError(f"{n} values: a prediction interval needs two")
    # What exceeds a whole number by less than rounding is that number.
    rank = math.floor((1 - confidence) / 2 * (n + 1) + 1e-9)
    if rank >= 1:
        ordered = sorted(values)
        return ordered[rank - 1], ordered[n - rank]
    if min(values) > 0:
        low, high = _student([math.log(value) for value in values], confidence)
        return math.exp(low), math.exp(high)
    return _student(values, confidence)


def count_interval(counts: Sequence[int], confidence: float = 0.99) -> tuple[float, float]:
    """Where the count of one more run would lie: as :func:`prediction_interval`, but at least 0.

    Few counts, most of them 0, do not show their own spread, so it is never narrower than that of counts of
    independent events (Poisson): given the sum of all n + 1, one of them is then binomial with 1/(n + 1).
    """
    low, high = _student(counts, confidence) if len(counts) < 199 else prediction_interval(counts, confidence)
    least, greatest = _poisson(sum(counts), len(counts), (1 - confidence) / 2)
    return max(min(low, least), 0), max(high, greatest)


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's interval of the mean of values; None for fewer than two."""
    n = len(values)
    if n < 2:
        return None
    mean, spread = _mean_and_spread(values, confidence)
    half = spread / math.sqrt(n)
    return mean - half, mean + half


def _student(values: Sequence[float], confidence: float) -> tuple[float, float]:
    mean, spread = _mean_and_spread(values, confidence)
    half = spread * math.sqrt(1 + 1 / len(values))
    return mean - half, mean + half


def _mean_and_spread(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """The mean, and the standard deviation times Student's quantile."""
    n = len(values)
    mean = math.fsum(values) / n
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    return mean, t_quantile(0.5 + confidence / 2, n - 1) * spread


def _poisson(total: int, runs: int, tail: float) -> tuple[int, int]:
    """The least and greatest count of one more run that are no further out than `tail`."""
    least = greatest = round(total / runs)
    while least > 0 and _binomial_cdf(least - 1, total + least - 1, 1 / (runs + 1)) > tail:
        least -= 1
    while 1 - _binomial_cdf(greatest, total + greatest + 1, 1 / (runs + 1)) > tail:
        greatest += 1
    return least, greatest


def _binomial_cdf(most: int, n: int, share: float) -> float:
    """The probability of at most `most` of `n`, each with probability `share`."""
    logs = (
        math.lgamma(n + 1)
        - math.lgamma(k + 1)
        - math.lgamma(n - k + 1)
        + k * math.log(share)
        + (n - k) * math.log1p(-share)
        for k in range(most + 1)
    )
    return math.fsum(map(math.exp, logs))


def t_quantile(probability: float, freedom: int) -> float:
    """The quantile of Student's t distribution. Raises ValueError outside 0 < probability < 1."""
    if not 0 < probability < 1 or freedom < 1:
        raise ValueError(f"no quantile for probability {probability} and {freedom} degrees of freedom")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    if freedom > MOST_SUMMED:
        return _near_normal(NormalDist().inv_cdf(probability), freedom)
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


def _near_normal(z: float, n: int) -> float:
    """Student's quantile of many degrees of freedom by that of the normal (Abramowitz and Stegun 26.7.5)."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + math.fsum(term / n**k for k, term in enumerate(terms, start=1))


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
