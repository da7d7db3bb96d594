"""Losses that never happened never look harmless: from the row to the report."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit import Results, Study, open_results
from rexmit.analyse import NOT_COVERED, OUTSIDE, UNREACHED, WITHIN, Check, Comparison, Published
from rexmit.analyse.reached import compare_reached, is_unreached, reached_part, unreached_of
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.plot import figures
from rexmit.plot.figures import OPEN_LABEL, OPEN_MARKS, OPEN_MEANING
from rexmit.report.document import document_of
from rexmit.report.explorer import explorer_of
from rexmit.report.formats import write_documents
from rexmit.report.write import write_report
from rexmit.run.stacks import third_parties
from rexmit.tables import responses

from .conftest import Command, edited

REPAIRS = study_module("hurtig-2006", "repairs")

POSITION = "path.down.drop"
FLOW = 20
"""Packets of the server in the small study without a loss."""


def results(**vary: Any) -> Results:
    """The small study at one delay, its loss at positions of which two lie behind the end of the flow."""
    table: dict[str, Any] = {
        "title": "A small study",
        "scenario": {
            "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
            "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"},
            "transfers": [{"from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes"}],
        },
        "vary": {POSITION: [0, 3, FLOW, 38, 39], "path.delay": ["5 ms", "20 ms"]} | vary,
    }
    return Study.from_dict(table).run(progress=False)


@pytest.fixture(scope="module")
def some() -> Results:
    return results()


def test_the_row_counts_patterns_that_met_no_packet(some: Results) -> None:
    rows = dict(some.table().group_by(POSITION).agg(pl.col("unreached_down").max()).iter_rows())
    assert rows == {0: 0, 3: 0, FLOW: 0, 38: 1, 39: 1}
    assert some.table()["unreached_up"].sum() == 0
    assert {"unreached_down", "unreached_up"} <= set(responses())


def test_what_is_said_of_them_names_the_levels(some: Results) -> None:
    found = unreached_of(some)
    assert found is not None
    assert (found.runs, found.of, found.first) == (
        4,
        10,
        some.run_number(path__down__drop=38, path__delay="5 ms"),
    )
    assert found.text == (
        "In 4 of 10 runs a pattern met no packet (path.down.drop 38-39): "
        "what it stands for never happened there."
    )
    assert unreached_of(results(**{POSITION: [0, 3]})) is None
    every = unreached_of(results(**{POSITION: [40]}))
    assert every is not None
    assert "(the first is run 0)" in every.text


def test_results_from_before_the_columns_say_nothing(some: Results) -> None:
    table = some.arrow().drop_columns(["unreached_down", "unreached_up"])
    old = Results(table, some.study, None)
    assert unreached_of(old) is None
    assert old.table().filter(is_unreached(old.table())).is_empty()


def test_the_stack_of_another_house_counts_them_too() -> None:
    if third_parties()["usrsctp"].missing is not None:
        pytest.fail(str(third_parties()["usrsctp"].missing))
    study = rexmit.Study.load("pedersen-2006/usrsctp")
    first = {factor.name: [factor.labels[0]] for factor in study.spec.design.factors}
    for name, levels in first.items():
        study = study.set(f"vary.{name}", levels)
    study = (
        study.set("scenario.limit", "20 s")
        .set(f"vary.{POSITION}", [3, 900_000])
        .set("design.replications", 1)
    )
    rows = study.run(progress=False, backend="stack:usrsctp").table()
    assert rows["unreached_down"].to_list() == [0, 1]


# Figures


def lines_of(some: Results) -> Any:
    from matplotlib.figure import Figure

    sheet = Figure()
    axes = sheet.add_subplot()
    frame = some.table()
    x, delays = figures.Factor.of(frame, POSITION), figures.Factor.of(frame, "path.delay")
    figures.time_lines(axes, frame, x, delays)
    return sheet


def test_a_figure_has_a_gap_and_open_marks(some: Results) -> None:
    sheet = lines_of(some)
    by_name = {line.get_gid(): line for line in sheet.axes[0].lines}
    line, marks = by_name["line-5 ms"], by_name[f"{OPEN_MARKS}-5 ms"]
    drawn = {x: y for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True) if y == y}
    assert list(drawn) == [0, 3, FLOW]
    assert list(marks.get_xdata()) == [38, 39]
    assert marks.get_markerfacecolor() == "none"
    assert marks.get_linestyle() == "None"
    assert [handle.get_label() for handle in figures.open_handles(sheet)] == [OPEN_LABEL]


def test_a_figure_without_such_levels_has_none() -> None:
    sheet = lines_of(results(**{POSITION: [0, 3]}))
    assert not [line for line in sheet.axes[0].lines if str(line.get_gid()).startswith(OPEN_MARKS)]
    assert figures.open_handles(sheet) == []


def test_a_loss_that_never_happened_needs_no_repair_and_says_so(some: Results) -> None:
    frame = some.table()
    repaired = REPAIRS.repairs(frame, POSITION, ["path.delay"])
    kinds = dict(repaired.group_by("position").agg(pl.col("repair").first()).iter_rows())
    assert (kinds[0], kinds[38], kinds[39]) == (REPAIRS.NOTHING, "unreached", "unreached")
    assert kinds[3] not in (REPAIRS.NOTHING, "unreached")
    assert "unreached" in study_module("hurtig-2006", "linux").REPAIR_LOOKS


# The report


def test_the_report_says_it_beside_the_figures(some: Results, tmp_path: Path) -> None:
    document = document_of(some)
    found = unreached_of(some)
    assert found is not None
    assert document.unreached == found.text
    assert [picture.note for picture in document.pictures] == [OPEN_MEANING]
    write_report(some, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    figures_part = page[
        page.index('<section id="figures"') : page.index("</section>", page.index('id="figures"'))
    ]
    assert found.text in figures_part
    assert OPEN_MEANING in figures_part
    assert found.text in page[page.index('<section id="explorer"') : page.index('<section id="figures"')]
    write_documents(some, [tmp_path / "report.md", tmp_path / "report.pdf"], [], notes=True)
    assert "a pattern met no packet (path.down.drop 38-39)" in (tmp_path / "report.md").read_text()


def test_the_explorer_is_told_which_rows(some: Results) -> None:
    explorer = explorer_of(some)
    assert explorer is not None
    assert explorer.tables[0]["unreached"] == "unreached"
    whole = explorer_of(results(**{POSITION: [0, 3]}))
    assert whole is not None
    assert "unreached" not in whole.tables[0]


# Comparisons


def published(name: str) -> Published:
    return Published(name, name, "100", "%", "number", "p. 1", "5", "as printed")


def comparing(given: Any) -> Comparison:
    """Three rows: of all runs, of position 39 alone, and of position 3 alone."""
    frame = pl.concat([one.table() for one in given])
    checks = []
    for name, part in (
        ("all", frame),
        ("39", frame.filter(pl.col(POSITION) == 39)),
        ("3", frame.filter(pl.col(POSITION) == 3)),
        ("none", frame.filter(pl.col(POSITION) == 99)),
    ):
        if part.is_empty():
            checks.append(Check.not_covered(published(name), "no such run"))
        else:
            checks.append(Check.of_number(published(name), float(part[POSITION].mean()) + 80))  # type: ignore[arg-type]
    return Comparison("s", checks)


def test_a_number_of_runs_that_met_nothing_is_not_within(some: Results) -> None:
    whole = comparing([some]).checks
    assert [check.verdict for check in whole] == [WITHIN, OUTSIDE, OUTSIDE, NOT_COVERED]
    comparison = compare_reached(comparing, [some])
    first, second, third, last = comparison.checks
    assert (second.verdict, third, last.verdict) == (UNREACHED, whole[2], NOT_COVERED)
    assert "runs in which a pattern met no packet" in second.note
    assert first.ours == f"{(0 + 3 + FLOW) / 3 + 80:.4g}"
    assert first.note == "without runs in which a pattern met no packet"
    assert "path.down.drop 38-39" in comparison.unreached
    only = compare_reached(comparing, [results(**{POSITION: [39]})])
    assert [check.verdict for check in only.checks][:2] == [UNREACHED, UNREACHED]
    assert not replace(only, checks=only.checks[:2]).passed


def test_study_code_that_needs_the_missing_runs_counts_nothing_as_within(some: Results) -> None:
    def needy(given: Any) -> Comparison:
        frame = given[0].table()
        assert 39 in frame[POSITION].to_list()
        return comparing(given)

    assert {check.verdict for check in compare_reached(needy, [some]).checks} == {UNREACHED, NOT_COVERED}


def test_a_part_of_results_has_its_runs_alone(some: Results) -> None:
    part = reached_part(some)
    assert part is not None
    assert part.table()[POSITION].unique().sort().to_list() == [0, 3, FLOW]
    assert reached_part(results(**{POSITION: [40]})) is None


def test_compare_says_so_of_a_published_study(tmp_path: Path, rexmit: Command) -> None:
    study = Study.load("hurtig-2006/short").set("path.rate", ["1000 kbit/s"]).set("path.delay", ["5 ms"])
    # Shorter writes, so that the last positions of the design lie behind the end of the flow.
    study = study.set("scenario.transfers.0.writes", "5000 bytes, 6 x 2500 bytes").set(
        "design.replications", 1
    )
    out = tmp_path / "short"
    made = study.run(out, progress=False)
    checks = {check.published.id: check for check in comparison_of(made)([made]).checks}
    assert checks["P-000-11"].verdict == UNREACHED
    done = rexmit("compare", out, "--json")
    answer = json.loads(done.stdout)
    assert "path.down.drop 18-20" in answer["unreached"]
    assert {c["id"]: c["verdict"] for c in answer["checks"]}["P-000-11"] == UNREACHED
    told = rexmit("compare", out)
    assert "not reached" in told.stdout
    assert "a pattern met no packet (path.down.drop 18-20)" in told.stderr


def test_a_study_over_positions_says_so_on_the_page(
    rexmit: Callable[..., subprocess.CompletedProcess[str]], study_file: Path, tmp_path: Path
) -> None:
    edited(study_file, "0..3", "18..22")
    assert rexmit("run", study_file, "--out", "out").returncode == 0
    assert rexmit("plot", "out").returncode == 0
    [figure] = (tmp_path / "out/figures").glob("*.svg")
    assert f'id="{OPEN_MARKS}-' in figure.read_text()


def test_runs_that_never_began_are_told_once_with_their_count_and_not_as_unreached(
    rexmit: Command, tmp_path: Path
) -> None:
    """Each of these patterns meets nothing, since the program of the host does not start."""
    (tmp_path / "mine.toml").write_text(
        """
title = "mine"
[scenario]
hosts.server.stack = { program = "./not-there" }
hosts.client.stack = "rfc"
path.rate = "1 Mbit/s"
path.delay = "5 ms"
[[scenario.transfers]]
from = "server"
to = "client"
writes = "2 x 100 bytes"
[vary]
"path.down.drop" = [1, 2, 3]
[design]
replications = 2
"""
    )
    done = rexmit("run", "mine.toml", "--out", "out")
    assert done.returncode == 1
    assert "6 runs failed; the first is run 0: " in done.stderr
    assert done.stderr.rstrip().endswith("; the others for the same reason")
    # Once as it happens, once with the count.
    assert done.stderr.count("it cannot be started") == 2
    assert unreached_of(open_results(tmp_path / "out")) is None
