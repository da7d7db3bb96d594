"""The study hurtig-2006 comes out again: its whole parameter table, every published row."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rexmit import Results, Study
from rexmit.analyse import Comparison, load_published
from rexmit.analyse.power import measure, power_of, read_power
from rexmit.analyse.statements import load_statements
from rexmit.analyse.study_code import comparison_of, study_module

from .ran import loading

STUDY = Path(__file__).parents[2] / "studies" / "hurtig-2006"


@pytest.fixture(scope="module")
def short() -> Results:
    return Study.load("hurtig-2006/short").run(progress=False)


@pytest.fixture(scope="module")
def long() -> Results:
    return Study.load("hurtig-2006/long").run(progress=False)


@pytest.fixture(scope="module")
def earlier() -> Results:
    return Study.load("hurtig-2006/earlier").run(progress=False)


@pytest.fixture(scope="module")
def comparison(short: Results, long: Results, earlier: Results) -> Comparison:
    return comparison_of(short)([short, long, earlier])


@pytest.mark.parametrize("published", load_published(STUDY / "published.csv"), ids=lambda row: row.id)
def test_published(published: object, comparison: Comparison) -> None:
    (check,) = [check for check in comparison.checks if check.published == published]
    expected = "differs as recorded" if check.published.deviation else "within"
    assert check.verdict == expected, f"published {check.published.value}, ours {check.ours} {check.note}"


def test_every_run_completes_and_delivers_every_byte(short: Results, long: Results, earlier: Results) -> None:
    for results, size in ((short, 25_000), (long, 140_000), (earlier, 25_000)):
        table = results.table()
        assert table["completed"].all()
        assert table["error"].is_null().all()
        assert table["bytes"].unique().to_list() == [size]


def test_a_position_within_the_flow_loses_exactly_one_packet(short: Results) -> None:
    lost = short.table().filter(pl.col("path.down.drop") > 0)
    assert lost["drops_down"].unique().to_list() == [1]
    assert lost["drops_up"].sum() == 0


def test_one_part_of_the_study_leaves_the_other_uncovered(short: Results) -> None:
    verdicts = {check.published.id: check.verdict for check in comparison_of(short)([short]).checks}
    assert verdicts["P-000-2"] == "within"
    assert verdicts["P-000-23"] == verdicts["P-000-32"] == verdicts["P-000-98"] == "not covered"


@pytest.mark.parametrize("rate", ["40 kbit/s", "1000 kbit/s"])
@pytest.mark.parametrize("delay", ["5 ms", "300 ms"])
@pytest.mark.parametrize("part", ["short", "long"])
def test_a_single_path_is_compared_as_far_as_it_goes(part: str, rate: str, delay: str) -> None:
    study = Study.load(f"hurtig-2006/{part}").set("vary.path.rate", [rate]).set("vary.path.delay", [delay])
    results = study.set("design.replications", 1).run(progress=False)
    verdicts = [check.verdict for check in comparison_of(results)([results]).checks]
    assert verdicts.count("not covered") > len(verdicts) / 2


def _shown(name: str, page: Path = STUDY / "README.md") -> str:
    return page.read_text().partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def test_the_readme_of_the_study_shows_these_numbers(comparison: Comparison) -> None:
    assert _shown("compare") == comparison.to_markdown(), "run scripts/study_page.py hurtig-2006"


def test_the_page_shows_every_figure_beside_its_rows(comparison: Comparison) -> None:
    captions = study_module("hurtig-2006", "captions")
    page = STUDY.parents[1] / "docs" / "studies" / "hurtig-2006.md"
    assert _shown("figures", page) == captions.figures(comparison), "run scripts/study_page.py hurtig-2006"
    assert list(captions.FIGURES) == [f"4-{number:02}" for number in range(1, 26)]
    for name in re.findall(r"\(\.\./img/(\S+)\)", page.read_text()):
        assert (page.parents[1] / "img" / name).exists()


def test_the_readme_says_what_is_covered() -> None:
    coverage = load_statements(STUDY)
    assert _shown("coverage") == f"{coverage.text()}\n\n{coverage.table()}"
    assert (len(coverage.statements), coverage.stated, coverage.held) == (153, 277, 155)
    assert not [one.id for one in coverage.open if one.kind == "result" and one.id != "S-000-27"]


def test_no_definition_of_the_average_meets_all_that_the_text_states(short: Results, long: Results) -> None:
    searches = study_module("hurtig-2006", "searches")
    flows = [sys.modules["rexmit_study_hurtig_2006.flows"].Flow(results) for results in (short, long)]
    found = list(searches.definitions(*flows))
    assert (len(found), max(sum(one.meets()) for one in found)) == (25, 6)
    assert _shown("definitions") == searches.definitions_table(*flows)
    assert _shown("subsets") == searches.subsets_table(flows[0])


def test_half_of_the_lost_syn_acks_are_repaired_by_the_client(short: Results) -> None:
    assert _shown("handshakes") == study_module("hurtig-2006", "handshakes").handshakes_table(short)


def test_the_searches_of_other_systems_come_out_again() -> None:
    searches = study_module("hurtig-2006", "searches")
    for name in ("nothing changed", "ten writes of 2500 bytes"):
        values = " | ".join(f"{value:.1f}" for value in searches.perturbed(searches.PERTURBED[name]))
        assert f"| {name} | {values} |\n" in _shown("perturbed")
        ends = ", ".join(map(str, searches.earlier_ends(searches.EARLIER[name])))
        assert f"| {name} | {ends} |\n" in _shown("earlier")


def test_the_score_is_that_of_other_draws_of_the_ticks() -> None:
    searches = study_module("hurtig-2006", "searches")
    assert _shown("score") == searches.score_text()
    assert _shown("score").startswith("Of 6 cells")
    assert set(searches.AVERAGES) < set(searches.REPLICATED)


def test_a_wrong_system_is_caught_by_the_rows_that_power_csv_names(
    short: Results, long: Results, earlier: Results
) -> None:
    stored = read_power("hurtig-2006", STUDY)
    load = loading([short, long, earlier])
    measured = power_of("hurtig-2006", list(measure("hurtig-2006", load, ["min-rto-1s"])))
    assert measured.rows == stored.rows
    assert measured.marks["min-rto-1s"] == stored.marks["min-rto-1s"]
    assert {"P-000-1", "P-000-20", "P-000-23"} <= set(measured.caught_by("min-rto-1s"))


def test_the_readme_says_which_wrong_systems_are_caught() -> None:
    power = read_power("hurtig-2006", STUDY)
    assert _shown("power") == power.page()
    assert power.caught == len(power.systems) >= 12


def test_bursts_do_not_hang_on_the_threshold(comparison: Comparison, short: Results, long: Results) -> None:
    flows = sys.modules["rexmit_study_hurtig_2006.flows"]
    runs = [(flows.Flow(short), 320, at, bursts) for at, bursts in ((0, 3), (8, 4), (9, 3), (10, 4))]
    runs += [(flows.Flow(long), 500, at, bursts) for at, bursts in ((41, 12), (50, 11))]
    for flow, kbit_s, at, bursts in runs:
        sent = flow.connection(kbit_s, 300, at).server.segments
        pauses = np.diff(sent.time_ns[sent.len > 0]) / 600e6
        assert {1 + int(np.count_nonzero(pauses > part)) for part in np.arange(0.53, 0.68, 0.01)} == {bursts}


@pytest.mark.parametrize(
    ("part", "bounds"), [("short", range(300, 5801, 500)), ("long", range(400, 5501, 300))]
)
def test_peaks_do_not_hang_on_the_bound(
    part: str, bounds: range, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    study_module("hurtig-2006")
    regions = sys.modules["rexmit_study_hurtig_2006.regions"]
    flow = sys.modules["rexmit_study_hurtig_2006.flows"].Flow(request.getfixturevalue(part))
    for bound in bounds:
        monkeypatch.setattr(regions, "PEAK_MS", bound)
        for ms in (5, 10, 20):
            assert [at for at in regions._peaks(flow, (40, ms)) if at <= 20] == [14, 20]
    monkeypatch.setattr(regions, "PEAK_MS", 0.2)
    faster = [path for path in flow.paths() if path[0] >= 80] if part == "short" else []
    assert not [path for path in faster if {14, 20} & set(regions._peaks(flow, path))]
