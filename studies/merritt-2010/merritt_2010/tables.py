"""The tables of the study's page that are not the comparison: readings of performance, and the host cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import polars as pl
from rexmit import Results
from rexmit.analyse import Check, Published, load_published
from rexmit.analyse.compare import MEASURED, WITHIN

from .checks import PUBLISHED, TABLES, printed_estimates
from .dynamics import DYNAMICS
from .links import LINKS, Evidence
from .scripts import COMPARED, READINGS

PERFORMANCE = ("P-001-4b", "P-001-5b", "P-001-6b", "P-001-7", "P-001-8")
COLUMNS = (*PERFORMANCE, "P-001-9", "P-001-20")
ESTIMATES = ("P-001-4a", "P-001-5a", "P-001-6a")
TIMED = (((3000, 100), 30), ((3000, 100), 50), ((2400, 196), 50))
"""Link and buffer of P-001-6b, P-001-8 and P-001-7."""
WINDOWS = {"bound_log": "whole logs (appendix G)", "bound_both": "from the upload's start on"}


def readings(alone: Results, together: Results) -> str:
    """Every reading of performance on the rows that name a point, and on the greatest and the least of all.

    The mean error is over the rows that name a point; the last column has it of the experiments in order.
    """
    rows = {row.id: row for row in load_published(PUBLISHED)}
    heads = ["within", "mean error", "mean error in order"]
    lines = [
        ["reading", *COLUMNS, *heads],
        ["published", *(_printed(rows[tag]) for tag in COLUMNS), "", "", ""],
    ]
    evidence = [Evidence([results]) for results in (alone, together)]
    for reading, words in READINGS.items():
        values, ordered = (_values(one, rows, reading) for one in evidence)
        asked = [_difference(rows[tag], value) for tag, value in zip(COLUMNS, values, strict=True)]
        within = sum(abs(error) <= room + 1e-9 for error, room in asked)
        name = f"**{words}**" if reading == COMPARED else words
        errors = [f"{_mean_error(rows, found):.3f}" for found in (values, ordered)]
        found = [f"{value:.2f}" for value in values]
        lines.append([name, *found, f"{within} of {len(asked)}", *errors])
    return _markdown(lines)


def _values(evidence: Evidence, rows: Mapping[str, Published], reading: str) -> list[float]:
    """A reading on each row of :data:`COLUMNS`."""
    points = [_at(evidence, rows[tag].place, reading) for tag in PERFORMANCE]
    return [*points, _extreme(evidence, reading, greatest=True), _extreme(evidence, reading, greatest=False)]


def _mean_error(rows: Mapping[str, Published], values: Sequence[float]) -> float:
    errors = [abs(_difference(rows[tag], value)[0]) for tag, value in zip(PERFORMANCE, values, strict=False)]
    return sum(errors) / len(errors)


def _printed(row: Published) -> str:
    return f"{float(row.value) / (100 if row.unit == 'percent' else 1):.2f}"


def estimates(results: Results) -> str:
    """Table 6.2 by both readings of the largest windows."""
    evidence = Evidence([results])
    rows = {row.id: row for row in load_published(PUBLISHED)}
    lines = [["largest windows", *ESTIMATES], ["published", *(rows[tag].value for tag in ESTIMATES)]]
    for measure, words in WINDOWS.items():
        found = [evidence.link(*rates).estimate(measure) for rates in LINKS]
        lines.append([words, *("none" if one is None else f"{one:.1f}" for one in found)])
    return _markdown(lines)


def timeouts(results: Results) -> str:
    """Performance of single runs by how often the download's timer expires as the upload starts."""
    lines = [["link, buffer", "timeouts of the download within 15 s", "runs", "performance, mean", "range"]]
    evidence = Evidence([results])
    for rates, buffer in TIMED:
        link = evidence.link(*rates)
        runs = link.runs.filter(pl.col("buffer") == buffer)
        for count in sorted(runs["timeouts_at_start"].unique().to_list()):
            found = runs.filter(pl.col("timeouts_at_start") == count)[COMPARED].to_list()
            span = f"{min(found):.2f} to {max(found):.2f}"
            lines.append([f"{link.name}, {buffer}", f"{count}", f"{len(found)}", f"{fmean(found):.2f}", span])
    return _markdown(lines)


def in_order(alone: Results, together: Results) -> str:
    """Rows whose agreement, or whose number, moves when the hosts remember the experiment before."""
    lines = [["", "quantity", "published", "each by itself", "in order, with the cache"]]
    pairs = list(zip(_bare(alone), _bare(together), strict=True))
    for one, other in pairs:
        moved = one.difference is not None and one.ours != other.ours
        if one.verdict == other.verdict and not moved:
            continue
        published = one.published
        value = f"{published.value} {published.unit}".strip() or "holds"
        lines.append([published.id, published.what, value, _told(one), _told(other)])
    counts = [sum(check.verdict == WITHIN for check in checks) for checks in zip(*pairs, strict=True)]
    agree = f"Of {len(pairs)} rows {counts[0]} agree each by itself, {counts[1]} in order."
    return f"{agree} Rows that move:\n\n{_markdown(lines)}"


def _bare(results: Results) -> list[Check]:
    """The checks of all measured rows as if no difference were recorded: within or outside."""
    evidence, checks = Evidence([results]), TABLES | DYNAMICS
    rows = [row for row in load_published(PUBLISHED) if row.role == MEASURED]
    return [checks[row.id](replace(row, deviation="", deviation_reason=""), evidence) for row in rows]


def _told(check: Check) -> str:
    return f"{check.ours}, {'agrees' if check.verdict == WITHIN else 'differs'}"


def _at(evidence: Evidence, place: Mapping[str, str], reading: str) -> float:
    link = evidence.link(place["down_kbit_s"], place["up_kbit_s"])
    return link.at(reading, link.near(int(place["buffer"])))


def _extreme(evidence: Evidence, reading: str, greatest: bool) -> float:
    """The greatest value below the printed estimates, or the least of all."""
    links = evidence.links()
    if not greatest:
        return min(min(link.means(reading)) for link in links)
    estimates = printed_estimates()
    return max(link.at(reading, b) for link in links for b in link.buffers if b < estimates[link.name])


def _difference(row: Published, value: float) -> tuple[float, float]:
    """How far a reading lies from a row, and what the row's tolerance is; shares."""
    scale = 100 if row.unit == "percent" else 1
    return row.difference(value * scale) / scale, float(row.tolerance) / scale


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = lines
    table = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in table)
