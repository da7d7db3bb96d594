"""The flows of hurtig-2006 on a real Linux in virtual time: which positions wait, and what it costs."""

from __future__ import annotations

import importlib
from pathlib import Path

import polars as pl
import pytest
from rexmit import Results, Study
from rexmit.analyse.positions import PositionCosts
from rexmit.analyse.study_code import study_module
from rexmit.errors import UsageError
from rexmit.report import draw_figures
from rexmit.study import load_spec

BESIDE = study_module("hurtig-2006", "beside")
REPAIRS = study_module("hurtig-2006", "repairs")

STACK, POSITION = "hosts.server.linux", "path.down.drop"
SLICE = ["cubic", "cubic, no SACK"]
GOLDEN = {
    # Position: timeouts, recoveries and retransmissions of both hosts; at 20 the client repeats its FIN.
    "cubic": {0: (0, 0, 0), **dict.fromkeys(range(2, 19), (0, 1, 1)), 19: (0, 0, 1), 20: (0, 0, 1)},
    "cubic, no SACK": {
        0: (0, 0, 0),
        **dict.fromkeys(range(2, 17), (0, 1, 1)),
        **dict.fromkeys((17, 18, 19), (1, 0, 1)),
        20: (0, 0, 1),
    },
}
"""At 1000 kbit/s and 10 ms. Without position 1: its counters depend on whose SYN is repeated first."""


def one_path(name: str) -> Study:
    """The short flows on one path, with the stacks of `SLICE`."""
    study = Study.load(f"hurtig-2006/{name}").set("path.rate", "1000 kbit/s").set("path.delay", "10 ms")
    (factor,) = (factor for factor in study.spec.design.factors if factor.name == STACK)
    levels = [factor.levels[factor.labels.index(label)] for label in SLICE]
    return study.set(f"vary.{STACK}", {"levels": levels, "labels": SLICE})


@pytest.fixture(scope="module")
def results(guest: None) -> Results:
    return one_path("linux-short").run(backend="uml", progress=False)


@pytest.mark.parametrize(
    ("name", "runs", "positions"), [("linux-short", 83_160, 21), ("linux-long", 203_616, 101)]
)
def test_the_studies_hold_every_position_and_twelve_stacks(name: str, runs: int, positions: int) -> None:
    spec = load_spec(f"hurtig-2006/{name}")
    factors = {factor.name: factor for factor in spec.design.factors}
    assert spec.design.runs == runs
    assert len(factors[POSITION].levels) == positions
    assert len(factors[STACK].labels) == 12
    for label, level in zip(factors[STACK].labels, factors[STACK].levels, strict=True):
        control, *without = str(label).split(", ")
        off = {"no TLP": {"early_retrans": 0}, "no RACK": {"recovery": 0}, "no SACK": {"sack": False}}
        expected = {"congestion": control}
        for part in without:
            expected |= off[part]
        assert level == expected


def test_the_flows_and_paths_are_those_of_the_thesis() -> None:
    for flow in ("short", "long"):
        old, new = load_spec(f"hurtig-2006/{flow}"), load_spec(f"hurtig-2006/linux-{flow}")
        assert new.scenario["path"] == old.scenario["path"]
        assert new.scenario["transfers"] == old.scenario["transfers"]


def test_what_waits_on_linux(results: Results) -> None:
    table = results.table()
    assert table["completed"].all()
    assert table["bytes"].unique().to_list() == [25_000]
    for stack, golden in GOLDEN.items():
        part = table.filter((pl.col(STACK) == stack) & (pl.col(POSITION) != 1))
        counts = part.select(POSITION, "timeouts_server", "fast_retransmits", "retransmits")
        assert {row[0]: row[1:] for row in counts.iter_rows()} == golden, stack


def test_the_last_packet_waits_as_long_with_a_probe_as_without(results: Results) -> None:
    found = REPAIRS.repairs(results.table(), POSITION, [STACK])
    waits = {
        (stack, at): (repair, extra)
        for stack, at, repair, extra in found.select(STACK, "position", "repair", "extra_ms").iter_rows()
    }
    assert waits["cubic", 19][0] == "probe"
    assert waits["cubic, no SACK", 19][0] == "timer"
    assert waits["cubic", 19][1] == pytest.approx(waits["cubic, no SACK", 19][1], abs=40)
    assert waits["cubic", 18][1] < 40 < 300 < waits["cubic, no SACK", 18][1]
    assert waits["cubic", 1] == ("handshake", pytest.approx(1_050, abs=60))


def test_its_figures_come_from_the_results(results: Results, tmp_path: Path) -> None:
    files = draw_figures(results, tmp_path, ["png"])
    names = ["inhibitions-then-and-now", "late-loss-against-delay", "what-a-tail-loss-costs"]
    assert [file.stem for file in files] == [*names, "positions-1000-kbit-s"]


def test_the_reference_is_freebsd_on_the_same_paths(results: Results) -> None:
    reference = study_module("hurtig-2006", "figures").reference_of(results)
    table = reference.table()
    assert table.height == 21 * 3
    found = REPAIRS.repairs(table, POSITION, ["path.rate_bit_s"]).filter(pl.col("replication") == 0)
    assert [at for at, kind in found.select("position", "repair").iter_rows() if kind == "timer"] == [
        16,
        17,
        18,
        19,
    ]


def test_costs_of_another_stack_at_the_positions_that_wait() -> None:
    cost = PositionCosts({}, 4, (3,), 2, 0.5, 0.1)
    times = {0: 90.0, 1: 400.0, 2: 100.0, 3: 120.0, 4: 100.0}
    assert REPAIRS.additional_at(cost, times) == pytest.approx(0.2)
    assert REPAIRS.average_at(cost, times) == pytest.approx(20 / 700)
    assert REPAIRS.additional_at(PositionCosts({}, 4, (), 3, None, None), times) is None
    assert REPAIRS.average_at(PositionCosts({}, 4, (), 3, None, None), times) is None


def test_repairs_need_the_run_without_loss() -> None:
    rows = {"replication": [0, 0], "at": [1, 2], "completed": [True, True], "time_ns": [1, 1]}
    rows |= {name: [0, 0] for name in ("timeouts_server", "fast_retransmits", "data_segments", "retransmits")}
    with pytest.raises(UsageError, match="not a run without loss"):
        REPAIRS.repairs(pl.DataFrame(rows), "at", [])
    failed = pl.DataFrame({**rows, "completed": [True, False], "run": [0, 1]})
    with pytest.raises(UsageError, match="1 run did not complete"):
        REPAIRS.repairs(failed, "at", [])


def test_the_page_keeps_what_takes_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "scripts"))
    page = importlib.import_module("study_page").Page("hurtig-2006", tmp_path, linux=True)
    kept = page.kept("twenty-years-later", "whole")
    assert kept.startswith("## Linux 6.12\n")
    assert "\n## Long flows\n" in kept
    assert not page.whole


@pytest.mark.second_kernel
def test_linux_6_12_holds_the_last_segment_back_and_acknowledges_sooner(tmp_path: Path) -> None:
    study = Study.load("hurtig-2006/linux-short").set("design.replications", 1)
    study = study.set("path.rate", "10000 kbit/s").set("path.delay", "60 ms")
    study = study.set("path.down.drop", {"position": "0,3,10,19"})
    study = study.set(f"vary.{STACK}", {"levels": [{"congestion": "cubic"}], "labels": ["cubic"]})
    old, new = (
        study.run(tmp_path / kernel, backend="uml", kernel=kernel, capture="all", progress=False)
        for kernel in ("6.1", "6.12")
    )
    kernels = study_module("hurtig-2006", "kernels")
    changed = dict(kernels.differences(old, new).select(POSITION, "ms").iter_rows())
    assert (changed[0], changed[10]) == (0, 0)
    assert changed[3] == pytest.approx(114, abs=3)
    assert -80 < changed[19] < 0
    runs = {position: old.run_number(path__down__drop=position) for position in (3, 19)}
    assert kernels.first_packet(old, new, runs[3]) == kernels.HELD
    assert kernels.first_packet(old, new, runs[19]) == kernels.SOONER


def test_the_model_ends_each_flow_when_the_kernel_does(guest: None) -> None:
    study = Study.load("hurtig-2006/model-short").set("path.rate", "1000 kbit/s").set("path.delay", "10 ms")
    model, kernel = (study.run(backend=backend, progress=False) for backend in ("model", "uml"))
    runs = BESIDE.both(model, kernel)
    assert len(runs) == 21 * 12
    assert runs["off_ms"].abs().max() <= BESIDE.NEAR_MS
    assert runs["time_ms"].n_unique() > 50
    repaired = BESIDE.same_repairs(model, kernel)
    assert repaired["same"].to_list() == repaired["counted"].to_list()


def test_a_profile_that_is_a_variant_of_the_kernel_sets_the_kernel(guest: None) -> None:
    study = Study.load("hurtig-2006/model-short").set("path.rate", "1000 kbit/s").set("path.delay", "10 ms")
    changed = {"inherits": "linux-6.1", "recovery": {"rack": False, "tail_probe": False}}
    levels = {"named": "linux-6.1-no-rack", "changed": changed, "defaults": "linux-6.1"}
    times = {}
    for name, level in levels.items():
        # A level would name the draws of its runs.
        table = study.spec.to_table()
        del table["vary"]["hosts.server.stack"]
        table["scenario"]["hosts"]["server"]["stack"] = level
        alone = Study.from_dict(table).run(backend="uml", progress=False)
        times[name] = alone.table()["time_ns"].to_list()
    assert times["named"] == times["changed"]
    assert times["named"] != times["defaults"]
