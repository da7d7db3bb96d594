"""What `rexmit analyze` prints: of odd captures, in narrow terminals, and where nothing can be said."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit.analyse import overview
from rexmit.analyse.captures import Options, Reading, Summary, native_options
from rexmit.analyse.overview import Overview, Wanted
from rexmit.errors import UsageError, printable
from rexmit.plot import graphs
from rexmit.report import terminal, terminal_detail
from rich.console import Console

from .conftest import Command
from .packets import LOST_SEGMENT, capture

CAPTURES = Path(__file__).parents[1] / "captures"
SCTP = CAPTURES / "usrsctp" / "thin.sender.pcap.gz"

EVIL = "\x1b]0;owned\x07\nwarning: all is well\x9b31m\u202e"


def shell(line: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a line of shell; `$R` is the command."""
    code = "import rexmit.cli; rexmit.cli.main()"
    return subprocess.run(
        ["sh", "-c", f'R() {{ "{sys.executable}" -c "{code}" "$@"; }}; {line}', "sh", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **options,
    )


def raw(text: str) -> set[str]:
    """Control characters in a text, but for the ends of lines."""
    return {letter for letter in text if not letter.isprintable()} - {"\n"}


@pytest.mark.parametrize("options", [[], ["--json"], ["--retransmissions"]])
def test_a_full_output_is_an_error_of_one_line(lost_segment: Path, options: list[str]) -> None:
    done = shell('R analyze "$@" > /dev/full', lost_segment, *options)
    assert done.returncode == 1
    assert done.stderr == (
        "rexmit: error: standard output: cannot be written or read: No space left on device\n"
    )


def test_what_a_terminal_would_obey_is_escaped() -> None:
    assert printable("a\x1b[2J\n\x9b\u202e\udcff é") == "a\\x1b[2J\\n\\x9b\\u202e\\udcff é"


def test_names_of_captures_cannot_rule_the_terminal(tmp_path: Path) -> None:
    path = tmp_path / f"{EVIL.replace('/', '')}.pcapng"
    path.write_bytes(capture(LOST_SEGMENT))
    told = Summary(interfaces=[{"name": EVIL, "dropped_by_interface": 3, "dropped_by_system": None}])
    told.interfaces[0]["dropped_between"] = 0
    [warning] = told.warnings
    assert not raw(warning)
    assert "\n" not in warning
    for line in ('R analyze "$1" "$1" "$1"', 'R analyze --json "$1"', 'R plot "$1" --out "$1.svg"'):
        done = shell(line, path, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not raw(done.stdout + done.stderr)
        assert not any(text.startswith("warning") for text in done.stdout.splitlines())
    assert json.loads(shell('R analyze --json "$1"', path).stdout)["captures"] == [str(path)]
    broken = shell('R analyze "$1"', tmp_path / EVIL)
    assert (broken.returncode, raw(broken.stderr), len(broken.stderr.splitlines())) == (2, set(), 1)


def test_names_of_interfaces_in_figures_are_escaped(tmp_path: Path) -> None:
    path = tmp_path / "named.pcapng"
    path.write_bytes(capture(LOST_SEGMENT).replace(b"server\0\0", b"\x1b[31m\n\0\0"))
    [flow] = graphs.flows_of(path, [1], None)
    assert flow.interface == "\\x1b[31m"
    assert graphs.route(flow, "server") == "10.0.2.2:80 to 10.0.1.1:40000, seen at \\x1b[31m"


def test_figures_of_a_capture_without_names_of_interfaces_name_none() -> None:
    [flow] = graphs.flows_of(CAPTURES / "public" / "dpkt-http.pcap", [1], None)
    assert flow.interface == ""
    assert "seen at" not in graphs.route(flow, "server")


@pytest.mark.parametrize("path", [SCTP, CAPTURES / "linux" / "acks-and-data-lost.server.pcap.gz"])
def test_narrow_terminals_get_lines_that_fit(path: Path) -> None:
    found = Overview(Wanted(connection=1, association=1))
    for tables in Reading([path], Options()):
        found.add(tables)
    texts = {}
    for width in (80, 200):
        console = Console(file=io.StringIO(), width=width)
        for row in found.kept["connections"]:
            terminal_detail.print_connection(console, row, found)
        for row in found.kept["associations"]:
            terminal_detail.print_association(console, row, found)
        terminal_detail.print_retransmissions(console, found.retransmissions(), found.starts)
        assert isinstance(console.file, io.StringIO)
        texts[width] = console.file.getvalue()
    assert max(map(len, texts[80].splitlines())) <= 80
    for text in texts.values():
        words = " ".join(text.split())
        for row in found.retransmissions():
            assert f"{row['number']}" in words
            assert row["cause"] in words
        assert "…" not in text
    # Wide, a retransmission is a line; narrow, it is several.
    assert len(texts[80].splitlines()) > len(texts[200].splitlines())


def test_graphs_of_sctp_are_drawn_where_they_can_be(rexmit: Command, tmp_path: Path) -> None:
    done = rexmit("analyze", SCTP, "--graphs", "out")
    files = ["out/graphs.html", "out/association-1-tsg.svg"]
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (0, files)
    assert {f"out/{path.name}" for path in (tmp_path / "out").iterdir()} == set(files)
    page = rexmit("analyze", SCTP, "--association", 1, "--graphs", "page", "--graph-format", "html")
    assert (page.returncode, [path.name for path in (tmp_path / "page").iterdir()]) == (0, ["graphs.html"])
    drawn = rexmit("plot", SCTP, "--out", "a.svg")
    assert drawn.returncode == 2
    assert "give --html for a page of those, or `rexmit analyze --graphs DIR`" in drawn.stderr
    assert rexmit("plot", SCTP, "--html", "--out", "a").stdout == "a.html\n"


def test_a_full_disk_at_graphs_speaks_of_no_resume(lost_segment: Path, tmp_path: Path) -> None:
    code = (
        "import resource; import matplotlib.font_manager\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (9000, 9000))\n"
        "import errno, rexmit.files.errors as files\n"
        "files.FULL.add(errno.EFBIG)\n"
        "import rexmit.cli; rexmit.cli.main()"
    )
    arguments = ["analyze", str(lost_segment), "--graphs", str(tmp_path / "out"), "--graph-format", "png"]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.endswith("no space left on its disk; free some")
    assert list((tmp_path / "out").iterdir()) == []


def test_nothing_is_printed_of_a_choice_that_is_not_there(rexmit: Command, lost_segment: Path) -> None:
    done = rexmit("analyze", lost_segment, "--connection", 1, "--association", 1)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no association 1; the capture has 0 associations" in done.stderr


@pytest.mark.parametrize(
    "wrong",
    [
        *({"loss_event_rtts": value} for value in (math.nan, math.inf, -1.0, 0.0)),
        *({"jobs": value} for value in (-1, 0, 2**40)),
        *({"sctp_threshold": value} for value in (0, 2**40)),
    ],
)
def test_wrong_numbers_are_told_with_what_is_allowed(wrong: dict[str, Any]) -> None:
    [name] = wrong
    with pytest.raises(UsageError, match=f"^{name} .*: give a .*number"):
        native_options(replace(Options(), **wrong))


def test_wrong_numbers_of_the_command_are_told_so_too(rexmit: Command, lost_segment: Path) -> None:
    for value in ("nan", "inf"):
        done = rexmit("analyze", lost_segment, "--loss-event-rtts", value)
        assert done.returncode == 2
        assert done.stderr == (f"rexmit: error: loss_event_rtts {value}: give a number above 0, such as 2\n")


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        (["--format", "csv"], "--tables DIR"),
        (["--only", "rtt"], "--tables DIR"),
        (["--graph-format", "svg"], "--graphs DIR"),
        (["--same-clock"], "two captures"),
        (["--whole"], "two captures"),
    ],
)
def test_no_option_is_ignored(rexmit: Command, lost_segment: Path, options: list[str], needed: str) -> None:
    done = rexmit("analyze", lost_segment, *options)
    assert done.returncode == 2
    assert done.stderr == f"rexmit: error: {options[0]} does nothing without {needed}; give both\n"


def test_standard_input_is_read(lost_segment: Path) -> None:
    done = shell('R analyze - < "$1"; cat "$1" | R analyze - --json', lost_segment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "17 packets, 1 TCP connection" in done.stdout
    graphs_of_pipe = shell('cat "$1" | R analyze - --graphs /nonexistent/out', lost_segment)
    assert graphs_of_pipe.returncode == 2
    assert "is a pipe; write it to a file" in graphs_of_pipe.stderr


def test_what_a_killed_run_left_is_removed(rexmit: Command, lost_segment: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    for name in ("segments.parquet.tmp", "rtt.csv.tmp", "mine.tmp", "segments.csv"):
        (out / name).write_text("before")
    done = rexmit("analyze", lost_segment, "--tables", out, "--only", "connections")
    assert done.returncode == 0
    assert {path.name for path in out.iterdir()} == {"connections.parquet", "mine.tmp", "segments.csv"}


def test_a_changed_capture_is_not_read_for_more_tables(lost_segment: Path) -> None:
    found = rexmit.analyze(lost_segment)
    before = os.stat(lost_segment)
    assert found.rtt.height > 0
    lost_segment.write_bytes(capture("1 s . 901+10 ack 101"))
    os.utime(lost_segment, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert found.rtt.height > 0
    with pytest.raises(rexmit.RexmitError, match="is not what it was when it was analysed"):
        _ = found.segments
    with pytest.raises(rexmit.RexmitError, match="is not what it was"):
        found.plot(lost_segment.with_suffix(".svg"))


def test_without_pandas_the_error_says_what_to_install(
    lost_segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = rexmit.analyze(lost_segment)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(rexmit.RexmitError, match=r"pip install pandas"):
        found.to_pandas("rtt")


def test_only_a_whole_row_is_explained(lost_segment: Path) -> None:
    found = rexmit.analyze(lost_segment)
    wrong: list[Any] = [{}, {"tsn": 1}, {"cause": "fast"}, found.retransmissions, None]
    for row in wrong:
        with pytest.raises(UsageError, match="explain takes a whole row of retransmissions"):
            found.explain(row)


def test_what_was_acknowledged_and_not_captured_is_told(rexmit: Command, tmp_path: Path) -> None:
    lines = [line for line in LOST_SEGMENT.strip().splitlines() if " 3901+" not in line]
    path = tmp_path / "gap.pcapng"
    path.write_bytes(capture("\n".join(lines)))
    text = rexmit("analyze", path).stdout
    assert "TCP: 1 kB of 1 connection acknowledged, not in the capture" in text
    assert "bit/s" in text
    few = [line for line in lines if " 4901+" not in line and " 2901+" not in line]
    path.write_bytes(capture("\n".join(few)))
    text = rexmit("analyze", path).stdout
    assert "TCP: 3 kB of 1 connection acknowledged, not in the capture" in text
    assert "bit/s" not in text


def test_goodput_is_not_told_where_most_was_not_seen() -> None:
    row = {"client_goodput_bit_s": 5.0, "client_unseen_bytes": 50, "client_acked_bytes": 100}
    assert overview.goodput(row, "client") == 5.0
    assert overview.goodput({**row, "client_unseen_bytes": 51}, "client") is None


def test_cut_options_and_times_that_go_back_are_warned_of() -> None:
    told = Summary.of({"options_cut": 2, "backwards": {"packets": 1, "largest_ns": 1_500_000}, "new": 1})
    assert told.warnings == [
        "2 packets of which the capture kept only a part of the TCP options; "
        "SACK blocks and timestamps may be missing there",
        "1 packet has a time before the previous packet (by up to 1.5 ms); "
        "small steps were put in order, after larger ones, times and causes may be wrong",
    ]
    none = {"options_cut": 0, "backwards": {"packets": 0, "largest_ns": 0}}
    assert Summary.of(none).warnings == Summary.of({"backwards": None}).warnings == []


def test_unknown_windows_are_a_dash(lost_segment: Path) -> None:
    found = Overview(Wanted(connection=1))
    for tables in Reading([lost_segment], Options()):
        found.add(tables)
    [row] = found.kept["connections"]
    names = ("min_window", "max_window", "zero_windows", "zero_window_ns", "window_limited_ns")
    for name in names:
        row[f"client_{name}"] = None
    console = Console(file=io.StringIO(), width=200)
    terminal_detail.print_connection(console, row, found)
    assert isinstance(console.file, io.StringIO)
    [line] = [line for line in console.file.getvalue().splitlines() if "largest window" in line]
    assert line.split()[3] == "-"


def test_addresses_are_no_markup(rexmit: Command) -> None:
    console = Console(file=io.StringIO(), width=20)
    table = terminal.columns([("address", "[fe80::1]:80", "[b]:1")])
    terminal.print_table(console, table)
    assert isinstance(console.file, io.StringIO)
    assert "[fe80::1]:80" in console.file.getvalue()
