"""A trace of a link, drawn: its rate over time, and its delay and loss where it says them."""

from __future__ import annotations

import os
from itertools import accumulate
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rexmit.links import Bins, Trace
from rexmit.links.trace import Values
from rexmit.plot import style

_WIDTH, _HEIGHT = 7.2, 2.0


def draw_trace(trace: Trace, bins: Bins, out: str | os.PathLike[str]) -> list[Path]:
    """Draws one round of a trace into a file, .svg or .png; a panel for each of rate, delay and loss."""
    panels: list[tuple[str, Values, float]] = [
        ("rate (Mbit/s)", bins.rates, 1e6),
        ("delay (ms)", bins.delays, 1e6),
        ("loss (%)", bins.losses, 0.01),
    ]
    panels = [panel for panel in panels if any(value is not None for value in panel[1])]
    theme = style.LIGHT
    with style.styled(theme):
        figure = Figure(figsize=(_WIDTH, 0.7 + _HEIGHT * len(panels)), layout="constrained")
        all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        edges = [0.0, *(end / 1e9 for end in accumulate(bins.lengths))]
        for axes, (label, values, scale) in zip(all_axes, panels, strict=True):
            _steps(axes, edges, [None if value is None else value / scale for value in values])
            axes.set_ylabel(label)
        all_axes[-1].set_xlabel("Time (s)")
        style.title(all_axes[0], trace.path.name, f"means over {bins.span / 1e6:g} ms")
        return style.save(figure, out)


def _steps(axes: Axes, edges: list[float], values: Values) -> None:
    """Values that hold from edge to edge; none where none is known."""
    heights = [float("nan") if value is None else value for value in values]
    axes.stairs(heights, edges, baseline=None, color=style.LIGHT.late, linewidth=1.0)
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(bottom=0)
