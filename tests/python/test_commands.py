"""The commands as a user calls them, each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest
from rexmit.run import open_results
from rexmit.run.stacks import third_parties

from .conftest import Command, edited

MISTAKES = [
    ('path.rate = "1 Mbit/s"', 'path.rate = "1 Mbps"', "path.rate"),
    ('path.rate = "1 Mbit/s"', 'path.rate = "fast"', "path.rate"),
    ('path.queue = "99 packets"', 'path.queue = "99 pakets"', "path.queue"),
    ('path.delay = "10 ms"', 'path.dely = "10 ms"', "did you mean `delay`?"),
    (
        'hosts.server.stack = "freebsd-6.0"',
        'hosts.server.stack = "freebsd-6.1"',
        "did you mean `freebsd-6.0`?",
    ),
    ('"path.delay" = [', '"path.dellay" = [', "path.dellay"),
    ('"path.delay" = ["5 ms", "20 ms"]', '"path.delay" = []', "vary.path.delay: has no levels"),
    ('"path.delay" = ["5 ms", "20 ms"]', '"path.delay" = ["5 ms", "20 s 3"]', "path.delay"),
    ('from = "server"', 'from = "sever"', "sever"),
    ("5000 bytes, 8 x", "5000 bites, 8 x", "transfers"),
    ("replications = 2", "replicatons = 2", "did you mean 'replications'?"),
    ("[design]", "[desing]", "did you mean 'design'?"),
]


@pytest.mark.parametrize(("old", "new", "text"), MISTAKES)
def test_a_mistake_in_a_study_is_one_line_that_names_file_and_key(
    rexmit: Command, study_file: Path, tmp_path: Path, old: str, new: str, text: str
) -> None:
    done = rexmit("run", edited(study_file, old, new), "--out", "out")
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"rexmit: error: {study_file}:")
    assert text in lines[0]
    assert not (tmp_path / "out").exists(), "nothing is written for a study that cannot be run"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run"], "missing argument"),
        (["run", "x.toml", "--job", "2"], "--job"),
        (["run", "x.toml", "--jobs", "0"], "--jobs"),
        (["run", "x.toml", "--capture", "some"], "--capture"),
        (["run", "hurtig-2006/short", "--set", "path.rate"], "KEY=VALUE"),
        (["run", "hurtig-2006/short", "--backend", "stack:mtcp"], "unknown backend 'stack:mtcp'"),
        (
            ["run", "hurtig-2006/short", "--backend", "stack:usrsctp"],
            "the stack usrsctp speaks SCTP, and this profile is of TCP",
        ),
        (["run", "hurtig-2006/shrt"], "did you mean 'hurtig-2006/short'?"),
        (["pattern", "make"], "give either POSITIONS"),
        (["pattern", "make", "x"], "x"),
        (["pattern", "make", "--random", "5 %"], "--length"),
        (["pattern", "show", "nofile"], "nofile: there is no such file, and as a pattern: "),
        (["pattern", "convert", "nofile"], "nofile: there is no such file, and as a pattern: "),
        (["run", "hurtig-2006/short", "--out", ""], "'--out': is empty"),
        (["plot", "x", "--out", ""], "'--out': is empty"),
        (["report", "x", "--out", ""], "'--out': is empty"),
        (["pattern", "make", "1", "--out", ""], "'--out': is empty"),
        (["plot", "nothing.pcapng"], "no such results folder or capture"),
        (["analyze"], "missing argument"),
        (["analyze", "nothing.pcapng"], "nothing.pcapng: there is no such capture"),
        (["analyze", "."], ".: is a folder; name a capture in it"),
        (["analyze", "x", "--sort", "size"], "--sort"),
        (["analyze", "x", "--loss-event-rtts", "0"], "--loss-event-rtts"),
        (["analyze", "x", "--only", "rtt"], "--tables DIR"),
        (["analyze", "x", "--tables", "t", "--only", "segmnts"], "did you mean 'segments'?"),
        (["analyze", "x", "--tables", ""], "'--tables': is empty"),
        (["nonsense"], "there is no command 'nonsense'; known: analyze, "),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(rexmit: Command, arguments: list[str], text: str) -> None:
    done = rexmit(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("rexmit: error: ")
    assert text in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "analyze",
        "run",
        "schema",
        "studies",
        "compare",
        "plot",
        "report",
        "doctor",
        "kernel",
        "kernel build",
        "kernel status",
        "stack",
        "stack check",
        "pattern",
        "pattern make",
        "pattern show",
        "pattern convert",
    ],
)
def test_every_command_has_help_with_an_example(rexmit: Command, command: str) -> None:
    done = rexmit(*command.split(), "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"  rexmit {command} " in done.stdout or f"  rexmit {command}\n" in done.stdout


def test_results_are_the_same_bytes_for_any_number_of_jobs(
    rexmit: Command, study_file: Path, tmp_path: Path
) -> None:
    for jobs in (1, 2, 3):
        done = rexmit("run", study_file, "--jobs", jobs, "--out", f"out{jobs}")
        assert done.returncode == 0, done.stderr
    files = {(tmp_path / f"out{jobs}" / "runs.parquet").read_bytes() for jobs in (1, 2, 3)}
    assert len(files) == 1
    table = pl.read_parquet(tmp_path / "out1" / "runs.parquet")
    assert table.height == 2 * 4 * 2
    assert table["completed"].all()
    assert table["error"].is_null().all()
    assert table["bytes"].unique().to_list() == [25_000]


def test_the_resolved_study_gives_the_same_results_again(
    rexmit: Command, study_file: Path, tmp_path: Path
) -> None:
    assert rexmit("run", study_file, "--out", "out").returncode == 0
    again = rexmit("run", tmp_path / "out" / "study.toml", "--out", "again")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == (
        tmp_path / "again" / "runs.parquet"
    ).read_bytes()


def test_a_seed_changes_the_phases_of_the_clocks(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        assert rexmit("run", study_file, "--seed", seed, "--out", f"out{seed}").returncode == 0
    one, two = (pl.read_parquet(tmp_path / f"out{seed}" / "runs.parquet") for seed in (1, 2))
    assert not one["time_ns"].equals(two["time_ns"])


def test_a_position_beyond_the_flow_is_warned_of(rexmit: Command, study_file: Path) -> None:
    done = rexmit("run", edited(study_file, "0..3", "19..22"), "--out", "out")
    assert done.returncode == 0
    (warning,) = [line for line in done.stderr.splitlines() if "warning" in line]
    assert "path.down.drop: position 21-22 was never reached in 8 of 16 runs" in warning


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("500", "position 500 was never reached"),
        ("{ position = 500, flow = true }", "position 500 was never reached"),
        ("{ position = 500, period = 800 }", "position 500 was never reached"),
        ('{ match = "rst" }', "no packet was a rst"),
    ],
)
def test_any_form_of_a_pattern_that_hits_nothing_is_warned_of(
    rexmit: Command, study_file: Path, pattern: str, text: str
) -> None:
    transfers = "[[scenario.transfers]]"
    lossy = edited(study_file, transfers, f"path.up.duplicate = {pattern}\n{transfers}")
    done = rexmit("run", lossy, "--out", "out")
    assert done.returncode == 0, done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if "warning" in line]
    assert warning.endswith(f"path.up.duplicate: {text} in 16 of 16 runs")


def test_a_pattern_of_position_0_is_warned_of_unless_the_design_means_it(
    rexmit: Command, study_file: Path
) -> None:
    assert "warning" not in rexmit("run", study_file, "--out", "out").stderr
    done = rexmit("run", edited(study_file, '{ position = "0..3" }', '["0,2"]'), "--out", "other")
    assert done.returncode == 0
    assert "warning: path.down.drop" in done.stderr


def test_the_output_folder_is_made_once_and_kept(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    assert rexmit("run", study_file, "--out", "a/b/out").returncode == 0
    before = (tmp_path / "a/b/out/runs.parquet").read_bytes()
    done = rexmit("run", study_file, "--out", "a/b/out")
    assert done.returncode == 1
    assert "is not empty; add --resume to finish its study, or choose another --out" in done.stderr
    assert (tmp_path / "a/b/out/runs.parquet").read_bytes() == before


def test_an_unwritable_folder_is_refused(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = rexmit("run", study_file, "--out", "file/out")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    if os.geteuid() != 0:
        (tmp_path / "closed").mkdir(mode=0o555)
        done = rexmit("run", study_file, "--out", "closed/out")
        assert done.returncode == 1
        assert "cannot be written" in done.stderr


@pytest.mark.parametrize("size", ["8k", "20k", "24k", "28k"])
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(
    rexmit: Command, study_file: Path, tmp_path: Path, size: str
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small file system needs root")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", small],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no small file system can be mounted here: {mounted.stderr.strip()}")
    try:
        done = rexmit("run", study_file, "--out", small / "out")
        assert done.returncode == 1
        errors = [line for line in done.stderr.splitlines() if line.startswith("rexmit: error: ")]
        assert len(errors) == 1
        assert "no space left" in errors[0]
        assert "Traceback" not in done.stderr
        assert not list(small.rglob("*.tmp"))
        assert not (small / "out" / "runs.parquet").exists()
        subprocess.run(["mount", "-o", "remount,size=4m", small], check=True)
        assert rexmit("run", study_file, "--out", small / "out", "--resume").returncode == 0
        assert rexmit("run", study_file, "--out", "other").returncode == 0
        files = {(folder / "runs.parquet").read_bytes() for folder in (small / "out", tmp_path / "other")}
        assert len(files) == 1
    finally:
        subprocess.run(["umount", small], check=True)


def start(study: str | Path, out: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-c",
        "import rexmit.cli; rexmit.cli.main()",
        "run",
        str(study),
        "--out",
        str(out),
    ]
    return subprocess.Popen(
        [*command, *arguments], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )


def wait_for_parts(running: subprocess.Popen[str], out: Path, parts: int) -> None:
    deadline = time.monotonic() + 60
    while len(list((out / "parts").glob("part-*.parquet"))) < parts:
        assert running.poll() is None, "it ended before it could be stopped; make the study larger"
        assert time.monotonic() < deadline
        time.sleep(0.002)


# Long flows over a fast path, many replications: seconds of work, so that a kill hits the middle.
LONG_WORK = ("--set", "design.replications=60", "--jobs", "1", "--set", "path.delay=['300 ms']")


def test_a_kill_in_mid_sweep_loses_no_finished_run_and_repeats_none(rexmit: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    running = start("hurtig-2006/long", out, *LONG_WORK)
    wait_for_parts(running, out, 2)
    running.kill()
    running.communicate()
    assert running.returncode == -signal.SIGKILL
    assert not (out / "runs.parquet").exists()
    stored = {path: path.stat().st_mtime_ns for path in (out / "parts").glob("part-*.parquet")}
    assert stored

    resumed = start("hurtig-2006/long", out, *LONG_WORK, "--resume")
    wait_for_parts(resumed, out, len(stored) + 1)
    resumed.send_signal(signal.SIGTERM)
    _, errors = resumed.communicate()
    assert resumed.returncode == 128 + signal.SIGTERM
    assert "go on with --resume" in errors
    assert {path: path.stat().st_mtime_ns for path in stored} == stored, "finished runs were touched"

    done = rexmit("run", "hurtig-2006/long", "--out", out, *LONG_WORK, "--resume")
    assert done.returncode == 0, done.stderr
    sessions = json.loads((out / "provenance.json").read_text())["sessions"]
    assert [session["outcome"] for session in sessions] == ["started", "interrupted", "finished"]
    whole = rexmit("run", "hurtig-2006/long", "--out", tmp_path / "whole", *LONG_WORK)
    assert whole.returncode == 0, whole.stderr
    assert (out / "runs.parquet").read_bytes() == (tmp_path / "whole" / "runs.parquet").read_bytes()
    assert not (out / "parts").exists()


def test_two_runs_into_one_folder_at_once(rexmit: Command, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = start("hurtig-2006/long", out, *LONG_WORK)
    wait_for_parts(first, out, 1)
    second = rexmit("run", "hurtig-2006/long", "--out", out, *LONG_WORK, "--resume")
    assert second.returncode == 1
    assert f"another run (process {first.pid}) writes into it" in second.stderr
    first.send_signal(signal.SIGINT)
    first.communicate()
    assert first.returncode == 128 + signal.SIGINT


def test_captures_of_all_runs_are_written_whole(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    done = rexmit("run", study_file, "--out", "out", "--capture", "all", "--set", "path.delay=5 ms")
    assert done.returncode == 0, done.stderr
    captures = sorted((tmp_path / "out" / "captures").iterdir())
    assert len(captures) == 4 * 2 * 2
    assert {path.suffix for path in captures} == {".pcapng"}
    assert rexmit("plot", captures[0], "--out", "graph.svg").returncode == 0
    assert (tmp_path / "graph.svg").read_text().count("<svg") == 1
    assert rexmit("run", study_file, "--out", "none", "--capture", "failed").returncode == 0
    assert list((tmp_path / "none" / "captures").iterdir()) == []


def test_runs_that_do_not_end_are_told_and_captured(
    rexmit: Command, study_file: Path, tmp_path: Path
) -> None:
    # The lost SYN-ACK of position 1 takes 3 s.
    done = rexmit("run", study_file, "--out", "out", "--capture", "failed", "--set", "limit=2 s")
    assert done.returncode == 1, "runs failed; all of them are stored all the same"
    assert pl.read_parquet(tmp_path / "out" / "runs.parquet").height == 16
    assert "16 runs in" in done.stdout
    assert "warning: 4 runs failed; the first is run 2: not complete after 2 s" in done.stderr
    assert len(list((tmp_path / "out" / "captures").iterdir())) == 4 * 2


def test_what_a_program_reads_is_json(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    studies = json.loads(rexmit("studies", "--json").stdout)
    parts = ("earlier", "linux-long", "linux-short", "long", "model-short", "short")
    names = [study["name"] for study in studies]
    assert [name for name in names if name.startswith("hurtig-2006")] == [
        f"hurtig-2006/{part}" for part in parts
    ]
    assert names == sorted(names)
    ran = json.loads(rexmit("run", study_file, "--out", "out", "--json").stdout)
    assert (ran["runs"], ran["failed"]) == (16, 0)
    doctor = json.loads(rexmit("doctor", "--json").stdout)
    foreign = list(third_parties())
    assert doctor["backends"] == ["model", *(f"stack:{name}" for name in foreign), "uml", "kernel"]
    names = {check["name"] for check in doctor["checks"]}
    assert names == {"tshark", "ns-3", "kernel", "ccache", *foreign, "namespaces"}
    assert json.loads(rexmit("studies", study_file, "--json").stdout)["runs"] == 16


def test_a_user_study_is_plotted_reported_and_not_compared(
    rexmit: Command, study_file: Path, tmp_path: Path
) -> None:
    assert rexmit("run", study_file, "--out", "out").returncode == 0
    drawn = rexmit("plot", "out", "--json")
    assert drawn.returncode == 0, drawn.stderr
    assert all((tmp_path / name).stat().st_size > 1000 for name in json.loads(drawn.stdout))
    assert rexmit("report", "out").returncode == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "A small study" in page
    assert "<svg" in page
    compared = rexmit("compare", "out")
    assert compared.returncode == 2
    assert "has no published numbers to compare with" in compared.stderr
    assert "two results folders are compared by `rexmit diff A B`" in compared.stderr


def test_a_disk_that_fills_while_captures_are_written_is_one_line(
    rexmit: Command, study_file: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("mounting a small file system needs root")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", small], check=False)
    if mounted.returncode != 0:
        pytest.skip("no small file system can be mounted here")
    try:
        done = rexmit("run", study_file, "--out", small / "out", "--capture", "all")
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("rexmit: error: ")]
        assert "no space left" in line
        assert (small / "out" / "runs.parquet").exists()
        assert not list(small.rglob("*.tmp"))
        subprocess.run(["mount", "-o", "remount,size=8m", small], check=True)
        again = rexmit("run", study_file, "--out", small / "out", "--capture", "all", "--resume")
        assert again.returncode == 0
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_damaged_table_is_one_line(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    assert rexmit("run", study_file, "--out", "out").returncode == 0
    (tmp_path / "out" / "runs.parquet").write_bytes(b"PAR1 and then nothing")
    done = rexmit("run", study_file, "--out", "out", "--resume")
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("rexmit: error: ")]
    assert "runs.parquet: is damaged" in line
    assert "remove it, then go on with --resume" in line
    (tmp_path / "out" / "runs.parquet").unlink()
    assert rexmit("run", study_file, "--out", "out", "--resume").returncode == 0


def test_a_number_that_is_none_is_one_line(rexmit: Command, study_file: Path) -> None:
    done = rexmit("run", study_file, "--set", "path.down.loss=nan", "--out", "out")
    assert done.returncode == 2
    assert "nan and inf are not values of a setting" in done.stderr


def test_a_study_with_profiles_in_files_stands_alone_once_it_is_resolved(
    rexmit: Command, study_file: Path, tmp_path: Path
) -> None:
    (tmp_path / "prof").mkdir()
    profile = tmp_path / "prof" / "mine.toml"
    profile.write_text('inherits = "freebsd-6.0"\nrecovery.dupack_threshold = 2\n')
    edited(
        study_file, '"path.delay" = ["5 ms", "20 ms"]', '"hosts.server.stack" = ["./prof/mine.toml", "rfc"]'
    )
    # From another folder: the profile is found beside the study.
    done = rexmit("run", study_file, "--out", tmp_path / "out", cwd=tmp_path / "prof")
    assert done.returncode == 0, done.stderr
    table = pl.read_parquet(tmp_path / "out" / "runs.parquet")
    assert set(table["hosts.server.stack"].to_list()) == {"./prof/mine.toml", "rfc"}
    resumed = rexmit("run", study_file, "--out", tmp_path / "out", "--resume", cwd="/")
    assert resumed.returncode == 0, resumed.stderr

    profile.unlink()
    (tmp_path / "elsewhere").mkdir()
    again = rexmit("run", "../out/study.toml", "--out", "again", cwd=tmp_path / "elsewhere")
    assert again.returncode == 0, again.stderr
    files = {tmp_path / "out" / "runs.parquet", tmp_path / "elsewhere" / "again" / "runs.parquet"}
    assert len({file.read_bytes() for file in files}) == 1
    own = rexmit("run", "out/study.toml", "--out", "out", "--resume")
    assert own.returncode == 0, own.stderr
    results = open_results(tmp_path / "out")
    run = results.run_number(hosts__server__stack="./prof/mine.toml", path__down__drop=3)
    assert results.table()["hosts.server.stack"][run] == "./prof/mine.toml"
    results.trace(run)


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (("--capture", "all"), "captures/*-client.pcapng"),
        (("--state", "all"), "tables/*-state.parquet"),
    ],
)
def test_a_signal_stops_captures_and_tables_soon(
    rexmit: Command, study_file: Path, tmp_path: Path, arguments: tuple[str, ...], pattern: str
) -> None:
    out, runs = tmp_path / "out", 1600
    # Doing all that was still to do after the signal, as a pool of threads does by itself, takes far longer.
    many = ("--set", f"design.replications={runs // 8}", *arguments)
    running = start(study_file, out, *many)
    deadline = time.monotonic() + 60
    while len(list(out.glob(pattern))) < 3:
        assert running.poll() is None, "it ended before it could be stopped; make the study larger"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    running.send_signal(signal.SIGINT)
    before = len(list(out.glob(pattern)))
    try:
        _, errors = running.communicate(timeout=10)
    finally:
        running.kill()
    assert running.returncode == 128 + signal.SIGINT
    assert "go on with --resume" in errors
    stored = {path: path.stat().st_mtime_ns for path in out.glob(pattern)}
    assert before <= len(stored) < runs / 2, "it went on after the signal"
    assert not list(out.rglob("*.tmp"))

    done = rexmit("run", study_file, "--out", out, *many, "--resume")
    assert done.returncode == 0, done.stderr
    assert len(list(out.glob(pattern))) == runs
    assert {path: path.stat().st_mtime_ns for path in stored} == stored, "what was finished was touched"


def test_no_python_beside_a_study_is_ever_run(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    # Where the package's own studies have their comparison; and a study that names itself by a file.
    package = tmp_path / "mine" / "mine"
    package.mkdir(parents=True)
    code = f"open({str(tmp_path / 'was-run')!r}, 'w')\ndef compare(results): raise SystemExit(7)\n"
    (package / "__init__.py").write_text(code)
    study = tmp_path / "mine" / "study.toml"
    study.write_text(study_file.read_text())
    assert rexmit("run", study, "--out", "out").returncode == 0
    record = json.loads((tmp_path / "out" / "study.json").read_text())
    for name in (str(study), "mine/study"):
        (tmp_path / "out" / "study.json").write_text(json.dumps({**record, "name": name}))
        compared = rexmit("compare", "out")
        assert compared.returncode == 2
        (line,) = compared.stderr.splitlines()
        assert line.startswith(
            f"rexmit: error: {name}: has no published numbers to compare with; those that have: "
        )
        assert "deboer-2005, hurtig-2006, klaver-2005" in line
        assert not re.search("hurtig-2006/|asymmetric-today", line)
        assert rexmit("report", "out").returncode == 0
        assert rexmit("plot", "out").returncode == 0
    assert not (tmp_path / "was-run").exists()


def test_a_list_for_what_is_no_factor_says_how_to_vary_it(rexmit: Command, study_file: Path) -> None:
    for key in ("path.rate", "scenario.path.rate", "path.down.loss"):
        done = rexmit("run", study_file, "--set", f'{key}=["1 Mbit/s"]', "--out", "out")
        assert done.returncode == 2
        (line,) = done.stderr.splitlines()
        assert line.endswith(f"; to vary it, use --set vary.{key.removeprefix('scenario.')}=...")
    done = rexmit("run", study_file, "--set", 'vary.path.rate=["1 Mbit/s", "2 Mbit/s"]', "--out", "out")
    assert done.returncode == 0, done.stderr
    assert "32 runs" in done.stdout


def test_the_examples_of_run_work_as_printed(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    help_text = rexmit("run", "--help").stdout
    examples = [line for line in help_text.splitlines() if line.startswith("    rexmit run ")]
    assert len(examples) >= 6
    study_file.rename(tmp_path / "my-study.toml")
    assert rexmit("run", "my-study.toml", "--out", "results/mine").returncode == 0
    for example in examples[1:]:
        if "uml" in example or "--cluster" in example:
            continue  # These need a kernel or a cluster, and have tests of their own.
        done = (
            rexmit(*shlex.split(example)[1:], "--set", "path.delay=5 ms")
            if "hurtig" in example
            else (rexmit(*shlex.split(example)[1:]))
        )
        assert done.returncode == 0, done.stderr


def test_resuming_what_is_finished_says_so(rexmit: Command, study_file: Path) -> None:
    assert "16 runs in" in rexmit("run", study_file, "--out", "out").stdout
    done = rexmit("run", study_file, "--out", "out", "--resume")
    assert done.stdout == "small: nothing left to run of 16 runs, results in out\n"


def test_direction_says_who_is_the_client(rexmit: Command) -> None:
    words = " ".join(rexmit("plot", "--help").stdout.split())
    assert "'client' is the side that opened the connection" in words


def test_a_picture_of_an_unknown_kind_is_refused(rexmit: Command, study_file: Path, tmp_path: Path) -> None:
    one = ("--set", "path.delay=5 ms", "--set", "path.down.drop=[{ position = 0 }]")
    assert rexmit("run", study_file, *one, "--out", "out", "--capture", "all").returncode == 0
    capture = tmp_path / "out/captures/run-00000000-client.pcapng"
    done = rexmit("plot", capture, "--out", "x.xyz")
    assert done.returncode == 2
    text = "cannot draw '.xyz'; end it in .svg, .png, .pdf, .html or .xpl"
    assert done.stderr == f"rexmit: error: --out x.xyz: {text}\n"
    assert not list(tmp_path.glob("x.*"))
    assert rexmit("plot", capture, "--out", "x.PDF").returncode == 0
