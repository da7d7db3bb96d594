"""The band under a time-sequence graph: its parts are those of the analysis, its legend has their words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from rexmit import analyze
from rexmit.analyse.held import HELD, LETTERS
from rexmit.plot import held, style, tsg
from rexmit.plot.connections import Waits, read
from rexmit.plot.graphs import View, figure, flows_of


def waits(*rows: tuple[float, str, bool]) -> Waits:
    """Waits that follow each other, each until a time in seconds."""
    ends = [round(1e9 * row[0]) for row in rows]
    return Waits(
        np.array([0, *ends[:-1]]),
        np.array(ends),
        np.array([r[1] for r in rows]),
        np.array([r[2] for r in rows]),
    )


def test_the_band_has_the_rows_of_the_analysis_and_their_words(lost_segment: Path) -> None:
    (flow,) = flows_of(lost_segment, [1], None)
    drawn = figure(flow, "tsg", View())
    graph, band = drawn.axes
    assert graph.get_xlim() == band.get_xlim()
    found = analyze(lost_segment).held
    parts = [str(artist.get_gid()) for artist in band.collections]
    assert parts == [f"held-{by}" for by in HELD if by in found["by"].to_list()]
    first: Any = band.collections[0].get_paths()[0].vertices
    start = found.filter(by=parts[0].removeprefix("held-"))["start_ns"][0]
    assert first[:, 0].min() == pytest.approx((start - flow.start_ns) / 1e9)
    (legend,) = drawn.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert "the application had nothing to send (A), 96 %" in labels
    assert "the congestion window was full, before any loss (S), 4.0 %" in labels


def test_a_side_that_sent_at_once_has_no_band(lost_segment: Path) -> None:
    seen = read(lost_segment)[0]
    assert len(tsg.sheet(seen, tsg.View("client"), "").axes) == 1
    assert len(tsg.sheet(seen, tsg.View("server"), "").axes) == 2


def test_parts_that_say_the_same_are_one_and_a_range_cuts_them() -> None:
    given = waits((1, "timer", True), (2, "timer", True), (3, "timer", False), (5, "recovery", False))
    band = held.band_of(given, 0, (0.5, 4))
    assert (band.start.tolist(), band.end.tolist()) == ([0.5, 2, 3], [2, 3, 4])
    assert (band.by, band.certain.tolist()) == (["timer", "timer", "recovery"], [True, False, False])


def test_of_a_great_many_parts_a_piece_has_what_took_most_of_it() -> None:
    rows = [(at + (0.9 if at % 2 == 0 else 1.0)) / 1000 for at in range(20_000)]
    given = waits(*((end, "after-loss" if at % 2 == 0 else "timer", False) for at, end in enumerate(rows)))
    band = held.band_of(given, 0, (0, 20))
    # Each even one takes 0.9 ms and each odd one 1.1 ms.
    assert band.by == ["timer"]
    assert (band.start[0], band.end[-1]) == (0, 20)


def test_what_has_one_colour_differs_by_hatching_and_all_by_letters() -> None:
    assert held.COLOURS.keys() == HELD.keys() == LETTERS.keys()
    assert len(set(LETTERS.values())) == len(HELD)
    looks = {(held.COLOURS[by], by in held.HATCHED) for by in HELD}
    assert len(looks) == len(HELD)


@pytest.mark.parametrize("by", HELD)
def test_a_letter_is_read_on_its_colour(by: str) -> None:
    axes = Figure(figsize=(9, 1)).add_subplot()
    axes.set_xlim(0, 2)
    held.draw_band(axes, waits((2, by, True)), 0, style.LIGHT)
    (letter,) = axes.texts
    bright = sorted(luminance(colour) for colour in (letter.get_color(), held.COLOURS[by]))
    assert letter.get_text() == LETTERS[by]
    # WCAG 2.2, 1.4.3, for large or bold text.
    assert (bright[1] + 0.05) / (bright[0] + 0.05) >= 3


def luminance(colour: Any) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
