"""`rexmit analyze` as a user calls it, and `rexmit.analyze`."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import warnings
from pathlib import Path

import polars as pl
import pytest
import rexmit
from rexmit import analyze_pair, run_one
from rexmit.analyse import rows as plain
from rexmit.analyse.captures import TABLES, Options, Reading
from rexmit.analyse.overview import spread
from rexmit.analyse.quantities import duration, rate, share, size
from rexmit.analyse.words import CAUSES, LETTERS, SCTP_CAUSES, evidence, sctp_evidence
from rexmit.tables import analysis

from .conftest import Command, WriteCapture
from .packets import LOST_SEGMENT


def many(count: int) -> str:
    """A script of so many connections; the n-th has n segments."""
    lines = []
    for n in range(1, count + 1):
        port = f"port {20_000 + n}"
        lines += [
            f"{n}.0 c S 100+0 win 60000 ws 0 sackok {port}",
            f"{n}.1 s S 900+0 ack 101 win 60000 ws 0 sackok {port}",
            f"{n}.2 c . 101+0 ack 901 win 60000 {port}",
        ]
        lines += [f"{n}.3 s . {901 + 10 * k}+10 ack 101 {port}" for k in range(n)]
    return "\n".join(lines)


def test_the_summary_says_what_matters(rexmit: Command, lost_segment: Path) -> None:
    done = rexmit("analyze", lost_segment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "17 packets, 1 TCP connection" in done.stdout
    assert "TCP retransmissions: 1: 1 fast" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if "10.0.1.1:40000 ← 10.0.2.2:80" in line]
    assert "5 kB" in line
    assert line.rstrip().endswith("server")


def test_a_connection_is_shown_whole(rexmit: Command, lost_segment: Path) -> None:
    done = rexmit("analyze", lost_segment, "--connection", 1)
    assert done.returncode == 0
    for text in ("10.0.2.2:80", "Made at the server", "SACK", "fast retransmit", "closed by both sides"):
        assert text in done.stdout
    missing = rexmit("analyze", lost_segment, "--connection", 2)
    assert missing.returncode == 2
    assert missing.stderr == (
        "rexmit: error: no connection 2; the capture has 1 connection, counted from 1\n"
    )


def test_a_retransmission_is_a_line_with_its_evidence(rexmit: Command, lost_segment: Path) -> None:
    done = rexmit("analyze", lost_segment, "--retransmissions")
    head, line = done.stdout.splitlines()
    assert head.split()[:4] == ["#", "packet", "time", "from"]
    words = line.split()
    assert words[:7] == ["1", "13", "0.046000", "server", "1001", "1000", "2"]
    assert "fast" in words
    assert "24 ms" in line
    assert "after 3 duplicate ACKs and 3 segments above it reported by SACK" in line


def test_json_has_the_columns_of_the_tables_as_keys(rexmit: Command, lost_segment: Path) -> None:
    done = rexmit("analyze", lost_segment, "--json", "--retransmissions")
    found = json.loads(done.stdout)
    assert found["packets"] == found["tcp_packets"] == 17
    assert found["broken_off"] is None
    assert found["causes"] == {"tcp": {"fast": 1}, "sctp": {}}
    [connection] = found["connections"]
    assert connection["server"]["acked_bytes"] == 5000
    assert connection["server"]["cause_fast"] == 1
    assert connection["client"]["address"] == "10.0.1.1:40000"
    names = set(analysis()["connections"])
    assert names == {
        f"{key}_{inner}" if key in ("client", "server") else key
        for key, value in connection.items()
        for inner in (value if key in ("client", "server") else [""])
    }
    [again] = found["retransmissions"]
    assert (again["number"], again["cause"], again["delay_first_ns"]) == (13, "fast", 24_000_000)
    assert again["why"].startswith("after 3 duplicate ACKs")


def test_tables_are_the_same_in_every_form(rexmit: Command, lost_segment: Path, tmp_path: Path) -> None:
    for form in ("parquet", "csv"):
        done = rexmit("analyze", lost_segment, "--tables", form, "--only", "all", "--format", form)
        assert done.returncode == 0, done.stderr
    files = sorted(path.stem for path in (tmp_path / "parquet").iterdir())
    assert files == sorted(TABLES)
    found = rexmit_tables(lost_segment)
    for name in TABLES:
        table = pl.read_parquet(tmp_path / "parquet" / f"{name}.parquet")
        assert table.equals(found[name].cast(dict(table.schema)))
        with (tmp_path / "csv" / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == table.height
        if rows:
            assert list(rows[0]) == table.columns
    segments = found["segments"]
    assert segments.height == 17
    assert segments["note"].drop_nulls().to_list() == ["dropped by pattern at position 3"]
    assert segments.filter(pl.col("side") == "server")["seq"].to_list()[:3] == [0, 1, 1001]
    assert segments["ack"].null_count() == 1


def rexmit_tables(capture: Path) -> dict[str, pl.DataFrame]:
    found = rexmit.analyze(capture, tables="all")
    return {name: getattr(found, name) for name in TABLES}


def test_plain_rows_are_those_of_arrow(lost_segment: Path) -> None:
    found = rexmit_tables(lost_segment)
    reading = Reading([lost_segment], Options(tables=TABLES))
    rows: dict[str, list[plain.Row]] = {name: [] for name in TABLES}
    for tables in reading:
        for name in TABLES:
            rows[name] += plain.rows(tables[name])
    for name in TABLES:
        assert rows[name] == found[name].to_dicts()
        assert all(column.meaning for column in analysis()[name].values())


def test_only_some_tables_are_written(rexmit: Command, lost_segment: Path, tmp_path: Path) -> None:
    rexmit("analyze", lost_segment, "--tables", "out", "--only", "rtt, connections")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "connections.parquet",
        "rtt.parquet",
    ]
    rexmit("analyze", lost_segment, "--tables", "small")
    assert not (tmp_path / "small" / "segments.parquet").exists()
    assert (tmp_path / "small" / "retransmissions.parquet").exists()


def test_a_damaged_capture_gives_what_can_be_read_and_exit_code_1(
    rexmit: Command, lost_segment: Path, tmp_path: Path
) -> None:
    lost_segment.write_bytes(lost_segment.read_bytes()[:-20])
    done = rexmit("analyze", lost_segment, "--tables", "out")
    assert done.returncode == 1
    assert "16 packets" in done.stdout
    assert "fast" in done.stdout
    assert "warning: byte " in done.stdout
    assert pl.read_parquet(tmp_path / "out" / "connections.parquet")["packets"].to_list() == [16]
    found = json.loads(rexmit("analyze", lost_segment, "--json").stdout)
    assert found["broken_off"]["offset"] < lost_segment.stat().st_size
    with pytest.warns(UserWarning, match="ends within"):
        assert rexmit_connections(lost_segment).height == 1


def rexmit_connections(capture: Path) -> pl.DataFrame:
    return rexmit.analyze(capture).connections


def test_no_file_of_before_is_lost_when_the_disk_is_full(
    lost_segment: Path, write_capture: WriteCapture, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "segments.csv").write_text("before")
    big = write_capture("\n".join(f"{n} s . {901 + n}+1 ack 101" for n in range(4000)))
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000));"
        "import rexmit.cli; rexmit.cli.main()"
    )
    options = ["--tables", str(out), "--only", "segments", "--format", "csv"]
    done = subprocess.run(
        [sys.executable, "-c", limited, "analyze", str(big), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert str(out / "segments.csv") in done.stderr
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [("segments.csv", "before")]


def test_of_many_connections_those_that_matter_are_shown(
    rexmit: Command, write_capture: WriteCapture
) -> None:
    capture = write_capture(many(50))
    done = rexmit("analyze", capture)
    assert "30 more connections not shown" in done.stdout
    shown = [line.split()[0] for line in done.stdout.splitlines() if "10.0.2.2:80" in line]
    assert shown == [str(n) for n in range(50, 30, -1)]
    few = rexmit("analyze", capture, "--limit", 3, "--sort", "number").stdout
    assert [line.split()[0] for line in few.splitlines() if "10.0.2.2:80" in line] == ["1", "2", "3"]
    assert rexmit("analyze", capture, "--limit", 0).stdout.count("10.0.2.2:80") == 50
    numbers = [
        row["connection"] for row in json.loads(rexmit("analyze", capture, "--json").stdout)["connections"]
    ]
    assert numbers == list(range(1, 51))


def test_a_filter_keeps_some_packets(rexmit: Command, write_capture: WriteCapture) -> None:
    capture = write_capture(many(5))
    done = rexmit("analyze", capture, "--filter", "tcp.port == 20003")
    assert done.stdout.count("10.0.2.2:80") == 1
    assert "10.0.1.1:20003" in done.stdout
    wrong = rexmit("analyze", capture, "--filter", "tcp.prt == 1")
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("rexmit: error: filter: ")


def test_three_captures_are_judged_one_after_another(
    rexmit: Command, lost_segment: Path, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.pcapng").write_bytes(lost_segment.read_bytes())
    done = rexmit("analyze", "a.pcapng", "b.pcapng", "a.pcapng", "--tables", "out", "--only", "rtt")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("17 packets") == 3
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a-1", "a-3", "b"]
    found = json.loads(rexmit("analyze", "a.pcapng", "b.pcapng", "--separate", "--json").stdout)
    assert [one["captures"] for one in found] == [["a.pcapng"], ["b.pcapng"]]


@pytest.mark.parametrize("options", [[], ["--json"], ["--retransmissions"], ["--connection", "1"]])
def test_a_summary_loads_no_library_of_tables_or_figures(lost_segment: Path, options: list[str]) -> None:
    code = (
        "import sys, rexmit.cli\n"
        "try: rexmit.cli.main(sys.argv[1:])\n"
        "finally:\n"
        "  heavy = {'numpy', 'pyarrow', 'polars', 'matplotlib'} & set(sys.modules)\n"
        "  assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "analyze", str(lost_segment), *options],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_two_captures_are_matched(rexmit: Command, tmp_path: Path) -> None:
    options = {"capture_server": tmp_path / "server.pcapng", "capture_client": tmp_path / "client.pcapng"}
    row = run_one("hurtig-2006/short", path__down__drop=9, options=options)["row"]
    done = rexmit("analyze", "server.pcapng", "client.pcapng", "--json", "--retransmissions")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    down = next(pair for pair in found["pairs"] if pair["side"] == "server")
    assert (down["packets"], down["lost"], down["near_sender"]) == (
        row["packets_down"],
        row["drops_down"],
        "a",
    )
    [again] = found["retransmissions"]
    assert (again["lost_at"], again["need"]) == ("between", "needed")
    assert found["clock"]["method"] == "both-ways"
    assert abs(found["clock"]["offset_ns"]) <= 1_000_000
    text = rexmit("analyze", "server.pcapng", "client.pcapng", "--tables", "out", "--only", "all").stdout
    assert "B's clock shows" in text
    crossings = pl.read_parquet(tmp_path / "out" / "crossings.parquet")
    assert crossings.filter(pl.col("fate") == "lost").height == row["drops_down"]
    both = analyze_pair(tmp_path / "server.pcapng", tmp_path / "client.pcapng")
    assert both.crossings.equals(crossings.cast(dict(both.crossings.schema)))
    assert both.retransmissions["lost_at"].to_list() == ["between"]
    assert both.clock == found["clock"]
    assert both.pairs.height == 2
    wrong = rexmit("analyze", "server.pcapng", "client.pcapng", "--connection", 1)
    assert wrong.returncode == 2
    assert "--separate" in wrong.stderr


def test_python_gives_tables_and_reads_large_ones_when_they_are_used(lost_segment: Path) -> None:
    found = rexmit.analyze(lost_segment)
    assert found.retransmissions["cause"].to_list() == ["fast"]
    assert found.explain(found.retransmissions.row(0, named=True)).startswith("after 3 duplicate ACKs")
    assert found.segments.height == 17
    assert found.arrow("rtt").num_rows == found.rtt.height > 0
    assert found.associations.height == found.chunks.height == 0
    assert found.warnings == []
    assert "17 packets" in repr(found)
    assert "fast" in found._repr_html_()
    with pytest.raises(rexmit.UsageError, match="did you mean 'segments'"):
        found.arrow("segment")
    with pytest.raises(rexmit.UsageError, match="loss_event_rtts 0"):
        rexmit.analyze(lost_segment, loss_event_rtts=0)


def test_every_cause_has_words_and_a_letter() -> None:
    columns = {name: column.type for name, column in analysis()["retransmissions"].items()}
    assert json.loads(columns["cause"].removeprefix("dict:")) == list(CAUSES) == list(LETTERS)
    row = dict.fromkeys(columns) | {"duplicates": 0, "sacked": 0, "outstanding": 0, "backoff": 0, "rto_ns": 2}
    needs, proofs = (json.loads(columns[name].removeprefix("dict:")) for name in ("need", "proof"))
    for cause in CAUSES:
        for need in needs:
            for proof in proofs:
                assert evidence({**row, "cause": cause, "need": need, "proof": proof})
    columns = {name: column.type for name, column in analysis()["sctp_retransmissions"].items()}
    assert json.loads(columns["cause"].removeprefix("dict:")) == list(SCTP_CAUSES)
    row = dict.fromkeys(columns) | {"reports": 2, "strikes": 1, "backoff": 0, "moved": False}
    for cause in SCTP_CAUSES:
        for proof in json.loads(columns["proof"].removeprefix("dict:")):
            assert sctp_evidence({**row, "cause": cause, "need": "spurious", "proof": proof})


@pytest.mark.parametrize(
    ("sent", "acked", "outstanding", "says"),
    [
        (152, 101, 100, "152 ms after something was sent, before the estimated RTO of 200 ms"),
        (215, 152, 100, "152 ms after the last ACK, before the estimated RTO of 200 ms"),
        (311, 259, 100, "259 ms after the last ACK, past the estimated RTO of 200 ms: a timer's expiry"),
        (311, 1259, 100, "311 ms after something was sent, past the estimated RTO of 200 ms: a timer's"),
        (311, None, 100, "311 ms after something was sent, past the estimated RTO of 200 ms: a timer's"),
        (618, 417, 250, "417 ms after the last ACK; a timer would send the first that is missing"),
    ],
)
def test_a_tail_probe_is_not_said_to_be_before_a_timeout_that_had_passed(
    sent: int, acked: int | None, outstanding: int, says: str
) -> None:
    row = {
        "cause": "tail-probe",
        "need": "needed",
        "proof": "none",
        "seq": 1,
        "end": 101,
        "outstanding": outstanding,
    }
    times = {"since_sent_ns": sent, "since_ack_ns": acked, "rto_ns": 200}
    row |= {name: None if ms is None else ms * 1_000_000 for name, ms in times.items()}
    assert evidence(row).startswith(f"the last data again, {says}")


def test_numbers_are_read_easily() -> None:
    assert [duration(ns) for ns in (None, 0, 12, 1500, 12_345_678, 999_999_999, 3e9)] == [
        *("-", "0 s", "12 ns", "1.5 us", "12.3 ms", "1 s", "3 s"),
    ]
    assert [size(count) for count in (0, 999, 1000, 1_234_567)] == ["0 B", "999 B", "1 kB", "1.23 MB"]
    assert rate(1.86e6) == "1.86 Mbit/s"
    assert [share(value) for value in (None, 0, 0.0123, 1)] == ["-", "0 %", "1.23 %", "100 %"]
    found = spread([30, None, 10, 20])
    assert found is not None
    assert (found.count, found.min, found.max, found.mean, found.sd, found.p50) == (3, 10, 30, 20, 10, 20)
    assert spread([None]) is None


def test_nothing_warns_where_all_is_well(lost_segment: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rexmit.analyze(lost_segment)
    assert LOST_SEGMENT.count("\n") == 18
