"""`rexmit emulate --virtual`: programs behind the path in a guest, whose clock stands while code runs."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rexmit.files import put
from rexmit.kernel import find_kernel, init_words
from rexmit.places import temporary_folder
from rexmit.run import guests as reached
from rexmit.run.guests import Reach, guest_environment, of_this_system, shut_in

from .conftest import Command

PYTHON = [sys.executable, "-IS"]
"""Without what a user's Python reads at its start: a guest reads files slowly."""

IDLE = ["--server", "sleep 1000", "--server-ready", "0ms"]
"""A server that does nothing."""

SPIN = "while True: pass"

SCTP_SERVER = """
import socket, sys
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
listener.bind(("", 5000))
listener.listen()
connection, _ = listener.accept()
print(sum(len(data) for data in iter(lambda: connection.recv(65536), b"")), file=sys.stderr, flush=True)
"""

SCTP_CLIENT = """
import os, socket, time
connection = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132)
connection.connect((os.environ["REXMIT_SERVER"], 5000))
for _ in range(100):
    connection.send(bytes(1000))
connection.close()
time.sleep(10)
"""

REXMIT = [sys.executable, "-c", "import rexmit.cli; rexmit.cli.main()", "emulate", "--virtual"]


@pytest.mark.usefixtures("guest")
class TestGuest:
    """With a kernel."""

    def test_a_transfer_takes_the_time_that_the_path_says_and_the_same_every_time(
        self, rexmit: Command, programs: tuple[str, list[str]], tmp_path: Path
    ) -> None:
        server, client = (words[1:] for words in (shlex.split(programs[0]), programs[1]))
        seen = []
        for n in range(2):
            path = ["--rate", "8Mbit/s", "--delay", "50ms", "--down.drop", "18", "--capture", f"traces-{n}"]
            serve = shlex.join([*PYTHON, *server, "8000", "200000"])
            done = rexmit("emulate", "--virtual", *path, "--server", serve, "--", *PYTHON, *client, 8000)
            assert done.returncode == 0, done.stderr
            told = json.loads(done.stdout)
            # A SYN has 60 bytes: 60 us there, as much back, and two delays.
            assert told["connect"] == pytest.approx(0.10012, abs=1e-6)
            assert told["bytes"] == 200_000
            assert "dropped 1 by pattern" in done.stderr
            assert "late by 0.000 ms (p50), 0.000 ms (p99), 0.000 ms (max)" in done.stderr
            captures = [
                (tmp_path / f"traces-{n}" / f"{host}.pcapng").read_bytes() for host in ("server", "client")
            ]
            seen.append((told, captures))
        assert seen[0] == seen[1]

    def test_hosts_of_a_network_are_punctual_and_the_same_every_time(
        self, rexmit: Command, programs: tuple[str, list[str]], tmp_path: Path
    ) -> None:
        (tmp_path / "net.toml").write_text(
            '[hosts]\nnear = { at = "l" }\nfar = { at = "l", access.delay = "30 ms" }\nsink = { at = "r" }\n'
            '[links.m]\nbetween = ["l", "r"]\ndelay = "10 ms"\nrate = "8 Mbit/s"\nfrom.r.drop = "18"\n'
        )
        server, client = (words[1:] for words in (shlex.split(programs[0]), programs[1]))
        serve = shlex.join([*PYTHON, *server, "8000", "100000"])
        ask = shlex.join(["env", "REXMIT_SERVER=sink", *PYTHON, *client, "8000"])
        options = ["--server-at", "sink", serve, "--at", "far", ask, "--at", "near", ask, "--json"]
        seen = []
        for n in range(2):
            done = rexmit("emulate", "--virtual", "net.toml", *options, "--capture", f"traces-{n}")
            assert done.returncode == 0, done.stderr
            links = json.loads(done.stdout)["summary"]["links"]
            assert links["m/r-l"]["dropped_by_pattern"] == 1
            told = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
            assert [one["bytes"] for one in told] == [100_000, 100_000]
            # Two ways, and 60 bytes at 8 Mbit/s on each, where no other packet is before them.
            assert min(one["connect"] for one in told) == pytest.approx(0.02012, abs=1e-6)
            captures = [path.read_bytes() for path in sorted((tmp_path / f"traces-{n}").iterdir())]
            assert len(captures) == 3
            seen.append((told, captures))
        assert seen[0] == seen[1]
        done = rexmit("emulate", "--virtual", "net.toml")
        assert (done.returncode, "give COMMAND, or --at HOST" in done.stderr) == (2, True), done.stderr

    def test_the_guest_has_sctp_whatever_this_machine_has(self, rexmit: Command, tmp_path: Path) -> None:
        (tmp_path / "server.py").write_text(SCTP_SERVER)
        (tmp_path / "client.py").write_text(SCTP_CLIENT)
        path = ["--rate", "1Mbit/s", "--delay", "50ms", "--up.drop", "20", "--capture", "traces"]
        ends = ["--server", shlex.join([*PYTHON, "server.py"]), "--server-ready", "100ms", "--"]
        done = rexmit("emulate", "--virtual", "-q", *path, *ends, *PYTHON, "client.py")
        assert (done.returncode, done.stderr) == (0, "100000\n")
        found = json.loads(rexmit("analyze", "traces/client.pcapng", "--json").stdout)
        assert found["causes"]["sctp"] == {"fast": 1}

    def test_what_programs_draw_at_random_is_the_same_every_time(self, rexmit: Command) -> None:
        draw = (
            "import os, ssl, uuid; print(os.urandom(9), ssl.RAND_bytes(9), uuid.uuid4(), hash('x'), id(ssl))"
        )
        line = [*PYTHON, "-c", draw]
        done = [rexmit("emulate", "--virtual", "-q", *IDLE, "--", *line) for _ in range(2)]
        assert [one.returncode for one in done] == [0, 0], done[0].stderr
        assert done[0].stdout == done[1].stdout != ""
        other = rexmit("emulate", "--virtual", "-q", *IDLE, "--seed", "2", "--", *line)
        assert other.stdout != done[0].stdout

    def test_sleeping_takes_no_time_and_what_is_printed_stays_apart(
        self, rexmit: Command, tmp_path: Path
    ) -> None:
        began = time.monotonic()
        line = "printf out; printf err >&2; printf '\\0\\n'; pwd > where; sleep 100000; date +%s; exit 7"
        options = ["--date", "2026-07-01", "--writable", "."]
        done = rexmit("emulate", "--virtual", "-q", *IDLE, *options, "--", "sh", "-c", line)
        assert time.monotonic() - began < 60
        assert done.returncode == 7
        assert done.stdout == f"out\0\n{1_782_864_000 + 100_000}\n"
        assert done.stderr == "err"
        assert (tmp_path / "where").read_text().strip() == str(tmp_path)

    def test_a_guest_writes_to_named_folders_and_nowhere_else(
        self, rexmit: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("named", "other"):
            (tmp_path / name).mkdir()
        (tmp_path / "other" / "kept").write_text("kept")
        package = shlex.quote(str(Path(reached.__file__).parent))
        # What works, perhaps: of folders below /tmp the guest changes a copy of its own.
        free = [
            "echo named > named/file",
            "touch $TMPDIR/file",
            "echo tmp > /tmp/rexmit-guest",
            "mount -o remount,rw /",
        ]
        free += ["echo x > other/kept", "chmod 777 other/kept", "ln other/kept other/link", "rm other/kept"]
        forbidden = [
            *("mknod named/device b 8 0", "mknod /etc/device b 8 0", "mknod /tmp/device b 8 0"),
            *("touch /etc/rexmit-guest", f"touch {package}/rexmit-guest", f"rm {package}/guests.py"),
            "mkdir /run/root && mount -t hostfs none /run/root && touch /run/root/etc/rexmit-guest",
            "umount -l /proc; cat /proc/version",
            "while umount -l /dev; do true; done; ls /dev/kmsg /dev/sda || ls /dev/vda",
        ]
        line = "; ".join(f"( {one} ) > /dev/null 2> /dev/null; echo $?" for one in [*free, *forbidden])
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        done = rexmit("emulate", "--virtual", "-q", *IDLE, "--writable", "named", "--", "sh", "-c", line)
        assert done.returncode == 0, done.stderr
        codes = dict(zip([*free, *forbidden], done.stdout.split(), strict=True))
        assert codes[free[0]] == codes["touch $TMPDIR/file"] == "0"
        assert [one for one in forbidden if codes[one] == "0"] == []
        assert (tmp_path / "named" / "file").read_text() == "named\n"
        assert sorted(path.name for path in (tmp_path / "named").iterdir()) == ["file"]
        assert (tmp_path / "other" / "kept").read_text() == "kept"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["named", "other"]
        assert [path.name for path in (tmp_path / "other").iterdir()] == ["kept"]
        assert not list(Path("/etc").glob("rexmit-guest*"))
        assert not Path("/tmp/rexmit-guest").exists()

    def test_the_guest_of_a_study_sees_nothing_of_its_user(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("secret")
        told = tmp_path / "captures"
        told.mkdir()
        look = (
            f"cd {told}; ls / > root; ls {tmp_path} > beside; ls /etc > etc; cat {tmp_path}/secret > secret"
        )
        with temporary_folder() as folder:
            reach = Reach((told,), of_this_system([]))
            init = folder / "init"
            put(init, f"#!/bin/sh\n{look}\n", mode=0o755)
            command = shut_in(find_kernel(), init_words(init), folder, reach, start=0)
            # A guest whose first process ends is over.
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(command, **quiet, env=guest_environment(folder), timeout=60)
        seen = {path.name: path.read_text().split() for path in told.iterdir()}
        assert seen.keys() == {"root", "beside", "etc", "secret"}
        assert seen["beside"] == ["captures"]
        assert seen["secret"] == []
        assert set(seen["etc"]) <= {"ld.so.cache"}
        assert not {"boot", "media", "srv"} & set(seen["root"]), "nothing that nobody has named"

    def test_who_stops_the_clock_is_named(self, rexmit: Command) -> None:
        done = rexmit("emulate", "--virtual", *IDLE, "--patience", "3 s", "--", *PYTHON, "-c", SPIN)
        assert done.returncode == 1
        assert "has stood still for 3 s: python" in done.stderr
        assert done.stderr.count("\n") == 1

    def test_a_command_that_is_not_there(self, rexmit: Command) -> None:
        done = rexmit("emulate", "--virtual", *IDLE, "--", "no-such-program")
        assert (done.returncode, done.stderr) == (127, "rexmit: error: no-such-program: command not found\n")

    def test_a_guest_that_is_rebooted_ends_there(self, rexmit: Command) -> None:
        done = rexmit(
            "emulate", "--virtual", *IDLE, "--", "sh", "-c", "echo b > /proc/sysrq-trigger; sleep 1"
        )
        assert done.returncode == 1
        assert done.stderr == "rexmit: error: a program has rebooted the guest: the emulation ended there\n"

    def test_a_guest_that_crashes_says_why(self, rexmit: Command) -> None:
        done = rexmit("emulate", "--virtual", *IDLE, "--", "sh", "-c", "echo c > /proc/sysrq-trigger")
        assert done.returncode == 1
        assert done.stderr.endswith("Kernel panic - not syncing: sysrq triggered crash\n")

    def test_a_blank_in_the_path_of_temporary_files(
        self, rexmit: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "a blank").mkdir()
        monkeypatch.setenv("TMPDIR", str(tmp_path / "a blank"))
        done = rexmit("emulate", "--virtual", "-q", *IDLE, "--", "echo", "here")
        assert (done.returncode, done.stdout, done.stderr) == (0, "here\n", "")

    def test_no_program_of_a_killed_guest_goes_on_outside(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        seen = tmp_path / "seen"
        loop = f"for i in 1 2 3 4; do (while true; do sleep 0.01; uname -r >> {seen}; done) & done; wait"
        own = ["--writable", str(tmp_path)]
        with subprocess.Popen([*REXMIT, *IDLE, *own, "--", "sh", "-c", loop]) as emulation:
            wait_until(seen.exists)
            time.sleep(1)
            emulation.kill()
        wait_until(lambda: not guests(tmp_path))
        size = seen.stat().st_size
        time.sleep(0.5)
        assert seen.stat().st_size == size
        # The guest may not have written anything out yet.
        assert len(set(seen.read_text().splitlines())) <= 1, "only the guest's kernel has answered"

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_nothing_is_left_whatever_ends_it(
        self, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TMPDIR", str(tmp_path))
        line = [*REXMIT, *IDLE, "--", *PYTHON, "-c", SPIN]
        with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as emulation:
            wait_until(lambda: bool(guests(tmp_path)))
            emulation.send_signal(number)
            _, errors = emulation.communicate(timeout=30)
        wait_until(lambda: not guests(tmp_path))
        if number != signal.SIGKILL:
            assert emulation.returncode == 128 + number
            assert errors == "rexmit: error: the emulation was stopped\n"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--virtual", "--", "true"], "give --server COMMAND"),
        (["--virtual", "--server", "sleep 9"], "give COMMAND"),
        (["--virtual", "--between", "a", "b"], "--between"),
        (["--virtual", "--mode", "busy", *IDLE, "--", "true"], "--mode"),
        (["--virtual", "--date", "soon", *IDLE, "--", "true"], "2026-07-01"),
        (["--virtual", "--date", "1969-01-01", *IDLE, "--", "true"], "1970"),
        (["--virtual", "--patience", "3", *IDLE, "--", "true"], "--patience"),
        (["--patience", "3 s", *IDLE, "--", "true"], "--virtual"),
        (["--writable", ".", *IDLE, "--", "true"], "--virtual"),
        (["--kernel", "6.12", *IDLE, "--", "true"], "--virtual"),
        (["--virtual", "--writable", "nowhere", *IDLE, "--", "true"], "there is no such folder"),
    ],
)
def test_a_mistake_is_one_line(rexmit: Command, options: list[str], text: str) -> None:
    done = rexmit("emulate", *options)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert text in done.stderr


def test_a_kernel_that_was_not_built_is_one_line(rexmit: Command) -> None:
    done = rexmit("emulate", "--virtual", "--kernel", "5.4", *IDLE, "--", "true")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "only Linux 6.x can have one" in done.stderr


def test_without_a_kernel_one_line_says_what_to_do(
    rexmit: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("REXMIT_CACHE", str(tmp_path / "none"))
    done = rexmit("emulate", "--virtual", *IDLE, "--", "true")
    assert done.returncode != 0
    assert "rexmit kernel build" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_machine_that_cannot_shut_a_guest_in_is_told_of(
    guest: None, rexmit: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert reached.open_because() is None
    # A program of this name that does as a kernel without user namespaces.
    script = "import sys, rexmit.run.guests as g; g.open_because = lambda: 'no namespaces'; "
    script += "import rexmit.run.emulation as e; e.open_because = g.open_because; "
    script += "import rexmit.cli; rexmit.cli.main(sys.argv[1:])"
    line = [sys.executable, "-c", script, "emulate", "--virtual", *IDLE, "-q", "--", "echo", "here"]
    done = subprocess.run(line, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "here\n")
    assert done.stderr.count("\n") == 1
    assert "the guest cannot be confined on this machine (no namespaces)" in done.stderr


def guests(place: Path) -> set[str]:
    """Processes of guests' kernels whose temporary folders are in `place`: others may run guests as well."""
    found = set()
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes() if process.name.isdecimal() else b""
        except OSError:
            continue
        if b"time-travel=" in words and os.fsencode(place) in words:
            found.add(process.name)
    return found


def wait_until(what: object) -> None:
    assert callable(what)
    until = time.monotonic() + 30
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)
