"""The study deboer-2005: its published rows, on a sample of its runs."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from rexmit import Results, Study, merge_results
from rexmit.analyse import Comparison, averages, load_published
from rexmit.analyse.power import CAUGHT, KEPT, measure, power_of, read_power, sample_of
from rexmit.analyse.statements import load_statements
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.report.figures import draw_figures
from rexmit.study import load_spec

deboer = study_module("deboer-2005", "charts")

STUDY = Path(__file__).parents[2] / "studies" / "deboer-2005"
PART = "dummynet"
"""The part whose wrong systems are run here; the others are in power.csv."""


@pytest.fixture(scope="module")
def sample() -> dict[str, Results]:
    """The right system on the sample that the wrong ones run on."""
    parts = sample_of("deboer-2005", Study.load)
    return {name: part.run(progress=False) for name, part in parts.items()}


@pytest.fixture(scope="module")
def comparison(sample: dict[str, Results]) -> Comparison:
    return comparison_of(sample["sack"])(list(sample.values()))


def test_rows_of_the_sample_hold_as_power_has_them(comparison: Comparison) -> None:
    stored = read_power("deboer-2005", STUDY).rows
    ours = {check.published.id: check.verdict for check in comparison.checks}
    assert len(stored) > 20
    assert {row: ours[row] for row in stored} == dict(stored)


def test_a_wrong_system_is_caught_by_the_rows_that_power_names(sample: dict[str, Results]) -> None:
    power = read_power("deboer-2005", STUDY)
    (system,) = (one for one in power.systems if one.name == "hz-1000")
    wrong = system.of(PART, sample_of("deboer-2005", Study.load)[PART]).run(progress=False)
    found = comparison_of(wrong)([wrong])
    marks = {
        check.published.id: CAUGHT if check.verdict == "outside" else KEPT
        for check in found.checks
        if check.verdict != "not covered" and check.published.id in power.rows
    }
    assert marks
    assert marks == {row: power.marks["hz-1000"][row] for row in marks}


@pytest.mark.long
def test_power_is_what_the_wrong_systems_give() -> None:
    comparisons = list(measure("deboer-2005", Study.load))
    assert power_of("deboer-2005", comparisons).csv() == (STUDY / "power.csv").read_text()


def test_what_differs_after_an_empty_cache_differs_as_recorded() -> None:
    results = (
        Study.load("deboer-2005/buffers")
        .set("design.replications", 1)
        .set("bufspace", [16776960])
        .set("rfc1323", [1])
        .set("latency", ["100 ms"])
        .run(progress=False)
    )
    verdicts = {check.published.id: check.verdict for check in comparison_of(results)([results]).checks}
    assert verdicts["P-004-4"] == "differs as recorded"
    assert verdicts["P-004-4f"] == "within"


def test_every_statement_of_the_text_has_a_row_or_a_reason() -> None:
    coverage = load_statements(STUDY)
    assert len(coverage.statements) == 112
    text = (STUDY / "README.md").read_text()
    assert _between(text, "coverage") == coverage.text() + "\n"
    assert _between(text, "uncovered") == coverage.table()


def test_the_readme_shows_the_power_that_is_stored() -> None:
    power = read_power("deboer-2005", STUDY)
    assert _between((STUDY / "README.md").read_text(), "power") == power.page()
    assert power.caught >= 12


def test_the_readme_shows_what_compare_prints() -> None:
    table = _between((STUDY / "README.md").read_text(), "compare").splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table]
    rows = load_published(STUDY / "published.csv")
    assert [row[0].strip("| ") for row in cells] == [row.id for row in rows]
    for row, shown in zip(rows, cells, strict=True):
        assert shown[1] == row.what
        expected = "differs as recorded" if row.deviation else "within"
        assert shown[6] == expected, row.id
        for reason in (row.tolerance_reason, row.history, row.deviation_reason):
            assert reason.replace("|", "/") in shown[7]
        if row.value:
            number = float(shown[3])
            assert row.verdict(number, row.allows(number)) == expected, row.id


@pytest.mark.long
def test_the_readme_shows_what_compare_prints_of_all_runs() -> None:
    parts = study_module("deboer-2005", "page").MODEL
    results = [Study.load(f"deboer-2005/{part}").run(progress=False) for part in parts]
    table = comparison_of(results[0])(results).to_markdown()
    assert _between((STUDY / "README.md").read_text(), "compare") == table


def _between(text: str, mark: str) -> str:
    return text.partition(f"<!-- {mark} -->\n")[2].partition(f"<!-- /{mark} -->")[0]


def test_the_script_keeps_the_value_before_for_units_that_it_does_not_know() -> None:
    script = study_module("deboer-2005", "averages_pl").averages_pl
    logs = [[1.5e6, 0.8e6, 0.9e6], [0.5e6, 1.2e6, 0.6e6]]
    assert script(logs) == pytest.approx([1.5, (1.07 + 1.2 + 1.2) / 3])
    assert script(logs, heading=True) == pytest.approx([1.125, 1.135])


def test_the_script_reads_what_iperf_prints() -> None:
    printed = study_module("deboer-2005", "averages_pl").printed
    assert [printed(value) for value in (1.234, 12.34, 123.4)] == [1.23, 12.3, 123]


def test_the_host_cache_leaves_a_threshold_that_one_connection_cannot_outgrow() -> None:
    study = Study.load("deboer-2005/order").set("transfers.0.connections", [1])
    results = study.set("test", ["newreno-1-0.1-100", "bufspace-16776960-1-100"]).run(progress=False)
    checks = {check.published.id: check for check in comparison_of(results)([results]).checks}
    assert [checks[row].verdict for row in ("P-004-4c", "P-004-4d")] == ["differs as recorded"] * 2
    assert checks["P-004-17"].verdict == "within"
    assert results.table()["cached_ssthresh"][1] < 65535


def test_a_receiver_that_keeps_more_has_no_dip() -> None:
    limit = "hosts.server.stack.buffers.reassembly_limit"
    study = Study.load("deboer-2005/reassembly").set("recovery", ["SACK"]).set("loss", ["0.1 %", "1 %"])
    results = study.set("transfers.0.bulk", "10 s").run(progress=False)
    frame = deboer.throughputs(results.table(), results.intervals(), 10)
    found = {(row[limit], row["loss"]): row["mbit_s"] for row in frame.iter_rows(named=True)}
    assert found[48, "0.1 %"] < found[48, "1 %"]
    assert found[1000, "0.1 %"] > found[1000, "1 %"]


def test_no_run_is_above_what_theory_allows(sample: dict[str, Results]) -> None:
    buffers = sample["buffers"]
    for row in deboer.throughputs(buffers.table(), buffers.intervals(), 3).iter_rows(named=True):
        window = row["bufspace"] if row["rfc1323"] else 65535
        most = deboer.bound(window, row["latency"], 1448 if row["rfc1323"] else 1460)
        # What iperf counts and the send buffer still holds.
        assert row["mbit_s"] <= most + row["bufspace"] * 8 / 3e6


def test_two_runs_merged_are_a_table_as_of_two_replications(tmp_path: Path) -> None:
    study = Study.load("deboer-2005/sack").set("latency", ["100 ms"]).set("loss", ["1 %", "5 %"])
    study = study.set("transfers.0.bulk", "10 s")
    for seed in (1, 2):
        study.set("design.replications", 1).set("design.seed", seed).run(tmp_path / str(seed), progress=False)
    merged = merge_results([tmp_path / "1", tmp_path / "2"], None)
    tables = []
    for results in (merged, study.run(progress=False)):
        frame = deboer.throughputs(results.table(), results.intervals(), 10)
        tables.append(averages(frame, ["sack", "loss", "latency"], ["mbit_s"]))
    ours, whole = tables
    assert ours.columns == whole.columns
    assert ours.select("sack", "loss", "latency", "n").equals(whole.select("sack", "loss", "latency", "n"))
    assert ours["n"].unique().to_list() == [2]
    assert (ours["low"] < ours["mean"]).all()
    assert ((ours["mean"] / whole["mean"]).is_between(0.5, 2)).all()


def test_each_data_direction_has_half_the_loss_of_its_label() -> None:
    for factor in load_spec("deboer-2005/sack").design.factors:
        if factor.name == "loss":
            for setting in factor.settings:
                halves = [2 * float(str(text).split()[0]) for text in factor.columns_of(setting)]
                assert halves == pytest.approx([float(str(label).split()[0]) for label in factor.labels])


def test_figures_are_drawn(sample: dict[str, Results], tmp_path: Path) -> None:
    names = {path.stem[:11] for path in draw_figures(sample["buffers"], tmp_path, ["png"])}
    names |= {path.stem[:14] for path in draw_figures(sample["sack"], tmp_path, ["svg"])}
    assert {"figure-5-01", "figure-5-02", "both-ways-5-03", "both-ways-5-04"} <= names
    for part in ("dummynet", "order", "connections"):
        assert draw_figures(sample[part], tmp_path / part, ["svg"])


def test_the_tcp_friendly_rate_is_below_the_bound() -> None:
    for loss in (0.0005, 0.005, 0.05):
        for latency in deboer.ROUND_TRIP_MS:
            rate = deboer.friendly(65535, latency, 1448, loss)
            assert 0 < rate <= deboer.bound(65535, latency, 1448, loss) <= deboer.bound(65535, latency, 1448)


def test_reported_throughput_is_what_was_written_over_the_time() -> None:
    runs = pl.DataFrame({"run": [0, 1]})
    intervals = pl.DataFrame({"run": [0, 0, 1], "written": [1_000_000, 250_000, 500_000]})
    assert deboer.throughputs(runs, intervals, 10)["mbit_s"].to_list() == pytest.approx([1, 0.4])


@pytest.mark.parametrize(
    ("value", "number", "text"),
    [
        (260.4, 2, "260"),
        (99.6, 2, "100"),
        (9.96, 2, "10"),
        (0.5, 2, "0.5"),
        (1234.0, 3, "1230"),
        (3.628, 3, "3.63"),
    ],
)
def test_numbers_of_the_tables_have_no_exponent(value: float, number: int, text: str) -> None:
    assert study_module("deboer-2005", "page").digits(value, number) == text


def test_no_cell_of_the_readme_has_an_exponent() -> None:
    assert not re.search(r"\de[+-]\d", (STUDY / "README.md").read_text())
