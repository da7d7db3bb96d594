"""`rexmit stack check`: what it finds of programs that keep to the protocol, and of those that do not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import rexmit
from click.testing import CliRunner
from rexmit.cli.stack import stack
from rexmit.run import stack_check

from .conftest import Command

EXAMPLES = Path(__file__).parents[2] / "examples/stacks"
MINE = """
import sys, time, random
sys.path.insert(0, {examples!r})
from rexmit.stack import serve
from stop_and_wait import StopAndWait
class Mine(StopAndWait):
{text}
serve(Mine, name="mine")
"""


def checked(command: str, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """The exit code, and the checks by their names."""
    done = CliRunner().invoke(stack, ["check", command, "--json", *options])
    checks = json.loads(done.output)["checks"]
    return done.exit_code, {one["name"]: one for one in checks}


def of(text: str, folder: Path) -> str:
    path = folder / "mine.py"
    body = "".join(f"    {line}\n" for line in text.splitlines())
    path.write_text(MINE.format(examples=str(EXAMPLES), text=body))
    return f"{sys.executable} {path}"


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in C."""
    if (compiler := shutil.which("cc")) is None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", "no C compiler"
        pytest.skip("no C compiler on this machine")
    built = tmp_path_factory.mktemp("c") / "stop_and_wait"
    options = ["-O1", "-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Werror"]
    subprocess.run([compiler, *options, "-o", built, EXAMPLES / "stop_and_wait.c"], check=True)
    return built


@pytest.fixture(scope="module")
def in_go(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in Go."""
    if (compiler := shutil.which("go")) is None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", "no Go"
        pytest.skip("no Go on this machine")
    built = tmp_path_factory.mktemp("go") / "stopandwait"
    module = EXAMPLES.parents[1] / "go/rexmitstack"
    subprocess.run([compiler, "vet", "./..."], cwd=module, check=True)
    subprocess.run([compiler, "build", "-o", built, "./stopandwait"], cwd=module, check=True)
    return built


@pytest.fixture(scope="module")
def in_rust(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example in Rust."""
    if (compiler := shutil.which("cargo")) is None:
        assert os.environ.get("REXMIT_REQUIRE_ALL") != "1", "no Rust"
        pytest.skip("no Rust on this machine")
    target = tmp_path_factory.mktemp("rust")
    command = [compiler, "build", "--locked", "--example", "stop_and_wait", "--target-dir", str(target)]
    subprocess.run(command, cwd=EXAMPLES.parents[1] / "rust/rexmitstack", check=True)
    return target / "debug/examples/stop_and_wait"


def test_the_example_in_rust_passes_every_check(in_rust: Path) -> None:
    code, checks = checked(str(in_rust))
    assert (code, [one for one in checks.values() if one["found"] == "failed"]) == (0, [])
    assert checks["is the same again"]["text"] == "to the byte"


def test_the_example_in_go_passes_every_check(in_go: Path) -> None:
    code, checks = checked(str(in_go))
    assert (code, [one for one in checks.values() if one["found"] == "failed"]) == (0, [])
    assert checks["is the same again"]["text"] == "to the byte"


@pytest.mark.parametrize("language", ["in_go", "in_rust"])
def test_memory_carries_what_the_socket_does(language: str, request: pytest.FixtureRequest) -> None:
    """One that is started without REXMIT_MEMORY finds the socket alone."""

    def rows(command: str) -> list[Any]:
        scenario = {
            "hosts": {"server": {"stack": {"program": command}}, "client": {"stack": "rfc"}},
            "path": {"rate": "10 Mbit/s", "delay": "10 ms", "loss": "5 %"},
            "transfers": [{"from": "server", "to": "client", "writes": "50 x 1000 bytes"}],
        }
        study = rexmit.Study.from_dict({"title": "c", "scenario": scenario, "design": {"replications": 3}})
        table = study.run(progress=False).table().sort("run")
        assert table["error"].to_list() == [None] * 3
        return table.select("time_ns", "retransmits", "timeouts", "deliveries").rows()

    program = request.getfixturevalue(language)
    assert rows(str(program)) == rows(f"env -u REXMIT_MEMORY {program}")


def test_the_examples_pass_every_check(in_c: Path) -> None:
    for command in (f"{sys.executable} {EXAMPLES}/stop_and_wait.py", str(in_c)):
        code, checks = checked(command)
        assert (code, [one for one in checks.values() if one["found"] == "failed"]) == (0, [])
        assert checks["is the same again"]["text"] == "to the byte"
        # The far side in C takes each call by itself.
        assert ("answers calls that follow" in checks) == command.endswith(".py")
        assert len(checks) == (18 if command.endswith(".py") else 17)


def test_both_examples_send_the_same_packets_through_loss(in_c: Path) -> None:
    def rows(command: str) -> list[Any]:
        scenario = {
            "hosts": {"server": {"stack": {"program": command}}, "client": {"stack": "rfc"}},
            "path": {"rate": "10 Mbit/s", "delay": "10 ms", "loss": "5 %"},
            "transfers": [{"from": "server", "to": "client", "writes": "50 x 1000 bytes"}],
        }
        study = rexmit.Study.from_dict({"title": "c", "scenario": scenario, "design": {"replications": 4}})
        table = study.run(progress=False).table().sort("run")
        assert table["error"].to_list() == [None] * 4
        return table.select("time_ns", "retransmits", "timeouts").rows()

    assert rows(str(in_c)) == rows(f"{sys.executable} {EXAMPLES}/stop_and_wait.py")


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (
            "def emit(self, *a, **k):\n    if random.SystemRandom().random() < 0.6: super().emit(*a, **k)",
            "is the same again",
            "no: ",
        ),
        (
            # Slow if a third of its calls were 2 ms apart: a machine with other work stalls it now and then.
            "def set_timer(self, at):\n"
            "    times = self.__dict__.setdefault('times', [])\n"
            "    times.append(time.perf_counter())\n"
            "    gaps = [b - a > 0.0019 for a, b in zip(times, times[1:])]\n"
            "    slow = len(gaps) > 8 and sum(gaps) > len(gaps) / 3\n"
            "    super().set_timer(at and at + 7 * slow * 10**6)",
            "reads no clock",
            "with 2 ms of real time before each call, at the",
        ),
        (
            "def begin(self):\n    super().begin()\n    self.next = random.SystemRandom().getrandbits(32)",
            "is the same again",
            "in the sizes and times of its packets, not in their bytes",
        ),
        ("def timer(self, now): pass", "each of the first 12 packets down lost in turn", "run "),
        (
            "def packet(self, now, data):\n    data[1]\n    super().packet(now, data)",
            "survives garbage packets",
            "PACKET: it ended",
        ),
        ("def abort(self, now): raise ValueError", "breaks off", "ABORT: it ended instead of answering"),
        ("def connect(self, now): pass", "connects, and sends", "nothing more could happen"),
    ],
)
def test_what_a_program_does_wrong_is_found(text: str, name: str, expected: str, tmp_path: Path) -> None:
    code, checks = checked(of(text, tmp_path))
    assert checks[name]["text"].startswith(expected), checks[name]
    told = checks[name]["found"] == "told"
    assert told or (checks[name]["found"], code) == ("failed", 1)


def test_what_is_not_there_ends_the_check_at_once() -> None:
    code, checks = checked("./there-is-none")
    assert code == 1
    assert list(checks) == ["starts"]
    assert "call HELLO at 0 s: it cannot be started: No such file" in checks["starts"]["text"]


def test_a_transport_over_udp_is_checked_against_itself(tmp_path: Path) -> None:
    """Whatever UDP carries is as sealed as QUIC: the toy of this test sends one datagram at a time."""
    toy = Path(__file__).with_name("toy_over_udp.py")
    code, checks = checked(f"{sys.executable} {toy}", "--protocol", "quic")
    assert (code, [one for one in checks.values() if one["found"] == "failed"]) == (0, [])


def test_streams_over_udp_are_put_together_again() -> None:
    own = {"program": f"{sys.executable} {Path(__file__).with_name('toy_over_udp.py')}", "protocol": "quic"}
    scenario = {
        "hosts": {"server": {"stack": own}, "client": {"stack": own}},
        "path": {"rate": "10 Mbit/s", "delay": "10 ms", "loss": "3 %"},
        "transfers": [{"from": "server", "to": "client", "writes": "30 x 2500 bytes", "streams": 3}],
        "messages": True,
    }
    results = rexmit.Study.from_dict({"title": "streams", "scenario": scenario}).run(progress=False)
    row = results.table().row(0, named=True)
    assert (row["error"], row["completed"]) == (None, True)
    assert row["retransmits"] > 0
    assert results.messages()["delivered"].to_list() == [30]


def test_an_sctp_is_checked_against_the_model() -> None:
    toy = Path(__file__).with_name("toy_sctp.py")
    code, checks = checked(f"{sys.executable} {toy}", "--protocol", "sctp")
    assert (code, [one for one in checks.values() if one["found"] == "failed"]) == (0, [])
    assert checks["is the same again"]["text"] == "to the byte"


def test_a_program_of_another_protocol_is_told() -> None:
    code, checks = checked(f"{sys.executable} {EXAMPLES}/stop_and_wait.py", "--protocol", "sctp")
    assert code == 1
    assert any(
        "it speaks tcp, and the host sctp: give stack.protocol" in one["text"] for one in checks.values()
    )


def test_one_that_does_more_where_calls_follow_is_noticed(tmp_path: Path) -> None:
    text = """import rexmit.stack as far
def twice(end, kind, now, rest, plain=far._followed):
    items = plain(end, kind, now, rest)
    return items + [item for item in items if item[0] == 3]
far._followed = twice"""
    code, found = checked(of(text, tmp_path))
    assert code == 1
    assert found["answers calls that follow"]["found"] == "failed"


@pytest.mark.parametrize(
    ("command", "error"),
    [("", "the command is empty"), ("  ", "the command is empty"), ("./a 'b", "cannot be split")],
)
def test_what_is_no_command_is_one_line(rexmit: Command, command: str, error: str) -> None:
    done = rexmit("stack", "check", command)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert error in done.stderr


def test_one_that_does_not_answer_ends_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = stack_check._Asked.spec

    def impatient(self: Any, host: str, transfers: list[dict[str, Any]], **more: Any) -> Any:
        stack = {"answer_within": "500 ms"} | more.pop("stack", {})
        return spec(self, host, transfers, stack=stack, **more)

    monkeypatch.setattr(stack_check._Asked, "spec", impatient)
    code, checks = checked(of("def write(self, now, data, how): time.sleep(1000)", tmp_path))
    assert code == 1
    *_, hangs, rest = checks.values()
    assert (hangs["found"], rest["found"], rest["name"]) == ("failed", "told", "the rest")


def test_one_that_does_not_repeat_fails(tmp_path: Path) -> None:
    text = """def set_timer(self, due):
    super().set_timer(None if due is None else due + random.SystemRandom().randrange(1, 10**8))"""
    code, checks = checked(of(text, tmp_path))
    assert (checks["reads no clock"]["found"], code) == ("failed", 1)
    assert checks["is the same again"]["text"].startswith("no: ")
