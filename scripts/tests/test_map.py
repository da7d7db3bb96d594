"""The map of ARCHITECTURE.md, "where is X": its files are there and hold what it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADING = "## Where is"


def entries() -> list[tuple[str, str, str]]:
    """What is looked for, a file, and a name in it, of each row."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.split(HEADING, 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| ")][1:]
    found = []
    for what, where in ((what.strip(), where) for what, where, *_ in rows):
        for path, name in re.findall(r"`([^`]+)`: `([^`]+)`", where):
            found.append((what, path, name))
    assert len({what for what, *_ in found}) == len(rows), "a row names no `file`: `name`"
    return found


@pytest.mark.parametrize(("what", "path", "name"), entries())
def test_what_the_map_names_is_there(what: str, path: str, name: str) -> None:
    assert re.search(
        rf"(fn|struct|enum|trait|mod|def|class|const|static|function|interface) {re.escape(name)}\b",
        (ROOT / path).read_text(),
    ), f"{what}: {path} defines no {name}"


def beside() -> list[tuple[str, str]]:
    """What is looked for, and each file or folder that the last column of its row names."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.split(HEADING, 1)[1].split("\n## ", 1)[0]
    rows = [line.split("|")[1:-1] for line in section.splitlines() if line.startswith("| ")][1:]
    named = ((what.strip(), re.findall(r"`([\w./-]+(?:\.\w+|/))`", last)) for what, _, last in rows)
    return [(what, name) for what, names in named for name in names]


@pytest.mark.parametrize(("what", "name"), beside())
def test_what_the_last_column_names_is_in_the_same_part(what: str, name: str) -> None:
    ((path, _),) = [(path, of) for row, path, of in entries() if row == what]
    part = ROOT.joinpath(*Path(path).parts[:2])
    found = [ROOT / name, *part.rglob(name.rstrip("/"))]
    assert any(file.is_dir() if name.endswith("/") else file.is_file() for file in found), f"{what}: {name}"


def test_there_are_entries() -> None:
    assert len(entries()) >= 20
