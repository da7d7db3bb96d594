"""How far each factor of a study moves a response: from which level to which, and how sure that is.

The effect of a factor is the difference of the means of two of its levels over the combinations of the other
factors' levels that both have: a main effect, as of a factorial design. Its interval is Student's, of the
differences of single replications, each of which has random numbers of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from rexmit.analyse.stats import mean_interval

LEAST_SHARE = 0.01
"""An effect below this share of the mean moves nothing that anybody would name."""


@dataclass(frozen=True)
class Effect:
    """What a factor does to a response.

    `low` and `high` are the levels with the least and the greatest mean, `least` and `greatest` these means,
    over `cells` combinations of the other factors' levels. `interval` is that of `greatest - least` at 95 %,
    None with one replication. `share` is the part of the variance of the means of all combinations that the
    factor explains by itself, from 0 to 1.
    """

    factor: str
    response: str
    low: Any
    high: Any
    least: float
    greatest: float
    cells: int
    replications: int
    interval: tuple[float, float] | None
    share: float

    @property
    def difference(self) -> float:
        """From the least mean to the greatest, in the unit of the response."""
        return self.greatest - self.least

    @property
    def is_sure(self) -> bool:
        """Whether replications scatter less than the factor moves the response."""
        return self.difference > 0 and (self.interval is None or self.interval[0] > 0)

    @property
    def relative(self) -> float:
        """The difference as a share of the mean of both; at most 2 for a response that is never negative."""
        middle = (abs(self.least) + abs(self.greatest)) / 2
        return self.difference / middle if middle else 0.0


def effects(frame: pl.DataFrame, factors: Sequence[str], response: str) -> list[Effect]:
    """The effect of each factor that varies, that which explains most of the variance first.

    `frame` is a table of runs without those that do not count (failed, not completed). There are no effects
    where the response has no value.
    """
    rows = frame.filter(pl.col(response).is_not_null()).with_columns(pl.col(response).cast(pl.Float64))
    if rows.is_empty():
        return []
    known = [name for name in factors if rows[name].n_unique() > 1]
    cells = rows.group_by(known or [pl.lit(0)], maintain_order=True).agg(pl.col(response).mean())
    whole = float(cells[response].var(ddof=0) or 0)  # type: ignore[arg-type]
    found = [one for name in known if (one := _effect(rows, cells, known, name, response, whole))]
    return sorted(found, key=lambda one: (-one.share, -one.difference))


def _effect(
    rows: pl.DataFrame, cells: pl.DataFrame, known: Sequence[str], name: str, response: str, whole: float
) -> Effect | None:
    others = [one for one in known if one != name]
    # Only combinations that every level has: else levels would differ by what is missing.
    count = cells[name].n_unique()
    common = cells
    if others:
        there = cells.group_by(others).agg(pl.len().alias("levels")).filter(pl.col("levels") == count)
        common = cells.join(there.select(others), on=others, how="semi", nulls_equal=True)
    if common.is_empty():
        return None
    means = common.group_by(name, maintain_order=True).agg(pl.col(response).mean())
    order = means.sort(response, maintain_order=True)
    low, least, high, greatest = order[name][0], order[response][0], order[name][-1], order[response][-1]
    spread = float(means[response].var(ddof=0) or 0)  # type: ignore[arg-type]
    differences = list(_differences(rows, common, others, name, response, (low, high)))
    return Effect(
        name,
        response,
        low,
        high,
        float(least),
        float(greatest),
        common.height // count,
        len(differences),
        mean_interval(differences),
        min(spread / whole, 1.0) if whole else 0.0,
    )


def _differences(
    rows: pl.DataFrame,
    common: pl.DataFrame,
    others: Sequence[str],
    name: str,
    response: str,
    levels: tuple[Any, Any],
) -> Iterator[float]:
    """The difference of two levels' means in each replication that has both at every combination."""
    if others:
        rows = rows.join(common.select(others).unique(), on=others, how="semi", nulls_equal=True)
    wanted = common.height // common[name].n_unique()
    seeds = [one for one in ("seed", "seed_replication") if one in rows.columns]
    by: list[str] = [*seeds] or ["replication"]
    if by[0] not in rows.columns:
        return
    for _, part in rows.group_by(by, maintain_order=True):
        low, high = (part.filter(pl.col(name) == level)[response] for level in levels)
        if len(low) == len(high) == wanted:
            yield float(high.mean()) - float(low.mean())  # type: ignore[arg-type]


def level_means(frame: pl.DataFrame, factor: str, response: str) -> pl.DataFrame:
    """The mean of a response at each level of a factor: the columns `level`, `mean`, `low` and `high`.

    The last two are the 95 % interval of the mean over replications, null with one. Every combination of the
    other factors counts as often as it has runs.
    """
    by = "replication" if "replication" in frame.columns else None
    rows = frame.filter(pl.col(response).is_not_null()).with_columns(pl.col(response).cast(pl.Float64))
    found = []
    for (level,), part in rows.group_by([factor], maintain_order=True):
        whole = float(part[response].mean())  # type: ignore[arg-type]
        each = part.group_by(by).agg(pl.col(response).mean())[response].to_list() if by else []
        found.append((level, whole, *(mean_interval(each) or (None, None))))
    schema = {
        "level": rows.schema[factor],
        "mean": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
    }
    return pl.DataFrame(found, schema=schema, orient="row")
