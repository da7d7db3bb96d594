"""Runs in which a pattern met no packet: the loss, or whatever else it stands for, never happened there.

Their times are those of runs without it and look harmless: figures mark them, comparisons leave them out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl
import pyarrow as pa

from rexmit.analyse.compare import NOT_COVERED, UNREACHED, Check, Comparison
from rexmit.run import Results
from rexmit.run.details import DETAILS
from rexmit.units import plural

COLUMNS = ("unreached_down", "unreached_up")
WHY = "runs in which a pattern met no packet"

_SHOWN = 8


def is_unreached(frame: pl.DataFrame) -> pl.Expr:
    """True for such runs of a table; never for one written before it had these columns."""
    counts = [pl.col(name).fill_null(0) > 0 for name in COLUMNS if name in frame.columns]
    return pl.any_horizontal(counts) if counts else pl.lit(value=False)


@dataclass(frozen=True)
class Unreached:
    """How many runs of a study are unreached, and the levels whose runs all are, by factor."""

    runs: int
    of: int
    first: int
    levels: Mapping[str, Sequence[str]]

    @property
    def text(self) -> str:
        """One sentence."""
        told = "; ".join(f"{name} {_listed(levels)}" for name, levels in self.levels.items())
        where = told or f"the first is run {self.first}"
        return (
            f"In {self.runs:,} of {plural(self.of, 'run')} a pattern met no packet ({where}): "
            "what it stands for never happened there."
        )


def unreached_of(results: Results) -> Unreached | None:
    """What is to be said of such runs; None where there are none. Memory holds a piece of the table.

    A run that broke off, or never began, has an error to report instead, and is not one of them.
    """
    if not any(name in results.column_names for name in COLUMNS):
        return None
    every: dict[str, Counter[str]] = {name: Counter() for name in results.factors}
    never: dict[str, Counter[str]] = {name: Counter() for name in results.factors}
    runs, of, first = 0, 0, None
    for piece in results.batches(("run", "error", *COLUMNS, *results.factors)):
        frame = pl.DataFrame(pl.from_arrow(piece))
        found = frame.filter(is_unreached(frame), pl.col("error").is_null())
        for name in results.factors:
            every[name].update(map(str, frame[name].to_list()))
            never[name].update(map(str, found[name].to_list()))
        of, runs = of + frame.height, runs + found.height
        if first is None and found.height:
            first = int(found["run"][0])
    if first is None:
        return None
    whole = {
        name: [level for level, count in never[name].items() if count == every[name][level]] for name in never
    }
    # A factor whose levels are all unreached does not say where.
    told = {name: levels for name, levels in whole.items() if 0 < len(levels) < len(every[name])}
    return Unreached(runs, of, first, told)


def reached_part(results: Results) -> Results | None:
    """These results without such runs, in memory; None where no run is left."""
    frame = results.table()
    kept = frame.filter(~is_unreached(frame))["run"]
    if kept.is_empty():
        return None
    details = {
        detail.name: _only(table, kept)
        for detail in DETAILS
        if (table := results.detail(detail)) is not None and table.num_rows
    }
    return Results(_only(results.arrow(), kept), results.study, results.folder, results.new_runs, details)


def compare_reached(
    compare: Callable[[Sequence[Results]], Comparison], results: Sequence[Results]
) -> Comparison:
    """What `compare` says of the runs whose patterns met packets.

    A number that rests on other runs alone is neither within nor outside: it is "not reached". One that is
    different without them says so.
    """
    found = [unreached for one in results if (unreached := unreached_of(one)) is not None]
    whole = compare(results)
    if not found:
        return whole
    parts = [part for one in results if (part := reached_part(one)) is not None]
    try:
        rest = list(compare(parts).checks) if parts else [None] * len(whole.checks)
    except Exception:  # the code of a study, given a part of its runs
        rest = [None] * len(whole.checks)
    checks = [_settled(*pair) for pair in zip(whole.checks, rest, strict=True)]
    return Comparison(whole.study, checks, " ".join(dict.fromkeys(one.text for one in found)))


def _settled(whole: Check, rest: Check | None) -> Check:
    if whole.verdict == NOT_COVERED:
        return whole
    if rest is None or rest.verdict == NOT_COVERED:
        note = "; ".join(filter(None, (f"computed from {WHY}", whole.note)))
        return replace(whole, verdict=UNREACHED, note=note)
    if (whole.verdict, whole.ours, whole.difference) == (rest.verdict, rest.ours, rest.difference):
        return whole
    return replace(rest, note="; ".join(filter(None, (f"without {WHY}", rest.note))))


def _ranges(numbers: Sequence[int]) -> list[str]:
    """Such as `7`, `38-40`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return [f"{first}" if first == last else f"{first}-{last}" for first, last in spans]


def _only(table: pa.Table, runs: pl.Series) -> pa.Table:
    kept = pl.Series("run", table.column("run").to_numpy()).is_in(runs.implode())
    return table.filter(pa.array(kept.to_numpy()))


def _listed(levels: Sequence[str]) -> str:
    whole = [int(level) for level in levels if level.isdecimal()]
    if len(whole) == len(levels):
        levels = _ranges(whole)
    more = f" and {len(levels) - _SHOWN} more" if len(levels) > _SHOWN else ""
    return f"{', '.join(levels[:_SHOWN])}{more}"
