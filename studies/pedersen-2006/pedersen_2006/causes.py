"""Figures of what was tried on two open explanations: larger windows (table 3.1), clocks (table 5.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit import Results
from rexmit.plot import style

from .parts import LAST_BLOCK, TRIED_TO_MATCH, by_clock, tried


@dataclass(frozen=True)
class Panel:
    """One panel: clouds of points by name, and what was published."""

    title: str
    across: str
    up: str
    clouds: Sequence[tuple[str, Sequence[float], Sequence[float]]]
    published: tuple[float, float]


def draw_window(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """The first three mean delays of each change against the chunks that it sends."""
    found = list(tried(results))
    panels = [
        Panel(
            title,
            "New chunks each RTT",
            "Mean delay (ms)",
            [(name, [chunks], [means[number]]) for name, chunks, means, _ in found],
            (TRIED_TO_MATCH[0], TRIED_TO_MATCH[number + 1]),
        )
        for number, title in enumerate(("First", "Second", "Third"))
    ]
    title = "The sixth chunk: one thing changed at a time, RTT 100 ms"
    return _draw(panels, title, out / "sixth-chunk", formats)


def draw_clocks(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Each run's mean first timeout against its chunks bundled in flight, and against their delay."""
    found = list(by_clock(results))
    panels = [
        Panel(
            title,
            "Mean first timeout of a run (ms)",
            up,
            [(f"tick of {tick}", runs["mean"].to_list(), runs[name].to_list()) for tick, runs in found],
            (LAST_BLOCK[0], published),
        )
        for title, up, name, published in (
            ("Bundled in flight", "Chunks", "count", LAST_BLOCK[1]),
            ("When", "Their mean delay (ms)", "bundled", LAST_BLOCK[2]),
        )
    ]
    return _draw(panels, "Two kinds of runs: table 5.1 without SACK delay", out / "two-kinds", formats)


def _draw(panels: Sequence[Panel], title: str, out: Path, formats: Sequence[str]) -> list[Path]:
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(9, 4.4), layout="constrained")
        axes: Sequence[Axes] = sheet.subplots(1, len(panels), sharex=True)
        for plot, panel in zip(axes, panels, strict=True):
            colours = style.family(style.LIGHT, len(panel.clouds))
            drawn: list[Line2D] = []
            for at, (name, xs, ys) in enumerate(panel.clouds):
                marker = style.MARKERS[at % len(style.MARKERS)]
                look: dict[str, Any] = {"color": colours[at], "marker": marker, "markersize": 5}
                drawn += plot.plot(xs, ys, linestyle="none", label=name, **look)
            ring: dict[str, Any] = {"marker": "o", "markersize": 8, "fillstyle": "none"}
            ring["color"] = style.LIGHT.ink
            drawn += plot.plot(*panel.published, linestyle="none", label="published", **ring)
            plot.set_title(panel.title, loc="left")
            plot.set_xlabel(panel.across)
            plot.set_ylabel(panel.up)
        sheet.suptitle(title, fontweight="bold")
        style.legend_below(sheet, drawn)
        return style.save(sheet, out, formats)
