"""Figures of a study in which nothing varies: one run or one scenario over replications.

Throughput by flow with Jain's index over time where intervals were measured, the time-sequence graph of a
connection, and the distribution of the main response over replications.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from rexmit.analyse.quantities import quantity
from rexmit.errors import RexmitError
from rexmit.plot import style
from rexmit.plot.effect import Quantity
from rexmit.plot.figures import capital
from rexmit.plot.graphs import View, flows_of
from rexmit.plot.graphs import figure as graph_of
from rexmit.report.answer import candidates, counted
from rexmit.run import Results
from rexmit.run.backends import is_virtual
from rexmit.run.capture import capture_path
from rexmit.run.details import INTERVALS

LEAST_RUNS = 5
"""Runs that a distribution needs."""

MOST_FLOWS = 10


def draw_single(
    results: Results, out: Path, formats: Sequence[str] = (), runs: Sequence[int] = ()
) -> list[Path]:
    """Draws what there is of a study without factors, and returns the files; none where there is nothing."""
    files: list[Path] = []
    with style.styled(style.LIGHT):
        for run in runs or (0,):
            for name, sheet in (*_throughput(results, run), *_time_sequence(results, run)):
                files += style.save(sheet, out / f"{name}-run-{run}", formats)
        for name, sheet in _distribution(results):
            files += style.save(sheet, out / name, formats)
    return files


def flow_names(scenario: Mapping[str, Any]) -> list[str]:
    """What the connections of a run are called, by their numbers.

    That is the name of their transfer, with a number where it has several. There are none where a transfer
    does not say how many connections it has.
    """
    names: list[str] = []
    for number, transfer in enumerate(scenario.get("transfers") or ()):
        count = transfer.get("connections", 1)
        if transfer.get("flows") is not None or not isinstance(count, int):
            return []
        own = transfer.get("name")
        own = f"transfer {number}" if own is None else str(own)
        names += [own] if count == 1 else [f"{own} {one}" for one in range(1, count + 1)]
    return names


def _throughput(results: Results, run: int) -> Iterator[tuple[str, Figure]]:
    table = results.detail(INTERVALS)
    if table is None:
        return
    rows = pl.DataFrame(pl.from_arrow(table)).filter(pl.col("run") == run)
    senders = rows.group_by("connection", "host").agg(pl.col("bytes").sum()).filter(pl.col("bytes") > 0)
    senders = senders.sort("bytes", descending=True).head(MOST_FLOWS).sort("connection", "host")
    if senders.is_empty():
        return
    jain = _jain(rows.join(senders.select("connection", "host"), on=["connection", "host"], how="semi"))
    several = jain is not None
    sheet = Figure(figsize=(9, 5.2 if several else 4), layout="constrained")
    every = sheet.subplots(
        2 if several else 1, 1, sharex=True, squeeze=False, height_ratios=[3, 1.4] if several else [1]
    )[:, 0]
    names = flow_names(results.study["scenario"])
    twice = senders["connection"].n_unique() < senders.height
    colours = style.family(style.LIGHT, senders.height)
    for (connection, host, _), colour in zip(senders.iter_rows(), colours, strict=True):
        own = rows.filter(pl.col("connection") == connection, pl.col("host") == host).sort("from_ns")
        name = names[connection] if connection < len(names) else f"connection {connection}"
        label = f"{name}, {host}" if twice else name
        (line,) = every[0].step(
            own["from_ns"] / 1e9, own["goodput_bit_s"], where="post", color=colour, label=label
        )
        line.set_gid(f"line-{label}")
    every[0].yaxis.set_major_formatter(EngFormatter(unit="bit/s"))
    every[0].set_ylabel("Goodput")
    every[0].set_ylim(bottom=0)
    if jain is not None:
        index = jain["jain"].fill_null(float("nan"))
        (line,) = every[1].step(jain["from_ns"] / 1e9, index, where="post", color=style.LIGHT.ink)
        line.set_gid("jain")
        every[1].set_ylim(0, 1.05)
        every[1].set_ylabel("Jain's index")
    every[-1].set_xlabel("Time (s)")
    sheet.legend(handles=every[0].get_lines(), loc="outside right upper", title="Flows", frameon=False)
    style.title(every[0], results.title, f"run {run}")
    yield "throughput", sheet


def _jain(rows: pl.DataFrame) -> pl.DataFrame | None:
    """Jain's index of the flows in each interval; None where there are never two at a time.

    A flow counts from the first interval in which it delivers to the last.
    """
    flow = ["connection", "host"]
    active = rows.filter(pl.col("bytes") > 0)
    ends = active.group_by(flow).agg(
        pl.col("from_ns").min().alias("begins"), pl.col("from_ns").max().alias("ends")
    )
    there = rows.join(ends, on=flow).filter(pl.col("from_ns").is_between(pl.col("begins"), pl.col("ends")))
    rate = pl.col("goodput_bit_s").fill_null(0.0).cast(pl.Float64)
    sums = there.group_by("from_ns").agg(
        rate.sum().alias("sum"), (rate * rate).sum().alias("squares"), pl.len().alias("flows")
    )
    index = pl.when((pl.col("flows") > 1) & (pl.col("squares") > 0)).then(
        pl.col("sum") ** 2 / (pl.col("flows") * pl.col("squares"))
    )
    found = sums.sort("from_ns").with_columns(index.alias("jain"))
    return found if found["jain"].null_count() < found.height else None


def _time_sequence(results: Results, run: int) -> Iterator[tuple[str, Figure]]:
    """Of the first connection: from the capture that was kept, else from the run, run again."""
    scenario = results.study["scenario"]
    transfers = scenario.get("transfers") or [{}]
    host = str(transfers[0].get("from", "server"))
    kept = None if results.folder is None else capture_path(results.folder, run, host)
    try:
        with tempfile.TemporaryDirectory() as work:
            capture = kept
            if capture is None or not capture.exists():
                if not is_virtual(str(results.study["backend"])):
                    return
                capture = Path(work) / f"{host}.pcapng"
                results.capture(run, at={host: capture})
            (flow,) = flows_of(capture, [1], None)
            name = (flow_names(scenario) or ["connection 0"])[0]
            yield "time-sequence", graph_of(flow, "tsg", View(title=f"{results.title}, run {run}: {name}"))
    except RexmitError:
        # What is not TCP, or cannot be run again, has no such graph.
        return


def _distribution(results: Results) -> Iterator[tuple[str, Figure]]:
    frame, _ = counted(results)
    for response in candidates(results, frame):
        values = frame[response.column].drop_nulls().cast(pl.Float64).sort()
        if len(values) >= LEAST_RUNS and values.n_unique() > 1:
            yield "distribution", _ecdf(values, response, results.title)
            return


def _ecdf(values: pl.Series, response: Quantity, title: str) -> Figure:
    scale, unit = response.scaled(float(values[-1]))
    sheet = Figure(figsize=(8, 4.2), layout="constrained")
    axes = sheet.add_subplot()
    share = np.arange(1, len(values) + 1) / len(values)
    axes.step(values / scale, 100 * share, where="post", color=style.LIGHT.mark)
    median, mean = (float(one) for one in (values.median(), values.mean()))  # type: ignore[arg-type]
    for value, name, dashes in ((median, "median", (4, 2)), (mean, "mean", (1, 2))):
        told = f"{name} {quantity(value, response.unit)}"
        axes.axvline(value / scale, color=style.LIGHT.ink, linewidth=1, linestyle=(0, dashes), label=told)
    name = capital(response.words.removeprefix("the "))
    if unit == "bit/s":
        axes.xaxis.set_major_formatter(EngFormatter(unit=unit))
    axes.set_xlabel(f"{name} ({unit})" if unit and unit != "bit/s" else name)
    axes.set_ylabel("Runs up to this value (%)")
    axes.set_ylim(0, 102)
    axes.legend(loc="lower right")
    style.title(axes, title, f"{len(values):,} runs")
    return sheet
