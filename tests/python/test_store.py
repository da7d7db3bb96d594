"""The results folder and the runner, with a backend that only counts: no model is run here."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rexmit import files
from rexmit.errors import Interrupted, RexmitError, StoreError, UsageError
from rexmit.run import Results, RunOptions, open_results, run_study, runner
from rexmit.run.parts import JOINED_AT_ONCE, MOST_PARTS, to_join
from rexmit.run.results import Failures, failures_of
from rexmit.run.store import first_difference, write_runs, write_tables
from rexmit.study import StudySpec
from rexmit.study.spec import parse_spec

RUNS = 3 * 4 * 2


def spec(**design: int) -> StudySpec:
    vary = {"path.rate": ["1 Mbit/s", "2 Mbit/s", "40 kbit/s"], "path.down.drop": {"position": "0..3"}}
    return parse_spec(
        {"scenario": {"path": {}}, "vary": vary, "design": {"replications": 2, **design}}, "counting", None
    )


class Counting:
    """Gives each run its number squared, and remembers which runs it ran."""

    name = "model"
    real_time = False

    def __init__(self) -> None:
        self.ran: list[int] = []
        self.before: Callable[[range], None] = lambda runs: None
        self.chunk = 4

    def check(self, step: Callable[[int, int], None]) -> list[str]:
        step(0, 1)
        return ["mind the gap"]

    def resolved(self) -> dict[str, Any]:
        return {"path": {"rate": "1 Mbit/s", "loss": None}}

    def facts(self) -> dict[str, Any]:
        return {}

    def sweep(self, runs: range, jobs: int, stopped: Callable[[], bool]) -> Iterator[tuple[range, pa.Table]]:
        for start in range(runs.start, runs.stop, self.chunk):
            if stopped():
                return
            part = range(start, min(start + self.chunk, runs.stop))
            yield part, self.run(part, jobs)

    def run(self, runs: range, jobs: int) -> pa.Table:
        self.before(runs)
        self.ran += runs
        columns = {
            "run": pa.array(runs, type=pa.uint32()),
            "replication": pa.array([run % 2 for run in runs], type=pa.uint32()),
            "completed": pa.array([True] * len(runs)),
            "time_ns": pa.array([run * run for run in runs], type=pa.uint64()),
            "packets_down": pa.array([2] * len(runs), type=pa.uint64()),
            "error": pa.array([None] * len(runs), type=pa.string()),
        }
        return pa.table(columns)

    def unreached(self) -> list[tuple[str, int]]:
        return [("path.down.drop: position 3 was never reached", sum(run % 8 > 5 for run in self.ran))]

    def capture(self, run: int, files: Mapping[str, Path]) -> dict[str, Any]:
        for path in files.values():
            path.write_text(f"capture of {run}")
        return {"time_ns": run * run}


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.setattr(runner, "open_backend", lambda name, study, options: counting)
    return counting


def test_a_run_gives_a_row_each_with_levels_and_numbers(backend: Counting, tmp_path: Path) -> None:
    table = run_study(spec(), tmp_path / "out").table()
    assert table.height == RUNS
    assert table.columns[:5] == ["run", "replication", "path.rate", "path.rate_bit_s", "path.down.drop"]
    last = table.row(RUNS - 1, named=True)
    assert (last["path.rate"], last["path.rate_bit_s"], last["path.down.drop"]) == ("40 kbit/s", 40_000, 3)
    assert last["time_ns"] == (RUNS - 1) ** 2
    assert table["replication"].to_list()[:4] == [0, 1, 0, 1]
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"runs.parquet", "study.toml", "study.json", "provenance.json"}


def test_the_folder_reads_back_and_says_where_it_comes_from(backend: Counting, tmp_path: Path) -> None:
    ran = run_study(spec(), tmp_path / "out")
    found = open_results(tmp_path / "out")
    assert found.table().equals(ran.table())
    assert found.factors == ["path.rate", "path.down.drop"]
    assert found.run_number(path__rate="2 Mbit/s", path__down__drop=1) == 10
    provenance = found.provenance()
    assert provenance["sessions"][0]["outcome"] == "finished"
    assert {"version", "seed", "machine", "kernel", "python", "packages"} <= set(provenance)
    with pytest.raises(UsageError, match="its levels: 1 Mbit/s, 2 Mbit/s, 40 kbit/s"):
        found.run_number(path__rate="3 Mbit/s", path__down__drop=1)


def test_without_a_folder_the_table_is_the_same(backend: Counting, tmp_path: Path) -> None:
    assert run_study(spec(), None).table().equals(run_study(spec(), tmp_path / "out").table())


def test_a_stop_loses_no_finished_run_and_a_resume_repeats_none(backend: Counting, tmp_path: Path) -> None:
    whole = run_study(spec(), tmp_path / "whole")

    def stop_at_third(runs: range) -> None:
        if runs.start == 8:
            os.kill(os.getpid(), signal.SIGTERM)

    backend.ran.clear()
    backend.before = stop_at_third
    with pytest.raises(Interrupted, match="stopped after 12 of 24; go on with --resume") as caught:
        run_study(spec(), tmp_path / "out")
    assert caught.value.exit_code == 128 + signal.SIGTERM
    assert not (tmp_path / "out" / "runs.parquet").exists()
    assert open_sessions(tmp_path / "out") == ["interrupted"]
    with pytest.raises(StoreError, match="is not finished"):
        open_results(tmp_path / "out")

    backend.before = lambda runs: None
    resumed = run_study(spec(), tmp_path / "out", RunOptions(resume=True))
    assert backend.ran == list(range(RUNS))
    assert open_sessions(tmp_path / "out") == ["interrupted", "finished"]
    assert same_bytes(resumed, whole)


@settings(max_examples=15, deadline=None)
@given(stops=st.lists(st.integers(0, RUNS - 1), max_size=5), chunk=st.integers(1, 9))
def test_stops_at_any_moments_change_nothing(stops: list[int], chunk: int) -> None:
    with tempfile.TemporaryDirectory() as work, pytest.MonkeyPatch.context() as patch:
        counting = Counting()
        counting.chunk = chunk
        patch.setattr(runner, "open_backend", lambda name, study, options: counting)
        whole = run_study(spec(), Path(work) / "whole")
        counting.ran.clear()
        left = list(stops)

        def stop(runs: range) -> None:
            if left and left[0] in runs:
                left.clear()
                os.kill(os.getpid(), signal.SIGTERM)

        counting.before = stop
        for at in stops:
            left[:] = [at]
            with contextlib.suppress(Interrupted):
                run_study(spec(), Path(work) / "out", RunOptions(resume=True))
        left.clear()
        resumed = run_study(spec(), Path(work) / "out", RunOptions(resume=True))
        assert sorted(counting.ran) == list(range(RUNS)), "each run ran once"
        assert same_bytes(resumed, whole)


def test_a_failure_leaves_a_folder_that_can_be_resumed(backend: Counting, tmp_path: Path) -> None:
    def fail(runs: range) -> None:
        if runs.start == 4:
            raise MemoryError

    backend.before = fail
    with pytest.raises(MemoryError):
        run_study(spec(), tmp_path / "out")
    assert open_sessions(tmp_path / "out") == ["failed"]
    backend.before = lambda runs: None
    run_study(spec(), tmp_path / "out", RunOptions(resume=True))
    assert backend.ran == list(range(RUNS))


def test_a_part_that_a_crash_tore_is_run_again(backend: Counting, tmp_path: Path) -> None:
    whole = run_study(spec(), tmp_path / "whole")

    def stop(runs: range) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    backend.before = stop
    with pytest.raises(Interrupted):
        run_study(spec(), tmp_path / "out")
    (part,) = (tmp_path / "out" / "parts").iterdir()
    part.write_bytes(part.read_bytes()[:50])
    (part.parent / "part-0000000004-0000000008.parquet.tmp").write_bytes(b"half")
    backend.before = lambda runs: None
    assert same_bytes(run_study(spec(), tmp_path / "out", RunOptions(resume=True)), whole)
    assert not list((tmp_path / "out").rglob("*.tmp"))


def test_parts_are_joined_so_that_files_stay_few(backend: Counting, tmp_path: Path) -> None:
    backend.chunk = 1
    many = spec(replications=100)
    most = 0

    def count(runs: range) -> None:
        nonlocal most
        most = max(most, len(list((tmp_path / "out" / "parts").glob("part-*"))))

    backend.before = count
    joined = run_study(many, tmp_path / "out")
    assert JOINED_AT_ONCE <= most < 3 * JOINED_AT_ONCE
    backend.chunk = 500
    assert same_bytes(joined, run_study(many, tmp_path / "whole"))


@settings(max_examples=15, deadline=None)
@given(order=st.permutations(range(70)))
def test_joined_parts_are_neighbours_and_lose_nothing(order: list[int]) -> None:
    known: list[range] = []
    for number in order:
        known = sorted([*known, range(3 * number, 3 * number + 3)], key=lambda one: one.start)
        while (found := to_join(known)) is not None:
            taken = known[found]
            assert all(one.stop == other.start for one, other in itertools.pairwise(taken))
            assert len(taken) == JOINED_AT_ONCE
            known[found] = [range(taken[0].start, taken[-1].stop)]
    assert sum(map(len, known)) == 210


def test_files_of_unlike_sizes_stay_few_too() -> None:
    known, at = [], 0
    for number in range(40 * JOINED_AT_ONCE):
        size = 1 if number % JOINED_AT_ONCE else 10_000
        known.append(range(at, at + size))
        at += size
    while (found := to_join(known)) is not None:
        known[found] = [range(known[found][0].start, known[found][-1].stop)]
    assert known[0].start == 0
    assert known[-1].stop == at
    assert len(known) <= MOST_PARTS


def test_a_run_is_written_again_a_few_times_only() -> None:
    known: list[range] = []
    written = 0
    for number in range(20_000):
        known.append(range(number, number + 1))
        while (found := to_join(known)) is not None:
            whole = range(known[found][0].start, known[found][-1].stop)
            known[found] = [whole]
            written += len(whole)
    assert written < 4 * 20_000
    assert len(known) < 3 * JOINED_AT_ONCE


def test_a_kill_while_parts_are_joined_leaves_each_run_once(backend: Counting, tmp_path: Path) -> None:
    whole = run_study(spec(), tmp_path / "whole")

    def stop(runs: range) -> None:
        if runs.start == 12:
            os.kill(os.getpid(), signal.SIGINT)

    backend.before = stop
    with pytest.raises(Interrupted):
        run_study(spec(), tmp_path / "out")
    parts = sorted((tmp_path / "out" / "parts").iterdir())
    assert len(parts) == 4
    joined = pa.concat_tables([pq.read_table(part) for part in parts[:3]])
    pq.write_table(joined, parts[0].with_name("part-0000000000-0000000012.parquet"))
    backend.before = lambda runs: None
    backend.ran.clear()
    assert same_bytes(run_study(spec(), tmp_path / "out", RunOptions(resume=True)), whole)
    assert backend.ran == list(range(16, RUNS))


@settings(max_examples=30, deadline=None)
@given(sizes=st.lists(st.integers(0, 90_000), min_size=1, max_size=6))
def test_tables_in_any_pieces_give_the_bytes_of_one(sizes: list[int]) -> None:
    whole = pa.table({"n": range(sum(sizes)), "text": [f"x{n % 7}" for n in range(sum(sizes))]})
    with tempfile.TemporaryDirectory() as work:
        write_runs(whole, Path(work) / "whole")
        pieces, at = [], 0
        for size in sizes:
            pieces.append(whole.slice(at, size))
            at += size
        write_tables(pieces, Path(work) / "pieces")
        assert (Path(work) / "whole").read_bytes() == (Path(work) / "pieces").read_bytes()


def test_results_are_read_when_they_are_asked_for(backend: Counting, tmp_path: Path) -> None:
    run_study(spec(), tmp_path / "out")
    found = open_results(tmp_path / "out")
    pieces = list(found.batches(("run", "path.rate", "nonsense"), rows=10))
    assert [piece.num_rows for piece in pieces] == [10, 10, 4]
    assert pieces[0].column_names == ["run", "path.rate"]
    assert len(found) == RUNS
    assert pa.concat_tables(pieces).equals(found.arrow().select(["run", "path.rate"]))
    in_memory = list(found.batches(("run", "path.rate"), rows=10))
    assert [piece.num_rows for piece in in_memory] == [10, 10, 4]


def test_failures_are_counted_piece_by_piece() -> None:
    table = pa.table(
        {
            "run": [0, 1, 2, 3],
            "completed": [True, False, True, False],
            "late": [True, False, True, False],
            "error": pa.array([None, None, "it broke", None]),
        }
    )
    study = {"name": "failing", "factors": [], "runs": 4}
    assert failures_of(Results(table, study, None)) == Failures(3, 1, "it did not complete", 2)
    well = table.slice(0, 1).drop_columns(["late"])
    assert failures_of(Results(well, study, None)) == Failures(0, None, "", None)


def test_resuming_a_finished_study_runs_nothing(backend: Counting, tmp_path: Path) -> None:
    run_study(spec(), tmp_path / "out")
    before = (tmp_path / "out" / "runs.parquet").read_bytes()
    backend.ran.clear()
    run_study(spec(), tmp_path / "out", RunOptions(resume=True))
    assert backend.ran == []
    assert (tmp_path / "out" / "runs.parquet").read_bytes() == before


def test_a_folder_that_is_not_empty_is_refused(backend: Counting, tmp_path: Path) -> None:
    run_study(spec(), tmp_path / "out")
    with pytest.raises(
        StoreError, match="is not empty; add --resume to finish its study, or choose another --out"
    ):
        run_study(spec(), tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(StoreError, match="is not a results folder"):
        run_study(spec(), tmp_path / "mine", RunOptions(resume=True))
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_a_changed_study_is_not_mixed_with_the_old_one(backend: Counting, tmp_path: Path) -> None:
    run_study(spec(), tmp_path / "out")
    with pytest.raises(StoreError, match="holds another study: seed was 1, is 2"):
        run_study(spec(seed=2), tmp_path / "out", RunOptions(resume=True))


def test_two_runs_never_write_into_one_folder(backend: Counting, tmp_path: Path) -> None:
    refused: list[str] = []

    def second(runs: range) -> None:
        backend.before = lambda runs: None
        try:
            run_study(spec(), tmp_path / "out", RunOptions(resume=True))
        except StoreError as error:
            refused.append(str(error))

    backend.before = second
    run_study(spec(), tmp_path / "out")
    assert len(refused) == 1
    assert f"another run (process {os.getpid()}) writes into it" in refused[0]
    assert not (tmp_path / "out" / ".lock").exists()


@pytest.fixture
def nobody() -> Iterator[None]:
    """Root may write everywhere, so root is nobody for a while; anyone else stays who they are."""
    was = os.geteuid()
    if was == 0:
        os.seteuid(65534)
    yield
    os.seteuid(was)


def test_an_unwritable_folder_is_refused(backend: Counting, nobody: None) -> None:
    closed = Path(tempfile.gettempdir()) / f"rexmit-closed-{os.getpid()}"
    closed.mkdir(mode=0o555)
    try:
        with pytest.raises(StoreError, match="cannot be written"):
            run_study(spec(), closed / "out")
    finally:
        closed.rmdir()


def test_a_file_in_place_of_the_folder_is_refused(backend: Counting, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match="a file stands where a folder is needed"):
            run_study(spec(), out)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOSPC, "no space left on its disk"),
        (errno.EDQUOT, "no space left on its disk"),
        (errno.EROFS, "cannot be written"),
        (errno.EIO, "cannot be written"),
    ],
)
def test_a_write_that_fails_leaves_nothing(number: int, text: str, tmp_path: Path) -> None:
    def write(file: IO[bytes]) -> None:
        file.write(b"half")
        raise OSError(number, os.strerror(number))

    with pytest.raises(StoreError, match=text):
        files.write_whole(tmp_path / "runs.parquet", write)
    assert list(tmp_path.iterdir()) == []


def test_a_study_that_fails_before_its_first_run_leaves_no_folder(backend: Counting, tmp_path: Path) -> None:
    def fail(runs: range) -> None:
        raise RexmitError("no privilege")

    backend.before = fail
    (tmp_path / "empty").mkdir()
    for out in (tmp_path / "out", tmp_path / "empty"):
        with pytest.raises(RexmitError, match="no privilege"):
            run_study(spec(), out)
    assert [path.name for path in tmp_path.rglob("*")] == ["empty"]
    backend.before = lambda runs: None
    assert run_study(spec(), tmp_path / "out").table().height == RUNS


def test_a_study_that_fails_later_keeps_what_it_has(backend: Counting, tmp_path: Path) -> None:
    def fail(runs: range) -> None:
        if runs.start >= 8:
            raise RexmitError("no more")

    backend.before = fail
    for resume in (False, True):
        with pytest.raises(RexmitError, match="no more"):
            run_study(spec(), tmp_path / "out", RunOptions(resume=resume))
    backend.ran.clear()
    backend.before = lambda runs: None
    run_study(spec(), tmp_path / "out", RunOptions(resume=True))
    assert backend.ran == list(range(8, RUNS))


def test_positions_beyond_the_flow_are_named(backend: Counting, tmp_path: Path) -> None:
    never = "path.down.drop: position 3 was never reached in 6 of 24 runs"
    for out in (None, tmp_path / "out"):
        backend.ran.clear()
        warned: list[str] = []
        run_study(spec(), out, RunOptions(warn=warned.append))
        assert warned == ["mind the gap", never]
    assert never in (tmp_path / "out" / "provenance.json").read_text()


def test_captures_of_all_runs_are_whole_and_kept(backend: Counting, tmp_path: Path) -> None:
    run_study(spec(), tmp_path / "out", RunOptions(capture="all"))
    found = sorted(path.name for path in (tmp_path / "out" / "captures").iterdir())
    assert len(found) == 2 * RUNS
    assert found[:2] == ["run-00000000-client.pcapng", "run-00000000-server.pcapng"]
    assert (tmp_path / "out" / "captures" / found[-1]).read_text() == f"capture of {RUNS - 1}"


def test_a_run_that_does_not_repeat_is_reported(backend: Counting, tmp_path: Path) -> None:
    class Changing(Counting):
        def capture(self, run: int, files: Mapping[str, Path]) -> dict[str, Any]:
            return super().capture(run, files) | {"time_ns": 5}

    backend.capture = Changing().capture  # type: ignore[method-assign]
    with pytest.raises(Exception, match=r"run 0 took 0 ns and now 5 ns"):
        run_study(spec(), tmp_path / "out", RunOptions(capture="all"))
    assert not [path for path in (tmp_path / "out" / "captures").iterdir() if path.suffix == ".pcapng"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (RunOptions(jobs=0), "jobs: 0 is too few"),
        (RunOptions(capture="some"), "none, failed, all"),
        (RunOptions(capture="all"), "kept of single runs needs a folder"),
    ],
)
def test_wrong_options_are_refused(backend: Counting, options: RunOptions, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        run_study(spec(), None, options)


def test_a_stack_that_is_not_there_is_told_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"unknown backend 'stack:usrsctb'; did you mean 'stack:usrsctp'\?"):
        run_study(spec(), None, RunOptions(backend="stack:usrsctb"))


def test_a_misspelt_backend_gets_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"did you mean 'model'\?"):
        run_study(spec(), None, RunOptions(backend="modle"))


def test_runs_also_work_outside_the_main_thread(backend: Counting) -> None:
    found: list[Results] = []
    thread = threading.Thread(target=lambda: found.append(run_study(spec(), None)))
    thread.start()
    thread.join()
    assert len(found[0]) == RUNS


def test_the_first_difference_is_named_with_its_place() -> None:
    assert first_difference({"a": {"b": [1]}}, {"a": {"b": [1]}}) is None
    assert first_difference({"a": {"b": 1}}, {"a": {"b": 2}}) == "a.b was 1, is 2"
    assert first_difference({"a": 1}, {"a": 1, "c": "x"}) == 'c was absent, is "x"'


def open_sessions(folder: Path) -> list[str]:
    import json

    sessions = json.loads((folder / "provenance.json").read_text())["sessions"]
    return [session["outcome"] for session in sessions]


def same_bytes(one: Results, other: Results) -> bool:
    assert one.folder is not None
    assert other.folder is not None
    pl.testing.assert_frame_equal(one.table(), other.table())
    return (one.folder / "runs.parquet").read_bytes() == (other.folder / "runs.parquet").read_bytes()


def test_a_difference_within_a_list_is_named_by_its_place() -> None:
    before, now = ({"transfers": [{"from": "server", "writes": writes}]} for writes in ("1 byte", "2 bytes"))
    assert first_difference(before, now) == 'transfers[0].writes was "1 byte", is "2 bytes"'
