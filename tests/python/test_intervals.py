"""What is measured by intervals: the same in any order and on any backend, and adding up to the whole."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
import rexmit
from rexmit.errors import StudyError, UsageError

STUDY = """
title = "two ways"
[scenario]
hosts.server.stack = "freebsd-6.0"
hosts.client.stack = "freebsd-6.0"
path.down.rate = "2 Mbit/s"
path.up.rate = "500 kbit/s"
path.delay = "5 ms"
path.queue = "20 packets"
intervals = "2 s"
[[scenario.transfers]]
from = "server"
to = "client"
bulk = "6 s"
[[scenario.transfers]]
from = "client"
to = "server"
bulk = "2 s"
start = "4 s"
[vary]
"path.up.queue" = ["5 packets", "20 packets"]
[design]
replications = 2
"""


@pytest.fixture
def study(tmp_path: Path) -> rexmit.Study:
    """A download, and later an upload beside it."""
    return load(tmp_path, STUDY)


def load(folder: Path, text: str) -> rexmit.Study:
    path = folder / "two.toml"
    path.write_text(text)
    return rexmit.Study.load(path)


def test_intervals_add_up_to_the_whole_of_each_run(study: rexmit.Study, tmp_path: Path) -> None:
    results = study.run(tmp_path / "out", progress=False)
    frame = results.intervals()
    assert frame.columns[:4] == ["run", "replication", "path.up.queue", "interval"]
    whole = frame.group_by("run", maintain_order=True).agg(
        pl.col("bytes", "data_segments", "retransmits", "timeouts").sum()
    )
    runs = results.table().select("run", "bytes", "data_segments", "retransmits", "timeouts")
    assert whole.equals(runs)
    assert frame.filter(pl.col("from_ns") != pl.col("interval").cast(pl.UInt64) * 2_000_000_000).is_empty()
    upload = frame.filter((pl.col("host") == "client") & (pl.col("interval") == 0))
    assert upload["written"].to_list() == [0] * 4
    assert upload["cwnd_mean"].null_count() == 4
    assert "intervals" not in results.table().columns


def test_folder_memory_and_any_number_of_jobs_give_the_same(study: rexmit.Study, tmp_path: Path) -> None:
    first = study.run(tmp_path / "one", progress=False, jobs=1)
    second = study.run(tmp_path / "two", progress=False, jobs=2)
    assert first.intervals().equals(second.intervals())
    assert study.run(progress=False).intervals().equals(first.intervals())
    assert rexmit.open_results(tmp_path / "one").intervals().equals(first.intervals())
    names = ("runs.parquet", "intervals.parquet")
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_spans_and_wrong_ones(study: rexmit.Study) -> None:
    spans = study.set("intervals", "1 s-5 s, 0 s-6 s").run(progress=False).intervals()
    assert set(zip(spans["from_ns"] // 10**9, spans["to_ns"] // 10**9, strict=True)) == {(1, 5), (0, 6)}
    with pytest.raises(StudyError, match=r"intervals.*ends before it has begun"):
        study.set("intervals", "5 s-1 s").run(progress=False)


def test_without_them_there_is_no_table(tmp_path: Path) -> None:
    results = load(tmp_path, STUDY.replace('intervals = "2 s"\n', "")).run(tmp_path / "out", progress=False)
    assert not (tmp_path / "out" / "intervals.parquet").exists()
    with pytest.raises(UsageError, match="nothing was measured by intervals"):
        results.intervals()


@pytest.mark.usefixtures("guest")
def test_a_real_kernel_measures_the_same_things(study: rexmit.Study, tmp_path: Path) -> None:
    results = study.set("vary.path.up.queue", ["20 packets"]).run(
        tmp_path / "out", backend="uml", progress=False
    )
    frame = results.intervals()
    assert (
        frame.group_by("run").agg(pl.col("bytes").sum())["bytes"].to_list()
        == results.table()["bytes"].to_list()
    )
    busy = frame.filter((pl.col("host") == "server") & (pl.col("interval") == 1))
    # 1448 of 1500 bytes are payload, and the queue fills: the window is more than the path holds.
    assert 1.7e6 < busy["goodput_bit_s"][0] < 2e6
    assert 5_000 < busy["cwnd_mean"][0] < 60_000
    assert 10e6 < busy["srtt_mean_ns"][0] < 150e6
    assert busy["timeouts"].null_count() == len(busy)
