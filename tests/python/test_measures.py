"""Measures of a network as responses: what each comes to, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
import rexmit
from rexmit.errors import StudyError, UsageError
from rexmit.run.again import Again
from rexmit.run.details import DETAILS, LINKS, LINKS_OVER_TIME, TRANSFERS, TRANSFERS_OVER_TIME
from rexmit.run.measured import Measured
from rexmit.run.runner import RunOptions, run_study
from rexmit.study import StudySpec
from rexmit.study.spec import load_spec, parse_spec
from rexmit.study.ways import Ways

SECOND = 1_000_000_000
DUMBBELL = Path("examples/networks/dumbbell.toml")


def network(**more: Any) -> dict[str, Any]:
    """Two hosts on the left, one on the right, and what else the scenario has."""
    host = {"stack": "linux-6.1", "access": {"rate": "100 Mbit/s", "delay": "1 ms"}}
    hosts = {"near": {**host, "at": "left"}, "far": {**host, "at": "left"}, "sink": {**host, "at": "right"}}
    hosts["far"] = {**hosts["far"], "access": {"rate": "100 Mbit/s", "delay": "20 ms"}}
    link = {"between": ["left", "right"], "rate": "10 Mbit/s", "delay": "5 ms", "queue": "50 packets"}
    transfers = [
        {"name": name, "from": name, "to": "sink", "writes": "1 x 1 MB", "start": start}
        for name, start in (("near", "0 s"), ("far", "1 s"))
    ]
    scenario = {"hosts": hosts, "links": {"bottleneck": link}, "transfers": transfers, "limit": "20 s"}
    return scenario | {"measure": {"every": "1 s"}} | more


def study(responses: dict[str, Any], scenario: dict[str, Any] | None = None, **more: Any) -> StudySpec:
    table = {"scenario": scenario or network(), "responses": responses, **more}
    return parse_spec(table, "mine", None)


def made(
    transfers: list[list[dict[str, Any]]],
    over_time: list[list[dict[str, Any]]] | None = None,
    links: list[list[dict[str, Any]]] | None = None,
    links_over_time: list[list[dict[str, Any]]] | None = None,
) -> pa.Table:
    """A table of runs with such rows of its details."""
    count = len(transfers)
    table = pa.table({"run": pa.array(range(count), pa.uint32())})
    given = {
        TRANSFERS: transfers,
        TRANSFERS_OVER_TIME: over_time or [[]] * count,
        LINKS: links or [[]] * count,
        LINKS_OVER_TIME: links_over_time or [[]] * count,
    }
    for detail, rows in given.items():
        table = table.append_column(detail.column, pa.array(rows, type=detail.nested))
    return table


def flow(connection: int, transfer: str, rate: float, **more: Any) -> dict[str, Any]:
    row = {"connection": connection, "transfer": transfer, "sender": transfer, "receiver": "sink"}
    timed = {"completed": True, "opened_ns": 0, "time_ns": SECOND, "bytes": int(rate / 8)}
    return {**row, **timed, "goodput_bit_s": rate, **more}


def second(connection: int, at: int, amount: int) -> dict[str, Any]:
    return {"connection": connection, "from_ns": at * SECOND, "to_ns": (at + 1) * SECOND, "bytes": amount}


def values(given: dict[str, Any], runs: pa.Table) -> list[float | None]:
    column = Measured(study({"x": given})).beside(runs).column("x").to_pylist()
    return [None if one is None else round(one, 6) for one in column]


class TestTheNumbers:
    def test_jain_is_one_of_equals_and_an_nth_where_one_has_all(self) -> None:
        runs = made(
            [
                [flow(0, "near", 8e6), flow(1, "far", 8e6)],
                [flow(0, "near", 8e6), flow(1, "far", 0)],
                [flow(0, "near", 6e6), flow(1, "far", 2e6)],
                [],
                [flow(0, "near", 6e6), flow(1, "far", 0, opened_ns=None, goodput_bit_s=None)],
            ]
        )
        assert values({"measure": "jain"}, runs) == [1, 0.5, 0.8, None, 1]
        assert values({"measure": "jain", "transfers": ["near"]}, runs) == [1, 1, 1, None, 1]

    def test_ratio_is_of_means_a_connection_and_share_of_bytes(self) -> None:
        runs = made(
            [
                [flow(0, "near", 8e6), flow(1, "near", 4e6), flow(2, "far", 3e6)],
                [flow(0, "near", 8e6)],
                [flow(0, "near", 8e6), flow(1, "far", 0)],
            ]
        )
        assert values({"measure": "ratio", "transfers": ["near"], "over": ["far"]}, runs) == [2, None, None]
        assert values({"measure": "share", "transfers": ["near"]}, runs) == [0.8, 1, 1]

    def test_a_window_has_the_intervals_in_it_and_the_connections_open_in_it(self) -> None:
        flows = [
            flow(0, "near", 1, time_ns=9 * SECOND),
            flow(1, "far", 1, time_ns=None),
            flow(2, "far", 1, time_ns=2 * SECOND),
        ]
        rows = [second(0, 1, 900), second(0, 2, 100), second(1, 2, 100), second(0, 3, 300), second(1, 3, 100)]
        runs = made([flows, flows[:1]], [rows, []])
        jain = {"measure": "jain", "from": "2 s"}
        assert values(jain, runs) == [round(600**2 / (2 * (400**2 + 200**2)), 6), None]
        assert values({**jain, "to": "3 s"}, runs) == [1, None]
        assert values({**jain, "to": "2900 ms"}, runs) == [None, None]
        assert values({"measure": "share", "transfers": ["far"], "from": "2 s", "to": "4 s"}, runs) == [
            round(200 / 600, 6),
            None,
        ]

    def test_a_link_is_a_direction_by_its_ends(self) -> None:
        def row(start: str, end: str, used: float | None, **more: Any) -> dict[str, Any]:
            return {"link": "bottleneck", "from_point": start, "to_point": end, "utilisation": used, **more}

        forth = row("left", "right", 0.5, drops=7, drops_queue=5, queue_p95_ms=3.0, queue_packets_max=9.0)
        back = row("right", "left", 0.1, drops=1)
        over = [
            {**row("left", "right", None), "from_ns": at * SECOND, "to_ns": (at + 1) * SECOND}
            for at in range(4)
        ]
        for at, (one, passed) in enumerate(zip(over, (100, 100, 200, 400), strict=True)):
            one |= {
                "passed_bytes": passed,
                "drops": at,
                "queue_packets_max": 10.0 - at,
                "queue_mean_ms": 2.0 * at,
            }
            del one["utilisation"]
        other = {**over[0], "from_point": "right", "to_point": "left", "passed_bytes": 999}
        runs = made([[], []], None, [[forth, back], []], [[*over, other], []])
        link = {"link": "bottleneck"}
        assert values({"measure": "utilisation", **link}, runs) == [0.5, None]
        assert values({"measure": "utilisation", "link": {"name": "bottleneck", "from": "right"}}, runs) == [
            0.1,
            None,
        ]
        assert values({"measure": "utilisation", **link, "from": "2 s"}, runs) == [0.75, None]
        assert values({"measure": "utilisation", **link, "from": "1 s", "to": "2 s"}, runs) == [0.25, None]
        assert values({"measure": "drops", **link}, runs) == [7, None]
        assert values({"measure": "drops", **link, "reason": "queue"}, runs) == [5, None]
        assert values({"measure": "drops", **link, "from": "2 s"}, runs) == [5, None]
        assert values({"measure": "drops", **link, "from": "9 s"}, runs) == [None, None]
        assert values({"measure": "queue", **link, "from": "1 s", "to": "3 s"}, runs) == [3, None]
        in_packets = {"measure": "queue", **link, "stat": "max", "unit": "packets"}
        assert values({**in_packets, "from": "1 s"}, runs) == [9, None]
        assert values({"measure": "queue", **link, "stat": "p95"}, runs) == [3, None]
        assert values({"measure": "queue", **link, "stat": "max", "unit": "packets"}, runs) == [9, None]

    def test_completion_times_are_of_flows_that_ended_in_a_range_of_sizes(self) -> None:
        times = [1, 2, 3, 4, 50]
        flows = [flow(n, "near", 8 * 1000 * t, time_ns=t * SECOND) for n, t in enumerate(times)]
        lost = flow(5, "far", 8e9, completed=False, time_ns=None)
        runs = made([[*flows, lost], [lost]])
        for stat, told in (("mean", 12e3), ("p50", 3e3), ("p95", 40.8e3), ("p99", 48.16e3), ("max", 50e3)):
            assert values({"measure": "completion", "stat": stat}, runs) == [told, None], stat
        small = {"measure": "completion", "at_least": "2 kB", "below": "4 kB"}
        assert values(small, runs) == [2500, None]
        assert values({"measure": "completion", "transfers": ["far"]}, runs) == [None, None]

    def test_quantiles_are_those_of_numpy(self) -> None:
        random = np.random.default_rng(1)
        times = [random.integers(1, 10**9, size) for size in (1, 2, 17, 100)]
        runs = made([[flow(n, "near", 8, time_ns=int(t)) for n, t in enumerate(some)] for some in times])
        for stat, level in (("p50", 50), ("p95", 95), ("p99", 99)):
            told = [round(float(np.percentile(some / 1e6, level)), 6) for some in times]
            assert values({"measure": "completion", "stat": stat}, runs) == pytest.approx(told)

    def test_slowdown_is_over_the_bottleneck_and_a_round_trip(self) -> None:
        # 1 MB at 10 Mbit/s take 800 ms; near's round trip is 2 (1 + 5 + 1) ms, far's 2 (20 + 5 + 1) ms.
        flows = [flow(0, "near", 8e6, time_ns=1_628_000_000), flow(1, "far", 8e6, time_ns=852_000_000)]
        runs = made([flows])
        assert values({"measure": "slowdown", "transfers": ["near"]}, runs) == [2]
        assert values({"measure": "slowdown", "stat": "max"}, runs) == [2]
        assert values({"measure": "slowdown", "transfers": ["far"]}, runs) == [1]

    def test_slowdown_follows_the_levels_of_links(self) -> None:
        spec = study(
            {"x": {"measure": "slowdown"}},
            vary={
                "links.bottleneck.rate": ["10 Mbit/s", "20 Mbit/s"],
                "hosts.near.access.delay": ["1 ms", "101 ms"],
            },
            design={"replications": 2},
        )
        runs = made([[flow(0, "near", 8e6)]] * 8)
        ideal = [0.814, 1.014, 0.414, 0.614]
        told = Measured(spec).beside(runs).column("x").to_pylist()
        assert told == pytest.approx([1 / one for one in ideal for _ in range(2)])

    def test_flows_have_converged_where_all_stay_near_the_fair_share(self) -> None:
        opened = [flow(0, "near", 1, time_ns=None), flow(1, "far", 1, time_ns=None, opened_ns=SECOND)]
        shares = [
            (900, 0),
            (900, 100),
            (550, 450),
            (100, 900),
            (500, 500),
            (550, 450),
            (450, 550),
            (480, 520),
        ]
        rows = [
            second(host, at, share)
            for at, pair in enumerate(shares)
            for host, share in enumerate(pair)
            if share
        ]
        runs = made([opened, opened, opened, []], [rows, rows[:-1], [], []])
        settled = {"measure": "convergence", "within": 1.25}
        # Seconds count after 1 s; the spell from 4 s on is long enough, that of 2 s is not.
        assert values({**settled, "span": "4 s"}, runs) == [3, None, None, None]
        assert values({**settled, "span": "3 s"}, runs) == [3, 3, None, None]
        assert values({**settled, "span": "1 s"}, runs) == [1, 1, None, None]
        assert values({**settled, "span": "1 s", "within": 1.05}, runs) == [3, 3, None, None]

    def test_a_gap_ends_a_spell(self) -> None:
        opened = [flow(0, "near", 1, time_ns=None), flow(1, "far", 1, time_ns=None)]
        rows = [second(host, at, 500) for at in (0, 1, 3, 4, 5) for host in (0, 1)]
        assert values({"measure": "convergence", "span": "3 s"}, made([opened], [rows])) == [3]


class TestWays:
    def test_the_narrowest_link_and_all_delays_count(self) -> None:
        ways = Ways(network())
        assert (ways.between("near", "sink").rate, ways.between("near", "sink").round_trip) == (1e7, 14e6)
        assert ways.between("near", "far").rate == 1e8
        assert np.isnan(ways.between("near", "nobody").rate)

    def test_directions_have_settings_of_their_own(self) -> None:
        scenario = network()
        scenario["links"]["bottleneck"]["from"] = {"right": {"rate": "1 Mbit/s", "delay": "50 ms"}}
        scenario["hosts"]["far"]["access"]["down"] = {"rate": "64 kbit/s"}
        ways = Ways(scenario)
        assert ways.between("near", "sink").rate == 1e7
        assert ways.between("sink", "near").rate == 1e6
        assert ways.between("sink", "far").rate == 64e3
        assert ways.between("sink", "near").round_trip == ways.between("near", "sink").round_trip == 59e6

    def test_groups_and_two_hosts(self) -> None:
        scenario = network()
        scenario["hosts"]["near"]["count"] = 3
        assert Ways(scenario).between("near-3", "sink").rate == 1e7
        two = Ways({"path": {"rate": "1 Mbit/s", "delay": "10 ms", "up": {"rate": "64 kbit/s"}}})
        assert two.between("server", "client").rate == 1e6
        assert two.between("client", "server").rate == 64e3
        assert two.between("client", "server").round_trip == 20e6

    def test_a_rate_that_follows_a_trace_is_not_known(self) -> None:
        scenario = network()
        scenario["links"]["bottleneck"]["rate"] = {"trace": "some.csv"}
        assert np.isnan(Ways(scenario).between("near", "sink").rate)


class TestWhatIsWrong:
    @pytest.mark.parametrize(
        ("given", "told"),
        [
            ({"measure": "jian"}, "responses.x.measure: 'jian' is not a measure; did you mean 'jain'?"),
            ({"measure": "jain", "link": "bottleneck"}, "responses.x: jain has no key 'link'"),
            ({"measure": "jain", "transfer": ["near"]}, "did you mean 'transfers'?"),
            ({"measure": "jain", "transfers": "near"}, "is not a list of names"),
            ({"measure": "jain", "transfers": []}, "is not a list of names"),
            ({"measure": "jain", "transfers": ["naer"]}, "'naer' is not a transfer; did you mean 'near'?"),
            (
                {"measure": "jain", "from": 5},
                'responses.x.from: 5 is not a time; write it with its unit, such as "5 s"',
            ),
            ({"measure": "jain", "from": "5 parsecs"}, "responses.x.from: "),
            (
                {"measure": "jain", "from": "5 s", "to": "2 s"},
                "responses.x.to: '2 s' is not after from '5 s'",
            ),
            ({"measure": "ratio", "transfers": ["near"]}, "responses.x.over: is missing; ratio needs it"),
            (
                {"measure": "ratio", "transfers": ["near"], "over": ["fra"]},
                "responses.x.over: 'fra' is not a transfer",
            ),
            ({"measure": "share"}, "responses.x.transfers: is missing"),
            ({"measure": "drops"}, "responses.x.link: is missing; drops needs it"),
            (
                {"measure": "drops", "link": "botleneck"},
                "'botleneck' is not a link; did you mean 'bottleneck'?",
            ),
            ({"measure": "drops", "link": 7}, "responses.x.link: 7 is not a link"),
            ({"measure": "drops", "link": {"from": "left"}}, "is not a link; write"),
            ({"measure": "drops", "link": {"name": "bottleneck", "frm": "left"}}, "unknown key 'frm'"),
            (
                {"measure": "drops", "link": {"name": "bottleneck", "from": "lfet"}},
                "responses.x.link.from: 'lfet' is not an end of bottleneck; did you mean 'left'?",
            ),
            ({"measure": "drops", "link": "access"}, "each host has an access link"),
            (
                {"measure": "queue", "link": {"name": "access", "from": "near"}},
                "queues of hosts' own links are not sampled where there are others",
            ),
            ({"measure": "drops", "link": {"name": "access", "from": "left"}}, "is more than one link"),
            (
                {"measure": "utilisation", "link": {"name": "access", "from": "near"}, "from": "1 s"},
                "hosts' own links are not measured by intervals",
            ),
            (
                {"measure": "drops", "link": "bottleneck", "reason": "rain"},
                "is none of pattern, random, queue, aqm",
            ),
            ({"measure": "queue", "link": "bottleneck", "stat": "p50"}, "is none of mean, p95, p99, max"),
            ({"measure": "queue", "link": "bottleneck", "unit": "s"}, "is none of ms, packets"),
            (
                {"measure": "queue", "link": "bottleneck", "stat": "p95", "from": "1 s"},
                "is not one of mean, max",
            ),
            ({"measure": "drops", "link": "bottleneck", "reason": "aqm", "to": "1 s"}, "not split by reason"),
            ({"measure": "completion", "at_least": "5 kBq"}, "responses.x.at_least: "),
            ({"measure": "completion", "at_least": "5 kB", "below": "5 kB"}, "is not after at_least '5 kB'"),
            ({"measure": "convergence", "within": 1}, "responses.x.within: 1 is not a factor above 1"),
            ({"measure": "convergence", "within": True}, "is not a factor above 1"),
            ({"measure": "jain", "meaning": 5}, "responses.x.meaning: 5 is not text"),
        ],
    )
    def test_is_said_in_one_line(self, given: dict[str, Any], told: str) -> None:
        with pytest.raises(StudyError) as wrong:
            study({"x": given})
        assert told in str(wrong.value)
        assert "\n" not in str(wrong.value)

    @pytest.mark.parametrize("given", [{"measure": "jain", "from": "1 s"}, {"measure": "convergence"}])
    def test_what_is_over_time_needs_intervals(self, given: dict[str, Any]) -> None:
        with pytest.raises(StudyError, match=r"responses.x: .* give the scenario measure\.every"):
            study({"x": given}, network(measure={}))

    def test_two_hosts_are_measured_where_they_say_so(self) -> None:
        scenario = {
            "hosts": {"server": {"stack": "linux-6.1"}, "client": {"stack": "linux-6.1"}},
            "path": {"rate": "1 Mbit/s", "delay": "5 ms"},
            "transfers": [{"from": "server", "to": "client", "writes": "1 x 100 kB"}],
        }
        given = {"x": {"measure": "queue", "link": "path"}, "y": {"measure": "slowdown", "transfers": ["0"]}}
        with pytest.raises(StudyError, match=r"give the scenario measure = \{\}"):
            study(given, scenario)
        results = run_study(study(given, scenario | {"measure": {}}), None)
        assert results.table()["x"][0] > 0
        assert 1 < results.table()["y"][0] < 2

    def test_names_that_a_factor_gives_are_known(self) -> None:
        spec = study(
            {"x": {"measure": "share", "transfers": ["other"]}}, vary={"transfers.1.name": ["far", "other"]}
        )
        assert spec.measured[0].transfers == ("other",)

    def test_a_name_that_was_set_away_is_found_before_the_first_run(self, tmp_path: Path) -> None:
        spec = study({"x": {"measure": "jain", "transfers": ["near"]}}).with_set("transfers.0.name", "nearer")
        with pytest.raises(StudyError, match="'near' is not a transfer; did you mean 'nearer'"):
            run_study(spec, tmp_path / "out")
        assert not (tmp_path / "out").exists()


GIVEN = {
    "fairness": {"measure": "jain", "transfers": ["near", "far"], "from": "2 s", "to": "4 s"},
    "used": {"measure": "utilisation", "link": "bottleneck"},
    "delay": {"measure": "queue", "link": "bottleneck", "stat": "p95", "meaning": "how long packets wait"},
    "slow": {"measure": "slowdown", "stat": "max"},
}


class TestInAStudy:
    def spec(self) -> StudySpec:
        vary = {"links.bottleneck.queue": ["10 packets", "50 packets"]}
        return study(GIVEN, vary=vary, design={"replications": 2})

    def test_they_are_columns_with_meaning_and_unit(self, tmp_path: Path) -> None:
        results = run_study(self.spec(), tmp_path / "out")
        table = results.table()
        assert table.columns[-4:] == list(GIVEN)
        for name in GIVEN:
            assert table[name].null_count() == 0
        assert table["delay"].to_list() == results_of(results, "links", "queue_p95_ms")
        fields = {name: results.arrow().schema.field(name).metadata for name in GIVEN}
        assert fields["delay"][b"meaning"] == b"how long packets wait"
        assert fields["delay"][b"unit"] == b"ms"
        assert (
            fields["fairness"][b"meaning"] == b"Jain's index of the goodputs of near and far, from 2 s to 4 s"
        )
        assert (table["slow"] > 1).all()

    def test_a_share_of_a_link_is_what_was_delivered_over_what_its_rate_allows(self) -> None:
        kinds: dict[str, dict[str, Any]] = {
            "whole": {"measure": "share", "transfers": ["near"], "link": "bottleneck"},
            "part": {
                "measure": "share",
                "transfers": ["near"],
                "link": "bottleneck",
                "from": "0 s",
                "to": "1 s",
            },
            "free": {"measure": "share", "transfers": ["near"], "link": {"name": "access", "from": "near"}},
        }
        results = run_study(study(kinds, vary={"links.bottleneck.rate": ["5 Mbit/s", "10 Mbit/s"]}), None)
        near = results.transfers().filter(pl.col("transfer") == "near").sort("run")["bytes"].to_list()
        table = results.table().sort("run")
        allowed = [rate * end / 1e9 for rate, end in zip((5e6, 10e6), table["virtual_ns"], strict=True)]
        assert table["whole"].to_list() == pytest.approx(
            [8 * a / b for a, b in zip(near, allowed, strict=True)]
        )
        over = results.transfers(over_time=True).join(
            results.transfers().select("run", "connection", "transfer"), on=("run", "connection")
        )
        inside = (pl.col("to_ns") <= SECOND) & (pl.col("transfer") == "near")
        read = over.filter(inside).group_by("run").agg(pl.col("bytes").sum()).sort("run")["bytes"].to_list()
        assert table["part"].to_list() == pytest.approx([8 * read[0] / 5e6, 8 * read[1] / 10e6])
        assert (table["free"] > 0).all()

    def test_the_stored_study_gives_the_same_again(self, tmp_path: Path) -> None:
        first = run_study(self.spec(), tmp_path / "out")
        again = run_study(load_spec(tmp_path / "out" / "study.toml"), tmp_path / "again")
        assert again.table().equals(first.table())
        assert again.study["responses"] == first.study["responses"] == GIVEN

    def test_memory_and_folder_agree(self, tmp_path: Path) -> None:
        assert run_study(self.spec(), None).table().equals(run_study(self.spec(), tmp_path / "out").table())

    def test_one_packet_over_an_empty_network_has_a_slowdown_of_about_two(self) -> None:
        scenario = network()
        scenario["transfers"] = [{"name": "near", "from": "near", "to": "sink", "writes": "1 x 1000 bytes"}]
        table = run_study(study({"slow": {"measure": "slowdown"}}, scenario), None).table()
        assert 1.4 < table["slow"][0] < 2.1


def test_each_host_of_a_network_has_its_capture(tmp_path: Path) -> None:
    scenario = network()
    scenario["hosts"]["near"]["count"] = 2
    spec = parse_spec({"scenario": scenario, "design": {"replications": 2}}, "mine", None)
    results = run_study(spec, tmp_path / "out", RunOptions(capture="all", verdicts="all"))
    hosts = ["far", "near-1", "near-2", "sink"]
    names = [f"run-{run:08d}-{host}.pcapng" for run in range(2) for host in hosts]
    assert sorted(path.name for path in (tmp_path / "out" / "captures").iterdir()) == names
    told = results.sql("select distinct host from captures order by host")
    assert told["host"].to_list() == hosts
    results.capture(1, at={"near-2": tmp_path / "again.pcapng"})
    assert (tmp_path / "again.pcapng").read_bytes() == (tmp_path / "out" / "captures" / names[6]).read_bytes()
    with pytest.raises(UsageError, match="'near' is not a host of mine"):
        results.capture(0, at={"near": tmp_path / "never.pcapng"})
    assert set(Again(results).run(0, {"sink": tmp_path / "sink.pcapng"})) == {"state", "verdicts"}


def results_of(results: rexmit.Results, table: str, column: str) -> list[float]:
    [detail] = [one for one in DETAILS if one.name == table]
    frame = pl.DataFrame(pl.from_arrow(results.detail(detail)))
    own = (pl.col("link") == "bottleneck") & (pl.col("from_point") == "left")
    found: list[float] = frame.filter(own)[column].to_list()
    return found
