"""Figures of networks: what is drawn of which study, and what stands in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit.errors import UsageError
from rexmit.report import write_report
from rexmit.report.document import document_of
from rexmit.report.figures import draw_figures
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
    assert "links.bottleneck.delay 20 ms" in " ".join(words)


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
    with pytest.raises(UsageError, match=r"run 1: its flows were not measured over time"):
        draw_figures(results, tmp_path, ("svg",), (1,))


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


def test_a_page_of_a_network_has_the_packets_of_its_runs(results: rexmit.Results, tmp_path: Path) -> None:
    written = write_report(results, tmp_path / "report.html")
    assert not [remark for remark in written.remarks if "without packets" in remark]
    page = (tmp_path / "report.html").read_text()
    assert "Link bottleneck, left to right" in page
    assert all(f'id="run-{run}"' in page for run in range(4)) or "no explorer" in " ".join(written.remarks)
