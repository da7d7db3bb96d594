"""What held a sender back beside what its own kernel counted: TCP_INFO's times of the same run on `uml`.

Linux counts while data wait or are outstanding (busy), and how much of that the receiver's window or the send
buffer held it. Ours is judged from the packets, from the first with data to the last. How far both may be
apart was chosen from these definitions, before ours was looked at:

- `BUSY`: Linux is busy until the last data is acknowledged, a round trip longer than ours.
- `ENDS`: of the receiver's window, a round trip at each end. The first flight may reach both windows at once,
  which Linux gives to the congestion window; and behind the last data Linux waits for no window any more.
- `TICK`: Linux's clock of these times ticks each ms, once for each change of what holds it.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from rexmit import Study, analyze

RTT = 40e6
BUSY, ENDS, TICK = RTT, 2 * RTT, 1e6

SCENARIO = """
title = "What held Linux back"

[scenario]
hosts.server.stack = "linux-6.1"
hosts.client.stack = "linux-6.1"
path.rate = "1 Gbit/s"
path.delay = "20 ms"
path.queue = "1000 packets"

[[scenario.transfers]]
from = "server"
to = "client"
writes = "1 x 400000 bytes"

[vary.limit.together]
"hosts.client.linux.receive_buffer" = ["16 kB", "32 kB", "1 MB", "1 MB"]
"path.down.drop.position" = ["0", "0", "30", "0"]
"transfers.0.writes" = ["1 x 400000 bytes", "1 x 600000 bytes", "1 x 400000 bytes", "10 x 3000 bytes"]
"transfers.0.pause" = ["0 ms", "0 ms", "0 ms", "100 ms"]

[design]
replications = 1
seed = 1
"""
FULL_BUFFER = """
title = "A full send buffer held Linux back"

[scenario]
hosts.server.stack = "linux-6.1"
hosts.server.linux.send_buffer = "64 kB"
hosts.server.linux.congestion = "bbr"
hosts.client.stack = "linux-6.1"
hosts.client.linux.receive_buffer = "6 MB"
path.rate = "1 Gbit/s"
path.delay = "20 ms"
path.queue = "1000 packets"

[[scenario.transfers]]
from = "server"
to = "client"
writes = "1 x 4000000 bytes"

[design]
replications = 1
seed = 1
"""
"""BBR: of a sender that does not pace, Linux counts no time in which its buffer was full."""
WINDOW, DEFERRED, CONGESTION, APPLICATION = range(4)
"""Runs: limited by a window that is filled, one in which Linux leaves room, the congestion window, writes."""


Times = dict[str, float]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, guest: None) -> list[tuple[Times, Times]]:
    """What Linux counted and what we judged of each run, ns."""
    return measured(tmp_path_factory.mktemp("held"), SCENARIO)


def measured(out: Path, scenario: str) -> list[tuple[Times, Times]]:
    (out / "held.toml").write_text(scenario)
    results = Study.load(str(out / "held.toml")).run(
        out / "done", backend="uml", capture="all", state="all", progress=False
    )
    assert results.table()["completed"].all()
    return [(counted(out / "done", run), judged(out / "done", run)) for run in range(len(results.table()))]


def counted(folder: Path, run: int) -> Times:
    (path,) = folder.rglob(f"run-{run:08}-state.parquet")
    columns = ("busy_ns", "rwnd_limited_ns", "sndbuf_limited_ns")
    last = pl.read_parquet(path).filter(pl.col("host") == "server").select(columns).drop_nulls().tail(1)
    return last.row(0, named=True)


def judged(folder: Path, run: int) -> Times:
    (path,) = folder.rglob(f"run-{run:08}-server.pcapng")
    (row,) = analyze(path).connections.iter_rows(named=True)
    return {name.removeprefix("server_held_"): value for name, value in row.items() if "server_held_" in name}


def test_busy_is_a_round_trip_more_than_ours(runs: list[tuple[Times, Times]]) -> None:
    for run in (WINDOW, DEFERRED, CONGESTION):
        linux, ours = runs[run]
        assert linux["busy_ns"] - ours["ns"] == pytest.approx(BUSY, abs=2 * TICK)


@pytest.mark.parametrize("run", [WINDOW, DEFERRED])
def test_the_receive_window_held_it_as_long_as_linux_counts(
    runs: list[tuple[Times, Times]], run: int
) -> None:
    linux, ours = runs[run]
    assert ours["receive_window_ns"] == pytest.approx(linux["rwnd_limited_ns"], abs=ENDS + 20 * TICK)
    assert linux["rwnd_limited_ns"] > 0.8 * linux["busy_ns"]
    assert ours["receive_window_certain_ns"] <= linux["rwnd_limited_ns"] + ENDS


def test_what_linux_does_not_count_is_its_congestion_window(runs: list[tuple[Times, Times]]) -> None:
    linux, ours = runs[CONGESTION]
    assert (linux["rwnd_limited_ns"], linux["sndbuf_limited_ns"]) == (0, 0)
    assert (ours["receive_window_ns"], ours["send_buffer_ns"]) == (0, 0)
    own = ours["slow_start_ns"] + ours["after_loss_ns"] + ours["recovery_ns"] + ours["timer_ns"]
    assert own > 0.9 * ours["ns"]


def test_while_linux_is_idle_its_application_had_nothing_to_send(runs: list[tuple[Times, Times]]) -> None:
    linux, ours = runs[APPLICATION]
    assert (linux["rwnd_limited_ns"], linux["sndbuf_limited_ns"]) == (0, 0)
    # Idle is what passes between the acknowledgment of a write and the next one: what is certain of ours.
    # Behind our last data Linux is busy twice, for that and for the FIN, which the pause sets apart.
    idle = ours["ns"] - (linux["busy_ns"] - 2 * BUSY)
    assert ours["application_certain_ns"] == pytest.approx(idle, abs=20 * TICK)


def test_linux_does_not_count_a_full_send_buffer_of_a_sender_that_does_not_pace(
    tmp_path: Path, guest: None
) -> None:
    ((linux, ours),) = measured(tmp_path, FULL_BUFFER.replace('"bbr"', '"cubic"'))
    assert linux["sndbuf_limited_ns"] == 0
    assert ours["send_buffer_ns"] > 0.5 * ours["ns"]


def test_a_full_send_buffer_held_it_for_most_of_the_time(tmp_path: Path, guest: None) -> None:
    # That it is most of it was asked after both had been seen.
    ((linux, ours),) = measured(tmp_path, FULL_BUFFER)
    # Linux counts while all that was written has left; ours, from when no more has been outstanding for long.
    assert linux["sndbuf_limited_ns"] > 0.5 * linux["busy_ns"]
    assert ours["send_buffer_ns"] > 0.5 * ours["ns"]
    # A window that stands still may be another's.
    assert ours["send_buffer_certain_ns"] == 0
