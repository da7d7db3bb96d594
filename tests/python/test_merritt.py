"""The study merritt-2010 comes out again, and its procedure works on its own runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rexmit import Results, Study
from rexmit.analyse import Comparison, crossing, load_published, over_span, two_way, window_phase
from rexmit.analyse.power import measure, power_of, read_power
from rexmit.analyse.statements import load_statements
from rexmit.analyse.study_code import comparison_of, study_module
from rexmit.analyse.sweep import Sweep, own_link, parse_buffers
from rexmit.errors import UsageError
from rexmit.report import draw_figures
from rexmit.run import RunOptions, run_study

from .conftest import Command
from .ran import loading

STUDY = Path(__file__).parents[2] / "studies" / "merritt-2010"
SECOND = 10**9
estimate = study_module("merritt-2010", "scripts").estimate
phase_of = study_module("merritt-2010", "phase").phase_of
pairs = study_module("merritt-2010", "pairs")


@pytest.fixture(scope="module")
def results() -> Results:
    return Study.load("merritt-2010/two-way").run(progress=False)


@pytest.fixture(scope="module")
def in_order() -> Results:
    return Study.load("merritt-2010/in-order").run(progress=False)


@pytest.fixture(scope="module")
def comparison(results: Results) -> Comparison:
    return comparison_of(results)([results])


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the middle link with what the procedure asks for: state after writes, and two captures."""
    study = Study.load("merritt-2010/two-way").set("link", "2400/196").set("offset", "0 ms")
    out = tmp_path_factory.mktemp("merritt") / "one"
    study.set("path.up.queue", "15 packets").run(
        out, progress=False, capture="all", state="all", state_at="writes"
    )
    return out


@pytest.mark.parametrize("published", load_published(STUDY / "published.csv"), ids=lambda row: row.id)
def test_published(published: object, comparison: Comparison) -> None:
    (check,) = [check for check in comparison.checks if check.published == published]
    expected = "differs as recorded" if check.published.deviation else "within"
    assert check.verdict == expected, f"published {check.published.value}, ours {check.ours} {check.note}"


def test_every_number_of_the_text_has_a_row_or_a_reason() -> None:
    coverage = load_statements(STUDY)
    assert len(coverage.statements) == 137
    assert (coverage.held, coverage.stated) == (127, 255)


@pytest.mark.long
def test_the_readme_shows_what_the_runs_give(results: Results, in_order: Results) -> None:
    text = (STUDY / "README.md").read_text()
    for name, table in study_module("merritt-2010", "page").tables(results, in_order).items():
        assert f"<!-- {name} -->\n{table}<!-- /{name} -->" in text, name


def test_the_readme_shows_what_the_wrong_systems_gave() -> None:
    power = read_power("merritt-2010", STUDY)
    assert f"<!-- power -->\n{power.page()}<!-- /power -->" in (STUDY / "README.md").read_text()


@pytest.mark.long
def test_the_readme_shows_what_packets_of_runs_in_order_give(results: Results, in_order: Results) -> None:
    table = study_module("merritt-2010", "page").in_order(results, in_order)
    assert f"<!-- in-order -->\n{table}<!-- /in-order -->" in (STUDY / "README.md").read_text()


@pytest.mark.long
def test_a_wrong_system_is_caught_as_power_csv_says(results: Results) -> None:
    (_, right), (system, wrong) = measure("merritt-2010", loading([results]), ["no-ethernet"])
    stored = read_power("merritt-2010", STUDY)
    assert (
        power_of("merritt-2010", [(None, right), (system, wrong)]).marks["no-ethernet"]
        == stored.marks["no-ethernet"]
    )


@pytest.mark.long
def test_thirty_runs_foretell_the_printed_values_as_the_readme_says() -> None:
    page = study_module("merritt-2010", "page")
    many = Study.load("merritt-2010/two-way").set("design.replications", page.REPLICATIONS)
    results = many.run(progress=False)
    readme = (STUDY / "README.md").read_text()
    assert f"<!-- score -->\n{page.scored(results)}<!-- /score -->" in readme
    assert f"<!-- timeouts -->\n{page.timeouts(results)}<!-- /timeouts -->" in readme


def test_uploads_of_other_hosts_are_compared_with_nothing_and_drawn(tmp_path: Path) -> None:
    study = Study.load("merritt-2010/pairs").set("uplink", "2400/196").set("offset", "0 ms")
    results = study.set("links.line.from.near.queue", ["10 packets", "50 packets"]).run(progress=False)
    with pytest.raises(UsageError, match="did not run this"):
        comparison_of(results)([results])
    files = draw_figures(results, tmp_path, ["png"])
    assert [file.name for file in files] == ["pairs.png"]
    shares = pairs.shares(results)
    assert len(shares) == 8
    of = {row["host"]: row for row in shares.filter(pl.col("buffer") == 10).to_dicts()}
    assert of[pairs.SAME]["down_share"] == pytest.approx(of[pairs.ANOTHER]["down_share"], abs=0.03)
    for row in shares.to_dicts():
        assert 0 < row["down_share"] < 0.96
        assert 0 < row["up_share"] < 0.96


@pytest.mark.long
def test_uploads_of_other_hosts_come_out_as_the_readme_says() -> None:
    study = Study.load("merritt-2010/pairs")
    results, exactly = (one.run(progress=False) for one in (study, pairs.exactly(study)))
    frame, exact = pairs.shares(results), pairs.shares(exactly)
    readme = (STUDY / "README.md").read_text()
    assert f"<!-- pairs -->\n{pairs.share_table(frame)}<!-- /pairs -->" in readme
    assert f"<!-- pairs-words -->\n{pairs.words(frame, exact)}<!-- /pairs-words -->" in readme
    assert f"<!-- pairs-tick -->\n{pairs.tick(results)}<!-- /pairs-tick -->" in readme


def test_rows_do_not_mix_experiments_in_order_with_those_by_themselves(
    results: Results, in_order: Results
) -> None:
    compared = study_module("merritt-2010").compared
    assert compared([in_order, results]) == [results]
    assert compared([in_order]) == [in_order]


def test_every_run_completes(results: Results) -> None:
    table = results.table()
    assert table["completed"].all()
    assert table["error"].is_null().all()


def test_a_part_of_the_study_leaves_the_rest_uncovered() -> None:
    part = Study.load("merritt-2010/two-way").set("link", "2400/196").set("path.up.queue", ["15 packets"])
    verdicts = {
        check.published.id: check.verdict for check in comparison_of_run(part.run(progress=False)).checks
    }
    assert verdicts["P-001-2"] == "within"
    assert (
        verdicts["P-001-1"]
        == verdicts["P-001-11"]
        == verdicts["P-001-5a"]
        == verdicts["P-001-14"]
        == "not covered"
    )


def comparison_of_run(results: Results) -> Comparison:
    return comparison_of(results)([results])


def test_the_figures_are_drawn(results: Results, tmp_path: Path) -> None:
    files = {file.name for file in draw_figures(results, tmp_path, ["svg"])}
    numbers = ("1-01", "3-02", "5-01", "5-02-to-5-05", "5-06-and-5-07", "5-08-to-5-11", "5-12", "6-02")
    for number in numbers:
        (name,) = [name for name in files if name.startswith(f"figure-{number}-")]
        assert "<svg" in (tmp_path / name).read_text()
    assert "phase-of-the-two-windows-over-all-buffers.svg" in files
    assert "ratios-of-the-two-connections.svg" in files
    assert len(files) == len(numbers) + 2
    shown = next(tmp_path.glob("figure-5-01-*")).read_text()
    assert shown.count('id="published"') == 3
    estimates = next(tmp_path.glob("figure-6-02-*")).read_text()
    assert all(link in estimates for link in ("3:1", "12:1", "30:1"))


def test_the_report_is_one_page_with_the_figures(rexmit: Command, tmp_path: Path) -> None:
    study = Study.load("merritt-2010/two-way").set("link", "2400/196").set("offset", "0 ms")
    study.set("path.up.queue", ["5 packets", "15 packets"]).run(tmp_path / "part", progress=False)
    told = rexmit("report", tmp_path / "part", "--with-runs", "none")
    assert told.returncode == 0, told.stderr
    page = (tmp_path / "part" / "report.html").read_text()
    assert "1 level of link x 2 levels of path.up.queue x 1 level of offset" in page
    assert "Comparison with published values" in page
    assert page.count("<svg") >= 4


class TestScripts:
    """The thesis's scripts, on logs of a few lines."""

    def test_the_download_averages_are_ratios_of_means(self) -> None:
        """Four lines of a log: time, RTT, cwnd; the upload begins after 100 s (appendix E)."""
        lines = [(50, 100_000, 30_000), (90, 200_000, 60_000), (110, 400_000, 50_000), (120, 600_000, 70_000)]
        intervals = pl.DataFrame(
            [
                {"run": 0, "host": "server", "from_ns": at * SECOND, "to_ns": (at + 1) * SECOND}
                | dict.fromkeys(("bytes", "data_segments", "retransmits", "timeouts", "fast_retransmits"), 0)
                | {"written": 1460, "cwnd_mean": float(cwnd), "cwnd_max": cwnd}
                | {"srtt_mean_ns": rtt * 1000.0, "srtt_sd_ns": 0.0}
                for at, rtt, cwnd in lines
            ]
        )
        alone, both = (
            over_span(intervals, *span) for span in ((0, 100 * SECOND), (100 * SECOND, 200 * SECOND))
        )
        throughput = [float((one["cwnd_mean"] * 8e9 / one["srtt_mean_ns"])[0]) for one in (alone, both)]
        assert throughput == pytest.approx([2_400_000, 960_000])
        assert float(both["srtt_mean_ns"][0]) / 8e9 * 2_400_000 == pytest.approx(150_000)

    @pytest.mark.parametrize(("windows", "packets"), [((73_848, 10_136), 17), ((10_000, 20_001), -7)])
    def test_the_estimate_rounds_down_at_each_division(self, windows: tuple[int, int], packets: int) -> None:
        assert estimate(windows, 0.2, 196_000) == packets

    def test_windows_that_have_nothing_to_do_with_each_other_are_not_in_phase(self) -> None:
        """Both climb for 20 s and fall: they agree, and so do all shifts but few."""
        down = [float(at % 20) for at in range(110)]
        apart = phase_of([windows(down, [float((at + 10) % 20) for at in range(110)])])
        assert apart.agreement > 0.7
        assert apart.rank < 0.95
        together = phase_of([windows(down, [float(at % 20) for at in range(110)])])
        assert together.agreement == 1
        assert together.rank > 0.95

    def test_windows_against_each_other_are_out_of_phase(self) -> None:
        down = [float(np.sin(at * at / 50)) for at in range(110)]
        assert phase_of([windows(down, [-value for value in down])]).rank < 0.05


LINK = ["--simulate", "--up-rate", "1 Mbit/s", "--down-rate", "3 Mbit/s"]


class TestMeasures:
    """What intervals of a second put together say is what one interval over them says."""

    def test_a_span_is_its_intervals_put_together(self) -> None:
        study = Study.load("merritt-2010/two-way").set("link", "2400/196").set("offset", "0 ms")
        study = study.set("path.up.queue", ["15 packets", "50 packets"])
        fine = over_span(study.run(progress=False).intervals(), 130 * SECOND, 240 * SECOND)
        whole = study.set("intervals", "130 s-240 s").run(progress=False).intervals()
        assert fine.select("run", "host").equals(whole.select("run", "host"))
        for column in ("bytes", "written", "data_segments", "retransmits", "timeouts", "cwnd_max"):
            assert fine[column].to_list() == whole[column].to_list(), column
        for column in ("goodput_bit_s", "cwnd_mean", "srtt_mean_ns", "srtt_sd_ns"):
            np.testing.assert_allclose(fine[column], whole[column], rtol=1e-6)

    def test_shares_are_of_the_path_and_performance_is_the_smaller(self, results: Results) -> None:
        runs = two_way(results)
        assert runs.height == 90
        assert set(runs["up_rate"]) == {1e6, 196e3, 1e5}
        assert (runs["performance"] == runs.select(pl.min_horizontal("down_share", "up_share"))[:, 0]).all()
        assert runs["down_share"].max() < 1448 / 1514

    def test_windows_that_move_together_and_against_each_other(self) -> None:
        down = [10.0, 20, 30, 40, 10, 20, 30, 40]
        same, together = window_phase(windows(down, [value / 10 for value in down]))
        assert (same, round(together, 9)) == (1.0, 1.0)
        same, together = window_phase(windows(down, [9 - value / 10 for value in down]))
        assert (same, round(together, 9)) == (-1.0, -1.0)

    def test_a_window_without_a_write_stays(self) -> None:
        same, _ = window_phase(windows([1.0, 2, 3, 4], [None, 5.0, None, 6.0]))
        assert same == pytest.approx(1 / 3)

    def test_where_the_estimate_meets_the_buffer(self) -> None:
        assert crossing([(5, 20), (10, 20), (15, 15.0)]) == 15
        assert crossing([(10, 20), (20, 10)]) == 15
        assert crossing([(5, 4), (10, 20)]) is None
        assert crossing([(5, 20), (10, 20)]) == 10

    def test_it_needs_intervals_within_the_spans(self) -> None:
        study = Study.load("merritt-2010/two-way").set("link", "2400/196").set("path.up.queue", "5 packets")
        with pytest.raises(UsageError, match=r'no interval lies within the spans; .*"1 s"'):
            two_way(study.set("offset", "0 ms").set("intervals", "100 s").run(progress=False))


class TestProcedure:
    """Section 6.4 on a run of the study's own: 2400/196 has 17 packets in table 6.2."""

    def test_from_states(self, one: Path, rexmit: Command) -> None:
        found = facts(rexmit("model", "buffer-size", "--results", str(one), "--json"))
        assert found["packets"] == 17
        # The slow start at the download's own start had 170 kB and more: not of the time with both.
        assert found["inputs"]["max_window_down"]["value"] < 80_000

    def test_from_captures_at_both_ends(self, one: Path, rexmit: Command) -> None:
        server, client = (
            str(one / "captures" / f"run-00000000-{host}.pcapng") for host in ("server", "client")
        )
        options = ["--up-rate", "196 kbit/s", "--download-alone", server, "--both", server, "--both", client]
        found = facts(rexmit("model", "buffer-size", *options, "--json"))
        assert found["packets"] == 17
        assert found["inputs"]["rtt"]["source"].endswith("RTT samples before the upload began")
        assert 0.18 < found["inputs"]["rtt"]["value"] < 0.21

    def test_of_several_runs_a_line_each(self, rexmit: Command, tmp_path: Path) -> None:
        study = Study.load("merritt-2010/two-way").set("link", ["3000/1000", "2400/196"])
        study = study.set("offset", "0 ms").set("path.up.queue", "15 packets")
        study.run(tmp_path / "two", progress=False, state="all", state_at="writes")
        told = rexmit("model", "buffer-size", "--results", tmp_path / "two")
        assert told.returncode == 0, told.stderr
        lines = [line.split() for line in told.stdout.splitlines()]
        assert lines[0][:2] == ["run", "link"]
        # On 3000/1000 the rule has no buffer: 50 packets of R1 hold too small a window for it.
        assert (lines[1][1], lines[1][-1]) == ("3000/1000", "-")
        assert (lines[2][1], lines[2][-1]) == ("2400/196", "17")

    def test_by_simulation(self, rexmit: Command, tmp_path: Path) -> None:
        options = ["--down-rate", "2400 kbit/s", "--up-rate", "196 kbit/s", "--buffers", "5,10..30/5,50"]
        told = rexmit("model", "buffer-size", "--simulate", *options, "--json", "--plot", str(tmp_path))
        found = facts(told)
        assert [row["buffer"] for row in found["buffers"]] == [5, 10, 15, 20, 25, 30, 50]
        rules = found["rules"]
        assert 15 <= rules["rule_6_6"]["packets"] <= 18
        best = max(found["buffers"], key=lambda row: row["performance"])
        assert rules["best"]["packets"] == best["buffer"]
        assert rules["best"]["performance"] == best["performance"]
        assert rules["keeping_90_percent"]["packets"] < rules["best"]["packets"]
        assert rules["bdp_uplink"]["packets"] == pytest.approx(196e3 * found["alone"]["rtt_s"] / 12000)
        assert {file.suffix for file in tmp_path.iterdir()} == {".svg", ".png"}

    def test_the_simulation_is_told(self, rexmit: Command) -> None:
        options = ["--down-rate", "3 Mbit/s", "--up-rate", "1 Mbit/s", "--buffers", "5,50"]
        told = rexmit("model", "buffer-size", "--simulate", *options, "--delay", "20 ms")
        assert told.returncode == 0
        assert "3 Mbit/s down, 1 Mbit/s up, 20 ms one way" in told.stdout
        assert "largest Performance in simulation" in told.stdout
        assert "6 of 6" in told.stderr

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--simulate", "--up-rate", "1 Mbit/s"], "--simulate needs both rates"),
            (["--delay", "5 ms"], "--delay goes with --simulate"),
            (["--simulate", "--rtt", "1 s"], "--simulate measures RTT and windows itself"),
            (
                ["--simulate", "--up-rate", "1 Mbit/s", "--down-rate", "3 Mbit/s", "--buffers", "5..1"],
                "--buffers: '5..1' goes down; name the smaller number of packets first: 1..5",
            ),
            ([*LINK, "--buffers", "1..100000000"], "is 100000000 numbers of packets; at most 1000 are run"),
            ([*LINK, "--stack", "nope"], "rexmit: error: --stack: there is no profile 'nope'; known: "),
        ],
    )
    def test_mistakes_are_told(self, options: list[str], message: str, rexmit: Command) -> None:
        told = rexmit("model", "buffer-size", *options)
        assert told.returncode == 2
        assert message in told.stderr

    def test_a_folder_with_something_in_it_is_refused(self, rexmit: Command, tmp_path: Path) -> None:
        (tmp_path / "notes.txt").write_text("mine")
        told = rexmit("model", "buffer-size", *LINK, "--out", str(tmp_path))
        assert told.returncode == 2
        assert told.stderr == f"rexmit: error: --out {tmp_path}: is not empty; choose another folder\n"

    def test_what_was_not_run_is_marked(self, rexmit: Command) -> None:
        options = ["model", "buffer-size", *LINK, "--delay", "50 ms", "--buffers", "5,50"]
        lines = rexmit(*options).stdout.splitlines()
        (between,) = [line for line in lines if "BDP of the uplink" in line]
        (best,) = [line for line in lines if "largest Performance" in line]
        assert between.count("~") == 3
        assert "~" not in best
        assert "~ marks" in " ".join(lines)
        rules = facts(rexmit(*options, "--json"))["rules"]
        assert (rules["bdp_uplink"]["ran"], rules["best"]["ran"]) == (False, True)


def test_your_own_link_is_plain_settings(rexmit: Command, tmp_path: Path) -> None:
    settings = {"path.down.rate": "8 Mbit/s", "path.up.rate": "512 kbit/s", "path.delay": "10 ms"}
    options = [part for key, value in settings.items() for part in ("--set", f'{key}="{value}"')]
    queues = ["--set", 'path.up.queue=["10 packets", "40 packets"]']
    told = rexmit("run", "merritt-2010/own-link", *options, *queues, "--out", str(tmp_path / "own"))
    assert told.returncode == 0, told.stderr
    told = rexmit("plot", str(tmp_path / "own"), "--json")
    names = {Path(file).name for file in json.loads(told.stdout)}
    assert "performance-against-the-uplink-s-buffer.svg" in names


def test_a_sweep_is_over_one_link() -> None:
    spec = own_link({"path.down.rate": "3 Mbit/s", "offset": "0 ms"}, [5, 10])
    several = spec.with_set("vary.path.up.rate", ["100 kbit/s", "1 Mbit/s"])
    with pytest.raises(UsageError, match="a sweep is over buffers in packets, of one link"):
        Sweep.of(run_study(several, None, RunOptions()))


def test_buffers_are_read_as_written() -> None:
    assert parse_buffers("5, 1..3, 20..50/15") == [1, 2, 3, 5, 20, 35, 50]
    for wrong in ("", "0", "3..1", "1..x", "1..10/0", "1..5000"):
        with pytest.raises(ValueError, match="packet"):
            parse_buffers(wrong)


def windows(down: list[float], up: list[float | None]) -> pl.DataFrame:
    rows = [
        {"host": host, "from_ns": at * SECOND, "cwnd_mean": value}
        for host, values in (("server", down), ("client", up))
        for at, value in enumerate(values)
    ]
    return pl.DataFrame(rows, schema={"host": pl.String, "from_ns": pl.Int64, "cwnd_mean": pl.Float64})


def facts(told: object) -> dict[str, object]:
    assert told.returncode == 0, told.stderr  # type: ignore[attr-defined]
    found: dict[str, object] = json.loads(told.stdout)  # type: ignore[attr-defined]
    return found
