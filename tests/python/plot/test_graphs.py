"""Graphs of captures beside the time-sequence graph: what they show, and files for xplot and browsers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rexmit import UsageError, run_one
from rexmit.plot import graphs, series, xplot
from rexmit.plot.flows import Flow, read_flows

from ..conftest import Command, WriteCapture

KINDS = ("tsg", "outstanding", "rtt", "throughput")


@pytest.fixture
def flow(lost_segment: Path) -> Flow:
    [found], _ = read_flows(lost_segment)
    return found


def at(steps: series.Steps, ms: float) -> float:
    """The value just after this time."""
    return float(steps.value[np.flatnonzero(steps.time <= ms / 1e3 + 1e-9)[-1]])


def test_outstanding_data_follow_segments_and_acknowledgments(flow: Flow) -> None:
    steps = series.outstanding(flow, "server")
    assert [at(steps, ms) for ms in (21, 22, 25)] == [1000, 2000, 5000]
    assert at(steps, 40) == 4000
    assert at(steps, 60) == 0
    assert at(series.outstanding(flow, "client"), 60) == 0


def test_the_window_is_that_of_the_other_side(flow: Flow) -> None:
    steps = series.window(flow, "server")
    assert set(steps.value.tolist()) == {7000.0}
    assert set(series.window(flow, "client").value.tolist()) == {60_000.0, 1000.0}
    assert len(steps.time) == len(flow.of(flow.segments, "client")["ack"]) - 1


def test_throughput_and_goodput_are_bits_over_time(flow: Flow) -> None:
    data = series.throughput(flow, "server")
    assert data.time.tolist() == pytest.approx([0.021, 0.022, 0.023, 0.024, 0.025, 0.046])
    assert np.isnan(data.instant[0])
    assert data.instant[1:].tolist() == pytest.approx([8e6, 8e6, 8e6, 8e6, 8000 / 0.021])
    assert data.average[-1] == pytest.approx(5 * 8000 / 0.025)
    assert data.goodput.time.tolist()[-1] == pytest.approx(0.080)
    assert at(data.goodput, 60) == pytest.approx(8 * 5000 / 0.039)


def test_throughput_in_intervals_holds_every_bit_of_the_segments(flow: Flow) -> None:
    each, length = series.intervals(flow, "server")
    assert np.diff(each.time) == pytest.approx(length)
    assert length >= 1e-9 * flow.row["server_rtt_p50_ns"]
    sent = flow.of(flow.segments, "server")["len"].sum()
    assert each.value.sum() * length == pytest.approx(8 * sent)


@pytest.mark.parametrize("kind", KINDS)
def test_every_graph_is_drawn_and_the_same_to_the_byte(lost_segment: Path, tmp_path: Path, kind: str) -> None:
    view = graphs.View()
    files = [graphs.draw(lost_segment, tmp_path / name / "a.svg", kind, 1, view) for name in "xy"]
    [first], [second] = files
    assert first.read_bytes() == second.read_bytes()
    text = first.read_text()
    if kind != "tsg":
        assert 'id="retransmission-fast"' in text or kind == "throughput"


@pytest.mark.parametrize("kind", KINDS)
def test_xplot_can_read_every_graph(flow: Flow, kind: str) -> None:
    text = xplot.graph(flow, "server", kind)
    assert xplot.check(text) > 8
    assert text.splitlines()[0].split()[0] == "dtime"
    assert "10.0.2.2:80_==>_10.0.1.1:40000" in text


def test_the_xplot_graph_has_what_tcptrace_draws(flow: Flow) -> None:
    lines = xplot.graph(flow, "server", "tsg").splitlines()
    assert lines.count("R F") == 1
    assert lines.count("3") == 1
    assert lines.count("S") == 3
    assert "line 0.046000 1001 0.046000 2001" in lines
    assert lines[lines.index("line 0.046000 1001 0.046000 2001") - 1] == "red"
    assert sum(line.startswith("darrow") for line in lines) == 6
    assert sum(line.startswith("dtick") for line in lines) == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1"),
        ("time double\ngo\n", "line 1"),
        ("dtime signed\nline 1 2 3\ngo\n", "line 2: 'line' with 3 values"),
        ("dtime signed\ndot 1 x\ngo\n", "'x' is not a number"),
        ("dtime signed\natext 1 2\n", "text after it is missing"),
        ("dtime signed\ncircle 1 2\ngo\n", "no command 'circle'"),
        ("dtime signed\ndot 1 2\n", "does not end with 'go'"),
    ],
)
def test_the_check_of_xplot_files_refuses(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        xplot.check(text)


def test_cwnd_comes_from_a_table_of_states_or_the_urgent_pointer(tmp_path: Path) -> None:
    options = {"state": True, "capture_server": tmp_path / "server.pcapng"}
    one = run_one("hurtig-2006/short", path__down__drop=9, options=options)
    [flow], _ = read_flows(tmp_path / "server.pcapng")
    with pytest.raises(UsageError, match="does not tell the congestion window"):
        series.cwnd(flow, "server", None)
    path = tmp_path / "state.parquet"
    one["state"].write_parquet(path)
    known = series.cwnd(flow, "server", path)
    rows = one["state"].filter(pl.col("host") == "server")
    assert known["cwnd"].value.tolist() == rows["cwnd"].to_list()
    # A segment is in flight only within the window.
    out = series.outstanding(flow, "server")
    assert out.value.max() <= known["cwnd"].value.max()
    pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(UsageError, match="is not a table of states"):
        series.cwnd(flow, "server", path)


def test_a_direction_without_data_is_told(flow: Flow) -> None:
    with pytest.raises(UsageError, match="no data in this direction; choose the other one"):
        xplot.graph(flow, "client", "throughput")


def test_plot_and_analyze_draw_every_form(rexmit: Command, lost_segment: Path, tmp_path: Path) -> None:
    done = rexmit(
        *("plot", lost_segment, "--graph", "all", "--out", "x"),
        *("--format", "svg", "--format", "html", "--format", "xplot"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    names = {"x.html", *(f"x-{kind}.{ending}" for kind in KINDS for ending in ("svg", "xpl"))}
    assert set(done.stdout.split()) == names == {path.name for path in tmp_path.glob("x*")}
    done = rexmit("analyze", lost_segment, "--graphs", "out", "--graph-format", "xplot")
    assert done.returncode == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        f"connection-1-{kind}.xpl" for kind in KINDS
    }
    assert rexmit("plot", lost_segment, "--graph", "owin", "--out", "y.png").stdout == "y.png\n"


def test_long_captures_of_many_connections_give_the_right_rows(write_capture: WriteCapture) -> None:
    lines = []
    for n in range(30):
        lines += [f"{n} s . {901 + 10 * n}+10 ack 101 port {20_000 + n % 3}"]
    flows, summary = read_flows(write_capture("\n".join(lines)), [1, 3])
    assert summary.packets == 30
    assert [flow.row["connection"] for flow in flows] == [1, 3]
    assert [flow.segments["number"].tolist() for flow in flows] == [
        list(range(1, 31, 3)),
        list(range(3, 31, 3)),
    ]
