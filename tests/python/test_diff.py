"""`rexmit diff` of two folders: what changed, by how much, and which conditions hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit
from click.testing import CliRunner
from rexmit.cli import cli
from rexmit.diff import Threshold, broken
from rexmit.errors import UsageError

DELAYS = ["10 ms", "20 ms", "40 ms"]


def study(**changes: Any) -> rexmit.Study:
    host = {"stack": "freebsd-6.0"}
    table = {
        "scenario": {
            "hosts": {"server": host, "client": host},
            "path": {"rate": "1 Mbit/s", "delay": "10 ms", "down": {"loss": 0.02}},
            "transfers": [{"from": "server", "to": "client", "bulk": "100 kB"}],
        },
        "vary": {"path.delay": DELAYS, "path.rate": ["1 Mbit/s", "2 Mbit/s"]},
        "design": {"replications": 5, "seed": 3},
    }
    found = rexmit.Study.from_dict(table, "changing")
    for key, value in changes.items():
        found = found.set(key.replace("__", "."), value)
    return found


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One design on the same system twice, a slower one, and with another seed."""
    root = tmp_path_factory.mktemp("diff")
    made = {
        "before": study(),
        "again": study(),
        "slower": study(path__down__loss=0.15),
        "other-seed": study(design__seed=4),
        "more": study(path__delay=[*DELAYS, "80 ms"], design__replications=6),
        "other-factor": study(vary__path__queue=["9 packets"]),
    }
    for name, one in made.items():
        one.run(root / name, progress=False)
    return {name: root / name for name in made}


def changes(folders: dict[str, Path], after: str, before: str = "before", **options: Any) -> rexmit.Changes:
    return rexmit.diff_results(
        rexmit.open_results(folders[before]), rexmit.open_results(folders[after]), **options
    )


def told(*arguments: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(cli, ["diff", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result.output


def test_the_same_study_differs_in_nothing(folders: dict[str, Path]) -> None:
    found = changes(folders, "again")
    assert (found.runs, found.runs_changed, len(found.cells), list(found.settings)) == (30, 0, 0, [])
    assert "nothing differs in 30 runs, 6 cells" in told(folders["before"], folders["again"])
    assert told(folders["before"], folders["again"], "--fail", "changed > 0")


def test_folders_of_one_kernel_each_say_which(folders: dict[str, Path]) -> None:
    results = rexmit.open_results(folders["before"])
    both = [
        rexmit.Results(results.arrow(), results.study | {"kernel": version, "hash": key}, None)
        for version, key in (("6.1.192", "aa"), ("6.12.117", "bb"))
    ]
    assert list(rexmit.diff_results(*both).settings) == ["kernel: 6.1.192 -> 6.12.117", "hash: aa -> bb"]


def test_a_changed_cell_has_the_means_and_the_interval_of_its_pairs(folders: dict[str, Path]) -> None:
    found = changes(folders, "slower")
    assert list(found.settings) == ["path.down.loss: 0.02 -> 0.15"]
    before, after = (rexmit.open_results(folders[name]).table() for name in ("before", "slower"))
    at = (pl.col("path.delay") == "20 ms") & (pl.col("path.rate") == "1 Mbit/s")
    ours, theirs = (frame.filter(at)["time_ns"].cast(pl.Float64) for frame in (before, after))
    row = found.cells.filter(at, pl.col("response") == "time_ns").row(0, named=True)
    off = theirs - ours
    assert row["n"] == 5
    assert row["before"] == pytest.approx(ours.mean())
    assert row["difference"] == pytest.approx(off.mean())
    half = 2.776445 * float(off.std() or 0) / 5**0.5  # Student's t, 0.975, 4 degrees of freedom
    assert (row["low"], row["high"]) == pytest.approx((row["difference"] - half, row["difference"] + half))
    assert row["ratio"] == pytest.approx(theirs.mean() / ours.mean())  # type: ignore[operator]
    assert row["runs_changed"] == (ours != theirs).sum()
    total = found.totals.filter(pl.col("response") == "time_ns").row(0, named=True)
    assert total["n"] == 30
    assert total["before"] == pytest.approx(before["time_ns"].mean())


def test_runs_of_other_seeds_are_no_pairs(folders: dict[str, Path]) -> None:
    found = changes(folders, "other-seed")
    assert not found.matched.paired
    rows = found.cells.filter(pl.col("response") == "time_ns")
    assert all(row["low"] > 0 or row["high"] < 0 for row in rows.iter_rows(named=True))
    assert len(rows) < 6, "the same system differs in every cell"
    assert "by more than replications do" in told(folders["before"], folders["other-seed"])
    slower = changes(folders, "slower", before="other-seed").cells
    assert len(slower.filter(pl.col("response") == "time_ns", pl.col("low") > 0)) > 2


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("mean(time) > 1.05x overall", True),
        ("time_ns > 1x overall", True),
        ("mean(time) > 50x overall", False),
        ("max(time) > +5 %", True),
        ("min(time) < -1 ms", False),
        ("median(time)>1 ms", True),
        ("p99(time) > 100 s", False),
        ("sum(bytes) >= 100 kB overall", True),
        ("bytes > +0", False),
        ("errors > 0", False),
        ("incomplete > 0", False),
        ("changed > 0", True),
        ("changed > 30 overall", False),
        ("mean(retransmits) > 1000 by path.delay, path.rate", False),
    ],
)
def test_a_condition_holds_or_not(folders: dict[str, Path], condition: str, holds: bool) -> None:
    found = broken([Threshold.parse(condition)], changes(folders, "slower").matched)
    assert bool(found) == holds
    told(folders["before"], folders["slower"], "--fail", condition, code=1 if holds else 0)


def test_a_count_alone_is_a_condition(folders: dict[str, Path]) -> None:
    matched = changes(folders, "slower").matched
    for scope in ("", " overall", " by path.rate"):
        spelt = broken([Threshold.parse(f"changed > 0{scope}")], matched)
        short = broken([Threshold.parse(f"changed{scope}")], matched)
        assert [(one.cell, one.after) for one in short] == [(one.cell, one.after) for one in spelt] != []
    assert broken([Threshold.parse("errors")], matched) == []


def test_a_percentile_is_by_nearest_rank_of_each_cell(folders: dict[str, Path]) -> None:
    after = rexmit.open_results(folders["slower"]).table()
    (found, *_) = broken(
        [Threshold.parse("p50(time) > 0 ms by path.rate")], changes(folders, "slower").matched
    )
    assert found.cell == {"path.rate": "1 Mbit/s"}
    times = sorted(after.filter(pl.col("path.rate") == "1 Mbit/s")["time_ns"])
    assert found.after == times[7]  # the eighth of fifteen
    whole = broken([Threshold.parse("p100(time) > 0 ms overall")], changes(folders, "slower").matched)
    assert [one.after for one in whole] == [after["time_ns"].max()]
    assert whole[0].where == "all runs"


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        ("time", "is not a condition; write STATISTIC"),
        ("time == 1", "is not a condition"),
        ("errors == 1", "is not a condition"),
        ("mode(time) > 1", "'mode' is not a statistic"),
        ("time > fast", "'fast' is not a value"),
        ("time > 10 kB", "'10 kB' is not a value"),
        ("tim > 1", "'tim' is not a response of both folders"),
        ("time > 1 by path.dela", "'path.dela' is not a factor; did you mean 'path.delay'"),
    ],
)
def test_what_is_no_condition_is_told_in_one_line(
    folders: dict[str, Path], condition: str, text: str
) -> None:
    with pytest.raises(UsageError, match=r".+") as caught:
        broken([Threshold.parse(condition)], changes(folders, "slower").matched)
    assert text in str(caught.value)
    assert "\n" not in str(caught.value)


def test_different_designs_are_refused_with_what_differs(folders: dict[str, Path]) -> None:
    with pytest.raises(UsageError, match=r"only .*more has path.delay = 80 ms; .*--only-common"):
        changes(folders, "more")
    with pytest.raises(UsageError, match=r"have different designs: only .*other-factor varies path.queue"):
        changes(folders, "other-factor", only_common=True)
    common = changes(folders, "more", only_common=True)
    assert (common.runs, common.runs_changed) == (30, 0)


def test_a_run_that_failed_is_in_no_mean(folders: dict[str, Path], tmp_path: Path) -> None:
    results = rexmit.open_results(folders["before"])
    table = results.arrow()
    errors = table.column("error").to_pylist()
    errors[0] = "the kernel died"
    place = table.schema.get_field_index("error")
    failed = table.set_column(place, table.schema.field(place), [errors])
    found = rexmit.diff_results(results, rexmit.Results(failed, results.study, None))
    assert found.errors == (0, 1)
    (row,) = found.cells.filter(pl.col("response") == "time_ns").to_dicts()
    assert row["after"] == pytest.approx(sum(table.column("time_ns").to_pylist()[1:5]) / 4)
    assert [one.after for one in broken([Threshold.parse("errors > 0")], found.matched)] == [1]


def test_json_and_markdown_say_the_same(folders: dict[str, Path]) -> None:
    arguments = (folders["before"], folders["slower"], "--fail", "time > 1.01x by path.rate")
    found = json.loads(told(*arguments, "--json", code=1))
    assert found["runs"] == 30
    assert found["paired"] is True
    assert {one["condition"] for one in found["failing"]} == {"time > 1.01x by path.rate"}
    assert {one["response"] for one in found["responses"]} == {one["response"] for one in found["cells"]}
    text = told(*arguments, "--markdown", code=1)
    assert "- `path.down.loss: 0.02 -> 0.15`" in text
    assert "| response | cells | runs |" in text
    assert "### conditions that hold" in text


def test_cells_are_shown_up_to_a_number_and_of_the_response_that_is_asked(folders: dict[str, Path]) -> None:
    text = told(folders["before"], folders["slower"], "--cells", "2", "--response", "timeouts")
    assert "timeouts: the cells that changed most" in text
    assert "more cells: --cells" in text
    assert "the cells that changed most" not in told(folders["before"], folders["slower"], "--cells", "0")
    told(folders["before"], folders["slower"], "--response", "tim", code=1)


def test_a_folder_that_is_none_is_told(folders: dict[str, Path], tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["diff", str(folders["before"]), str(tmp_path)])
    assert result.exit_code != 0
