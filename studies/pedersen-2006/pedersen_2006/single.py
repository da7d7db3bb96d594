"""Figures of single chunks: 3.9, 4.3 and 5.1, the published times beside ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from rexmit import Results
from rexmit.plot import style

from .evidence import Evidence, Levels
from .packets import ALL, LISTED, RESTART, again_and_again, several

LISTED_3_9 = (104.038, 207.917, 207.972, 208.018)
"""Fast retransmits of chunk 6344, ms after it was sent (figure 3.9)."""


@dataclass(frozen=True)
class Event:
    """Something that happens to a chunk, ms after it was sent."""

    ms: float
    kind: str
    """`sent`, `SACK` or `sent again`."""


_MARKS = {"sent": "o", "SACK": "v", "sent again": "s"}


def figure_3_9(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """Each chunk of three runs that is sent again as in figure 3.9, around one and two RTTs."""
    if "100 ms" not in results.table()["rtt"].to_list():
        return []
    chunks = again_and_again(Evidence([results]))
    rows = {"figure 3.9": [Event(ms, "sent again") for ms in LISTED_3_9]}
    for number, delays in enumerate(chunks[:8], 1):
        rows[f"ours, {number}"] = [Event(ms, "sent again") for ms in delays]
    title = "Figure 3.9: fast retransmits of one chunk, RTT 100 ms"
    return _draw(rows, [(103.9, 104.2), (207.85, 208.15)], title, out / "figure-3-09-again", formats)


def figure_4_3(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """The lost chunk of the example, each phase of the SACK delay a row."""
    evidence = Evidence([results])
    rows = {"figure 4.3": [Event(0, "sent"), Event(150, "SACK"), Event(1150, "sent again")]}
    rows["section 4.3.3, modified"] = [Event(0, "sent"), Event(150, "SACK"), Event(1000, "sent again")]
    for less_age, name in ((False, "ours"), (True, "ours, modified")):
        rows[name] = _first_timeouts(evidence, "figure-4-03", {RESTART: less_age}, ALL)
    title = "Figure 4.3: a SACK that comes 150 ms after a lost chunk restarts its timer"
    return _draw(rows, [(-40, 1240)], title, out / "figure-4-03-restart", formats)


def figure_5_1(results: Results, out: Path, formats: Sequence[str]) -> list[Path]:
    """When a SACK restarts a lost chunk's timer, and when it expires, at each RTT."""
    rows = {"figure 5.1": [Event(0, "sent"), Event(345.2, "SACK"), Event(1000.036, "sent again")]}
    evidence = Evidence([results])
    for delay in results.table()["path.delay"].unique(maintain_order=True):
        rtt = 2 * int(str(delay).removesuffix(" ms"))
        rows[f"ours, RTT {rtt} ms"] = _first_timeouts(evidence, "figure-5-01", {"path.delay": delay}, LISTED)
    title = "Figure 5.1: the modified restart; only at RTT 400 ms is the SACK 345 ms late"
    return _draw(rows, [(-40, 1240)], title, out / "figure-5-01-restart", formats)


def _first_timeouts(evidence: Evidence, part: str, levels: Levels, most: int) -> list[Event]:
    """Chunks that the timer sends again: sent, the timer restarted by a SACK, sent again."""
    frame = several(evidence, part, levels, most)
    frame = frame.filter((pl.col("retransmission") == 1) & (pl.col("class") == "timeout"))
    ages, delays = (frame["first"] - frame["since_timer"]).to_list(), frame["first"].to_list()
    return [
        Event(0, "sent"),
        *(Event(ms, "SACK") for ms in ages if ms > 1),
        *(Event(ms, "sent again") for ms in delays),
    ]


def _draw(
    rows: Mapping[str, Sequence[Event]],
    spans: Sequence[tuple[float, float]],
    title: str,
    out: Path,
    formats: Sequence[str],
) -> list[Path]:
    """A row for each of the names, its events along time; a panel for each span, in ms."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(8, 1.6 + 0.32 * len(rows)), layout="constrained")
        panels = sheet.subplots(1, len(spans), sharey=True, squeeze=False)[0]
        for axes, span in zip(panels, spans, strict=True):
            _panel(axes, rows, span)
        panels[0].set_yticks(range(len(rows)), labels=list(rows))
        panels[0].invert_yaxis()
        sheet.suptitle(title, x=0.01, ha="left", fontweight="bold")
        unique = dict(zip(*reversed(panels[0].get_legend_handles_labels()), strict=True))
        for axes in panels[1:]:
            unique |= dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
        style.legend_below(sheet, list(unique.values()))
        return style.save(sheet, out, formats)


def _panel(axes: Axes, rows: Mapping[str, Sequence[Event]], span: tuple[float, float]) -> None:
    colours = dict(zip(_MARKS, style.family(style.LIGHT, len(_MARKS)), strict=True))
    for place, (name, events) in enumerate(rows.items()):
        for kind, marker in _MARKS.items():
            times = [event.ms for event in events if event.kind == kind and span[0] <= event.ms <= span[1]]
            if times:
                axes.plot(
                    times,
                    [place] * len(times),
                    linestyle="none",
                    marker=marker,
                    markersize=6,
                    color=colours[kind] if name.startswith("ours") else style.LIGHT.ink,
                    markerfacecolor="none",
                    label=kind if name.startswith("ours") else f"{kind}, published",
                    gid=None if name.startswith("ours") else "published",
                )
    axes.set_xlim(*span)
    axes.ticklabel_format(axis="x", useOffset=False)
    axes.set_xlabel("Time since the chunk was sent (ms)")
