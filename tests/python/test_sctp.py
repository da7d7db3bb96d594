"""SCTP from Python: the same file on the model and on others' code, how late messages are, two paths."""

from __future__ import annotations

import os
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.errors import StudyError
from rexmit.run.stacks import third_parties

BACKENDS = ("model", "stack:usrsctp", "stack:sctp-proto")


def needs(backend: str) -> None:
    """Skips where the library is not there and need not be."""
    missing = {stack.backend: stack.missing for stack in third_parties().values()}.get(backend)
    if missing is not None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", missing
        pytest.skip(missing)


def thin(**settings: Any) -> rexmit.Study:
    """A thin stream over a path that loses both ways."""
    host = {"stack": "rfc9260"}
    scenario = {
        "hosts": {"server": host, "client": host},
        "path": {"delay": "50 ms", "down": {"loss": "5 %"}, "up": {"loss": "5 %"}},
        "messages": True,
        "retransmissions": True,
        "transfers": [
            {"from": "server", "to": "client", "writes": "400 x 100 bytes", "pause": "250 ms"},
        ],
    }
    table = {"title": "thin", "scenario": scenario | settings, "design": {"replications": 2}}
    return rexmit.Study.from_dict(table)


@pytest.mark.parametrize("backend", BACKENDS)
def test_retransmissions_are_those_that_the_stack_counted(backend: str) -> None:
    needs(backend)
    results = thin().run(backend=backend, progress=False)
    counted = results.retransmissions().group_by("run").agg(pl.col("count").sum()).sort("run")
    assert counted["count"].to_list() == results.table().sort("run")["retransmits"].to_list()
    assert "timeout" in set(results.retransmissions()["class"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_messages_are_delivered_and_some_are_late(backend: str) -> None:
    needs(backend)
    results = thin().run(backend=backend, progress=False)
    for row in results.messages().iter_rows(named=True):
        assert (row["written"], row["delivered"], row["host"]) == (400, 400, "server")
        assert row["latency_min_ms"] == row["latency_p50_ms"] == 50.0
        assert row["latency_p98_ms"] > 300.0
    every = results.trace(0)["messages"]
    late = (every["delivered_ns"] - every["written_ns"]) / 1e6
    assert late.max() == results.messages()["latency_max_ms"][0]


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_tables_are_the_same_for_any_number_of_jobs(backend: str, jobs: int) -> None:
    needs(backend)
    first = thin().run(backend=backend, jobs=2, progress=False)
    again = thin().run(backend=backend, jobs=jobs, progress=False)
    assert first.table().equals(again.table())
    assert first.messages().equals(again.messages())
    assert first.retransmissions().equals(again.retransmissions())


def test_a_second_path_is_of_the_models_only() -> None:
    study = thin(alternate={"delay": "60 ms"})
    assert study.run(progress=False).table()["completed"].all()
    with pytest.raises(StudyError, match="backend stack:usrsctp: alternate has no effect here"):
        study.run(backend="stack:usrsctp", progress=False)


def test_a_path_too_small_for_usrsctp_is_told_before_anything_runs() -> None:
    host = {"stack": "rfc9260", "mtu": 500}
    with pytest.raises(StudyError, match=r"hosts\.server\.mtu: usrsctp takes paths of 532 bytes and more"):
        thin(hosts={"server": host, "client": host}).run(backend="stack:usrsctp", progress=False)


def test_a_path_too_small_for_sctp_proto_and_a_second_one_are_told() -> None:
    host = {"stack": "rfc9260", "mtu": 100}
    with pytest.raises(StudyError, match=r"hosts\.server\.mtu: sctp-proto takes paths of 148 bytes and more"):
        thin(hosts={"server": host, "client": host}).run(backend="stack:sctp-proto", progress=False)
    with pytest.raises(StudyError, match="backend stack:sctp-proto: alternate has no effect here"):
        thin(alternate={"delay": "60 ms"}).run(backend="stack:sctp-proto", progress=False)


def test_settings_of_sctp_proto_are_checked_and_heard() -> None:
    def of(stack: object = "rfc9260", **settings: object) -> rexmit.Study:
        host = {"stack": stack, "code": "sctp-proto", "sctp-proto": settings}
        return thin(hosts={"server": host, "client": {"stack": "rfc9260", "code": "sctp-proto"}})

    with pytest.raises(StudyError, match=r"hosts\.server\.sctp-proto.*did you mean `rto_min`\?"):
        of(rto_mni="200 ms").run(progress=False)
    with pytest.raises(StudyError, match=r"hosts\.server\.sctp-proto\.rto_min: allowed: whole milliseconds"):
        of(rto_min="1.5 ms").run(progress=False)
    told = r"hosts\.server\.stack\.sack\.delay has no effect here"
    with pytest.raises(StudyError, match=told):
        of({"inherits": "rfc9260", "sack": {"delay": "0 ms"}}).run(progress=False)
    slow, quick = (of(**settings).run(progress=False) for settings in ({}, {"rto_min": "200 ms"}))
    late = [results.messages()["latency_max_ms"].max() for results in (slow, quick)]
    assert late[1] < late[0]
    same = of({"inherits": "rfc9260", "rto": {"min": "200 ms"}}).run(progress=False)
    assert same.table().drop("seed", strict=False).equals(quick.table().drop("seed", strict=False))


def test_settings_of_usrsctp_are_checked() -> None:
    host = {"stack": "rfc9260", "usrsctp": {"rto_mni": "200 ms"}}
    with pytest.raises(StudyError, match=r"hosts\.server\.usrsctp.*did you mean `rto_min`\?"):
        thin(hosts={"server": host, "client": {"stack": "rfc9260"}}).run(progress=False)
