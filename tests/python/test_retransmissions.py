"""What is sent again, counted while runs go on: what an analysis of their captures says, on any backend."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
import rexmit
from polars.testing import assert_frame_equal
from rexmit.analyse import retransmission_delays
from rexmit.errors import StoreError, StudyError, UsageError

DELAYS = [f"{kind}_{of}_ms" for kind in ("cumulative", "consecutive") for of in ("min", "max", "mean", "std")]


def study(stack: str = "linux-2.6.15", replications: int = 3, **settings: object) -> rexmit.Study:
    """A thin stream down and a bulk transfer up, with losses both ways."""
    scenario = {
        "hosts": {"server": {"stack": stack}, "client": {"stack": stack}},
        "path": {"rate": "2 Mbit/s", "down": {"loss": "5 %"}, "up": {"loss": "5 %"}},
        "transfers": [
            {"from": "server", "to": "client", "writes": "200 x 100 bytes", "pause": "100 ms"},
            {"from": "client", "to": "server", "writes": "200 x 1400 bytes"},
        ],
        "retransmissions": True,
    }
    for name, value in settings.items():
        scenario[name] = value
    data = {"scenario": scenario, "vary": {"path.delay": ["10 ms", "40 ms"]}}
    return rexmit.Study.from_dict({**data, "design": {"replications": replications}}, "thin")


def judged(capture: Path, host: str) -> pl.DataFrame:
    """What `rexmit analyze --tables` says of the retransmissions of a host in its own capture."""
    analysis = rexmit.analyze(capture)
    # Who receives has opened: the sender is the analysis's server.
    port = {"server": 10_000, "client": 10_001}[host]
    own = analysis.connections.filter(pl.col("client_address").str.ends_with(f":{port}"))["connection"]
    rows = analysis.retransmissions.filter(pl.col("connection").is_in(own.implode()), side="server")
    return rows.with_columns(
        number=pl.col("transmission").cast(pl.UInt32) - 1, kind=pl.col("cause").cast(pl.String)
    )


def of_capture(capture: Path, host: str) -> pl.DataFrame:
    """These counted by number and cause."""
    rows = judged(capture, host)
    measured = []
    for kind, column in (("cumulative", "delay_first_ns"), ("consecutive", "delay_previous_ns")):
        ms = pl.col(column).cast(pl.Float64) / 1e6
        measured += [
            ms.min().alias(f"{kind}_min_ms"),
            ms.max().alias(f"{kind}_max_ms"),
            ms.mean().alias(f"{kind}_mean_ms"),
            ms.std().fill_null(0.0).alias(f"{kind}_std_ms"),
        ]
    needless = pl.col("need").is_in(["spurious", "unnecessary"])
    return rows.group_by("number", pl.col("kind").alias("class")).agg(
        pl.len().cast(pl.UInt64).alias("count"), needless.sum().cast(pl.UInt64).alias("not_needed"), *measured
    )


def same(counted: pl.DataFrame, expected: pl.DataFrame) -> None:
    keys = ["number", "class"]
    assert_frame_equal(counted.sort(keys), expected.sort(keys), rel_tol=1e-9)


def test_they_are_what_an_analysis_of_the_captures_says(tmp_path: Path) -> None:
    results = study().run(tmp_path / "out", progress=False, capture="all")
    frame = results.retransmissions()
    assert frame.columns[:7] == [
        "run",
        "replication",
        "path.delay",
        "path.delay_ns",
        "connection",
        "host",
        "protocol",
    ]
    assert frame["protocol"].unique().to_list() == ["tcp"]
    assert "retransmissions" not in results.table().columns
    for run in range(6):
        for connection, host in enumerate(("server", "client")):
            own = frame.filter(run=run, connection=connection)
            assert own["host"].unique().to_list() == [host]
            expected = of_capture(tmp_path / "out" / "captures" / f"run-{run:08d}-{host}.pcapng", host)
            assert expected["count"].sum() > 3
            same(own.select(expected.columns), expected)


def test_folder_memory_and_any_number_of_jobs_give_the_same(tmp_path: Path) -> None:
    first = study().run(tmp_path / "one", progress=False, jobs=1)
    study().run(tmp_path / "two", progress=False, jobs=2)
    for name in ("runs.parquet", "retransmissions.parquet"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    assert study().run(progress=False).retransmissions().equals(first.retransmissions())
    assert rexmit.open_results(tmp_path / "one").retransmissions().equals(first.retransmissions())


def test_counting_changes_no_run_and_may_vary() -> None:
    without = study(retransmissions=False).run(progress=False)
    assert without.table().equals(study().run(progress=False).table())
    with pytest.raises(
        UsageError, match="retransmissions were not counted; give the scenario retransmissions = true"
    ):
        without.retransmissions()
    both = study().set("vary.retransmissions", [False, True]).run(progress=False)
    assert both.retransmissions()["retransmissions"].unique().to_list() == [True]
    both = study(intervals="1 s").run(progress=False)
    assert both.retransmissions().height > 0
    assert both.intervals().height > 0


def test_parts_of_a_study_merge_to_the_whole(tmp_path: Path) -> None:
    whole = study().run(tmp_path / "whole", progress=False)
    for n, delay in enumerate(["40 ms", "10 ms"]):
        study().set("vary.path.delay", [delay]).run(tmp_path / f"part-{n}", progress=False)
    parts = [tmp_path / "part-0", tmp_path / "part-1"]
    merged = rexmit.merge_results(parts, tmp_path / "merged")
    assert merged.retransmissions().equals(whole.retransmissions())
    names = [tmp_path / name / "retransmissions.parquet" for name in ("merged", "whole")]
    assert names[0].read_bytes() == names[1].read_bytes()
    (parts[1] / "retransmissions.parquet").unlink()
    with pytest.raises(StoreError, match=r"part-1: holds no retransmissions\.parquet, which the others hold"):
        rexmit.merge_results(parts, tmp_path / "again")


def test_wrong_thresholds_are_refused() -> None:
    with pytest.raises(StudyError, match=r"sctp_threshold: 0 reports trigger nothing; allowed: at least 1"):
        study(sctp_threshold=0).run(progress=False)


def test_delays_are_pooled_as_if_from_the_single_retransmissions(tmp_path: Path) -> None:
    results = study().run(tmp_path / "out", progress=False, capture="all")
    frame = results.retransmissions().filter(host="server")
    captures = [tmp_path / "out" / "captures" / f"run-{run:08d}-server.pcapng" for run in range(6)]
    rows = []
    for run, capture in enumerate(captures):
        table = judged(capture, "server")
        delay = ("10 ms", "40 ms")[run // 3]
        rows.append(table.with_columns(pl.lit(delay).alias("path.delay"), pl.lit(run).alias("run")))
    single = pl.concat(rows)
    for kind, column in (("cumulative", "delay_first_ns"), ("consecutive", "delay_previous_ns")):
        ms = pl.col(column).cast(pl.Float64) / 1e6
        expected = (
            single.group_by("path.delay", "number")
            .agg(
                pl.len().cast(pl.UInt64).alias("count"),
                *(ms.min().alias("min"), ms.max().alias("max"), ms.mean().alias("mean")),
                ms.std().fill_null(0.0).alias("std"),
            )
            .sort("path.delay", "number")
        )
        pooled = retransmission_delays(frame, ["path.delay", "number"], kind)
        assert_frame_equal(pooled.drop("not_needed", "bundled_in_fast"), expected, rel_tol=1e-9)
        assert expected["count"].max() > 20  # type: ignore[operator]
    (whole,) = retransmission_delays(frame, []).iter_rows(named=True)
    assert whole["count"] == single.height
    assert math.isclose(whole["std"], (single["delay_first_ns"].cast(pl.Float64) / 1e6).std())  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="by: 'clas' is not a column; did you mean 'class'"):
        retransmission_delays(frame, ["clas"])
    with pytest.raises(UsageError, match="kind: 'total' is neither cumulative nor consecutive"):
        retransmission_delays(frame, kind="total")


@pytest.mark.usefixtures("guest")
class TestKernel:
    """A real kernel's captures, judged and gone."""

    def test_a_guests_captures_are_judged_and_removed(self, tmp_path: Path) -> None:
        one = study(replications=1).set("vary.path.delay", ["40 ms"])
        results = one.run(tmp_path / "out", backend="uml", progress=False)
        assert not (tmp_path / "out" / "captures").exists()
        frame = results.retransmissions()
        assert set(frame["host"]) == {"server", "client"}
        files = {host: tmp_path / f"{host}.pcapng" for host in ("server", "client")}
        results.capture(0, **files)
        for host, capture in files.items():
            expected = of_capture(capture, host)
            assert expected["count"].sum() > 0
            same(frame.filter(host=host).select(expected.columns), expected)

    def test_captures_that_were_asked_for_stay(self, tmp_path: Path) -> None:
        one = study(replications=1).set("vary.path.delay", ["40 ms"])
        results = one.run(tmp_path / "out", backend="uml", progress=False, capture="all")
        kept = tmp_path / "out" / "captures" / "run-00000000-server.pcapng"
        expected = of_capture(kept, "server")
        same(results.retransmissions().filter(host="server").select(expected.columns), expected)
