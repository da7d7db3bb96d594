"""Several folders to be compared: a part of a study counts once, whatever the order of the folders."""

from __future__ import annotations

from pathlib import Path

import pytest
import rexmit

from .conftest import Command


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A part of hurtig-2006, the same with another setting, and the same again."""
    place = tmp_path_factory.mktemp("compare")
    study = rexmit.Study.load("hurtig-2006/short").set("design.replications", 1)
    study = study.set("path.rate", ["1 Mbit/s"]).set("path.delay", ["50 ms"])
    changed = study.set("hosts.server.stack.recovery.dupack_threshold", 2)
    named = place / "a", place / "b", place / "c"
    for out, one in zip(named, (study, changed, study), strict=True):
        one.run(out, progress=False)
    return named


def test_two_folders_of_one_part_are_refused_in_either_order(
    rexmit: Command, folders: tuple[Path, Path, Path]
) -> None:
    first, changed, _ = folders
    said = [rexmit("compare", *order) for order in ((first, changed), (changed, first))]
    assert said[0].returncode == said[1].returncode == 2
    assert said[0].stderr == said[1].stderr
    assert said[0].stdout == said[1].stdout == ""
    [line] = said[0].stderr.splitlines()
    assert line.startswith(f"rexmit: error: {first} and {changed}: both hold hurtig-2006/short, ")
    assert "recovery.dupack_threshold was 3, is 2; name one of the two" in line


def test_two_folders_with_the_same_settings_are_refused_too(
    rexmit: Command, folders: tuple[Path, Path, Path]
) -> None:
    done = rexmit("compare", folders[0], folders[2])
    assert done.returncode == 2
    assert "both hold hurtig-2006/short, with the same settings; name one of the two" in done.stderr
