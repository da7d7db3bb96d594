"""Figures of pedersen-2006 at the receiver: how late messages are, by enhancement and by stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit.plot import style

SHOWN_PAIRS = 6


def draw_effects(
    panels: Mapping[str, pl.DataFrame], unit: str, out: Path, formats: Sequence[str]
) -> list[Path]:
    """Effects of each and the greatest of pairs (`second`, `name`, `effect`, `low`, `high`), a panel each."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(11, 4.6), layout="constrained")
        for axes, (title, frame) in zip(
            sheet.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True
        ):
            ordered = frame.sort(pl.col("effect").abs(), descending=True)
            pairs = ordered.filter(pl.col("second").is_not_null()).head(SHOWN_PAIRS)
            top = pl.concat([ordered.filter(pl.col("second").is_null()), pairs]).reverse()
            for place, (name, effect, low, high) in enumerate(
                top.select("name", "effect", "low", "high").rows()
            ):
                pair = name in pairs["name"]
                marker, face = ("D", "none") if pair else ("o", style.LIGHT.late)
                axes.plot(
                    [0, effect], [place, place], color=style.LIGHT.late, linewidth=1.4 if not pair else 0.8
                )
                if low is not None:
                    axes.plot([low, high], [place, place], color=style.LIGHT.ink, linewidth=3.5, alpha=0.35)
                axes.plot(
                    [effect],
                    [place],
                    marker=marker,
                    color=style.LIGHT.late,
                    markerfacecolor=face,
                    markersize=6,
                )
            axes.axvline(0, color=style.LIGHT.ink, linewidth=0.8)
            axes.set_yticks(range(len(top)), labels=top["name"].to_list())
            axes.grid(visible=False, axis="y")
            axes.set_xlabel(f"Effect on {unit}")
            axes.set_title(title, loc="left")
        sheet.suptitle(
            "What each enhancement does on average over all the others, and two together", x=0.01, ha="left"
        )
        handles = [
            Line2D([], [], color=style.LIGHT.late, marker="o", label="one enhancement"),
            Line2D(
                [],
                [],
                color=style.LIGHT.late,
                marker="D",
                markerfacecolor="none",
                label="two: what they do beyond",
            ),
            Line2D([], [], color=style.LIGHT.ink, linewidth=3.5, alpha=0.35, label="95 % interval"),
        ]
        style.legend_below(sheet, handles)
        return style.save(sheet, out, formats)


def draw_alone(
    rows: Sequence[tuple[str, Mapping[str, Sequence[float]]]],
    axis: str,
    title: str,
    out: Path,
    formats: Sequence[str],
) -> list[Path]:
    """A dot for each run in each row, a marker for each name within a row; the first row is at the top."""
    names = list(dict.fromkeys(name for _, cells in rows for name in cells))
    colours = dict(zip(names, style.family(style.LIGHT, len(names)), strict=True))
    markers = dict(zip(names, style.MARKERS, strict=False))
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8.5, 1.4 + 0.32 * len(rows)), layout="constrained")
        axes = sheet.subplots()
        for place, (_, cells) in enumerate(reversed(rows)):
            for name, values in cells.items():
                y = place + (names.index(name) - (len(names) - 1) / 2) * -0.5 / max(len(names), 1)
                mean = sum(values) / len(values)
                axes.plot([min(values), max(values)], [y, y], color=colours[name], linewidth=1.2)
                axes.plot([mean], [y], marker=markers[name], color=colours[name], markersize=5.5)
        axes.set_yticks(range(len(rows)), labels=[label for label, _ in reversed(rows)])
        axes.set_xlim(left=0)
        axes.set_xlabel(axis)
        axes.set_title(title, loc="left", fontweight="bold")
        handles = [
            Line2D([], [], color=colours[name], marker=markers[name], markersize=5.5, label=name)
            for name in names
        ]
        style.legend_below(sheet, handles)
        return style.save(sheet, out, formats)


def draw_late(
    panels: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]],
    title: str,
    out: Path,
    formats: Sequence[str],
) -> list[Path]:
    """How late so many of the messages are: lines of (share that is later, latency in ms), a panel each."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(5 * len(panels) + 0.5, 5.2), layout="constrained")
        handles: list[Line2D] = []
        every = sheet.subplots(1, len(panels), squeeze=False, sharey=True, sharex=True)[0]
        for axes, (name, lines) in zip(every, panels.items(), strict=True):
            colours = style.family(style.LIGHT, len(lines))
            for number, (label, points) in enumerate(lines.items()):
                dashes, marker = (
                    ("-", "--", "-.", ":")[number % 4],
                    style.MARKERS[number % len(style.MARKERS)],
                )
                look = {"color": colours[number], "linestyle": dashes, "marker": marker, "markersize": 5}
                axes.plot([latency for _, latency in points], [share for share, _ in points], **look)
                handles.append(Line2D([], [], label=label, **look))  # type: ignore[arg-type]
            axes.set_yscale("log")
            shares = sorted({share for points in lines.values() for share, _ in points})
            axes.set_yticks(shares, labels=[f"{100 * share:g} %" for share in shares])
            axes.minorticks_off()
            axes.set_xlim(left=0)
            axes.set_xlabel("Latency from write to read (ms)")
            axes.set_title(name, loc="left")
        every[0].set_ylabel("Share of messages that are later")
        sheet.suptitle(title, x=0.01, ha="left")
        style.legend_below(sheet, handles)
        return style.save(sheet, out, formats)
