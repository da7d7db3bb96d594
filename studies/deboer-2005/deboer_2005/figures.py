"""The figures of deboer-2005."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from rexmit import Results, Study
from rexmit.plot import connections, style, tsg

from . import charts
from .checks_testbed import FAR
from .throughput import Evidence

_STUDY = "deboer-2005/"
_CONGESTION = "hosts.client.linux.congestion"
_LEVELS = {
    "dummynet": ("latency", ("rate", "path.tick", "path.queue")),
    "queue-order": ("replication", ("path.up.queue", "latency")),
    "connections": ("transfers.0.connections", ("latency",)),
    "writes": ("transfers.0.write_size", ("latency",)),
    "again": ("loss", ("recovery",)),
    "base": ("loss", ("recovery", "base")),
    "acks": ("path.down.loss", ("bufspace", "latency")),
    "linux-buffers": ("bufspace", ("latency", "rfc1323")),
    "linux-loss": ("loss", ("latency", _CONGESTION, "sack")),
    "live": ("bufspace", ("latency",)),
}
"""Of the other files: the factor across a figure, and those that make its lines."""
_LIMIT = "hosts.server.stack.buffers.reassembly_limit"


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    frame, name = _frame(results), results.name.removeprefix(_STUDY)
    files: list[Path] = []
    if name == "buffers":
        for rfc1323 in frame["rfc1323"].unique(maintain_order=True):
            files += charts.draw_buffers(frame, rfc1323, out, formats)
    elif name == "sack":
        for sack in frame["sack"].unique(maintain_order=True):
            number = "5.4" if sack else "5.3"
            rows = pl.col("sack") == sack
            files += charts.draw_loss(frame.filter(rows), number, out, formats)
            files += charts.draw_both_ways(_both_ways(results, frame, rows), number, out, formats)
    elif name == "newreno":
        files += _draw_newreno(results, frame, out, formats)
    elif name == "reassembly":
        files += charts.draw_reassembly(frame, _LIMIT, out, formats)
        files += _draw_wait(results, out, formats)
    elif name == "order":
        files += _draw_order(results, out, formats)
    elif name == "queue":
        files += charts.draw_queue(frame, out, formats)
    else:
        across, sides = _LEVELS[name]
        files += charts.draw_levels(frame, across, sides, results.title, out, formats)
    return files


def _draw_newreno(results: Results, frame: pl.DataFrame, out: Path, formats: Sequence[str]) -> list[Path]:
    files = []
    newreno = frame.filter(pl.col("newreno") == 1)
    if len(newreno):
        files += charts.draw_loss(newreno, "5.5", out, formats)
        ways = _both_ways(results, frame, pl.col("newreno") == 1)
        files += charts.draw_both_ways(ways, "5.5", out, formats)
    if "0 ms" in frame["latency"] and {0, 1} <= set(frame["newreno"]):
        plain = frame.filter(pl.col("newreno") == 0)
        frames = {"plain Reno": plain, "NewReno": newreno, "SACK": _sack_beside(results)}
        files += charts.draw_options(frames, out, formats)
    return files


def _draw_order(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    test = Evidence([results]).of("order")
    reports = {
        f"{n} at once": test.reports(connections=n, test=FAR) for n in test.levels("transfers.0.connections")
    }
    return charts.draw_reports(reports, test.seconds, out, formats)


def _both_ways(results: Results, frame: pl.DataFrame, rows: pl.Expr) -> dict[str, pl.DataFrame]:
    """The runs with their true mean, and with what averages.pl makes of them."""
    found = Evidence([results]).by_script(results.name.removeprefix(_STUDY), heading=False)
    script = frame.with_columns(pl.Series("mbit_s", [found[run] for run in frame["run"]]))
    return {"True means": frame.filter(rows), "By averages.pl": script.filter(rows)}


def _sack_beside(results: Results) -> pl.DataFrame:
    """The runs with SACK at 0 ms at the losses of a study of NewReno, run now: some seconds."""
    study = Study.load(_STUDY + "sack").set("vary.sack", [1]).set("vary.latency", ["0 ms"])
    own = {factor.name: factor for factor in results.spec().design.factors}
    study = study.set("vary.loss", list(own["loss"].labels))
    study = study.set("transfers.0.bulk", f"{_seconds(results):g} s")
    study = study.set("design.replications", results.study["replications"])
    return _frame(study.run(progress=False))


def _draw_wait(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """A time-sequence graph of the wait for the timer with SACK, at the first loss of a short run."""
    study = Study.load(_STUDY + "reassembly").set(f"vary.{_LIMIT}", [48])
    study = study.set("vary.recovery", ["SACK"]).set("vary.loss", ["0.1 %"])
    study = study.set("transfers.0.bulk", "0.5 s").set("intervals", "0.5 s")
    short = study.run(progress=False)
    with tempfile.TemporaryDirectory() as work:
        path = Path(work) / "client.pcapng"
        short.capture(0, client=path)
        seen = connections.choose(connections.read(path), 1, path)
    sent = seen.client.segments
    again = sent.time_ns[(sent.transmission > 1) & (sent.len > 0)]
    if not len(again):
        return []
    at = (int(again[0]) - int(sent.time_ns[0])) / 1e9
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=tsg.SIZE, layout="constrained")
        axes = sheet.subplots()
        handles = tsg.plot(axes, seen, tsg.View("client", (at - 0.0007, at + 0.0009)))
        title = "SACK, 0 ms: the receiver keeps 48 segments behind a loss, and the timer must repair the rest"
        axes.set_title(title, loc="left", fontweight="bold", fontsize=9)
        style.legend_below(sheet, handles)
        return style.save(sheet, out / "reassembly-packets", formats)


def _frame(results: Results) -> pl.DataFrame:
    return charts.throughputs(results.table(), results.intervals(), _seconds(results))


def _seconds(results: Results) -> float:
    return float(str(results.study["scenario"]["transfers"][0]["bulk"]).removesuffix(" s"))
