from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import rexmit
from rexmit import Study, StudyError
from rexmit.errors import Interrupted, StoreError, UsageError
from rexmit.run.backends import open_backend

SCENARIO = {
    "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
    "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"},
    "transfers": [{"from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes"}],
}


def test_a_study_is_loaded_changed_and_run_in_memory(study_file: Path) -> None:
    study = Study.load(study_file)
    assert repr(study) == "<Study small: 16 runs, varies path.delay (2), path.down.drop (4)>"
    results = study.set("path.delay", "5 ms").set("design.replications", 1).run(progress=False)
    assert len(results) == 4
    assert isinstance(results.table(), pl.DataFrame)
    assert results.arrow().num_rows == 4
    assert results.folder is None
    assert study.runs == 16, "the study itself stays as it is"


def test_progress_can_go_to_a_function(study_file: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    Study.load(study_file).run(progress=lambda *report: seen.append(report))
    assert seen[0] == ("runs", 0, 16)
    assert seen[-1] == ("runs", 16, 16)


def test_a_flow_is_counted_as_the_thesis_counts_it() -> None:
    answer = rexmit.run_one(SCENARIO)
    row = answer["row"]
    assert row["completed"]
    assert (row["packets_down"], row["data_segments"], row["bytes"]) == (20, 18, 25_000)
    assert (row["retransmits"], row["timeouts"], row["drops_down"]) == (0, 0, 0)


def test_one_run_tells_state_and_verdicts() -> None:
    answer = rexmit.run_one(
        SCENARIO, options={"state": True, "verdicts": True}, path__down__drop={"position": 18}
    )
    verdicts, state = answer["verdicts"], answer["state"]
    dropped = verdicts.filter(pl.col("dropped"))
    assert dropped["position"].to_list() == [18]
    assert dropped["verdict"].to_list() == ["dropped by pattern at position 18"]
    assert dropped["direction"].to_list() == ["down"]
    assert set(state["host"].to_list()) == {"server", "client"}
    assert state["time_ns"].is_sorted()
    assert state.filter(pl.col("host") == "server")["timeouts"].max() == 1
    assert answer["row"]["timeouts_server"] == 1


def test_one_run_tells_why_each_packet_was_sent() -> None:
    sent = rexmit.run_one(SCENARIO, options={"transmissions": True}, path__down__drop=18)["transmissions"]
    [again] = sent.filter(pl.col("transmission") > 1).to_dicts()
    assert (again["host"], again["reason"], again["backoff"]) == ("server", "timeout", 1)
    assert again["earlier"] == "lost"
    [lost] = sent.filter(pl.col("arrived_ns").is_null()).to_dicts()
    assert (lost["position"], lost["reason"], lost["seq"]) == (18, "new", again["seq"])
    assert set(sent["reason"]) == {"syn", "syn-ack", "ack", "new", "timeout"}


def test_the_same_seed_and_key_give_the_same_run_and_others_do_not() -> None:
    times = [
        rexmit.run_one(SCENARIO, seed=s, run_key=k, path__down__loss="10 %")["row"]["time_ns"]
        for s, k in [(1, "a"), (1, "a"), (1, "b"), (2, "a")]
    ]
    assert times[0] == times[1]
    assert len(set(times)) == 3


def test_a_capture_shows_what_the_verdicts_say(tmp_path: Path) -> None:
    files = {"capture_server": tmp_path / "server.pcapng", "capture_client": tmp_path / "client.pcapng"}
    answer = rexmit.run_one(SCENARIO, options={**files, "verdicts": True}, path__down__drop={"position": 8})
    (server,), (client,) = (rexmit.read_capture(path) for path in files.values())
    sent, arrived = server.server.segments, client.server.segments
    assert len(sent.seq) == answer["row"]["packets_down"] == len(arrived.seq) + 1
    lost = int(sent.seq[7])
    assert np.count_nonzero(sent.seq == lost) == 2
    assert np.count_nonzero(arrived.seq == lost) == 1


def test_a_run_of_a_study_repeats_from_its_results(study_file: Path, tmp_path: Path) -> None:
    results = Study.load(study_file).run(tmp_path / "out", progress=False)
    number = results.run_number(**{"path.delay": "20 ms", "path.down.drop": 2}) + 1
    row = results.capture(number, server=tmp_path / "again.pcapng")
    assert row["time_ns"] == results.table()["time_ns"][number]
    (connection,) = rexmit.read_capture(tmp_path / "again.pcapng")
    assert connection.server.bytes == 25_000 + 1448, "the lost segment went twice"


def test_a_profile_of_the_users_own_inherits_and_changes_one_value() -> None:
    loss = {"position": 17}
    late = rexmit.run_one(SCENARIO, path__down__drop=loss)["row"]
    stack = {"inherits": "freebsd-6.0", "recovery": {"dupack_threshold": 1}}
    early = rexmit.run_one(SCENARIO, path__down__drop=loss, hosts__server__stack=stack)["row"]
    assert (late["timeouts_server"], late["fast_retransmits"]) == (1, 0)
    assert early["fast_retransmits"] == 1
    assert early["time_ns"] < late["time_ns"]


def test_levels_of_a_study_do_not_change_the_draws_of_others() -> None:
    base = {"scenario": {**SCENARIO, "path": {**SCENARIO["path"], "down": {"loss": "5 %"}}}}  # type: ignore[dict-item]
    small = Study.from_dict({**base, "vary": {"path.delay": ["20 ms"]}}).run(progress=False).table()
    large = (
        Study.from_dict({**base, "vary": {"path.delay": ["5 ms", "20 ms", "40 ms"]}})
        .run(progress=False)
        .table()
    )
    assert large.filter(pl.col("path.delay") == "20 ms")["time_ns"].to_list() == small["time_ns"].to_list()


def test_a_wrong_setting_is_one_line() -> None:
    with pytest.raises(StudyError, match=r"path\.rate.*Mbit/s") as caught:
        rexmit.run_one(SCENARIO, path__rate="1 Mbps")
    assert "\n" not in str(caught.value)


def test_the_definition_of_a_scenario_and_the_stacks_are_data() -> None:
    assert {"hosts", "path", "transfers"} <= set(rexmit.schema()["properties"])
    assert "freebsd-6.0" in rexmit.profiles()
    assert rexmit.profile("freebsd-6.0")["rtt"]["initial_rto"] == "3 s"
    with pytest.raises(StudyError, match=r"did you mean `freebsd-6\.0`"):
        rexmit.profile("freebsd-6.1")


def test_every_public_name_is_there() -> None:
    for name in rexmit.__all__:
        assert getattr(rexmit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rexmit.nothing


@pytest.mark.parametrize("table", [5, None, ["scenario"]])
def test_a_study_that_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(StudyError, match=r"^study: .* is not a table; give a dict with 'scenario'$"):
        Study.from_dict(table)


def test_without_pandas_one_line_says_what_to_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    results = Study.from_dict({"scenario": SCENARIO}).run(progress=False)
    with pytest.raises(UsageError, match=r"^pandas is not installed; install it, or take table"):
        results.to_pandas()


def test_a_profile_in_a_file_works_for_one_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.toml").write_text('inherits = "freebsd-6.0"\n')
    monkeypatch.chdir(tmp_path)
    named = rexmit.run_one(SCENARIO, hosts__server__stack="./mine.toml")
    assert named["row"] == rexmit.run_one(SCENARIO)["row"]


def test_a_file_is_no_results_folder(study_file: Path) -> None:
    with pytest.raises(StoreError, match="is not a folder; name the results folder"):
        rexmit.open_results(study_file)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_checking_a_large_design_shows_and_can_be_stopped(
    study_file: Path, tmp_path: Path, number: signal.Signals
) -> None:
    study = Study.load(study_file).set("path.delay", {"range": "1..100000", "unit": "us"})
    seen: list[tuple[str, int, int]] = []

    def progress(*report: Any) -> None:
        seen.append(report)
        if report[1]:
            signal.raise_signal(number)

    began = time.monotonic()
    with pytest.raises(
        Interrupted, match="stopped after checking 10000 of 300000; nothing was run"
    ) as caught:
        study.run(tmp_path / "out", progress=progress)
    assert caught.value.exit_code == 128 + number
    assert time.monotonic() - began < 10
    assert seen == [("checking", done, 300_000) for done in (0, 5000)]
    assert not (tmp_path / "out").exists()


def test_a_mistake_in_a_late_level_of_a_large_design_shows_at_once(study_file: Path) -> None:
    study = Study.load(study_file).set("path.delay", [*(f"{n} us" for n in range(1, 900)), "fast"])
    seen: list[tuple[str, int, int]] = []
    with pytest.raises(StudyError, match=r"path\.delay"):
        study.set("path.down.drop", {"position": "0..5000"}).run(progress=lambda *report: seen.append(report))
    assert [done for _, done, _ in seen] == [0]


def test_warnings_of_several_slices_are_told_once(study_file: Path) -> None:
    study = Study.load(study_file).set("path.down.drop", ["0,2", "3"])
    spec = study.set("path.delay", {"range": "1..6000", "unit": "us"}).spec
    seen: list[tuple[int, int]] = []
    warnings = open_backend("model", spec).check(lambda *step: seen.append(step))
    assert [done for done, _ in seen] == [0, 5000, 10_000, 12_000]
    assert len(warnings) == len(set(warnings)) == 1
    assert "path.down.drop" in warnings[0]
