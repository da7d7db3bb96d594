"""`scripts/judge.py`: when it is enough, and what the table says of it. The program is a stand-in."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import load

judge = load("judge.py")

# What the program prints of a block. Of a place: in truth, no reason, missed, extra, family, exact, certain,
# and two kinds of wrong.
BLOCK = """Toy 1.0
broken-off 1
sender 1000 0 0 0 990 980 600 0 0
middle 500 0 1 0 460 450 10 0 0
receiver 400 0 2 0 370 360 3 0 0
"""


@pytest.fixture
def scenarios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """How many scenarios of the stand-in these thresholds take; what was counted is kept between calls."""
    monkeypatch.setattr(judge, "ROOT", tmp_path)
    monkeypatch.setattr(judge, "BLOCKS", {"smoltcp": 100})
    program = tmp_path / "judge"
    program.write_text(f"#!/bin/sh\ncat <<'end'\n{BLOCK}end\n")
    program.chmod(0o755)

    def run(*thresholds: int, most: int = 10_000) -> int:
        judged, certain, everywhere = thresholds
        chosen = argparse.Namespace(
            judged=judged, certain=certain, certain_everywhere=everywhere, scenarios=most, threads=1
        )
        counted = judge.judged(program, "smoltcp", chosen)
        return int(counted.scenarios)

    return run


@pytest.mark.parametrize(
    ("thresholds", "blocks"),
    [
        # 400 are judged at the receiver, the fewest of the three places.
        ((2_000, 0, 0), 5),
        # 600 are certain at the sender; what is certain elsewhere does not count.
        ((0, 1_800, 0), 3),
        # 3 are certain at the receiver.
        ((0, 0, 30), 10),
        # All of them.
        ((2_000, 1_800, 20), 7),
        ((0, 0, 0), 0),
    ],
)
def test_it_goes_on_until_each_threshold_is_reached(
    scenarios: Callable[..., int], thresholds: tuple[int, int, int], blocks: int
) -> None:
    assert scenarios(*thresholds) == 100 * blocks


def test_what_was_counted_is_kept_and_added_to(scenarios: Callable[..., int]) -> None:
    assert scenarios(0, 600, 0) == 100
    assert scenarios(0, 0, 0) == 100
    assert scenarios(0, 1_200, 0) == 200
    assert scenarios(0, 6_000, 0, most=250) == 250


def test_the_bound_is_that_of_the_rule_of_three_rounded_up() -> None:
    assert judge.at_most(50_000, 0) == "0.006 %"
    assert judge.at_most(36_096, 0) == "0.0084 %"
    assert judge.at_most(246, 0) == "1.3 %"
    assert judge.at_most(3, 0) == "100 %"
    # Nothing is known.
    assert judge.at_most(2, 0) == "-"


def test_some_wrong_ones_leave_more_possible() -> None:
    # 4.744, 6.296 and 15.705: half the 95 % points of chi-square with 4, 6 and 20 degrees of freedom.
    assert [judge.most_expected(wrong) for wrong in (1, 2, 9)] == [4.75, 6.3, 15.71]
    assert judge.at_most(100_000, 2) == "0.0063 %"
    assert judge.at_most(3, 3) == "100 %"


def test_the_table_stands_in_the_place_of_the_one_before() -> None:
    counted = judge.Counted("smoltcp")
    counted.add(BLOCK, 100)
    page = f"before\n{judge.BEGIN}old\n{judge.END}after\n"
    written = judge.with_table(page, judge.table([counted]))
    assert "- Toy 1.0: 100 scenarios, of which it aborted 1 because of a bug of its own\n" in written
    assert "| smoltcp, sender | 1,000 | 0 | 0 | 0 | 99.0 % | 98.0 % | 600 | 0 | 0 | 0.5 % |\n" in written
    assert written.startswith("before\n")
    assert written.endswith("after\n")
    assert "old" not in written
