"""`rexmit emulate`: programs behind the path, as a user calls it; as root, or the reason of the skip."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from .conftest import CLIENT, SERVER, Command

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="network namespaces and TUN need root"
    ),
]

REXMIT = [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", "emulate"]


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
        (["--set", "hosts.server.mtu=1"], "a path only"),
        (["--delay"], "--delay"),
        (["--address", "nowhere"], "--address"),
        (["--address", "fe80::1%eth0"], "of this link alone"),
        (["--address", "224.0.0.2"], "no address of a host"),
        (["--between", "eth8", "eth9", "--mtu", "700"], "leave --address and --mtu out"),
        (["--verdicts", "nowhere/of.parquet"], "there is no such folder"),
        (["--duration", "5"], "--duration"),
        (["no-such.toml"], "cannot be read"),
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


PYTHON = "/usr/bin/python3"
"""An interpreter that everybody may run: that of the tests may lie where others may not look."""


@pytest.mark.skipif(
    shutil.which("setpriv") is None or not Path(PYTHON).exists(), reason=f"needs setpriv and {PYTHON}"
)
def test_it_works_without_root_between_two_commands() -> None:
    if subprocess.run(
        [*UNPRIVILEGED, "unshare", "-Urn", "true"], capture_output=True, check=False
    ).returncode:
        pytest.skip("this kernel allows no user namespaces")
    server = shlex.join([PYTHON, "-c", SERVER, "8000", "1000"])
    done = unprivileged("--delay", "5ms", "--server", server, "--", PYTHON, "-c", CLIENT, "8000")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["bytes"] == 1000
    done = unprivileged("-q", "--server", "sleep 60", "--server-ready", "0ms", "--", "id", "-u")
    assert done.stdout == "65534\n"
    done = unprivileged("--", "true")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "without root the other end cannot be this host" in done.stderr


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


def test_what_survives_the_kill_of_all_parts_is_ended_by_the_next_emulation(rexmit: Command) -> None:
    with nothing_left():
        with running() as emulation:
            emulator = children(emulation.pid)[0]
            doomed = [emulation.pid, emulator, *children(emulator)]
            for pid in doomed:
                os.kill(pid, signal.SIGSTOP)
            for pid in doomed:
                os.kill(pid, signal.SIGKILL)
            emulation.wait(timeout=20)
        done = rexmit("emulate", "-q", "--", "true")
        assert "processes ended, left by an emulation that was killed" in done.stderr


def test_sigterm_ends_both_commands() -> None:
    with nothing_left(), running() as emulation:
        emulation.terminate()
        emulation.communicate(timeout=20)
        assert emulation.returncode == 143


def test_two_interfaces_get_their_offloads_back(rexmit: Command, tmp_path: Path) -> None:
    if shutil.which("ip") is None or shutil.which("ethtool") is None:
        pytest.skip("needs ip and ethtool")
    ends = [f"rxt{os.getpid() % 10000}{end}" for end in "ab"]
    subprocess.run(["ip", "link", "add", ends[0], "type", "veth", "peer", "name", ends[1]], check=True)
    try:
        done = rexmit("emulate", "--between", *ends, "--duration", "100ms")
        assert (done.returncode, "is down" in done.stderr) == (1, True), done.stderr
        for end in ends:
            subprocess.run(["ip", "link", "set", end, "up"], check=True)
        before = [offloads(end) for end in ends]
        assert rexmit("emulate", "--between", *ends, "--duration", "300ms").returncode == 0
        assert [offloads(end) for end in ends] == before
    finally:
        subprocess.run(["ip", "link", "del", ends[0]], check=True)


UNPRIVILEGED = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
# The interpreter may lie where others may not look.
_READ = "-all,+dac_override,+dac_read_search"
UNPRIVILEGED += [f"--inh-caps={_READ}", f"--ambient-caps={_READ}"]


def unprivileged(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as somebody who is not root."""
    command = [*UNPRIVILEGED, *REXMIT, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@contextmanager
def running() -> Iterator[subprocess.Popen[str]]:
    """An emulation with a daemon at each end, once all of it runs."""
    mark = f"{time.time_ns() % 10**9 + 10**6}"
    server = f"sh -c 'setsid sleep {mark}1 & exec sleep {mark}2'"
    command = ["sh", "-c", f"setsid sleep {mark}3 & sleep {mark}4; true"]
    line = [*REXMIT, "-q", "--server", server, "--server-ready", "0ms", "--", *command]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True, start_new_session=True) as emulation:
        until = time.monotonic() + 30
        while sum(f"sleep\0{mark}{n}\0" in commands() for n in range(1, 5)) < 4:
            assert time.monotonic() < until, "it does not start"
            time.sleep(0.05)
        try:
            yield emulation
        finally:
            emulation.kill()


@contextmanager
def nothing_left() -> Iterator[None]:
    """Afterwards there is no other process of ours, interface or namespace than before."""
    before = machine()
    yield
    until = time.monotonic() + 10
    while (left := machine() - before) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left


def machine() -> set[str]:
    """Interfaces that we make, and processes of emulations with their namespaces."""
    found = {f"interface {link.name}" for link in Path("/sys/class/net").iterdir() if "rexmit" in link.name}
    for process in processes():
        try:
            emulated = b"REXMIT_EMULATION=" in (process / "environ").read_bytes()
            space = os.readlink(process / "ns/net")
        except OSError:
            continue
        if emulated:
            found |= {f"process {process.name}", f"namespace {space}"}
    return found


def commands() -> str:
    found = []
    for process in processes():
        try:
            found.append((process / "cmdline").read_text())
        except (OSError, UnicodeDecodeError):
            continue
    return "\n".join(found)


def processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return sorted(int(one) for one in text.split())


def offloads(interface: str) -> str:
    return subprocess.run(["ethtool", "-k", interface], capture_output=True, text=True, check=True).stdout
