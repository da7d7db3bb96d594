"""A study in which nothing varies has figures too, and its flows have the names of their transfers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rexmit import Results
from rexmit.report.explorer import explorer_of
from rexmit.report.figures import draw_figures
from rexmit.report.single import _jain, flow_names

from .test_report import small, unpack


def two_flows(measure: dict[str, str] | None = None, **more: Any) -> Results:
    scenario: dict[str, Any] = {
        "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
        "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "20 packets", "down": {"loss": "1 %"}},
        "intervals": "500 ms",
        "transfers": [
            {"from": "server", "to": "client", "bulk": "3 s", "name": "first"},
            {"from": "server", "to": "client", "bulk": "2 s", "start": "20 ms", "name": "<late>"},
        ],
    }
    if measure:
        scenario["measure"] = measure
    study = small(vary={}, scenario=scenario, design={"replications": 6, "seed": 3})
    return study.run(progress=False, **more)


def test_what_there_is_of_one_scenario_is_drawn(tmp_path: Path) -> None:
    files = draw_figures(two_flows(), tmp_path, ("svg",))
    names = ["throughput-run-0.svg", "time-sequence-run-0.svg", "distribution.svg"]
    assert [file.name for file in files] == names
    assert 'id="line-first"' in files[0].read_text()
    assert 'id="jain"' in files[0].read_text()
    assert [file.name for file in draw_figures(two_flows(), tmp_path, ("svg",), [4])][:2] == [
        "throughput-run-4.svg",
        "time-sequence-run-4.svg",
    ]


def test_a_kept_capture_is_drawn_and_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = two_flows(out=tmp_path / "out", capture="all")
    monkeypatch.setattr(Results, "capture", lambda *_, **__: pytest.fail("was run again"))
    assert "time-sequence-run-0.svg" in {one.name for one in draw_figures(results, tmp_path / "f", ("svg",))}


def test_jain_counts_flows_from_their_first_interval_to_their_last() -> None:
    rates = {0: [4, 4, 0, 4], 1: [0, 4, 4, 0]}
    rows = pl.DataFrame(
        [
            {"connection": n, "host": "server", "from_ns": at, "bytes": rate, "goodput_bit_s": rate}
            for n, each in rates.items()
            for at, rate in enumerate(each)
        ]
    )
    found = _jain(rows)
    assert found is not None
    # Alone, alike, one of two stalls, alone again.
    assert found["jain"].to_list() == [None, 1.0, 0.5, None]
    assert _jain(rows.filter(pl.col("connection") == 0)) is None


def test_the_explorer_begins_over_time_and_names_flows() -> None:
    explorer = explorer_of(two_flows())
    assert explorer is not None
    assert explorer.first["table"] == "intervals"
    (told,) = (one for one in explorer.tables if one["name"] == "intervals")
    assert {"connection": "text"}.items() <= {key["name"]: key["kind"] for key in told["keys"]}.items()
    packed = unpack(explorer.blocks["intervals"])
    assert "<late>" in str(packed)


def test_the_view_of_flows_and_queues_finds_flows_by_their_numbers() -> None:
    """Its tables are joined by these; names stand in the table of transfers."""
    explorer = explorer_of(two_flows(measure={"every": "500 ms"}))
    assert explorer is not None
    kinds = {
        table["name"]: {key["name"]: key["kind"] for key in table["keys"]}.get("connection")
        for table in explorer.tables
    }
    assert kinds["intervals"] == "text"
    assert kinds["transfers_over_time"] == kinds["transfers"] == "number"


def test_flows_are_called_by_their_transfers() -> None:
    transfers = [{"name": "a"}, {}, {"name": "c", "connections": 2}]
    assert flow_names({"transfers": transfers}) == ["a", "transfer 1", "c 1", "c 2"]
    assert flow_names({"transfers": [{"name": "a", "flows": {}}]}) == []
