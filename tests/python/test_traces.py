"""Links that follow a trace: in studies, in emulations, and `rexmit trace`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from rexmit import open_results
from rexmit.cli.emulate_settings import describe, read_path, split_settings
from rexmit.errors import UsageError
from rexmit.links import MAKERS

from .conftest import Command

STUDY = """
title = "A link that follows a trace"

[scenario]
hosts.server.stack = "freebsd-6.0"
hosts.client.stack = "freebsd-6.0"
path.down.rate = { trace = "cell.down" }
path.delay = "10 ms"
limit = "60 s"

[[scenario.transfers]]
from = "server"
to = "client"
writes = "20 x 10 kB"

[vary]
"path.up.rate" = ["1 Mbit/s", { trace = "lab.csv", repeat = true }]

[design]
replications = 2
"""
CELL = "".join(f"{ms}\n" for ms in range(5, 2000, 5))
LAB = "time (s),rate (Mbit/s),delay (ms),loss (%)\n0,1,10,0\n0.5,2,20,5\n1,1,10,0\n"


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """A study in a folder of its own, with its traces beside it."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "s.toml").write_text(STUDY)
    (folder / "cell.down").write_text(CELL)
    (folder / "lab.csv").write_text(LAB)
    return folder / "s.toml"


def wrong(rexmit: Command, *arguments: object) -> str:
    """The one line of a command that is refused."""
    done = rexmit(*arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    return done.stderr.removeprefix("rexmit: error: ").strip()


def test_a_study_gives_the_same_on_one_core_and_on_two(rexmit: Command, study: Path, tmp_path: Path) -> None:
    for jobs in (1, 2):
        done = rexmit("run", study, "--jobs", jobs, "--out", f"jobs-{jobs}")
        assert done.returncode == 0, done.stderr
    first, second = (tmp_path / f"jobs-{jobs}" / "runs.parquet" for jobs in (1, 2))
    assert first.read_bytes() == second.read_bytes()
    table = open_results(tmp_path / "jobs-1").table()
    # 1504 bytes each 5 ms carry a segment of 1448 bytes: 200 kB take 0.69 s and the start.
    assert table["completed"].all()
    assert 0.69e9 < table["time_ns"].min() < 1.2e9  # type: ignore[operator]


def test_the_record_has_the_hash_and_another_file_is_refused(
    rexmit: Command, study: Path, tmp_path: Path
) -> None:
    assert rexmit("run", study, "--out", "r").returncode == 0
    record = json.loads((tmp_path / "r" / "study.json").read_text())
    trace = record["scenario"]["path"]["down"]["rate"]["trace"]
    assert trace["file"] == str(study.with_name("cell.down"))
    assert trace["sha256"] == json.loads(rexmit("trace", "show", trace["file"], "--json").stdout)["sha256"]
    again = rexmit("run", "r/study.toml", "--out", "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "runs.parquet").read_bytes() == (
        tmp_path / "r" / "runs.parquet"
    ).read_bytes()
    study.with_name("cell.down").write_text(CELL + "2000\n")
    text = wrong(rexmit, "run", "r/study.toml", "--out", "other")
    assert "cell.down: is not the trace that this study was made with: its SHA-256 is" in text
    assert text.endswith("bring that file back, or name this one anew without sha256")
    done = rexmit("run", study, "--out", "r", "--resume")
    assert done.returncode == 1
    assert "holds another study: scenario.path.down.rate.trace.sha256" in done.stderr


def test_a_level_may_be_a_trace_or_name_one(rexmit: Command, study: Path, tmp_path: Path) -> None:
    study.write_text(
        STUDY.replace(
            '"path.up.rate" = ["1 Mbit/s", {', '"path.down.rate.trace" = ["cell.down", "slow.down"] #'
        )
    )
    study.with_name("slow.down").write_text("20\n")
    done = rexmit("run", study, "--out", "r")
    assert done.returncode == 0, done.stderr
    table = open_results(tmp_path / "r").table()
    times = dict(table.select("path.down.rate.trace", "time_ns").iter_rows())
    assert times["slow.down"] > 3 * times["cell.down"]


def test_set_names_a_trace_from_the_working_directory(rexmit: Command, study: Path, tmp_path: Path) -> None:
    (tmp_path / "here.down").write_text("1\n")
    done = rexmit("run", study, "--set", 'path.down.rate={ trace = "here.down" }', "--out", "r")
    assert done.returncode == 0, done.stderr
    text = wrong(rexmit, "run", study, "--set", 'path.down.rate={ trace = "cell.down" }', "--out", "q")
    assert text.endswith("cell.down: cannot be read: No such file or directory")


@pytest.mark.usefixtures("guest")
def test_a_real_kernel_sees_the_trace(rexmit: Command, study: Path, tmp_path: Path) -> None:
    # More than a file that is kept in memory.
    large = "".join(f"{ms}\n" for ms in range(5, 5_000_000, 5))
    study.with_name("cell.down").write_text(large)
    assert len(large) > 4 << 20
    for jobs in (1, 2):
        done = rexmit("run", study, "--backend", "uml", "--jobs", jobs, "--out", f"jobs-{jobs}")
        assert done.returncode == 0, done.stderr
    table = open_results(tmp_path / "jobs-1").table()
    assert table["completed"].all()
    assert table["time_ns"].min() > 0.65e9  # type: ignore[operator]
    assert table.equals(open_results(tmp_path / "jobs-2").table())


SENDS = (
    "import socket; c, _ = socket.create_server(('', 8000)).accept(); c.sendall(bytes(150_000)); c.close()"
)
TAKES = (
    "import os, socket, time; s = socket.create_connection((os.environ['REXMIT_SERVER'], 8000)); "
    "t = time.monotonic(); n = sum(map(len, iter(lambda: s.recv(65536), b''))); "
    "print(n, time.monotonic() - t)"
)


@pytest.mark.usefixtures("guest")
def test_an_emulation_in_virtual_time_follows_it(rexmit: Command, study: Path) -> None:
    seen = []
    for _ in range(2):
        path = ["--down.trace", study.with_name("cell.down"), "--delay", "10ms"]
        server = f'/usr/bin/python3 -c "{SENDS}"'
        done = rexmit(
            "emulate", "--virtual", *path, "--server", server, "--", "/usr/bin/python3", "-c", TAKES
        )
        assert done.returncode == 0, done.stderr
        seen.append(done.stdout)
    count, seconds = seen[0].split()
    # 104 packets, one each 5 ms.
    assert (int(count), seen[0]) == (150_000, seen[1])
    assert 0.5 < float(seconds) < 0.7


def path_of(*arguments: str, file: Path | None = None) -> dict[str, object]:
    return read_path(file, split_settings(arguments, {})[1])


def test_a_trace_is_an_option_and_a_key_of_a_file(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study.parent)
    short = path_of("--down.trace", "cell.down", "--delay", "5 ms")
    assert short == path_of("--down.rate", '{ trace = "cell.down" }', "--delay=5 ms")
    assert path_of("--trace=cell.down") == path_of("--rate", '{ trace = "cell.down" }')
    assert describe(path_of("--trace=cell.down")) == "rate of cell.down"
    file = study.with_name("lab.toml")
    file.write_text('down.rate = { trace = "cell.down" }\ndelay = "5 ms"')
    monkeypatch.chdir("/")
    assert path_of(file=file) == short
    assert path_of("--down.rate", "1 Mbit/s", file=file)["down"] == {"rate": "1 Mbit/s"}
    with pytest.raises(UsageError, match=r"cell\.down: cannot be read: No such file or directory"):
        path_of("--up.trace", "cell.down", file=file)


BAD = [
    (b"", "x: is empty: write a line for each opportunity of 1504 bytes"),
    (b"5\n3\n", "x: line 2: 3 ms, behind 5 ms in the line before: times must not go back"),
    (b"time (s),rate (Mbit/s)\n2,1\n1,2\n", "x: line 3: 1 s, after 2 s in the row before"),
    (b"time (s),rate (Mbit/s)\n0,0\n9,0\n", "x: the rate is 0 in every row, so that no packet ever passes"),
    (b"0\n0\n", "x: line 2: every opportunity is at 0 ms"),
    (b"3\r\n5\r\n", "x: line 1: ends with CR LF, and a line of a trace ends with LF alone"),
    (
        b"time (s),rate (MB/s)\n0,1\n",
        'x: line 1: the column rate has the unknown unit "MB/s": write one of bit/s',
    ),
    (b"seconds,rate (Mbit/s)\n0,1\n", 'x: line 1: unknown column "seconds": write time, rate, delay or loss'),
    (b"3\n\xff\n", "x: line 2: "),
]


@pytest.mark.parametrize(("content", "text"), BAD)
def test_what_is_wrong_is_one_line(rexmit: Command, study: Path, content: bytes, text: str) -> None:
    file = study.with_name("x")
    file.write_bytes(content)
    found = [
        wrong(rexmit, "trace", "show", file),
        wrong(rexmit, "trace", "convert", file, "y", "--bin", "1s"),
        wrong(rexmit, "run", study, "--set", f'path.down.rate={{ trace = "{file}" }}', "--out", "r"),
        wrong(rexmit, "emulate", "--trace", file, "--", "true"),
    ]
    for line in found:
        assert text in line, line


def test_what_is_no_file_is_one_line(rexmit: Command, tmp_path: Path) -> None:
    assert "a folder, not a regular file" in wrong(rexmit, "trace", "show", tmp_path)
    assert "a device, not a regular file" in wrong(rexmit, "trace", "show", "/dev/zero")
    assert "No such file" in wrong(rexmit, "trace", "show", "none")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read in /proc")
def test_memory_does_not_grow_with_the_file(study: Path) -> None:
    peak = "import re,sys; print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    file = study.with_name("long.down")
    sizes = []
    for lines in (10_000, 9_000_000):
        with file.open("w") as out:
            out.writelines(f"{ms}\n" for ms in range(1, lines))
        code = f"from rexmit.links import open_trace; t = open_trace('{file}'); t.bins(); {peak}"
        sizes.append(int(_python(code)))
    assert file.stat().st_size > 60 << 20
    assert sizes[1] - sizes[0] < 16 << 10, sizes


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_made_is_a_trace_and_always_the_same(rexmit: Command, tmp_path: Path, kind: str) -> None:
    made = rexmit("trace", "make", kind, "--duration", "40s", "--out", "a")
    assert (made.returncode, made.stdout) == (0, "a\n"), made.stderr
    text = rexmit("trace", "make", kind, "--duration", "40s", "--seed", 1).stdout
    assert (tmp_path / "a").read_text() == text
    assert rexmit("trace", "make", kind, "--duration", "40s", "--seed", 2).stdout != text
    facts = json.loads(rexmit("trace", "show", "a", "--json").stdout)
    assert facts["duration_ns"] == 40_000_000_000
    assert facts["rate_mean_bit_s"] > 1e6
    shown = rexmit("trace", "show", "a", "--out", "a.svg", "--bin", "50ms").stdout
    assert "over 50 ms" in shown
    assert "a.svg" in shown
    assert "<svg" in (tmp_path / "a.svg").read_text()


def test_an_outage_is_as_long_as_its_file_says(rexmit: Command, tmp_path: Path) -> None:
    rows = ["time (s),rate (Mbit/s)", "0,20", "5,0", "6.5,12", "8,20"]
    (tmp_path / "mine.csv").write_text("\n".join(rows) + "\n")
    shown = rexmit("trace", "show", "mine.csv").stdout
    assert "over 20 ms" in shown
    assert "nothing passes for 1.5 s of it (18.8 %)" in shown


def test_a_satellite_is_another_one_every_15_s(rexmit: Command) -> None:
    rows = [line.split(",") for line in rexmit("trace", "make", "leo-handover").stdout.splitlines()[2:]]
    handovers = [int(time) for time, _, _, loss in rows if float(loss) > 0]
    assert len(handovers) in (3, 4)
    assert {b - a for a, b in pairwise(handovers)} == {15_000}


def test_one_kind_becomes_the_other(rexmit: Command, study: Path, tmp_path: Path) -> None:
    cell = study.with_name("cell.down")
    assert rexmit("trace", "convert", cell, "a.csv", "--bin", "100ms").stdout == "a.csv\n"
    assert rexmit("trace", "convert", "a.csv", "b.down").returncode == 0
    one, other = (
        json.loads(rexmit("trace", "show", file, "--json").stdout) for file in (cell, tmp_path / "b.down")
    )
    assert one["lines"] == pytest.approx(other["lines"], abs=2)
    done = rexmit("trace", "convert", study.with_name("lab.csv"), "c.down")
    assert re.findall("the column (delay|loss) is left out", done.stderr) == ["delay", "loss"]
    assert "give the averaging time, such as --bin 100ms" in wrong(rexmit, "trace", "convert", cell, "d.csv")
    assert "leave --bin out" in wrong(rexmit, "trace", "convert", "a.csv", "d", "--bin", "1s")
    (tmp_path / "delay.csv").write_text("time (s),delay (ms)\n0,5\n1,6\n")
    assert "has no column rate" in wrong(rexmit, "trace", "convert", "delay.csv", "d")


def test_options_of_the_command_have_units(rexmit: Command) -> None:
    assert "give at least 1 s" in wrong(rexmit, "trace", "make", "wifi", "--duration", "10ms")
    assert "--duration: " in wrong(rexmit, "trace", "make", "wifi", "--duration", "10")
