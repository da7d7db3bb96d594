"""The study pedersen-2006: its published rows, on ten runs of each part, of thick streams shorter ones."""

from __future__ import annotations

from pathlib import Path

import pytest
from rexmit import Results, Study
from rexmit.analyse import Comparison, Published, load_published
from rexmit.analyse.study_code import comparison_of

STUDY = Path(__file__).parents[2] / "studies" / "pedersen-2006"
ROWS = load_published(STUDY / "published.csv")
WHOLE = ("thin", "enhancements", "burst", "restart", "rto")
"""Parts that are run as they are; the others take longer than a test may."""


def part(name: str, **settings: object) -> Results:
    """The runs of a file with these settings, `__` standing for a dot."""
    study = Study.load(f"pedersen-2006/{name}")
    for key, value in settings.items():
        study = study.set(key.replace("__", "."), value)
    return study.run(progress=False)


@pytest.fixture(scope="module")
def results() -> dict[str, Results]:
    return {name: part(name) for name in WHOLE}


@pytest.fixture(scope="module")
def comparison(results: dict[str, Results]) -> Comparison:
    return comparison_of(results["thin"])(list(results.values()))


@pytest.mark.parametrize(
    "published", [row for row in ROWS if row.place["part"] in WHOLE], ids=lambda row: row.id
)
def test_published(published: Published, comparison: Comparison) -> None:
    (check,) = [check for check in comparison.checks if check.published == published]
    allowed = {"within"} if not published.deviation else {"differs as recorded"}
    if published.kind == "misprint" or published.deviation:
        allowed.add("not covered")
    if published.place["retransmission"] in ("3", "4"):
        # Three losses of one chunk: not every one of ten runs has any.
        allowed.add("not covered")
    assert check.verdict in allowed, f"published {check.published.value}, ours {check.ours} {check.note}"


def test_every_number_of_the_tables_is_there() -> None:
    tables = [row.id.split("-")[2] for row in ROWS if row.id.startswith(("P-002-3", "P-002-5"))]
    # Cells of tables 3.2 to 3.5, 5.1 and 5.2 without any retransmission have a count, and no delay.
    assert {table: tables.count(table) for table in sorted(set(tables))} == {
        "3.1": 45,
        "3.2": 12 * 4 - 5 * 3,
        "3.3": 16 * 4 - 4 * 3,
        "3.4": 12 * 4 - 4 * 3,
        "3.5": 12 * 4 - 2 * 3,
        "3.6": 60,
        "3.7": 80,
        "5.1": 20 * 4 - 3 * 3,
        "5.2": 15 * 4 - 2 * 3,
        "5.3": 2,
    }


def test_misprints_are_listed_and_not_judged(comparison: Comparison) -> None:
    misprints = [check for check in comparison.checks if check.published.kind == "misprint"]
    assert len(misprints) == 14
    assert {check.verdict for check in misprints} == {"not covered"}
    assert all(check.note.startswith("misprint: ") for check in misprints)
