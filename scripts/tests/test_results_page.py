"""The page of results folders: its examples run, and nothing of a folder is missing from it."""

import contextlib
import json
import re
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import pyarrow.parquet as pq
import pytest
import rexmit

from .conftest import SCRIPTS

PAGE = SCRIPTS.parent / "docs" / "reference" / "results-folder.md"
TEXT = PAGE.read_text()
EXAMPLES = re.findall(r"^### (\w+)$|^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[str, str]]:
    """Each example in Python with the heading that it stands under."""
    heading = ""
    for found, code in EXAMPLES:
        heading = found or heading
        if code:
            yield heading, code


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `results/short`, everything kept."""
    place = tmp_path_factory.mktemp("page")
    study = rexmit.Study.load("hurtig-2006/short").set("path.rate", ["1 Mbit/s", "2 Mbit/s"])
    study = study.set("path.delay", ["5 ms", "10 ms"]).set("path.down.drop", [0, 9, 18])
    study = study.set("intervals", "1 s").set("retransmissions", True).set("messages", True)
    out = place / "results" / "short"
    study.run(out, progress=False, capture="all", state="all", verdicts="all", transmissions="all")
    return place


def test_each_program_has_an_example() -> None:
    assert {heading for heading, _ in examples()} == {"DuckDB", "Polars", "pandas"}


@pytest.mark.parametrize(("heading", "code"), list(examples()))
def test_an_example_prints_something(
    heading: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    printed = StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, heading, "exec"), {})
    assert re.search(r"Mbit/s|ms|\d", printed.getvalue())
    assert len(printed.getvalue().splitlines()) > 2


def test_every_file_of_a_folder_is_on_the_page(folder: Path) -> None:
    named = set(re.findall(r"^\| `([^`]+)` \|", TEXT, re.MULTILINE))
    results = folder / "results" / "short"
    files = [path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file()]
    assert len(files) > 40
    for file in files:
        general = re.sub(r"run-\d{8}", "run-NUMBER", re.sub(r"(server|client)\.pcapng", "HOST.pcapng", file))
        assert general in named, file


def test_every_column_is_on_the_page_with_the_meaning_in_its_file(folder: Path) -> None:
    rows = set(re.findall(r"^\| `([^`]+)` \| [^|]+ \| ([^|]*) \| (.+) \| ([^|]*) \|$", TEXT, re.MULTILINE))
    seen = 0
    for file in (folder / "results" / "short").rglob("*.parquet"):
        for field in pq.read_schema(file):
            told = [(field.metadata or {}).get(key, b"").decode() for key in (b"unit", b"meaning", b"null")]
            if not field.name.startswith("path."):
                assert (field.name, *told) in rows, (file, field.name)
                seen += 1
    assert seen > 100


def test_study_json_is_as_its_schema_says(folder: Path) -> None:
    schema = json.loads((PAGE.parent / "record.schema.json").read_text())
    study = json.loads((folder / "results" / "short" / "study.json").read_text())
    jsonschema.validate(study, schema)
    assert study.keys() <= schema["properties"].keys()
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(study | {"runs": "many"}, schema)
