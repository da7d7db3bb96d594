"""A comparison that an opponent would accept: each row checked, each statement held, wrong systems caught."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rexmit.analyse import Check, Comparison, Published, Uncovered, check_all
from rexmit.analyse.power import CONTROLS, Power, System, power_of, read_power
from rexmit.analyse.score import score
from rexmit.analyse.statements import load_statements
from rexmit.analyse.verdicts import count_verdicts, read_verdicts, write_verdicts
from rexmit.errors import StudyError

HEAD = "id,where,quantity,value,unit,kind,source,tolerance,tolerance_reason"
ROWS = (
    "P-1,,time,3,ms,text,here,1,why",
    "P-2.1,,time,4,ms,table,here,1,why",
    "P-2.2,,time,5,ms,table,here,1,why",
)
STATED = "id,place,kind,statement,value,unit,conditions,count,rows,reason"
Function = Callable[[Published, float], Check]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "published.csv").write_text("\n".join((HEAD, *ROWS)) + "\n")
    return tmp_path


def _near(published: Published, ours: float) -> Check:
    return Check.of_number(published, ours)


def _never(published: Published, ours: float) -> Check:
    raise Uncovered("no such run")


def test_each_row_is_checked_by_the_function_of_its_tag(study: Path) -> None:
    checks = {"P-1": _near, "P-2.*": _never, "P-2.2": _near}
    comparison = check_all("study", study / "published.csv", checks, 4.5)
    assert [check.verdict for check in comparison.checks] == ["outside", "not covered", "within"]
    assert comparison.checks[1].note == "no such run"


@pytest.mark.parametrize(
    ("checks", "text"),
    [
        ({"P-1": _near, "P-2.1": _near}, "P-2.2 has no check"),
        ({"P-1": _near, "P-2*": _near, "P-3": _near}, "P-3 is checked, and is not a row"),
    ],
)
def test_no_row_without_a_check_and_no_check_without_a_row(
    checks: dict[str, Function], text: str, study: Path
) -> None:
    with pytest.raises(StudyError, match=f"published.csv: {text}$"):
        check_all("study", study / "published.csv", checks, 4.5)


def _state(study: Path, *lines: str) -> None:
    (study / "statements.csv").write_text("\n".join((STATED, *lines)) + "\n")


def test_coverage_counts_numbers_and_lists_what_no_row_holds(study: Path) -> None:
    _state(
        study,
        "S-1,1,result,it takes 3 ms,3,ms,,1,P-1,",
        "S-2,T 1,result,times,,ms,,6,P-2.*,",
        "S-3,2,result,the CPU is idle,,,,1,,no processor is modelled",
    )
    coverage = load_statements(study)
    assert (coverage.held, coverage.stated) == (7, 8)
    assert coverage.text() == (
        "7 of 8 numbers that the text states have a row among 3 (0 derived without a run); 1 statement "
        "without one (1 result), each with its reason."
    )
    assert coverage.table().splitlines()[-1] == "| S-3 | 2 | the CPU is idle | no processor is modelled |"


def test_a_recorded_row_is_open_where_its_reason_or_the_row_that_it_names_says_so(study: Path) -> None:
    head = HEAD + ",deviation,deviation_reason,role"
    reasons = ("Open: by a tick", "", "as P-1: the other host", "2 ticks more", "as P-6", "as P-5", "open")
    rows = [
        f"P-{number},,time,3,ms,text,here,1,why,{'5 to 6' if reason else ''},{reason},"
        for number, reason in enumerate(reasons, 1)
    ]
    rows[-1] += "derived"
    (study / "published.csv").write_text("\n".join((head, *rows)) + "\n")
    _state(study, *(f"S-{n},1,result,it takes 3 ms,3,ms,,1,P-{n}," for n in range(1, 8)))
    coverage = load_statements(study)
    assert len(coverage.measured) == 6
    assert [row.id for row in coverage.recorded] == ["P-1", "P-3", "P-4", "P-5", "P-6"]
    assert [row.id for row in coverage.unexplained] == ["P-1", "P-3"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("S-2,T 1,result,times,,ms,,6,P-3,", "line 3: rows: P-3 is not a row of published.csv"),
        ("S-1,T 1,result,times,,ms,,6,P-2.*,", "line 3: id: S-1 appears twice"),
        ("S-2,T 1,result,times,,ms,,6,,", "line 3: S-2: needs rows or a reason, and not both"),
        ("S-2,T 1,result,times,,ms,,6,P-2.*,why", "line 3: S-2: needs rows or a reason, and not both"),
        ("S-2,T 1,rumour,times,,ms,,6,P-2.*,", "line 3: kind: 'rumour'"),
        ("S-2,T 1,result,times,,ms,,0,P-2.*,", "line 3: count: '0'"),
        ("S-2,T 1,result,times,,ms,,2,P-2.1,", "no statement names the row P-2.2"),
        ("S-2,T 1", "line 3: lacks the columns"),
    ],
)
def test_a_wrong_list_of_statements_is_refused(line: str, text: str, study: Path) -> None:
    _state(study, "S-1,1,result,it takes 3 ms,3,ms,,1,P-1,", line)
    with pytest.raises(StudyError, match=text):
        load_statements(study)


def _row(tag: str, value: str = "3", role: str = "measured") -> Published:
    return Published(tag, "time", value, "ms", "text", "here", "0", "why", role=role)


def test_a_score_counts_cells_inside_and_leaves_wide_ones_out() -> None:
    runs = [10 + k / 100 for k in range(199)]
    told = [Check(_row(f"P-{value}", str(value)), "within", "", values=runs) for value in (11, 10.3, 13)]
    wide = Check(_row("P-9", "11"), "within", "", values=[1 + k for k in range(199)])
    few = Check(_row("P-8", "11"), "within", "", values=runs[:2])
    found = score([*told, wide, few, Check(_row("P-7"), "within", "")])
    assert (found.cells, found.wide, found.runs) == (3, 2, 199)
    assert [(one.level, one.inside) for one in found.shares] == [(0.5, 1), (0.8, 2), (0.95, 2)]
    assert 1.18 < found.sharpness < 1.2
    assert "wider than a factor of 4: 2 cells." in found.text()


def test_a_score_of_nothing_says_so() -> None:
    assert score([]).text().startswith("No cell can be scored")


def _compared(*verdicts: str) -> Comparison:
    rows = [_row("P-1"), _row("P-2"), _row("P-3"), _row("P-4", role="derived")]
    return Comparison("study", [Check(row, verdict, "") for row, verdict in zip(rows, verdicts, strict=True)])


def test_power_says_which_rows_catch_which_wrong_systems() -> None:
    slow, late = System("slow", "half the rate"), System("late", "twice the delay")
    power = power_of(
        "study",
        [
            (None, _compared("within", "differs as recorded", "not covered", "within")),
            (slow, _compared("outside", "differs as recorded", "outside", "outside")),
            (late, _compared("not covered", "differs as recorded", "not covered", "within")),
        ],
    )
    assert (power.caught_by("slow"), power.caught_by("late")) == (["P-1"], [])
    assert (power.weak, power.caught, power.unsteady) == (["P-2"], 1, [])
    assert power.text().startswith(
        "1 of 2 wrong systems are caught, 1 of them by a row within its tolerance, and so by a published "
        "value. 1 of 2 rows catch none of them and are weak, among them 0 that"
    )
    assert power.text().endswith("Not judged on the sample, so that they met no wrong system: 1.")
    assert "Met no wrong system: P-3." in power.page()
    assert "| twice the delay | 0 of 2 | **none** |" in power.table()


def test_a_row_that_fails_by_chance_catches_nothing() -> None:
    slow = System("slow", "half the rate")
    right = _compared("within", "differs as recorded", "too wide", "within")
    controls = [(one, right) for one in CONTROLS[1:]]
    chance = _compared("outside", "differs as recorded", "outside", "outside")
    wrong = _compared("outside", "outside", "outside", "outside")
    power = power_of("study", [(None, right), (CONTROLS[0], chance), *controls, (slow, wrong)])
    assert (power.unsteady, power.weak, power.left_out) == (["P-1"], ["P-1"], [])
    assert (power.caught_by("slow"), power.caught, power.caught_within) == (["P-2"], 1, 0)
    assert power.systems == [slow]
    assert power.csv().splitlines() == [
        "id,verdict,seed-2,seed-3,seed-4,slow",
        "P-1,within,x,=,=,x",
        "P-2,differs as recorded,=,=,=,x",
        "P-3,too wide,,,,",
    ]


def test_a_power_table_is_read_back_only_for_its_systems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, late = System("slow", "half the rate"), System("late", "twice the delay")
    marks = {one.name: {"P-1": "="} for one in CONTROLS} | {"slow": {"P-1": "x"}}
    power = Power("study", [slow], {"P-1": "within"}, marks, {"P-2": "too wide"})
    (tmp_path / "power.csv").write_text(power.csv())
    monkeypatch.setattr("rexmit.analyse.power.systems_of", lambda study: [slow])
    assert read_power("study", tmp_path) == power
    monkeypatch.setattr("rexmit.analyse.power.systems_of", lambda study: [slow, late])
    with pytest.raises(StudyError, match="run make power"):
        read_power("study", tmp_path)


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (("P-1,within",), "P-2.1 is not in both it and published.csv"),
        (
            ("P-1,differs as recorded", "P-2.1,within", "P-2.2,within"),
            "P-1: 'differs as recorded' is none of within",
        ),
        (("P-1,outside", "P-2.1,within", "P-2.2,within"), "P-1: 'outside' is none of within"),
    ],
)
def test_stored_verdicts_are_those_of_the_rows(lines: Sequence[str], text: str, study: Path) -> None:
    (study / "verdicts.csv").write_text("\n".join(("id,verdict", *lines)) + "\n")
    with pytest.raises(StudyError, match=re.escape(text)):
        read_verdicts(study)


def test_verdicts_are_read_back_and_counted(study: Path) -> None:
    rows = [_row("P-1"), _row("P-2.1"), _row("P-2.2")]
    verdicts = ("within", "too wide", "not covered")
    checks = [Check(row, verdict, "") for row, verdict in zip(rows, verdicts, strict=True)]
    write_verdicts(study, Comparison("study", [*checks, Check(_row("P-3", role="derived"), "within", "")]))
    assert count_verdicts(read_verdicts(study)) == [1, 1, 0, 1]
