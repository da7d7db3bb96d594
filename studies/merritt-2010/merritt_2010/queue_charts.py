"""Figure 3.2 from packets, the queues of both routers as the upload starts, and the ratios of 4.7.1."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from rexmit.plot import style

from .charts import BUFFER_TITLE, DOWN, UP, handles, link_lines, save
from .packets import Packets

LIGHT = style.LIGHT
BEFORE, AFTER = 2, 12
"""Seconds around the upload's start that figure 3.2 shows."""
RATIOS = (
    ("cwnd_ratio", "Mean cwnd, download over upload"),
    ("throughput_ratio", "cwnd / RTT, download over upload"),
)


def draw_queues(packets: Packets, out: Path, formats: Sequence[str]) -> list[Path]:
    """The lengths of both queues around the upload's start, steps 1 to 4 of figure 3.2."""
    start = packets.spans.upload / 1e9
    with style.styled(LIGHT):
        sheet = Figure(figsize=(9, 4.4), layout="constrained")
        for axes, (name, (at, length), colour) in zip(
            sheet.subplots(2, 1, sharex=True),
            (
                ("R1, towards the download's receiver", packets.queue("down"), DOWN),
                ("R2, the uplink", packets.queue("up"), UP),
            ),
            strict=True,
        ):
            shown = (at >= (start - BEFORE) * 1e9) & (at <= (start + AFTER) * 1e9)
            axes.step(at[shown] / 1e9, length[shown], where="post", color=colour, linewidth=0.9)
            line = axes.axvline(start, color=LIGHT.ink, linewidth=0.9, linestyle=(0, (1, 2)))
            line.set_label("the upload starts")
            axes.set_title(name, loc="left", fontweight="normal")
            axes.set_ylabel("Packets")
            axes.set_ylim(bottom=0)
        sheet.axes[-1].set_xlabel("Time (s)")
        sheet.suptitle(
            "Figure 3.2: Both queues as the upload starts, 2400 kbit/s down, 196 up, 50 packets",
            x=0.01,
            ha="left",
        )
        style.legend_below(sheet, handles(sheet)[:1])
    return save(sheet, "3.2", out, formats)


def draw_ratios(runs: pl.DataFrame, out: Path, formats: Sequence[str]) -> list[Path]:
    """Of windows and of throughputs while both run, over the buffers (section 4.7.1)."""
    with style.styled(LIGHT):
        sheet = Figure(figsize=(9, 4.2), layout="constrained")
        for axes, (column, title) in zip(sheet.subplots(1, 2), RATIOS, strict=True):
            link_lines(axes, runs, column)
            axes.set_yscale("log")
            axes.set_xlim(left=0)
            axes.set_xlabel(BUFFER_TITLE)
            axes.set_title(title, loc="left", fontweight="normal")
        sheet.axes[0].set_ylabel("Ratio")
        sheet.suptitle("Ratios of the two connections", x=0.01, ha="left")
        style.legend_below(sheet, handles(sheet))
    return save(sheet, "", out, formats)
