"""The JSON Schema of a study's file: it takes what the loader takes, and finds what people mistype."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import rexmit
from jsonschema import Draft202012Validator
from rexmit import _native
from rexmit.errors import StudyError
from rexmit.study import list_studies
from rexmit.study.factors import LEVEL_TABLES
from rexmit.study.spec import parse_spec

VALIDATOR = Draft202012Validator(rexmit.study_schema())

STUDY = """
title = "a study"

[scenario]
hosts.server.stack = "freebsd-6.0"
hosts.client.stack = "freebsd-6.0"
path.rate = "1 Mbit/s"
path.delay = "10 ms"
path.queue = "99 packets"

[[scenario.transfers]]
from = "server"
to = "client"
writes = "10 x 2500 bytes"

[vary]
"path.rate" = ["40 kbit/s", "80 kbit/s"]
"path.down.drop" = { position = "0..3" }

[design]
replications = 3
"""

RIGHT = [
    ("", ""),
    # Levels in every way in which they can be written.
    ('{ position = "0..3" }', "{ position = 4 }"),
    ('{ position = "0..3" }', '{ position = " 0, 4 ,10..12" }'),
    ('{ position = "0..3" }', '{ levels = [4, { position = "2, 5" }], labels = ["four", true] }'),
    ('["40 kbit/s", "80 kbit/s"]', '{ range = "40..80", step = 20, unit = "kbit/s" }'),
    # Names with numbers, inside stacks, and without quotes.
    ('"path.rate" =', '"transfers.0.start" = ["0 s", "1 s"]\n"path.rate" ='),
    ('"path.rate" =', '"hosts.server.stack.recovery.dupack_threshold" = [2, 3]\n"path.rate" ='),
    (
        '"path.rate" =',
        '"hosts.server.stack" = ["rfc", { inherits = "rfc", initial_window = 4 }]\n"path.rate" =',
    ),
    ('"path.rate" =', '"hosts.server" = [{ stack = "rfc" }, { stack = "rfc", mtu = 576 }]\n"path.rate" ='),
    ('"path.rate" =', "path.rate ="),
    ('"path.rate" =', 'path."up.rate" ='),
    # Settings that vary together, quoted and not, equal ones one after the other.
    (
        '"path.rate" = ["40 kbit/s", "80 kbit/s"]',
        'link.labels = ["a", "b"]\n'
        'link.together = { "path.up.rate" = ["1 Mbit/s", "1 Mbit/s"], path.delay = ["1 ms", "2 ms"] }',
    ),
    # What the scenario leaves out, a factor gives.
    (
        STUDY,
        STUDY.replace('hosts.server.stack = "freebsd-6.0"', "").replace(
            '"path.rate" =', '"hosts.server.stack" = ["rfc"]\n"path.rate" ='
        ),
    ),
    ('writes = "10 x 2500 bytes"', 'bulk = "10 s"'),
    # Measures of connections and links.
    (
        STUDY,
        STUDY.replace("path.delay", 'measure.every = "1 s"\npath.delay')
        + '[responses]\nfair = { measure = "jain", transfers = ["0"], from = "5 s" }\n'
        + 'queue = { measure = "queue", link = { name = "path", from = "server" }, unit = "packets" }\n'
        + 'settled = { measure = "convergence", within = 2, span = "1 s" }\n',
    ),
]

WRONG = [
    ("title = ", "titel = "),
    ('"a study"', "7"),
    ("[scenario]", "[szenario]"),
    ("path.delay", "path.dealy"),
    ("path.delay", "pth.delay"),
    ('"10 ms"', '"10"'),
    ('"10 ms"', "10"),
    ('"10 ms"', '"10 MS"'),
    ('"99 packets"', '"99 pakets"'),
    ('"path.rate" =', '"path.rat" ='),
    ('"path.rate" =', '"path.up.rates" ='),
    ('"path.rate" =', '"transfer.0.writes" ='),
    ('"path.rate" =', '"transfers.0.write" ='),
    ('["40 kbit/s", "80 kbit/s"]', '"40 kbit/s"'),
    ('["40 kbit/s", "80 kbit/s"]', '["40 kbit/s", "80 kb"]'),
    ('["40 kbit/s", "80 kbit/s"]', '["40 kbit/s", "40 kbit/s"]'),
    ('["40 kbit/s", "80 kbit/s"]', "[]"),
    ('{ position = "0..3" }', '{ positions = "0..3" }'),
    ('{ position = "0..3" }', '{ position = "0-3" }'),
    ('{ position = "0..3" }', "{ position = -1 }"),
    ('{ position = "0..3" }', '{ position = "0..3", step = 2 }'),
    ('{ position = "0..3" }', '{ levels = [1, 2], labels = ["a", "a"] }'),
    ('["40 kbit/s", "80 kbit/s"]', '{ range = "40..80", step = 0, unit = "kbit/s" }'),
    ('"path.rate" = ["40 kbit/s", "80 kbit/s"]', "link.together = {}"),
    ('"path.rate" = ["40 kbit/s", "80 kbit/s"]', 'link.together = { "path.rte" = ["1 Mbit/s"] }'),
    ('"path.rate" = ["40 kbit/s", "80 kbit/s"]', 'time_ns.together = { "path.rate" = ["1 Mbit/s"] }'),
    ("replications = 3", "replication = 3"),
    ("replications = 3", "replications = 0"),
    ("replications = 3", 'replications = "3"'),
    ("replications = 3", "replications = true"),
    ("replications = 3", "seed = -1"),
    ('"server"', '"sever"'),
    ("[vary]", '[responses]\nx = { measure = "jian" }\n[vary]'),
    ("[vary]", '[responses]\nx = { measure = "jain", link = "path" }\n[vary]'),
    ("[vary]", '[responses]\nx = { measure = "share" }\n[vary]'),
    ("[vary]", '[responses]\nx = { measure = "convergence", within = 1 }\n[vary]'),
    ("[vary]", '[responses]\nx = { measure = "completion", stat = "p90" }\n[vary]'),
    ("[vary]", '[responses]\nx = { from = "client.output" }\n[vary]'),
    (STUDY[STUDY.index("[vary]") :], "[[scenario.transfers]]\nfrom = 'server'"),
    (STUDY[STUDY.index("[[scenario") :], ""),
]


def changed(change: tuple[str, str]) -> dict[str, Any]:
    """The study with one text in place of another."""
    assert change[0] in STUDY
    return tomllib.loads(STUDY.replace(change[0], change[1], 1))


def load(table: dict[str, Any]) -> None:
    """As `rexmit run` does: the file, then the scenario of each run."""
    spec = parse_spec(table, "study", None)
    for run in range(spec.design.runs):
        try:
            _native.resolve(json.dumps(spec.scenario_of(run)))
        except ValueError as error:
            raise StudyError(str(error)) from None


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(rexmit.study_schema())


@pytest.mark.parametrize("name", [entry.name for entry in list_studies()])
def test_every_study_of_the_package_fits(name: str) -> None:
    path = next(entry.path for entry in list_studies() if entry.name == name)
    assert [e.message for e in VALIDATOR.iter_errors(tomllib.loads(path.read_text()))] == []


@pytest.mark.parametrize("name", [entry.name for entry in list_studies()])
def test_a_study_as_it_is_stored_fits(name: str) -> None:
    """Also with profiles and levels written out."""
    table = rexmit.Study.load(name).spec.to_table()
    assert [e.message for e in VALIDATOR.iter_errors(json.loads(json.dumps(table)))] == []


@pytest.mark.parametrize("change", RIGHT)
def test_what_the_loader_takes_the_schema_takes(change: tuple[str, str]) -> None:
    table = changed(change)
    load(table)
    assert [e.message for e in VALIDATOR.iter_errors(table)] == []


@pytest.mark.parametrize("change", WRONG)
def test_what_people_mistype_both_refuse(change: tuple[str, str]) -> None:
    table = changed(change)
    with pytest.raises(StudyError):
        load(table)
    assert not VALIDATOR.is_valid(table)


def test_an_error_names_the_place() -> None:
    errors = VALIDATOR.iter_errors(changed(("path.delay", "path.dealy")))
    assert [(e.json_path, "dealy" in e.message) for e in errors] == [("$.scenario.path", True)]


def test_settings_say_what_they_mean() -> None:
    """An editor shows it for a name in `[vary]`, as for a key in `[scenario]`."""
    definitions = rexmit.study_schema()["$defs"]
    delay = definitions["Vary"]["properties"]["path.delay"]["description"]
    assert delay == definitions["PathSpec"]["properties"]["delay"]["description"]


def test_the_example_of_the_reference_is_a_study() -> None:
    """It shows every way to write levels, and every one of its runs resolves."""
    path = Path(__file__).parents[2] / "docs" / "reference" / "study-file.toml"
    table = tomllib.loads(path.read_text())
    load(table)
    assert [e.message for e in VALIDATOR.iter_errors(table)] == []
    kinds = {kind for given in table["vary"].values() if isinstance(given, dict) for kind in given}
    assert kinds == set().union(*LEVEL_TABLES.values())
    assert rexmit.Study.load(path).runs == 480
    few = rexmit.Study.load(path).set("path.down.drop", [9]).set("design.replications", 1)
    rows = few.run(progress=False).table()
    assert rows["error"].null_count() == rows.height == 24
