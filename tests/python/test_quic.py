"""QUIC in virtual time: third parties' code, sealed packets, streams, and what is seen of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.errors import StudyError
from rexmit.run.stacks import lacking, third_parties

from .quic import STACKS, is_here, pairs, shown, stacks, study

__all__ = ["is_here"]

AMPLE = {"quiche": {"quiche": {"initial_window": 40}}}
"""Settings with which a loss leaves a stack window enough for 200 kB/s over 100 ms."""


@stacks
def test_each_of_the_first_packets_lost_in_turn_is_repaired(code: str) -> None:
    varied = study(code, vary={"path.down.drop": [[n] for n in range(1, 31)]})
    rows = varied.run(progress=False).table().sort("run")
    assert rows["completed"].all()
    assert rows["bytes"].to_list() == [20_000] * 30
    lost = rows.filter(pl.col("drops_down_pattern") > 0)
    assert lost.height >= 20
    clean = study(code).run(progress=False).table()["time_ns"][0]
    # What was lost of the handshake waits for a probe, by an RTT that is assumed (RFC 9002 section 6.2.2).
    assert lost["time_ns"].max() > clean + 200_000_000
    again = varied.run(progress=False, jobs=1).table().sort("run")
    assert rows.equals(again)


STALLS = {("quinn", "quiche"), ("quiche", "quinn"), ("quiche", "ngtcp2")}
"""Pairs of which a few runs in a hundred wait for nothing, until the idle timeout, where packets to the
server, or one of several streams', are lost: by what the two tests of quiche 0.30 below show."""


@pairs
def test_one_maker_s_server_speaks_to_another_s_client(server: str, client: str, tmp_path: Path) -> None:
    up = {} if (server, client) in STALLS else {"up": {"loss": "3 %"}}
    upload = {"from": "client", "to": "server", "writes": "20 x 1000 bytes", "opened_by": "client"}
    scenario = {"messages": True}
    streams = {"writes": "30 x 1000 bytes", "streams": 5}
    for transfer in ({}, upload) if (server, client) in STALLS else ({}, streams, upload):
        varied = study(
            server,
            client=client,
            transfer=transfer,
            scenario=scenario,
            path=up,
            vary={"path.down.drop": [[n] for n in range(1, 31)]},
        )
        results = varied.run(progress=False)
        rows = results.table().sort("run")
        assert rows["completed"].all()
        messages = 30 if "streams" in transfer else 20
        assert results.messages()["delivered"].to_list() == [messages] * 30
        assert rows.equals(varied.run(progress=False, jobs=1).table().sort("run"))
    study(server, client=client).run(tmp_path / "out", capture="all", progress=False)
    for host in ("server", "client"):
        capture = tmp_path / "out/captures" / f"run-00000000-{host}.pcapng"
        assert shown(capture, "quic.frame_type")
        assert not shown(capture, "frame.number", where="quic.decryption_failed")


@pytest.mark.parametrize("client", ["quiche"])
def test_quiche_sends_a_lost_finished_no_more_behind_a_packet_of_padding(client: str, tmp_path: Path) -> None:
    """Its client's third datagram is lost: the Finished, and a 1-RTT packet of ACK and PADDING.

    Such a packet is in flight and asks for no acknowledgment, so its packet number space has no time from
    which to count a PTO; quiche takes that `None` for the earliest of the spaces' times and stops the timer
    (`pto_time_and_space` in src/recovery/congestion/recovery.rs). RFC 9002 section 6.2.1 leaves such a space
    out.
    """
    lost = study("quinn", client=client, path={"up": {"drop": [3]}})
    results = lost.run(tmp_path / "out", capture="all", progress=False)
    assert results.table()["completed"].to_list() == [False]
    capture = tmp_path / "out/captures/run-00000000-client.pcapng"
    fields = ("frame.time_relative", "quic.long.packet_type", "quic.frame_type", "quic.crypto.length")
    sent = shown(capture, *fields, where="quic && ip.src == 10.0.1.1")
    assert [types for _, types, _, _ in sent].count("0,2") == 1
    ((lost_at, _, frames, _),) = [packet for packet in sent if packet[1] == "0,2"]
    acknowledged, finished, padded = "2", "2,6", "2,0"
    assert frames == f"{acknowledged},{finished},{padded}"
    later = [packet for packet in sent if float(packet[0]) > float(lost_at)]
    assert later
    assert all(packet[3] == "" for packet in later), "the Finished was sent again"
    other = study("ngtcp2", client=client, path={"up": {"drop": [3]}}).run(progress=False)
    assert other.table()["completed"].to_list() == [True], "a server that sends no 1-RTT packet so soon"


@pytest.mark.parametrize("server", ["quiche"])
def test_quiche_forgets_a_fin_that_is_given_while_data_wait_to_be_sent_again(
    server: str, tmp_path: Path
) -> None:
    """Of five streams one has data to send again as it is ended, and its end never leaves.

    The stream is in the queue of those with data to send, so the FIN puts it into none; when the lost data
    have left, it is taken out, since no data wait, though the FIN does (`stream_send` in src/lib.rs,
    `is_flushable` in src/stream/mod.rs).
    """
    streams = {"writes": "30 x 1000 bytes", "streams": 5}
    ended = study(server, client="quinn", transfer=streams, path={"down": {"drop": [11]}})
    results = ended.run(tmp_path / "out", capture="all", progress=False)
    assert results.table()["completed"].to_list() == [False]
    assert results.table()["bytes"].to_list() == [30_000]
    capture = tmp_path / "out/captures/run-00000000-server.pcapng"
    fields = ("quic.stream.stream_id", "quic.stream.fin")
    sent = shown(capture, *fields, where="quic.stream.stream_id && ip.src == 10.0.2.1")
    finished = {stream for stream, fin in sent if fin == "1"}
    assert {stream for stream, _ in sent} - finished == {"15"}


@pairs
def test_keys_are_updated_between_makers(server: str, client: str) -> None:
    """RFC 9001 section 6: one of them takes new keys after some hundred packets, the other follows."""
    results = study(server, client=client, transfer={"writes": None, "bulk": "5 MB"}).run(progress=False)
    row = results.table().row(0, named=True)
    assert (row["completed"], row["bytes"]) == (True, 5_000_000)


@pytest.mark.parametrize("code", ["quinn", "ngtcp2"])
def test_a_run_repeats_to_the_byte_whatever_runs_beside_it(code: str, tmp_path: Path) -> None:
    """Captures and logs are the same files on one thread and on four, with every congestion control."""
    # BBR of quinn's draws from the system, and is said to differ.
    algorithms = ["reno", "cubic"] if code == "quinn" else ["reno", "cubic", "bbr", "bbr2"]
    varied = study(
        code,
        transfer={"writes": "60 x 1000 bytes", "streams": 3},
        path={"up": {"loss": "5 %"}},
        vary={
            f"hosts.server.{code}.congestion": algorithms,
            "path.down.drop": [[5], [15], [25, 26]],
        },
    )
    files: list[dict[str, bytes]] = []
    for jobs in (1, 4):
        folder = tmp_path / str(jobs)
        varied.run(folder, capture="all", progress=False, jobs=jobs)
        captures = sorted((folder / "captures").iterdir())
        files.append({path.name: path.read_bytes() for path in captures})
    assert sum(name.endswith(".pcapng") for name in files[0]) == len(algorithms) * 3 * 2
    assert files[0] == files[1]


@stacks
@pytest.mark.parametrize("other", STACKS)
def test_stacks_of_different_makers_understand_one_another(code: str, other: str) -> None:
    """Either is the server, and data flow both ways through a loss."""
    if (lacks := lacking(third_parties()[other])) is not None:
        pytest.skip(lacks)
    spec = study(code, path={"down": {"drop": {"match": "1-rtt", "nth": 4}}}).spec.to_table()
    spec["scenario"]["hosts"]["client"]["code"] = other
    up = {"from": "client", "to": "server", "writes": "20 x 1000 bytes"}
    spec["scenario"]["transfers"].append(up)
    rows = rexmit.Study.from_dict(spec).run(progress=False).table()
    assert rows["error"].to_list() == [None]
    assert rows["completed"].all()
    assert rows["bytes"].to_list() == [40_000]


@stacks
def test_captures_are_decrypted_by_the_secrets_in_them(code: str, tmp_path: Path) -> None:
    study(code, path={"down": {"drop": 12}}).run(tmp_path / "out", capture="all", progress=False)
    for host in ("server", "client"):
        capture = tmp_path / "out/captures" / f"run-00000000-{host}.pcapng"
        frames = shown(capture, "ip.src", "quic.frame_type")
        assert frames
        # Stream frames have types 8 to 15.
        streams = [
            src for src, kinds in frames if any(8 <= int(kind) <= 15 for kind in kinds.split(",") if kind)
        ]
        assert streams.count("10.0.2.1") >= 16
        assert shown(capture, "tls.handshake.type")
        assert not shown(capture, "frame.number", where="quic.decryption_failed")
        summary = rexmit.analyze(capture).summary
        assert (summary.packets, summary.quic, summary.others) == (len(frames), len(frames), 0)


@stacks
def test_streams_do_not_wait_for_one_another(code: str) -> None:
    """A loss delays the messages of its own stream alone (RFC 9000 section 2.2)."""
    late = {}
    for streams in (1, 20):
        transfer = {"writes": "60 x 1000 bytes", "pause": "5 ms", "streams": streams}
        spec = study(
            code,
            transfer=transfer,
            path={"down": {"drop": {"match": "stream", "nth": 20}}},
            host=AMPLE.get(code),
            scenario={"messages": True},
        )
        results = spec.run(progress=False)
        assert results.table()["completed"].all()
        messages = results.trace(0)["messages"]
        assert messages.height == 60
        waited = (messages["delivered_ns"] - messages["written_ns"]).to_numpy()
        late[streams] = int((waited > 120_000_000).sum())
    assert late[1] > 3 * late[20] > 0


@stacks
@pytest.mark.parametrize(
    ("kind", "host", "at_least"),
    [
        ("initial", "up", 1),
        ("handshake", "down", 1),
        ("1-rtt", "down", 15),
        ("stream", "down", 15),
        ("ack-only", "up", 3),
    ],
)
def test_patterns_name_packets_by_what_they_are(code: str, kind: str, host: str, at_least: int) -> None:
    results = study(code, path={host: {"hold": {"match": kind, "by": "1 ms"}}}).run(progress=False)
    assert results.table()["completed"].all()
    verdicts = results.trace(0)["verdicts"].filter(pl.col("direction") == host)
    held = verdicts.filter(pl.col("verdict").str.contains("held|later|delayed|hold"))
    assert at_least <= held.height
    if kind == "ack-only":
        # A client's Initial is padded (RFC 9000 section 14.1).
        assert held["payload_bytes"].median() < 100
    if kind == "stream":
        assert held["payload_bytes"].min() > 50


@stacks
def test_a_state_is_told_of_the_stack_s_own_numbers(code: str) -> None:
    results = study(code, transfer={"writes": "100 x 10000 bytes"})
    state = results.run(progress=False).trace(0)["state"].filter(pl.col("host") == "server")
    window = state.filter(pl.col("state") == "ESTABLISHED")["cwnd"]
    assert window.max() > window.min() > 0
    srtt = state["srtt_ns"].drop_nulls()
    assert srtt.len() > 0
    assert srtt.min() >= 100_000_000
    assert state["send_queue"].max() > 100_000
    assert state.sort("time_ns")["send_queue"][-1] == 0


@stacks
@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"transfer": {"unordered": True}}, r"transfers\.0\.unordered: QUIC's streams are in order"),
        ({"host": {"mtu": 1000}}, r"hosts\.server\.mtu: QUIC takes 1248 bytes and more"),
        (
            {"host": {"stack": {"inherits": "rfc9000", "recovery": {"packet_threshold": 1}}}},
            r"hosts\.server\.stack\.recovery\.packet_threshold: at least 3",
        ),
        (
            {"host": {"stack": {"inherits": "rfc9000", "rtt": {}}}},
            r"hosts\.server\.stack\.rtt: unknown key `rtt`",
        ),
        ({"path": {"down": {"drop": {"match": "inital"}}}}, r"path\.down\.drop.*allowed: .*initial, 0-rtt"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(code: str, change: dict[str, Any], text: str) -> None:
    with pytest.raises(StudyError, match=text) as refused:
        study(code, **change).run(progress=False)
    # One line for each host that has it.
    assert all(line.startswith("study: ") for line in str(refused.value).splitlines())


LACKS = {
    "quinn": {"stack.max_ack_delay": "10 ms"},
    "ngtcp2": {
        "stack.congestion.initial_window": "20 kB",
        "stack.recovery.packet_threshold": 5,
        "stack.recovery.time_threshold": 1.5,
    },
}
"""What of a profile each has no setting for."""


@stacks
def test_what_the_code_has_no_setting_for_is_told(code: str) -> None:
    for key, value in LACKS.get(code, {}).items():
        asked = (
            study(code).set("hosts.server.stack", {"inherits": "rfc9000"}).set(f"hosts.server.{key}", value)
        )
        with pytest.raises(StudyError, match=rf"hosts\.server\.{key}") as refused:
            asked.run(progress=False)
        assert "\n" not in str(refused.value)


@stacks
def test_a_client_that_knows_the_server_sends_at_once(code: str) -> None:
    """0-RTT (RFC 9001 section 4.6): the second connection's first datagrams carry data."""
    first = {"from": "client", "to": "server", "writes": "1 x 500 bytes", "opened_by": "client"}
    second = {**first, "start": "2 s"}
    times = {}
    for early in (False, True):
        path = {"up": {"hold": {"match": "0-rtt", "by": "1 us"}}}
        spec = study(
            code,
            host={code: {"zero_rtt": early}},
            scenario={"transfers": [first, second], "messages": True},
            path=path,
        )
        results = spec.run(progress=False)
        assert results.table()["completed"].all()
        trace = results.trace(0)
        held = trace["verdicts"].filter(pl.col("verdict").str.contains("held"))
        assert (held.height > 0) == early
        times[early] = trace["messages"].filter(pl.col("connection") == 1)["delivered_ns"][0]
    # A round trip earlier.
    assert 95_000_000 < times[False] - times[True] < 115_000_000
