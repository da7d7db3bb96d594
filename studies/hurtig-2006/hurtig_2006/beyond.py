"""What chapter 5 of the thesis asks for and no one had run: SCTP, the send buffer, the threshold.

Each has a page of the documentation with a table and a figure: `scripts/study_page.py hurtig-2006`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rexmit import Study
from rexmit.analyse import position_costs, position_times
from rexmit.plot import figures, style

from .captions import table
from .charts import POSITION
from .flows import Flow, Pair

SIZED = ["path.rate_bit_s", "path.delay_ns"]


SCTP: Mapping[str, tuple[str, str]] = {
    "lksctp 2.6.15 (model)": ("lksctp-2.6.15", "model"),
    "RFC 9260 (model)": ("rfc9260", "model"),
    "usrsctp": ("rfc9260", "stack:usrsctp"),
    "Linux 6.1": ("lksctp-2.6.15", "uml"),
}
"""By name: the profile, and what runs it; to a real kernel, a profile means nothing."""

SCTP_PACKETS = 24
"""Packets from the server without loss: INIT ACK, COOKIE ACK, 20 with data, SHUTDOWN, SHUTDOWN COMPLETE."""


def sctp_runs(name: str) -> pl.DataFrame:
    """The short flows on an SCTP, each packet lost in turn."""
    profile, backend = SCTP[name]
    study = Study.load("hurtig-2006/short").set("design.replications", 1)
    study = study.set("hosts.server.stack", profile).set("hosts.client.stack", profile)
    study = study.set("vary.path.down.drop", {"position": f"0..{SCTP_PACKETS}"})
    return study.run(progress=False, backend=backend).table()


def sctp_table(runs: Mapping[str, pl.DataFrame]) -> str:
    """Which positions at the end wait, on how many paths, and what that costs."""
    rows = []
    for name, frame in runs.items():
        costs = position_costs(frame, POSITION, SIZED)
        ends = Counter(", ".join(map(str, cost.inhibited)) for cost in costs)
        extra = [100 * cost.additional for cost in costs if cost.additional is not None]
        shown = "; ".join(f"{end or 'none'} ({count})" for end, count in ends.most_common(3))
        rows.append([name, shown, f"{min(extra):.0f} to {max(extra):.0f}", f"{mean(extra):.0f}"])
    return table(["SCTP", "positions that wait (paths of 110)", "additional time, %", "mean"], rows)


def draw_sctp(runs: Mapping[str, pl.DataFrame], out: Path) -> list[Path]:
    """Total time against the position of the loss, 1000 kbit/s and 10 ms."""
    lines = {name: _by_position(frame, (1000, 10)) for name, frame in runs.items()}
    return _draw(lines, "SCTP: one loss in 24 packets, 1,000 kbit/s, 10 ms", out / "hurtig-sctp")


THRESHOLDS = (3, 2, 1)


def threshold_runs(threshold: int) -> Flow:
    """The short flows with another duplicate threshold."""
    study = Study.load("hurtig-2006/short").set("design.replications", 1)
    study = study.set("hosts.server.stack.recovery.dupack_threshold", threshold)
    return Flow(study.run(progress=False))


def threshold_table(runs: Mapping[int, Flow]) -> str:
    """Which positions wait by threshold, and the mean time over the data packets against three."""
    usual = {path: _mean_time(runs[3], path) for path in runs[3].calm()}
    rows = []
    for threshold, flow in runs.items():
        ends = Counter(", ".join(map(str, cost.inhibited)) for cost in flow.costs.values())
        gains = [100 * (1 - _mean_time(flow, path) / time) for path, time in usual.items()]
        shown = "; ".join(f"{end} ({count})" for end, count in ends.most_common(2))
        rows.append([str(threshold), shown, f"{mean(gains):.1f}, {min(gains):.1f} to {max(gains):.1f}"])
    return table(["threshold", "positions that wait (paths of 107)", "time saved, %: mean, range"], rows)


def _mean_time(flow: Flow, path: Pair) -> float:
    """The mean time over losses of the 18 packets with data."""
    return mean(flow.time(*path, at) for at in range(2, 20))


def draw_thresholds(runs: Mapping[int, Flow], out: Path) -> list[Path]:
    """Total time against the position of the loss, 1000 kbit/s and 10 ms."""
    lines = {
        f"threshold {threshold}": [(at, flow.time(1000, 10, at)) for at in range(2, 21)]
        for threshold, flow in runs.items()
    }
    return _draw(lines, "One loss by duplicate threshold, 1,000 kbit/s, 10 ms", out / "hurtig-threshold")


BUFFERS = (32768, 49152, 65536, 131072)


def buffer_runs(size: int, recovery_exit: str = "bsd-slow-start") -> Flow:
    """The long flows with another send buffer, at four of the delays; recovery may end as the norm has it."""
    study = Study.load("hurtig-2006/long").set("design.replications", 1)
    study = study.set("hosts.server.stack.buffers.send", f"{size} bytes")
    study = study.set("hosts.server.stack.recovery.exit", recovery_exit)
    return Flow(study.set("vary.path.delay", ["5 ms", "40 ms", "100 ms", "300 ms"]).run(progress=False))


def buffer_table(runs: Mapping[int, Flow]) -> str:
    """Times at 10000 kbit/s and 300 ms without loss and with a middle one; the average over all paths."""
    rows = []
    for size, flow in runs.items():
        whole, middle = flow.time(10000, 300, 0), _middle(flow, (10000, 300))
        average = mean(flow.average().values())
        standard = _middle(buffer_runs(size, "ssthresh"), (10000, 300))
        rows.append([f"{size:,}", f"{whole:.0f}", f"{middle:.0f}", f"{standard:.0f}", f"{average:.2f}"])
    head = ["send buffer, bytes", "without loss, ms", "loss at 20 to 79, mean, ms", "the same, standard exit"]
    head.append("average additional time, %")
    return table(head, rows)


def _middle(flow: Flow, path: Pair) -> float:
    return mean(flow.time(*path, at) for at in range(20, 80))


def draw_buffers(runs: Mapping[int, Flow], out: Path) -> list[Path]:
    """The time with a loss in the middle against the send buffer at 300 ms, relative to 32 kB."""
    rates = [path[0] for path in runs[BUFFERS[0]].paths(ms=[300])]
    lines = {
        f"{rate:,} kbit/s": [
            (size / 1024, 100 * _middle(flow, (rate, 300)) / _middle(runs[BUFFERS[0]], (rate, 300)))
            for size, flow in runs.items()
        ]
        for rate in rates
    }
    labels = ("Send buffer (KiB)", "Time with a loss in the middle (% of 32 KiB)")
    return _draw(lines, "The send buffer at 300 ms, 100 packets", out / "hurtig-send-buffer", labels)


def _by_position(frame: pl.DataFrame, path: Pair) -> list[tuple[float, float]]:
    part = frame.filter(
        (pl.col(SIZED[0]) == path[0] * 1000)
        & (pl.col(SIZED[1]) == path[1] * 1_000_000)
        & (pl.col(POSITION) > 1)
    )
    times = position_times(part, POSITION, SIZED).sort("position")
    return list(zip(times["position"].to_list(), times["time_ms"].to_list(), strict=True))


def _draw(
    lines: Mapping[str, Sequence[tuple[float, float]]],
    title: str,
    out: Path,
    labels: tuple[str, str] = (figures.POSITION_LABEL, figures.TIME_LABEL),
) -> list[Path]:
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 4.8), layout="constrained")
        axes: Axes = sheet.add_subplot()
        colours = style.family(style.LIGHT, len(lines))
        drawn = []
        for number, (label, points) in enumerate(lines.items()):
            marker = style.MARKERS[number % len(style.MARKERS)]
            x, y = zip(*points, strict=True)
            drawn += axes.plot(x, y, color=colours[number], marker=marker, label=label)
        axes.set(xlabel=labels[0], ylabel=labels[1], ylim=(0, None))
        style.whole_numbers(axes, "x")
        axes.set_title(title, loc="left", fontweight="bold")
        style.legend_below(sheet, drawn)
        return style.save(sheet, out, ["png"])
