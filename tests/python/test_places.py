"""Temporary folders, and lines over many runs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from rexmit.places import temporary_folder
from rexmit.run.unreached import Unreached


def test_folders_of_processes_that_are_no_more_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with subprocess.Popen(["true"]) as gone:
        pass
    stale, live = tmp_path / f"rexmit-{gone.pid}-abc", tmp_path / f"rexmit-{os.getpid()}-abc"
    other = tmp_path / "rexmit-of-somebody"
    for folder in (stale, live, other):
        folder.mkdir()
        (folder / "file").touch()
    with temporary_folder() as folder:
        assert folder.is_dir()
        assert not stale.exists()
    assert sorted(tmp_path.iterdir()) == sorted([live, other])


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
