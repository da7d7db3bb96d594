"""The study deboer-2005: its published rows, on a part of its runs that suffices for each of them."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from rexmit import Results, Study, merge_results
from rexmit.analyse import Comparison, averages, load_published
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.report.figures import draw_figures
from rexmit.study import load_spec

deboer = study_module("deboer-2005", "charts")

STUDY = Path(__file__).parents[2] / "studies" / "deboer-2005"


def part(name: str, **settings: object) -> Results:
    """The runs of a file with these settings, `__` standing for a dot; one replication unless said."""
    study = Study.load(f"deboer-2005/{name}").set("design.replications", 1)
    for key, value in settings.items():
        study = study.set(key.replace("__", "."), value)
    return study.run(progress=False)


@pytest.fixture(scope="module")
def sack() -> Results:
    return part("sack", latency=["0 ms"])


@pytest.fixture(scope="module")
def newreno() -> Results:
    return part("newreno", newreno=[1], latency=["0 ms", "50 ms", "100 ms"])


@pytest.fixture(scope="module")
def buffers() -> Results:
    return part("buffers", transfers__0__bulk="5 s", intervals="1 s")


@pytest.fixture(scope="module")
def comparison(sack: Results, newreno: Results, buffers: Results) -> Comparison:
    tick = part("tick", transfers__0__bulk="2 s", latency=["10 ms", "100 ms"])
    acks = part("acks", transfers__0__bulk="3 s", path__down__loss=["0 %", "1 %"])
    return comparison_of(sack)([sack, newreno, buffers, tick, acks])


@pytest.mark.parametrize(
    "published",
    [row for row in load_published(STUDY / "published.csv") if row.id not in ("P-004-4", "P-004-11")],
    ids=lambda row: row.id,
)
def test_published(published: object, comparison: Comparison) -> None:
    (check,) = [check for check in comparison.checks if check.published == published]
    expected = "differs as recorded" if check.published.deviation else "within"
    assert check.verdict == expected, f"published {check.published.value}, ours {check.ours} {check.note}"


def test_sixteen_megabytes_at_100_ms_differ_as_recorded() -> None:
    results = part("buffers", bufspace=[16776960], rfc1323=[1], latency=["100 ms"])
    verdicts = {check.published.id: check.verdict for check in comparison_of(results)([results]).checks}
    assert verdicts.pop("P-004-4") == "differs as recorded"
    assert verdicts.pop("P-004-4b") == "within"
    assert set(verdicts.values()) == {"not covered"}


def test_a_receiver_that_keeps_more_has_no_dip() -> None:
    limit = "hosts.server.stack.buffers.reassembly_limit"
    study = Study.load("deboer-2005/reassembly").set("recovery", ["SACK"]).set("loss", ["0.1 %", "1 %"])
    results = study.set("transfers.0.bulk", "10 s").run(progress=False)
    frame = deboer.throughputs(results.table(), results.intervals(), 10)
    found = {(row[limit], row["loss"]): row["mbit_s"] for row in frame.iter_rows(named=True)}
    assert found[48, "0.1 %"] < found[48, "1 %"]
    assert found[1000, "0.1 %"] > found[1000, "1 %"]


def test_no_run_is_above_what_theory_allows(buffers: Results) -> None:
    for row in deboer.throughputs(buffers.table(), buffers.intervals(), 5).iter_rows(named=True):
        window = row["bufspace"] if row["rfc1323"] else 65535
        most = deboer.bound(window, row["latency"], 1448 if row["rfc1323"] else 1460)
        # What iperf counts and the send buffer still holds.
        assert row["mbit_s"] <= most + row["bufspace"] * 8 / 5e6


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


def test_figures_are_drawn(sack: Results, buffers: Results, tmp_path: Path) -> None:
    names = {path.stem[:11] for path in draw_figures(buffers, tmp_path, ["png"])}
    names |= {path.stem[:11] for path in draw_figures(sack, tmp_path, ["svg"])}
    assert names == {"figure-5-01", "figure-5-02", "figure-5-03", "figure-5-04"}


def test_the_readme_shows_what_compare_prints_of_a_statement(comparison: Comparison) -> None:
    text = (STUDY / "README.md").read_text()
    for check in comparison.checks:
        assert f"| {check.published.id} |" in text


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
