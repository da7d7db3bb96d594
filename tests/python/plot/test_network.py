"""Figures of networks: what is drawn of which study, and what stands in it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.errors import UsageError
from rexmit.plot.network import rate_of, timed_transfers
from rexmit.report import write_report
from rexmit.report.answer import answer_of
from rexmit.report.document import document_of
from rexmit.report.explorer import Explorer, explorer_of
from rexmit.report.figures import draw_figures
from rexmit.report.flows import OverTime, over_time
from rexmit.report.testbed import testbed_facts as facts_of


def network(**more: Any) -> dict[str, Any]:
    """Two hosts that send to a third over one link."""
    host = {"stack": "linux-6.1", "access": {"rate": "100 Mbit/s", "delay": "1 ms"}}
    hosts = {"near": {**host, "at": "left"}, "far": {**host, "at": "left"}, "sink": {**host, "at": "right"}}
    link = {"between": ["left", "right"], "rate": "5 Mbit/s", "delay": "5 ms", "queue": "20 packets"}
    link["from"] = {"right": {"rate": "1 Mbit/s"}}
    transfers = [{"name": name, "from": name, "to": "sink", "bulk": "3 s"} for name in ("near", "far")]
    scenario = {"hosts": hosts, "links": {"bottleneck": link}, "transfers": transfers, "limit": "10 s"}
    return scenario | {"measure": {"every": "250 ms"}} | more


def study(scenario: dict[str, Any], **more: Any) -> rexmit.Study:
    vary = {
        "links.bottleneck.queue": ["10 packets", "40 packets"],
        "links.bottleneck.delay": ["5 ms", "20 ms"],
    }
    return rexmit.Study.from_dict({"title": "Two flows", "scenario": scenario, "vary": vary, **more})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> rexmit.Results:
    responses = {"even": {"measure": "jain", "from": "1 s"}}
    return study(network(), responses=responses).run(tmp_path_factory.mktemp("net") / "out", progress=False)


def test_flows_stand_over_the_queue_that_they_share(results: rexmit.Results, tmp_path: Path) -> None:
    files = draw_figures(results, tmp_path, ("svg",), (0, 3))
    assert [file.name for file in files] == ["flows-run-0.svg", "flows-run-3.svg", "even.svg"]
    text = files[1].read_text()
    assert re.findall(r'id="(flow-[^"]+)"', text) == ["flow-near", "flow-far"]
    words = re.findall(r"<!-- (.*?) -->", text)
    for told in (
        "Goodput (Mbit/s)",
        "Queueing delay (ms)",
        "Time (s)",
        "rate of bottleneck",
        "left to right",
    ):
        assert told in words, told
    assert "delay of link bottleneck 20 ms" in " ".join(words)
    assert "links.bottleneck" not in text


def test_many_flows_are_one_line_a_transfer_and_small_transfers_one_together(tmp_path: Path) -> None:
    def drawn(transfers: list[dict[str, Any]]) -> tuple[list[str], str]:
        scenario = network(transfers=transfers)
        results = rexmit.Study.from_dict({"title": "Many", "scenario": scenario}).run(progress=False)
        text = draw_figures(results, tmp_path, ("svg",))[0].read_text()
        return re.findall(r'id="flow-([^"]+)"', text), " ".join(re.findall(r"<!-- (.*?) -->", text))

    ways = {"from": "near", "to": "sink"}
    names, words = drawn([{**ways, "name": "pairs", "bulk": "20 kB", "connections": 20}])
    assert names == ["pairs"]
    assert "pairs, sum of 20 flows" in words
    some = [{**ways, "name": f"t{at}", "bulk": f"{10 + at} kB"} for at in range(30)]
    assert drawn(some)[0] == [*(f"t{at}" for at in range(19, 30)), "others"]
    names, words = drawn([{**ways, "bulk": "3 kB", "start": f"{at} s"} for at in range(3)])
    assert names == ["transfer 0", "transfer 1", "transfer 2"]
    assert "rate of bottleneck: 5 Mbit/s, above" in words, "far above all flows it would press them flat"


def test_rates_of_links_are_those_of_their_directions() -> None:
    links = {"links": {"b": {"rate": "5 Mbit/s", "from": {"right": {"rate": "1 Mbit/s"}}}}}
    assert [rate_of(links, "b", point) for point in ("left", "right")] == [5_000_000, 1_000_000]
    path = {"path": {"rate": "5 Mbit/s", "down": {"rate": "8 Mbit/s"}}}
    assert [rate_of(path, "path", point) for point in ("server", "client")] == [8_000_000, 5_000_000]
    assert rate_of({"path": {}}, "path", "server") is None


def test_the_same_results_give_the_same_bytes(results: rexmit.Results, tmp_path: Path) -> None:
    one, other = (draw_figures(results, tmp_path / name, ("svg",)) for name in ("one", "other"))
    assert [file.read_bytes() for file in one] == [file.read_bytes() for file in other]


def test_fairness_has_a_cell_a_pair_of_levels(results: rexmit.Results, tmp_path: Path) -> None:
    even = draw_figures(results, tmp_path, ("svg",))[-1].read_text()
    words = re.findall(r"<!-- (.*?) -->", even)
    means = results.table()["even"].to_list()
    assert sorted(
        word for word in words if re.fullmatch(r"[01]\.\d\d", word) and word in _two(means)
    ) >= _two(means)
    assert "10 packets" in words
    assert {"Delay of link bottleneck", "Queue of link bottleneck", "Jain's index (1: all alike)"} <= set(
        words
    )
    assert {"0.0", "1.0"} <= set(words), "one colour is one index in all figures"


def _two(values: list[float]) -> list[str]:
    return sorted(f"{value:.2f}" for value in values)


def test_many_flows_have_the_distribution_of_their_times(tmp_path: Path) -> None:
    flows = {"count": 30, "every": "exponential 20 ms", "size": "pareto 10 kB 1.5"}
    scenario = network(transfers=[{"name": "web", "from": "near", "to": "sink", "flows": flows}], measure={})
    results = study(scenario).run(tmp_path / "out", progress=False)
    files = draw_figures(results, tmp_path, ("svg",))
    assert [file.name for file in files] == ["completion-5-ms.svg", "completion-20-ms.svg"]
    text = files[0].read_text()
    assert "Flow completion time (ms)" in text
    assert re.findall(r'id="(cdf-[^"]+)"', text) == ["cdf-10 packets (30)", "cdf-40 packets (30)"]
    assert "left out" not in text
    with pytest.raises(UsageError, match=r"run 1: its flows were not measured over time"):
        draw_figures(results, tmp_path, ("svg",), (1,))


def test_flows_that_end_by_the_clock_have_no_completion_time(tmp_path: Path) -> None:
    ways = {"from": "near", "to": "sink"}
    short = {**ways, "name": "web", "flows": {"count": 25, "every": "20 ms", "size": "3 kB"}}
    clocked = [{**ways, "name": f"clock-{at}", "bulk": "1 s"} for at in range(2)]
    amount = {**ways, "name": "amount", "bulk": "30 kB"}
    scenario = network(transfers=[short, *clocked, amount], measure={})
    results = rexmit.Study.from_dict({"title": "Some", "scenario": scenario}).run(progress=False)
    text = draw_figures(results, tmp_path, ("svg",))[0].read_text()
    words = re.findall(r"<!-- (.*?) -->", text)
    assert "left out: flows of clock-0, clock-1, which write for a set time" in words
    timed, frame = timed_transfers(results, pl.DataFrame(results.transfers()))
    assert (timed, frame["transfer"].unique(maintain_order=True).to_list()) == (
        ["clock-0", "clock-1"],
        ["web", "amount"],
    )
    told = explorer_of(results)
    assert told is not None
    [table] = [one for one in told.tables if one["name"] == "transfers"]
    [time] = [one for one in table["responses"] if one["name"] == "time_ns"]
    assert time["timed"] == {"names": ["clock-0", "clock-1"], "all": False}


def test_a_factor_may_turn_a_transfer_into_one_that_ends_by_the_clock() -> None:
    vary = {"transfers.0.bulk": ["10 kB", "1 s"]}
    results = rexmit.Study.from_dict({"scenario": network(), "vary": vary}).run(progress=False)
    timed, frame = timed_transfers(results, pl.DataFrame(results.transfers()))
    assert timed == ["far", "near"]
    assert frame.select("run", "transfer").rows() == [(0, "near")]


def test_two_hosts_without_measures_have_no_flows_over_time(tmp_path: Path) -> None:
    results = (
        rexmit.Study.load("hurtig-2006/short").set("path.down.drop", [0, 9]).set("path.rate", ["1 Mbit/s"])
    )
    told = results.run(progress=False)
    with pytest.raises(UsageError, match="run 0: its flows were not measured over time"):
        draw_figures(told, tmp_path, ("svg",), (0,))


def test_a_report_tells_hosts_points_and_links(results: rexmit.Results) -> None:
    told = {facts.title: dict(facts.rows) for facts in facts_of(results)}
    assert list(told) == ["Hosts", "Points", "Link bottleneck, left to right", "Traffic", "Runs"]
    assert "access delay 1 ms" in told["Hosts"]["near"]
    assert told["Points"] == {
        "left": "host far; host near; link bottleneck to right",
        "right": "host sink; link bottleneck to left",
    }
    link = told["Link bottleneck, left to right"]
    assert link["queue"] == "varies: 10 packets, 40 packets"
    assert link["rate of the bottleneck"] == "5 Mbit/s"
    assert link["rate of the bottleneck, from right"] == "1 Mbit/s"
    document = document_of(results)
    assert [picture.name for picture in document.pictures] == ["flows-run-0", "even"]
    assert document.notices == []


def test_the_explorer_has_flows_over_time_of_as_many_runs_as_its_page_bears() -> None:
    responses = {"even": {"measure": "jain", "from": "1 s"}}
    results = study(network(limit="1 min"), responses=responses).run(progress=False)
    whole = explorer_of(results)
    assert whole is not None
    assert whole.flows == {"note": "", "fairness": "even"}
    assert "rate_bit_s" in _columns(whole, "links_over_time")
    assert _runs(over_time(results, None)) == [0, 1, 2, 3]
    (transfers,) = (table for table in whole.tables if table["name"] == "transfers")
    titles = {one["name"]: one.get("title") for one in transfers["responses"]}
    assert titles["time_ns"] == "completion time"
    rows = max(results.links(over_time=True).group_by("run").len()["len"].to_list())
    most = 2 * rows * 80 + 80
    assert len(_runs(over_time(results, most))) == 2, "whole runs"
    some = explorer_of(results, most)
    assert some is not None
    assert _columns(some, "links_over_time")["run"]["count"] <= 2 * rows
    assert some.remarks == [some.flows["note"]]
    assert "of 2 of 4 runs" in str(some.flows["note"])
    none = explorer_of(results, most_bytes=100)
    assert none is not None
    assert not {"transfers_over_time", "links_over_time"} & set(none.blocks)
    assert "of no run" in str(none.flows["note"])
    assert "measure.every" in str(none.flows["note"])


def _runs(timed: OverTime) -> list[int]:
    """The runs that both tables have."""
    runs = [frame["run"].unique().sort().to_list() for frame in timed.frames.values()]
    assert runs[0] == runs[1]
    return list(runs[0])


def _columns(explorer: Explorer, table: str) -> dict[str, Any]:
    data = gzip.decompress(base64.b64decode(explorer.blocks[table]))
    told = json.loads(data[8 : 8 + int.from_bytes(data[4:8], "little")])
    return dict(told["tables"][table])


def test_fairness_of_all_flows_is_there_unless_a_measure_has_it(tmp_path: Path) -> None:
    plain = explorer_of(study(network(measure={}, limit="1 min")).run(progress=False))
    assert plain is not None
    assert plain.flows == {"note": "", "fairness": "fairness"}
    assert "fairness" in _columns(plain, "runs")
    assert not {"transfers_over_time", "links_over_time"} & set(plain.blocks)
    flows = {"count": 5, "every": "exponential 20 ms", "size": "pareto 10 kB 1.5"}
    comes = network(transfers=[{"name": "web", "from": "near", "to": "sink", "flows": flows}])
    come_and_go = explorer_of(study(comes).run(progress=False))
    assert come_and_go is not None
    assert come_and_go.flows["fairness"] is None


def test_a_page_of_a_network_has_the_packets_of_its_runs(results: rexmit.Results, tmp_path: Path) -> None:
    written = write_report(results, tmp_path / "report.html")
    assert not [remark for remark in written.remarks if "without packets" in remark]
    page = (tmp_path / "report.html").read_text()
    assert "Link bottleneck, left to right" in page
    assert all(f'id="run-{run}"' in page for run in range(4)) or "no explorer" in " ".join(written.remarks)


def test_a_link_that_follows_a_trace_is_the_bottleneck_and_its_queue_is_in_packets(tmp_path: Path) -> None:
    (tmp_path / "slow.csv").write_text("time (s),rate (Mbit/s)\n0,4\n1,2\n2,4\n")
    scenario = {
        "hosts": {name: {"stack": "linux-6.1"} for name in ("server", "client")},
        "path": {"delay": "20 ms", "queue": "30 packets", "up": {"rate": "8 Mbit/s"}},
        "transfers": [{"from": "server", "to": "client", "bulk": "2 s"}],
        "measure": {"every": "250 ms"},
    }
    scenario["path"]["down"] = {"rate": {"trace": str(tmp_path / "slow.csv")}}  # type: ignore[index]
    vary = {"hosts.server.stack.congestion.algorithm": ["reno", "cubic"], "path.delay": ["10 ms", "60 ms"]}
    spec = {"title": "Over a trace", "scenario": scenario, "vary": vary}
    found = rexmit.Study.from_dict(spec).run(tmp_path / "out", progress=False)
    files = draw_figures(found, tmp_path / "figures", ("svg",), answer=True)
    # All transfers write for two seconds: the time says nothing, a figure of single runs is not an answer.
    assert [file.name for file in files] == ["flows-run-0.svg", "goodput-bit-s.svg"]
    words = re.findall(r"<!-- (.*?) -->", files[0].read_text())
    assert "Queue (packets)" in words
    assert "server to client" in words
    assert "rate of path" not in words
    assert "Queueing delay (ms)" not in words
    answer = answer_of(found)
    assert answer is not None
    assert answer.quantity is not None
    assert answer.quantity.column == "goodput_bit_s"
    # A report has the figure of its answer already.
    assert [file.name for file in draw_figures(found, tmp_path / "again", ("svg",))] == ["flows-run-0.svg"]
