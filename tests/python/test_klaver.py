"""The study klaver-2005 comes out again: table 5.1, its cycles, both switches, and its figures."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import rexmit
from rexmit import Results, Study
from rexmit.analyse import Comparison, load_published
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.report import draw_figures
from rexmit.report.friendly import TcpFriendly
from rexmit.report.friendly_runs import meanings, tcp_friendly_runs
from rexmit.study import load_spec

CYCLES = study_module("klaver-2005", "cycles")

STUDY = Path(__file__).parents[2] / "studies" / "klaver-2005"
PARTS = ("controlled", "acks", "cycles", "enschede")
UNCOVERED = {*(f"P-003-10.{number}" for number in range(1, 5)), "P-003-13", "P-003-14"}
"""Buffers of one and two packets, with which there is no cycle as chapter 4 has it; shared Internet paths."""
CASE, COUNTS = "case", "hosts.server.stack.congestion.counts"
POLICY, ALGORITHM = "hosts.client.stack.delayed_ack.policy", "hosts.server.stack.congestion.algorithm"


@pytest.fixture(scope="module")
def results() -> dict[str, Results]:
    return {part: Study.load(f"klaver-2005/{part}").run(progress=False) for part in PARTS}


@pytest.fixture(scope="module")
def comparison(results: dict[str, Results]) -> Comparison:
    return comparison_of(results["controlled"])(list(results.values()))


def cycles_of(results: Results) -> dict[str, CYCLES.Cycle]:
    """A cycle from the middle of each run, by its case."""
    cases = dict(results.table().select("run", CASE).iter_rows())
    found: dict[str, CYCLES.Cycle] = {}

    def keep(run: int, seen: TcpFriendly) -> None:
        found[cases[run]] = CYCLES.cycle_of(seen.looked[0].judged[0])

    tcp_friendly_runs(results, each=keep)
    return found


@pytest.mark.parametrize("published", load_published(STUDY / "published.csv"), ids=lambda row: row.id)
def test_published(published: object, comparison: Comparison) -> None:
    (check,) = [check for check in comparison.checks if check.published == published]
    expected = "differs as recorded" if check.published.deviation else "within"
    expected = "not covered" if check.published.id in UNCOVERED else expected
    assert check.verdict == expected, f"published {check.published.value}, ours {check.ours} {check.note}"


def test_the_readme_of_the_study_shows_these_numbers(comparison: Comparison) -> None:
    text = (STUDY / "README.md").read_text()
    shown = text.partition("<!-- compare -->\n")[2].partition("<!-- /compare -->")[0]
    assert shown == comparison.to_markdown(), "run scripts/study_page.py klaver-2005"


def test_the_cases_are_those_of_table_5_1() -> None:
    spec = load_spec("klaver-2005/controlled")
    (factor,) = spec.design.factors
    table = {10: {0: (2, 4)}, 100: {0: (4, 8, 16, 32, 64), 100: (4, 8, 16, 32)}}
    table[1000] = {0: (8, 16, 32, 64, 128), 100: (8, 16, 32, 64, 128), 250: (8, 16, 32, 64)}
    table[10_000] = {0: (128, 256), 100: (128,)}
    expected = {
        (f"{rate} kbit/s" if rate < 1000 else f"{rate // 1000} Mbit/s", f"{size} KiB", f"{delay} ms")
        for rate, columns in table.items()
        for delay, sizes in columns.items()
        for size in sizes
    }
    paths = [spec.scenario_of(run)["path"]["down"] for run in range(0, spec.design.runs, 3)]
    levels = [(path["rate"], path["queue"], path["delay"]) for path in paths]
    assert set(levels) == expected
    assert len(levels) == 28
    for label, (rate, queue, delay) in zip(factor.labels, levels, strict=True):
        assert label == f"{rate}, {queue.replace('KiB', 'kB')}, {delay}"


def test_measurements_hold_ten_cycles_and_meet_the_conditions(results: dict[str, Results]) -> None:
    table = rexmit.tcp_friendly_runs(results["controlled"])
    assert table.filter(pl.col("applies") == "no")[CASE].unique().to_list() == ["10 kbit/s, 2 kB, 0 ms"]
    measured = table.filter(pl.col("f").is_not_null())
    assert measured.height == 27 * 3
    assert measured["window_cycles"].min() >= 10  # type: ignore[operator]
    large_rtt = study_module("klaver-2005", "charts").large_rtt
    assert sum(large_rtt(measured.filter(pl.col("replication") == 0))) == 3


def test_a_cycle_is_that_of_chapter_4_segment_by_segment(results: dict[str, Results]) -> None:
    cycles = cycles_of(results["cycles"])
    for w, recovery in ((11, [9, 8, 7, 6, 5]), (12, [10, 9, 8, 7, 6])):
        cycle = cycles[f"W = {w}"]
        stairs = [(int(cwnd), len(list(group))) for cwnd, group in groupby(cycle.cwnd)]
        # Two at the peak, W - 1 for the ACKs still to come, two for the first SACKs; the retransmission.
        expected = [(w, 2 + w - 1 + 2), (w - 1, 1), *((cwnd, 1) for cwnd in recovery)]
        # One step of slow start, then cwnd + 1 ACKs a step, and one segment more for the step.
        steps = [(cwnd, cwnd + 2) for cwnd in range(w // 2 + 1, w)]
        if w % 2 == 0:
            # The counter is left at 1: (4.2) has one less.
            steps[0] = (w // 2 + 1, w // 2 + 2)
            expected[-1] = (recovery[-1], 2)
        assert stairs == [*expected, *steps]
        assert np.flatnonzero(cycle.lost).tolist() == [1]
        assert np.flatnonzero(cycle.again).tolist() == [2 + w - 1 + 2]


def test_delayed_acks_cost_half_a_segment(results: dict[str, Results]) -> None:
    single = (pl.col("window_lost") == pl.col("window_cycles")) & (pl.col("w") >= 11)
    fast = (pl.col("path.down.rate_bit_s") == 1_000_000) & (pl.col("path.down.delay_ns") < 200_000_000)
    chosen = results["acks"].table().filter(fast & (pl.col(COUNTS) == "segments"))
    own = rexmit.tcp_friendly_runs(results["acks"], chosen["run"].to_list()).filter(single)
    each, delayed = (
        dict(own.filter(pl.col(POLICY) == policy).select(CASE, "f").iter_rows())
        for policy in ("immediate", "quick-ack")
    )
    assert len(delayed) >= 3
    for case, f in delayed.items():
        assert each[case] - f == pytest.approx(0.5, abs=0.06), case


def test_the_receiver_s_first_sack_costs_a_second_segment_at_100_kbit_s() -> None:
    case = "100 kbit/s, 16 kB, 100 ms"
    study = Study.load("klaver-2005/controlled").set("case", case).set("design.replications", 1)
    cycle = cycles_of(study.run(progress=False))[case]
    first, second = np.flatnonzero(cycle.lost)
    assert (first, second) == (1, 13)
    gaps = np.diff(cycle.time)
    # ACKs are 121 ms apart; the first SACK comes 22 ms after the ACK before it, which was 40 ms late.
    assert gaps[1 : second - 1] == pytest.approx(0.121, abs=0.002)
    assert gaps[second - 1] == pytest.approx(0.022, abs=0.001)
    study = study.set("hosts.client.stack.delayed_ack.policy", "immediate")
    assert np.flatnonzero(cycles_of(study.run(progress=False))[case].lost).tolist() == [1]


def test_p_and_f_do_not_depend_on_the_bucket() -> None:
    study = Study.load("klaver-2005/controlled").set("case", "10 Mbit/s, 128 kB, 0 ms")
    study = study.set("design.replications", 1)
    small, large = (
        rexmit.tcp_friendly_runs(study.set("path.down.burst", burst).run(progress=False)).row(0, named=True)
        for burst in ("1600 bytes", "5000 bytes")
    )
    assert small["rate_bit_s"] == pytest.approx(5.792e6, rel=0.001)
    assert large["rate_bit_s"] == pytest.approx(9.54e6, rel=0.003)
    assert large["w"] == pytest.approx(small["w"], abs=4)
    assert large["error_klaver"] == pytest.approx(small["error_klaver"], abs=0.01)


def test_one_part_of_the_study_leaves_the_others_uncovered(results: dict[str, Results]) -> None:
    checks = comparison_of(results["cycles"])([results["cycles"]]).checks
    verdicts = {check.published.id: check.verdict for check in checks}
    assert verdicts["P-003-6"] == verdicts["P-003-1"] == "within"
    assert verdicts["P-003-3"] == verdicts["P-003-10.15"] == verdicts["P-003-12.3"] == "not covered"


def test_another_sender_does_not_pass_for_this_one() -> None:
    study = Study.load("klaver-2005/controlled").set("design.replications", 1)
    study = study.set("hosts.server.stack.congestion.counts", "acks")
    results = study.set("case", ["1 Mbit/s, 32 kB, 0 ms", "1 Mbit/s, 64 kB, 0 ms"]).run(progress=False)
    verdicts = {check.published.id: check.verdict for check in comparison_of(results)([results]).checks}
    assert verdicts["P-003-10.18"] == verdicts["P-003-10.21"] == "outside"


class TestFigures:
    """Each figure comes from results."""

    def test_of_cycles(self, results: dict[str, Results], tmp_path: Path) -> None:
        files = draw_figures(results["cycles"], tmp_path, ["png"])
        names = ["4-1", "4-3", "4-2", "4-4", "2-1", "4-5"]
        assert [file.stem for file in files] == [f"figure-{name}" for name in names]

    def test_of_table_5_1(self, tmp_path: Path) -> None:
        study = Study.load("klaver-2005/controlled").set("design.replications", 1)
        study = study.set(
            "case", ["100 kbit/s, 4 kB, 0 ms", "1 Mbit/s, 16 kB, 0 ms", "1 Mbit/s, 8 kB, 250 ms"]
        )
        files = draw_figures(study.run(progress=False), tmp_path, ["svg", "pdf"])
        assert [file.name for file in files] == [
            f"{name}.{form}" for name in ("figure-5-1", "relative-errors") for form in ("svg", "pdf")
        ]

    def test_of_the_switches_and_of_the_line(self, results: dict[str, Results], tmp_path: Path) -> None:
        for part, name in (("acks", "constant"), ("enschede", "window")):
            assert [file.stem for file in draw_figures(results[part], tmp_path, ["png"])] == [name]


def on_linux(seconds: int, *algorithms: str) -> Study:
    """One path of the part on Linux 6.1."""
    study = Study.load("klaver-2005/linux").set(ALGORITHM, list(algorithms))
    return study.set("case", "1 Mbit/s, 16 kB, 0 ms").set("transfers.0.bulk", f"{seconds} s")


def test_cubic_meets_not_the_conditions_and_reno_does(tmp_path: Path) -> None:
    results = on_linux(60, "reno", "cubic").run(progress=False)
    table = rexmit.tcp_friendly_runs(results)
    assert table.select(ALGORITHM, "applies").rows() == [("reno", "yes"), ("cubic", "no")]
    assert [file.stem for file in draw_figures(results, tmp_path, ["png"])] == ["linux-points"]


@pytest.mark.usefixtures("guest")
def test_linux_loses_the_step_s_segment_and_rack_s_early_retransmission(tmp_path: Path) -> None:
    results = on_linux(40, "reno").run(tmp_path / "linux", backend="uml", capture="all", progress=False)
    row = rexmit.tcp_friendly_runs(results).row(0, named=True)
    assert row["w"] == 11
    assert row["window_lost"] / row["window_cycles"] == pytest.approx(3, abs=0.1)
    assert 1 / row["p_delivered"] == pytest.approx(66, abs=0.5)


def test_every_column_has_a_meaning(results: dict[str, Results]) -> None:
    table = rexmit.tcp_friendly_runs(results["enschede"], [0])
    assert table.height == 1
    assert set(meanings()) == set(table.columns) - set(results["enschede"].table().columns)
