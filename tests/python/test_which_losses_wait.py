"""The study which-losses-wait: how a repair is told, and a few of its cells."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from rexmit import Study
from rexmit.analyse.study_code import study_module
from rexmit.report import draw_figures

repairs = study_module("which-losses-wait", "repairs")
streams = study_module("which-losses-wait", "streams")
page = study_module("which-losses-wait", "page")

BUILT_IN = ["FreeBSD 6.0", "smoltcp", "quinn"]
"""Stacks of three kinds that every build has."""


def test_positions_of_three_stacks_on_one_path_are_what_they_were_and_are_drawn(tmp_path: Path) -> None:
    study = Study.load("which-losses-wait/short").set("stack", BUILT_IN)
    results = study.set("path.rate", "1000 kbit/s").set("path.delay", "40 ms").run(progress=False)
    found = repairs.repairs(results.table())
    assert page.positions(found).splitlines()[2:] == [
        "| FreeBSD 6.0 | 1 | 20 | 1-16 | - | 17-20 | - |",
        "| smoltcp | 1 | 20 | 1-17 | - | 18-20 | - |",
        "| quinn | 1 | 20 | 1-20 | - | - | - |",
    ]
    last = found.filter(pl.col("lost") == pl.col("last")).sort("stack")
    assert dict(zip(last["stack"], last["extra_rtts"] > 5, strict=True)) == {
        "FreeBSD 6.0": True,
        "smoltcp": True,
        "quinn": False,
    }
    assert "| smoltcp | 11." in page.tails(found)
    assert [file.name for file in draw_figures(results, tmp_path, ["png"])] == ["positions.png", "tails.png"]


def test_a_thin_stream_and_one_that_is_reordered_are_measured_and_drawn(tmp_path: Path) -> None:
    thin = Study.load("which-losses-wait/thin").set("stack", BUILT_IN).set("path.delay", ["25 ms", "100 ms"])
    late = streams.delays(thin.run(progress=False))
    assert late.height == 6
    assert (late["p99_ms"] >= late["p90_ms"]).all()
    again = Study.load("which-losses-wait/reordering").set("stack", BUILT_IN).run(progress=False)
    found = streams.spurious(again)
    assert found.filter(pl.col("path") == "none")["again"].to_list() == [0, 0, 0], "nothing is lost"
    assert found.filter(pl.col("path") == "1 of 50 by 50 ms")["again"].min() > 10
    assert [file.name for file in draw_figures(again, tmp_path, ["png"])] == ["needless.png"]


def test_whole_numbers_are_told_as_ranges() -> None:
    assert page.spans([3, 1, 2, 7]) == "1-3, 7"
    assert page.spans([]) == "-"
