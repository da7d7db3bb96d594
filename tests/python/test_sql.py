"""`rexmit sql`: which tables there are, what they answer, and what a query may not do."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import rexmit
from rexmit.analyse.captures import TABLES
from rexmit.analyse.pairs import PAIR_TABLES
from rexmit.cli import main
from rexmit.errors import StoreError, StudyError, UsageError
from rexmit.run import Results, open_results
from rexmit.run.schema import SCHEMA
from rexmit.run.sql import Database
from rexmit.run.sql_about import ABOUT_CAPTURE
from rexmit.run.sql_tables import folder_source
from rexmit.run.store import Store

Ask = Callable[..., str]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """Two rates, five positions, with everything kept."""
    return _study().run(
        tmp_path_factory.mktemp("sql") / "results",
        progress=False,
        capture="all",
        state="all",
        verdicts="all",
        transmissions="all",
    )


def _study() -> rexmit.Study:
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s", "2 Mbit/s"])
    return study.set("path.delay", ["10 ms"]).set("path.down.drop", [0, 3, 9, 17, 18])


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Calls `rexmit sql` and returns what it prints; `code` is the exit code that it must have."""

    def call(*words: object, code: int = 0) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["sql", *map(str, words)])
        printed = capsys.readouterr()
        assert ended.value.code == code, printed.err
        return printed.err if code else printed.out

    return call


def test_two_columns_of_one_name_are_told_apart(results: Results, tmp_path: Path) -> None:
    query = "select a.run, b.run from runs a join runs b using (run) order by 1 limit 2"
    assert results.sql(query).to_dict(as_series=False) == {"run": [0, 1], "run_1": [0, 1]}
    assert results.folder is not None
    out = tmp_path / "twice.parquet"
    with pytest.raises(SystemExit) as ended:
        main(["sql", str(results.folder), query, "--out", str(out)])
    assert ended.value.code == 0
    assert pl.read_parquet(out).columns == ["run", "run_1"]


def test_what_is_no_query_and_no_run_is_refused_in_python(results: Results) -> None:
    with pytest.raises(UsageError, match="sql: 5 is not a query; give a text"):
        results.sql(5)  # type: ignore[arg-type]
    for run in (-1, 30):
        with pytest.raises(StudyError, match=f"there is no run {run}; this design has runs 0..29"):
            results.trace(run)


def test_a_signal_ends_a_question_in_python(results: Results) -> None:
    query = "select count(*) from range(100000000000) a, range(1000) b"
    alarm = threading.Timer(1.5, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT])
    began = time.monotonic()
    alarm.start()
    with pytest.raises(KeyboardInterrupt):
        results.sql(query)
    assert time.monotonic() - began < 10


def test_a_query_answers_as_polars_does(results: Results) -> None:
    query = (
        'select "path.rate", avg(time_ns) as mean, sum(timeouts)::bigint as n from runs group by 1 order by 1'
    )
    expected = (
        results.table()
        .group_by("path.rate")
        .agg(pl.col("time_ns").mean().alias("mean"), pl.col("timeouts").sum().cast(pl.Int64).alias("n"))
        .sort("path.rate")
    )
    found = results.sql(query)
    assert found.equals(expected)
    assert found["n"].sum() > 0


def test_results_in_memory_answer_too() -> None:
    results = _study().run(progress=False)
    assert results.sql("select count(*) as n from runs")["n"].to_list() == [len(results)]
    assert results.sql("select distinct name from factors order by 1")["name"].to_list() == [
        "path.delay",
        "path.down.drop",
        "path.rate",
    ]


def test_tables_of_single_runs_have_the_number_of_their_run(results: Results) -> None:
    found = results.sql(
        'select v.run, v.position, r."path.down.drop" as lost from verdicts v join runs r using (run) '
        "where v.dropped and v.direction = 'down' order by v.run"
    )
    expected = results.table().filter(pl.col("path.down.drop") > 0)
    assert found["run"].to_list() == expected["run"].to_list()
    assert (found["position"] == found["lost"].cast(pl.UInt64)).all()
    for kind in ("state", "transmissions"):
        runs = results.sql(f"select count(distinct run) as n from {kind}")["n"].to_list()
        assert runs == [len(results)]
    captures = results.sql("select * from captures order by run, host")
    assert captures.height == 2 * len(results)
    assert all(Path(path).exists() for path in captures["path"])


def test_factors_have_their_levels_as_numbers(results: Results) -> None:
    found = results.sql(
        "select level, label, value, unit from factors where name = 'path.rate' order by level"
    )
    assert found.rows() == [(0, "1 Mbit/s", 1e6, "bit/s"), (1, "2 Mbit/s", 2e6, "bit/s")]


def test_every_column_of_every_table_has_a_meaning(results: Results) -> None:
    found = results.sql("select * from columns")
    assert set(found["table_name"]) == {
        *("runs", "state", "verdicts", "transmissions", "captures", "factors", "columns")
    }
    assert found.filter(pl.col("meaning") == "").is_empty()
    assert "path.rate_bit_s" in found["column_name"].to_list()


def test_several_folders_stand_under_each_other(results: Results, tmp_path: Path, ask: Ask) -> None:
    other = tmp_path / "other"
    _study().set("path.rate", ["3 Mbit/s"]).set("path.queue", "9 packets").run(other, progress=False)
    query = "select folder, count(*) as n from runs group by 1 order by n"
    answer = json.loads(ask(results.folder, other, query, "--json"))
    assert answer == [{"folder": str(other), "n": 15}, {"folder": str(results.folder), "n": 30}]


def test_without_a_query_it_lists_tables_and_columns(results: Results, ask: Ask) -> None:
    text = ask(results.folder)
    assert '"path.rate_bit_s"' in text
    assert "all of that in words, as captures have it in comments" in text
    listed = {table["table"]: table for table in json.loads(ask(results.folder, "--json"))}
    assert listed["runs"]["rows"] == len(results)
    assert listed["captures"]["rows"] == 2 * len(results)
    assert listed["runs"]["columns"][0]["column"] == "run"


def test_answers_go_into_files(results: Results, tmp_path: Path, ask: Ask) -> None:
    query = "select run, time_ns, error from runs where timeouts > 0 order by run"
    expected = results.sql(query)
    assert expected.height > 0
    for name in ("a.parquet", "a.csv", "a.json"):
        assert ask(results.folder, query, "--out", tmp_path / name) == ""
    assert pl.read_parquet(tmp_path / "a.parquet").equals(expected)
    assert pl.read_csv(tmp_path / "a.csv", schema=expected.schema).equals(expected)
    assert json.loads((tmp_path / "a.json").read_text()) == expected.to_dicts()
    assert ask(results.folder, query, "--csv") == (tmp_path / "a.csv").read_text()
    assert ask(results.folder, query, "--json") == (tmp_path / "a.json").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.json", "a.parquet"]


def test_what_json_and_csv_have_no_word_for(results: Results, ask: Ask) -> None:
    query = "select 'nan'::double as a, sum(bytes) as b, [1, 2] as c, 1 as d, 2 as d from runs"
    assert json.loads(ask(results.folder, query, "--json"))[0]["a"] is None
    total = int(results.table()["bytes"].sum())
    assert json.loads(ask(results.folder, query, "--json"))[0]["b"] == total
    assert ask(results.folder, query, "--csv") == f'a,b,c,d,d\nNaN,{total},"[1, 2]",1,2\n'
    assert json.loads(ask(results.folder, "select 1 as a where false", "--json")) == []


def test_a_query_may_come_from_a_file_or_standard_input(
    results: Results, tmp_path: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "question.sql"
    file.write_text("-- how many?\nselect count(*) as n from runs;\n")
    assert json.loads(ask(results.folder, "--file", file, "--json")) == [{"n": 30}]
    monkeypatch.setattr("sys.stdin", io.StringIO(file.read_text()))
    assert json.loads(ask(results.folder, "-", "--json")) == [{"n": 30}]


def test_a_printed_table_is_bounded(results: Results, ask: Ask) -> None:
    assert ask(results.folder, "select run from runs", "--rows", "7").count("│\n") == 7
    assert ask(results.folder, "select run from runs", "--rows", "0").count("│\n") == 30


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("select path.rate from runs", r'needs double quotes: "path\.rate"'),
        ('select "path.rat" from runs', r'"path\.rat" not found.*"path\.rate"'),
        ("select * from runz", r'runz does not exist! Did you mean "runs"'),
        ("select * from Messages", r"does not exist! There are: runs, .*; a scenario with .*messages = true"),
        ("select * from nothing", r"does not exist! There are: runs, [^;]*$"),
        ("selec 1", "syntax error"),
        (" ", "the query is empty"),
        ("select 1; select 2", "one query at a time"),
        ("drop view runs", "results can only be read"),
        ("copy runs to 'x.csv'", "results can only be read"),
        ("copy (pivot runs on completed using count(*)) to 'x.csv'", "results can only be read"),
        ("explain analyze copy runs to 'x.csv'", "results can only be read"),
        ("attach 'x.db'", "results can only be read"),
        ("set memory_limit = '64GB'", "results can only be read"),
        ('select cast("path.rate" as int) from runs', "Could not convert"),
    ],
)
def test_a_wrong_query_is_one_line(results: Results, query: str, told: str, ask: Ask) -> None:
    text = ask(results.folder, query, "--json", code=2)
    assert re.search(told, text), text
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_text('{file}')",
        "select * from '{file}'",
        "select * from read_parquet('{file}')",
        "select * from glob('{file}')",
        "from sniff_csv('{file}')",
    ],
)
def test_a_query_sees_no_file(results: Results, tmp_path: Path, query: str) -> None:
    secret = tmp_path / "secret.parquet"
    pq.write_table(pa.table({"a": [1]}), secret)
    assert duckdb.sql(f"select * from '{secret}'").fetchall() == [(1,)]
    with pytest.raises(UsageError, match="disabled"):
        results.sql(query.format(file=secret))


def test_nothing_is_drawn_into_an_answer(results: Results) -> None:
    found = results.sql("select current_setting('enable_progress_bar') as bar")
    assert found["bar"].to_list() == [False]


def test_a_query_sees_no_variable_of_python(results: Results) -> None:
    secret = pl.DataFrame({"a": [1]})
    with pytest.raises(UsageError, match="secret does not exist"):
        results.sql("select * from secret")
    assert secret.height == 1


def test_a_table_that_was_not_kept_says_how_to_keep_it(results: Results, tmp_path: Path, ask: Ask) -> None:
    assert results.folder is not None
    folder = tmp_path / "without"
    shutil.copytree(results.folder, folder, ignore=shutil.ignore_patterns("tables"))
    told = ask(folder, "select count(*) from verdicts", code=2)
    assert "verdicts does not exist! There are: runs, " in told
    assert "`rexmit run --verdicts all` keeps verdicts of all runs" in told


def test_an_unfinished_folder_shows_what_it_has(
    results: Results, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "unfinished"
    folder.mkdir()
    assert results.folder is not None
    shutil.copy(results.folder / "study.json", folder)
    (folder / "parts").mkdir()
    names = [one for one in results.arrow().column_names if not one.startswith("path.")]
    store = Store(folder, results.spec().design)
    for runs in (range(4), range(20, 24)):
        store.add(runs, results.arrow().select(names).slice(runs.start, len(runs)))
    with pytest.raises(SystemExit):
        main(["sql", str(folder), "select * from runs order by run", "--json"])
    printed = capsys.readouterr()
    assert "is not finished" in printed.err
    kept = [0, 1, 2, 3, 20, 21, 22, 23]
    assert json.loads(printed.out) == results.table().filter(pl.col("run").is_in(kept)).to_dicts()


def test_a_folder_of_an_analysis(results: Results, tmp_path: Path, ask: Ask) -> None:
    assert results.folder is not None
    capture = results.folder / "captures" / "run-00000006-server.pcapng"
    with pytest.raises(SystemExit):
        main(["analyze", str(capture), "--tables", str(tmp_path), "--json"])
    ask(tmp_path, "--json")  # after what analyze printed
    told = {one["table"]: one["holds"] for one in json.loads(ask(tmp_path, "--json"))}
    assert told["retransmissions"] == "why TCP data were sent again: one row per retransmission"
    assert set(ABOUT_CAPTURE) == {*TABLES, *PAIR_TABLES}
    (row,) = json.loads(
        ask(tmp_path, "select count(*) as n, min(cause) as cause from retransmissions", "--json")
    )
    assert row["n"] == pl.read_parquet(tmp_path / "retransmissions.parquet").height > 0
    meanings = json.loads(ask(tmp_path, "select * from columns where meaning = ''", "--json"))
    assert meanings == []


def test_a_wrong_folder_is_told(tmp_path: Path, ask: Ask) -> None:
    assert "no such folder" in ask(tmp_path / "nothing", "select 1 as a", code=2)
    assert "neither study.json nor Parquet" in ask(tmp_path, "select 1 as a", code=1)
    assert "no such folder" in ask(tmp_path / "slip", tmp_path, code=2)


def test_options_that_exclude_each_other(results: Results, tmp_path: Path, ask: Ask) -> None:
    query = "select 1 as a"
    assert "choose one" in ask(results.folder, query, "--json", "--csv", code=2)
    assert "there is no query" in ask(results.folder, "--csv", code=2)
    assert ".parquet, .csv or .json" in ask(results.folder, query, "--out", tmp_path / "a.txt", code=2)
    assert "one of the two" in ask(results.folder, query, "--file", tmp_path / "q.sql", code=2)
    assert "cannot be read" in ask(results.folder, "--file", tmp_path / "q.sql", code=2)


def test_a_damaged_table_is_named(results: Results, tmp_path: Path) -> None:
    assert results.folder is not None
    shutil.copy(results.folder / "study.json", tmp_path)
    (tmp_path / "runs.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(StoreError, match=r"runs\.parquet: cannot be read"):
        folder_source(tmp_path)


def test_an_odd_name_of_a_folder(results: Results, tmp_path: Path) -> None:
    assert results.folder is not None
    odd = tmp_path / "it's [one] of 1*?"
    shutil.copytree(results.folder, odd)
    with Database([folder_source(odd), folder_source(results.folder)]) as database:
        answer = database.query("select distinct folder from runs order by 1").read_all()
    assert set(answer.column("folder").to_pylist()) == {str(odd), str(results.folder)}


def test_a_folder_of_a_newer_version_is_refused(results: Results, tmp_path: Path) -> None:
    assert results.folder is not None
    assert results.study["schema"] == SCHEMA
    folder = tmp_path / "newer"
    shutil.copytree(results.folder, folder)
    study = json.loads((folder / "study.json").read_text())
    (folder / "study.json").write_text(json.dumps(study | {"schema": SCHEMA + 1}))
    told = rf"was written by a newer rexmit \(schema {SCHEMA + 1}\); this one reads {SCHEMA}"
    with pytest.raises(StoreError, match=told):
        open_results(folder)
    with pytest.raises(StoreError, match=told):
        folder_source(folder)
    with pytest.raises(StoreError, match=told):
        _study().run(folder, resume=True, progress=False)


def test_a_folder_from_before_there_were_versions(results: Results, tmp_path: Path) -> None:
    assert results.folder is not None
    folder = tmp_path / "older"
    shutil.copytree(results.folder, folder)
    study = json.loads((folder / "study.json").read_text())
    del study["schema"]
    (folder / "study.json").write_text(json.dumps(study))
    assert open_results(folder).table().equals(results.table())
    assert _study().run(folder, resume=True, progress=False).new_runs == 0
    other = tmp_path / "new"
    rexmit.Study(_study().spec.with_set("design.seed", 7)).run(other, progress=False)
    merged = rexmit.merge_results([folder, other], None)
    assert len(merged) == 2 * len(results)
    assert merged.study["schema"] == 1


def test_two_columns_of_one_name_both_come_in_json(results: Results, ask: Ask) -> None:
    query = "select 'a' as x, 'b' as x_1, 'c' as x"
    assert json.loads(ask(results.folder, query, "--json")) == [{"x": "a", "x_1": "b", "x_2": "c"}]


def test_an_empty_query_is_told_of(results: Results, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sql", str(results.folder), " "])
    assert (ended.value.code, "the query is empty" in capsys.readouterr().err) == (2, True)


ENDLESS = (
    "select count(*) from range(100000000000) a",
    "select i from range(100000000000) t(i)",
    "select count(*) from (select i, hash(i) as h from range(2000000000) t(i) order by h)",
)


@pytest.mark.parametrize(
    ("query", "number"),
    [
        *((query, signal.SIGINT) for query in ENDLESS),
        *((ENDLESS[-1], number) for number in (signal.SIGTERM, signal.SIGKILL)),
        *(
            pytest.param(query, number, marks=pytest.mark.long)
            for query in ENDLESS[:-1]
            for number in (signal.SIGTERM, signal.SIGKILL)
        ),
    ],
)
def test_a_query_without_an_end_is_stopped_and_leaves_nothing(
    results: Results, tmp_path: Path, query: str, number: signal.Signals
) -> None:
    spills = tmp_path / "spills"
    spills.mkdir()
    main = "import rexmit.cli; rexmit.cli.main()"
    running = subprocess.Popen(
        [sys.executable, "-c", main, "sql", str(results.folder), query, "--csv"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(spills)},
    )
    engine = engine_of(running)
    while cpu_seconds(engine) < 1:
        assert running.poll() is None, running.communicate()[1]
        time.sleep(0.01)
    running.send_signal(number)
    said = running.communicate(timeout=5)[1]
    for _ in range(500):
        if not Path(f"/proc/{engine}").exists():
            break
        time.sleep(0.01)
    assert not Path(f"/proc/{engine}").exists(), "what answers goes on"
    if number == signal.SIGKILL:
        results.sql("select 1 as a")  # which sweeps, of its own folder of temporary files only
        return
    told = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}[number]
    assert (running.returncode, said) == (128 + number, f"rexmit: error: {told}\n")
    assert list(spills.iterdir()) == []


def engine_of(running: subprocess.Popen[str]) -> int:
    """The process that answers for a command."""
    while running.poll() is None:
        for path in Path(f"/proc/{running.pid}/task").glob("*/children"):
            for child in path.read_text().split():
                if "rexmit.run.sql_main" in Path(f"/proc/{child}/cmdline").read_text():
                    return int(child)
        time.sleep(0.01)
    raise AssertionError(running.communicate()[1])


def cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize(
    "query",
    [
        "select length(repeat('x', 4000000000)) as n",
        "select list(i) as n from range(1000000000) t(i)",
        "select string_agg(i::varchar, ',') as n from range(1000000000) t(i)",
    ],
)
def test_a_query_takes_no_more_memory_than_it_may(results: Results, query: str) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    with pytest.raises(UsageError, match="takes more than the 1024 MiB of memory that a query may"):
        results.sql(query)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert after == before or after < 1536 << 10, "KiB of the largest child"


def test_sorting_more_than_memory_goes_to_the_disk(results: Results) -> None:
    large = "select i, hash(i) as h, md5(i::varchar) as m from range(15000000) t(i) order by h"
    query = f"select count(*) as n from ({large})"
    assert results.sql(query)["n"].to_list() == [15_000_000]


def test_tables_that_sql_does_not_tell_apart(tmp_path: Path, ask: Ask) -> None:
    for name in ("x", "X"):
        pq.write_table(pa.table({"a": [1]}), tmp_path / f"{name}.parquet")
    text = ask(tmp_path, "select * from x", code=2)
    assert re.fullmatch(
        r"rexmit: error: .*: SQL does not tell the tables 'X' and 'x' apart; rename a file\n", text
    )


def test_a_column_folder_of_several_folders(tmp_path: Path, ask: Ask) -> None:
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
        pq.write_table(pa.table({"Folder": [1]}), folder / "t.parquet")
    text = ask(*folders, "select * from t", code=2)
    assert text.count("\n") == 1
    assert "has a column 'Folder', the name of the column that tells several folders apart" in text
    assert json.loads(ask(folders[0], "select * from t", "--json")) == [{"Folder": 1}]


@pytest.mark.parametrize("form", ["--json", "--csv", "--rows=1"])
def test_text_that_is_none_is_told(tmp_path: Path, ask: Ask, form: str) -> None:
    offsets = pa.array([0, 2, 4], pa.int32()).buffers()[1]
    text = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xff\xfeab")])
    pq.write_table(pa.table({"s": text, "n": [1, 2]}), tmp_path / "t.parquet")
    told = ask(tmp_path, "select * from t", form, code=2)
    assert told.count("\n") == 1
    assert "column 's': Invalid UTF8 sequence" in told
    assert json.loads(ask(tmp_path, "select n from t", "--json")) == [{"n": 1}, {"n": 2}]


def test_a_name_of_a_file_that_is_no_text(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    path.rename(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.parquet"))
    told = ask(tmp_path, code=1)
    assert told.count("\n") == 1
    assert "is not UTF-8" in told
