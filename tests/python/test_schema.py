"""The schema of a study's file knows what the program reads, and no more."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
import rexmit
from rexmit.study.schema import study_schema
from rexmit.study.spec import _KEYS

jsonschema = pytest.importorskip("jsonschema")
SCHEMA = study_schema(rexmit.schema())


def test_its_keys_are_those_of_the_program() -> None:
    assert set(SCHEMA["properties"]) == _KEYS


@pytest.mark.parametrize(
    ("vary", "fits"),
    [({"path.delay": ["1 ms"]}, True), ({"path.down.drop": {"positoin": "0..2"}}, False), ({"a": 1}, False)],
)
def test_levels(vary: dict[str, Any], fits: bool) -> None:
    host = {"stack": "rfc"}
    scenario = {"hosts": {"server": host, "client": host}, "path": {}, "transfers": []}
    errors = list(jsonschema.Draft202012Validator(SCHEMA).iter_errors({"scenario": scenario, "vary": vary}))
    assert (not errors) == fits, errors


@pytest.mark.parametrize("study", rexmit.list_studies(), ids=lambda study: study.name)
def test_the_studies_of_the_package_fit(study: Any) -> None:
    found = tomllib.loads(study.path.read_text())
    assert [e.message[:200] for e in jsonschema.Draft202012Validator(SCHEMA).iter_errors(found)] == []
