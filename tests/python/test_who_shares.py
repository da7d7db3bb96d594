"""The study who-shares: its measures and a few of its cells; all of it with `make long`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from rexmit import Study
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.analyse.verdicts import read_verdicts, verdicts_of
from rexmit.report import draw_figures

STUDY = Path(__file__).parents[2] / "studies" / "who-shares"
AQM = "links.line.from.left.aqm"
pairs = study_module("who-shares", "pairs")


def test_two_cells_are_what_they_were_and_are_drawn(tmp_path: Path) -> None:
    study = Study.load("who-shares/pairs").set("pair", "CUBIC, CUBIC").set("rtt", "8").set("buffer", "1")
    results = study.set(AQM, ["none", "fq-codel"]).run(progress=False)
    found = pairs.shared([results])
    assert found.select(AQM, pl.col("jain", "ratio").round(2)).rows() == GOLDEN
    files = draw_figures(results, tmp_path, ["png"])
    assert [file.name for file in files] == ["jain.png", "ratio.png"]


@pytest.mark.long
def test_the_whole_study_comes_out_as_its_readme_says() -> None:
    results = Study.load("who-shares/pairs").run(progress=False)
    comparison = comparison_of(results)([results])
    assert verdicts_of(comparison) == read_verdicts(STUDY)
    readme = (STUDY / "README.md").read_text()
    assert f"<!-- compare -->\n{comparison.to_markdown()}<!-- /compare -->" in readme
    table = study_module("who-shares", "page").table(pairs.shared([results]))
    assert f"<!-- jain -->\n{table}<!-- /jain -->" in readme


GOLDEN = [("none", 0.56, 16.33), ("fq-codel", 0.99, 1.19)]
