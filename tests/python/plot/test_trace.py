"""Blocks of captures: the page reads from them what the analysis says (web/tests/trace.test.ts has two)."""

from __future__ import annotations

import base64
import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rexmit import Results, Study, UsageError, analyze, run_one
from rexmit.analyse.held import HELD
from rexmit.plot import page, trace, trace_queues
from rexmit.plot.flows import NOTHING, Flow, read_flows
from rexmit.plot.trace import About, Part, pack_part, pack_trace

from ..conftest import Command, WriteCapture

SCTP = Path(__file__).parents[2] / "captures" / "usrsctp" / "thin-heavy-loss.sender.pcap.gz"
WEB = Path(__file__).resolve().parents[3] / "web" / "tests"

STATE = pl.DataFrame(
    {
        "time_ns": [0, 20_100_000, 25_000_000, 44_000_000, 46_000_000],
        "host": ["server"] * 5,
        "connection": [0] * 5,
        "phase": ["open", "open", "open", "disorder", "recovery"],
        "cwnd": [2000, 5000, 5000, 5000, 2500],
        "ssthresh": [None] * 4 + [2500],
        "srtt_ns": [None, 20_000_000, 20_000_000, 20_000_000, 20_000_000],
        "rto_ns": [3_000_000_000, 220_000_000, 220_000_000, 220_000_000, 220_000_000],
    },
    schema_overrides={"ssthresh": pl.UInt64, "srtt_ns": pl.UInt64},
)

VERDICTS = pl.DataFrame(
    {
        "time_ns": [0, 100_000, 21_000_000, 22_000_000, 41_000_000],
        "direction": ["up", "down", "down", "down", "up"],
        "position": [1, 1, 2, 3, 2],
        "ip_bytes": [64, 64, 1040, 1040, 40],
        "payload_bytes": [0, 0, 1000, 1000, 0],
        "flags": [2, 18, 16, 16, 16],
        "seq": [100, 2**32 - 1, 0, 1000, 101],
        "ack": [0, 101, 101, 101, 1000],
        "dropped": [False, False, False, True, True],
        "verdict": ["delivered"] * 3 + ["dropped by pattern at position 3", "dropped by chance"],
    }
)


def read(block: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The head and the tables of a block, columns as arrays or lists of texts."""
    data = gzip.decompress(base64.b64decode(block))
    length = int.from_bytes(data[4:8], "little")
    whole, columns = json.loads(data[8 : 8 + length]), data[8 + length :]

    def values(layout: dict[str, Any]) -> Any:
        kind = np.dtype("<" + layout["type"])
        raw = np.frombuffer(columns, kind, layout["count"], layout["at"])
        if "words" in layout:
            return [layout["words"][code] for code in raw]
        number: Any = raw.astype(np.float64 if kind.kind == "f" else np.int64)
        return (np.cumsum(number) if layout.get("delta") else number) + layout.get("base", 0)

    tables = {name: {c: values(layout) for c, layout in t.items()} for name, t in whole["tables"].items()}
    return whole["head"], tables


def column(table: dict[str, Any], name: str) -> Any:
    return table.get(name, np.zeros(len(table["t"]), dtype=np.int64))


@pytest.fixture
def flow(lost_segment: Path) -> Flow:
    [found], _ = read_flows(lost_segment)
    return found


def about() -> About:
    return About(7, "a run", {"path.rate": "1 Mbit/s"}, {"time_ns": 5, "x": float("nan")}, STATE, VERDICTS)


def test_a_block_holds_every_packet_of_both_sides(lost_segment: Path, flow: Flow) -> None:
    head, tables = read(pack_trace(lost_segment))
    for side in ("client", "server"):
        own, packed = flow.of(flow.segments, side), tables[f"1-{side}.packets"]
        assert packed["number"].tolist() == own["number"].tolist()
        assert (packed["t"] + flow.start_ns).tolist() == own["time_ns"].tolist()
        highest, low = 0, []
        for jump, span in zip(column(packed, "jump"), packed["span"], strict=True):
            low.append(highest + jump)
            highest = max(highest, low[-1] + span)
        assert low == own["seq"].tolist()
        assert packed["span"].tolist() == (own["end"] - own["seq"]).tolist()
        assert column(packed, "flags").tolist() == own["flags"].tolist()
        expected = np.where(own["ack"] == NOTHING, -1, own["ack"])
        assert packed["ack"].tolist() == expected.tolist()
    assert [view["key"] for view in head["views"]] == ["1-server"]
    assert head["duration"] == pytest.approx(0.081)


def test_retransmissions_have_cause_evidence_and_delays(lost_segment: Path) -> None:
    head, tables = read(pack_trace(lost_segment))
    packed, again = tables["1-server.packets"], tables["1-server.again"]
    [row] = again["row"]
    assert packed["number"][row] == 13
    assert head["views"][0]["groups"][packed["group"][row]]["label"] == "fast retransmit (F)"
    assert again["confidence"] == ["certain"]
    assert again["why"][0].startswith("after 3 duplicate ACKs")
    assert again["previous"].tolist() == again["first"].tolist() == [24_000_000]
    blocks, heard = tables["1-client.sacks"], tables["1-client.packets"]
    assert (blocks["left"] + heard["ack"][blocks["row"]]).tolist() == [2001, 2001, 2001]
    assert (blocks["right"] + heard["ack"][blocks["row"]]).tolist() == [3001, 4001, 5001]


def test_what_the_emulator_dropped_is_known_by_comment_or_log(
    lost_segment: Path, write_capture: WriteCapture
) -> None:
    _, tables = read(pack_trace(lost_segment))
    notes = tables["1-server.packets"]["lost"]
    assert [n for n, note in enumerate(notes) if note] == [2]
    script = "0 c S 100+0\n0.1 s S 900+0 ack 101\n21 s . 901+10 ack 101\n21 s . 911+10 ack 101\n30 s . 921+10"
    capture = write_capture(script)
    [found], _ = read_flows(capture)
    times = found.of(found.segments, "server")["time_ns"] - found.start_ns
    log = VERDICTS.head(4).with_columns(
        pl.Series("time_ns", times),
        direction=pl.lit("down"),
        dropped=pl.Series([False, False, True, False]),
        verdict=pl.Series(["delivered", "delivered", "dropped by chance", "delivered"]),
    )
    log = pl.concat([VERDICTS.head(1), log.cast(VERDICTS.schema)])
    _, tables = read(pack_trace(capture, About(run=1, verdicts=log)))
    assert tables["1-server.packets"]["lost"] == [None, None, "dropped by chance", None]


def test_states_and_verdicts_stand_beside_the_packets(lost_segment: Path) -> None:
    head, tables = read(pack_trace(lost_segment, about()))
    assert (head["run"], head["title"], head["levels"]) == (7, "a run", {"path.rate": "1 Mbit/s"})
    assert head["responses"] == {"time_ns": 5, "x": None}
    state = tables["1-server.state"]
    # A row that repeats the one before is left out; no threshold and no estimate yet are -1.
    assert state["cwnd"].tolist() == [2000, 5000, 5000, 2500]
    assert state["ssthresh"].tolist() == [-1, -1, -1, 2500]
    assert state["srtt"].tolist() == [-1, 20_000_000, 20_000_000, 20_000_000]
    assert state["phase"] == ["open", "open", "disorder", "recovery"]
    log = tables["verdicts"]
    assert log["t"].tolist() == VERDICTS["time_ns"].to_list()
    assert "position" not in log  # counting by direction gives it
    assert log["seq"].tolist() == [0, 0, 1, 1001, 1]
    assert log["ack"].tolist() == [-1, 1, 1, 1, 1001]
    assert column(log, "dropped").tolist() == [0, 0, 0, 1, 1]


def test_a_run_of_twenty_packets_takes_three_thousand_bytes(tmp_path: Path) -> None:
    capture = tmp_path / "server.pcapng"
    options = {"state": True, "verdicts": True, "capture_server": capture}
    one = run_one("hurtig-2006/short", path__down__drop=9, options=options)
    block = pack_trace(capture, About(27, "run 27", {}, {}, one["state"], one["verdicts"]))
    assert len(block) < 3000
    head, tables = read(block)
    assert "dropped by pattern at position 9" in tables["1-server.packets"]["lost"]
    assert any(group["again"] for group in head["views"][0]["groups"])
    assert len(tables["verdicts"]["t"]) == one["verdicts"].height


def test_associations_have_a_row_a_chunk(tmp_path: Path) -> None:
    head, tables = read(pack_trace(SCTP))
    view = head["views"][0]
    assert (view["protocol"], view["key"]) == ("sctp", "a1-client")
    chunks, again = tables["a1-client.packets"], tables["a1-client.again"]
    highest, tsns = 0, []
    for jump in column(chunks, "jump"):
        tsns.append(highest + int(jump))
        highest = max(highest, tsns[-1] + 1)
    found = trace.read_associations(SCTP, None, None)[0].of("chunks", "client")
    assert tsns == found["tsn"].tolist()
    looks = [view["groups"][at] for at in chunks["group"]]
    assert [n for n, look in enumerate(looks) if look["again"]] == sorted(again["row"].tolist())
    gaps, reports = tables["a1-client.sacks"], tables["a1-client.reports"]
    assert (gaps["left"] > 0).all()
    assert (np.diff(reports["ack"]) >= 0).all()


def test_a_part_is_of_its_connections_and_seconds(write_capture: WriteCapture) -> None:
    lines = [f"{10 * n} s . {901 + 10 * n}+10 ack 101 port {20_000 + n % 3}" for n in range(30)]
    capture = write_capture("\n".join(lines))
    head, _ = read(pack_trace(capture))
    assert len(head["views"]) == 3
    head, tables = read(pack_part(capture, Part([2], t=(0.05, 0.2))))
    [view] = head["views"]
    assert view["connection"] == 2
    assert [name for name in tables if name.endswith(".packets") and len(tables[name]["t"])] == [
        f"2-{view['direction']}.packets"
    ]
    assert tables[f"2-{view['direction']}.packets"]["t"].tolist() == [n * 30_000_000 for n in range(2, 7)]
    assert "Of each connection, 0.05 to 0.2 s are shown." in head["remarks"]


def test_packets_whose_times_went_back_are_found_by_their_numbers(write_capture: WriteCapture) -> None:
    script = """
    0 c S 100+0 win 60000 sackok
    0.1 s S 900+0 ack 101 win 60000 sackok
    21 s . 901+10 ack 101
    25 s . 921+10 ack 101
    24 s . 911+10 ack 101
    30 c . 101+0 ack 911 sack 921-931
    29 c . 101+0 ack 911
    90 s . 911+10 ack 101
    """
    capture = write_capture(script)
    [found], _ = read_flows(capture)
    _, tables = read(pack_trace(capture))
    packets, heard = tables["1-server.packets"], tables["1-client.packets"]
    assert packets["number"].tolist() == [2, 3, 5, 4, 8]
    assert (np.diff(packets["t"]) >= 0).all()
    assert [packets["number"][row] for row in tables["1-server.again"]["row"]] == [8]
    assert [heard["number"][row] for row in tables["1-client.sacks"]["row"]] == [6]
    samples = found.of(found.rtt, "server")["number"].tolist()
    assert [heard["number"][row] for row in column_of(tables["1-server.rtt"], "row", samples)] == samples


def column_of(table: dict[str, Any], name: str, like: list[int]) -> Any:
    """A column that may have been left out because it is nothing but 0."""
    return table.get(name, [0] * len(like))


def test_a_capture_that_breaks_off_says_so(lost_segment: Path) -> None:
    lost_segment.write_bytes(lost_segment.read_bytes()[:-30])
    head, _ = read(pack_trace(lost_segment))
    assert any("everything before that was judged" in remark for remark in head["remarks"])


def test_more_than_a_browser_opens_is_told(
    write_capture: WriteCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{10 * n} s . {901 + 10 * n}+10 ack 101 port {20_000 + n % 3}" for n in range(30)]
    capture = write_capture("\n".join(lines))
    monkeypatch.setattr(trace, "MOST_PACKETS", 25)
    head, _ = read(pack_trace(capture))
    assert [view["connection"] for view in head["views"]] == [1, 2]
    assert head["remarks"][0].startswith("2 of 3 connections are shown, with 20 packets")
    monkeypatch.setattr(trace, "MOST_PACKETS", 5)
    with pytest.raises(UsageError, match="too many for one page; choose a range of time with --t"):
        pack_trace(capture)


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (Part([4]), "no connection 4"),
        (Part(t=(3, 1)), "the range of time from 3 to 1 s is empty"),
        (Part(direction="client"), "the client sent no data; choose the other direction"),
    ],
)
def test_what_is_not_there_is_said(lost_segment: Path, part: Part, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        pack_part(lost_segment, part)


def test_a_capture_without_connections_is_refused(write_capture: WriteCapture) -> None:
    with pytest.raises(UsageError, match="no TCP connection and no SCTP association"):
        pack_trace(write_capture(""))


def test_a_page_needs_nothing_else(lost_segment: Path) -> None:
    text = page.page(pack_trace(lost_segment), "a </script> & b")
    before_script = text.rpartition("<script>")[0]
    assert "<title>a &lt;/script&gt; &amp; b</title>" in text
    assert "src=" not in before_script
    assert "href=" not in before_script
    assert "@import" not in text
    # The page's facts, its block and its script: nothing in them ends one early.
    assert text.count("</script>") == 3
    assert 'data-theme="dark"' not in before_script
    assert '<html lang="en" data-theme="dark">' in page.page("", "", dark=True)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_page_runs_in_a_browser(lost_segment: Path, rexmit: Command, tmp_path: Path) -> None:
    assert rexmit("plot", lost_segment, "--html", "--out", "page").stdout == "page.html\n"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=4000", "--dump-dom"]
    done = subprocess.run(
        ["chromium", *options, (tmp_path / "page.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert 'data-ready="true"' in done.stdout
    shown = done.stdout.partition("</main>")[0]
    assert shown.count("<canvas") == 5
    assert "after 3 duplicate ACKs" in shown
    assert "Uncaught" not in done.stderr


def test_tables_of_the_run_are_taken_and_others_refused(
    lost_segment: Path, rexmit: Command, tmp_path: Path
) -> None:
    STATE.write_parquet(tmp_path / "state.parquet")
    VERDICTS.write_parquet(tmp_path / "verdicts.parquet")
    tables = ("--state", "state.parquet", "--verdicts", "verdicts.parquet")
    done = rexmit("plot", lost_segment, "--html", "--out", "p", *tables)
    assert (done.returncode, done.stderr) == (0, "")
    block = (tmp_path / "p.html").read_text().partition('id="trace">')[2].partition("</script>")[0]
    assert {"1-server.state", "verdicts"} <= set(read(block)[1])
    done = rexmit("plot", lost_segment, "--html", "--verdicts", "state.parquet")
    assert done.stderr.endswith("state.parquet: is not a table of verdicts: it has no column 'direction'\n")
    done = rexmit("plot", lost_segment, "--verdicts", "verdicts.parquet")
    assert (done.returncode, "--verdicts is for a page; add --html" in done.stderr) == (2, True)
    done = rexmit("plot", lost_segment, "--connection", 1, "--connection", 2)
    assert "draws one connection; give one --connection, or --html" in done.stderr


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, dict[str, Any], dict[str, Any]]:
    """Two flows that share a link, and the block of the second one's packets."""
    folder = tmp_path_factory.mktemp("shared")
    host = {"stack": "linux-6.1", "access": {"rate": "100 Mbit/s", "delay": "1 ms"}}
    scenario = {
        "hosts": {"near": {**host, "at": "a"}, "far": {**host, "at": "a"}, "sink": {**host, "at": "b"}},
        "links": {"middle": {"between": ["a", "b"], "rate": "5 Mbit/s", "queue": "20 packets"}},
        "transfers": [{"from": name, "to": "sink", "bulk": "400 kB"} for name in ("near", "far")],
        "measure": {},
    }
    results = Study.from_dict({"title": "Shared", "scenario": scenario}).run(progress=False)
    results.capture(0, at={"far": folder / "far.pcapng"})
    tables = results.trace(0)
    known = About(0, "run 0", state=tables["state"], verdicts=tables["verdicts"])
    return results, *read(pack_trace(folder / "far.pcapng", known))


Shared = tuple[Results, dict[str, Any], dict[str, Any]]


def test_the_queue_of_a_link_is_as_long_as_the_run_measured_it(shared: Shared) -> None:
    results, head, tables = shared
    assert head["queues"] == [
        {"direction": "middle/a-b", "title": "middle, a to b"},
        {"direction": "middle/b-a", "title": "middle, b to a"},
    ]
    queue, log = tables["queue-0"], tables["verdicts"]
    offered = log["t"][[way == "middle/a-b" for way in log["direction"]]]
    rows = len(offered)
    place = queue.get("place", np.zeros(rows, dtype=int))
    entered = offered + queue.get("entered", 0)
    left = offered[0] + np.cumsum(queue["left"]) if "left" in queue else entered + queue["stay"]
    inside = place == 0
    # As the run looked: once a millisecond, before what happens then.
    last = int(results.links()["queue_packets_max"].max())  # type: ignore[arg-type]
    looks = np.arange(0, results.table()["virtual_ns"][0] + 1, 1_000_000)
    begun = np.searchsorted(np.sort(entered[inside]), looks, side="left")
    packets = begun - np.searchsorted(np.sort(left[inside]), looks, side="right")
    measured = results.links().filter(link="middle", from_point="a").row(0, named=True)
    assert packets.max() == measured["queue_packets_max"] == last == 20
    assert packets.mean() == pytest.approx(measured["queue_packets_mean"], rel=1e-12)
    assert (place == trace_queues.OUTSIDE).sum() == measured["drops_queue"]
    assert set(queue["connection"].tolist()) == {0, 1}


def test_a_connection_of_a_network_is_that_of_its_run(shared: Shared) -> None:
    _, head, tables = shared
    [view] = head["views"]
    # The only one that its host saw, and the second of the run.
    assert (view["connection"], view["of"]) == (1, 1)
    assert "1-server.state" in tables, "of the host far"
    lost = [note for note in tables["1-server.packets"]["lost"] if note]
    log = tables["verdicts"]
    queue = tables["queue-0"]
    own = np.flatnonzero([way == "middle/a-b" for way in log["direction"]])
    dropped = (log["dropped"][own] == 1) & (queue["connection"] == 1)
    assert len(lost) == dropped.sum() > 0
    assert set(lost) == {"dropped: queue full (20 packets), at middle, a to b"}


def test_a_log_without_times_in_the_queue_has_no_queues(shared: Shared) -> None:
    results, _, _ = shared
    old = results.trace(0)["verdicts"].drop("entered_ns", "left_ns")
    assert trace_queues.queues_of(old) == []
    assert trace_queues.queue_tables(old) == {}
    assert trace_queues.ends_of(["10.0.0.1:5001", "10.0.0.2:40000"], old) is None, "no port of a run"


def test_a_view_has_what_held_its_sender_with_words(lost_segment: Path) -> None:
    head, tables = read(pack_trace(lost_segment))
    (view,) = head["views"]
    found = analyze(lost_segment)
    assert view["why"][1:-1] == found.why(1)["server"][1:]
    own, rows = tables["1-server.held"], found.held
    assert [view["held"][at]["label"] for at in own["by"]] == [HELD[by] for by in rows["by"]]
    start = found.connections["start_ns"][0]
    assert list(own["t"]) == [time - start for time in rows["start_ns"]]
    assert list(own["until"]) == [time - start for time in rows["end_ns"]]
    assert list(own["to"]) == rows["last_number"].to_list()
    part = read(pack_part(lost_segment, Part(t=(0.0, 0.0215))))[1]["1-server.held"]
    assert 0 < len(part["t"]) < len(own["t"])


def test_the_committed_blocks_are_what_is_written(lost_segment: Path) -> None:
    # Compared read: another version of zlib packs otherwise. REXMIT_BLOCKS=update writes them anew.
    for name, block in blocks(lost_segment).items():
        if os.environ.get("REXMIT_BLOCKS") == "update":
            (WEB / name).write_text(block)
        expected, given = read((WEB / name).read_text()), read(block)
        assert given[0] == expected[0]
        assert {t: sorted(c) for t, c in given[1].items()} == {t: sorted(c) for t, c in expected[1].items()}
        for table, columns in given[1].items():
            for key, values in columns.items():
                assert list(values) == list(expected[1][table][key]), (table, key)


def blocks(capture: Path) -> dict[str, str]:
    """The blocks that the tests of the script read."""
    return {"trace.txt": pack_trace(capture, about()), "trace-sctp.txt": pack_trace(SCTP, About(title="s"))}
