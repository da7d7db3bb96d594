"""Temporary folders, and lines over many runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rexmit.places import temporary_folder
from rexmit.run.unreached import Unreached

KEEP = """
import sys
from rexmit.places import temporary_folder
with temporary_folder() as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    sys.stdin.read()
"""
"""Has a folder until its standard input ends."""

TIDY = [sys.executable, "-c", "from rexmit.places import temporary_folder\nwith temporary_folder(): pass"]
ELSEWHERE = ["unshare", *(["--map-root-user"] if os.geteuid() else []), "--pid", "--fork", "--mount-proc"]
"""In another PID namespace, where no number of this one means anything."""


@pytest.mark.parametrize("where", [[], ELSEWHERE], ids=["here", "in another PID namespace"])
def test_a_folder_stays_while_its_process_lives_and_goes_after_its_kill(
    tmp_path: Path, where: list[str]
) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    other = tmp_path / "rexmit-of-somebody"
    other.mkdir()

    def tidy() -> None:
        subprocess.run([*where, *TIDY], env=environment, check=True)

    with subprocess.Popen(
        [sys.executable, "-c", KEEP],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout
        folder = Path(owner.stdout.readline().strip())
        tidy()
        assert (folder / "file").exists(), "a folder in use was removed"
        owner.kill()
        owner.wait()
        assert folder.exists()
        tidy()
    assert list(tmp_path.iterdir()) == [other]


def test_a_folder_of_another_machine_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("rexmit.places._boot", lambda: b"another")
    kept = temporary_folder()
    folder = kept.__enter__()
    lock = folder.with_name(f"{folder.name}.lock")
    words = lock.read_bytes()
    lock.unlink()  # ours is held by this process: a copy of it is not
    lock.write_bytes(words)
    monkeypatch.undo()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with temporary_folder() as mine:
        assert sorted(tmp_path.iterdir()) == sorted([folder, lock, mine, mine.with_name(f"{mine.name}.lock")])
    lock.write_bytes(b"")
    with temporary_folder():
        assert not folder.exists()
    kept.__exit__(None, None, None)
    assert not list(tmp_path.iterdir())


def test_a_path_with_blanks_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a blank").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "a blank"))
    with temporary_folder() as folder:
        assert " " not in str(folder)


def test_what_many_runs_did_not_reach_is_one_line() -> None:
    missed = Unreached()
    for n in (23, 21, 22, 30):
        missed.add([f"path.down.drop: position {n} was never reached (20 packets came)"])
    missed.add(["path.up.hold: position 4, 6-9 was never reached (2 packets came)", "path.x: nothing"])
    assert missed.texts() == [
        ("path.down.drop: position 21-23, 30 was never reached", 4),
        ("path.up.hold: position 4, 6-9 was never reached", 1),
        ("path.x: nothing", 1),
    ]
