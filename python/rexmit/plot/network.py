"""Figures of a network: flows over the queue that they share, completion times, fairness over two factors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from rexmit import _native
from rexmit.errors import UsageError
from rexmit.plot import style
from rexmit.plot.figures import Factor, capital, file_part, readable, split_by
from rexmit.run import Results
from rexmit.run.details import LINKS, LINKS_OVER_TIME, TRANSFERS, TRANSFERS_OVER_TIME, Detail
from rexmit.study.transfers import timed_names
from rexmit.study.words import in_words, level_in_words

Floats = npt.NDArray[np.float64]

MOST_FLOWS = 12
"""Lines that a figure tells apart; of more flows, the connections of a transfer are one line."""

LEAST_COMPLETED = 20
"""Connections that must have ended for a distribution of their times to be one."""

MOST_ABOVE = 2.5
"""A rate this many times that of the flows is stated beside the figure, not drawn in it."""

MOST_NAMED = 4
"""Transfers that a note under a figure names."""

DARK_BELOW = 0.6
"""Numbers in cells of a lower index are white: their cells are dark."""

FLOWS = "flows-run-"
"""How the names of figures of one run's flows begin."""

MOST_FIGURES = 12
"""Figures of one kind that are drawn where further factors vary."""


def draw_network(
    results: Results, out: Path, formats: Sequence[str] = (), runs: Sequence[int] = ()
) -> list[Path]:
    """Draws what fits a study whose connections and links were measured, and returns the files; maybe none.

    `runs` are those whose flows are drawn over time, the first of the study where none is given. Raises
    UsageError for a run that was not measured over time, where it was asked for.
    """
    files: list[Path] = []
    for run in runs or (0,):
        with style.styled(style.LIGHT):
            sheet = flows_over_time(results, run)
            if sheet is not None:
                files += style.save(sheet, out / f"{FLOWS}{run}", formats)
            elif runs:
                raise UsageError(
                    f"run {run}: its flows were not measured over time; give the scenario measure.every"
                )
    for name, sheet in [*_completion_times(results), *_fairness(results)]:
        files += style.save(sheet, out / name, formats)
    return files


# One run over time


def flows_over_time(results: Results, run: int) -> Figure | None:
    """Goodput of each flow of a run, over the delay of the queue in which they wait.

    None where that was not measured over time.
    """
    rates, queues = (_rows(results, one, run) for one in (TRANSFERS_OVER_TIME, LINKS_OVER_TIME))
    transfers, links = (_rows(results, one, run) for one in (TRANSFERS, LINKS))
    if rates.is_empty() or queues.is_empty():
        return None
    sheet = Figure(figsize=(9, 5.2), layout="constrained")
    above, below = sheet.subplots(2, 1, sharex=True, height_ratios=[3, 2])
    ends = queues.select("from_ns", "to_ns").unique().sort("from_ns")
    begins = ends["from_ns"].to_numpy()
    edges = np.append(begins, ends["to_ns"].to_numpy()[-1:]) / 1e9
    flows = _draw_flows(above, rates, transfers, begins, edges)
    link = _bottleneck(links)
    if link is not None:
        flows += _draw_rate(above, results, run, link)
        drawn, label = _draw_queue(below, queues, link, edges)
        below.set_ylabel(label)
        _beside(below, drawn, f"Queue of {link['link']},\n{_way(link)}")
    above.set_ylabel("Goodput (Mbit/s)")
    above.set_ylim(bottom=0)
    below.set_xlabel("Time (s)")
    below.set_ylim(bottom=0)
    below.set_xlim(edges[0], edges[-1])
    levels = [level_in_words(words, label) for words, label in _labels(results, run)]
    style.title(above, results.title, *levels)
    _beside(above, flows, "Flows")
    return sheet


def _beside(axes: Axes, handles: Sequence[Any], title: str) -> None:
    """A legend right of its own axes."""
    look: dict[str, Any] = {"frameon": False, "alignment": "left", "borderaxespad": 0}
    axes.legend(handles=handles, title=title, loc="upper left", bbox_to_anchor=(1.02, 1), **look)


def _way(link: dict[str, Any]) -> str:
    return f"{link['from_point']} to {link['to_point']}"


def _draw_flows(
    axes: Axes, rates: pl.DataFrame, transfers: pl.DataFrame, begins: Any, edges: Floats
) -> list[Line2D]:
    """One line per connection, or per transfer where there are many."""
    rows = rates.join(transfers.select("connection", "transfer"), on="connection")
    groups = _groups(transfers)
    drawn = []
    for number, ((name, part), colour) in enumerate(zip(groups, _colours(len(groups)), strict=True)):
        own = rows.filter(pl.col("connection").is_in(part["connection"].to_list()))
        sums = own.group_by("from_ns").agg(pl.col("goodput_bit_s").sum()).sort("from_ns")
        heights = np.zeros(len(begins))
        heights[np.searchsorted(begins, sums["from_ns"].to_numpy())] = sums["goodput_bit_s"].to_numpy() / 1e6
        opened = part["opened_ns"].cast(pl.Float64).fill_null(np.inf).to_numpy().min()
        ends = (part["opened_ns"] + part["time_ns"]).cast(pl.Float64).fill_null(np.inf).to_numpy()
        alive = (edges[1:] * 1e9 > opened) & (begins < ends.max())
        label = f"{name}, sum of {part.height:,} flows" if part.height > 1 else name
        look = _LINES[number % len(_LINES)]
        (line,) = axes.step(
            edges,
            np.append(np.where(alive, heights, np.nan), np.nan),
            where="post",
            color=colour,
            linestyle=look,
            linewidth=1.6,
            label=label,
        )
        line.set_gid(f"flow-{name}")
        drawn.append(line)
    return drawn


def _groups(transfers: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
    """What has a line of its own, with its name: of many transfers the smallest share one."""
    groups = [
        (f"transfer {name}" if str(name).isdigit() else str(name), part)
        for (name,), part in transfers.group_by("transfer", maintain_order=True)
    ]
    if transfers.height <= MOST_FLOWS:
        return [
            (f"{name} {number}" if part.height > 1 else name, part[number - 1 : number])
            for name, part in groups
            for number in range(1, part.height + 1)
        ]
    if len(groups) <= MOST_FLOWS:
        return groups
    order = sorted(range(len(groups)), key=lambda at: -int(groups[at][1]["bytes"].sum()))
    large = set(order[: MOST_FLOWS - 1])
    others = pl.concat([part for at, (_, part) in enumerate(groups) if at not in large])
    return [*(group for at, group in enumerate(groups) if at in large), ("others", others)]


def _draw_rate(axes: Axes, results: Results, run: int, link: dict[str, Any]) -> list[Line2D]:
    """The rate of the link, where it has one that does not change."""
    rate = rate_of(results.spec().scenario_of(run), link["link"], link["from_point"])
    if rate is None:
        return []
    look: dict[str, Any] = {"color": style.LIGHT.ink, "linewidth": 0.9, "linestyle": (0, (1, 2))}
    label = f"rate of {link['link']}"
    if rate / 1e6 > MOST_ABOVE * axes.get_ylim()[1]:
        # Flows that have little of it would lie flat on the ground.
        return [Line2D([], [], label=f"{label}: {rate / 1e6:,.4g} Mbit/s, above", **look)]
    return [axes.axhline(rate / 1e6, label=label, **look)]


def _draw_queue(
    axes: Axes, queues: pl.DataFrame, link: dict[str, Any], edges: Floats
) -> tuple[list[Any], str]:
    """The queue in ms; in packets where the link follows a trace, and nobody knows how long they wait."""
    own = queues.filter(*(pl.col(name) == link[name] for name in ("link", "from_point", "to_point"))).sort(
        "from_ns"
    )
    timed = link["queue_mean_ms"] is not None
    names = ("queue_mean_ms", "queue_max_ms") if timed else ("queue_packets_mean", "queue_packets_max")
    mean, high = (own[name].cast(pl.Float64).to_numpy() for name in names)
    theme = style.LIGHT
    axes.stairs(mean, edges, fill=True, color=theme.ink, alpha=0.22, linewidth=0)
    axes.stairs(high, edges, baseline=None, color=theme.ink, linewidth=1.1)
    handles: list[Any] = [
        Line2D([], [], color=theme.ink, linewidth=1.1, label="largest in the interval"),
        Patch(facecolor=theme.ink, alpha=0.22, label="mean"),
    ]
    drops = own["drops"].to_numpy() > 0
    if drops.any():
        top = float(np.nanmax(high)) * 1.08
        middle = (edges[1:] + edges[:-1]) / 2
        look: dict[str, Any] = {
            "marker": "x",
            "markersize": 4,
            "color": theme.retransmission,
            "linestyle": "none",
        }
        axes.plot(middle[drops], np.full(int(drops.sum()), top), clip_on=False, **look)
        handles.append(Line2D([], [], label="packets dropped", **look))
    return handles, "Queueing delay (ms)" if timed else "Queue (packets)"


def _bottleneck(links: pl.DataFrame) -> dict[str, Any] | None:
    """The direction of a link in whose queue packets wait longest.

    Where packets waited at one whose times are not known, since it follows a trace, that with most packets.
    """
    untimed = pl.col("queue_mean_ms").is_null() & (pl.col("queue_packets_mean") > 0)
    name = "queue_packets_mean" if links.filter(untimed).height else "queue_mean_ms"
    known = links.filter(pl.col(name).is_not_null())
    return None if known.is_empty() else known.sort(name, descending=True).row(0, named=True)


def _labels(results: Results, run: int) -> Iterator[tuple[str, str]]:
    design = results.spec().design
    words = _words(results)
    for factor, level in zip(design.factors, design.point(run).levels, strict=True):
        if len(factor.levels) > 1:
            yield words[factor.name], readable(factor.labels[level])


def _colours(count: int) -> list[Any]:
    theme = style.LIGHT
    single = [theme.late, theme.window, theme.ack, theme.sack, theme.retransmission, theme.segment]
    return single[:count] if count <= len(single) else style.family(theme, count)


_LINES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (5, 1.2, 1.2, 1.2)), (0, (1.5, 1.2)))


def rate_of(scenario: Mapping[str, Any], link: str, from_point: str) -> int | None:
    """The rate of a link that begins at a point, in bit/s; None where it has none or follows a trace."""
    own = scenario.get("links", {}).get(link) or scenario.get(link) or {}
    between = own.get("from", {}).get(from_point, {})
    between = between or own.get({"server": "down", "client": "up"}.get(from_point, ""), {})
    rate = between.get("rate", own.get("rate"))
    return int(_native.parse_rate(rate)) if isinstance(rate, str) else None


# Completion times


def _completion_times(results: Results) -> Iterator[tuple[str, Figure]]:
    """The distribution of completion times, a curve per level of the factor with most levels."""
    timed, frame = timed_transfers(results, _frame(results, TRANSFERS))
    frame = frame.filter(pl.col("time_ns").is_not_null())
    if frame.is_empty() or frame.group_by("run").len()["len"].max() < LEAST_COMPLETED:  # type: ignore[operator]
        return
    known = _varied(results, frame)
    lines = max(known, key=lambda factor: len(factor.levels), default=None)
    for names, part, labels in _parts(frame, [one for one in known if one is not lines]):
        with style.styled(style.LIGHT):
            sheet = Figure(figsize=(8, 4.6), layout="constrained")
            axes = sheet.add_subplot()
            levels = [None] if lines is None else lines.levels
            colours = (
                _colours(len(levels))
                if lines is None or not lines.is_quantity
                else style.family(style.LIGHT, len(levels))
            )
            drawn = []
            # One axis for all of them, so that figures beside each other compare.
            unit = _scale_times(axes, frame["time_ns"].to_numpy())
            for number, (level, colour) in enumerate(zip(levels, colours, strict=True)):
                own = part if lines is None else part.filter(pl.col(lines.column) == level)
                times = np.sort(own["time_ns"].to_numpy() / unit)
                if not len(times):
                    continue
                label = "all" if lines is None else f"{lines.label(level)} ({len(times):,})"
                (line,) = axes.step(
                    np.append(times, times[-1]),
                    np.append(np.arange(len(times)), len(times)) / len(times),
                    where="post",
                    color=colour,
                    linestyle=_LINES[number % len(_LINES)],
                    linewidth=1.6,
                    label=label,
                )
                line.set_gid(f"cdf-{label}")
                drawn.append(line)
            axes.set_ylabel("Share of flows that took no longer")
            axes.set_ylim(0, 1)
            style.title(axes, results.title, *names)
            if lines is not None:
                title = f"{lines.title} (flows)"
                _beside(axes, drawn, title)
            if timed:
                told = f"left out: flows of {_some(timed)}, which write for a set time"
                sheet.text(0.99, 0.01, told, ha="right", fontsize=7)
        yield "-".join(["completion", *labels]), sheet


def timed_transfers(results: Results, frame: pl.DataFrame) -> tuple[list[str], pl.DataFrame]:
    """Names of transfers that write for a set time, and the rows of a table of flows without theirs.

    Such flows end when they are told to, and do not complete by themselves.
    """
    spec = results.spec()
    own = [
        at
        for at, factor in enumerate(spec.design.factors)
        if any(name.startswith("transfers.") for name in factor.settings or (factor.name,))
    ]
    known: dict[tuple[int, ...], list[str]] = {}
    rows: dict[str, list[int]] = {}
    for run in frame["run"].unique(maintain_order=True):
        levels = spec.design.point(run).levels
        key = tuple(levels[at] for at in own)
        if key not in known:
            known[key] = timed_names(spec.scenario_of(run))
        for name in known[key]:
            rows.setdefault(name, []).append(run)
    for name, runs in rows.items():
        is_timed = (pl.col("transfer").cast(pl.String) == name) & pl.col("run").is_in(runs)
        frame = frame.filter(~is_timed)
    return list(rows), frame


def _some(names: Sequence[str]) -> str:
    """Names; of many, the first."""
    more = len(names) - MOST_NAMED
    return ", ".join(names) if more <= 0 else f"{', '.join(names[:MOST_NAMED])} and {more} more"


def _scale_times(axes: Axes, times_ns: npt.NDArray[Any]) -> float:
    """Sets up the axis for these times, which are to be divided by the number returned."""
    low, high = max(float(times_ns.min()), 1.0), float(times_ns.max())
    unit, word = (1e9, "s") if low >= 1e9 else (1e6, "ms")
    axes.set_xlabel(f"Flow completion time ({word})")
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    if high < 10 * low:
        # On less than a power of ten a logarithmic axis has no number to hold on to.
        room = 0.05 * (high - low) or 0.05 * high
        axes.set_xlim((low - room) / unit, (high + room) / unit)
        return unit
    room = (high / low) ** 0.05
    axes.set_xscale("log")
    axes.set_xlim(low / room / unit, high * room / unit)
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    if high < 300 * low:
        axes.xaxis.set_minor_locator(LogLocator(subs=(2, 5)))
        axes.xaxis.set_minor_formatter(StrMethodFormatter("{x:,g}"))
    return unit


# Fairness


def _fairness(results: Results) -> Iterator[tuple[str, Figure]]:
    """Jain's index over the two factors with most levels, for each measure of it, or of all flows."""
    own = results.study.get("responses") or {}
    names = [name for name, one in own.items() if isinstance(one, dict) and one.get("measure") == "jain"]
    frame = results.table()
    names = [name for name in names if name in frame.columns]
    if not names:
        index = fairness_of(results)
        if index is None or FAIRNESS in frame.columns:
            return
        frame = frame.join(index, on="run", how="left")
        names = [FAIRNESS]
    known = sorted(_varied(results, frame), key=lambda one: (one.is_quantity, len(one.levels)), reverse=True)
    if len(known) < 2:
        return
    x, y = known[:2]
    for name in names:
        if frame[name].drop_nulls().is_empty():
            continue
        meaning = (
            "Jain's index of goodputs" if name == FAIRNESS and name not in own else _meaning(results, name)
        )
        for told, part, labels in _parts(frame, known[2:]):
            with style.styled(style.LIGHT):
                sheet = _heat_map(part, name, x, y)
                style.title(sheet.axes[0], results.title, meaning, *told)
            yield "-".join([name.replace("_", "-"), *labels]), sheet


def fairness_of(results: Results) -> pl.DataFrame | None:
    """Jain's index over the goodputs of all flows of each run, in the column `FAIRNESS`.

    None where flows come and go: they send what they have, and have no share of a link.
    """
    transfers = results.study["scenario"].get("transfers") or []
    if any(one.get("flows") for one in transfers):
        return None
    flows = _frame(results, TRANSFERS).filter(pl.col("goodput_bit_s").is_not_null())
    rate = pl.col("goodput_bit_s")
    index = pl.when(pl.len() > 1).then(rate.sum() ** 2 / (pl.len() * (rate**2).sum()))
    return flows.group_by("run").agg(index.alias(FAIRNESS))


FAIRNESS = "fairness"
"""What the index is called where no measure of the study has it."""

JAIN_LABEL = "Jain's index (1: all alike)"
JAIN_RANGE = (0.0, 1.0)
"""Range of colours in all heat maps of the index, so that one colour is one index in all of them."""


def _heat_map(frame: pl.DataFrame, name: str, x: Factor, y: Factor) -> Figure:
    """Means of a response between 0 and 1, a cell per pair of levels, with its number in it."""
    columns, rows = ([one.levels[at] for at in np.argsort(one.numbers)] for one in (x, y))
    cells = np.full((len(rows), len(columns)), np.nan)
    for left, right, value in frame.group_by(x.column, y.column).agg(pl.col(name).mean()).iter_rows():
        if value is not None:
            cells[rows.index(right), columns.index(left)] = value
    width, height = 3.4 + 0.75 * len(columns), 2.0 + 0.55 * len(rows)
    sheet = Figure(figsize=(max(width, 6.5), max(height, 3.4)), layout="constrained")
    axes = sheet.add_subplot()
    image = axes.imshow(
        cells, origin="lower", aspect="auto", cmap="viridis", vmin=JAIN_RANGE[0], vmax=JAIN_RANGE[1]
    )
    axes.set_xticks(range(len(columns)), [x.label(level) for level in columns])
    axes.set_yticks(range(len(rows)), [y.label(level) for level in rows])
    axes.set_xlabel(capital(x.name))
    axes.set_ylabel(capital(y.name))
    axes.grid(False)
    axes.set_xticks(np.arange(1, len(columns)) - 0.5, minor=True)
    axes.set_yticks(np.arange(1, len(rows)) - 0.5, minor=True)
    axes.grid(which="minor", color=style.LIGHT.background, linewidth=1.5)
    axes.tick_params(which="minor", length=0)
    axes.spines[:].set_visible(False)
    axes.set_axisbelow(False)
    for (row, column), value in np.ndenumerate(cells):
        if np.isfinite(value):
            colour = "white" if value < DARK_BELOW else style.LIGHT.ink
            axes.text(
                column, row, f"{value:.2f}", ha="center", va="center", color=colour, fontsize=9, zorder=5
            )
    bar = sheet.colorbar(image, ax=axes, pad=0.02)
    bar.set_label(JAIN_LABEL)
    bar.outline.set_visible(False)
    return sheet


def _meaning(results: Results, name: str) -> str:
    told = results.arrow().schema.field(name).metadata or {}
    return str(told.get(b"meaning", name.encode()).decode(errors="replace"))


# What all of them share


def _frame(results: Results, detail: Detail) -> pl.DataFrame:
    table = results.detail(detail)
    empty = {"run": pl.UInt32} | dict.fromkeys(detail.columns, pl.Float64)
    return pl.DataFrame(schema=empty) if table is None else pl.DataFrame(pl.from_arrow(table))


def _rows(results: Results, detail: Detail, run: int) -> pl.DataFrame:
    return _frame(results, detail).filter(pl.col("run") == run)


def _varied(results: Results, frame: pl.DataFrame) -> list[Factor]:
    words = _words(results)
    found = [Factor.of(frame, name, words[name]) for name in results.factors if name in frame.columns]
    return [factor for factor in found if len(factor.levels) > 1]


def _words(results: Results) -> dict[str, str]:
    """What people call the factors of a study."""
    return in_words(results.factors, results.study["scenario"])


def _parts(
    frame: pl.DataFrame, factors: Sequence[Factor]
) -> Iterator[tuple[list[str], pl.DataFrame, list[str]]]:
    """The table by the levels of further factors: what they are called, the rows, and names for files."""
    parts = split_by(frame, [factor.column for factor in factors])
    for values, part in parts[:MOST_FIGURES]:
        labels = [factor.label(value) for factor, value in zip(factors, values, strict=True)]
        names = [factor.told(value) for factor, value in zip(factors, values, strict=True)]
        yield names, part, [file_part(label) for label in labels]
