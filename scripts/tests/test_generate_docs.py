import csv
from pathlib import Path

import pytest

from .conftest import load

docs = load("generate_docs.py")


def test_every_key_of_the_schema_is_on_its_page() -> None:
    page = docs.pages()[docs.DOCS / "scenario.md"]
    for key in ("hosts", "transfers", "rate", "gilbert_elliott", "keep_order", "stagger"):
        assert f"| `{key}` |" in page


def test_the_page_of_studies_counts_what_the_lists_of_each_study_hold() -> None:
    studies = docs.ROOT / "studies"
    table = docs.PAGE.read_text().partition("<!-- evidence -->\n")[2].partition("<!-- /evidence -->")[0]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert len(lines) == len(list(studies.glob("*/statements.csv"))) >= 4
    for study, *counts in lines:
        name = study[1:].partition("]")[0]
        stated, held, reasoned, rows, within, wide, recorded, unexplained, missing = (
            int(count.replace(",", "")) for count in counts[:9]
        )
        published = list(csv.DictReader((studies / name / "published.csv").read_text().splitlines()))
        assert stated == held + reasoned
        came_out = within + wide + recorded + missing
        assert rows == came_out == sum(row["role"] != "derived" for row in published)
        assert recorded == sum(bool(row["deviation"]) for row in published if row["role"] != "derived")
        assert unexplained <= recorded
        power = list(csv.DictReader((studies / name / "power.csv").read_text().splitlines()))
        controls = [column for column in power[0] if column.startswith("seed-")]
        systems = [column for column in power[0] if column not in ("id", "verdict", *controls)]
        assert len(controls) == 3
        steady = [row for row in power if not any(row[column] == "x" for column in controls)]
        caught = {s for s in systems for row in steady if row[s] == "x"}
        agreeing = {s for s in systems for row in steady if row[s] == "x" and row["verdict"] == "within"}
        judged = [row for row in power if row["verdict"] in ("within", "differs as recorded")]
        weak = [row for row in judged if row not in steady or not any(row[s] == "x" for s in systems)]
        undecided = [row for row in power if row["verdict"] == "too wide"]
        assert counts[9:] == [
            *(f"{len(caught)} of {len(systems)}", f"{len(agreeing)}"),
            *(f"{len(weak)} of {len(judged)}", f"{len(power) - len(judged) - len(undecided)}"),
        ]


def test_a_stale_page_is_an_error_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("old\n")
    assert docs.update(page, "new\n", check=True)
    assert page.read_text() == "old\n"
    assert "+new" in capsys.readouterr().out
    assert docs.update(page, "new\n", check=False)
    assert not docs.update(page, "new\n", check=True)


def test_the_schema_in_words() -> None:
    definitions: dict[str, dict[str, object]] = {"PathSpec": {"properties": {}}}
    kind = docs.kind
    assert kind({"$ref": "#/$defs/PathSpec"}, definitions) == "[path](#pathspec)"
    assert kind({"anyOf": [{"type": "boolean"}, {"type": "null"}]}, {}) == "`true` or `false`"
    assert kind({"type": ["integer", "null"]}, {}) == "whole number"
    assert kind({"type": "array", "items": {"type": "string"}}, {}) == "list of text"


def test_the_source_of_a_value_may_be_that_of_its_table() -> None:
    assert docs.source({"rtt": "RFC 6298"}, "rtt.min_rto") == "RFC 6298"
    assert docs.source({"rtt.min_rto": "[000]"}, "rtt.min_rto") == "\\[000\\]"
    assert docs.source({}, "rtt.min_rto") == ""
