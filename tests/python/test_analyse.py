from __future__ import annotations

import math
import statistics
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rexmit.analyse import (
    Check,
    Comparison,
    Published,
    count_interval,
    effects,
    lateness,
    load_published,
    position_costs,
    prediction_interval,
    stats,
    summarise,
    t_quantile,
)
from rexmit.errors import StudyError, UsageError


@pytest.mark.parametrize(
    ("probability", "freedom", "value"),
    [(0.975, 1, 12.7062), (0.975, 2, 4.30265), (0.975, 5, 2.57058), (0.95, 10, 1.81246), (0.995, 30, 2.75)],
)
def test_quantiles_are_those_of_printed_tables(probability: float, freedom: int, value: float) -> None:
    assert t_quantile(probability, freedom) == pytest.approx(value, abs=1e-4)
    assert t_quantile(1 - probability, freedom) == pytest.approx(-value, abs=1e-4)


@pytest.mark.parametrize("probability", [0.9, 0.975, 0.9995])
def test_quantiles_of_many_degrees_of_freedom_go_on_from_the_sum(
    probability: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    freedom = stats.MOST_SUMMED + 1
    quick = t_quantile(probability, freedom)
    monkeypatch.setattr(stats, "MOST_SUMMED", freedom)
    assert quick == pytest.approx(t_quantile(probability, freedom), rel=1e-10)


@pytest.mark.parametrize(("probability", "freedom"), [(0.0, 3), (1.0, 3), (0.9, 0)])
def test_quantiles_outside_their_range_are_refused(probability: float, freedom: int) -> None:
    with pytest.raises(ValueError, match="no quantile"):
        t_quantile(probability, freedom)


def test_means_have_their_confidence_interval() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "x", "y"], "time_ns": [1.0, 2.0, 3.0, 5.0]})
    x, y = summarise(frame, ["a"]).rows(named=True)
    half = 4.30265 / math.sqrt(3)
    assert (x["n"], x["mean"], x["sd"]) == (3, 2.0, 1.0)
    assert x["low"] == pytest.approx(2 - half, abs=1e-4)
    assert x["high"] == pytest.approx(2 + half, abs=1e-4)
    assert (y["n"], y["mean"], y["low"]) == (1, 5.0, None)


def runs(times: list[float], timeouts: list[int], packets: int = 5) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "run": range(len(times)),
            "path": ["p"] * len(times),
            "at": range(len(times)),
            "completed": [True] * len(times),
            "time_ns": [time * 1e6 for time in times],
            "timeouts_server": timeouts,
            "fast_retransmits": [0] * len(times),
            "packets_down": [packets] * len(times),
        }
    )


def test_costs_of_late_losses_follow_their_definition() -> None:
    # Position 1 (a timeout, but not at the end), 2 repaired fast, 3 and 4 wait for the timer, 5 harmless.
    (cost,) = position_costs(runs([100, 3100, 120, 300, 420, 100], [0, 1, 0, 1, 1, 0]), "at", ["path"])
    assert cost.group == {"path": "p"}
    assert (cost.flow, cost.inhibited, cost.last_fast) == (5, (3, 4), 2)
    assert cost.additional == pytest.approx(360 / 120 - 1)
    assert cost.average == pytest.approx((3100 + 120 + 300 + 420 + 100) / (3100 + 120 + 120 + 120 + 100) - 1)


def test_no_cost_without_an_inhibited_position_or_with_nothing_else() -> None:
    (none,) = position_costs(runs([1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0]), "at", ["path"])
    assert (none.inhibited, none.additional, none.average) == ((), None, None)
    (everything,) = position_costs(runs([1, 2, 2, 2, 2, 1], [0, 1, 1, 1, 1, 0]), "at", ["path"])
    assert (everything.inhibited, everything.additional) == ((1, 2, 3, 4), None)


def test_costs_need_a_run_without_loss_and_complete_runs() -> None:
    with pytest.raises(UsageError, match="no run without loss"):
        position_costs(runs([1, 1, 1], [0, 0, 0]).filter(pl.col("at") > 0), "at", ["path"])
    broken = runs([1, 1, 1], [0, 0, 0]).with_columns(completed=pl.Series([True, False, True]))
    with pytest.raises(UsageError, match="1 run did not complete; the first is run 1"):
        position_costs(broken, "at", ["path"])


def published(value: str, tolerance: str = "") -> Published:
    place = {"flow": "20", "kbit_s": "80", "delay_ms": "5", "position": ""}
    return Published("P-1", "time", value, "percent", "text", "here", tolerance, "because", place=place)


@pytest.mark.parametrize(
    ("value", "tolerance", "ours", "difference", "allowed"),
    [
        ("301", "5", 305, 4, True),
        ("301", "3", 305, 4, False),
        ("301", "3", 297, -4, False),
        ("about 20", "2", 21.5, 1.5, True),
        ("5-10", "0", 7, 0, True),
        ("5-10", "1", 11.5, 1.5, False),
        ("5-10", "1", 4.2, -0.8, True),
        ("<40", "0", -3, 0, True),
        ("<=4", "0.5", 4.4, 0.4, True),
        (">3", "0", 2, -1, False),
    ],
)
def test_numbers_are_judged_by_what_was_printed(
    value: str, tolerance: str, ours: float, difference: float, allowed: bool
) -> None:
    check = Check.of_number(published(value, tolerance), ours)
    assert check.difference == pytest.approx(difference)
    assert check.verdict == ("within" if allowed else "outside")


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [(305.0, "differs as recorded"), (303.9, "outside"), (301.5, "outside"), (308.0, "outside")],
)
def test_a_recorded_difference_must_stay_what_it_is(ours: float, verdict: str) -> None:
    # 301.5 agrees with the text: a change as well, after which the record is no longer true.
    row = replace(published("301", "1"), deviation="304 to 306", deviation_reason="another clock")
    check = Check.of_number(row, ours)
    assert check.verdict == verdict
    assert ("recorded: ours is 304 to 306" in check.note) is (verdict == "outside")
    assert Comparison("study", [check, Check.of_statement(published(""), True, "yes")]).passed is (
        verdict != "outside"
    )


@pytest.mark.parametrize(
    ("holds", "measure", "verdict"),
    [
        (False, 0.2, "differs as recorded"),
        (False, 0.4, "outside"),
        (True, 0.2, "outside"),
        (False, None, None),
    ],
)
def test_a_statement_that_differs_is_held_by_its_measure(
    holds: bool, measure: float | None, verdict: str | None
) -> None:
    row = replace(published(""), deviation="0.1 to 0.3", deviation_reason="another clock")
    if verdict is None:
        with pytest.raises(StudyError, match="a statement without a measure"):
            Check.of_statement(row, holds, "a fifth", measure=measure)
    else:
        assert Check.of_statement(row, holds, "a fifth", measure=measure).verdict == verdict


def test_a_derived_row_is_not_counted_and_may_still_fail() -> None:
    derived = replace(published("69", "0.5"), role="derived")
    measured = Check.of_statement(published(""), True, "yes")
    fine = Comparison("study", [measured, Check.of_number(derived, 69)])
    assert fine.counts() == {"within": 1}
    assert not Comparison("study", [Check.of_number(derived, 69)]).passed
    assert not Comparison("study", [measured, Check.of_number(derived, 75)]).passed


def test_a_comparison_passes_only_if_something_is_covered_and_nothing_outside() -> None:
    inside, outside = (
        Check.of_statement(published(""), True, "yes"),
        Check.of_statement(published(""), False, "no"),
    )
    missing = Check.not_covered(published(""), "no such run")
    assert Comparison("s", [inside, missing]).passed
    assert not Comparison("s", [inside, outside]).passed
    assert not Comparison("s", [missing]).passed


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ("P-1,20,,,,time,3,ms,text,here,,", "without a reasoned tolerance"),
        ("P-1,20,,,,time,3,ms,text,here,1,", "without a reasoned tolerance"),
        ("P-1,20,,,,time,3,ms,text,here,x,why", "line 2"),
        ("P-1,20,,,,time,3,ms,text,here,inf,why", "line 2: tolerance: 'inf' is not a number"),
        ("P-1,20,,,,time,3,ms,text,here,-1,why", "line 2: tolerance: '-1' is not a number of 0 or more"),
        ("P-1,20,,,,time,9-3,ms,text,here,1,why", "line 2: P-1: '9-3' is not a number, range or bound"),
        (",20,,,,time,3,ms,text,here,1,why", "line 2: id: '' is not a tag"),
        (
            "P-1,20,,,,time,3,msec,text,here,1,why",
            "line 2: unit: 'msec' is not one that .* did you mean 'ms'",
        ),
        ("P-1,20,,,,time,3,ms,rumour,here,1,why", "line 2: kind: 'rumour' is not one that"),
        ("P-1,20,,,,time,few,ms,text,here,1,why", "line 2: P-1: 'few' is not a number, range or bound"),
        (2 * "P-1,20,,,,time,3,ms,text,here,1,why\n", "line 3: id: P-1 appears twice"),
        ("P-1,20", "line 2"),
    ],
)
def test_a_wrong_row_of_published_numbers_is_refused(row: str, text: str, tmp_path: Path) -> None:
    head = "id,flow,kbit_s,delay_ms,position,quantity,value,unit,kind,source,tolerance,tolerance_reason"
    path = tmp_path / "published.csv"
    path.write_text(f"{head}\n{row}\n")
    with pytest.raises(StudyError, match=text):
        load_published(path)


def test_the_worst_of_several_shows_no_difference_beside_within() -> None:
    row = published("20", "2")
    assert Check(row, "within", "9 of 10 within", -11.0).shown_difference is None
    assert Check(row, "within", "21", 1.5).shown_difference == 1.5
    assert Check(row, "outside", "9", -11.0).row()["difference"] == -11.0
    assert Check(row, "within", "9 of 10 within", -11.0).row()["difference"] is None


def test_one_more_value_lies_where_student_says_or_between_enough_others() -> None:
    # t of 0.995 with 4 degrees of freedom is 4.6041; s of 0..4 is 1.5811.
    low, high = prediction_interval([0, 1, 2, 3, 4])
    assert (low, high) == pytest.approx((2 - 7.9745, 2 + 7.9745), abs=1e-3)
    assert prediction_interval(list(range(199))) == (0, 198)
    assert prediction_interval(list(range(399))) == (1, 397)
    with pytest.raises(ValueError, match="prediction interval needs two"):
        prediction_interval([1.0])


@given(st.lists(st.floats(1, 1e4), min_size=2, max_size=20), st.floats(0.1, 10))
def test_where_one_more_delay_lies_does_not_depend_on_its_unit(values: list[float], scale: float) -> None:
    low, high = prediction_interval(values)
    assert prediction_interval([scale * v for v in values]) == pytest.approx(
        (scale * low, scale * high), rel=1e-6
    )
    assert low * (1 - 1e-9) <= statistics.geometric_mean(values) <= high * (1 + 1e-9)


def test_few_counts_are_no_surer_than_poisson() -> None:
    # One event more among eleven runs is the last one's with probability 1/11, two 1/121, three 1/1331.
    assert count_interval([0] * 10) == (0, 2)
    low, high = count_interval([100] * 10)
    assert low < 77
    assert high > 123
    assert count_interval([90, 110] * 5)[0] >= 0


def test_the_wait_of_a_loss_is_what_messages_are_later_than_the_fastest_one() -> None:
    # Of 100 messages 5 are lost; each takes 1000 ms longer, and so does one behind each.
    frame = pl.DataFrame({"latency_mean_ms": [150.0], "latency_min_ms": [50.0]})
    assert lateness(frame, 0.05)["late_ms"].to_list() == pytest.approx([2000.0])


def factorial(replications: int, noise: float = 0.0) -> pl.DataFrame:
    """Three switches: a adds 3, b adds 1, both together 2 more; c does nothing."""
    rows = [
        {"a": a, "b": b, "c": c, "y": 10 + 3 * a + b + 2 * (a and b) + noise * (-1) ** n}
        for a in (False, True)
        for b in (False, True)
        for c in (False, True)
        for n in range(replications)
    ]
    return pl.DataFrame(rows)


def test_effects_are_averages_over_the_other_switches() -> None:
    found = {row[:2]: row[2] for row in effects(factorial(1), ["a", "b", "c"], "y").rows()}
    assert found == {
        ("a", None): 4.0,
        ("b", None): 2.0,
        ("c", None): 0.0,
        ("a", "b"): 1.0,
        ("a", "c"): 0.0,
        ("b", "c"): 0.0,
    }


def test_effects_have_the_interval_of_their_replications() -> None:
    assert effects(factorial(1), ["a", "b", "c"], "y")["low"].is_null().all()
    rows = effects(factorial(2, noise=0.5), ["a", "b", "c"], "y").rows(named=True)
    # Two values 1 apart: variance 1/2, 8 degrees of freedom, 16 runs.
    half = t_quantile(0.975, 8) * math.sqrt(0.5 * 4 / 16)
    assert all(row["high"] - row["effect"] == pytest.approx(half) for row in rows)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (factorial(1).head(7), "7 runs are not a full factorial of 3 factors"),
        (factorial(1).filter(pl.col("c")), "c: has 1 levels"),
    ],
)
def test_effects_need_a_full_factorial(frame: pl.DataFrame, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        effects(frame, ["a", "b", "c"], "y")
