"""Results of one study joined: seeds, levels, parts; and averages over replications."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rexmit
from rexmit.analyse import averages
from rexmit.errors import StoreError, UsageError
from rexmit.run import Results, merge_results, open_results
from rexmit.run.store import write_runs

from .conftest import SMALL, Command

DELAYS = ["5 ms", "20 ms"]


@pytest.fixture
def study(study_file: Path) -> rexmit.Study:
    return rexmit.Study.load(study_file)


def ran(study: rexmit.Study, out: Path, **settings: Any) -> Path:
    for key, value in settings.items():
        study = study.set(key.replace("__", "."), value)
    study.run(out)
    return out


def part(whole: Path, out: Path, runs: list[int]) -> Path:
    """A folder with some of the runs of another, as a shard of the study would leave it."""
    out.mkdir()
    for name in ("study.json", "study.toml", "provenance.json"):
        (out / name).write_bytes((whole / name).read_bytes())
    write_runs(pq.read_table(whole / "runs.parquet").take(runs), out / "runs.parquet")
    return out


def test_other_seeds_are_further_replications(study: rexmit.Study, tmp_path: Path) -> None:
    one = ran(study, tmp_path / "one")
    other = ran(study, tmp_path / "other", design__seed=3, design__replications=1)
    merged = merge_results([one, other], tmp_path / "both")
    assert merged.folder == tmp_path / "both"
    table = open_results(tmp_path / "both").table()
    assert table["run"].to_list() == list(range(24))
    assert table["replication"].to_list() == [0, 1, 2] * 8
    # By seed, whatever the order of the folders.
    assert table["seed"].to_list() == [3, 7, 7] * 8
    assert table["seed_replication"].to_list() == [0, 0, 1] * 8
    for folder, seed in ((one, 7), (other, 3)):
        expected = open_results(folder).table()
        found = table.filter(pl.col("seed") == seed)
        for name in expected.columns:
            if name not in ("run", "replication"):
                assert found[name].to_list() == expected[name].to_list()
    assert merged.study["seeds"] == [3, 7]
    assert merged.study["replications"] == 3
    assert merged.study["runs"] == 24
    again = merge_results([other, one], tmp_path / "again")
    assert again.folder is not None
    assert (tmp_path / "both/runs.parquet").read_bytes() == (tmp_path / "again/runs.parquet").read_bytes()


def test_merged_results_merge_again(study: rexmit.Study, tmp_path: Path) -> None:
    folders = [ran(study, tmp_path / f"s{seed}", design__seed=seed) for seed in (1, 2, 3)]
    merge_results(folders[1:], tmp_path / "two")
    merge_results([tmp_path / "two", folders[0]], tmp_path / "three")
    merge_results(folders, tmp_path / "at-once")
    assert (tmp_path / "three/runs.parquet").read_bytes() == (tmp_path / "at-once/runs.parquet").read_bytes()
    sources = json.loads((tmp_path / "three/provenance.json").read_text())["sources"]
    assert [source["seeds"] for source in sources] == [[2, 3], [1]]
    assert len(sources[0]["provenance"]["sources"]) == 2


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_parts_by_levels_give_the_bytes_of_the_whole(
    study: rexmit.Study, tmp_path: Path, order: tuple[int, int]
) -> None:
    whole = ran(study, tmp_path / "whole")
    parts = [ran(study, tmp_path / f"part-{n}", path__delay=[DELAYS[n]]) for n in order]
    merge_results(parts, tmp_path / "merged")
    assert (tmp_path / "merged/runs.parquet").read_bytes() == (whole / "runs.parquet").read_bytes()
    assert (tmp_path / "merged/study.toml").read_bytes() == (whole / "study.toml").read_bytes()
    records = [json.loads((folder / "study.json").read_text()) for folder in (tmp_path / "merged", whole)]
    assert records[0] == records[1]


def test_parts_by_runs_give_the_bytes_of_the_whole(study: rexmit.Study, tmp_path: Path) -> None:
    whole = ran(study, tmp_path / "whole")
    parts = [part(whole, tmp_path / f"part-{n}", list(range(n, 16, 3))) for n in range(3)]
    merge_results(parts, tmp_path / "merged")
    assert (tmp_path / "merged/runs.parquet").read_bytes() == (whole / "runs.parquet").read_bytes()
    with pytest.raises(
        StoreError, match=r"together lack runs: path.delay = 5 ms, path.down.drop = 0 has 1 where"
    ):
        merge_results(parts[1:], None)


def test_parts_by_replication_and_levels_of_two_factors(study: rexmit.Study, tmp_path: Path) -> None:
    whole = ran(study, tmp_path / "whole")
    parts = []
    for delay, drop in itertools.product(DELAYS, ("0..1", "2..3")):
        name = f"part-{delay.split()[0]}-{drop[0]}"
        parts.append(ran(study, tmp_path / name, path__delay=[delay], path__down__drop={"position": drop}))
    merged = merge_results(parts, tmp_path / "merged")
    assert (tmp_path / "merged/runs.parquet").read_bytes() == (whole / "runs.parquet").read_bytes()
    with pytest.raises(StoreError, match=r"lack runs: path.delay = 20 ms, path.down.drop = 2 has 0 .*2 of 8"):
        merge_results(parts[:3], None)
    assert len(merged) == 16


def test_levels_that_do_not_rise_keep_the_order_of_the_folders(study: rexmit.Study, tmp_path: Path) -> None:
    first = ran(study, tmp_path / "a", path__delay=["20 ms", "5 ms"])
    second = ran(study, tmp_path / "b", path__delay=["10 ms"])
    merged = merge_results([first, second], None)
    assert merged.study["factors"][0]["levels"] == ["20 ms", "5 ms", "10 ms"]
    third = ran(study, tmp_path / "c", path__delay=["40 ms"])
    assert merge_results([third, second], None).study["factors"][0]["levels"] == ["10 ms", "40 ms"]


def test_captures_tables_and_single_runs_go_along(study: rexmit.Study, tmp_path: Path) -> None:
    loose = study.set("path.down.drop", {"position": "0..1"})
    for seed in (5, 4):
        loose.set("design.seed", seed).run(tmp_path / f"s{seed}", capture="all", state="all")
    merged = merge_results([tmp_path / "s5", tmp_path / "s4"], tmp_path / "both")
    table = merged.table()
    run = table.filter((pl.col("seed") == 5) & (pl.col("seed_replication") == 1)).row(2, named=True)
    old = open_results(tmp_path / "s5").table().filter(pl.col("replication") == 1).row(2, named=True)
    assert run["time_ns"] == old["time_ns"]
    for kind, ending in (("captures", "server.pcapng"), ("tables", "state.parquet")):
        new = tmp_path / "both" / kind / f"run-{run['run']:08d}-{ending}"
        before = tmp_path / "s5" / kind / f"run-{old['run']:08d}-{ending}"
        assert new.read_bytes() == before.read_bytes()
        assert len(list((tmp_path / "both" / kind).iterdir())) == 16 * (2 if kind == "captures" else 1)
    # And it can be run again, exactly as it was, although the seed of the whole is another.
    row = merged.capture(run["run"], server=tmp_path / "again.pcapng")
    assert row["time_ns"] == old["time_ns"]
    kept = tmp_path / "both/captures" / f"run-{run['run']:08d}-server.pcapng"
    assert (tmp_path / "again.pcapng").read_bytes() == kept.read_bytes()
    state = pl.read_parquet(tmp_path / "both/tables" / f"run-{run['run']:08d}-state.parquet")
    assert merged.trace(run["run"])["state"].equals(state)


def test_the_same_runs_twice_are_refused_or_taken_once(study: rexmit.Study, tmp_path: Path) -> None:
    one = ran(study, tmp_path / "one")
    more = ran(study, tmp_path / "more", design__replications=3)
    with pytest.raises(
        StoreError, match=r"more: holds 16 runs that .*one holds too, such as run 0 \(seed 7, repl"
    ):
        merge_results([one, more], None)
    merged = merge_results([one, more], tmp_path / "merged", skip_duplicates=True)
    assert (tmp_path / "merged/runs.parquet").read_bytes() == (more / "runs.parquet").read_bytes()
    assert len(merged) == 24
    sources = merged.provenance()["sources"]
    assert [source["taken"] for source in sources] == [16, 8]


def test_the_same_run_with_another_outcome_is_refused(study: rexmit.Study, tmp_path: Path) -> None:
    one = ran(study, tmp_path / "one")
    table = pq.read_table(one / "runs.parquet")
    other = part(one, tmp_path / "other", list(range(16)))
    times = table.column("time_ns").to_pylist()
    times[5] += 1
    place = table.column_names.index("time_ns")
    write_runs(
        table.set_column(place, table.field("time_ns"), pa.array(times, pa.uint64())), other / "runs.parquet"
    )
    with pytest.raises(
        StoreError, match=r"other: run 5 is also in .*one, with another time_ns: one of the two"
    ):
        merge_results([one, other], None, skip_duplicates=True)


def test_in_real_time_the_same_seed_is_another_run_unless_the_row_is_the_same(
    study: rexmit.Study, tmp_path: Path
) -> None:
    one = ran(study, tmp_path / "one")
    record = json.loads((one / "study.json").read_text())
    (one / "study.json").write_text(json.dumps({**record, "backend": "kernel"}))
    other = part(one, tmp_path / "other", list(range(16)))
    with pytest.raises(StoreError, match="holds 16 runs that"):
        merge_results([one, other], None)
    table = pq.read_table(one / "runs.parquet")
    place = table.column_names.index("time_ns")
    times = pa.array([n + 1 for n in table.column("time_ns").to_pylist()], pa.uint64())
    write_runs(table.set_column(place, table.field("time_ns"), times), other / "runs.parquet")
    merged = merge_results([one, other], None)
    assert merged.study["replications"] == 4
    assert merged.table()["seed_replication"].to_list()[:4] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"path.rate": "2 Mbit/s"},
            'b: is of a different study from .*a: path.rate was "1 Mbit/s", is "2 Mbit/s"',
        ),
        ({"hosts.server.stack": "linux-6.1"}, r"hosts\.server\.stack\.\S+ was"),
        ({"vary.path.queue": ["9 packets"]}, r"vary was path.delay, path.down.drop, is path.delay, path.d"),
    ],
)
def test_another_study_is_named_by_what_differs(
    study: rexmit.Study, tmp_path: Path, settings: dict[str, Any], message: str
) -> None:
    first = ran(study, tmp_path / "a")
    other = study.set("design.seed", 9)
    for key, value in settings.items():
        other = other.set(key, value)
    other.run(tmp_path / "b")
    with pytest.raises(StoreError, match=message):
        merge_results([first, tmp_path / "b"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("key", "value"), [("version", "0.0.1"), ("backend", "uml"), ("name", "other")])
def test_what_made_the_results_must_be_the_same(
    study: rexmit.Study, tmp_path: Path, key: str, value: str
) -> None:
    first, second = ran(study, tmp_path / "a"), ran(study, tmp_path / "b", design__seed=8)
    record = json.loads((second / "study.json").read_text())
    (second / "study.json").write_text(json.dumps({**record, key: value}))
    with pytest.raises(StoreError, match=f'{key} was ".*", is "{value}"'):
        merge_results([first, second], None)


def test_what_cannot_be_merged_is_one_line(study: rexmit.Study, tmp_path: Path) -> None:
    first = ran(study, tmp_path / "a")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/note").touch()
    other = ran(study, tmp_path / "b", design__seed=8)
    for folders, out, message in (
        ([], None, "nothing to merge"),
        ([first, tmp_path / "a/../a"], None, "is named twice"),
        ([first, tmp_path / "none"], None, "is not a results folder"),
        ([first, other], tmp_path / "full", "is there already"),
        ([first, other], first, "is there already"),
        ([first, other], tmp_path / "a/study.json/x", "a file stands where a folder is needed"),
    ):
        with pytest.raises((StoreError, UsageError), match=message) as raised:
            merge_results(folders, out)
        assert "\n" not in str(raised.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "full", "small.toml"]


def test_a_failure_in_mid_merge_leaves_nothing(
    study: rexmit.Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [ran(study, tmp_path / "a"), ran(study, tmp_path / "b", design__seed=8)]

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rexmit.run.merge.write_runs", fail)
    with pytest.raises(StoreError, match=r"out.*no space left on its disk; free some$"):
        merge_results(folders, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "small.toml"]
    monkeypatch.undo()
    merge_results(folders, tmp_path / "out")


KILLED = """
import sys, time
from pathlib import Path
from rexmit.run import merge
whole = merge._keep_files
def slow(*arguments):
    whole(*arguments)
    print("there", flush=True)
    time.sleep(60)
merge._keep_files = slow
merge.merge_results(sys.argv[2:], sys.argv[1])
"""


def test_a_kill_in_mid_merge_loses_nothing(study: rexmit.Study, tmp_path: Path) -> None:
    folders = [ran(study, tmp_path / "a"), ran(study, tmp_path / "b", design__seed=8)]
    before = {path: path.read_bytes() for folder in folders for path in folder.iterdir()}
    command = [sys.executable, "-c", KILLED, str(tmp_path / "out"), *map(str, folders)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "there\n"
        # Meanwhile another merge into the same place is refused.
        with pytest.raises(StoreError, match=rf"another run \(process {process.pid}\) writes into it"):
            merge_results(folders, tmp_path / "out")
        os.kill(process.pid, signal.SIGKILL)
    assert not (tmp_path / "out").exists()
    assert before == {path: path.read_bytes() for folder in folders for path in folder.iterdir()}
    merge_results(folders, tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "out", "small.toml"]


# The command


def test_the_command_merges_and_averages(rexmit: Command, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL)
    for seed in (1, 2):
        assert rexmit("run", "small.toml", "--seed", seed, "--out", f"s{seed}").returncode == 0
    done = rexmit(
        "merge", "s1", "s2", "--out", "both", "--averages", "a.csv", "--response", "time_ns", "--json"
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["runs"] == 32
    assert facts["replications"] == 4
    assert facts["seeds"] == [1, 2]
    found = pl.read_csv(tmp_path / "a.csv")
    assert found.columns == ["path.delay", "path.down.drop", "response", "n", "mean", "sd", "low", "high"]
    assert found.height == 8
    assert found["n"].to_list() == [4] * 8
    table = open_results(tmp_path / "both").table()
    own = table.filter((pl.col("path.delay") == "20 ms") & (pl.col("path.down.drop") == 2))["time_ns"]
    assert found.row(6, named=True)["mean"] == pytest.approx(own.mean())
    for command in (["report", "both"], ["plot", "both"]):
        done = rexmit(*command)
        assert done.returncode == 0, done.stderr
    assert "1, 2" in (tmp_path / "both/report.html").read_text()
    done = rexmit("merge", "s1", "s2", "--averages", "b.csv")
    assert "2 folders, 32 runs, 4 replications, seeds 1, 2; averages in b.csv" in done.stdout
    assert (tmp_path / "b.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["a"], 2, "merge has nothing to write"),
        (["a", "--out", "b"], 2, "a: is one folder; name two or more"),
        (["a", "c", "--out", "b", "--response", "time_ns"], 2, "--response chooses columns"),
        (["a", "--averages", "b.txt"], 2, "--averages b.txt: cannot write '.txt'; end it in .csv"),
        (["a", "c", "--out", "b"], 1, "a: is not a results folder"),
        ([], 2, "missing argument"),
    ],
)
def test_a_wrong_call_is_one_line(rexmit: Command, arguments: list[str], code: int, text: str) -> None:
    done = rexmit("merge", *arguments)
    assert done.returncode == code
    assert text in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_wrong_response_leaves_nothing_behind(rexmit: Command, study: Any, tmp_path: Path) -> None:
    ran(study, tmp_path / "s1")
    ran(study, tmp_path / "s2", design__seed=2)
    done = rexmit("merge", "s1", "s2", "--out", "both", "--averages", "a.csv", "--response", "time_n")
    assert done.returncode == 2
    assert "'time_n' is not a column of numbers; did you mean 'time_ns'?" in done.stderr
    assert not (tmp_path / "both").exists()


# Averages


def test_averages_are_those_of_a_textbook() -> None:
    frame = pl.DataFrame(
        {
            "run": range(6),
            "replication": [0, 1, 2, 0, 1, 2],
            "path.delay": ["5 ms"] * 3 + ["20 ms"] * 3,
            "path.delay_ns": [5] * 3 + [20] * 3,
            "completed": [True] * 6,
            "time_ns": [10, 12, 14, 7, None, 9],
            "bytes": [1, 2, 3, 4, 5, 600],
            "error": [None] * 5 + ["lost its way"],
        }
    )
    found = averages(frame, ["path.delay"])
    assert found["response"].to_list() == ["time_ns", "bytes", "time_ns", "bytes"]
    first = found.row(0, named=True)
    assert (first["n"], first["mean"], first["sd"]) == (3, 12.0, 2.0)
    # t(0.975, 2) = 4.3027 (Student's table); 4.3027 * 2 / sqrt(3).
    assert first["high"] - first["mean"] == pytest.approx(4.96828, abs=1e-4)
    assert first["mean"] - first["low"] == pytest.approx(4.96828, abs=1e-4)
    # The null and the failed run are left out; one value has no deviation.
    assert found.row(2)[2:] == (1, 7.0, None, None, None)
    assert found.row(3, named=True)["mean"] == 4.5
    alone = averages(frame.drop("path.delay", "path.delay_ns"), [], ["bytes"])
    assert alone.columns == ["response", "n", "mean", "sd", "low", "high"]
    assert alone.row(0)[:3] == ("bytes", 5, 3.0)
    with pytest.raises(
        UsageError, match=r"^response: 'error' is not a column of numbers; known: bytes, time_ns$"
    ):
        averages(frame, ["path.delay"], ["error"])


def test_averages_of_results(study: rexmit.Study) -> None:
    results: Results = study.run()
    found = averages(results.table(), results.factors, ["time_ns", "drops_down"])
    assert found.height == 16
    assert found["n"].unique().to_list() == [2]


def test_what_was_measured_by_intervals_is_merged_and_factors_that_set_several_settings_are_kept(
    tmp_path: Path,
) -> None:
    links = {"together": {"path.rate": ["1 Mbit/s", "2 Mbit/s"], "path.queue": ["5 packets", "9 packets"]}}
    scenario = {
        "hosts": {"server": {"stack": "rfc"}, "client": {"stack": "rfc"}},
        "transfers": [{"from": "server", "to": "client", "bulk": "1 s"}],
        "intervals": "500 ms",
    }
    study = rexmit.Study.from_dict({"scenario": scenario, "vary": {"link": links}}, "links")
    whole = study.run(tmp_path / "whole", progress=False)
    for n, label in enumerate(["2 Mbit/s, 9 packets", "1 Mbit/s, 5 packets"]):
        study.set("link", label).run(tmp_path / f"part-{n}", progress=False)
    merged = rexmit.merge_results([tmp_path / "part-1", tmp_path / "part-0"], tmp_path / "merged")
    assert merged.table().equals(whole.table())
    assert merged.intervals().equals(whole.intervals())
    assert rexmit.open_results(tmp_path / "merged").intervals().equals(whole.intervals())

    (tmp_path / "part-0" / "intervals.parquet").unlink()
    with pytest.raises(StoreError, match=r"part-0: holds no intervals\.parquet, which the others hold"):
        rexmit.merge_results([tmp_path / "part-1", tmp_path / "part-0"], tmp_path / "again")
    assert not (tmp_path / "again").exists()
    # What the factor sets says which run it is, and is not a response.
    found = averages(merged.table(), merged.factors)
    assert found["response"][0] == "time_ns"
    assert not found["response"].str.starts_with("path.").any()
