"""Studies on a Dask cluster: several processes of this machine stand for its workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rexmit
from distributed import Client, LocalCluster
from rexmit.errors import Interrupted, RexmitError, StudyError, UsageError
from rexmit.run import RunOptions, cluster, on_worker, open_results, run_study, scheduler
from rexmit.study import load_spec
from rexmit.study.find import list_studies

WORKERS = 3
FILES = ("runs.parquet", "intervals.parquet", "retransmissions.parquet", "messages.parquet", "study.json")


@pytest.fixture(scope="module")
def workers() -> Iterator[Any]:
    yield from started(WORKERS)


def started(count: int) -> Iterator[Any]:
    make: Callable[..., Any] = LocalCluster
    with make(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as found:
        yield found


def told_workers(address: str, code: str, names: list[str] | None = None) -> None:
    """Executes code in the processes of these workers, or of all."""
    open_client: Callable[..., Any] = Client
    with open_client(address, set_as_default=False) as client:
        client.run(exec, code, {}, workers=names)


def study(replications: int = 2) -> rexmit.Study:
    return rexmit.Study.from_dict(
        {
            "scenario": {
                "hosts": {"server": {"stack": "linux-2.6.15"}, "client": {"stack": "freebsd-6.0"}},
                "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"},
                "transfers": [{"from": "server", "to": "client", "writes": "4 x 2500 bytes"}],
                "intervals": "100 ms",
                "retransmissions": True,
                "messages": True,
            },
            "vary": {
                "path.rate": {"range": "1..10", "unit": "Mbit/s"},
                "path.down.drop": {"position": "0..8,30,40..42"},
            },
            "design": {"replications": replications},
        },
        "spread",
    )


def assert_same_folder(one: Path, other: Path) -> None:
    for name in FILES:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def ran_by(folder: Path) -> dict[str, int]:
    """How many runs each worker ran, in the last session."""
    session = json.loads((folder / "provenance.json").read_text())["sessions"][-1]
    return {worker["address"]: worker["runs"] for worker in session["cluster"]["workers"]}


def test_a_cluster_gives_the_bytes_of_one_machine(workers: Any, tmp_path: Path) -> None:
    warned: dict[str, list[str]] = {"one": [], "many": []}
    stages: list[str] = []
    run_study(study().spec, tmp_path / "one", RunOptions(warn=warned["one"].append))
    options = RunOptions(
        warn=warned["many"].append,
        cluster=workers.scheduler_address,
        progress=lambda stage, done, total: stages.append(stage),
    )
    results = run_study(study().spec, tmp_path / "many", options)
    assert results.new_runs == len(results) == study().runs
    assert_same_folder(tmp_path / "one", tmp_path / "many")
    assert warned["one"] == warned["many"]
    assert any("was never reached in" in text for text in warned["one"])
    assert "runs on 3 workers" in stages
    assert sum(ran_by(tmp_path / "many").values()) == study().runs


def test_results_in_memory_are_the_same(workers: Any) -> None:
    found = study().run(cluster=workers.scheduler_address, progress=False)
    assert found.table().equals(study().run(progress=False).table())
    assert found.messages().equals(study().run(progress=False).messages())


def test_shards_may_run_on_a_cluster(workers: Any, tmp_path: Path) -> None:
    part = study().run(tmp_path / "part", shard=(2, 3), cluster=workers.scheduler_address, progress=False)
    assert part.table().equals(study().run(shard=(2, 3), progress=False).table())


def test_captures_are_made_here(workers: Any, tmp_path: Path) -> None:
    small = study().set("path.rate", ["1 Mbit/s"]).set("path.down.drop", {"position": "0..1"})
    small.run(tmp_path / "one", capture="all", progress=False)
    small.run(tmp_path / "many", capture="all", cluster=workers.scheduler_address, progress=False)
    names = sorted(path.name for path in (tmp_path / "one/captures").iterdir())
    assert len(names) == 8
    for name in names:
        found, expected = (tmp_path / place / "captures" / name for place in ("many", "one"))
        assert found.read_bytes() == expected.read_bytes()


def test_a_worker_that_is_killed_costs_only_its_unfinished_runs(workers: Any, tmp_path: Path) -> None:
    many = study(40)
    many.run(tmp_path / "one", progress=False)
    killed: list[int] = []

    def kill_one(stage: str, done: int, total: int) -> None:
        if not killed and 0 < done < total:
            killed.append(workers.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    stored: list[range] = []
    before = on_worker.rows_of
    with pytest.MonkeyPatch.context() as patch:

        def noted(answer: dict[str, Any]) -> Any:
            rows = before(answer)
            first = rows.column("run")[0].as_py()
            stored.append(range(first, first + rows.num_rows))
            return rows

        patch.setattr(cluster, "rows_of", noted)
        many.run(tmp_path / "many", cluster=workers.scheduler_address, progress=kill_one)
    assert killed
    assert_same_folder(tmp_path / "one", tmp_path / "many")
    assert sum(map(len, stored)) == many.runs, "no finished run was run again"
    assert len(ran_by(tmp_path / "many")) >= WORKERS - 1


def test_a_stop_keeps_what_is_finished_and_goes_on_anywhere(workers: Any, tmp_path: Path) -> None:
    many = study(40)
    many.run(tmp_path / "one", progress=False)

    stopped: list[int] = []

    def stop(stage: str, done: int, total: int) -> None:
        if not stopped and 0 < done < total:
            stopped.append(done)
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted, match=r"stopped after \d+ of 5200; go on with --resume"):
        many.run(tmp_path / "many", cluster=workers.scheduler_address, progress=stop)
    assert not (tmp_path / "many/runs.parquet").exists()
    resumed = many.run(tmp_path / "many", resume=True, progress=False)
    assert 0 < resumed.new_runs < many.runs
    assert_same_folder(tmp_path / "one", tmp_path / "many")


LACKING = """
from rexmit.run import on_worker
on_worker._lacks = lambda backend: "usrsctp was not there when it was built"
"""
WHOLE = """
from rexmit.run import on_worker
on_worker._lacks = lambda backend: None
"""


def test_a_worker_that_lacks_the_backend_gets_no_runs(workers: Any, tmp_path: Path) -> None:
    address = workers.scheduler_address
    poor, *_ = names = [workers.workers[n].worker_address for n in workers.workers]
    told_workers(address, LACKING, [poor])
    try:
        study(4).run(tmp_path / "many", cluster=address, progress=False)
        assert set(ran_by(tmp_path / "many")) == set(names) - {poor}
        told_workers(address, LACKING)
        with pytest.raises(RexmitError, match=r"no worker can run backend model: .*usrsctp was not") as told:
            study().run(tmp_path / "none", cluster=address, progress=False)
        assert all(name in str(told.value) for name in names)
        assert not (tmp_path / "none").exists()
    finally:
        told_workers(address, WHOLE)


OLDER = """
from importlib import metadata
metadata.version = lambda name: "0.0.1"
"""
OURS = """
import importlib
from importlib import metadata
importlib.reload(metadata)
"""


def test_a_worker_of_another_version_gets_no_runs(workers: Any) -> None:
    told_workers(workers.scheduler_address, OLDER)
    try:
        with pytest.raises(RexmitError, match=r"rexmit 0\.0\.1 in place of "):
            study().run(cluster=workers.scheduler_address, progress=False)
    finally:
        told_workers(workers.scheduler_address, OURS)


def test_a_cluster_without_workers_is_one_line() -> None:
    for empty in started(0):
        with pytest.raises(RexmitError, match=r"has no worker; start some, such as `dask worker tcp://"):
            study().run(cluster=empty.scheduler_address, progress=False)


def test_a_sweep_whose_workers_all_go_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(cluster, "_LOOK_SECONDS", 0.2)
    many = study(40)
    for small in started(1):

        def dismiss(stage: str, done: int, total: int, all_of: Any = small) -> None:
            if 0 < done < total:
                all_of.scale(0)

        with pytest.raises(RexmitError, match=r"has no worker; .* what is finished is stored, go on with"):
            many.run(tmp_path / "many", cluster=small.scheduler_address, progress=dismiss)
    resumed = many.run(tmp_path / "many", resume=True, progress=False)
    assert 0 < resumed.new_runs < many.runs
    assert resumed.table().equals(many.run(progress=False).table())


def test_a_scheduler_file_is_an_address(workers: Any, tmp_path: Path) -> None:
    (tmp_path / "scheduler.json").write_text(json.dumps({"address": workers.scheduler_address}))
    found = study().run(cluster=str(tmp_path / "scheduler.json"), progress=False)
    assert len(found) == study().runs


def test_wrong_addresses_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "CONNECT_SECONDS", 0.5)
    (tmp_path / "none.json").write_text("{}")
    wrong = {
        "nonsense": "is not an address; write tcp://HOST:PORT",
        str(tmp_path / "none.json"): "is not a scheduler's file",
        "gopher://127.0.0.1:70": "begins with none of tcp, tls, ws",
        "tcp://127.0.0.1:port": "cannot be used",
    }
    for address, text in wrong.items():
        with pytest.raises(UsageError, match=text):
            study().run(tmp_path / "out", cluster=address, progress=False)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        for port in (1, mute.getsockname()[1]):
            with pytest.raises(RexmitError, match="no Dask scheduler answers there within"):
                study().run(tmp_path / "out", cluster=f"127.0.0.1:{port}", progress=False)
    assert not (tmp_path / "out").exists()


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r'install it with: pip install "rexmit\[dask\]"'):
        study().run(cluster="tcp://127.0.0.1:1", progress=False)


def test_runs_in_real_time_are_not_captured_on_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="capture: a run in real time is recorded where it runs"):
        study().run(tmp_path / "out", backend="kernel", capture="all", cluster="tcp://127.0.0.1:1")


def test_what_a_run_cannot_be_is_told_by_the_worker() -> None:
    work = cluster.work_of(study().spec, Named("model"), RunOptions(), 1)
    broken = {**work, "study": on_worker.pack(study().set("path.rate", ["1 parsec"]).spec)}
    answer = on_worker.run_chunk(broken, 0, 1)
    assert answer["study"]
    assert "1 parsec" in answer["wrong"]
    assert issubclass(StudyError, RexmitError)


class Named:
    """As much of a backend as a piece of work wants."""

    def __init__(self, name: str) -> None:
        self.name = name

    def facts(self) -> dict[str, Any]:
        return {}


@pytest.mark.parametrize("name", [entry.name for entry in list_studies()])
def test_a_study_comes_out_of_its_packet_as_it_was(name: str) -> None:
    spec = load_spec(name)
    found = on_worker.unpack(on_worker.pack(spec), spec.name)
    assert found.design == spec.design
    assert found.base() == spec.base()


def test_the_command_names_its_workers(workers: Any, tmp_path: Path) -> None:
    study().run(tmp_path / "many", cluster=workers.scheduler_address, progress=False)
    session = open_results(tmp_path / "many").provenance()["sessions"][0]
    assert session["cluster"]["address"] == workers.scheduler_address
    assert {"address", "host", "kernel", "python", "runs"} == set(session["cluster"]["workers"][0])
