"""`rexmit emulate`: programs behind the path, as a user calls it; as root, or the reason of the skip."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from .conftest import Command, commands
from .emulations import REXMIT, children, emulating, nothing_left

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(os.geteuid() != 0, reason="this host as the other end needs root"),
]

NOBODY = 65534


def test_a_round_trip_takes_both_delays(rexmit: Command, programs: tuple[str, list[str]]) -> None:
    server, client = programs
    done = rexmit("emulate", "--delay", "50ms", "--server", f"{server} 8000 1", "--", *client, 8000)
    assert done.returncode == 0, done.stderr
    assert 0.1 <= json.loads(done.stdout)["connect"] < 0.2
    assert "down: " in done.stderr
    assert "p99" in done.stderr


def test_exactly_the_packet_that_is_named_is_dropped(
    rexmit: Command, programs: tuple[str, list[str]], tmp_path: Path
) -> None:
    server, client = programs
    table = tmp_path / "verdicts.parquet"
    options = ["--rate", "10Mbit/s", "--delay", "5ms", "--down.drop", 18, "--json", "--verdicts", table]
    options += ["--capture", tmp_path / "traces"]
    done = rexmit("emulate", *options, "--server", f"{server} 8000 100000", "--", *client, 8000)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["summary"]
    assert summary["down"]["dropped_by_pattern"] == 1
    dropped = pl.read_parquet(table).filter(pl.col("dropped"))
    assert dropped.select("direction", "position").rows() == [("down", 18)]
    captured = (tmp_path / "traces" / "server.pcapng").read_bytes()
    assert captured.count(b"dropped by pattern at position 18") == 1
    assert (tmp_path / "traces" / "client.pcapng").exists()


def test_root_writes_nothing_through_links_in_a_folder_of_others(
    rexmit: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SUDO_UID", raising=False)
    place = Path(tempfile.mkdtemp(prefix="test-emulate-", dir="/tmp"))
    try:
        place.chmod(0o755)
        roots, others = place / "roots", place / "others"
        roots.write_text("mine")
        others.mkdir()
        planted = ("server.pcapng", "client.pcapng", "v.parquet", "v.parquet.tmp")
        for name in planted:
            (others / name).symlink_to(roots if name != "client.pcapng" else place / "made")
        os.chown(others, NOBODY, NOBODY)
        command = ["emulate", "--verdicts", others / "v.parquet", "--capture", others, "--", "true"]
        done = rexmit(*command)
        assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
        assert f"{others} belongs to user nobody, so root writes nothing there" in done.stderr
        assert all((others / name).is_symlink() for name in planted)
        # With sudo, what is written is of whoever called it.
        monkeypatch.setenv("SUDO_UID", str(NOBODY))
        monkeypatch.setenv("SUDO_GID", str(NOBODY))
        done = rexmit(*command)
        assert done.returncode == 0, done.stderr
        owners = {(others / name).lstat().st_uid for name in planted if not (others / name).is_symlink()}
        assert owners == {NOBODY}
        assert roots.read_text() == "mine"
        assert not (place / "made").exists()
    finally:
        shutil.rmtree(place)


def test_a_download_has_the_rate_of_the_bottleneck(rexmit: Command, programs: tuple[str, list[str]]) -> None:
    server, client = programs
    # The queue is long enough to keep the bottleneck busy through a pause of the machine.
    path = ["--rate", "8Mbit/s", "--delay", "2ms", "--queue", "1000 packets"]
    done = rexmit("emulate", *path, "--server", f"{server} 8000 4000000", "--", *client, 8000)
    times = json.loads(done.stdout)["times"]
    # Of 1500 bytes, 1448 are data. The beginning is not the bottleneck's.
    (begin, before), (end, after) = times[len(times) // 2], times[-1]
    rate = 8 * (after - before) * 1500 / 1448 / (end - begin)
    assert rate == pytest.approx(8e6, rel=0.02), done.stderr


def test_an_outage_queues_and_then_delivers(
    rexmit: Command, programs: tuple[str, list[str]], tmp_path: Path
) -> None:
    server, client = programs
    table = tmp_path / "verdicts.parquet"
    changes = '[{ at = "0 s", rate = "0 bit/s" }, { at = "2 s", rate = "8 Mbit/s" }]'
    options = ["--rate", "8Mbit/s", "--down.changes", changes, "--verdicts", table]
    done = rexmit("emulate", *options, "--server", f"{server} 8000 1000", "--", *client, 8000)
    assert json.loads(done.stdout)["bytes"] == 1000, done.stderr
    packets = pl.read_parquet(table)
    assert not packets["dropped"].any()
    # What answers the server's first packet has waited for it.
    answers = packets.filter(pl.col("direction") == "up", pl.col("flags").and_(2) == 0)
    assert answers["time_ns"].min() >= 2_000_000_000


def test_this_host_is_the_other_end_without_a_server(
    rexmit: Command, programs: tuple[str, list[str]]
) -> None:
    server, client = programs
    with subprocess.Popen([*server.split(), "18000", "1000"]) as running:
        try:
            done = rexmit("emulate", "--delay", "5ms", "--", *client, 18000)
        finally:
            running.kill()
    assert json.loads(done.stdout)["bytes"] == 1000, done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-command"], 127),
        (["/etc/passwd"], 126),
    ],
)
def test_the_exit_code_is_the_commands(rexmit: Command, command: list[str], code: int) -> None:
    assert rexmit("emulate", "-q", "--", *command).returncode == code


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--rate", "10"], "path.rate: 10 is not a rate"),
        (["--down.lss", "1 %"], "did you mean `loss`?"),
        (["--dwn.loss", "1 %"], "did you mean '--down.loss'?"),
        (["--set", "path.down.drop=x"], "path.down.drop"),
        (["--set", "hosts.server.mtu=1"], "only a path"),
        (["--delay"], "--delay"),
        (["--address", "nowhere"], "--address"),
        (["--address", "fe80::1%eth0"], "of this link alone"),
        (["--address", "224.0.0.2"], "not an address of a host"),
        (["--between", "eth8", "eth9", "--mtu", "700"], "leave --address and --mtu out"),
        (["--verdicts", "nowhere/of.parquet"], "there is no such folder"),
        (["--duration", "5"], "--duration"),
        (["no-such.toml"], "cannot be read"),
        (["no-such.toml", "more"], "more: put a command and its arguments after --"),
        (["--server", ""], "--server: is empty"),
        (["--between", "eth8", "eth8"], "two different interfaces"),
    ],
)
def test_a_mistake_is_one_line(rexmit: Command, options: list[str], text: str) -> None:
    done = rexmit("emulate", *options, "--", "true")
    assert done.returncode == 2
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_path_comes_from_a_study_too(rexmit: Command, study_file: Path) -> None:
    done = rexmit("emulate", study_file, "--set", "path.down.drop=1", "--", "true")
    assert done.returncode == 0, done.stderr
    assert "path.down.drop: position 1 was never reached" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--server", "no-such-command"], 1, "--server: no-such-command: command not found"),
        (["--server", "sh -c 'echo port in use >&2; exit 3'"], 1, "port in use\nrexmit: error: the server"),
        (["--between", "no-such-if", "lo"], 1, "--between no-such-if: "),
        (["--duration", "300ms"], 124, "was ended after 300 ms"),
    ],
)
def test_what_goes_wrong_is_one_clear_line(rexmit: Command, options: list[str], code: int, text: str) -> None:
    with nothing_left():
        done = rexmit("emulate", "-q", *options, "--", "sleep", 60)
    assert (done.returncode, text in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(
    "part", ["parent", "emulator", "server's keeper", "command's keeper", "command", "server"]
)
def test_a_kill_of_any_part_leaves_nothing(part: str) -> None:
    with nothing_left(), running() as emulation:
        parts = {
            "parent": emulation.pid,
            "emulator": (emulator := children(emulation.pid)[0]),
            "server's keeper": children(emulator)[0],
            "command's keeper": children(emulator)[1],
            "server": children(children(emulator)[0])[0],
            "command": children(children(emulator)[1])[0],
        }
        os.kill(parts[part], signal.SIGKILL)
        if part == "server":
            os.kill(emulation.pid, signal.SIGTERM)
        _, words = emulation.communicate(timeout=20)
        expected = {"parent": -9, "emulator": 1, "server": 143}
        assert emulation.returncode == expected.get(part, 137)
        if part == "emulator":
            assert "the emulator was ended by signal 9" in words


@pytest.mark.parametrize("keepers", [False, True], ids=["without keepers", "with keepers"])
def test_a_kill_of_all_parts_at_once_leaves_nothing(keepers: bool) -> None:
    with nothing_left(), running() as emulation:
        emulator = children(emulation.pid)[0]
        doomed = [emulation.pid, emulator, *(children(emulator) if keepers else [])]
        # Stopped first, so that none of them can do anything about it.
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in doomed:
                os.kill(pid, number)
        emulation.wait(timeout=20)


def test_a_program_sees_its_own_processes_only(rexmit: Command) -> None:
    look = "echo $PPID $(readlink /proc/self) $(ls -d /proc/[0-9]* | wc -l) $(cat /proc/$$/comm)"
    done = rexmit("emulate", "-q", "--", "sh", "-c", look)
    parent, own, count, name = done.stdout.split()
    assert (parent, int(own) > 2, name) == ("1", True, "sh"), done.stdout
    assert int(count) < 10, "that of the machine"


def test_sigterm_ends_both_commands() -> None:
    with nothing_left(), running() as emulation:
        emulation.terminate()
        emulation.communicate(timeout=20)
        assert emulation.returncode == 143


def test_two_interfaces_get_their_offloads_back(rexmit: Command) -> None:
    with veth_pair() as ends:
        done = rexmit("emulate", "--between", *ends, "--duration", "100ms")
        assert (done.returncode, "is down" in done.stderr) == (1, True), done.stderr
        for end in ends:
            subprocess.run(["ip", "link", "set", end, "up"], check=True)
        before = [offloads(end) for end in ends]
        assert rexmit("emulate", "--between", *ends, "--duration", "300ms").returncode == 0
        assert [offloads(end) for end in ends] == before


def test_another_pid_namespace_gives_offloads_back_after_a_kill_only() -> None:
    # A process number of one says nothing in the other.
    other = ["unshare", "--pid", "--fork", "--mount-proc", *REXMIT, "-q", "--", "true"]
    with veth_pair() as ends:
        for end in ends:
            subprocess.run(["ip", "link", "set", end, "up"], check=True)
        before = [offloads(end) for end in ends]
        with subprocess.Popen([*REXMIT, "--between", *ends]) as emulation:
            try:
                until = time.monotonic() + 30
                while any(offloads(end) == old for end, old in zip(ends, before, strict=True)):
                    assert time.monotonic() < until, "it does not start"
                    time.sleep(0.05)
                during = [offloads(end) for end in ends]
                done = subprocess.run(other, capture_output=True, text=True, check=True)
                assert (done.stderr, [offloads(end) for end in ends]) == ("", during)
            finally:
                doomed = [emulation.pid, *children(emulation.pid)]
                for number in (signal.SIGSTOP, signal.SIGKILL):
                    for pid in doomed:
                        os.kill(pid, number)
        done = subprocess.run(other, capture_output=True, text=True, check=True)
        for end in ends:
            assert f"{end}: offloads restored, left by an emulation that was killed" in done.stderr
        assert [offloads(end) for end in ends] == before


@contextmanager
def veth_pair() -> Iterator[list[str]]:
    """Two Ethernet interfaces, which are down."""
    if shutil.which("ip") is None or shutil.which("ethtool") is None:
        pytest.skip("needs ip and ethtool")
    ends = [f"rxt{time.time_ns() % 10**8}{end}" for end in "ab"]
    subprocess.run(["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]], check=True)
    try:
        yield ends
    finally:
        subprocess.run(["ip", "link", "del", ends[0]], check=True)


@contextmanager
def running() -> Iterator[subprocess.Popen[str]]:
    """An emulation with an anonymous daemon at each end, once all of it runs; at the end all is gone."""
    mark = f"{time.time_ns() % 10**9 + 10**6}"
    server = f"sh -c 'env -i setsid sleep {mark}1 & exec sleep {mark}2'"
    command = ["sh", "-c", f"env -i setsid sleep {mark}3 & sleep {mark}4; true"]
    with emulating(mark, 4, "--server", server, "--server-ready", "0ms", "--", *command) as emulation:
        yield emulation
    until = time.monotonic() + 10
    while f"sleep\0{mark}" in commands() and time.monotonic() < until:
        time.sleep(0.05)
    assert f"sleep\0{mark}" not in commands(), "a daemon is left"


def offloads(interface: str) -> str:
    return subprocess.run(["ethtool", "-k", interface], capture_output=True, text=True, check=True).stdout
