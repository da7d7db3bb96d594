"""What single stacks do that others do not, as docs/guide/stacks.md tells it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.run.stacks import lacking, third_parties

PROFILES = {"tcp": "rfc", "sctp": "rfc9260", "quic": "rfc9000"}


def study(
    code: str,
    client: str | None = None,
    transfer: dict[str, Any] | None = None,
    path: dict[str, Any] | None = None,
    scenario: dict[str, Any] | None = None,
    **more: Any,
) -> rexmit.Study:
    """20 messages at once over a round trip of 100 ms."""
    stack = third_parties()[code]
    if (lacks := lacking(stack)) is not None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", lacks
        pytest.skip(lacks)
    profile = PROFILES[stack.protocols[0]]
    hosts = {"server": {"stack": profile, "code": code}, "client": {"stack": profile, "code": client or code}}
    whole = {"from": "server", "to": "client", "writes": "20 x 1000 bytes", "close": False} | (transfer or {})
    link = path or {"rate": "10 Mbit/s", "delay": "50 ms"}
    given = {"hosts": hosts, "path": link, "transfers": [whole], **(scenario or {})}
    return rexmit.Study.from_dict({"title": code, "scenario": given, **more})


def extra_ms(code: str, last: int, **more: Any) -> list[float]:
    """What the loss of each of the server's packets costs: of none, of the first, and so on."""
    rows = study(code, vary={"path.down.drop": [[], *([n] for n in range(1, last + 1))]}, **more).run(
        progress=False
    )
    times = (rows.table().sort("run")["time_ns"].cast(pl.Int64) / 1e6).to_list()
    return [time - times[0] for time in times]


def test_netstack_shows_a_lost_tail_by_a_probe() -> None:
    costs = extra_ms("gvisor", 16)
    assert costs[1] == pytest.approx(1000, abs=1), "a SYN-ACK waits for a second"
    assert max(costs[2:15]) < 300, "RACK, and probes of two round trips"


def longest_ms(lost: list[int], rtt_ms: int, pause: str) -> float:
    """How late the latest of 60 messages of gVisor's comes that loses these packets with data."""
    drop = [{"match": "data", "nth": nth} for nth in lost]
    results = study(
        "gvisor",
        transfer={"writes": "60 x 100 bytes", "pause": pause},
        path={"rate": "10 Mbit/s", "delay": f"{rtt_ms / 2:g} ms", "down": {"drop": drop}},
        scenario={"messages": True},
    ).run(progress=False)
    longest: float = results.messages()["latency_max_ms"].max()  # type: ignore[assignment]
    return longest


@pytest.mark.parametrize("rtt_ms", [100, 150, 180])
def test_netstack_puts_its_probe_off_with_each_write(rtt_ms: int) -> None:
    """A thin stream that loses a message, and the next but one, waits until its application has ended.

    The 30th message is lost; the SACK of the 31st begins the recovery, and the 32nd is written before the
    acknowledgment of the retransmission ends it. That leaves two packets on the account: SetPipe counted
    the retransmission twice (below HighRxt, and not lost), the acknowledgment takes one away, and outside
    recovery SetPipe does not count again (snd.go of pkg/tcpip/transport/tcp). Two are the window at the end
    of a recovery, so that no write sends anything while the 32nd is out. If that is lost as well, the probe
    would show it; but netstack sets its timer anew, two round trips from then, after each write, also one
    that sends nothing, and stops that of the retransmission (`postXmit`), where RFC 8985 section 7.2 does so
    when data are sent.
    """
    assert longest_ms([30, 32], rtt_ms, "200 ms") > 5_000
    assert longest_ms([30, 33], rtt_ms, "200 ms") < 1_000, "the 33rd leaves a window with room"


@pytest.mark.parametrize(
    ("rtt_ms", "pause"),
    [pytest.param(90, "200 ms", id="the probe comes before the next write"), (150, "400 ms")],
)
def test_netstack_probes_where_it_is_not_written_to_in_time(rtt_ms: int, pause: str) -> None:
    assert longest_ms([30, 32], rtt_ms, pause) < 1_000


def test_lwip_waits_for_its_first_two_packets() -> None:
    """Its first window is three packets, and a duplicate lets nothing leave (RFC 3042 would).

    Without the first, two duplicates come. Without the second, the third brings the acknowledgment of the
    first, which is not a duplicate and lets two more leave: two duplicates again, where three are asked for.
    """
    losses = [{"match": "data", "nth": nth} for nth in range(1, 6)]
    whole = {"writes": "1 x 29200 bytes"}
    varied = study("lwip", transfer=whole, vary={"path.down.drop": losses})
    rows = varied.run(progress=False).table().sort("run")
    assert rows["timeouts"].to_list() == [1, 1, 0, 0, 0]
    assert rows["fast_retransmits"].to_list() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("client", ["pion-sctp", "model"])
def test_pion_does_not_acknowledge_a_second_cookie_once_it_is_to_close(client: str) -> None:
    """RFC 9260 section 5.2.4, action D: an ESTABLISHED end, and any later, answers with a COOKIE ACK."""
    lost = {"vary": {"path.down.drop": [[2]]}}
    open_ends = study("pion-sctp", client, **lost).run(progress=False).table()
    assert open_ends["completed"].all()
    closing = study("pion-sctp", client, {"close": True}, **lost).run(progress=False).table()
    assert not closing["completed"].any()
    assert closing["bytes"].item() == 0


def test_pion_takes_all_for_reordering_where_its_first_number_is_high(tmp_path: Path) -> None:
    """The highest TSN delivered begins with 0 and is compared in serial arithmetic (RFC 1982)."""
    lost = {"path.down.drop": [[17]]}
    given = study("pion-sctp", transfer={"writes": "40 x 1000 bytes"}, vary=lost, design={"replications": 8})
    results = given.run(progress=False, out=tmp_path / "out", capture="all")
    times: dict[bool, set[int]] = {True: set(), False: set()}
    for run, time in results.table().select("run", "time_ns").iter_rows():
        capture = tmp_path / "out/captures" / f"run-{run:08}-server.pcapng"
        fields = [
            "-o",
            "sctp.relative_tsns:FALSE",
            "-c",
            "2",
            "-T",
            "fields",
            "-e",
            "sctp.initack_initial_tsn",
        ]
        told = subprocess.run(["tshark", "-r", capture, *fields], capture_output=True, text=True, check=True)
        times[int(told.stdout) >= 1 << 31].add(time)
    assert [len(some) for some in times.values()] == [1, 1]
    assert times[True] != times[False]


def test_quic_go_begins_with_two_datagrams_and_an_rtt_of_100_ms() -> None:
    costs = extra_ms("quic-go", 3)
    assert all(200 < cost < 400 for cost in costs[2:4]), "the server's first flight"
    hello = study("quic-go", vary={"path.up.drop": [[], [1], [2]]}).run(progress=False).table().sort("run")
    times = (hello["time_ns"].cast(pl.Int64) / 1e6).to_list()
    assert all(time > times[0] + 100 for time in times[1:])


def test_quiche_fills_its_window_with_slivers() -> None:
    path = {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"}
    given = study(
        "quiche", transfer={"writes": "1 x 112000 bytes"}, path=path, vary={"path.delay": ["10 ms", "100 ms"]}
    )
    packets = given.run(progress=False).table().sort("path.delay_ns")["data_segments"].to_list()
    assert packets[0] > 1.5 * packets[1], "nothing is lost; the window holds up the shorter path alone"
    assert packets[1] == 100
