"""SCTP of the Linux kernel as one host's own code, beside the kernel again, the model and FreeBSD's code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.errors import StudyError
from rexmit.run.kernel_stacks import missing
from rexmit.run.stacks import third_parties

LINUX = {"stack": "rfc9260", "code": "linux", "linux": {"sctp_heartbeat": False}}
"""Heartbeats come at random times."""

PEERS: dict[str, dict[str, Any]] = {
    "linux": LINUX,
    "rfc9260": {"stack": "rfc9260"},
    "lksctp-2.6.15": {"stack": "lksctp-2.6.15"},
    "usrsctp": {"stack": "rfc9260", "code": "usrsctp"},
}

TRANSFERS: dict[str, dict[str, Any]] = {
    "twenty": {"writes": "20 x 1000 bytes"},
    "thin": {"writes": "60 x 100 bytes", "pause": "250 ms"},
    "unordered": {"writes": "60 x 3000 bytes", "pause": "20 ms", "unordered": True, "streams": 4},
    "large": {"writes": "6 x 60 kB", "unordered": True},
}

COUNTED = ["completed", "bytes", "packets_down", "packets_up", "timeouts", "fast_retransmits", "retransmits"]


@pytest.fixture(autouse=True)
def steps(guest: None) -> None:
    """Skips where the kernel's time does not go in steps."""
    if (why := missing()) is not None:
        pytest.skip(why)


def study(
    server: dict[str, Any], client: dict[str, Any], transfer: dict[str, Any], **path: Any
) -> rexmit.Study:
    scenario = {
        "hosts": {"server": server, "client": client},
        "path": {"delay": "50 ms", **path},
        "messages": True,
        "retransmissions": True,
        "transfers": [{"from": "server", "to": "client", **transfer}],
    }
    return rexmit.Study.from_dict({"title": "Linux", "scenario": scenario, "design": {"replications": 2}})


def peer(name: str) -> dict[str, Any]:
    """A host, or the test is skipped where its library is not there and need not be."""
    stack = third_parties().get(name)
    if name != "linux" and stack is not None and stack.missing is not None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", stack.missing
        pytest.skip(stack.missing)
    return PEERS[name]


def written(transfer: dict[str, Any]) -> int:
    return int(transfer["writes"].split()[0])


def both_ways(of: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    yield of, other
    if of is not other:
        yield other, of


@pytest.mark.parametrize("loss", ["0 %", "5 %"])
@pytest.mark.parametrize("transfer", TRANSFERS)
@pytest.mark.parametrize("name", PEERS)
def test_messages_arrive_whole_and_at_their_place(name: str, transfer: str, loss: str) -> None:
    settings = TRANSFERS[transfer]
    for server, client in both_ways(LINUX, peer(name)):
        made = study(server, client, settings, down={"loss": loss}, up={"loss": loss})
        results = made.run(progress=False)
        table = results.table()
        # Bytes at another place would be an error.
        assert table["error"].to_list() == [None, None]
        assert table["completed"].to_list() == [True, True]
        messages = results.messages()
        assert messages["delivered"].to_list() == messages["written"].to_list() == [written(settings)] * 2
        assert messages["latency_min_ms"].min() >= 50.0


@pytest.mark.parametrize("transfer", TRANSFERS)
def test_two_guests_send_what_one_with_both_hosts_sends(transfer: str) -> None:
    # A SACK that leaves at a tick does not arrive at one: what comes first at one instant is another matter.
    lost = {"delay": "50003 us", "down": {"drop": "6,11,12,30"}, "up": {"drop": "5"}}
    one = study(LINUX, LINUX, TRANSFERS[transfer], **lost).set("hosts.server.tick_phase", "1234567 ns")
    one = one.set("hosts.client.tick_phase", "1234567 ns")
    two = one.run(progress=False)
    judge = one.run(backend="uml", progress=False)
    assert two.table()[COUNTED].rows() == judge.table()[COUNTED].rows()
    apart = two.messages()["latency_max_ms"] - judge.messages()["latency_max_ms"]
    assert apart.abs().max() == 0
    assert two.table()["retransmits"].min() > 0


def test_what_is_told_of_retransmissions_is_what_was_counted() -> None:
    made = study(LINUX, PEERS["rfc9260"], TRANSFERS["thin"], down={"loss": "8 %"}, up={"loss": "8 %"})
    results = made.run(progress=False)
    counted = results.retransmissions().group_by("run").agg(pl.col("count").sum()).sort("run")
    assert counted["count"].to_list() == results.table().sort("run")["retransmits"].to_list()
    assert results.table()["retransmits"].min() > 0


@pytest.mark.parametrize(
    "limit", [{"lifetime": "120 ms"}, {"max_retransmits": 0}], ids=lambda limit: next(iter(limit))
)
def test_messages_are_given_up(limit: dict[str, Any]) -> None:
    settings = {"writes": "100 x 400 bytes", "pause": "20 ms", "unordered": True, **limit}
    for server, client in both_ways(LINUX, PEERS["rfc9260"]):
        results = study(server, client, settings, down={"loss": "10 %"}).run(progress=False)
        assert results.table()["error"].to_list() == [None, None]
        messages = results.messages()
        assert messages["delivered"].max() < 100
        assert messages["delivered"].min() > 50


def test_a_paced_reader_reads_to_the_end() -> None:
    settings = {
        "bulk": "100 kB",
        "write_size": "1000 bytes",
        "read": {"size": "700 bytes", "rate": "500 kbit/s"},
    }
    for server, client in both_ways(LINUX, PEERS["rfc9260"]):
        table = study(server, client, settings).run(progress=False).table()
        assert table["bytes"].to_list() == [100_000] * 2
    judge = study(LINUX, LINUX, settings).run(backend="uml", progress=False).table()
    assert judge["completed"].to_list() == [True, True]


def test_runs_are_the_same_for_any_number_of_jobs() -> None:
    made = study(LINUX, PEERS["lksctp-2.6.15"], TRANSFERS["unordered"], down={"loss": "5 %"})
    first, again = (made.run(jobs=jobs, progress=False) for jobs in (1, 2))
    assert first.table().equals(again.table())
    assert first.messages().equals(again.messages())


def test_a_message_has_one_limit_at_linux() -> None:
    limits = {"writes": "3 x 10 bytes", "lifetime": "1 s", "max_retransmits": 1}
    with pytest.raises(StudyError, match=r"transfers\.0\.max_retransmits"):
        study(LINUX, PEERS["rfc9260"], limits).run(progress=False)
    assert study(PEERS["rfc9260"], LINUX, limits).run(progress=False).table()["completed"].all()
