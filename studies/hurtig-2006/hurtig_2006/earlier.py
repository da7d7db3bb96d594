"""Figure 4.25, of the study before, and beside it the same path of figure 4.8."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from rexmit.analyse import position_times
from rexmit.plot import figures, style

from .charts import POSITION
from .flows import Pair

PATH: Pair = (1000, 10)
"""The path of figure 4.25, kbit/s and ms."""
NAME = "figure-4-25-one-controlled-loss-10-ms"


def on_path(frame: pl.DataFrame, path: Pair = PATH) -> pl.DataFrame:
    """The runs of one path of a table."""
    return frame.filter(
        (pl.col("path.rate_bit_s") == path[0] * 1000) & (pl.col("path.delay_ns") == path[1] * 1_000_000)
    )


def draw_earlier(
    frame: pl.DataFrame, now: pl.DataFrame, out: Path, formats: Sequence[str] = ()
) -> list[Path]:
    """Draws total time against the position of the loss: FreeBSD 4.6 of `frame`, FreeBSD 6.0 of `now`."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 4.8), layout="constrained")
        axes = sheet.add_subplot()
        colours = style.family(style.LIGHT, 2)
        named = (("FreeBSD 4.6 (figure 4.25)", frame), ("FreeBSD 6.0 (figure 4.8)", now))
        lines = []
        for number, (label, table) in enumerate(named):
            times = position_times(on_path(table), POSITION, ["path.rate"]).sort("position")
            (line,) = axes.plot(
                times["position"],
                times["time_ms"],
                color=colours[number],
                marker=style.MARKERS[number],
                label=label,
            )
            lines.append(line)
        axes.set(xlabel=figures.POSITION_LABEL, ylabel=figures.TIME_LABEL, ylim=(0, None), yscale="linear")
        style.whole_numbers(axes, "x")
        axes.set_title("Figure 4.25: One controlled loss, 1,000 kbit/s, 10 ms", loc="left", fontweight="bold")
        style.legend_below(sheet, lines)
        return style.save(sheet, out / NAME, formats)
