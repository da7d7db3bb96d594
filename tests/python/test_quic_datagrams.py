"""Writes as DATAGRAM frames of QUIC (RFC 9221), on every stack that speaks it."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit import Study
from rexmit.errors import StudyError

from .conftest import Command
from .quic import is_here, pairs, shown, stacks, study

__all__ = ["is_here"]

TOY = Path(__file__).with_name("toy_over_udp.py")


def sent(code: str, **more: Any) -> rexmit.Study:
    """20 datagrams of 1,000 bytes, whose messages are kept."""
    transfer = {"datagrams": True, **more.pop("transfer", {})}
    scenario = {"messages": True, **more.pop("scenario", {})}
    return study(code, transfer=transfer, scenario=scenario, **more)


def row_of(results: rexmit.Results) -> dict[str, Any]:
    row = results.table().row(0, named=True)
    assert (row["error"], row["completed"]) == (None, True)
    return row


def numbers_lost(results: rexmit.Results) -> list[int]:
    return results.trace(0)["messages"].filter(pl.col("delivered_ns").is_null())["number"].to_list()


@stacks
def test_what_is_lost_never_comes_and_nothing_is_sent_again(code: str) -> None:
    """Of the thin stream each datagram has a packet of its own; the run ends though the last is lost."""
    thin = {"writes": "20 x 100 bytes", "pause": "20 ms"}
    for lost in ([3, 7], [20]):
        drop = {"down": {"drop": {"match": "datagram", "nth": ",".join(map(str, lost))}}}
        results = sent(code, transfer=thin, path=drop).run(progress=False)
        assert row_of(results)["retransmits"] == 0
        assert numbers_lost(results) == [number - 1 for number in lost]
        trace = results.trace(0)["messages"].drop_nulls("delivered_ns")
        late = trace["delivered_ns"] - trace["written_ns"]
        # None waits for one that was lost.
        assert late.max() < 53_000_000


@stacks
@pytest.mark.parametrize(
    "transfer",
    [
        {"writes": "100 x 1000 bytes", "opened_by": "server"},
        {"writes": None, "bulk": "200 kB"},
        {"writes": None, "bulk": "200 ms", "write_size": "700 bytes", "read": {"size": "300 bytes"}},
        {"writes": "50 x 8 bytes", "from": "client", "to": "server"},
        {"writes": None, "messages": {"time": "1 s", "size": "uniform 8 bytes to 1 kB", "every": "9 ms"}},
    ],
    ids=["writes", "bulk", "for a time", "the shortest, up", "messages"],
)
def test_a_full_queue_holds_writes_back_and_drops_none(code: str, transfer: dict[str, Any]) -> None:
    """Where the path loses nothing, each write arrives, with its own bytes at its own place."""
    results = sent(code, transfer=transfer, path={"queue": "10000 packets"}).run(progress=False)
    bytes_read = row_of(results)["bytes"]
    messages = results.trace(0)["messages"]
    assert messages.height >= 50
    assert messages["delivered_ns"].null_count() == 0
    assert messages["bytes"].sum() == bytes_read


@stacks
def test_congestion_control_holds_datagrams(code: str) -> None:
    """RFC 9221 section 5.4: no more than the first window leaves within the first round trip of data."""
    trace = sent(code, transfer={"writes": "200 x 1000 bytes"}).run(progress=False).trace(0)
    down = trace["verdicts"].filter(pl.col("direction") == "down", pl.col("payload_bytes") > 900)
    times, begun = down["time_ns"], trace["messages"]["written_ns"][0]
    first = times.filter((times >= begun) & (times < begun + 90_000_000))
    # Windows of 10 to 40 packets, of which the handshake's take some.
    assert 5 <= first.len() <= 50


@pairs
def test_one_maker_s_datagrams_are_another_s(server: str, client: str) -> None:
    results = sent(server, client=client, path={"down": {"drop": {"match": "datagram", "nth": 4}}})
    ran = results.run(progress=False)
    assert row_of(ran)["retransmits"] == 0
    assert len(numbers_lost(ran)) == 1


@stacks
def test_a_capture_shows_the_frames(code: str, tmp_path: Path) -> None:
    sent(code, path={"down": {"drop": {"match": "datagram", "nth": 5}}}).run(
        tmp_path / "out", capture="all", progress=False
    )
    frames = shown(tmp_path / "out/captures/run-00000000-client.pcapng", "ip.src", "quic.frame_type")
    kinds = [kind for src, kinds in frames if src == "10.0.2.1" for kind in kinds.split(",")]
    assert sum(kind in ("48", "49") for kind in kinds) == 19


@stacks
def test_datagrams_are_early_data_too(code: str) -> None:
    first = {"from": "client", "to": "server", "writes": "1 x 500 bytes", "datagrams": True}
    first["opened_by"] = "client"
    times = {}
    for early in (False, True):
        results = sent(
            code,
            host={code: {"zero_rtt": early}},
            scenario={"transfers": [first, {**first, "start": "2 s"}]},
        ).run(progress=False)
        row_of(results)
        second = results.trace(0)["messages"].filter(pl.col("connection") == 1)
        times[early] = second["delivered_ns"][0]
    # A round trip earlier.
    assert 95_000_000 < times[False] - times[True] < 115_000_000


@stacks
def test_what_no_packet_has_room_for_fails_the_run_with_the_size_that_fits(code: str) -> None:
    for writes in ("1 x 60000 bytes", "1 x 1500 bytes"):
        error = sent(code, transfer={"writes": writes}).run(progress=False).table()["error"][0]
        assert "bytes is not a datagram of this connection, which takes 8 to 1" in error
        assert "\n" not in error
        # Whose write it was, and when.
        assert re.match(rf"stack {code} of server, (call WRITE|datagram) at [0-9.]+ m?s: ", error), error


@stacks
def test_a_datagram_that_is_refused_was_not_written(code: str) -> None:
    results = sent(code, transfer={"writes": "3 x 100 bytes, 1 x 1500 bytes"}).run(progress=False)
    assert "a write of 1500 bytes is not a datagram" in results.table()["error"][0]
    assert results.messages()["written"].to_list() == [3]


@pytest.mark.parametrize(("server", "client"), [("quinn", "ngtcp2")])
def test_stacks_of_several_makers_send_datagrams_through_a_network(
    server: str, client: str, rexmit: Command, tmp_path: Path
) -> None:
    """The same from shards; what overruns the queue is lost, and the report says what it does not draw."""
    of = {"stack": "rfc9000"}
    hosts = {
        "a": of | {"code": server, "at": "left"},
        "b": of | {"code": client, "at": "left"},
        "c": of | {"code": client, "at": "right"},
    }
    link = {"between": ["left", "right"], "rate": "1 Mbit/s", "delay": "20 ms", "queue": "5 packets"}
    thin = {"writes": "40 x 500 bytes", "pause": "5 ms", "datagrams": True, "to": "c"}
    transfers = [thin | {"from": "a"}, thin | {"from": "b"}, {"from": "c", "to": "a", "bulk": "20 kB"}]
    scenario = {"hosts": hosts, "links": {"bottleneck": link}, "transfers": transfers, "messages": True}
    made = Study.from_dict({"title": "network", "scenario": scenario, "design": {"replications": 2}})
    whole = made.run(tmp_path / "whole", progress=False, capture="all")
    assert whole.table()["error"].to_list() == [None, None]
    told = whole.messages().filter(pl.col("host") != "c")
    assert told["written"].to_list() == [40] * 4
    assert all(20 < delivered < 40 for delivered in told["delivered"])
    parts = [made.run(shard=(n, 2), progress=False).messages() for n in (1, 2)]
    assert pl.concat(parts).sort("run", "connection").equals(whole.messages().sort("run", "connection"))
    done = rexmit("report", "whole")
    assert (done.returncode, done.stderr.count("connections of QUIC alone, which are not drawn")) == (0, 1)
    done = rexmit("plot", "whole/captures/run-00000000-a.pcapng", "--out", "a.svg")
    assert "has QUIC alone, which is not drawn" in done.stderr


def test_short_messages_are_told_as_they_are_drawn() -> None:
    drawn = {"writes": None, "messages": {"time": "1 s", "size": "4 bytes", "every": "50 ms"}}
    error = sent("quinn", transfer=drawn).run(progress=False).table()["error"][0]
    assert "a write of 4 bytes is not a datagram of this connection, which takes 8 to" in error


@pytest.mark.parametrize(
    ("transfer", "text"),
    [
        ({"streams": 2}, r"`streams` does not fit `datagrams`"),
        ({"lifetime": "1 s"}, r"`lifetime` does not fit `datagrams`"),
        ({"close": False}, r"`close = false` does not fit `datagrams`"),
        (
            {"writes": None, "requests": {"request": "10 bytes", "response": "10 bytes"}},
            r"`requests` does not fit `datagrams`",
        ),
        ({"writes": "5 x 7 bytes"}, r"have 8 bytes and more, and `writes` makes one of 7"),
        ({"writes": None, "bulk": "2003 bytes"}, r"the last write of `bulk` makes one of 3"),
    ],
)
def test_what_datagrams_cannot_have_is_refused(transfer: dict[str, Any], text: str) -> None:
    with pytest.raises(StudyError, match=text) as refused:
        sent("quinn", transfer=transfer).run(progress=False)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("stack", ["rfc", "rfc9260"])
def test_other_protocols_have_none(stack: str) -> None:
    with pytest.raises(StudyError, match=r"transfers\.0\.datagrams: only QUIC has datagrams"):
        sent("model", host={"stack": stack}).run(progress=False)


def test_no_kernel_has_them() -> None:
    with pytest.raises(StudyError, match="no kernel speaks QUIC"):
        sent("quinn").run(backend="uml", progress=False)


@pytest.mark.parametrize("knows", [True, False])
def test_a_program_has_them_where_it_says_so(knows: bool, tmp_path: Path) -> None:
    program = TOY
    if not knows:
        program = tmp_path / "toy.py"
        program.write_text(TOY.read_text().replace(", datagrams=True)", ")"))
    own = {"program": f"{sys.executable} {program}", "protocol": "quic"}
    scenario = {
        "hosts": {"server": {"stack": own}, "client": {"stack": own}},
        "path": {"rate": "10 Mbit/s", "delay": "10 ms", "down": {"drop": {"match": "datagram", "nth": 2}}},
        "transfers": [{"from": "server", "to": "client", "writes": "9 x 1000 bytes", "datagrams": True}],
        "messages": True,
    }
    results = rexmit.Study.from_dict({"title": "toy", "scenario": scenario}).run(progress=False)
    if knows:
        assert row_of(results)["data_segments"] >= 9
        assert results.messages()["delivered"].to_list() == [8]
        return
    error = results.table()["error"][0]
    assert "call OPEN at 0 s: it does not say that it knows datagrams" in error
    assert "\n" not in error
