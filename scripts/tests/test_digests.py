import copy
import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import load

digests = load("digests.py")

RECORD: dict[str, Any] = {
    "rexmit": "0.2.0",
    "runs": {"path: tbf": {"row": "aa", "packets": "bb"}, "path: red": {"row": "cc"}},
    "stacks": {"lwip (tcp)": {"version": "lwIP 2.1.3", "row": "dd"}},
    "study": {},
    "judged": {"one.pcap": {"connections": "ee"}},
    "formats": {"tables: study": {"runs": {"run": "<i8", "time_ns": "<u8"}}},
}


def now(part: str, name: str, **values: Any) -> dict[str, Any]:
    """The record, with other values at one entry."""
    corpus = copy.deepcopy(RECORD)
    corpus[part][name] = corpus[part][name] | values
    return corpus


def test_what_is_answered_now_has_the_digests_of_the_newest_release(
    script: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = script("digests.py", "check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_two_runs_of_the_corpus_are_the_same_run() -> None:
    runs = json.loads(digests.newest().read_text())["runs"]
    packets = [held["packets"] for held in runs.values()]
    assert len(set(packets)) == len(packets) > 25


def test_a_difference_is_named_and_one_that_is_declared_is_none() -> None:
    other = now("runs", "path: tbf", row="xx")
    line = "differs: runs: path: tbf: row: aa in the record, xx here"
    assert digests.compare(RECORD, other, []) == ([line], [])
    assert digests.compare(RECORD, other, [{"entry": "runs: path: tbf: *", "why": "a rule"}]) == ([], [])


def test_what_is_declared_and_does_not_differ_is_an_error() -> None:
    wrong, _ = digests.compare(RECORD, RECORD, [{"entry": "runs: path: tbf: *", "why": "a rule"}])
    assert wrong == ["tests/golden/changes.toml: nothing differs at 'runs: path: tbf: *': take it out"]


def test_what_has_another_name_now_must_be_the_same() -> None:
    other = copy.deepcopy(RECORD)
    other["runs"]["path: buckets"] = other["runs"].pop("path: tbf")
    renamed = [{"entry": "runs: path: tbf: ", "now": "runs: path: buckets: "}]
    assert digests.compare(RECORD, other, [], renamed) == ([], [])
    other["runs"]["path: buckets"]["row"] = "xx"
    assert len(digests.compare(RECORD, other, [], renamed)[0]) == 1


@pytest.mark.parametrize(
    ("columns", "wrong"),
    [
        ({"run": "<i8", "time_ns": "<u8", "more": "<f8"}, ""),
        ({"run": "<i8"}, "time_ns was <u8, is None"),
        ({"run": "<i8", "time_ns": "<f8"}, "time_ns was <u8, is <f8"),
    ],
)
def test_a_table_may_gain_columns_and_lose_or_change_none(columns: dict[str, str], wrong: str) -> None:
    found, _ = digests.compare(RECORD, now("formats", "tables: study", runs=columns), [])
    assert found == ([f"differs: formats: tables: study: runs: {wrong}"] if wrong else [])


def test_a_stack_of_another_version_is_left_out_and_one_that_differs_is_not() -> None:
    other = now("stacks", "lwip (tcp)", version="lwIP 2.2.0", row="xx")
    assert digests.compare(RECORD, other, []) == (
        [],
        ["lwip (tcp): lwIP 2.2.0 here, lwIP 2.1.3 in the record"],
    )
    assert digests.compare(RECORD, now("stacks", "lwip (tcp)", row="xx"), [])[0] != []
