"""The study appenzeller-2004 comes out again: small parts here, all of it with `make long`."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from rexmit import Results, Study
from rexmit.analyse import Comparison, load_published
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.analyse.verdicts import read_verdicts, verdicts_of
from rexmit.report import draw_figures

STUDY = Path(__file__).parents[2] / "studies" / "appenzeller-2004"
PARTS = ("table", "hosts", "least", "one", "few", "short", "completion")
evidence = study_module("appenzeller-2004", "evidence")
checks = study_module("appenzeller-2004", "checks")


@pytest.fixture(scope="module")
def one() -> Results:
    return Study.load("appenzeller-2004/one").run(progress=False)


@pytest.fixture(scope="module")
def cell() -> Results:
    """A cell of figure 15 with its three systems."""
    return Study.load("appenzeller-2004/table").set("cell", "100 flows, 0.5 x").run(progress=False)


def compared(results: Results) -> Comparison:
    return comparison_of(results)([results])


def test_rows_that_small_parts_cover_come_out_as_verdicts_say(one: Results, cell: Results) -> None:
    stored = read_verdicts(STUDY)
    for results, row in ((one, "P-005-4"), (cell, "P-005-15.100.0.5s")):
        found = {tag: v for tag, v in verdicts_of(compared(results)).items() if v != "not covered"}
        assert row in found
        assert found == {tag: stored[tag] for tag in found}


def test_a_cell_of_figure_15_to_the_byte(cell: Results) -> None:
    used = evidence.utilisation(cell, "table").select("system", pl.col("utilisation").round(3))
    assert used.rows() == [("Reno", GOLDEN[0]), ("NewReno", GOLDEN[1]), ("SACK", GOLDEN[2])]


def test_every_row_is_in_verdicts_and_none_is_outside() -> None:
    stored = read_verdicts(STUDY)
    assert list(stored) == [
        row.id for row in load_published(STUDY / "published.csv") if row.role == "measured"
    ]
    assert set(stored.values()) <= {"within", "differs as recorded"}


def test_bursts_of_slow_start_and_the_work_that_they_make() -> None:
    assert checks.bursts(14) == [2, 4, 8]
    assert checks.bursts(16) == [2, 4, 8, 2]
    assert checks.work(14) == pytest.approx(12)


def test_the_sawtooth_is_drawn(one: Results, tmp_path: Path) -> None:
    assert [file.name for file in draw_figures(one, tmp_path, ["png"])] == ["figure-4.png"]


@pytest.mark.long
def test_the_whole_study_comes_out_as_its_readme_says() -> None:
    results = [Study.load(f"appenzeller-2004/{part}").run(progress=False) for part in PARTS]
    comparison = comparison_of(results[0])(results)
    assert verdicts_of(comparison) == read_verdicts(STUDY)
    readme = (STUDY / "README.md").read_text()
    assert f"<!-- compare -->\n{comparison.to_markdown()}<!-- /compare -->" in readme
    systems = study_module("appenzeller-2004", "page").systems(evidence.Evidence(results))
    assert f"<!-- systems -->\n{systems}<!-- /systems -->" in readme


GOLDEN = (81.617, 94.238, 97.752)
