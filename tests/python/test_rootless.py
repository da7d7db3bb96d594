"""`rexmit emulate` without root, and what carries its packets: TUN devices, or veth pairs in their place.

As root, which becomes nobody; /dev/net/tun is as each test wants it, in a mount namespace of its own.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from .conftest import CLIENT, SERVER

pytestmark = [
    pytest.mark.real_time,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become nobody"),
]

REXMIT = [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()"]
PYTHON = "/usr/bin/python3"
"""An interpreter that everybody may run: that of the tests may lie where others may not look."""

_READ = "-all,+dac_override,+dac_read_search"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
# The interpreter may lie where others may not look.
NOBODY += [f"--inh-caps={_READ}", f"--ambient-caps={_READ}"]

DEVICES = {
    "open": "mknod -m 666 /dev/net/tun c 10 200",
    "closed": "mknod -m 600 /dev/net/tun c 10 200",
    "absent": "true",
}
"""How /dev/net/tun is: as udev makes it, as a kernel without udev does, as a container has it."""


def machine(device: str, *more: str) -> list[str]:
    """The prefix of a command that sees such a /dev/net/tun, after `more` lines of a shell."""
    lines = " && ".join(["mount -t tmpfs -o mode=755 tmpfs /dev/net", DEVICES[device], *more, 'exec "$@"'])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", lines, "sh"]


def run(*command: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


def exchange(length: int) -> list[str]:
    """Options and a command that downloads so many bytes."""
    return [
        "--server",
        shlex.join([PYTHON, "-c", SERVER, "8000", str(length)]),
        "--",
        PYTHON,
        "-c",
        CLIENT,
        "8000",
    ]


@pytest.mark.parametrize("device", DEVICES)
def test_nobody_has_a_path_between_two_commands(device: str) -> None:
    here = machine(device)
    carrier, words = ("tun", "TUN devices") if device == "open" else ("veth", "veth pairs (/dev/net/tun: ")
    done = run(*here, *NOBODY, *REXMIT, "emulate", "--delay", "5ms", "--json", *exchange(4000))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr.splitlines()[-1])["bytes"] == 4000
    told = json.loads(done.stdout)
    assert (told["device"], told["summary"]["missed"]) == (carrier, 0)
    checks = json.loads(run(*here, *NOBODY, *REXMIT, "doctor", "--json").stdout)["checks"]
    check = next(check for check in checks if check["name"] == "namespaces")
    assert check["found"]
    assert "in user namespaces, between two programs (--server), through " + words in check["detail"]


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may read."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o755)
        yield Path(place)


@pytest.mark.parametrize("device", ["open", "absent"])
def test_nobody_has_a_network(device: str, open_folder: Path) -> None:
    network = open_folder / "net.toml"
    network.write_text(
        '[hosts]\na = { at = "l" }\nb = { at = "r" }\n[links.m]\nbetween = ["l", "r"]\ndelay = "5 ms"\n'
    )
    server = shlex.join([PYTHON, "-c", SERVER, "8000", "4000"])
    client = ["env", "REXMIT_SERVER=b", PYTHON, "-c", CLIENT, "8000"]
    here = [*machine(device), *NOBODY, *REXMIT, "emulate", network, "--json"]
    done = run(*here, "--server-at", "b", server, "--", *client)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stderr.splitlines()[-1])["bytes"] == 4000
    told = json.loads(done.stdout)
    assert (told["device"], told["summary"]["missed"]) == ("tun" if device == "open" else "veth", 0)
    assert told["summary"]["links"]["m/r-l"]["packets"] > 3
    assert run(*here, "--", "id", "-u").stderr.splitlines()[-1] == "65534"


def test_the_command_is_who_called_it() -> None:
    emulate = [*machine("closed"), *NOBODY, *REXMIT, "emulate"]
    done = run(*emulate, "-q", "--server", "sleep 60", "--server-ready", "0ms", "--", "id", "-u")
    assert done.stdout == "65534\n", done.stderr
    done = run(*emulate, "--", "true")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "without root the other end cannot be this host" in done.stderr


@pytest.mark.parametrize("address", ["100.64.0.2", "fd00::2"])
def test_both_kinds_of_devices_carry_the_same_packets(tmp_path: Path, address: str) -> None:
    six = '("::", int(sys.argv[1])), family=socket.AF_INET6)'
    server = SERVER.replace('("", int(sys.argv[1])))', six) if ":" in address else SERVER
    found = []
    for device in ("open", "absent"):
        out = tmp_path / device
        options = ["--delay", "20ms", "--down.drop", "3", "--address", address, "--mtu", "1400", "--json"]
        files = ["--capture", out, "--verdicts", tmp_path / f"{device}.parquet"]
        ends = ["--server", shlex.join([PYTHON, "-c", server, "8000", "4000"])]
        command = ["--", PYTHON, "-c", CLIENT, "8000"]
        done = run(*machine(device), *REXMIT, "emulate", *options, *files, *ends, *command)
        assert done.returncode == 0, done.stderr
        table = pl.read_parquet(tmp_path / f"{device}.parquet").filter(pl.col("dropped"))
        assert table.select("direction", "position").rows() == [("down", 3)]
        told = json.loads(run(*REXMIT, "analyze", out / "server.pcapng", "--json").stdout)
        # Whole checksums, nothing that the stack says by itself, the same packets but for their times.
        (connection,) = told["connections"]
        ends = [connection[end] for end in ("client", "server")]
        assert (told["tcp_packets"], [end["damaged"] for end in ends]) == (told["packets"], [0, 0])
        found.append([(end["address"].rpartition(":")[0], end["mss"], end["unique_bytes"]) for end in ends])
    assert found[0] == found[1]
    assert found[0][1][2] == 4000


STUDY = """
[scenario]
hosts.server.stack = "linux-6.1"
hosts.client.stack = "linux-6.1"
path.delay = "5 ms"
path.down.drop = 4

[[scenario.transfers]]
from = "server"
to = "client"
writes = "20000 bytes"
"""


@pytest.mark.parametrize("device", DEVICES)
def test_nobody_runs_studies_on_this_kernel(tmp_path: Path, device: str) -> None:
    study, out = tmp_path / "lab.toml", tmp_path / "out"
    study.write_text(STUDY)
    done = run(*machine(device), *NOBODY, *REXMIT, "run", study, "--backend", "kernel", "--out", out)
    assert done.returncode == 0, done.stderr
    row = pl.read_parquet(out / "runs.parquet").row(0, named=True)
    assert (row["completed"], row["bytes"]) == (True, 20_000)
    assert row["drops_down"] == 1


def test_where_proc_cannot_be_mounted_programs_see_that_of_the_machine() -> None:
    # As containers hide parts of it: then nobody but root may mount another one.
    here = machine("closed", "mount --bind /dev/null /proc/timer_list")
    done = run(
        *here,
        *NOBODY,
        *REXMIT,
        "emulate",
        "-q",
        "--server",
        "sleep 60",
        "--server-ready",
        "0ms",
        "--",
        "true",
    )
    assert done.returncode == 0, done.stderr
    assert "true: /proc shows it the processes of the machine" in done.stderr
    assert (
        "programs see the machine's processes in /proc"
        in run(*here, *NOBODY, *REXMIT, "doctor", "--json").stdout
    )


def test_where_user_namespaces_are_forbidden_one_line_says_what_to_set() -> None:
    # A user namespace that allows no more of them, where we still are nobody.
    inner = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"'
    outer = [
        *machine("closed"),
        "unshare",
        "--user",
        "sh",
        "-c",
        'read _; exec "$@"',
        "sh",
        "sh",
        "-c",
        inner,
        "sh",
    ]
    line = (
        "not root, and user namespaces are not allowed (set user.max_user_namespaces=10000): run it as root"
    )
    emulate = ["emulate", "--server", "sleep 60", "--", "true"]
    for command, text in ((emulate, f"rexmit: error: {line}\n"), (["doctor", "--json"], "")):
        with subprocess.Popen(
            [*outer, *NOBODY, *REXMIT, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            home = os.readlink("/proc/self/ns/user")
            until = time.monotonic() + 30
            while os.readlink(f"/proc/{process.pid}/ns/user") == home:
                assert time.monotonic() < until, "it does not start"
                time.sleep(0.01)
            for name in ("uid_map", "gid_map"):
                Path(f"/proc/{process.pid}/{name}").write_text("0 0 65536")
            output, errors = process.communicate("\n", timeout=60)
        assert errors == text
        if command == emulate:
            assert process.returncode == 1
        else:
            check = next(c for c in json.loads(output)["checks"] if c["name"] == "namespaces")
            assert (check["found"], check["detail"]) == (False, line)
