"""Slips of the first users: each is one line that says what to write, and nothing is ignored in silence."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from rexmit.cli import emulate, main

from .conftest import Command, edited


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["runn", "x"], "there is no command 'runn'; did you mean 'run'?"),
        (["help"], "there is no command 'help'; write rexmit --help"),
        (["help", "run"], "there is no command 'help'; write rexmit run --help"),
        (["kernel", "bild"], "there is no command 'bild'; did you mean 'build'?"),
        (["run", "labyrinth"], "nor such a file; `rexmit studies` lists those of the package"),
        (
            ["emulate", "curl", "http://x"],
            "put -- before COMMAND: rexmit emulate [OPTIONS] -- curl http://x\n",
        ),
        (["emulate", "curl"], "put -- before COMMAND: rexmit emulate [OPTIONS] -- curl\n"),
        (["emulate", "--loss", "1%", "-q", "curl", "-O", "x y"], "[OPTIONS] -- curl -O 'x y'\n"),
        (["emulate", "--between", "a", "b", "ls", "--rate"], "[OPTIONS] -- ls --rate\n"),
        (["emulate", "lab.toml", "sh", "-c", "ls"], "[OPTIONS] lab.toml -- sh -c ls\n"),
        (
            ["emulate", "lab.toml", "--at", "far", "iperf3", "-s"],
            "put its command in quotes: --at far 'iperf3 -s'\n",
        ),
        (["emulate", "--at", "far", "ls", "/", "--host", "near"], "in quotes: --at far 'ls /'\n"),
        (["emulate", "--latency", "5ms", "--", "true"], "no such option: --latency; did you mean '--delay'?"),
        (["emulate", "--bandwidth", "5", "--", "true"], "did you mean '--rate'?"),
    ],
)
def test_a_slip_is_one_line_with_what_was_meant(rexmit: Command, arguments: list[str], text: str) -> None:
    done = rexmit(*arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert text in done.stderr


def test_a_study_beside_us_is_meant_by_its_name(rexmit: Command, study_file: Path) -> None:
    done = rexmit("run", study_file.stem)
    assert done.returncode == 2
    assert "there is no study 'small', nor such a file; did you mean 'small.toml'?" in done.stderr


def test_a_folder_or_a_name_with_a_slip_leads_to_the_study_that_was_meant(
    rexmit: Command, study_file: Path
) -> None:
    def told(name: str) -> str:
        done = rexmit("run", name)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        return done.stderr

    assert told("smal.tml").endswith("did you mean 'small.toml'?\n")
    assert (
        told("smll.toml") == "rexmit: error: smll.toml: there is no such file; did you mean 'small.toml'?\n"
    )
    for folder in (".", "/", ""):
        assert "did you mean" in told(folder) or "name a study's file" in told(folder)
    (study_file.parent / "empty").mkdir()
    assert "it is a folder without one; name a study's file" in told("empty")
    assert rexmit("run", study_file, "--out", "kept").returncode == 0
    assert told("kept/").endswith("did you mean 'kept/study.toml'?\n")


UDP = bytes.fromhex("4500001e000000004011000000010203040506070035003500 0a000041 42".replace(" ", ""))


def _pcap(packets: list[bytes]) -> bytes:
    """A capture of packets that begin with an IP header."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    return head + b"".join(struct.pack("<IIII", 0, 0, len(one), len(one)) + one for one in packets)


def test_a_capture_without_tcp_says_that_nothing_can_be_judged(rexmit: Command, tmp_path: Path) -> None:
    (tmp_path / "udp.pcap").write_bytes(_pcap([UDP]))
    (tmp_path / "none.pcap").write_bytes(_pcap([]))
    done = rexmit("analyze", "udp.pcap")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "udp.pcap: neither TCP nor SCTP, so nothing to judge: capture the transfer" in done.stderr
    assert "no packets: capture while the transfer runs" in rexmit("analyze", "none.pcap").stderr
    told = json.loads(rexmit("analyze", "udp.pcap", "--json").stdout)
    assert told["warnings"][-1].startswith("neither TCP nor SCTP")


def test_a_graph_of_a_capture_that_breaks_off_says_so(
    rexmit: Command, lost_segment: Path, tmp_path: Path
) -> None:
    whole = lost_segment.read_bytes()
    (tmp_path / "part.pcapng").write_bytes(whole[: len(whole) - 10])
    done = rexmit("plot", "part.pcapng", "--format", "svg")
    assert (done.returncode, done.stdout) == (0, "part.svg\n")
    assert "the capture ends within the block that begins here" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert rexmit("plot", lost_segment, "--out", "whole.svg").stderr == ""


def test_an_emulation_that_was_late_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    invalid = "the emulator did not keep up: 31 of 373 packets came out more than 10 ms late"
    last = {"code": 0, "invalid": invalid, "unreached": [], "device": "tun", "summary": {}}
    monkeypatch.setattr(emulate, "run_emulation", lambda *_: last)
    shown = emulate._Shown(live=False, quiet=True, as_json=False, plain=frozenset())
    assert emulate._run(None, shown) == 1  # type: ignore[arg-type]
    told = f"the emulation is not valid: {invalid}; use an idle machine, --mode busy or --virtual"
    assert capsys.readouterr().err == f"rexmit: error: {told}\n"


def test_what_is_one_is_no_plural(rexmit: Command, study_file: Path) -> None:
    assert rexmit("studies", study_file).stdout.splitlines()[-2] == "8 combinations x 2 = 16 runs, seed 7"
    edited(study_file, '"path.delay" = ["5 ms", "20 ms"]', '"path.delay" = ["5 ms"]')
    edited(study_file, '"path.down.drop" = { position = "0..3" }', "")
    told = rexmit("studies", study_file).stdout.splitlines()
    assert told[-3:-1] == ["varies path.delay: 1 level: 5 ms", "1 combination x 2 = 2 runs, seed 7"]
    edited(study_file, "replications = 2", "replications = 1")
    assert rexmit("studies", study_file).stdout.splitlines()[-2] == "1 run, seed 7"
    assert rexmit("run", study_file, "--out", "out").stdout.startswith("small: 1 run in ")
    assert rexmit("report", "out").returncode == 0
    assert "1 run " in (study_file.parent / "out/report.html").read_text()


@pytest.mark.parametrize("columns", ["80", "100"])
@pytest.mark.parametrize("command", [(), ("kernel",), ("model",), ("pattern",)])
def test_no_summary_of_a_command_is_cut(
    command: tuple[str, ...],
    columns: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    listed = capsys.readouterr().out.partition("Commands:")[2].partition("Example")[0]
    assert "..." not in listed
    assert listed.split(), command


def test_the_package_is_a_program(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "rexmit", "--version"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()[0]) == (0, "rexmit")
    done = subprocess.run([sys.executable, "-m", "rexmit", "runn"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("rexmit: error: ")) == (2, 1)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (
            ["--graph", "cwnd", "--t", "0:3", "--connection", "2"],
            "--connection, --t, --graph are of captures",
        ),
        (["--theme", "light"], "--theme is of captures"),
        (["--direction", "client", "--format", "png"], "--direction is of captures"),
        (["--state", "x.parquet"], "--state is of captures"),
    ],
)
def test_options_that_a_results_folder_has_nothing_for_are_refused(
    rexmit: Command, study_file: Path, tmp_path: Path, options: list[str], named: str
) -> None:
    assert rexmit("run", study_file, "--out", "out").returncode == 0
    done = rexmit("plot", "out", *options)
    assert done.returncode == 2
    assert named in done.stderr
    assert "its figures take --out, --run, --format and --json" in done.stderr
    assert not (tmp_path / "out/figures").exists()


def test_a_table_of_states_is_refused_where_no_graph_shows_it(rexmit: Command, lost_segment: Path) -> None:
    done = rexmit("plot", lost_segment, "--state", "x.parquet", "--graph", "rtt")
    assert done.returncode == 2
    assert "--state is for the graph of the congestion window or a page" in done.stderr
