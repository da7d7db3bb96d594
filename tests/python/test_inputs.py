"""What a command is given to read is a regular file of bounded size: nothing waits or fills the memory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest
import rexmit
from rexmit.cli import main
from rexmit.errors import RexmitError, StoreError, StudyError
from rexmit.inputs import KINDS, PROFILE, RECORD, STUDY, Kind, read_bytes, read_json, read_text, read_toml
from rexmit.nesting import MOST_NESTED, TooDeepError, parse_json, parse_toml
from rexmit.run import open_results

from .conftest import SMALL, Command, edited


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished folder with captures and tables."""
    place = tmp_path_factory.mktemp("inputs")
    (place / "small.toml").write_text(SMALL.replace("0..3", "0..1"))
    study = rexmit.Study.load(place / "small.toml")
    study.run(place / "out", progress=False, capture="all", state="all")
    return place / "out"


def asked(folder: Path) -> list[tuple[object, ...]]:
    """A command of each kind that reads a results folder."""
    out = folder.parent
    return [
        ("report", folder, "--with-runs", "kept", "--out", out / "page.html"),
        ("sql", folder, "select * from runs, captures"),
        ("plot", folder, "--format", "svg"),
        ("merge", folder, folder.parent / "other", "--out", out / "merged"),
        ("run", out / "small.toml", "--out", folder, "--resume"),
    ]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("pipe", "study.json"),
        ("device", "runs.parquet"),
        ("link", "study.json"),
        pytest.param("pipe", "runs.parquet", marks=pytest.mark.long),
        pytest.param("device", "study.json", marks=pytest.mark.long),
        pytest.param("link", "runs.parquet", marks=pytest.mark.long),
    ],
)
def test_what_stands_for_a_file_of_results_is_refused_by_every_command(
    rexmit: Command, folder: Path, tmp_path: Path, kind: str, name: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    shutil.copytree(folder, tmp_path / "other")
    shutil.copy(folder.parent / "small.toml", tmp_path)
    (out / name).unlink()
    if kind == "pipe":
        os.mkfifo(out / name)
    else:
        (out / name).symlink_to("/dev/zero" if kind == "device" else folder / name)
    for words in asked(out):
        done = rexmit(*words)
        assert done.returncode in (1, 2), words
        assert done.stderr.startswith(f"rexmit: error: {out / name}: is "), (words, done.stderr)
        assert len(done.stderr.splitlines()) == 1


def test_words_that_are_not_text_are_refused_and_no_library_panics(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    table = pq.read_table(out / "runs.parquet")
    field = table.schema.field("time_ns").with_metadata({b"meaning": b"\xff"})
    place = table.schema.get_field_index("time_ns")
    pq.write_table(table.cast(table.schema.set(place, field)), out / "runs.parquet")
    with pytest.raises(StoreError, match=r"runs\.parquet: .*description in it is not UTF-8"):
        open_results(out).table()


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pl.lit("a").alias("time_ns"), "its column time_ns has no whole numbers"),
        (pl.lit("a").alias("unreached_down"), "its column unreached_down has no whole numbers"),
        (pl.lit(1.5).alias("retransmits"), "its column retransmits has no whole numbers"),
        (pl.lit(1).alias("completed"), "its column completed has no truth values"),
        (pl.lit(None).cast(pl.UInt32).alias("run"), "its column run has an entry that is not a run number"),
        (pl.lit(-1).alias("run"), "its column run has an entry that is not a run number"),
        (None, "has no column time_ns, so it is not a table of runs"),
    ],
)
def test_a_column_of_another_kind_is_refused_by_every_command(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], column: pl.Expr | None, expected: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    shutil.copy(folder.parent / "small.toml", tmp_path)
    runs = pl.read_parquet(out / "runs.parquet")
    changed = runs.drop("time_ns") if column is None else runs.with_columns(column)
    changed.write_parquet(out / "runs.parquet")
    for words in (
        ("report", out, "--with-runs", "none"),
        ("plot", out),
        ("compare", out),
        ("run", tmp_path / "small.toml", "--out", out, "--resume"),
    ):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        assert ended.value.code == 1, words
        said = capsys.readouterr().err.splitlines()
        assert said[-1] == f"rexmit: error: {out / 'runs.parquet'}: {expected}"


def test_what_is_no_regular_file_is_no_study_and_no_results(rexmit: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for command, expected in (
        ("run", "pipe: is a named pipe, and a study's file is read from a regular file only"),
        ("studies", "pipe: is a named pipe, and a study's file is read from a regular file only"),
        ("plot", "pipe: it is a named pipe, not a regular file"),
        ("report", "pipe: is not a folder; name the results folder that `rexmit run` wrote"),
        ("compare", "pipe: is not a folder; name the results folder that `rexmit run` wrote"),
    ):
        assert rexmit(command, "pipe").stderr == f"rexmit: error: {expected}\n"


@pytest.mark.parametrize("inner", ["captures", "tables"])
def test_a_linked_folder_below_a_results_folder_is_not_followed(
    folder: Path, tmp_path: Path, inner: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    shutil.rmtree(out / inner)
    (out / inner).symlink_to(folder / inner)
    with pytest.raises(RexmitError, match=rf"{inner}: is a link, and links in a results folder are not"):
        rexmit.open_results(out).sql("select 1")
    if inner == "captures":
        with pytest.raises(RexmitError, match="captures: is a link"):
            rexmit.write_report(out, tmp_path / "page.html", runs="kept")


def test_a_pipe_is_no_study_no_capture_and_no_query(rexmit: Command, folder: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    commands: list[tuple[object, ...]] = [
        ("run", pipe),
        ("studies", pipe),
        ("emulate", pipe, "--", "true"),
        ("analyze", pipe),
        ("analyze", "/dev/zero"),
        ("plot", pipe),
        ("sql", folder, "--file", pipe),
        ("pattern", "show", pipe),
    ]
    for words in commands:
        done = rexmit(*words)
        assert done.returncode == 2, words
        assert len(done.stderr.splitlines()) == 1, words


def test_a_profile_is_a_regular_file(rexmit: Command, study_file: Path) -> None:
    study = edited(study_file, 'server.stack = "freebsd-6.0"', 'server.stack = "/dev/zero"')
    done = rexmit("run", study)
    assert done.returncode == 2
    assert "hosts.server.stack: /dev/zero: is a device" in done.stderr


def test_each_kind_of_file_has_a_limit_that_the_line_names(tmp_path: Path) -> None:
    for kind in KINDS:
        assert kind.most is not None
        path = tmp_path / "large"
        with path.open("wb") as file:
            file.truncate(kind.most + 1)
        with pytest.raises(
            kind.error, match=f"larger than the {kind.most >> 20} MiB that {kind.name} may have"
        ):
            read_bytes(path, kind)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_byte_order_mark_is_no_part_of_a_text(kind: Kind, tmp_path: Path) -> None:
    file = tmp_path / "marked"
    file.write_bytes("\ufeffid,value\n\ufeff1,2\n".encode())
    assert read_text(file, kind) == "id,value\n\ufeff1,2\n"


def test_a_file_that_a_user_names_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("a = 1")
    (tmp_path / "b.toml").symlink_to("a.toml")
    assert read_toml(tmp_path / "b.toml", PROFILE) == {"a": 1}
    with pytest.raises(StoreError, match="is a link"):
        read_json(tmp_path / "b.toml", RECORD)


DEEP = 50_000
NESTED = {
    "lists": "a = " + "[" * DEEP,
    "tables": "a = " + "{a = " * DEEP,
    "a dotted key": ".".join("a" * DEEP) + " = 1",
    "a quoted key": ".".join(['"a"'] * DEEP) + " = 1",
    "a header": "[" + ".".join("a" * DEEP) + "]",
    "behind strings": 'a = ["[[", """]]""\\" ]""", \'[[\', ' + "[" * DEEP,
}


@pytest.mark.parametrize("what", NESTED)
def test_toml_nested_without_end_is_one_line(tmp_path: Path, what: str) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(NESTED[what])
    with pytest.raises(StudyError, match=f"deep.toml: is nested deeper than {MOST_NESTED} tables and lists"):
        read_toml(path, STUDY)


def test_nesting_is_counted_outside_strings_and_comments() -> None:
    brackets = "[" * 200
    text = f'a = "{brackets}" # {brackets}\nb = \'{brackets}\'\nc = """\n{brackets}"""\nd = [1.5, 2.5]\n'
    assert parse_toml(text)["d"] == [1.5, 2.5]
    assert parse_json(f'["{brackets}\\"{brackets}"]') == [f'{brackets}"{brackets}']
    assert parse_json("[" * MOST_NESTED + "]" * MOST_NESTED)
    with pytest.raises(TooDeepError):
        parse_json("[" * (MOST_NESTED + 1) + "]" * (MOST_NESTED + 1))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": [{"b": 1e999}]}', "a[0].b: inf is not a finite number"),
        ('{"a": [1, NaN]}', "a[1]: nan is not a finite number"),
        ('{"a": 99999999999999999999}', "a: is a number that needs more than 64 bits"),
        ('{"a": {"b": "\\ud800"}}', "a.b: holds half of a surrogate pair, which is not text"),
    ],
)
def test_a_value_of_json_that_nothing_takes_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_json(text)
    assert str(caught.value) == message
