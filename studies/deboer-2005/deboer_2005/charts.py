"""The figures of the study deboer-2005 (chapter 5 of the thesis), numbered as there, with what theory allows.

Throughput is what iperf's client reports: bytes written over the time of the test. The most that theory
allows is the least of the link's rate, the window a round trip and, where packets are lost, the window of Ott
et al., which knows no timeouts. The TCP-friendly rate, with timeouts, is that of Padhye et al.: an estimate
and no bound, since it takes the rest of a window to be lost with its first packet. Both are of the loss of
the data alone: half of what the label says, as the script halves it for two pipes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit.models import ott_window, pftk_window
from rexmit.plot import style

ROUND_TRIP_MS = {"0 ms": 0.23, "5 ms": 4.0, "10 ms": 10.0, "50 ms": 50.0, "100 ms": 100.0}
"""What latencies come to: both pipes; at 0 ms hosts, network cards and two links (A-004-9)."""
FRAME = 1538
"""Bytes that a full packet takes of the link."""
SLOP_MS = 200
"""What FreeBSD's retransmission timer waits beside the round trip."""
TITLES = {
    "5.1": "Buffers and latency, without RFC 1323",
    "5.2": "Buffers and latency, with RFC 1323",
    "5.3": "Loss and latency, plain Reno",
    "5.4": "Loss and latency, SACK",
    "5.5": "Loss and latency, NewReno",
    "5.6": "Loss at 0 ms with each option",
}


@dataclass(frozen=True)
class Line:
    """A line of a figure: points (x, Mbit/s of each run), and what theory says (x, Mbit/s)."""

    label: str
    points: Sequence[tuple[float, Sequence[float]]]
    bound: Sequence[tuple[float, float]] = ()
    friendly: Sequence[tuple[float, float]] = ()


def throughputs(runs: pl.DataFrame, intervals: pl.DataFrame, seconds: float) -> pl.DataFrame:
    """The table of runs with `mbit_s`, what iperf's client reports of each."""
    written = intervals.group_by("run").agg((pl.col("written").sum() * 8 / seconds / 1e6).alias("mbit_s"))
    return runs.join(written, on="run", maintain_order="left")


def bound(window: float, latency: str, mss: int, loss: float = 0.0, line_mbit_s: float = 1000) -> float:
    """The most that theory allows, Mbit/s: `window` in bytes, `loss` the probability that data are lost."""
    rtt = ROUND_TRIP_MS[latency]
    limits = [line_mbit_s * mss / FRAME, window * 8 / rtt / 1e3]
    if loss > 0:
        limits.append(float(ott_window(loss)) * mss * 8 / rtt / 1e3)
    return min(limits)


def friendly(window: float, latency: str, mss: int, loss: float) -> float:
    """The TCP-friendly rate of Padhye et al., Mbit/s; arguments as of :func:`bound`."""
    rtt = ROUND_TRIP_MS[latency]
    segments = pftk_window(loss, rtt, rtt + SLOP_MS, window / mss, b=1)
    return min(float(segments) * mss * 8 / rtt / 1e3, bound(window, latency, mss))


def draw_buffers(frame: pl.DataFrame, rfc1323: int, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Figure 5.1 or 5.2: throughput against the buffers, one line per latency, on two scales."""
    number = "5.2" if rfc1323 else "5.1"
    part = frame.filter(pl.col("rfc1323") == rfc1323)
    mss = 1448 if rfc1323 else 1460
    lines = []
    for latency in part["latency"].unique(maintain_order=True):
        rows = part.filter(pl.col("latency") == latency)
        points = [
            (size, rows.filter(pl.col("bufspace") == size)["mbit_s"].to_list())
            for size in rows["bufspace"].unique(maintain_order=True)
        ]
        window = {size: size if rfc1323 else min(size, 65535) for size, _ in points}
        lines.append(Line(latency, points, [(s, bound(window[s], latency, mss)) for s, _ in points]))
    rings = [(16776960.0, 70.0, "measured in 2005: about 70 Mbit/s at 100 ms")] if rfc1323 else []
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(10, 4.8), layout="constrained")
        axes = sheet.subplots(1, 2)
        for scale, one in zip(("linear", "log"), axes, strict=True):
            handles = _lines(one, lines)
            handles += _rings(one, rings)
            one.set_xscale("log", base=4)
            one.set_xticks([size for size, _ in lines[0].points], labels=_sizes(lines[0].points))
            one.minorticks_off()
            one.set_xlabel("Buffers of sender and receiver (kB)")
            _mbit(one, scale)
        sheet.suptitle(f"Figure {number}: {TITLES[number]}", x=0.01, ha="left")
        style.legend_below(sheet, handles)
        return style.save(sheet, out / _file(number), formats)


def draw_loss(frame: pl.DataFrame, number: str, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Figure 5.3, 5.4 or 5.5: throughput against loss, one line per latency."""
    lines = []
    for latency in frame["latency"].unique(maintain_order=True):
        rows = frame.filter(pl.col("latency") == latency)
        lines.append(_by_loss(latency, rows, latency))
    return _draw_by_loss(lines, number, out, formats)


def draw_options(frames: dict[str, pl.DataFrame], out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Figure 5.6: throughput at 0 ms against loss, a line for each table of runs, by its name."""
    lines = [
        _by_loss(name, frame.filter(pl.col("latency") == "0 ms"), "0 ms") for name, frame in frames.items()
    ]
    lines[1:] = [Line(line.label, line.points) for line in lines[1:]]
    return _draw_by_loss(lines, "5.6", out, formats)


def draw_reassembly(frame: pl.DataFrame, limit: str, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Throughput at 0 ms against loss with two limits of the receiver's reassembly queue, side by side."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(10, 4.6), layout="constrained")
        axes = sheet.subplots(1, 2, sharey=True)
        for one, most in zip(axes, frame[limit].unique(maintain_order=True), strict=True):
            part = frame.filter(pl.col(limit) == most)
            lines = [
                _by_loss(name, part.filter(pl.col("recovery") == name), "0 ms")
                for name in part["recovery"].unique(maintain_order=True)
            ]
            lines[1:] = [Line(line.label, line.points) for line in lines[1:]]
            handles = _lines(one, lines)
            _loss_axes(one, lines)
            one.set_title(f"The receiver keeps {most} segments out of order", loc="left")
        axes[1].set_ylabel("")
        sheet.suptitle("Loss at 0 ms, and how much a receiver keeps out of order", x=0.01, ha="left")
        style.legend_below(sheet, handles)
        return style.save(sheet, out / "reassembly", formats)


def draw_both_ways(
    frames: dict[str, pl.DataFrame], number: str, out: Path, formats: Sequence[str] = ()
) -> list[Path]:
    """Figure 5.3, 5.4 or 5.5 side by side: a panel for each way to average, by its name."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(10, 4.8), layout="constrained")
        axes = sheet.subplots(1, len(frames), sharey=True)
        for one, (name, frame) in zip(axes, frames.items(), strict=True):
            lines = []
            for latency in frame["latency"].unique(maintain_order=True):
                line = _by_loss(latency, frame.filter(pl.col("latency") == latency), latency)
                lines.append(Line(line.label, line.points))
            handles = _lines(one, lines)
            _loss_axes(one, lines)
            one.set_title(name, loc="left")
        axes[-1].set_ylabel("")
        sheet.suptitle(f"Figure {number}: {TITLES[number]}", x=0.01, ha="left")
        style.legend_below(sheet, handles)
        return style.save(sheet, out / f"both-ways-{_file(number)[7:]}", formats)


def draw_queue(frame: pl.DataFrame, out: Path, formats: Sequence[str] = ()) -> list[Path]:
    """Throughput of a window of 16 MB against the first queue, one line per latency."""
    lines = []
    for latency in frame["latency"].unique(maintain_order=True):
        rows = frame.filter(pl.col("latency") == latency)
        points = [
            (float(size.split()[0]), rows.filter(pl.col("path.up.queue") == size)["mbit_s"].to_list())
            for size in rows["path.up.queue"].unique(maintain_order=True)
        ]
        lines.append(Line(latency, points, [(x, bound(16776960, latency, 1448)) for x, _ in points]))
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 4.8), layout="constrained")
        axes = sheet.subplots()
        handles = _lines(axes, lines)
        rings = [(511.0, 70.0, "measured in 2005 at 100 ms, queue unknown: about 70 Mbit/s")]
        handles += _rings(axes, rings)
        axes.set_xscale("log")
        ticks = [x for x, _ in lines[0].points]
        axes.set_xticks(ticks, labels=[f"{x:,.0f}" for x in ticks])
        axes.minorticks_off()
        axes.set_xlabel("Packets that the first queue holds")
        _mbit(axes, "log")
        axes.set_title("Buffers of 16 MB where slow start ends in losses", loc="left", fontweight="bold")
        style.legend_below(sheet, handles)
        return style.save(sheet, out / "queue", formats)


def draw_reports(
    reports: Mapping[str, Sequence[float]], seconds: float, out: Path, formats: Sequence[str] = ()
) -> list[Path]:
    """What iperf reports over a test, a line for each, beside the published number."""
    lines = []
    for name, values in reports.items():
        step = seconds / len(values)
        lines.append(Line(name, [((n + 1) * step, [value]) for n, value in enumerate(values)]))
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 4.8), layout="constrained")
        axes = sheet.subplots()
        handles = _lines(axes, lines)
        handles += _rings(axes, [(seconds, 70.0, "measured in 2005: about 70 Mbit/s")])
        axes.set_xlabel("End of the report (s)")
        _mbit(axes, "log")
        title = "16 MB at 100 ms after a test with losses: reports of 5 s"
        axes.set_title(title, loc="left", fontweight="bold")
        style.legend_below(sheet, handles)
        return style.save(sheet, out / "reports", formats)


def draw_levels(
    frame: pl.DataFrame, across: str, sides: Sequence[str], title: str, out: Path, formats: Sequence[str] = ()
) -> list[Path]:
    """Throughput against the levels of one factor, a line for each combination of the others; one figure."""
    names = frame[across].unique(maintain_order=True).to_list()
    lines = []
    for key in frame.select(sides).unique(maintain_order=True).rows():
        rows = frame.filter(pl.all_horizontal(pl.col(s) == k for s, k in zip(sides, key, strict=True)))
        points = [
            (float(x), rows.filter(pl.col(across) == name)["mbit_s"].to_list())
            for x, name in enumerate(names)
        ]
        text = ", ".join(_WORDS.get(s, "{}").format(k) for s, k in zip(sides, key, strict=True))
        lines.append(Line(text, points))
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 5), layout="constrained")
        axes = sheet.subplots()
        handles = _lines(axes, lines)
        axes.set_xticks(range(len(names)), labels=[str(name) for name in names])
        axes.set_xlabel(_ACROSS[across])
        _mbit(axes, "log")
        axes.set_title(title, loc="left", fontweight="bold")
        style.legend_below(sheet, handles)
        return style.save(sheet, out / "throughput", formats)


_WORDS = {
    "bufspace": "{} bytes",
    "path.tick": "tick {}",
    "sack": "SACK {}",
    "rate": "rate {}",
    "path.queue": "queue {}",
    "path.up.queue": "queue {}",
    "base": "{} at 0 ms",
}
_ACROSS = {
    "latency": "Latency, both ways",
    "loss": "Loss as the script names it; half of it in each direction",
    "path.down.loss": "Loss of ACKs",
    "bufspace": "Buffers that are asked for (bytes)",
    "replication": "Test after test",
    "transfers.0.connections": "Connections at once",
    "transfers.0.write_size": "Size of a write",
}


def _draw_by_loss(lines: Sequence[Line], number: str, out: Path, formats: Sequence[str]) -> list[Path]:
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 5), layout="constrained")
        axes = sheet.subplots()
        handles = _lines(axes, lines)
        _loss_axes(axes, lines)
        axes.set_title(f"Figure {number}: {TITLES[number]}", loc="left", fontweight="bold")
        style.legend_below(sheet, handles)
        return style.save(sheet, out / _file(number), formats)


def _by_loss(label: str, rows: pl.DataFrame, latency: str) -> Line:
    """The line of a latency; x is the number of the loss among those of the study, the first being none."""
    points, bounds, estimates = [], [], []
    for loss in rows["loss"].unique(maintain_order=True):
        x = _LOSSES.index(loss)
        points.append((float(x), rows.filter(pl.col("loss") == loss)["mbit_s"].to_list()))
        p = _probability(loss) / 2
        bounds.append((float(x), bound(65535, latency, 1448, p)))
        if p > 0:
            estimates.append((float(x), friendly(65535, latency, 1448, p)))
    return Line(label, points, bounds, estimates)


_LOSSES = ["0 %", "0.01 %", "0.1 %", "0.5 %", "1 %", "2 %", "5 %", "10 %"]


def _probability(loss: str) -> float:
    return float(loss.removesuffix(" %")) / 100


def _loss_axes(axes: Axes, lines: Sequence[Line]) -> None:
    there = sorted({round(x) for line in lines for x, _ in line.points})
    axes.set_xticks(there, labels=[_LOSSES[x] for x in there])
    axes.set_xlabel("Loss as the script names it; half of it in each direction")
    _mbit(axes, "log")


def _lines(axes: Axes, lines: Sequence[Line]) -> list[Line2D]:
    """Draws lines with the range of their runs, and their bounds; returns what a legend names."""
    handles: list[Line2D] = []
    colours = style.family(style.LIGHT, len(lines))
    for line, colour, marker in zip(lines, colours, style.MARKERS, strict=False):
        x = [at for at, _ in line.points]
        means = [sum(values) / len(values) for _, values in line.points]
        below = [mean - min(values) for mean, (_, values) in zip(means, line.points, strict=True)]
        above = [max(values) - mean for mean, (_, values) in zip(means, line.points, strict=True)]
        if line.bound:
            axes.plot(*zip(*line.bound, strict=True), linestyle="--", linewidth=0.9, color=colour)
        if line.friendly:
            axes.plot(*zip(*line.friendly, strict=True), linestyle=":", linewidth=1.2, color=colour)
        drawn = axes.errorbar(
            x,
            means,
            yerr=[below, above],
            color=colour,
            marker=marker,
            markersize=5,
            capsize=2.5,
            linewidth=1.3,
        )
        drawn.lines[0].set_label(line.label)
        handles.append(Line2D([], [], color=colour, marker=marker, markersize=5, label=line.label))
    if any(line.bound for line in lines):
        ink, text = style.LIGHT.ink, "most that theory allows"
        handles.append(Line2D([], [], color=ink, linestyle="--", linewidth=0.9, label=text))
    if any(line.friendly for line in lines):
        text = "TCP-friendly rate (Padhye et al.)"
        handles.append(Line2D([], [], color=style.LIGHT.ink, linestyle=":", linewidth=1.2, label=text))
    return handles


def _rings(axes: Axes, rings: Sequence[tuple[float, float, str]]) -> list[Line2D]:
    drawn = []
    for x, y, label in rings:
        (ring,) = axes.plot([x], [y], linestyle="none", marker="o", markersize=11, color=style.LIGHT.ink)
        ring.set(markerfacecolor="none", markeredgewidth=1.4, label=label, zorder=4, gid="published")
        drawn.append(ring)
    return drawn


def _mbit(axes: Axes, scale: str) -> None:
    axes.set_yscale(scale)
    axes.set_ylabel("Throughput (Mbit/s)")
    if scale == "log":
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        low, high = axes.get_ylim()
        few = high < 100 * low
        axes.yaxis.set_minor_formatter(
            lambda value, _: f"{value:g}" if few and f"{value:e}"[0] in "25" else ""
        )
    else:
        axes.set_ylim(bottom=0)


def _sizes(points: Sequence[tuple[float, Sequence[float]]]) -> list[str]:
    return [f"{size / 1024:,.0f}" for size, _ in points]


def _file(number: str) -> str:
    chapter, figure = number.split(".")
    words = "".join(c.lower() if c.isalnum() else " " for c in TITLES[number]).split()
    return f"figure-{chapter}-{int(figure):02}-{'-'.join(words)}"
