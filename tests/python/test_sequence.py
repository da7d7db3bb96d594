"""Runs that follow each other at the same hosts: the same rows whoever runs them, and wherever it stops."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rexmit
from click.testing import CliRunner
from rexmit.cli import cli
from rexmit.errors import RexmitError, StoreError, StudyError
from rexmit.run import RunOptions, merge_results, open_results, run_study
from rexmit.run.again import Again
from rexmit.study import RunSequence
from rexmit.study.spec import parse_spec

STACK = {"inherits": "freebsd-6.0", "host_cache": {"on": True}}


def table(**sequence: object) -> dict[str, object]:
    """16 runs of lossy transfers between hosts that remember each other."""
    return {
        "scenario": {
            "hosts": {"server": {"stack": STACK}, "client": {"stack": STACK}},
            "path": {"rate": "10 Mbit/s", "down": {"loss": 0.03}},
            "transfers": [{"from": "server", "to": "client", "bulk": "60 kB"}],
        },
        "vary": {"path.delay": ["10 ms", "20 ms"]},
        "design": {"replications": 8, "seed": 3} | ({"sequence": sequence} if sequence else {}),
    }


@pytest.fixture
def study() -> rexmit.Study:
    return rexmit.Study.from_dict(table(along=["path.delay", "replication"], gap="2 s"), "following")


def same(folder: Path, whole: Path) -> None:
    for name in ("runs.parquet", "study.json", "study.toml"):
        assert (folder / name).read_bytes() == (whole / name).read_bytes(), name


def test_only_the_first_run_of_a_sequence_begins_as_it_would_alone(study: rexmit.Study) -> None:
    alone = rexmit.Study.from_dict(table(), "following").run(progress=False).table()
    found = study.run(progress=False).table()
    assert alone["cached_rtt_ns"].null_count() == len(alone)
    assert found["cached_rtt_ns"].null_count() == 1
    assert found["cached_ssthresh"].null_count() < len(found) - 1
    assert found.row(0) == alone.row(0)
    assert not found.select("run", "time_ns").equals(alone.select("run", "time_ns"))
    nothing = study.set("design.sequence.gap", "2 h").run(progress=False).table()
    assert nothing.equals(alone)


@pytest.mark.parametrize("count", [2, 5])
def test_shards_of_a_sequence_are_the_folder_of_one_machine(
    study: rexmit.Study, tmp_path: Path, count: int
) -> None:
    study.run(tmp_path / "whole", progress=False, jobs=2)
    places = [tmp_path / f"shard-{n}" for n in range(1, count + 1)]
    for number, place in reversed(list(enumerate(places, start=1))):
        study.run(place, shard=(number, count), progress=False, jobs=number)
    merge_results(places, tmp_path / "merged")
    same(tmp_path / "merged", tmp_path / "whole")


def test_a_sequence_goes_on_where_it_was_interrupted(study: rexmit.Study, tmp_path: Path) -> None:
    study.run(tmp_path / "whole", progress=False)

    def fail(rows: pa.Table) -> None:
        raise RexmitError(f"after {rows.num_rows} runs")

    with pytest.raises(RexmitError, match="after 16 runs"):
        run_study(study.spec, tmp_path / "out", RunOptions(on_rows=fail))
    (stored,) = (tmp_path / "out/parts").iterdir()
    first = pq.read_table(stored).slice(0, 5)
    stored.unlink()
    pq.write_table(first, stored.with_name("part-0000000000-0000000005.parquet"))
    run_study(study.spec, tmp_path / "out", RunOptions(resume=True))
    assert (tmp_path / "out/runs.parquet").read_bytes() == (tmp_path / "whole/runs.parquet").read_bytes()


def test_a_run_that_is_run_again_is_the_one_of_the_sequence(study: rexmit.Study, tmp_path: Path) -> None:
    study.run(tmp_path / "whole", progress=False, state="all")
    results = open_results(tmp_path / "whole")
    again = Again(results)
    for number in (13, 0, 15):
        again.run(
            number, {"server": tmp_path / "server.pcapng"}
        )  # which compares the row with the stored one
        state = pl.read_parquet(tmp_path / f"whole/tables/run-{number:08}-state.parquet")
        found = state.filter(pl.col("host") == "server")["cached_rtt_ns"].drop_nulls().unique().to_list()
        assert (
            found == results.table().filter(pl.col("run") == number)["cached_rtt_ns"].drop_nulls().to_list()
        )


def test_the_design_of_a_sequence_is_written_and_read(study: rexmit.Study, tmp_path: Path) -> None:
    study.run(tmp_path / "out", progress=False)
    sequence = RunSequence(("path.delay", "replication"), "2 s")
    record = json.loads((tmp_path / "out/study.json").read_text())
    assert record["sequence"] == {"along": ["path.delay", "replication"], "gap": "2 s"}
    assert open_results(tmp_path / "out").spec().design.sequence == sequence
    assert rexmit.Study.load(tmp_path / "out/study.toml").spec.design.sequence == sequence
    told = CliRunner().invoke(cli, ["studies", str(tmp_path / "out/study.toml")]).output
    assert "runs: one after the other along path.delay, replication, 2 s apart" in told
    assert study.set("path.delay", ["30 ms"]).spec.design.sequence == sequence


@pytest.mark.parametrize(
    ("sequence", "text"),
    [
        ({"along": ["path.rate"]}, "design.sequence.along: 'path.rate' is not a factor"),
        ({"along": ["replication", "replication"]}, "appears twice"),
        ({"along": []}, "design.sequence.along: .. is not a list of factors"),
        ({"along": ["replication"], "gap": 5}, "design.sequence.gap: 5 is not a time"),
        ({"along": ["replication"], "pause": "5 s"}, "design.sequence: unknown key 'pause'"),
    ],
)
def test_what_is_no_sequence_is_refused(sequence: dict[str, object], text: str) -> None:
    with pytest.raises(StudyError, match=text):
        parse_spec(table(**sequence), "following", None)


def test_a_gap_that_is_no_time_is_refused() -> None:
    study = rexmit.Study.from_dict(table(along=["replication"], gap="soon"), "following")
    with pytest.raises(StudyError, match=r"design\.sequence\.gap: .*soon"):
        study.run(progress=False)


def test_a_sequence_of_hosts_that_keep_nothing_is_told(study: rexmit.Study) -> None:
    told: list[str] = []
    run_study(study.spec, None, RunOptions(warn=told.append))
    assert not told
    for host in ("server", "client"):
        study = study.set(f"hosts.{host}.stack", "freebsd-6.0")
    run_study(study.spec, None, RunOptions(warn=told.append))
    assert [text.partition(":")[0] for text in told] == ["design.sequence"]
    told.clear()
    run_study(
        study.set("vary.hosts.server.stack.host_cache.on", [True]).spec, None, RunOptions(warn=told.append)
    )
    assert not told


def test_a_sequence_is_refused_where_hosts_begin_anew(study: rexmit.Study, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=r"design\.sequence: on backend kernel"):
        study.run(progress=False, backend="kernel", allow_unsupported=True)
    for seed in (3, 4):
        study.set("design.seed", seed).run(tmp_path / str(seed), progress=False)
    with pytest.raises(StoreError, match=r"its runs follow each other \(design\.sequence\)"):
        merge_results([tmp_path / "3", tmp_path / "4"], None)
