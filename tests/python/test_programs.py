"""Programs as hosts: real clients and servers in a factorial design, each run in a guest of its own."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest
import rexmit as package
from rexmit.errors import StudyError
from rexmit.run import agents, repeats
from rexmit.run.details import PROGRAMS
from rexmit.study import load_spec
from rexmit.study.responses import parse_responses
from rexmit.tables.arrow import arrow_type

from .conftest import Command, running

EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
FIRST = 'path.down.drop={position="0..2"}'


def study(folder: Path, text: str) -> Path:
    path = folder / "own.toml"
    path.write_text(text + '\n[scenario.path]\nrate = "10 Mbit/s"\ndelay = "20 ms"\n')
    return path


def of(server: str, client: str, more: str = "") -> str:
    hosts = f"[scenario.hosts.server]\nprogram = {server}\n" if server else ""
    return f"{hosts}[scenario.hosts.client]\nprogram = {client}\n{more}"


def sh(script: str) -> str:
    """A program that is a line of the shell."""
    return json.dumps(["/bin/sh", "-c", script])


def programs(folder: Path) -> list[dict[str, Any]]:
    return pl.read_parquet(folder / "programs.parquet").to_dicts()


def error_of(rexmit: Command, folder: Path, text: str) -> str:
    """Why the only run failed."""
    out = folder / "out"
    done = rexmit("run", study(folder, text), "--backend", "uml", "--out", out)
    assert done.returncode == 1, done.stderr
    error: str = pl.read_parquet(out / "runs.parquet")["error"][0]
    assert error in done.stderr
    return error


@pytest.mark.usefixtures("guest")
class TestExamples:
    def test_curl_and_a_server_of_python(self, rexmit: Command, tmp_path: Path) -> None:
        for out, jobs in (("one", 1), ("two", 2)):
            arguments = ("--set", FIRST, "--backend", "uml", "--jobs", jobs, "--out", tmp_path / out)
            done = rexmit("run", EXAMPLES / "curl.toml", *arguments)
            assert done.returncode == 0, done.stderr
            assert "rexmit: run 0 repeats to the byte\n" in done.stderr
        for name in ("runs.parquet", "programs.parquet"):
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
        runs = pl.read_parquet(tmp_path / "one" / "runs.parquet")
        schema = pq.read_schema(tmp_path / "one" / "programs.parquet")
        for name, column in PROGRAMS.columns.items():
            assert schema.field(name).type == arrow_type(column.type)
        none, syn_ack, _ = runs["time_ns"]
        assert none < 200_000_000
        assert 1_000_000_000 < syn_ack < 1_500_000_000, "a SYN-ACK waits for a second"
        first_byte = runs["first_byte"]
        assert first_byte[0] == pytest.approx(0.08, abs=0.002), "two round trips of 40 ms"
        assert first_byte[1] > 1
        server, client = programs(tmp_path / "one")[:2]
        assert (server["host"], server["code"], client["host"], client["code"]) == (
            "server",
            None,
            "client",
            0,
        )
        assert server["started_ns"] == -5_000_000_000
        assert client["started_ns"] == 0
        assert client["ended_ns"] == none < server["ended_ns"]
        assert json.loads(client["output"])["size_download"] == 30_000
        assert "GET /page" in server["errors"]
        assert sorted(path.name for path in (EXAMPLES / "files").iterdir() if path.suffix != ".pem") == [
            "page"
        ]

    def test_quic_of_ngtcp2(self, rexmit: Command, tmp_path: Path) -> None:
        files = tmp_path / "files"
        files.mkdir()
        (files / "page").write_bytes(b"x" * 30_000)
        key = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        key += ["-subj", "/CN=server", "-days", "9999", "-keyout", "files/key.pem", "-out", "files/cert.pem"]
        subprocess.run(key, cwd=tmp_path, check=True, capture_output=True)
        (tmp_path / "ngtcp2.toml").write_bytes((EXAMPLES / "ngtcp2.toml").read_bytes())
        out = tmp_path / "out"
        done = rexmit("run", tmp_path / "ngtcp2.toml", "--set", FIRST, "--backend", "uml", "--out", out)
        assert done.returncode == 0, done.stderr
        assert "rexmit: run 0 repeats " in done.stderr
        runs = pl.read_parquet(out / "runs.parquet")
        assert runs["time_ns"][0] < 200_000_000 < runs["time_ns"][1], "the first packet waits for a timer"
        assert runs["drops_down_pattern"].to_list() == [0, 1, 1]

    def test_iperf3(self, rexmit: Command, tmp_path: Path) -> None:
        done = rexmit("run", EXAMPLES / "iperf3.toml", "--backend", "uml", "--out", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        runs = pl.read_parquet(tmp_path / "out" / "runs.parquet")
        assert all(9e6 < rate < 10e6 for rate in runs["goodput"])
        cubic, bbr = runs["drops_down"]
        assert cubic > bbr == 0, "CUBIC fills a queue of 50 packets"


@pytest.mark.usefixtures("guest")
def guests_in(folder: str) -> list[str]:
    """The commands of the guests whose files are in a folder."""
    return [line for line in running().values() if f"uml_dir={folder}" in line]


class TestWrong:
    @pytest.mark.parametrize(
        ("server", "client", "told"),
        [
            ("", '"no-such-program"', "hosts.client.program: no-such-program: command not found"),
            ("", sh("echo a line >&2; exit 3"), "hosts.client.program: exit code 3: a line"),
            ("", sh("kill -9 $$$$"), "hosts.client.program: exit code 137 (SIGKILL)"),
            (sh("exit 2"), '"/bin/sleep 1"', "hosts.server.program: exit code 2"),
            ("", '"/bin/sleep 4000"', "hosts.client.program: did not end within 3600 s (limit)"),
        ],
    )
    def test_the_run_says_what_a_program_did(
        self, rexmit: Command, tmp_path: Path, server: str, client: str, told: str
    ) -> None:
        assert error_of(rexmit, tmp_path, of(server, client)) == told

    def test_a_client_whose_server_is_late(self, rexmit: Command, tmp_path: Path) -> None:
        late = sh("sleep 100; exec /usr/bin/python3 -m http.server 8000")
        error = error_of(rexmit, tmp_path, of(late, '"curl -s http://$REXMIT_SERVER:8000/"'))
        assert error == (
            "hosts.client.program: exit code 7, and the server's listened nowhere when it was started"
        )

    def test_what_is_written_where_it_may_not_be(self, rexmit: Command, tmp_path: Path) -> None:
        error = error_of(rexmit, tmp_path, of("", sh("echo x > /etc/rexmit-no")))
        assert error.endswith("cannot create /etc/rexmit-no: Read-only file system")

    def test_who_spins_is_named_and_the_sweep_goes_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(agents, "STALL_SECONDS", 4.0)
        text = of(
            "", json.dumps(["/usr/bin/python3", "-c", "import sys\nwhile sys.argv[1] == '1': pass", "$N"])
        )
        text = text.replace("program = ", "program.command = ")
        text += 'program.environment.N = "0"\n[vary]\n"hosts.client.program.environment.N" = ["1", "0"]\n'
        spec = load_spec(study(tmp_path, text))
        with tempfile.TemporaryDirectory() as ours:  # tmp_path is too long for the path of a guest's socket
            monkeypatch.setattr(tempfile, "tempdir", ours)
            results = package.Study(spec).run(backend="uml")
            # Killed at once; on a busy machine its processes take a moment to be gone.
            deadline = time.monotonic() + 10
            while (left := guests_in(ours)) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert not left, "no guest is left"
        spun, well = results.table().rows(named=True)
        assert spun["error"].endswith("python3 runs and does not sleep, so the clock stands still")
        assert (well["completed"], well["error"]) == (True, None)


@pytest.mark.usefixtures("guest")
class TestFiles:
    def test_named_folders_are_written_to_and_nothing_else(self, rexmit: Command, tmp_path: Path) -> None:
        (tmp_path / "kept").mkdir()
        script = "echo kept > kept/file; echo gone > other; echo gone > /usr/bin/rexmit-no; cat other"
        more = '[scenario.programs]\nwritable = ["kept"]\nelsewhere = "gone"\n'
        out = tmp_path / "out"
        done = rexmit("run", study(tmp_path, of("", sh(script), more)), "--backend", "uml", "--out", out)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "kept" / "file").read_text() == "kept\n"
        assert not (tmp_path / "other").exists()
        assert not Path("/usr/bin/rexmit-no").exists()
        assert programs(out)[0]["output"] == "gone\n"

    def test_each_run_begins_with_empty_folders(self, rexmit: Command, tmp_path: Path) -> None:
        script = "ls $TMPDIR /run/rexmit/client | wc -l; echo x > $TMPDIR/mine; echo x > /tmp/rexmit-mine"
        text = of("", sh(script.replace("$TMPDIR", "$$TMPDIR")), "[design]\nreplications = 3\n")
        out = tmp_path / "out"
        done = rexmit("run", study(tmp_path, text), "--backend", "uml", "--jobs", 1, "--out", out)
        assert done.returncode == 0, done.stderr
        assert len({row["output"] for row in programs(out)}) == 1
        assert not Path("/tmp/rexmit-mine").exists()

    def test_a_file_and_captures_are_kept(self, rexmit: Command, tmp_path: Path) -> None:
        client = json.dumps(["/bin/sh", "-c", 'echo "{\\"a\\": [1, {\\"b\\": 2.5}]}" > $TMPDIR/r.json'])
        text = of("", client).replace("program = ", "program.command = ")
        text += 'program.file = "r.json"\n[responses.b]\nfrom = "client.file"\njson = "a.1.b"\nunit = "ms"\n'
        out = tmp_path / "out"
        arguments = ("--backend", "uml", "--capture", "all", "--out", out)
        done = rexmit("run", study(tmp_path, text), *arguments)
        assert done.returncode == 0, done.stderr
        runs = pl.read_parquet(out / "runs.parquet")
        assert runs["b"].to_list() == [2.5]
        assert len(list((out / "captures").iterdir())) == 2
        told = rexmit("sql", out, "select b from runs", "--json")
        assert json.loads(told.stdout)[0]["b"] == 2.5

    def test_each_run_has_its_date(self, rexmit: Command, tmp_path: Path) -> None:
        text = of("", '"date -u +%F"', '[vary]\n"programs.date" = ["2026-03-01", "2027-07-01"]\n')
        out = tmp_path / "out"
        rexmit("run", study(tmp_path, text), "--backend", "uml", "--jobs", 1, "--out", out)
        assert [row["output"] for row in programs(out)] == ["2026-03-01\n", "2027-07-01\n"]

    def test_who_fills_the_folder_can_say_so(self, rexmit: Command, tmp_path: Path) -> None:
        error = error_of(rexmit, tmp_path, of("", sh("head -c 1000000000 /dev/zero > $$TMPDIR/x")))
        assert error.endswith("No space left on device")

    def test_a_pipe_is_no_file(self, rexmit: Command, tmp_path: Path) -> None:
        text = of("", f'{{ command = {sh("mkfifo $$TMPDIR/f")}, file = "f" }}')
        out = tmp_path / "out"
        done = rexmit("run", study(tmp_path, text), "--backend", "uml", "--out", out)
        assert done.returncode == 0, done.stderr
        assert programs(out)[0]["file"] is None

    def test_a_guest_that_is_rebooted_fails_its_run(self, rexmit: Command, tmp_path: Path) -> None:
        error = error_of(rexmit, tmp_path, of("", sh("echo b > /proc/sysrq-trigger; sleep 1")))
        assert error.endswith("a program has rebooted the guest")

    def test_the_date(self, rexmit: Command, tmp_path: Path) -> None:
        text = of("", '"date -u +%F"', '[scenario.programs]\ndate = "2031-07-01T12:00"\n')
        out = tmp_path / "out"
        rexmit("run", study(tmp_path, text), "--backend", "uml", "--out", out)
        assert programs(out)[0]["output"] == "2031-07-01\n"


@pytest.mark.usefixtures("namespaces")
def test_on_this_machines_kernel(rexmit: Command, tmp_path: Path) -> None:
    server, client = (
        '"/usr/bin/python3 -m http.server 8000"',
        "curl -so /dev/null http://$REXMIT_SERVER:8000/",
    )
    text = of(server, sh(f"echo $REXMIT_CLIENT; {client}"), "[design]\nreplications = 2\n")
    out = tmp_path / "out"
    done = rexmit("run", study(tmp_path, text), "--backend", "kernel", "--out", out)
    assert done.returncode == 0, done.stderr
    rows = programs(out)
    assert [row["output"] for row in rows if row["host"] == "client"] == ["10.0.1.1\n"] * 2
    assert all(-5e9 < row["started_ns"] < 0 for row in rows if row["host"] == "server")


def test_a_model_runs_no_programs(rexmit: Command, tmp_path: Path) -> None:
    done = rexmit("run", study(tmp_path, of("", '"/bin/true"')), "--out", tmp_path / "out")
    assert done.returncode == 2
    assert "hosts.client.program: programs run on a real kernel: give --backend uml" in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (of("", '"curl $REXMIT_SERVR"'), "unknown variable `REXMIT_SERVR`: did you mean `REXMIT_SERVER`?"),
        (of("", '"a \'b"'), "it has an unclosed quote"),
        (of("", '""'), "no command"),
        (of("", "3"), "hosts.client.program: 3 is not a command; write a line"),
        (of("", '["a", 3]'), "is not a command; write a line"),
        (of("", '{ comand = "x" }'), "unknown key `comand`: did you mean `command`?"),
        (of("", '{ command = "x", file = 5 }'), "hosts.client.program: file:"),
        (of("", '{ command = "x", environment = { A = ["b"] } }'), "is not text"),
        (of("", '"/bin/true"', '[scenario.programs]\ndate = "9999-01-01"\n'), "counts from 1970 to 2200"),
        (of("", '"/bin/true"', '[vary]\n"programs.date" = ["x"]\n'), "programs.date: 'x' is not a time"),
        (of("", '"/bin/true"', '[vary]\n"programs.folder" = ["/"]\n'), "the same in all runs"),
        (of("", '"/bin/true"', '[scenario.programs]\nwritable = ["nowhere"]\n'), "there is no such folder"),
        (of("", '"/bin/true"', "linux.nagle = false\n"), "a program opens its own sockets"),
        ('[scenario.hosts.server]\nprogram = "/bin/true"', "nothing talks to it: give hosts.client.program"),
    ],
)
def test_what_cannot_be_is_one_line(rexmit: Command, tmp_path: Path, text: str, told: str) -> None:
    done = rexmit("run", study(tmp_path, text), "--backend", "uml", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert told in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


class TestResponses:
    TOOK = "took 12.5 ms\ntook 13 ms\n"
    ROWS = (
        {"host": "server", "output": "inf " + "[" * 100_000, "errors": f"[{10**400}]", "file": None},
        {"host": "client", "output": TOOK, "errors": "", "file": '{"a": {"b": ["7"]}}'},
    )

    @pytest.mark.parametrize(
        ("given", "value"),
        [
            ({"from": "client.output", "match": r"took ([\d.]+)"}, 12.5),
            ({"from": "client.output", "match": r"^took (13)"}, 13),
            ({"from": "client.output", "match": r"none ([\d.]+)"}, None),
            ({"from": "client.output", "match": r"(took)"}, None),
            ({"from": "client.file", "json": "a.b.0"}, 7),
            ({"from": "client.file", "json": "a.b.1"}, None),
            ({"from": "client.file", "json": "a"}, None),
            ({"from": "server.file", "json": "a"}, None),
            ({"from": "client.output", "json": "a"}, None),
            ({"from": "server.errors", "json": "0"}, None),
            ({"from": "server.output", "match": "(inf)"}, None),
            ({"from": "server.output", "json": ""}, None),
        ],
    )
    def test_a_number_in_what_programs_left(self, given: dict[str, str], value: float | None) -> None:
        (response,) = parse_responses({"mine": given})
        assert response.value(self.ROWS) == value

    @pytest.mark.parametrize(
        ("name", "given", "told"),
        [
            ("time_ns", {"from": "client.output", "match": "(x)"}, "every study has a column of this name"),
            ("a.b", {"from": "client.output", "match": "(x)"}, "a name is letters"),
            ("a", {"from": "client.outptu", "match": "(x)"}, "did you mean 'client.output'?"),
            ("a", {"from": "client.output", "match": "x"}, "has no group"),
            ("a", {"from": "client.output", "match": "(x"}, "is not a regular expression"),
            ("a", {"from": "client.output"}, "give one of match"),
            ("a", {"from": "client.output", "json": "a", "match": "(x)"}, "give one of match"),
            ("a", {"from": "client.output", "jsn": "a"}, "unknown key 'jsn'"),
            ("a", "x", "is not a table"),
        ],
    )
    def test_what_is_wrong_is_named(self, name: str, given: Any, told: str) -> None:
        with pytest.raises(StudyError, match=f"responses.{name}.*") as wrong:
            parse_responses({name: given})
        assert told in str(wrong.value)


def test_levels_of_repeating(tmp_path: Path) -> None:
    def block(time: int, data: bytes) -> bytes:
        head = [6, 32 + len(data), 0, time >> 32, time & 0xFFFFFFFF, len(data), len(data)]
        return (
            b"".join(number.to_bytes(4, "little") for number in head) + data + head[1].to_bytes(4, "little")
        )

    def level(*turns: bytes) -> str:
        left = list(turns)

        def capture(run: int, files: Mapping[str, Path]) -> dict[str, Any]:
            files["server"].write_bytes(left.pop(0))
            files["client"].write_bytes(b"")
            return {"time_ns": 1, "completed": True, "error": None}

        return repeats.repeats(0, ("server", "client"), capture).level

    first = block(5, b"aaaa")
    assert level(first, first) == "bytes"
    assert level(first, block(5, b"aaab")) == "sizes-and-times"
    assert level(first + block(9, b"aaaa"), first + block(8, b"aaaa")) == "none"
    assert level(first, b"") == "none"
