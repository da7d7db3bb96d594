from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from rexmit.kernel import KernelError, find_kernel

from .packets import LOST_SEGMENT, capture

# A shared or slow machine is no reason to fail.
settings.register_profile("rexmit", deadline=None)
settings.load_profile("rexmit")

# A shell that starts these tests in the background has SIGINT ignored: by them, and by what they start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SMALL = """
title = "A small study"

[scenario]
hosts.server.stack = "freebsd-6.0"
hosts.client.stack = "freebsd-6.0"
path.rate = "1 Mbit/s"
path.delay = "10 ms"
path.queue = "99 packets"

[[scenario.transfers]]
from = "server"
to = "client"
writes = "5000 bytes, 8 x 2500 bytes"

[vary]
"path.delay" = ["5 ms", "20 ms"]
"path.down.drop" = { position = "0..3" }

[design]
replications = 2
seed = 7
"""

Command = Callable[..., subprocess.CompletedProcess[str]]
WriteCapture = Callable[[str], Path]


@pytest.fixture
def write_capture(tmp_path: Path) -> WriteCapture:
    """Writes the packets of a script to a capture and returns its path."""

    def write(script: str) -> Path:
        path = tmp_path / "server.pcapng"
        path.write_bytes(capture(script))
        return path

    return write


@pytest.fixture
def lost_segment(write_capture: WriteCapture) -> Path:
    """The capture of `LOST_SEGMENT`."""
    return write_capture(LOST_SEGMENT)


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def rexmit(tmp_path: Path) -> Command:
    """Runs the command as a user would, in a process of its own and an empty folder."""

    def run(*arguments: object, cwd: str | Path | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=cwd or tmp_path,
            env={**os.environ, "MPLBACKEND": "agg"},
            timeout=300,
            check=False,
        )

    return run


def edited(path: Path, old: str, new: str) -> Path:
    """The study with one text replaced."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def commands() -> str:
    """The words of every command that runs, a NUL behind each, one line per process."""
    return "\n".join(running().values())


def running() -> dict[int, str]:
    """The words of every command that runs, a NUL behind each, by the number of its process."""
    found = {}
    for process in processes():
        try:
            found[int(process.name)] = (process / "cmdline").read_text()
        except (OSError, UnicodeDecodeError):
            continue
    return found


def processes() -> Iterator[Path]:
    return (entry for entry in Path("/proc").iterdir() if entry.name.isdecimal())


SERVER = """
import socket, sys
listener = socket.create_server(("", int(sys.argv[1])))
while True:
    connection, _ = listener.accept()
    connection.recv(1)
    connection.sendall(bytes(int(sys.argv[2])))
    connection.close()
"""

CLIENT = """
import json, os, socket, sys, time
begin = time.monotonic()
connection = socket.create_connection((os.environ["REXMIT_SERVER"], int(sys.argv[1])), timeout=60)
connected = time.monotonic()
connection.sendall(b"x")
got, times = 0, []
while data := connection.recv(1 << 16):
    got += len(data)
    times.append((time.monotonic(), got))
print(json.dumps({"connect": connected - begin, "bytes": got, "times": times}))
"""


@pytest.fixture
def programs(tmp_path: Path) -> tuple[str, list[str]]:
    """A server's command, to which its port and its answer's length are added, and a client's."""
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "client.py").write_text(CLIENT)
    return f"{sys.executable} {tmp_path}/server.py", [sys.executable, f"{tmp_path}/client.py"]


@pytest.fixture(scope="module")
def guest() -> None:
    """Skips where no kernel has been built."""
    try:
        find_kernel()
    except KernelError as error:
        pytest.skip(str(error))


@pytest.fixture
def namespaces() -> None:
    """Skips where this machine's kernel makes no namespaces for us."""
    if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode != 0:
        pytest.skip("this user may not make network namespaces")
