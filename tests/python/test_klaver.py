"""The study klaver-2005 comes out again: table 5.1, its cycles, both switches, and its figures."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import rexmit
from rexmit import Results, Study
from rexmit.analyse import Comparison, Published
from rexmit.analyse.power import read_power, sample_of, systems_of
from rexmit.analyse.statements import load_statements
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.report import draw_figures
from rexmit.report.friendly import TcpFriendly
from rexmit.report.friendly_runs import meanings, tcp_friendly_runs
from rexmit.study import load_spec

CYCLES = study_module("klaver-2005", "cycles")
EVIDENCE = study_module("klaver-2005", "evidence")

STUDY = Path(__file__).parents[2] / "studies" / "klaver-2005"
PARTS = ("controlled", "cycles", "enschede", "window", "conditions")
LONG = (*PARTS, "acks", "random", "shared", "absent")
"""The parts that the study's README compares; the last four are long."""
CASE, COUNTS = "case", "hosts.server.stack.congestion.counts"
POLICY, ALGORITHM = "hosts.client.stack.delayed_ack.policy", "hosts.server.stack.congestion.algorithm"


@pytest.fixture(scope="module")
def results() -> dict[str, Results]:
    """The parts that are quick, one replication of each; `conditions` whole, whose losses are random."""
    found = {part: Study.load(f"klaver-2005/{part}") for part in PARTS}
    for part in ("controlled", "enschede"):
        found[part] = found[part].set("design.replications", 1)
    return {part: study.run(progress=False) for part, study in found.items()}


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


NEEDS_MORE = {
    *("P-003-2.1", "P-003-2.2", "P-003-2.3", "P-003-2.4", "P-003-12.7", "P-003-13.3", "P-003-13.4"),
    *("P-003-13.5", "P-003-13.6", "P-003-13.7", "P-003-14.1", "P-003-14.2", "P-003-14.3", "P-003-14.4"),
    *("P-003-14.5", "P-003-14.6", "P-003-14.7", "P-003-28"),
    *("P-003-1.1", "P-003-3", "P-003-4", "P-003-5", "P-003-5.1", "P-003-15", "P-003-16", "P-003-16.1"),
    *("P-003-16.2", "P-003-16.3", "P-003-23"),
}
"""Rows of the long parts, and of three replications."""
COUNTED = {"P-003-24.3"}
"""Rows that count runs of three replications."""


def test_every_row_is_within_or_differs_as_recorded(comparison: Comparison) -> None:
    wrong = {
        check.published.id: f"{check.verdict}: {check.ours}"
        for check in comparison.checks
        if check.published.id not in COUNTED and check.verdict != _expected(check.published)
    }
    assert not wrong


def _expected(published: Published) -> str:
    if published.id in NEEDS_MORE:
        return "not covered"
    return "differs as recorded" if published.deviation else "within"


@pytest.mark.long
def test_the_readme_of_the_study_shows_these_numbers() -> None:
    every = [Study.load(f"klaver-2005/{part}").run(progress=False) for part in LONG]
    found = comparison_of(every[0])(every)
    assert {check.verdict for check in found.checks} <= {"within", "differs as recorded"}
    assert _between("compare") == found.to_markdown(), "run scripts/study_page.py klaver-2005"


def test_every_statement_of_the_text_has_a_row_or_a_reason() -> None:
    coverage = load_statements(STUDY)
    assert len(coverage.statements) == 136
    assert coverage.stated == 265
    assert _between("coverage") == f"{coverage.text()}\n", "run scripts/study_page.py klaver-2005"
    assert _between("uncovered") == coverage.table(), "run scripts/study_page.py klaver-2005"


def _between(name: str) -> str:
    text = (STUDY / "README.md").read_text()
    return text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def test_a_wrong_system_is_caught_by_the_rows_that_power_csv_names() -> None:
    """One of them, on the parts in which it differs; of rows that take other parts nothing is said."""
    power = read_power("klaver-2005", STUDY)
    assert _between("power") == power.page(), "run scripts/power.py klaver-2005"
    (system,) = [system for system in systems_of("klaver-2005") if system.name == "dupthresh-4"]
    part = sample_of("klaver-2005", Study.load)["cycles"]
    wrong = system.of("cycles", part).run(progress=False)
    found = {check.published.id: check.verdict for check in comparison_of(wrong)([wrong]).checks}
    rows = [row for row in power.rows if row.startswith(("P-003-21", "P-003-22", "P-003-6", "P-003-7"))]
    caught = [row for row in rows if found[row] == "outside"]
    assert caught == [row for row in rows if row in power.caught_by("dupthresh-4")]
    assert caught == ["P-003-6", "P-003-7", "P-003-21.1a", "P-003-21.1b"]


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
    table = EVIDENCE.Evidence([results["controlled"]]).part("controlled")
    assert table.filter(pl.col("applies") == "no")[CASE].unique().to_list() == ["10 kbit/s, 2 kB, 0 ms"]
    measured = table.filter(pl.col("f").is_not_null())
    assert measured.height == 27
    assert measured["window_cycles"].min() >= 10
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


def test_delayed_acks_cost_half_a_segment() -> None:
    fast = [f"1 Mbit/s, {path}" for path in ("16 kB, 0 ms", "16 kB, 100 ms", "64 kB, 0 ms", "128 kB, 0 ms")]
    acks = Study.load("klaver-2005/acks").set(COUNTS, "segments").set("case", fast)
    acks = acks.set(POLICY, ["immediate", "quick-ack"])
    single = (pl.col("window_lost") == pl.col("window_cycles")) & (pl.col("w") >= 11)
    own = EVIDENCE.Evidence([acks.run(progress=False)]).part("acks").filter(single)
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


def test_two_packets_of_buffer_give_the_last_point_of_figure_5_1() -> None:
    study = Study.load("klaver-2005/buffers").set("path.down.queue", "2 packets")
    row = tcp_friendly_runs(study.set("path.down.burst", "1600 bytes").run(progress=False)).row(0, named=True)
    assert (row["w"], row["p"]) == (3, pytest.approx(0.1, abs=1e-4))
    assert row["f"] == pytest.approx(1.5, abs=0.01)


def test_the_absent_cells_are_the_rest_of_the_grid() -> None:
    paths = [
        load_spec(f"klaver-2005/{part}").scenario_of(run)["path"]["down"]
        for part, step in (("controlled", 3), ("absent", 1))
        for run in range(0, load_spec(f"klaver-2005/{part}").design.runs, step)
    ]
    assert len({(path["rate"], path["queue"], path["delay"]) for path in paths}) == len(paths) == 4 * 8 * 3


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
    assert verdicts["P-003-28"] == "not covered"
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
        names = ["4-1", "4-3", "4-2", "4-4", "2-2", "4-5"]
        assert [file.stem for file in files] == [f"figure-{name}" for name in names]

    def test_of_table_5_1(self, tmp_path: Path) -> None:
        study = Study.load("klaver-2005/controlled").set("design.replications", 1)
        study = study.set(
            "case", ["100 kbit/s, 4 kB, 0 ms", "1 Mbit/s, 16 kB, 0 ms", "1 Mbit/s, 8 kB, 250 ms"]
        )
        files = draw_figures(study.run(progress=False), tmp_path, ["svg", "pdf"])
        assert [file.name for file in files] == [
            f"{name}.{form}"
            for name in ("figure-5-1", "relative-errors", "windows")
            for form in ("svg", "pdf")
        ]

    def test_of_hosts(self, results: dict[str, Results], tmp_path: Path) -> None:
        for part, names in (("window", ["2-4"]), ("conditions", ["2-1", "2-1-kernel", "2-5", "2-6"])):
            found = [file.stem for file in draw_figures(results[part], tmp_path, ["png"])]
            assert found == [f"figure-{name}" for name in names]

    def test_of_the_switches_and_of_the_line(self, results: dict[str, Results], tmp_path: Path) -> None:
        some = ["1 Mbit/s, 8 kB, 0 ms", "1 Mbit/s, 32 kB, 0 ms"]
        acks = Study.load("klaver-2005/acks").set("case", some).run(progress=False)
        for part, name in ((acks, "constant"), (results["enschede"], "window")):
            assert [file.stem for file in draw_figures(part, tmp_path, ["png"])] == [name]


def on_linux(*algorithms: str) -> Study:
    """One path of the part on Linux 6.1."""
    study = Study.load("klaver-2005/linux").set(ALGORITHM, list(algorithms))
    return study.set("case", "1 Mbit/s, 16 kB, 0 ms")


def test_cubic_meets_not_the_conditions(tmp_path: Path) -> None:
    results = on_linux("reno", "cubic").run(progress=False)
    table = rexmit.tcp_friendly_runs(results)
    # As on the kernel (tests of the page: 65.0 segments for each loss on both).
    assert table.select(ALGORITHM, "applies", "unseen").rows() == [
        ("reno", "yes", ""),
        ("cubic", "no", ""),
    ]
    assert [file.stem for file in draw_figures(results, tmp_path, ["png"])] == ["linux-points"]


@pytest.mark.usefixtures("guest")
def test_linux_loses_one_segment_a_cycle(tmp_path: Path) -> None:
    """Not three, as long as no timestamp is 0: where the first is, its echo counts as none."""
    results = on_linux("reno").run(tmp_path / "linux", backend="uml", capture="all", progress=False)
    row = rexmit.tcp_friendly_runs(results).row(0, named=True)
    assert row["w"] == 11
    assert row["window_lost"] / row["window_cycles"] == pytest.approx(1, abs=0.1)
    assert 1 / row["p_delivered"] == pytest.approx(65, abs=0.5)


def test_every_column_has_a_meaning(results: dict[str, Results]) -> None:
    table = rexmit.tcp_friendly_runs(results["enschede"], [0])
    assert table.height == 1
    assert set(meanings()) == set(table.columns) - set(results["enschede"].table().columns)
