"""Reports of what is not as it should be, and the packets of runs in a page."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import rexmit as package
from rexmit import Results, StoreError, Study, UsageError, merge_results, open_results
from rexmit.report import RunsOptions
from rexmit.report.responses import without_failed
from rexmit.report.runs import run_blocks
from rexmit.run.parts import Parts
from rexmit.run.unfinished import open_unfinished

from .conftest import Command
from .test_report import small, unpack


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    small().run(tmp_path / "out", progress=False)
    return tmp_path / "out"


def blocks(page: Path) -> dict[int, str]:
    """The blocks of runs in a page, by the number of the run."""
    found = re.findall(
        r'<script type="application/x-rexmit" id="run-(\d+)">([^<]*)</script>', page.read_text()
    )
    return {int(number): block for number, block in found}


def packets(block: str) -> bytes:
    """The columns of a block, without its head, which tells of the run."""
    data = gzip.decompress(base64.b64decode(block))
    return data[8 + int.from_bytes(data[4:8], "little") :]


def change(folder: Path, **keys: Any) -> None:
    path = folder / "study.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | keys))


def one_line(text: str) -> str:
    (line,) = [line for line in text.splitlines() if "packets of runs" not in line]
    return line


def test_a_folder_that_is_half_finished(rexmit: Command, folder: Path, tmp_path: Path) -> None:
    runs = open_results(folder).arrow()
    factors = open_results(folder).factors
    plain = runs.drop_columns([name for name in runs.column_names if name.startswith(tuple(factors))])
    (folder / "runs.parquet").unlink()
    (folder / "parts").mkdir(exist_ok=True)
    Parts(folder / "parts").add(range(6), plain.slice(0, 6))
    assert len(open_unfinished(folder)) == 6
    done = rexmit("report", folder, "--out", "half.html")
    assert (done.returncode, done.stdout) == (0, "half.html\n")
    assert "rexmit: warning: The study is not finished: 6 of 16 runs are here" in done.stderr
    text = (tmp_path / "half.html").read_text()
    assert "The study is not finished: 6 of 16 runs are here" in text
    assert "<svg" in text
    assert sorted(blocks(tmp_path / "half.html")) == [0, 2, 4]
    assert rexmit("report", folder, "--out", "half.html", "--with-runs", "5,6").returncode == 0
    assert sorted(blocks(tmp_path / "half.html")) == [5]


def test_a_folder_without_any_run(rexmit: Command, folder: Path) -> None:
    (folder / "runs.parquet").unlink()
    done = rexmit("report", folder)
    assert done.returncode == 1
    assert "no run is finished yet" in one_line(done.stderr)
    assert not (folder / "report.html").exists()


def test_another_version_ran_it(rexmit: Command, folder: Path, tmp_path: Path) -> None:
    change(folder, version="0.0.1")
    rexmit("report", folder, "--out", "same.html", "--with-runs", "2,3")
    assert sorted(blocks(tmp_path / "same.html")) == [2, 3], "what comes out the same is shown"
    rows = pl.read_parquet(folder / "runs.parquet")
    rows = rows.with_columns(pl.col("bytes") + (pl.col("run") == 3).cast(rows["bytes"].dtype))
    rows.write_parquet(folder / "runs.parquet")
    done = rexmit("report", folder, "--out", "other.html", "--with-runs", "2,3")
    assert done.returncode == 0
    told = "run 3 was run by rexmit 0.0.1 with bytes 20001, and comes out with 20000 now"
    assert told in done.stderr
    assert "warning: The study was run by rexmit 0.0.1, and this report is of" in done.stderr
    assert sorted(blocks(tmp_path / "other.html")) == [2]
    assert told in (tmp_path / "other.html").read_text()


def test_a_newer_layout_is_refused(rexmit: Command, folder: Path) -> None:
    change(folder, schema=99)
    done = rexmit("report", folder)
    assert done.returncode == 1
    assert "was written by a newer rexmit (schema 99)" in one_line(done.stderr)


def test_without_provenance_the_runs_are_there(rexmit: Command, folder: Path, tmp_path: Path) -> None:
    (folder / "provenance.json").unlink()
    done = rexmit("report", folder, "--out", "page.html", "--with-runs", "all")
    assert done.returncode == 0
    assert len(blocks(tmp_path / "page.html")) == 16


def random_losses(seed: int) -> Study:
    vary = {"path.down.loss": ["10 %"], "path.delay": ["5 ms", "20 ms"]}
    return small(vary=vary, design={"replications": 2, "seed": seed})


def test_runs_of_merged_results_are_those_of_their_own_seed(tmp_path: Path) -> None:
    for seed in (7, 3):
        random_losses(seed).run(tmp_path / f"{seed}", progress=False)
        package.write_report(tmp_path / f"{seed}", tmp_path / f"{seed}.html", runs="all")
    merged = merge_results([tmp_path / "7", tmp_path / "3"], tmp_path / "both")
    package.write_report(merged, tmp_path / "both.html", runs="all")
    own = {seed: blocks(tmp_path / f"{seed}.html") for seed in (7, 3)}
    both = blocks(tmp_path / "both.html")
    assert len(both) == 8
    for row in merged.table().iter_rows(named=True):
        level = row["run"] // 4
        expected = own[row["seed"]][2 * level + row["seed_replication"]]
        assert packets(both[row["run"]]) == packets(expected)
    assert len({packets(block) for block in both.values()}) == 8, "each seed loses other packets"


def test_failed_runs_show_what_there_was(rexmit: Command, tmp_path: Path) -> None:
    # The SYN-ACK is lost, or the SYN: then the server, which sends the data, sees nothing.
    vary = {"path.down.drop": {"position": "0..1"}, "path.up.drop": {"position": "0..1"}}
    study = small(vary=vary, design={}).set("scenario.limit", "2 s")
    results = study.run(tmp_path / "out", progress=False)
    assert results.table()["completed"].to_list() == [True, False, False, False]
    done = rexmit("report", tmp_path / "out", "--out", "page.html")
    assert done.returncode == 0
    assert "/run-" not in done.stderr, "no name of a file that is gone"
    assert sorted(blocks(tmp_path / "page.html")) == [0, 1, 2, 3]
    assert "warning" not in done.stderr


@pytest.mark.parametrize("replications", [1, 3])
def test_a_study_without_factors(replications: int, tmp_path: Path) -> None:
    results = small(vary={}, design={"replications": replications}).run(progress=False)
    package.write_report(results, tmp_path / "page.html", runs="all")
    assert "Nothing varies" in (tmp_path / "page.html").read_text()
    assert sorted(blocks(tmp_path / "page.html")) == list(range(replications))


@pytest.mark.parametrize("wanted", ["nonsense", "3..1", "16", "1,,2", ""])
def test_runs_that_are_none(wanted: str, rexmit: Command, folder: Path) -> None:
    done = rexmit("report", folder, "--with-runs", wanted)
    assert done.returncode == 2
    assert one_line(done.stderr).endswith("or one of auto, none, kept, first, all")
    assert not (folder / "report.html").exists()


def test_a_page_that_may_be_too_small(rexmit: Command, folder: Path, tmp_path: Path) -> None:
    done = rexmit("report", folder, "--out", "page.html", "--max-size", "10 kB")
    assert done.returncode == 0
    assert "Of 8 runs that were to be in the page, 0 fit its size" in done.stderr
    assert "bytes, more than the 10,000 that it may have" in done.stderr
    assert blocks(tmp_path / "page.html") == {}
    assert "0 fit its size" in (tmp_path / "page.html").read_text()
    wrong = rexmit("report", folder, "--max-size", "large")
    assert wrong.returncode == 2
    assert "--max-size: 'large' is not an amount of data" in one_line(wrong.stderr)


def test_packets_beside_the_page(rexmit: Command, folder: Path, tmp_path: Path) -> None:
    rexmit("report", folder, "--out", "inside.html", "--with-runs", "1,6")
    done = rexmit("report", folder, "--out", "page.html", "--with-runs", "1,6", "--data", "beside")
    assert done.returncode == 0
    assert blocks(tmp_path / "page.html") == {}
    inside = blocks(tmp_path / "inside.html")
    for number in (1, 6):
        beside = (tmp_path / "page-data" / f"run-{number}.js").read_text()
        assert beside == f'rexmitBlock("run-{number}","{inside[number]}");\n'
        assert f'"file":"page-data/run-{number}.js"' in (tmp_path / "page.html").read_text().replace(" ", "")
        assert unpack(inside[number])["head"]["run"] == number


def test_an_interrupt_leaves_the_page_that_was(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("the page of yesterday")

    def stop(_: str, done: int, __: int) -> None:
        if done == 3:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        package.write_report(folder, page, runs="all", progress=stop)
    assert page.read_text() == "the page of yesterday"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "page.html"]


def test_from_python(folder: Path, tmp_path: Path) -> None:
    results: Results = open_results(folder)
    assert package.write_report(results, tmp_path / "a.html", runs=[5, 2]) == tmp_path / "a.html"
    assert sorted(blocks(tmp_path / "a.html")) == [2, 5]
    package.write_report(str(folder), str(tmp_path / "b.html"), runs=[])
    assert blocks(tmp_path / "b.html") == {}
    package.write_report(folder, tmp_path / "c.md")
    assert (tmp_path / "c.md").read_text().startswith("# A ")
    stages: set[str] = set()
    package.write_report(
        small().run(progress=False), tmp_path / "d.html", progress=lambda s, *_: stages.add(s)
    )
    assert stages == {"packets of runs"}
    assert len(blocks(tmp_path / "d.html")) == 8, "results in memory are run again too"


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda at: package.write_report(at, at / "a.txt"), UsageError, "ends in .html, .pdf or .md"),
        (lambda at: package.write_report(at, at / "a.html", max_size="x"), UsageError, "max_size: 'x'"),
        (lambda at: package.write_report(at, at / "a.html", max_size=-1), UsageError, "max_size: "),
        (lambda at: package.write_report(at, at / "a.html", runs=[16]), UsageError, "the runs are 0 to 15"),
        (lambda at: package.write_report(at / "none", at / "a.html"), StoreError, "is not a results folder"),
        (lambda at: package.write_report(at, at / "none" / "a.html"), StoreError, "cannot be written"),
    ],
)
def test_wrong_calls(call: Callable[[Path], Path], error: type[Exception], told: str, folder: Path) -> None:
    with pytest.raises(error, match=re.escape(told)):
        call(folder)


def test_failed_runs_have_no_values_in_the_explorer() -> None:
    frame = pl.DataFrame(
        {"run": [0, 1], "completed": [True, False], "time_ns": [5, 0], "error": [None, "it was reset"]}
    )
    assert without_failed(frame)["time_ns"].to_list() == [5, None]
    assert without_failed(frame)["completed"].to_list() == [True, False]


def test_a_choice_and_numbers_go_together(folder: Path) -> None:
    results = open_results(folder)
    assert sorted(run_blocks(results, RunsOptions("none,1,3"), []).blocks) == [1, 3]
    first = run_blocks(results, RunsOptions("first"), []).blocks
    both = run_blocks(results, RunsOptions("first,1"), []).blocks
    assert set(both) == {*first, 1}


def test_the_command_for_one_more_run_is_for_this_page(folder: Path) -> None:
    results = open_results(folder)
    options = RunsOptions("none", page=Path("a b.html"))
    command = run_blocks(results, options, []).command
    assert command is not None
    words = shlex.split("28".join(command))
    assert words == ["rexmit", "report", str(folder), "--with-runs", "28", "--out", "a b.html"]
