"""Columns that a user adds: kept with the folder, seen by figures, reports and SQL; errors are one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rexmit import Results, open_results, write_report
from rexmit.errors import StoreError, UsageError
from rexmit.report.answer import answer_of
from rexmit.report.explorer import explorer_of
from rexmit.report.figures import draw_figures

from .test_report import small


@pytest.fixture
def results(tmp_path: Path) -> Results:
    small().run(tmp_path / "out", progress=False)
    return open_results(tmp_path / "out")


def test_a_column_is_kept_with_the_folder_and_seen_everywhere(results: Results, tmp_path: Path) -> None:
    about = {"unit": "ms", "label": "the longest silence", "meaning": "longest time without a segment"}
    given = results.add_column("silence_ms", lambda row: row["time_ns"] / 1e6 / 2, **about)
    assert given is results
    again = open_results(tmp_path / "out")
    assert again.table()["silence_ms"].to_list() == pytest.approx(results.table()["time_ns"] / 2e6)
    answer = answer_of(again)
    assert answer is not None
    assert " moves the longest silence most: from " in answer.headline
    explorer = explorer_of(again)
    assert explorer is not None
    first = explorer.tables[0]["responses"][0]
    assert (first["name"], first["unit"], first["title"]) == ("silence_ms", "ms", "the longest silence")
    assert first["meaning"] == "longest time without a segment"
    told = again.sql("select max(silence_ms) as most from runs")
    assert told["most"][0] == again.table()["silence_ms"].max()
    columns = again.sql("select * from columns where column_name = 'silence_ms'")
    assert "longest time without a segment" in str(columns.rows()[0])
    drawn = {file.name for file in draw_figures(again, tmp_path / "figures", ("svg",))}
    assert {"silence-ms.svg", "time.svg"} <= drawn
    write_report(again, tmp_path / "out.html", runs="first")
    assert "longest silence" in (tmp_path / "out.html").read_text()


@pytest.mark.parametrize(
    "values",
    [
        list(range(16)),
        np.arange(16.0),
        pl.Series(range(16)),
        {run: run for run in range(16)},
        pl.col("run") + 0,
        lambda row: row["run"],
        range(16),
    ],
)
def test_values_may_come_in_any_form(results: Results, values: Any) -> None:
    column = results.add_column("x", values).table()["x"]
    assert column.to_list() == list(range(16))


def test_what_has_no_value_is_null(results: Results) -> None:
    column = results.add_column("x", [None, float("nan"), True, *range(13)]).table()["x"]
    assert column.to_list()[:4] == [None, None, 1, 0]
    assert results.add_column("y", {3: 1.5}).table()["y"].null_count() == 15


def test_results_in_memory_have_the_column_too() -> None:
    results = small().run(progress=False).add_column("x", range(16))
    assert results.sql("select sum(x) as s from runs")["s"][0] == 120


def test_a_column_is_replaced_only_where_that_is_said(results: Results) -> None:
    results.add_column("x", range(16))
    with pytest.raises(UsageError, match="'x' was added before; give replace=True"):
        results.add_column("X", range(16))
    before = results.table().columns
    results.add_column("x", range(1, 17), replace=True)
    assert results.table()["x"].to_list() == list(range(1, 17))
    assert results.table().columns == before


@pytest.mark.parametrize(
    ("name", "values", "text"),
    [
        ("time_ns", range(16), "'time_ns' is a column of the runs; choose another name"),
        ("Path.Delay", range(16), "'path.delay' is a column of the runs"),
        ("goodput_bit_s", range(16), "is the name of a column or table of results"),
        ("", range(16), "is not a name of a column"),
        ("a\nb", range(16), "is not a name of a column"),
        (3, range(16), "3 is not a name of a column"),
        ("x", range(15), "x: has 15 values for 16 runs; give one for each"),
        ("x", ["a"] * 16, "x: 'a' of run 0 is not a number"),
        ("x", [1] * 15 + [float("inf")], "x: inf of run 15 is not a number"),
        ("x", [[1]] * 16, r"x: \[1\] of run 0 is not a number"),
        ("x", 3, "x: 3 is not a set of values; give a list or series"),
        ("x", {99: 1}, "x: 99 is not a run of these results"),
        ("x", [None] * 16, "x: no run has a value"),
        ("x", pl.col("nothing"), "x: .*nothing"),
        ("x", pl.col("run").head(3), "x: has 3 values for 16 runs"),
        ("x", lambda row: "a", "x: 'a' of run 0 is not a number"),
    ],
)
def test_what_cannot_be_a_column_is_one_line(results: Results, name: Any, values: Any, text: str) -> None:
    before = (results.folder / "runs.parquet").read_bytes()  # type: ignore[operator]
    with pytest.raises(UsageError, match=text) as caught:
        results.add_column(name, values)
    assert len(str(caught.value).splitlines()) == 1
    assert (results.folder / "runs.parquet").read_bytes() == before  # type: ignore[operator]


def test_texts_about_it_are_of_one_line(results: Results) -> None:
    with pytest.raises(UsageError, match=r"unit: .* is not text of one line"):
        results.add_column("x", range(16), unit="a\nb")


def test_a_folder_that_cannot_be_written_is_one_line(
    results: Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("rexmit.run.added.write_runs", refuse)
    with pytest.raises(StoreError, match=r"runs\.parquet: .*") as caught:
        results.add_column("x", range(16))
    assert len(str(caught.value).splitlines()) == 1
    assert "x" not in open_results(tmp_path / "out").column_names
    assert "x" not in results.column_names


def test_a_study_that_is_not_finished_is_refused(results: Results, tmp_path: Path) -> None:
    results.table()
    (tmp_path / "out/runs.parquet").unlink()
    with pytest.raises(UsageError, match="is not finished, and a column needs all runs"):
        results.add_column("x", range(16))


def test_figures_of_a_column_stand_alone_where_nothing_else_can_be_drawn(tmp_path: Path) -> None:
    results = small(vary={"path.delay": ["5 ms", "20 ms"]}).run(tmp_path / "o", progress=False)
    results.add_column("x", lambda row: row["run"])
    names = {file.name for file in draw_figures(results, tmp_path / "f", ("svg",))}
    assert names == {"x.svg", "time.svg"}


def test_whole_numbers_beyond_64_bits_are_numbers_as_far_as_a_double_goes(results: Results) -> None:
    runs = len(results.table())
    values = results.add_column("large", [2**70] * runs).table()["large"]
    assert (values.dtype, values.to_list()) == (pl.Float64, [2.0**70] * runs)
    with pytest.raises(UsageError, match="is not a number; give finite numbers"):
        results.add_column("larger", [2**2000] * runs)
