"""Links in a results folder that came from a stranger: no command writes or removes anything through them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from .conftest import SMALL, Command

RUN = ["run", "small.toml", "--out", "DIR", "--resume"]
FIRST = "run-00000000-server.pcapng"

FILES: list[tuple[str, Sequence[str]]] = [
    ("DIR/report.html.tmp", ["report", "DIR"]),
    ("DIR/report.html", ["report", "DIR"]),
    ("DIR/report.md.tmp", ["report", "DIR", "--format", "md"]),
    ("DIR/report-data/run-0.js", ["report", "DIR", "--data", "beside", "--with-runs", "first"]),
    ("DIR/figures/time.svg.tmp", ["plot", "DIR"]),
    ("DIR/captures/run-00000000-server.pcapng.tmp", [*RUN, "--capture", "all"]),
    ("DIR/captures/run-00000000-client.pcapng.other.tmp", [*RUN, "--capture", "all"]),
    ("DIR/tables/run-00000000-state.parquet.tmp", [*RUN, "--state", "all"]),
    ("DIR/provenance.json", RUN),
    ("DIR/provenance.json.tmp", RUN),
    ("DIR/study.toml.tmp", [*RUN, "--set", "design.replications=1"]),
    ("DIR/runs.parquet.tmp", RUN),
    ("X.html.tmp", ["plot", f"captured/{FIRST}", "--out", "X.html"]),
    ("X.svg.tmp", ["plot", f"captured/{FIRST}", "--out", "X.svg"]),
    ("T/connections.parquet.tmp", ["analyze", f"captured/{FIRST}", "--tables", "T"]),
    ("X.csv.tmp", ["sql", "DIR", "select 1", "--out", "X.csv"]),
    ("X.csv", ["sql", "DIR", "select 1", "--out", "X.csv"]),
    ("X.drop.tmp", ["pattern", "make", "1-3", "--out", "X.drop"]),
]

FOLDERS: list[tuple[str, Sequence[str]]] = [
    ("DIR/figures", ["plot", "DIR"]),
    ("DIR/figures", ["plot", "DIR", "--out", "DIR/figures"]),
    ("DIR/report-data", ["report", "DIR", "--data", "beside", "--with-runs", "first"]),
    ("page-data", ["report", "DIR", "--data", "beside", "--with-runs", "first", "--out", "page.html"]),
    ("DIR/report-figures", ["report", "DIR", "--format", "md"]),
    ("DIR/parts", RUN),
    ("DIR/captures", RUN),
    ("DIR/captures", [*RUN, "--capture", "all"]),
    ("DIR/tables", [*RUN, "--state", "all"]),
    (".M.merging", ["merge", "DIR", "OTHER", "--out", "M"]),
]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results, others of another seed, and captures."""
    from rexmit import Study

    place = tmp_path_factory.mktemp("ran")
    (place / "small.toml").write_text(SMALL)
    study = Study.load(place / "small.toml")
    study.run(place / "DIR", capture="all", progress=False)
    study.set("design.seed", 8).run(place / "OTHER", progress=False)
    shutil.move(place / "DIR" / "captures", place / "captured")
    return place


@pytest.fixture
def place(ran: Path, tmp_path: Path) -> Path:
    """A copy of these, and beside it a folder with files that must stay as they are."""
    shutil.copytree(ran, tmp_path, dirs_exist_ok=True)
    victim = tmp_path / "victim"
    victim.mkdir()
    names = (
        "precious.txt",
        "part-0000000000-0000000004.parquet",
        "part-1.parquet",
        "run-00000000-state.parquet",
    )
    for name in (
        *names,
        "run-7.js",
        FIRST,
        f"{FIRST}.tmp",
        "runs.parquet.0123456789abcdef.tmp",
        "study.json",
    ):
        (victim / name).write_text(f"mine, of {name}")
    return tmp_path


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(("planted", "command"), FILES)
def test_a_planted_link_to_a_file_is_not_written_through(
    rexmit: Command, place: Path, planted: str, command: Sequence[str]
) -> None:
    link = place / planted
    link.parent.mkdir(exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(place / "victim" / "precious.txt")
    if planted in ("DIR/study.toml.tmp", "DIR/runs.parquet.tmp"):
        (place / "DIR" / "runs.parquet").unlink()
    before = content(place / "victim")
    done = rexmit(*command)
    assert "Traceback" not in done.stderr
    assert content(place / "victim") == before
    if "design.replications=1" not in command:
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("planted", "command"), FOLDERS)
def test_a_planted_link_to_a_folder_is_refused(
    rexmit: Command, place: Path, planted: str, command: Sequence[str]
) -> None:
    (place / planted).symlink_to(place / "victim")
    before = content(place / "victim")
    done = rexmit(*command)
    assert content(place / "victim") == before
    assert done.returncode == 1
    error = done.stderr.splitlines()[-1]
    assert f"{Path(planted).name}: is a link, and below a results folder none is followed; remove it" in error
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("target", ["victim/precious.txt", "victim/nothing-yet"])
def test_a_planted_link_in_place_of_the_lock_is_refused(rexmit: Command, place: Path, target: str) -> None:
    (place / "DIR" / ".lock").symlink_to(place / target)
    before = content(place / "victim")
    done = rexmit(*RUN)
    assert content(place / "victim") == before
    assert done.returncode == 1
    assert ".lock: is a link, not a lock of rexmit; remove it" in done.stderr


def test_a_lock_with_another_name_or_with_a_text_is_refused(rexmit: Command, place: Path) -> None:
    lock, precious = place / "DIR" / ".lock", place / "victim" / "precious.txt"
    lock.hardlink_to(precious)
    assert ".lock: is a file with a second name (hard link)" in rexmit(*RUN).stderr
    lock.unlink()
    lock.write_text("a diary")
    assert ".lock: is a file of something else" in rexmit(*RUN).stderr
    assert (lock.read_text(), precious.read_text()) == ("a diary", "mine, of precious.txt")
    lock.write_text("4711")  # what a killed run leaves
    assert rexmit(*RUN).returncode == 0
    assert not lock.exists()


def test_the_users_own_path_may_go_through_links(rexmit: Command, place: Path) -> None:
    (place / "latest").symlink_to(place / "DIR")
    (place / "away").mkdir()
    (place / "figs").symlink_to(place / "away")
    assert rexmit("report", "latest").returncode == 0
    assert rexmit("plot", "latest", "--out", "figs").returncode == 0
    assert (place / "DIR" / "report.html").is_file()
    assert list((place / "away").glob("*.svg"))


def test_leftovers_of_a_kill_go_at_the_next_resume_and_nothing_else(rexmit: Command, place: Path) -> None:
    out = place / "DIR"
    (out / "runs.parquet").unlink()
    ours = [
        "runs.parquet.0123456789abcdef.tmp",
        "provenance.json.tmp",
        "captures/run-00000000-server.pcapng.tmp.4711.partial",
        "captures/run-00000003-client.pcapng.0123456789abcdef.tmp",
        "tables/run-00000000-state.parquet.tmp",
        "parts/part-0000000000-0000000004.parquet.tmp",
        "figures/time.svg.0123456789abcdef.tmp",
    ]
    theirs = ["mine.tmp", "captures/notes.tmp", "figures/draft.svg", "parts/precious.txt"]
    for name in (*ours, *theirs):
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("half")
    done = rexmit(*RUN)
    assert done.returncode == 0, done.stderr
    assert [name for name in ours if (out / name).exists()] == []
    assert [name for name in theirs if not (out / name).exists()] == []


@pytest.mark.parametrize("name", ["..toml", "...toml"])
def test_a_study_whose_name_is_made_of_dots_writes_nowhere(
    rexmit: Command, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text(SMALL)
    done = rexmit("run", name)
    assert done.returncode == 2
    assert "this study's name cannot name a folder; rename it, or give --out" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert rexmit("run", name, "--out", "out").returncode == 0
