"""A results folder from a stranger: whatever its study.json holds, a command answers or says one line."""

from __future__ import annotations

import contextlib
import copy
import json
import random
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import rexmit
from rexmit import Results, cli
from rexmit.errors import RexmitError, StoreError
from rexmit.report import testbed
from rexmit.report.explorer import explorer_of, study_page
from rexmit.report.runs import RunsOptions, run_blocks
from rexmit.report.sources import notices_of
from rexmit.run import open_results

from .conftest import SMALL

VALUES = [
    *(None, True, 0, -1, 3, 10**18, 10**30, -(10**400), 0.5, 1e300, "", "x", "0", "/dev/zero", "../x.toml"),
    *("\0\x1b[31m\u202e", "\ud800", "a" * 5000, [], [[]], [None], ["x"], {}, {"": {}}, {"position": []}),
    *({"together": 5}, {"levels": [1]}, {"range": "0..9"}, [{"name": "a", "levels": [1]}]),
    *([1, 2**53 + 1, 0.5], json.loads("[" * 60 + "]" * 60), float("nan"), float("inf")),
]
"""What takes the place of a value."""

Place = tuple[str | int, ...]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished folder with captures and tables, whose factors are one of each kind."""
    folder = tmp_path_factory.mktemp("record")
    pair = 'pair = { together = { "path.queue" = ["9 packets", "99 packets"], "limit" = ["9 s", "99 s"] } }'
    delays = '"path.delay" = ["5 ms", "20 ms"]'
    text = SMALL.replace("0..3", "0..1").replace(delays, f"{delays}\n{pair}")
    (folder / "small.toml").write_text(text)
    rexmit.Study.load(folder / "small.toml").run(folder / "out", progress=False, capture="all", state="all")
    return folder / "out"


def mutants(record: Any) -> Iterator[tuple[str, str]]:
    """Texts for study.json, each with what is wrong with it: each value replaced or gone."""
    for number, place in enumerate(places(record)):
        # A profile has a hundred settings, which are all read alike: each gets some of the values.
        for value in VALUES[number % 8 :: 8] if len(place) > 4 else VALUES:
            yield f"{place} is {str(value)[:40]!r}", json.dumps(changed(record, place, value))
        yield f"{place} is gone", json.dumps(changed(record, place))


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Where there is a value; of lists of like things in the first two."""
    if place:
        yield place
    entries: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value[:2])
    for key, entry in entries:
        yield from places(entry, (*place, key))


def changed(record: Any, place: Place, *value: Any) -> Any:
    """A copy with another value at this place, or with none."""
    found = here = copy.deepcopy(record)
    for key in place[:-1]:
        here = here[key]
    if value:
        here[place[-1]] = value[0]
    else:
        del here[place[-1]]
    return found


def opened(folder: Path, text: str) -> Results | None:
    """The results with this study.json; None where one line says what is wrong, naming the file."""
    (folder / "study.json").write_text(text)
    try:
        return open_results(folder)
    except StoreError as error:
        message = str(error)
    assert message.startswith(str(folder))
    assert len(message.splitlines()) == 1
    return None


def used(results: Results) -> None:
    """All that is made of a record: what a report, a notebook and a table say, and what runs it again."""
    assert results.name in repr(results) + results._repr_html_()
    notices_of(results)
    testbed.testbed_facts(results)
    testbed.provenance_facts(results, results.provenance())
    study_page(results, explorer_of(results), {}, "")  # type: ignore[arg-type]
    with contextlib.suppress(RexmitError):
        run_blocks(results, RunsOptions("none"), [])


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, 8))])
def test_whatever_a_record_holds_it_can_be_used_or_is_refused_by_one_line(
    folder: Path, tmp_path: Path, part: int
) -> None:
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    record = json.loads((folder / "study.json").read_text())
    refused = 0
    for why, text in list(mutants(record))[part::8]:
        try:
            results = opened(out, text)
            refused += results is None
            if results is not None:
                used(results)
        except Exception as error:
            raise AssertionError(f"{why}: {type(error).__name__}: {error}") from error
    assert refused > 50


@pytest.mark.filterwarnings("ignore:constrained_layout")
def test_every_command_answers_or_says_one_line_whatever_a_record_holds(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, file = tmp_path / "out", folder.parent / "small.toml"
    shutil.copytree(folder, out)
    record = json.loads((folder / "study.json").read_text())
    commands = [
        ("report", out, "--with-runs", "none"),
        ("compare", out),
        ("sql", out, "select * from runs, factors", "--json"),
        ("merge", out, "--averages", tmp_path / "means.csv"),
        ("plot", out, "--format", "svg"),
        ("run", file, "--out", out, "--resume"),
    ]
    chosen = random.Random(7).sample(list(mutants(record)), 12)
    for number, (why, text) in enumerate(chosen):
        (out / "study.json").write_text(text)
        # Drawing takes long: each command has every third of them.
        for words in commands[number % 3 :: 3]:
            code = cli._command([str(word) for word in words])
            said = capsys.readouterr().err
            errors = [line for line in said.splitlines() if line.startswith("rexmit: error")]
            assert len(errors) == (0 if code == 0 else 1), (why, words, said)


@pytest.mark.parametrize(
    ("place", "value", "text"),
    [
        (("replications",), "x", "replications: 'x' is not a whole number"),
        (("runs",), 3, "runs: 3 are not the 16 of its factors and replications"),
        (("seed",), -1, "design.seed: -1 is not a whole number from 0"),
        (("name",), None, "name: None is not text"),
        (("factors", 0), 5, "factors[0]: 5 is not a factor with a name"),
        (("factors", 2, "name"), "path.delay", "factors: 'path.delay' appears twice"),
        (("scenario", "transfers"), {}, "scenario.transfers: {} is not a list"),
        (("scenario", "hosts", "server", "stack"), "/etc/x.toml", "server.stack: '/etc/x.toml' names a file"),
        (("description",), "a" * (1 << 20 | 1), "description: is longer than 1048576 characters"),
        (("shard",), [3, 2], "shard: there is no 3/2"),
        (("seed",), 10**30, "seed: is a number that needs more than 64 bits"),
    ],
)
def test_a_wrong_value_is_named_by_its_key(
    folder: Path, tmp_path: Path, place: Place, value: Any, text: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    record = json.loads((folder / "study.json").read_text())
    (out / "study.json").write_text(json.dumps(changed(record, place, value)))
    with pytest.raises(StoreError) as caught:
        open_results(out)
    assert str(caught.value).startswith(f"{out}/study.json: ")
    assert text in str(caught.value)


def test_the_code_of_a_study_says_one_line_of_results_that_are_not_its_own(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(folder, out)
    record = json.loads((folder / "study.json").read_text())
    for name in ("deboer-2005/buffers", "hurtig-2006/short", "klaver-2005/acks", "merritt-2010/links"):
        (out / "study.json").write_text(json.dumps(record | {"name": name}))
        for command in ("compare", "plot"):
            code = cli._command([command, str(out)])
            said = capsys.readouterr().err
            assert code in (0, 1, 2), (name, command)
            assert "Traceback" not in said
            if command == "compare" and name.startswith(("deboer", "hurtig")):
                assert f"cannot be read as results of {name}" in said
