"""The figures of deboer-2005."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from rexmit.plot import connections, deboer, figures, style, tsg
from rexmit.run import Results, RunOptions, run_study
from rexmit.study import load_spec

_STUDY = "deboer-2005/"
_LIMIT = "hosts.server.stack.buffers.reassembly_limit"


def draw(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Draws the figures of these results into the folder `out` and returns the files."""
    frame, name = _frame(results), results.name.removeprefix(_STUDY)
    files: list[Path] = []
    if name == "buffers":
        for rfc1323 in frame["rfc1323"].unique(maintain_order=True):
            files += deboer.draw_buffers(frame, rfc1323, out, formats)
    elif name == "sack":
        for sack in frame["sack"].unique(maintain_order=True):
            number = "5.4" if sack else "5.3"
            files += deboer.draw_loss(frame.filter(pl.col("sack") == sack), number, out, formats)
    elif name == "newreno":
        files += _draw_newreno(results, frame, out, formats)
    elif name == "reassembly":
        files += deboer.draw_reassembly(frame, _LIMIT, out, formats)
        files += _draw_wait(results, out, formats)
    elif name == "queue":
        files += deboer.draw_queue(frame, out, formats)
    else:
        factors = [factor for factor in results.factors if factor in frame.columns]
        files += figures.draw_results(frame, factors, out, results.title, formats)
    return files


def _draw_newreno(results: Results, frame: pl.DataFrame, out: Path, formats: Sequence[str]) -> list[Path]:
    files = []
    newreno = frame.filter(pl.col("newreno") == 1)
    if len(newreno):
        files += deboer.draw_loss(newreno, "5.5", out, formats)
    if "0 ms" in frame["latency"] and {0, 1} <= set(frame["newreno"]):
        plain = frame.filter(pl.col("newreno") == 0)
        frames = {"plain Reno": plain, "NewReno": newreno, "SACK": _sack_beside(results)}
        files += deboer.draw_options(frames, out, formats)
    return files


def _sack_beside(results: Results) -> pl.DataFrame:
    """The runs with SACK at 0 ms at the losses of a study of NewReno, run now: some seconds."""
    spec = load_spec(_STUDY + "sack").with_set("vary.sack", [1]).with_set("vary.latency", ["0 ms"])
    own = {factor.name: factor for factor in results.spec().design.factors}
    spec = spec.with_set("vary.loss", list(own["loss"].labels))
    spec = spec.with_set("transfers.0.bulk", f"{_seconds(results):g} s")
    spec = spec.with_set("design.replications", results.study["replications"])
    return _frame(run_study(spec, None, RunOptions()))


def _draw_wait(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """A time-sequence graph of the wait for the timer with SACK, at the first loss of a short run."""
    spec = load_spec(_STUDY + "reassembly").with_set(f"vary.{_LIMIT}", [48])
    spec = spec.with_set("vary.recovery", ["SACK"]).with_set("vary.loss", ["0.1 %"])
    spec = spec.with_set("transfers.0.bulk", "0.5 s").with_set("intervals", "0.5 s")
    short = run_study(spec, None, RunOptions())
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
        title = "SACK, 0 ms: of 64 segments behind a loss the receiver keeps 48, and the timer must repair the rest"
        axes.set_title(title, loc="left", fontweight="bold", fontsize=9)
        style.legend_below(sheet, handles)
        return style.save(sheet, out / "reassembly-packets", formats)


def _frame(results: Results) -> pl.DataFrame:
    return deboer.throughputs(results.table(), results.intervals(), _seconds(results))


def _seconds(results: Results) -> float:
    return float(str(results.study["scenario"]["transfers"][0]["bulk"]).removesuffix(" s"))
