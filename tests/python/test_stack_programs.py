"""Stacks that are programs: the exchange with them, and what becomes of those that do not keep to it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from rexmit.run.backends import BackendOptions, open_backend
from rexmit.run.stack_programs import names_programs, programs_in

from .conftest import Command

EXAMPLES = Path(__file__).parents[2] / "examples/stacks"
STOP_AND_WAIT = f"{sys.executable} {EXAMPLES}/stop_and_wait.py"

Write = Callable[[str], str]
"""Writes a program in Python; its command."""


@pytest.fixture
def program(tmp_path: Path) -> Write:
    def write(text: str) -> str:
        path = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
        path.write_text(f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\n{text}")
        return f"{sys.executable} {path}"

    return write


def study(server: Any, client: Any = "rfc", **settings: Any) -> rexmit.Study:
    """Data both ways over a path that loses some; `server` and `client` are stacks."""
    scenario = {
        "hosts": {"server": {"stack": server}, "client": {"stack": client}},
        "path": {"rate": "10 Mbit/s", "delay": "10 ms"},
        "transfers": [
            {"from": "server", "to": "client", "writes": "30 x 1000 bytes"},
            {"from": "client", "to": "server", "writes": "10 x 1000 bytes"},
        ],
    }
    return rexmit.Study.from_dict({"title": "a program", "scenario": scenario, **settings})


def of(command: str, **more: Any) -> dict[str, Any]:
    return {"program": command, **more}


def test_a_program_speaks_with_the_model_both_ways_through_loss() -> None:
    for server, client in ((of(STOP_AND_WAIT), "rfc"), ("linux-6.1", of(STOP_AND_WAIT))):
        lossy = {"path.down.loss": ["10 %"], "path.up.loss": ["10 %"]}
        results = study(server, client, vary=lossy, design={"replications": 5}).run(progress=False)
        rows = results.table()
        assert rows["completed"].all(), rows["error"].to_list()
        assert rows["retransmits"].sum() > 0


def test_two_programs_speak_with_each_other_and_keep_their_packets() -> None:
    results = study(of(STOP_AND_WAIT), of(STOP_AND_WAIT)).run(progress=False)
    assert results.table()["completed"].all()
    trace = results.trace(0)
    assert trace["state"].filter(pl.col("state") == "ESTABLISHED").height > 0
    assert "transmissions" not in trace or trace["transmissions"].height == 0
    told = results.study["stack_programs"]
    assert [(one["host"], one["name"], one["version"]) for one in told] == [
        (host, "stop-and-wait", "1") for host in ("server", "client")
    ]


def test_a_file_of_a_profile_names_a_program_from_its_own_folder(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "stop_and_wait.py").write_text((EXAMPLES / "stop_and_wait.py").read_text())
    (folder / "run.sh").write_text(f"#!/bin/sh\nexec {sys.executable} stop_and_wait.py\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "mine.toml").write_text('program = "./run.sh"\n')
    (tmp_path / "study.toml").write_text(
        'title = "from a file"\n[scenario]\npath.delay = "10 ms"\n'
        'transfers = [{ from = "server", to = "client", writes = "3 x 1000 bytes" }]\n'
        '[scenario.hosts]\nserver.stack = "mine/mine.toml"\nclient.stack = "rfc"\n'
    )
    results = rexmit.Study.load(tmp_path / "study.toml").run(progress=False)
    assert results.table()["error"].to_list() == [None]


def test_settings_and_the_seed_reach_the_program(program: Write) -> None:
    text = """
from stop_and_wait import StopAndWait
from rexmit.stack import serve
class Told(StopAndWait):
    def begin(self):
        super().begin()
        say = self.run.settings
        told = (say['host'], say['mtu'], say['profile'], say['settings'], self.run.random.random())
        raise SystemExit(" ".join(map(str, told)))
serve(Told, name="told")
"""
    stack = of(
        program(text), inherits="freebsd-6.0", recovery={"dupack_threshold": 2}, settings={"window": 3}
    )
    study_of = study(stack, vary={"hosts.server.stack.settings.window": [3, 4]}, design={"replications": 2})
    errors = study_of.run(progress=False).table().sort("run")["error"].to_list()
    told = [error.partition("answering: ")[2] for error in errors]
    assert [text.rpartition(" ")[0] for text in told] == [
        f"server 1500 {{'recovery.dupack_threshold': 2}} {{'window': {window}}}" for window in (3, 3, 4, 4)
    ]
    # Each run has random numbers of its own, and the same ones each time.
    assert len({text.rpartition(" ")[2] for text in told}) == 4
    assert study_of.run(progress=False).table().sort("run")["error"].to_list() == errors


RAW = """
import os, struct
def call():
    head = os.read(3, 4)
    return os.read(3, int.from_bytes(head, "little")) if head else sys.exit(0)
def item(kind, value):
    return struct.pack("<BI", kind, len(value)) + value
def answer(kind, *items):
    body = bytes([kind]) + b"".join(items)
    os.write(3, struct.pack("<I", len(body)) + body)
hello = item(16, b"\\1\\0")
"""

AS_RAW = {
    "dies": (
        "sys.exit('no such luck')",
        "HELLO at 0 s: it ended (exit status: 1) instead of answering: no such luck",
    ),
    "dies of a signal": (
        "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
        "HELLO at 0 s: it ended (signal: 11 (SIGSEGV)",
    ),
    "hangs": ("import time; time.sleep(60)", "HELLO at 0 s: no answer within 0.5 s of real time"),
    "trickles": (
        "import time\ncall()\nfor byte in b'\\x09\\0\\0\\0\\x81' * 9:\n"
        "    os.write(3, bytes([byte])); time.sleep(0.2)",
        "HELLO at 0 s: no answer within 0.5 s of real time",
    ),
    "garbage": (
        "call(); os.write(3, b'\\xfe' * 100)",
        "it answered with a frame of 4278124286 bytes; allowed: 1 to 16777216",
    ),
    "empty": ("call(); os.write(3, bytes(4))", "it answered with an empty frame"),
    "closes its line": (
        "import time; call(); os.close(3); time.sleep(60)",
        "it ended (it closed descriptor 3) instead of answering",
    ),
    "another answer": ("call(); answer(0x86)", "HELLO at 0 s: it answered as if it were WRITE"),
    "no answer": ("call(); answer(7)", "HELLO at 0 s: it answered with a frame of the unknown kind 7"),
    "two answers": (
        "call()\none = bytes([0x81]) + hello\nos.write(3, 2 * (struct.pack('<I', len(one)) + one))",
        "it answered with more than one frame",
    ),
    "half an item": ("call(); answer(0x81, hello, b'\\3\\0')", "it answered with an item that is cut off"),
    "an unknown item": (
        "call(); answer(0x81, item(99, b''))",
        "it answered with an item of the unknown type 99",
    ),
    "no version": ("call(); answer(0x81)", "it does not say which version it speaks"),
    "another version": (
        "call(); answer(0x81, item(16, b'\\2\\0'))",
        "it speaks version 2 of the protocol, and rexmit 1",
    ),
    "another protocol": (
        "call(); answer(0x81, hello, item(19, b'sctp'))",
        "it speaks sctp, and the host tcp: give stack.protocol",
    ),
    "refuses": ("call(); answer(0xff, b'not\\ntoday')", "HELLO at 0 s: it refuses: not today"),
    "refuses an end": (
        "call(); answer(0x81, hello); call(); answer(0xff, b'no more')",
        "OPEN at 0 s: it refuses: no more",
    ),
    "answers late": (
        "call(); answer(0x81, hello)\nwhile True: call(); answer(0x82)",
        "it answered as if it were OPEN",
    ),
}


@pytest.mark.parametrize("name", list(AS_RAW))
def test_what_does_not_keep_to_the_exchange_fails_its_run_in_one_line(name: str, program: Write) -> None:
    text, expected = AS_RAW[name]
    command = program(RAW + text)
    error = failed(of(command, answer_within="500 ms"), "rfc")
    assert error.startswith(f"stack {command} of server, call "), error
    assert expected in error


def failed(server: Any, client: Any) -> str:
    """The one line by which both runs of a program fail, while those of the model beside it go on."""
    both = study(
        server, client, vary={"hosts.server.stack": [server, "linux-6.1", {**server, "settings": {"n": 1}}]}
    )
    rows = both.run(progress=False).table().sort("run")
    assert rows["completed"].to_list()[1]
    first, fine, last = rows["error"].to_list()
    assert fine is None
    assert first == last
    assert "\n" not in first
    return str(first)


AS_TCP = {
    "dies later": (
        "def write(self, now, data, how): raise IndexError('out of range')",
        "it ended (exit status: 1) instead of answering: IndexError: out of range",
    ),
    "too long": (
        "def connect(self, now): self.send(bytes(1501))",
        "it sent a packet of 1501 bytes over an MTU of 1500",
    ),
    "no packet": ("def connect(self, now): self.send(b'?' * 40)", "it sent what is not a packet"),
    "a wrong checksum": (
        "def send(self, packet, why=None): super().send(packet[:-1] + bytes([packet[-1] ^ 1]), why)",
        "it sent a packet with a wrong checksum",
    ),
    "a stranger's": (
        "def begin(self): super().begin(); self.local = ('10.9.9.9', 5)",
        "it sent a packet that is not this end's, 10.0.2.1:",
    ),
    "takes too much": ("def write(self, now, data, how): return len(data) + 1", "it took 1001 bytes of 1000"),
    "gives too much": ("def read(self, now, most): return bytes(most + 1)", "were asked for"),
    "gives others": (
        "def read(self, now, most): return b'x' * len(super().read(now, most))",
        "bytes were read at another place of the stream",
    ),
    "a timer for ever": (
        "def packet(self, now, data): self.set_timer(now)\n    def timer(self, now): self.set_timer(now)",
        "its timer was due 1000 times at one instant",
    ),
    "never closes": (
        "def tell(self, event): event != 'connected' or super().tell(event)",
        "transfer was complete",
    ),
}


@pytest.mark.parametrize("name", list(AS_TCP))
def test_what_a_transport_must_not_do_fails_its_run_in_one_line(name: str, program: Write) -> None:
    text, expected = AS_TCP[name]
    command = program(
        "from rexmit.stack import serve\nfrom stop_and_wait import StopAndWait\n"
        f"class Mine(StopAndWait):\n    {text}\nserve(Mine, name='mine')\n"
    )
    error = failed(of(command, answer_within="5 s"), "rfc")
    assert expected in error, error


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("./there-is-none", "HELLO at 0 s: it cannot be started: No such file or directory"),
        (str(EXAMPLES / "stop-and-wait.toml"), "HELLO at 0 s: it cannot be started: Permission denied"),
    ],
)
def test_what_is_not_there_or_no_program_is_told(command: str, expected: str) -> None:
    assert expected in failed(of(command), "rfc")


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ({"stack": {"program": ""}}, "hosts.server.stack.program: no command; allowed: such as"),
        ({"stack": {"program": "a 'b"}}, "it has an unclosed quote"),
        ({"stack": {"program": 7}}, "hosts.server.stack.program: a command, such as"),
        (
            {"stack": {"program": "a", "answer_within": "soon"}},
            "hosts.server.stack.answer_within: a real time",
        ),
        ({"stack": {"program": "a", "settings": 1}}, "hosts.server.stack.settings: a table"),
        ({"stack": {"program": "a", "programs": 1}}, "hosts.server.stack.programs: unknown key"),
        ({"stack": {"program": "a"}, "code": "model"}, 'hosts.server.code: "model" contradicts'),
        ({"stack": "rfc", "code": "program"}, "hosts.server.code: the code `program` is a program of yours"),
        ({"stack": {"program": "a", "protocol": "sctp"}}, "server has sctp, client tcp"),
    ],
)
def test_what_a_scenario_cannot_say_is_told_before_anything_runs(host: dict[str, Any], expected: str) -> None:
    spec = study("rfc").spec.to_table()
    spec["scenario"]["hosts"]["server"] = host
    with pytest.raises(rexmit.StudyError) as told:
        rexmit.Study.from_dict(spec).run(progress=False)
    assert expected in str(told.value)


def test_a_program_is_kept_for_the_next_run_only_if_it_forgets(program: Write) -> None:
    counts = """
import os
from rexmit.stack import serve
from stop_and_wait import StopAndWait
open(PATH, "a").write("started\\n")
serve(StopAndWait, name="counted", forgets=FORGETS)
"""
    for forgets in (True, False):
        command = program("")
        path = Path(command.split()[-1]).with_suffix(".log")
        Path(command.split()[-1]).write_text(
            f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\n"
            f"PATH, FORGETS = {str(path)!r}, {forgets}\n{counts}"
        )
        results = study(of(command), design={"replications": 4}).run(progress=False, jobs=1)
        assert results.table()["completed"].all()
        started = len(path.read_text().splitlines())
        # Once for the record, and for each run.
        assert started == (1 if forgets else 1 + 4)


def test_one_that_draws_from_elsewhere_is_told_not_to_repeat(program: Write, tmp_path: Path) -> None:
    text = """
import random
from rexmit.stack import serve
from stop_and_wait import StopAndWait
class Drawn(StopAndWait):
    def begin(self):
        super().begin()
        self.next = random.SystemRandom().getrandbits(32)
serve(Drawn, name="drawn")
"""
    study(of(program(text))).run(progress=False, out=tmp_path / "out")
    provenance = json.loads((tmp_path / "out/provenance.json").read_text())
    assert provenance["sessions"][-1]["repeats"] == "sizes-and-times"


CLOCKED = """
import random
from rexmit.stack import serve
from stop_and_wait import StopAndWait
class Clocked(StopAndWait):
    def set_timer(self, due):
        super().set_timer(None if due is None else due + random.SystemRandom().randrange(1, 10**8))
serve(Clocked, name="clocked")
"""


@pytest.mark.parametrize("setting", ["stack.program", "stack", ""])
def test_programs_that_vary_are_each_repeated_and_their_results_open_again(
    program: Write, tmp_path: Path, setting: str
) -> None:
    same, other = STOP_AND_WAIT, program(CLOCKED)
    stacks = {"stack.program": [same, other], "stack": [of(same), of(other), "rfc"]}
    levels = stacks.get(setting, [{"stack": of(same)}, {"stack": of(other)}])
    name = f"hosts.server.{setting}".rstrip(".")
    down = {"from": "server", "to": "client", "writes": "20 x 1000 bytes"}
    varied = study(of(same), vary={name: levels}).set("transfers", [down]).set("path.down.drop", "5")
    done = varied.run(progress=False, out=tmp_path / "out")
    assert done.table()["completed"].all()
    again = rexmit.open_results(tmp_path / "out")
    assert len(again) == len(levels)
    provenance = json.loads((tmp_path / "out/provenance.json").read_text())
    assert provenance["sessions"][-1]["repeats"] == "none"
    assert programs_in(varied.spec.scenario_of(1)) == f"{other} at the server"
    # Whoever opens them starts none.
    started = tmp_path / "started"
    Path(other.split()[-1]).write_text(f"open({str(started)!r}, 'w')\n")
    with pytest.raises(rexmit.UsageError, match="no command starts what a results folder names"):
        again.trace(1)
    with warnings.catch_warnings(record=True):
        rexmit.write_report(again, tmp_path / "page.html", runs="all")
    assert not started.exists()


@pytest.mark.parametrize(
    ("setting", "levels"),
    [
        ("hosts", [{"server": {"stack": {"program": "./p"}}}]),
        ("hosts.server", ["rfc", {"stack": {"inherits": {"program": "./p"}}}]),
        ("hosts.server.stack", ["rfc", {"program": "./p"}]),
        ("hosts.server.stack.inherits", [{"program": ["./p"]}]),
        ("hosts.server.stack.program", ["./p"]),
    ],
)
def test_a_program_is_seen_though_its_scenario_cannot_be_resolved(setting: str, levels: list[Any]) -> None:
    spec = study("there-is-no-such-profile", vary={setting: levels}).spec
    assert names_programs(spec)
    with pytest.raises(rexmit.UsageError, match="no command starts what a results folder names"):
        open_backend("model", spec, BackendOptions(programs=False))


def test_the_command_fails_where_a_program_does_not_repeat(
    rexmit: Command, program: Write, tmp_path: Path
) -> None:
    stack = json.dumps(program(CLOCKED))
    (tmp_path / "one.toml").write_text(
        f"""
title = "one"
[scenario]
hosts.server.stack = {{ program = {stack} }}
hosts.client.stack = "rfc"
path = {{ rate = "10 Mbit/s", delay = "10 ms", down.drop = "5" }}
transfers = [{{ from = "server", to = "client", writes = "20 x 1000 bytes" }}]
"""
    )
    done = rexmit("run", "one.toml", "--out", "out")
    assert done.returncode == 1, done.stderr
    assert f"{json.loads(stack)} at the server, does not repeat: at the " in done.stderr
    assert rexmit("run", "one.toml", "--out", "out", "--resume").returncode == 0
    led = rexmit("run", "one.toml", "--out", "led", "--set", "hosts.server.stack.lead=true")
    assert (led.returncode, "repeats to the byte" in led.stderr) == (0, True), led.stderr


def test_a_results_folder_that_is_opened_starts_no_program(tmp_path: Path) -> None:
    """Its report has the captures that were kept."""
    made = study(of(STOP_AND_WAIT)).run(tmp_path / "out", progress=False, capture="all")
    assert made.trace(0)["state"].height > 0
    opened = rexmit.open_results(tmp_path / "out")
    with pytest.raises(rexmit.UsageError, match="no command starts what a results folder names"):
        opened.trace(0)
    with pytest.raises(rexmit.UsageError, match="no command starts what a results folder names"):
        opened.capture(0, server=tmp_path / "server.pcapng")
    with warnings.catch_warnings(record=True):
        page = rexmit.write_report(opened, tmp_path / "page.html")
    assert page.stat().st_size > 0


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def left(pids: list[int]) -> list[int]:
    """Those that live on, which are killed; a process that has been killed takes a moment to end."""
    deadline = time.monotonic() + 5
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    found = [pid for pid in pids if alive(pid)]
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    return found


@pytest.mark.real_time
def test_a_program_and_its_children_end_with_the_run_and_with_rexmit(program: Write, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    text = f"""
import os, subprocess
from rexmit.stack import serve
from stop_and_wait import StopAndWait
child = subprocess.Popen(["sleep", "1000"], stderr=subprocess.DEVNULL)
open({str(pids)!r}, "a").write(f"{{os.getpid()}} {{child.pid}}\\n")
serve(StopAndWait, name="parent", forgets=False)
"""
    command = program(text)
    assert study(of(command)).run(progress=False).table()["completed"].all()
    started = [int(pid) for pid in pids.read_text().split()]
    assert started
    assert not left(started)
    # One that hangs while rexmit is killed.
    pids.unlink()
    hangs = program(text.replace("serve(", "import time; time.sleep(1000); serve("))
    run = f"import rexmit; rexmit.Study.from_dict({study(of(hangs)).spec.to_table()!r}).run(progress=False)"
    with subprocess.Popen([sys.executable, "-c", run]) as killed:
        deadline = time.monotonic() + 20
        while not (pids.exists() and pids.read_text().endswith("\n")) and time.monotonic() < deadline:
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
    assert not left([int(pid) for pid in pids.read_text().split()])
