"""Parts of a study for several machines, and the whole that they give."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import polars as pl
import pytest
import rexmit
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from rexmit.cli import cli
from rexmit.errors import RexmitError, StoreError, UsageError
from rexmit.run import merge_results, open_results
from rexmit.run.shard import checked, parse_shard, runs_of

DETAILS = ("intervals", "retransmissions", "messages")


@pytest.fixture
def study() -> rexmit.Study:
    """22 runs with all that takes several rows a run; the loss of some positions is never reached."""
    return rexmit.Study.from_dict(
        {
            "scenario": {
                "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
                "path": {"rate": "1 Mbit/s", "delay": "10 ms", "queue": "99 packets"},
                "transfers": [{"from": "server", "to": "client", "writes": "4 x 2500 bytes"}],
                "intervals": "100 ms",
                "retransmissions": True,
                "messages": True,
            },
            "vary": {"path.down.drop": {"position": "0..10"}},
            "design": {"replications": 2},
        },
        "sharded",
    )


def shards(study: rexmit.Study, folder: Path, count: int, **options: str) -> list[Path]:
    places = [folder / f"shard-{n}" for n in range(1, count + 1)]
    for number, place in enumerate(places, start=1):
        study.run(place, shard=(number, count), progress=False, capture=options.get("capture", "none"))
    return places


@given(runs=st.integers(1, 2**32 - 1), count=st.integers(1, 500))
def test_shards_are_disjoint_complete_and_alike(runs: int, count: int) -> None:
    if count > runs:
        with pytest.raises(UsageError, match=f"{count} shards are more than the {runs} runs"):
            runs_of((1, count), runs)
        return
    parts = [runs_of((number, count), runs) for number in range(1, count + 1)]
    assert (parts[0].start, parts[-1].stop) == (0, runs)
    assert all(one.stop == other.start for one, other in itertools.pairwise(parts))
    sizes = {len(part) for part in parts}
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1


@pytest.mark.parametrize("count", [1, 3, 22])
def test_merged_shards_are_the_folder_of_one_machine(study: rexmit.Study, tmp_path: Path, count: int) -> None:
    whole = study.run(tmp_path / "whole", progress=False)
    places = shards(study, tmp_path, count)
    merged = merge_results([*reversed(places)], tmp_path / "merged")
    for name in ("runs.parquet", "study.json", "study.toml", *(f"{detail}.parquet" for detail in DETAILS)):
        assert (tmp_path / "merged" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes(), name
    assert merged.table().equals(whole.table())
    assert merged.shard is None
    sources = json.loads((tmp_path / "merged/provenance.json").read_text())["sources"]
    assert [source["shard"] for source in sources] == [[n, count] for n in range(1, count + 1)]


def test_shards_merge_in_memory(study: rexmit.Study, tmp_path: Path) -> None:
    whole = study.run(progress=False)
    merged = merge_results(shards(study, tmp_path, 3), None)
    assert merged.table().equals(whole.table())
    assert merged.intervals().equals(whole.intervals())


def test_a_shard_has_the_numbers_of_the_whole_and_says_what_it_is(
    study: rexmit.Study, tmp_path: Path
) -> None:
    whole = study.run(progress=False).table()
    study.run(tmp_path / "part", shard=(2, 3), progress=False)
    found = open_results(tmp_path / "part")
    assert found.shard == (2, 3)
    assert found.table().equals(whole.filter(pl.col("run").is_between(7, 13)))
    assert "part 2 of 3: 7 runs" in repr(found)
    assert study.run(shard=(2, 3), progress=False).table().equals(found.table())


def test_captures_of_shards_go_along(study: rexmit.Study, tmp_path: Path) -> None:
    whole = study.run(tmp_path / "whole", capture="all", progress=False)
    merge_results(shards(study, tmp_path, 3, capture="all"), tmp_path / "merged")
    names = sorted(path.name for path in (tmp_path / "merged/captures").iterdir())
    assert len(names) == 2 * len(whole)
    for name in names:
        found, expected = (tmp_path / place / "captures" / name for place in ("merged", "whole"))
        assert found.read_bytes() == expected.read_bytes()


def test_a_shard_that_was_stopped_goes_on(study: rexmit.Study, tmp_path: Path) -> None:
    whole = study.run(tmp_path / "whole", progress=False)
    places = shards(study, tmp_path, 2)
    second = places[1]
    (second / "runs.parquet").unlink()
    with pytest.raises(StoreError, match=r"1 is missing: 2/2 \(not finished: .*shard-2\)"):
        merge_results(places, None)
    resumed = study.run(second, shard=(2, 2), resume=True, progress=False)
    assert (resumed.new_runs, len(resumed)) == (11, 11)
    assert merge_results(places, None).table().equals(whole.table())


def test_a_shard_is_not_mixed_with_another(study: rexmit.Study, tmp_path: Path) -> None:
    study.run(tmp_path / "part", shard=(2, 3), progress=False)
    for shard in ((1, 3), (2, 4), None):
        with pytest.raises(StoreError, match=r"holds another study: shard was \[2, 3\]"):
            study.run(tmp_path / "part", shard=shard, resume=True, progress=False)


def test_shards_that_do_not_make_a_whole_are_refused(study: rexmit.Study, tmp_path: Path) -> None:
    places = shards(study, tmp_path, 3)
    with pytest.raises(StoreError, match="of 3 shards of sharded 2 are missing: 1/3, 3/3; run each with"):
        merge_results([places[1]], None)
    other = tmp_path / "other"
    study.run(other, shard=(3, 4), progress=False)
    with pytest.raises(StoreError, match="number of shards was 3, is 4"):
        merge_results([*places, other], None)
    seeded = tmp_path / "seeded"
    study.set("design.seed", 5).run(seeded, shard=(3, 3), progress=False)
    with pytest.raises(StoreError, match="seed was 1, is 5; merge shards of one study"):
        merge_results([*places[:2], seeded], None)
    whole = tmp_path / "whole"
    study.run(whole, progress=False)
    with pytest.raises(StoreError, match=r"is a shard, and .*whole is not"):
        merge_results([places[0], whole], None)
    again = tmp_path / "again"
    study.run(again, shard=(3, 3), progress=False)
    with pytest.raises(StoreError, match=r"is shard 3/3, and so is .*shard-3"):
        merge_results([*places, again], None)
    assert len(merge_results([*places, again], None, skip_duplicates=True)) == study.runs


def test_a_shard_of_another_version_is_refused(study: rexmit.Study, tmp_path: Path) -> None:
    places = shards(study, tmp_path, 2)
    record = json.loads((places[1] / "study.json").read_text())
    (places[1] / "study.json").write_text(json.dumps(record | {"version": "0.0.1"}))
    with pytest.raises(StoreError, match=r'version was .*, is "0.0.1"'):
        merge_results(places, tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_damaged_shard_leaves_nothing_behind(study: rexmit.Study, tmp_path: Path) -> None:
    places = shards(study, tmp_path, 2)
    (places[0] / "runs.parquet").write_bytes((places[1] / "runs.parquet").read_bytes())
    with pytest.raises(StoreError, match=r"its runs are not those of its study.json"):
        merge_results(places, tmp_path / "merged")
    (places[0] / "runs.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(StoreError, match=r"runs.parquet: is damaged"):
        merge_results(places, tmp_path / "merged")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["shard-1", "shard-2"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0/4", "there is no 0/4; shards are numbered from 1: 1/4 to 4/4"),
        ("5/4", "there is no 5/4"),
        ("1/0", "there is no 1/0"),
        ("3", "'3' is not part of a whole; write 3/16"),
        ("a/b", "'a/b' is not part of a whole"),
        ("-1/4", "'-1/4' is not part"),
        ("1/4/2", "'1/4/2' is not part"),
        ("", "'' is not part"),
    ],
)
def test_shards_that_are_none_are_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse_shard(text)


def test_a_wrong_shard_in_python_is_one_line(study: rexmit.Study) -> None:
    with pytest.raises(UsageError, match=r"there is no 4/3"):
        study.run(shard=(4, 3), progress=False)
    with pytest.raises(UsageError, match=r"23 shards are more than the 22 runs"):
        study.run(shard=(1, 23), progress=False)
    with pytest.raises(UsageError, match="is not part of a whole"):
        checked([True, 2])


def test_the_commands_of_a_job_array(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runner = CliRunner()
    run = ["run", "hurtig-2006/short", "--set", 'path.rate=["1 Mbit/s"]', "--set", 'path.delay=["10 ms"]']
    for number in (1, 2, 3):
        done = runner.invoke(cli, [*run, "--shard", f"{number}/3"], catch_exceptions=False)
        assert f"hurtig-2006/short, part {number} of 3: " in done.output
    folders = [f"results/hurtig-2006-short-shard-{number}-of-3" for number in (1, 2, 3)]
    merged = runner.invoke(cli, ["merge", *folders, "--out", "whole", "--json"], catch_exceptions=False)
    assert json.loads(merged.stdout)["runs"] == len(open_results("whole"))
    runner.invoke(cli, [*run, "--out", "one"], catch_exceptions=False)
    assert Path("whole/runs.parquet").read_bytes() == Path("one/runs.parquet").read_bytes()
    part = runner.invoke(cli, ["report", folders[0], "--out", "part.html"], catch_exceptions=False)
    assert "is part 1 of 3 of hurtig-2006/short" in part.stderr
    assert Path("part.html").stat().st_size > 1000
    assert "is part 1 of 3" in runner.invoke(cli, ["compare", folders[0]], catch_exceptions=False).stderr
    with pytest.raises(RexmitError, match="there is no 4/3"):
        runner.invoke(cli, [*run, "--shard", "4/3"], catch_exceptions=False)
