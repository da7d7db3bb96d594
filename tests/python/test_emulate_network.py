"""`rexmit emulate` of a network: a program at each host, what they reach, what is said and what is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from .conftest import Command, commands
from .emulations import REXMIT, children, emulating, nothing_left

pytestmark = [pytest.mark.real_time, pytest.mark.usefixtures("namespaces")]

NETWORK = """
[hosts]
near = { at = "left", access = { delay = "5 ms" } }
far = { at = "left", access = { delay = "20 ms" } }
sink = { at = "right" }

[links.middle]
between = ["left", "right"]
rate = "20 Mbit/s"
delay = "10 ms"
"""

STUDY = """
[scenario.hosts]
reader = { stack = "linux-6.1", at = "left", count = 2 }
sink = { stack = "linux-6.1", at = "right" }

[scenario.links.middle]
between = ["left", "right"]

[[scenario.transfers]]
from = "sink"
to = "reader"
bulk = "1 s"

[vary]
"links.middle.aqm" = ["none", "codel"]
"""

# Answers each connection with so many bytes, as often as it is asked.
SERVER = """
import socket, sys
with socket.create_server(("", int(sys.argv[1])), reuse_port=True) as listener:
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(bytes(int(sys.argv[2])))
"""

# Says how long the handshake with a host of this name took, and how many bytes came: in one write, since the
# programs of the other hosts write to the same pipe.
CLIENT = """
import json, os, socket, sys, time
begin = time.monotonic()
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as connection:
    took, count = time.monotonic() - begin, 0
    while data := connection.recv(1 << 16):
        count += len(data)
told = {"at": os.environ["REXMIT_HOST"], "to": sys.argv[1], "connect": took, "bytes": count}
os.write(1, json.dumps(told).encode() + b"\\n")
"""


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """The file of a dumbbell of three hosts, with programs for them beside it."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    path = tmp_path / "net.toml"
    path.write_text(NETWORK)
    return path


def test_all_hosts_reach_each_other_by_their_names(rexmit: Command, network: Path) -> None:
    server, client = f"{sys.executable} server.py 8000 1000", f"{sys.executable} client.py"
    pairs = {("near", "far"): 0.05, ("near", "sink"): 0.03, ("far", "sink"): 0.06}
    hosts = ("near", "far", "sink")
    options = [word for host in hosts for word in ("--server-at", host, server)]
    each = " && ".join
    for at in hosts:
        calls = each(f"{client} {to} 8000" for to in hosts if to != at)
        options += ["--at", at, f"sh -c '{calls}'"]
    done = rexmit("emulate", network, *options)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 6
    for one in told:
        there = (one["at"], one["to"])
        delay = pairs.get(there) or pairs[there[::-1]]
        assert one["bytes"] == 1000
        assert delay <= one["connect"] < delay + 0.1, there
    for name in ("middle/left-right", "middle/right-left", "near/up", "far/down"):
        assert f"rexmit: {name}: " in done.stderr
    assert "sink/up" not in done.stderr, "the file says nothing of that link"
    assert "p99" in done.stderr


def test_a_pattern_drops_a_packet_of_one_link_and_captures_are_at_hosts(
    rexmit: Command, network: Path, tmp_path: Path
) -> None:
    table, traces = tmp_path / "verdicts.parquet", tmp_path / "traces"
    done = rexmit(
        "emulate",
        network,
        *("--set", "links.middle.from.right.drop=18", "--verdicts", table, "--capture", traces, "--json"),
        *("--server-at", "sink", f"{sys.executable} server.py 8000 100000"),
        *("--host", "near", "--", sys.executable, "client.py", "sink", 8000),
    )
    assert done.returncode == 0, done.stderr
    links = json.loads(done.stdout)["summary"]["links"]
    dropped = {name: link["dropped_by_pattern"] for name, link in links.items()}
    assert dropped == dict.fromkeys(links, 0) | {"middle/right-left": 1}
    verdicts = pl.read_parquet(table).filter(pl.col("dropped"))
    assert verdicts.select("direction", "position").rows() == [("middle/right-left", 18)]
    sizes = {path.stem: path.stat().st_size for path in traces.iterdir()}
    assert set(sizes) == {"near", "far", "sink"}
    assert sizes["near"] > 100_000 < sizes["sink"]
    assert sizes["far"] < 1000, "no packet of others comes there"


def test_hosts_know_names_addresses_and_themselves(rexmit: Command, network: Path) -> None:
    look = "echo $REXMIT_HOST $REXMIT_HOST_SINK $REXMIT_NETWORK $PPID; getent hosts far localhost"
    before = Path("/etc/hosts").read_text()
    done = rexmit("emulate", "-q", network, "--host", "near", "--", "sh", "-c", look)
    assert done.returncode == 0, done.stderr
    about, far, local = done.stdout.splitlines()
    assert about == "near 10.1.0.3 net 1"
    assert far.split() == ["10.1.0.1", "far"]
    assert "localhost" in local
    assert Path("/etc/hosts").read_text() == before


def test_a_study_has_groups_transfers_and_levels(rexmit: Command, tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(STUDY)
    done = rexmit("emulate", path, "--", "true")
    assert (done.returncode, "varies links.middle.aqm" in done.stderr) == (2, True), done.stderr
    level = ("--set", "links.middle.aqm=codel")
    done = rexmit("emulate", path, *level, "--at", "reader", "sh -c 'echo $REXMIT_HOST'")
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split()) == ["reader-1", "reader-2"]
    assert "left out of" in done.stderr
    assert "transfers" in done.stderr
    done = rexmit("emulate", path, *level, "--set", "links.middle.from.right.drop=9", "--", "true")
    assert "links.middle.from.right.drop: position 9 was never reached" in done.stderr
    done = rexmit("emulate", path, *level, "--host", "reader", "--", "true")
    assert "stands for 2 hosts; name one, as reader-1" in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--at", "sink", "true"], 0, ""),
        (["--at", "near", "sh -c 'exit 3'", "--at", "far", "sleep 1"], 3, "the command at near has ended"),
        (["--at", "far", "no-such"], 127, "--at far: no-such: command not found"),
        (["--server-at", "sink", "no-such", "--", "true"], 1, "--server-at sink: no-such: command not found"),
        (["--server-at", "sink", "sh -c 'exit 3'", "--", "true"], 1, "the server command at sink ended with"),
        (["--duration", "300ms", "--at", "far", "sleep 60"], 124, "the commands were ended after 300 ms"),
        (["--", "sh", "-c", "kill -9 $$"], 137, ""),
    ],
)
def test_exit_codes_say_what_became_of_commands(
    rexmit: Command, network: Path, options: list[str], code: int, text: str
) -> None:
    with nothing_left():
        done = rexmit("emulate", "-q", network, *options)
    assert (done.returncode, text in done.stderr) == (code, True), done.stderr


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--host", "sinc"], "--host sinc: no such host; did you mean 'sink'?"),
        (["--at", "nobody", "true"], "--at nobody: no such host; known: far, near, sink"),
        (["--at", "sink", ""], "--at sink: is empty"),
        (["--rate", "1Mbit/s"], "write --set links.middle.rate=VALUE"),
        (["--down.loss", "1 %"], "write --set links.middle.from.left.loss=VALUE"),
        (["--server", "true"], "a network has --server-at HOST COMMAND"),
        (["--address", "10.0.0.2"], "a network has --set hosts.HOST.address"),
        (["--set", "links.midle.rate=1 Mbit/s"], "there is no link 'midle'; did you mean 'middle'?"),
        (["--set", "links.middle.rte=1 Mbit/s"], "did you mean `rate`?"),
        (["--set", "links.middle.emulator=netem"], "links.middle.emulator: a network has rexmit's own"),
        (["--set", "hosts.sink.program=true"], "give --at sink COMMAND or --server-at sink COMMAND"),
        (["--set", "hosts.sink.count=999"], "1001 hosts: at most 250"),
        (["--set", "hosts.NEAR.at=left"], "would both have the variable REXMIT_HOST_NEAR"),
        (["--set", "hosts.near.address=10.1.0.3"], "10.1.0.3 is the address of near as well"),
        (["--set", "hosts.near.at=lft"], 'no link leads to the point "lft"'),
    ],
)
def test_a_mistake_is_one_line(rexmit: Command, network: Path, options: list[str], text: str) -> None:
    done = rexmit("emulate", network, *options, "--", "true")
    assert (done.returncode, text in done.stderr) == (2, True), done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_options_of_hosts_need_a_network(rexmit: Command) -> None:
    for options in (["--at", "sink", "true"], ["--host", "sink"], ["--server-at", "sink", "true"]):
        done = rexmit("emulate", "--delay", "1ms", *options, "--", "true")
        assert (done.returncode, "names a host of a network" in done.stderr) == (2, True), done.stderr


def test_a_host_is_entered_from_another_terminal(rexmit: Command, network: Path) -> None:
    with nothing_left(), running(network):
        look = "echo $REXMIT_HOST $REXMIT_HOST_NEAR; getent hosts near"
        done = rexmit("emulate", network, "--enter", "far", "--", "sh", "-c", look)
        assert done.stdout.split() == ["far", "10.1.0.2", "10.1.0.2", "near"], done.stderr
        assert rexmit("emulate", network, "--enter", "far", "--", "sh", "-c", "exit 7").returncode == 7
        done = rexmit("emulate", network, "--enter", "fra", "--", "true")
        assert (done.returncode, "did you mean 'far'?" in done.stderr) == (2, True), done.stderr
        forever = [*REXMIT, str(network), "--enter", "sink", "--", "sleep", "1000"]
        entered = subprocess.Popen(forever, stderr=subprocess.DEVNULL)
        while "sleep\0001000\0" not in commands():
            assert entered.poll() is None
            time.sleep(0.05)
    # What was entered ends with it.
    assert entered.wait(timeout=20) != 0
    done = rexmit("emulate", network, "--enter", "far", "--", "true")
    assert (done.returncode, "no emulation of" in done.stderr) == (2, True), done.stderr


def test_ctrl_c_ends_commands_that_have_no_terminal(network: Path) -> None:
    with nothing_left(), running(network) as emulation:
        emulation.send_signal(signal.SIGINT)
        emulation.communicate(timeout=20)
        assert emulation.returncode == 130


@pytest.mark.parametrize("part", ["parent", "emulator", "keeper", "all"])
def test_a_kill_leaves_nothing(network: Path, part: str) -> None:
    with nothing_left(), running(network) as emulation:
        (emulator,) = children(emulation.pid)
        keepers = children(emulator)
        doomed = {"parent": [emulation.pid], "emulator": [emulator], "keeper": keepers[-1:]}
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in doomed.get(part, [emulation.pid, emulator, *keepers]):
                os.kill(pid, number)
        emulation.communicate(timeout=20)


@contextmanager
def running(network: Path) -> Iterator[subprocess.Popen[str]]:
    """An emulation with a daemon at one host and a command at another, once all of it runs."""
    mark = f"{time.time_ns() % 10**9 + 10**6}"
    server = f"sh -c 'env -i setsid sleep {mark}1 & exec sleep {mark}2'"
    ends = ["--server-ready", "0ms", "--server-at", "sink", server, "--at", "near", f"sleep {mark}3"]
    with emulating(mark, 3, str(network), *ends) as emulation:
        yield emulation
