"""The study asymmetric-today: queue management on the model, and its figures."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from rexmit import Results, Study
from rexmit.analyse.study_code import study_module
from rexmit.report import draw_figures

named = study_module("asymmetric-today", "figures").named


@pytest.fixture(scope="module")
def results() -> Results:
    study = Study.load("asymmetric-today/model").set("design.replications", 1)
    return study.set("link", ["3000/1000", "2400/196"]).run(progress=False)


def share(results: Results, discipline: str, congestion: str, link: str = "2400/196") -> float:
    runs = named(results).filter(
        (pl.col("discipline") == discipline) & (pl.col("congestion") == congestion) & (pl.col("link") == link)
    )
    (found,) = runs["down_share"]
    return float(found)


@pytest.mark.parametrize("congestion", ["freebsd-7.2", "reno", "cubic"])
def test_a_fifo_is_worse_large_and_worse_in_bytes(results: Results, congestion: str) -> None:
    assert share(results, "FIFO, 50 packets", congestion) < 0.7
    assert share(results, "FIFO, 17 packets", congestion) > 0.85
    assert share(results, "FIFO, bytes of 17", congestion) < 0.5
    assert share(results, "FIFO, bytes of 50", congestion) < 0.25


@pytest.mark.parametrize("congestion", ["freebsd-7.2", "reno", "cubic"])
@pytest.mark.parametrize("link", ["3000/1000", "2400/196"])
def test_flow_queueing_needs_no_size(results: Results, congestion: str, link: str) -> None:
    assert share(results, "FQ-CoDel", congestion, link) > 0.92


def test_the_figures_are_drawn(results: Results, tmp_path: Path) -> None:
    files = {file.name for file in draw_figures(results, tmp_path, ["svg"])}
    assert files == {"shares-by-discipline.svg", "round-trip-times-by-discipline.svg"}
    text = (tmp_path / "shares-by-discipline.svg").read_text()
    assert "<!-- FQ-CoDel -->" in text
    assert "<!-- 3000/1000 kbit/s -->" in text
