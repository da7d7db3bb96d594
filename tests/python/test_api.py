from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import rexmit
from rexmit import Study, StudyError

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
