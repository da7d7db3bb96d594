"""The native module is what its types say, and refuses what it cannot take in one line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rexmit import _native


def test_the_types_are_those_of_the_module(tmp_path: Path) -> None:
    # A package of the stub alone: mypy would read all of rexmit to check a page of types.
    stub = tmp_path / "rexmit" / "_native.pyi"
    stub.parent.mkdir()
    stub.with_name("__init__.pyi").touch()
    stub.write_bytes(Path(_native.__file__).with_name("_native.pyi").read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "rexmit._native"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("text", "bits"), [("40 kbit/s", 40_000), ("1.5 Mbit/s", 1_500_000), ("10000 kbit/s", 10**7)]
)
def test_rates_are_read_exactly(text: str, bits: int) -> None:
    assert _native.parse_rate(text) == bits


@pytest.mark.parametrize(("text", "ns"), [("5 ms", 5_000_000), ("1.5 s", 1_500_000_000), ("3 us", 3_000)])
def test_times_are_read_exactly(text: str, ns: int) -> None:
    assert _native.parse_duration(text) == ns


@pytest.mark.parametrize("text", ["", "5", "5 m s", "-5 ms", "0.1 ns", "5 Mbit/s", "ms"])
def test_what_is_no_time_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        _native.parse_duration(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "[]", "{}", "null", "{", '{"hosts": 3}', '{"hosts": {}}'])
def test_what_is_no_scenario_is_refused_in_one_line(content: str) -> None:
    for call in (_native.resolve, lambda text: _native.run_one(text, 1, "", "{}")):
        with pytest.raises(ValueError, match=r".+") as caught:
            call(content)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "factors", "levels"),
    [("{", [], "[]"), ("{}", ["a"], "[]"), ("{}", ["a"], "[[]]"), ("{}", ["a"], "3"), ("{}", [], "[[1]]")],
)
def test_what_is_no_plan_is_refused_in_one_line(base: str, factors: list[str], levels: str) -> None:
    with pytest.raises(ValueError, match=r".+") as caught:
        _native.Plan(base, factors, levels)
    assert "\n" not in str(caught.value)


def all_of(sweep: _native.Sweep) -> Iterator[dict[str, Any]]:
    while (found := sweep.next(0.0)) is not None:
        yield found


def test_a_range_of_runs_is_cut_to_those_that_exist() -> None:
    host = {"stack": "freebsd-6.0"}
    transfer = {"from": "server", "to": "client", "writes": "2500 bytes"}
    scenario = {"hosts": {"server": host, "client": host}, "transfers": [transfer]}
    plan = _native.Plan(json.dumps(scenario), ["path.delay"], '[["1 ms", "2 ms"]]')
    sizes = [
        sum(len(found["runs"]["run"][1]) // 4 for found in all_of(plan.sweep(runs, 2, 1, 1)))
        for runs in [(0, 4), (1, 3), (3, 9), (4, 4), (9, 12), (3, 1)]
    ]
    assert sizes == [4, 2, 1, 0, 0, 0]


def small_plan() -> _native.Plan:
    host = {"stack": "freebsd-6.0"}
    transfer = {"from": "server", "to": "client", "writes": "2500 bytes"}
    scenario = {"hosts": {"server": host, "client": host}, "transfers": [transfer]}
    return _native.Plan(json.dumps(scenario), ["path.down.drop"], "[[0, 1, 500, 501]]")


def test_a_plan_remembers_what_was_never_reached() -> None:
    plan = small_plan()
    assert plan.unreached() == []
    list(all_of(plan.sweep((0, 6), 2, 1, 2)))
    assert plan.unreached() == [("path.down.drop: position 500 was never reached", 2)]
    list(all_of(plan.sweep((6, 8), 2, 1, 1)))
    assert plan.unreached() == [("path.down.drop: position 500-501 was never reached", 4)]


def test_a_plan_is_checked_in_slices() -> None:
    plan = small_plan()
    assert plan.points() == 4
    assert len(plan.check(0, 1)[0]) == 1
    assert [plan.check(*part) for part in [(1, 4), (4, 9), (3, 1)]] == [
        ([], [], ["tcp"]),
        ([], [], []),
        ([], [], []),
    ]


@pytest.mark.parametrize("number", [-1, 2**64])
def test_numbers_out_of_range_are_wrong_values(number: int) -> None:
    plan = small_plan()
    calls = [
        lambda: plan.check(number, 1),
        lambda: plan.run_key(number, 1),
        lambda: plan.sweep((0, number), 1, 1, 1),
        lambda: plan.sweep((0, 1), 1, 1, number),
        lambda: _native.run_one("{}", number, "", "{}"),
        lambda: _native.pattern_list("1", number),
        lambda: _native.pattern_show("1", number),
        lambda: _native.pattern_file(number, "1"),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="allowed: a whole number from 0 to"):
            call()


ANALYSIS = json.dumps(
    {
        "filter": None,
        "loss_event_rtts": 2.0,
        "missing_reports": 3,
        "threads": 1,
        "segments": False,
        "rtt": False,
        "chunks": False,
    }
)


def test_a_file_that_is_no_capture_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no capture")
    for path in (tmp_path / "text", tmp_path / "missing", tmp_path):
        with pytest.raises((ValueError, OSError), match=r".+") as caught:
            _native.Analysis([str(path)], ANALYSIS)
        assert "\n" not in str(caught.value)
