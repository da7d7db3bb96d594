"""A report opens with its answer: the factor that moves a response most, in words, a figure and a table."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rexmit import open_results
from rexmit.analyse.influence import effects
from rexmit.analyse.stats import mean_interval
from rexmit.cli import main
from rexmit.diff.beside import document_of_two
from rexmit.report.answer import answer_of
from rexmit.report.document import Sheet, document_of

from .test_report import Page, small


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A study, the same on a slower path, the same again, and another design."""
    out = tmp_path_factory.mktemp("answers")
    loss = {"down": {"loss": "5 %"}}
    path = {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"}
    scenario: dict[str, Any] = {
        "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
        "path": {**path, **loss},
        "transfers": [{"from": "server", "to": "client", "writes": "8 x 2500 bytes"}],
    }
    design = {"replications": 5, "seed": 7}
    vary = {"path.delay": ["5 ms", "80 ms"], "path.queue": ["90 packets", "99 packets"]}
    made = {
        "fast": scenario,
        "slow": {**scenario, "path": {**path, **loss, "rate": "200 kbit/s"}},
        "again": scenario,
    }
    for name, one in made.items():
        small(scenario=one, vary=vary, design=design).run(out / name, progress=False)
    small(vary={"path.rate": ["1 Mbit/s", "2 Mbit/s"]}).run(out / "other", progress=False)
    small(vary={}, design={"replications": 3}).run(out / "one", progress=False)
    return {name: out / name for name in (*made, "other", "one")}


def runs(values: dict[tuple[str, int], list[float]]) -> pl.DataFrame:
    """A table of runs: values of each replication by the levels of `a` and `b`."""
    rows = [(a, b, n, v) for (a, b), each in values.items() for n, v in enumerate(each)]
    return pl.DataFrame(rows, schema=["a", "b", "replication", "y"], orient="row")


def test_an_effect_is_the_difference_of_means_over_the_other_levels() -> None:
    frame = runs({("x", 1): [10, 12], ("x", 2): [20, 22], ("z", 1): [40, 44], ("z", 2): [50, 54]})
    first, second = effects(frame, ["b", "a"], "y")
    assert (first.factor, first.low, first.high, first.least, first.greatest) == ("a", "x", "z", 16, 47)
    assert (first.cells, first.replications) == (2, 2)
    # Of the replications the differences are 30 and 32; Student's t of one degree of freedom is 12.706.
    assert first.interval == pytest.approx((31 - 12.7062, 31 + 12.7062), abs=1e-3)
    assert (second.factor, second.difference) == ("b", 10)
    # Of the means of cells 11, 21, 42, 52: variance 265.25, by a 240.25, by b 25.
    assert (first.share, second.share) == pytest.approx((240.25 / 265.25, 25 / 265.25))


def test_levels_are_compared_where_both_have_the_rest() -> None:
    frame = runs({("x", 1): [10], ("x", 2): [100], ("z", 1): [12]})
    found = {one.factor: one for one in effects(frame, ["a", "b"], "y")}
    assert (found["a"].least, found["a"].greatest, found["a"].cells) == (10, 12, 1)
    assert found["a"].interval is None
    assert (found["b"].least, found["b"].greatest) == (10, 100)


def test_what_scatters_more_than_it_moves_is_not_sure() -> None:
    frame = runs({("x", 1): [10, 20, 15], ("z", 1): [20, 11, 15]})
    (one,) = effects(frame, ["a"], "y")
    assert not one.is_sure
    assert mean_interval([3.0]) is None


def test_the_headline_says_factor_levels_values_and_interval(folders: dict[str, Path]) -> None:
    found = answer_of(open_results(folders["fast"]))
    assert found is not None
    table = open_results(folders["fast"]).table()
    low, high = (
        table.filter(pl.col("path.delay") == delay)["time_ns"].mean() / 1e6  # type: ignore[operator]
        for delay in ("5 ms", "80 ms")
    )
    assert found.headline.startswith("One-way delay moves the transmission time most: from ")
    told = re.search(r"from ([\d.]+) (m?s) at 5 ms to ([\d.]+) (m?s) at 80 ms", found.headline)
    assert told is not None
    scale = {"ms": 1, "s": 1000}
    assert float(told[1]) * scale[told[2]] == pytest.approx(low, rel=0.01)
    assert float(told[3]) * scale[told[4]] == pytest.approx(high, rel=0.01)
    assert "averaged over 2 combinations of the rest (95 % interval of the difference " in found.headline
    assert found.headline.endswith(", 5 replications).")
    assert [row[0] for row in found.rows] == ["one-way delay", "queue"]


def test_a_study_without_factors_says_what_it_gave(folders: dict[str, Path]) -> None:
    found = answer_of(open_results(folders["one"]))
    assert found is not None
    assert found.headline.startswith("In 3 runs of one scenario: the transmission time ")
    assert found.rows == []


def test_the_answer_says_what_held_the_runs_at_both_ends_of_the_largest_effect(
    folders: dict[str, Path],
) -> None:
    (sheet, *_) = told_sheets(folders["fast"])
    assert (sheet.title, sheet.heads) == ("Why not faster?", [])
    low, high = (row[0] for row in sheet.rows)
    assert re.match(r"At one-way delay 5 ms \(run \d+\): .+ held .+ (\d+ %|all) of ", low)
    assert re.match(r"At one-way delay 80 ms \(run \d+\): .+ held .+ (\d+ %|all) of ", high)
    (own,) = (row[0] for row in told_sheets(folders["one"])[0].rows)
    assert own.startswith("Run 0: ")


def told_sheets(folder: Path) -> list[Sheet]:
    """The tables of a report's answer."""
    answer = document_of(open_results(folder)).answer
    assert answer is not None
    return list(answer.sheets)


def test_the_page_opens_with_the_answer_and_ends_with_the_testbed(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["report", str(folders["fast"]), "--with-runs", "none", "--format", "html", "--format", "md"])
    assert left.value.code == 0
    text = (folders["fast"] / "report.html").read_text()
    ids = [one for one in Page(text).ids if one in ("answer", "explorer", "figures", "study", "testbed")]
    assert ids == ["answer", "explorer", "figures", "study", "testbed"]
    marked = (folders["fast"] / "report.md").read_text()
    order = [marked.index(f"## {name}\n") for name in ("Answer", "Figures", "Study", "Testbed")]
    assert order == sorted(order)
    assert "report-figures/answer-figure.svg" in marked
    assert (folders["fast"] / "report-figures/answer-figure.svg").is_file()


def test_two_folders_are_compared_in_words_and_side_by_side(folders: dict[str, Path]) -> None:
    document = document_of_two(open_results(folders["fast"]), open_results(folders["slow"]))
    told = document.answer
    assert told is not None
    assert re.match(r"Over all runs the transmission time is [\d.]+ s in slow and ", told.headline)
    assert "95 % interval" in told.headline
    assert told.sheets[0].rows == [["path.rate: 1 Mbit/s -> 200 kbit/s"]]
    assert "fast on the left, slow on the right, on one axis" in told.pictures[0].caption
    assert document.name == "fast beside slow"
    assert {one.title for one in document.provenance if "(" in one.title} == set() or all(
        one.title.endswith(("(fast)", "(slow)")) for one in document.provenance if "(" in one.title
    )


def test_two_folders_that_are_alike_say_so(folders: dict[str, Path]) -> None:
    told = document_of_two(open_results(folders["fast"]), open_results(folders["again"])).answer
    assert told is not None
    assert told.headline == "Nothing differs between fast and again, as far as both have it."
    assert told.sheets[0].rows == []
    assert told.sheets[0].below.startswith("None: the same settings")


def test_two_designs_stand_beside_each_other(folders: dict[str, Path]) -> None:
    told = document_of_two(open_results(folders["fast"]), open_results(folders["other"])).answer
    assert told is not None
    assert told.headline.startswith("fast: One-way delay moves")
    assert " other: " in told.headline
    assert "They are not compared run by run" in told.more[0]
    assert "--only-common" not in told.more[0]


@pytest.mark.parametrize("form", ["html", "md", "pdf"])
def test_a_report_of_two_is_written_in_each_format(
    folders: dict[str, Path], tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / f"two.{form}"
    with pytest.raises(SystemExit) as left:
        main(["report", str(folders["fast"]), str(folders["slow"]), "--out", str(out)])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"{out}\n"
    if form == "html":
        page = Page(out.read_text())
        assert page.open == []
        assert page.ids.count("beside-1") == 1
    else:
        assert out.stat().st_size > 1000


def test_the_answer_is_printed_as_text(folders: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", str(folders["fast"]), "--format", "text"])
    told = capsys.readouterr().out
    assert told.startswith("One-way delay moves the transmission time most: ")
    assert max(map(len, told.partition("\n\n")[0].splitlines())) <= 100
    assert re.search(r"^queue +", told, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["{fast}", "{slow}", "--with-runs", "all"], "--with-runs: is of one folder"),
        (["{fast}", "--format", "text", "--format", "md"], "--format text: prints the answer"),
        (["{fast}", "{fast}/nothing"], "nothing"),
    ],
)
def test_what_a_report_cannot_be_is_one_line(
    folders: dict[str, Path], capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    with pytest.raises(SystemExit) as left:
        main(["report", *(one.format(**folders) for one in arguments)])
    told = capsys.readouterr().err
    assert left.value.code != 0
    assert len(told.splitlines()) == 1
    assert text in told


def test_a_page_without_an_answer_has_no_such_section(folders: dict[str, Path]) -> None:
    results = open_results(folders["one"])
    empty = type(results)(results.arrow().slice(0, 0), results.study, None)
    assert document_of(empty).answer is None
