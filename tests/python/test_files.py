"""The one function that opens what is written: as a user, and as root in folders of others."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from rexmit import files
from rexmit.errors import StoreError
from rexmit.files.rights import Rights, unsafe_for_root

from .conftest import SMALL, Command

NOBODY = 65534
SOMEBODY = 4711
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may write with the rights of others")


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of root's own on a way that everybody may go."""
    folder = Path(tempfile.mkdtemp(prefix="test-files-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def without_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SUDO_UID", "SUDO_GID"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nobody had called sudo."""
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    monkeypatch.setenv("SUDO_GID", str(NOBODY))


def folder_of(user: int, path: Path, mode: int = 0o755) -> Path:
    path.mkdir()
    os.chown(path, user, user)
    path.chmod(mode)
    return path


def test_a_file_gets_its_name_when_it_is_whole_and_keeps_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    pending = files.Pending(path)
    pending.file.write(b"new")
    [temporary] = set(os.listdir(tmp_path)) - {"a.txt"}
    assert files.TEMPORARY.fullmatch(temporary)
    assert path.read_text() == "old"
    pending.keep()
    assert (path.read_text(), os.listdir(tmp_path)) == ("new", ["a.txt"])
    mask = os.umask(0o022)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_two_writers_of_one_name_do_not_meet(tmp_path: Path) -> None:
    first, second = files.Pending(tmp_path / "a"), files.Pending(tmp_path / "a")
    first.file.write(b"first")
    second.file.write(b"second")
    second.keep()
    first.keep()
    assert (os.listdir(tmp_path), (tmp_path / "a").read_text()) == (["a"], "first")


@pytest.mark.parametrize("kind", ["folder", "fifo"])
def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(StoreError, match=r"a: is (a folder|not a regular file)"):
        files.write_text(path, "new")
    assert os.listdir(tmp_path) == ["a"]


def test_a_long_name_is_written(tmp_path: Path) -> None:
    files.write_text(tmp_path / ("é" * 120 + ".svg"), "x")
    assert len(os.listdir(tmp_path)) == 1


def test_a_way_out_of_a_results_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out" / "figures").mkdir(parents=True)
    (tmp_path / "out" / "study.json").write_text("{}")
    with pytest.raises(StoreError, match="leads out of"):
        files.write_text(tmp_path / "out" / "figures" / ".." / ".." / "a", "x")
    files.write_text(tmp_path / "out" / ".." / "a", "x")
    assert (tmp_path / "a").read_text() == "x"


def test_only_regular_files_by_their_whole_names_are_removed(tmp_path: Path) -> None:
    for name in ("run-1.js", "run-1.js.txt", "my run-1.js"):
        (tmp_path / name).write_text("x")
    (tmp_path / "run-2.js").mkdir()
    (tmp_path / "run-3.js").symlink_to(tmp_path / "run-1.js.txt")
    files.remove_files(tmp_path, re.compile(r"run-\d\.js"))
    assert set(os.listdir(tmp_path)) == {"run-1.js.txt", "my run-1.js", "run-2.js", "run-3.js"}


def test_a_link_is_not_taken_along(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "run").symlink_to(tmp_path / "secret")
    files.keep_copy(tmp_path / "run", tmp_path / "out" / "run", tmp_path / "out")
    files.keep_copy(tmp_path / "secret", tmp_path / "out" / "file", tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["file"]


@as_root
def test_root_writes_nothing_into_folders_of_others(place: Path) -> None:
    others = folder_of(NOBODY, place / "od")
    everybodys = folder_of(0, place / "open", 0o777)
    inside = folder_of(0, others / "root")
    (place / "led").symlink_to(inside)
    for folder, why in (
        (others, "od belongs to user nobody, so root writes nothing there"),
        (everybodys, "open may be written by others, so root writes nothing there"),
        (inside, "od belongs to user nobody"),
        (place / "led", "od belongs to user nobody"),
        (others / "new", "od belongs to user nobody"),
    ):
        with pytest.raises(StoreError, match=why):
            files.write_text(folder / "a", "x", root=folder)
    os.lchown(place / "led", NOBODY, NOBODY)
    assert unsafe_for_root(place / "led") == f"{place}/led is a link of user nobody"
    assert [*others.iterdir(), *everybodys.iterdir(), *inside.iterdir()] == [inside]
    assert unsafe_for_root(place / "new" / "below") is None


@as_root
def test_root_writes_with_the_rights_of_whoever_called_sudo(place: Path, sudo: None) -> None:
    own = folder_of(NOBODY, place / "own")
    files.write_text(own / "below" / "a", "x", root=own)
    assert {(own / name).stat().st_uid for name in ("below", "below/a")} == {NOBODY}
    files.remove_file(own / "below" / "a")
    assert not list((own / "below").iterdir())
    # What leads from there to a place of root's leads nowhere.
    (place / "roots").mkdir()
    (own / "led").symlink_to(place / "roots")
    with pytest.raises(StoreError, match=r"cannot be written by user nobody, who called sudo"):
        files.write_text(own / "led" / "a", "x")
    with pytest.raises(StoreError, match=r"cannot be written by user nobody, who called sudo"):
        files.write_text(folder_of(SOMEBODY, place / "another") / "a", "x")
    assert not list((place / "roots").iterdir())
    # A folder that only root could have led to is root's business.
    files.write_text(place / "roots" / "a", "x")
    assert (place / "roots" / "a").stat().st_uid == 0


@as_root
def test_the_rights_are_those_of_one_thread(place: Path) -> None:
    begin = threading.Event()

    def write() -> None:
        begin.wait()
        (place / "by-another-thread").write_text("x")

    # One that began before: a new one has the rights of whoever starts it.
    other = threading.Thread(target=write)
    other.start()
    groups = os.getgroups()
    with Rights(NOBODY, NOBODY, (NOBODY,)).taken(place):
        assert os.getgroups() == [NOBODY]
        with pytest.raises(PermissionError):
            (place / "by-this-one").write_text("x")
        begin.set()
        other.join()
    (place / "by-this-one").write_text("x")
    assert {path.stat().st_uid for path in place.iterdir()} == {0}
    assert os.getgroups() == groups


@as_root
def test_results_belong_to_whoever_called_sudo(rexmit: Command, place: Path, sudo: None) -> None:
    own = folder_of(NOBODY, place / "own")
    (own / "small.toml").write_text(SMALL)
    commands = [
        ["run", "small.toml", "--out", "out", "--capture", "failed", "--state", "failed"],
        ["report", "out", "--data", "beside"],
        ["plot", "out"],
    ]
    for command in commands:
        done = rexmit(*command, cwd=own)
        assert done.returncode == 0, done.stderr
    assert {path.stat().st_uid for path in (own / "out").rglob("*")} == {NOBODY}


@as_root
def test_a_run_in_a_folder_of_others_is_refused_in_one_line(rexmit: Command, place: Path) -> None:
    others = folder_of(NOBODY, place / "od")
    (place / "small.toml").write_text(SMALL)
    done = rexmit("run", place / "small.toml", "--out", others / "out")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"rexmit: error: {others}/out: {others} belongs to user nobody, so root writes nothing there; "
        "choose another --out, or run it as that folder's user or with sudo"
    ]
    assert not list(others.iterdir())


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has user namespaces")
def test_root_of_a_user_namespace_has_nothing_to_guard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read = Path.read_text
    told = {"/proc/self/uid_map": "         0       1000          1\n"}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(Path, "read_text", lambda self, *a, **k: told.get(str(self)) or read(self, *a, **k))
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o777)
    files.write_text(tmp_path / "open" / "a", "x")
    assert (tmp_path / "open" / "a").read_text() == "x"
