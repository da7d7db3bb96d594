"""SCTP, and latencies of messages, on real kernels."""

from __future__ import annotations

import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.errors import StudyError
from rexmit.kernel import find_kernel
from rexmit.run.agents import Crew, RunJob
from rexmit.run.guests import Reach, engine, inside_command, of_this_system
from rexmit.run.real import has_sctp

ONE_WAY = 50.0
"""Milliseconds."""

THIN: dict[str, Any] = {
    "hosts": {"server": {"stack": "lksctp-2.6.15"}, "client": {"stack": "lksctp-2.6.15"}},
    "path": {"delay": "50 ms", "down": {"loss": "5 %"}},
    "transfers": [{"from": "server", "to": "client", "writes": "200 x 100 bytes", "pause": "250 ms"}],
    "messages": True,
    "limit": "10 min",
}


def thin(**settings: Any) -> rexmit.Study:
    """A message of 100 bytes each 250 ms through 5 % loss, with these settings changed."""
    study = rexmit.Study.from_dict({"scenario": THIN, "design": {"replications": 1}}, "thin")
    for name, value in settings.items():
        study = study.set(name.replace("__", "."), value)
    return study


def ran(study: rexmit.Study) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of run 0, and the rows of its connections' messages."""
    results = study.run(None, backend="uml", progress=False)
    return results.table().row(0, named=True), results.messages().rows(named=True)


def latencies(study: rexmit.Study) -> tuple[dict[str, Any], dict[str, Any]]:
    """The row of run 0, and the row of its one connection's messages."""
    row, messages = ran(study)
    assert row["error"] is None, row["error"]
    (only,) = messages
    return row, only


def listed(capture: Path, *fields: str, where: str = "frame") -> list[str]:
    """Fields of the packets of a capture, a line each."""
    wanted = [part for field in fields for part in ("-e", field)]
    command = ["tshark", "-r", str(capture), "-Y", where, "-T", "fields", *wanted]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.usefixtures("guest")
class TestGuest:
    """`--backend uml`."""

    def test_a_thin_stream_through_losses_arrives_and_says_how_late(self) -> None:
        row, messages = latencies(thin())
        assert row["completed"]
        assert (row["bytes"], row["data_segments"]) == (20_000, 200)
        assert messages["written"] == messages["delivered"] == 200
        # Nothing is faster than light; most are not lost, and wait for nothing.
        assert ONE_WAY <= messages["latency_min_ms"] <= messages["latency_p50_ms"] < ONE_WAY + 0.001
        # What is lost waits for three reports 250 ms apart, or for a timer of at least 1 s.
        assert messages["latency_max_ms"] > 600
        assert row["drops_down"] > 0
        assert row["retransmits"] >= row["timeouts"] + row["fast_retransmits"] > 0

    def test_a_message_without_a_loss_takes_the_path_s_delay(self) -> None:
        row, messages = latencies(thin(path__down__loss="0 %"))
        assert (row["retransmits"], row["timeouts"], row["fast_retransmits"]) == (0, 0, 0)
        assert (messages["latency_min_ms"], messages["latency_max_ms"]) == (50.0, 50.0)

    def test_latencies_of_tcp_too(self) -> None:
        tcp = thin(hosts__server__stack="linux-6.1", hosts__client__stack="linux-6.1")
        row, messages = latencies(tcp)
        assert row["drops_down"] > 0
        assert messages["written"] == messages["delivered"] == 200
        assert ONE_WAY <= messages["latency_min_ms"] < messages["latency_max_ms"]

    def test_each_message_has_its_row(self, tmp_path: Path) -> None:
        results = thin().run(tmp_path, backend="uml", progress=False)
        every = results.trace(0)["messages"]
        (told,) = results.messages().rows(named=True)
        late = (every["delivered_ns"] - every["written_ns"]) / 1e6
        assert every["number"].to_list() == list(range(200))
        # In the last bit the way to a float counts.
        assert (late.min(), late.max()) == pytest.approx(
            (told["latency_min_ms"], told["latency_max_ms"]), rel=1e-12
        )

    def test_what_ran_before_changes_no_packet(self, tmp_path: Path) -> None:
        """Nor a single byte of a capture, heartbeats included."""
        studies = [thin(path__delay=delay) for delay in ("50 ms", "31 ms")]
        order = [studies[0], studies[1], studies[0]]
        kernel = find_kernel()

        def launch(job: Path, folder: Path) -> list[str]:
            return inside_command(kernel, job, folder, Reach((tmp_path,), of_this_system([engine()])))

        def job(run: int) -> RunJob:
            files = [str(tmp_path / f"{run}-{host}.pcapng") for host in ("server", "client")]
            options = {"virtual_hz": kernel.hz, "captures": files}
            return RunJob(run, order[run].spec.scenario_of(0), 1, "the same", options)

        crew = Crew(launch, job, 1, pinned=True)
        assert [done.failed for done in crew.work(range(3), lambda: False)] == [None] * 3
        for host in ("server", "client"):
            seen = [tmp_path / f"{run}-{host}.pcapng" for run in range(3)]
            assert seen[0].read_bytes() == seen[2].read_bytes()
            assert "HEARTBEAT" in str(listed(seen[0], "_ws.col.Info"))

    def test_the_capture_tells_why_each_chunk_came_again(self, tmp_path: Path) -> None:
        results = thin().run(tmp_path, backend="uml", capture="all", state="all", progress=False)
        (row,) = results.table().rows(named=True)
        capture = tmp_path / "captures" / "run-00000000-server.pcapng"
        found = rexmit.analyze(capture, tables="sctp_retransmissions")
        causes = Counter(each["cause"] for each in found.sctp_retransmissions.to_dicts())
        assert causes.total() == row["retransmits"]
        assert causes["fast"] == row["fast_retransmits"]
        assert causes["timeout"] == row["timeouts"]

        state = pl.read_parquet(tmp_path / "tables" / "run-00000000-state.parquet").filter(host="server")
        assert {"ESTABLISHED", "SHUTDOWN-SENT"} <= set(state["state"])
        assert set(state["phase"]) == {"open", "loss"}
        # Four packets at most; a timer lowers cwnd to one, a fast retransmit ssthresh to four.
        assert (state["cwnd"].min(), state["cwnd"][0], state["ssthresh"].min()) == (1500, 4380, 6000)
        assert state["in_flight"].max() >= 200
        assert state["rto_ns"].min() >= 1_000_000_000
        assert state["retransmits"].max() == row["retransmits"]

    @pytest.mark.parametrize("streams", [1, 3, 40])
    def test_streams_do_not_wait_for_each_other(self, streams: int) -> None:
        _, ordered = latencies(thin())
        _, messages = latencies(thin(transfers__0__streams=streams, transfers__0__unordered=streams == 1))
        assert messages["written"] == messages["delivered"] == 200
        # The same losses; fewer messages wait for another.
        assert messages["latency_max_ms"] == ordered["latency_max_ms"]
        assert messages["latency_mean_ms"] < ordered["latency_mean_ms"]

    @pytest.mark.parametrize("limit", [{"max_retransmits": 0}, {"lifetime": "500 ms"}])
    def test_messages_are_given_up(self, limit: dict[str, Any]) -> None:
        given = {f"transfers__0__{key}": value for key, value in limit.items()}
        row, messages = latencies(thin(**given))
        assert 150 < messages["delivered"] < messages["written"] == 200
        assert row["bytes"] == 100 * messages["delivered"]

    def test_messages_longer_than_a_packet_keep_their_bounds(self) -> None:
        long = thin(
            transfers__0__writes="20 x 30000 bytes, 1 bytes, 5 x 70000 bytes",
            transfers__0__read__size="1000 bytes",
        )
        row, messages = latencies(long)
        assert row["bytes"] == 20 * 30_000 + 1 + 5 * 70_000
        assert messages["written"] == messages["delivered"] == 26

    def test_many_associations_share_a_path(self) -> None:
        many = thin(transfers__0__connections=20, transfers__0__stagger="13 ms")
        many = many.set("transfers.0.writes", "30 x 100 bytes")
        row, messages = ran(many)
        assert (row["error"], row["completed"], row["bytes"]) == (None, True, 20 * 3_000)
        assert [each["connection"] for each in messages] == list(range(20))

    def test_netem_and_our_emulator_agree(self) -> None:
        rows = [ran(thin(path__down__loss="0 %", path__emulator=name))[0] for name in ("rexmit", "netem")]
        assert [row["error"] for row in rows] == [None, None]
        for name in ("bytes", "packets_down", "data_segments", "retransmits", "timeouts"):
            assert rows[0][name] == rows[1][name], name
        lossy, _ = ran(thin(path__emulator="netem"))
        assert lossy["retransmits"] >= lossy["drops_down"] > 0

    def test_nothing_gets_through(self) -> None:
        silent = thin(path__down__loss="100 %")
        row, _ = ran(silent.set("limit", "20 min"))
        assert not row["completed"]
        assert row["error"] == "a connection was given up or reset before its transfer was complete"
        assert row["timeouts"] == 9  # INIT: the first and Max.Init.Retransmits = 8 more

    def test_what_changes_in_a_profile_reaches_the_kernel(self) -> None:
        usual, _ = latencies(thin())
        _, quick = latencies(
            thin(hosts__server__stack__rto__max="500 ms").set("hosts.server.stack.rto.min", "200 ms")
        )
        assert quick["latency_max_ms"] < 1500
        at_once, _ = latencies(thin(hosts__client__stack__sack__delay="0 ns"))
        # A SACK for each packet instead of every second, or after 200 ms.
        assert at_once["timeouts"] < usual["timeouts"]
        nagle, held = latencies(thin(hosts__server__stack__output__nagle=True))
        assert nagle["packets_down"] < usual["packets_down"] - 30
        assert held["written"] == held["delivered"]

    def test_a_sysctl_of_sctp_is_of_the_host(self) -> None:
        quick = thin(hosts__server__linux__sysctl={"net.sctp.rto_min": 200, "net.sctp.rto_initial": 500})
        _, messages = latencies(quick)
        assert messages["latency_max_ms"] < 1900

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("hosts.server.stack.thin.backoff", False),
            ("hosts.server.stack.recovery.missing_reports", 1),
            ("hosts.server.stack.rto.min", "1500 us"),
            ("hosts.server.linux.thin_linear_timeouts", True),
        ],
    )
    def test_what_lksctp_has_no_knob_for_is_refused(self, key: str, value: Any) -> None:
        with pytest.raises(StudyError, match=rf"{key} has no effect here"):
            thin().set(key, value).run(None, backend="uml", progress=False)

    def test_one_limit_for_a_message(self) -> None:
        both = thin(transfers__0__lifetime="1 s", transfers__0__max_retransmits=1)
        with pytest.raises(StudyError, match=r"transfers\.0\.max_retransmits has no effect here"):
            both.run(None, backend="uml", progress=False)

    def test_a_thin_stream_of_tcp_without_backoff(self, tmp_path: Path) -> None:
        """Linux 6.1 tcp_timer.c: the timeout of a thin stream is not doubled for its first six expiries."""
        gone = thin(
            hosts__server__stack="linux-6.1",
            hosts__client__stack="linux-6.1",
            hosts__server__linux__early_retrans=0,
            path__down__loss="0 %",
            path__down__drop="20-24",
            transfers__0__writes="30 x 100 bytes",
            transfers__0__pause="15 s",
        )
        both = gone.set("vary.hosts.server.linux.thin_linear_timeouts", [False, True])
        table = both.run(tmp_path, backend="uml", capture="all", progress=False).table()
        assert table["timeouts"].to_list() == [5, 5]
        waits = []
        for run in (0, 1):
            capture = tmp_path / "captures" / f"run-{run:08d}-server.pcapng"
            sent = listed(capture, "frame.time_relative", where="tcp.analysis.retransmission")
            times = [float(time) for time in sent]
            waits.append([b - a for a, b in pairwise(times)])
        doubled, linear = waits
        assert len(doubled) == len(linear) == 4
        for before, after in pairwise(doubled):
            assert 1.7 < after / before < 2.3
        assert max(linear) < 1.2 * min(linear) < 0.5


def test_a_machine_without_sctp_says_so_before_anything_runs() -> None:
    if has_sctp():
        pytest.skip("this machine's kernel has SCTP")
    with pytest.raises(StudyError, match=r"has no SCTP; load its module .* --backend uml or model"):
        thin().run(None, backend="kernel", progress=False)


def test_keys_of_sctp_mean_nothing_to_tcp() -> None:
    tcp = thin(hosts__server__stack="linux-6.1", hosts__client__stack="linux-6.1")
    with pytest.raises(StudyError, match=r"hosts\.client\.linux\.sctp_sack_packets has no effect here"):
        tcp.set("hosts.client.linux.sctp_sack_packets", 1).run(None, backend="kernel", progress=False)
