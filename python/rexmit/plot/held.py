"""What held a sender back, as a band of colours under a time-sequence graph.

The words are those of `rexmit analyze`. Colours come from the set of Okabe and Ito (2008); what two colours
could not tell apart, in print or for anybody's eyes, hatching and letters do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from rexmit.analyse.held import HELD, LETTERS
from rexmit.analyse.quantities import percent
from rexmit.plot import glyphs, style
from rexmit.plot.connections import Floats, Truths, Waits

Names: TypeAlias = npt.NDArray[np.str_]

COLOURS = {
    "application": "#c9c9c9",
    "receive-window": "#e69f00",
    "send-buffer": "#cc79a7",
    "slow-start": "#56b4e9",
    "after-loss": "#0072b2",
    "idle-restart": "#0072b2",
    "path-rate": "#009e73",
    "recovery": "#d55e00",
    "timer": "#d55e00",
    "unknown": "#ffffff",
}
"""What may hold a sender back by its colour; the reasons of one answer (`GROUPS`) have one, or near ones."""

HATCHED = ("idle-restart", "timer", "unknown")
"""What is told by its hatching from another of its colour, or from the paper."""

LIGHT_INK = ("after-loss", "idle-restart")
"""Where a letter is white."""

MOST_PARTS = 1_200
"""Above this, the time is cut into this many pieces, each of which shows what took most of it."""

LEAST_FOR_LETTER = 9.0
"""Points that a part takes along the axis before its letter fits."""

HEIGHT = 0.5
"""Inches that the band adds to a figure, with its words."""


@dataclass(frozen=True)
class Band:
    """Parts of the time in a graph, in seconds of its axis: what held the sender back, and whether surely."""

    start: Floats
    end: Floats
    by: list[str]
    certain: Truths


def draw_band(axes: Axes, waits: Waits, start_ns: int, theme: style.Theme) -> list[Artist]:
    """Draws the band into axes whose range of time is set, and returns the entries of its legend."""
    span = axes.get_xlim()
    band = band_of(waits, start_ns, span)
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.grid(False)
    axes.set_ylabel("held\nback by", rotation=0, ha="right", va="center", fontsize=8)
    seconds = dict.fromkeys(HELD, 0.0)
    for by, (start, end) in zip(waits.by.tolist(), _cut(waits, start_ns, span), strict=True):
        seconds[by] += end - start
    total = sum(seconds.values())
    handles: list[Artist] = []
    for by in HELD:
        own = np.array([one == by for one in band.by], dtype=bool)
        if not own.any():
            continue
        look: dict[str, Any] = {"facecolor": COLOURS[by], "edgecolor": theme.ink}
        look["hatch"] = "////" if by in HATCHED else None
        bars = _bars(band, own)
        parts = axes.broken_barh(bars, (0, 1), linewidth=0, **look)
        glyphs.named(parts, f"held-{by}")
        label = f"{HELD[by]} ({LETTERS[by]}), {percent(seconds[by] / total if total else 0.0)}"
        handles.append(Patch(label=label, linewidth=0.4, **look))
    if band.certain.any():
        sure = axes.broken_barh(_bars(band, band.certain), (0, 0.14), facecolor=theme.ink, linewidth=0)
        glyphs.named(sure, "held-certain")
        handles.append(Line2D([], [], color=theme.ink, linewidth=1.6, label="certain, else likely"))
    _letters(axes, band, theme)
    return handles


def band_of(waits: Waits, start_ns: int, span: tuple[float, float]) -> Band:
    """The parts within a range of time, those that say the same as one."""
    cut = _cut(waits, start_ns, span)
    keep = cut[:, 1] > cut[:, 0]
    cut, by, certain = cut[keep], waits.by[keep], waits.certain[keep]
    if len(cut) > MOST_PARTS:
        cut, by, certain = _pieces(cut, by, certain, span)
    if not len(cut):
        return Band(cut[:, 0], cut[:, 1], [], certain)
    changed = (by[1:] != by[:-1]) | (certain[1:] != certain[:-1]) | (cut[1:, 0] > cut[:-1, 1] + 1e-9)
    first = np.flatnonzero(np.concatenate([[True], changed]))
    last = np.append(first[1:], len(by)) - 1
    return Band(cut[first, 0], cut[last, 1], by[first].tolist(), certain[first])


def _cut(waits: Waits, start_ns: int, span: tuple[float, float]) -> Floats:
    """Start and end of each row in seconds, within a range; the same where it lies outside."""
    ends: Floats = np.stack([waits.start_ns - start_ns, waits.end_ns - start_ns], axis=1) / 1e9
    return np.clip(ends, *span)


def _pieces(
    cut: Floats, by: Names, certain: Truths, span: tuple[float, float]
) -> tuple[Floats, Names, Truths]:
    """As many pieces of the time as can be told apart, each with what took most of it."""
    edges = np.linspace(*span, MOST_PARTS + 1)
    kinds = [(name, sure) for name in HELD for sure in (False, True)]
    shares = np.zeros((len(kinds), MOST_PARTS))
    for at, (name, sure) in enumerate(kinds):
        own = (by == name) & (certain == sure)
        if own.any():
            # How much of this kind lies before each edge; between its rows that stays the same.
            times = cut[own].ravel()
            sums = np.repeat(np.cumsum(cut[own, 1] - cut[own, 0]), 2)
            sums[0::2] = np.concatenate([[0.0], sums[1:-1:2]])
            shares[at] = np.diff(np.interp(edges, times, sums))
    most = shares.argmax(axis=0)
    keep = shares.max(axis=0) > 0
    pieces = np.stack([edges[:-1], edges[1:]], axis=1)[keep]
    names = np.array([name for name, _ in kinds])
    return pieces, names[most[keep]], np.array([sure for _, sure in kinds])[most[keep]]


def _bars(band: Band, own: Truths) -> list[tuple[float, float]]:
    return list(zip(band.start[own], band.end[own] - band.start[own], strict=True))


def _letters(axes: Axes, band: Band, theme: style.Theme) -> None:
    """The letter of each part that has room for it; parts that differ in how sure they are have one."""
    low, high = axes.get_xlim()
    points = axes.bbox.width / axes.get_figure(root=True).dpi * 72 / (high - low)  # type: ignore[union-attr]
    at = 0
    while at < len(band.by):
        last = at
        while last + 1 < len(band.by) and band.by[last + 1] == band.by[at]:
            last += 1
        start, end, by = band.start[at], band.end[last], band.by[at]
        if (end - start) * points >= LEAST_FOR_LETTER:
            ink = "#ffffff" if by in LIGHT_INK else "#000000"
            text = axes.text((start + end) / 2, 0.55, LETTERS[by], color=ink, fontsize=7.5, clip_on=True)
            text.set(ha="center", va="center", fontweight="bold")
            if by in HATCHED:
                text.set_bbox({"facecolor": COLOURS[by], "linewidth": 0, "pad": 0.6})
        at = last + 1
