import pytest

from .conftest import load

counts = load("counts.py")


@pytest.mark.parametrize(
    ("number", "rounded"),
    [(7, 7), (100, 100), (101, 100), (199, 190), (1_684, 1_600), (106_632_561, 100_000_000)],
)
def test_numbers_are_rounded_down(number: int, rounded: int) -> None:
    assert counts.Count("tests", number, "here").rounded == rounded


@pytest.mark.parametrize(
    ("now", "wrong"),
    [
        (1_300, []),
        (1_700, []),
        (1_299, ["tests: 1,299, and the page says 1,300: run scripts/counts.py"]),
        (1_800, ["tests: 1,800, and the page says 1,300: run scripts/counts.py"]),
    ],
)
def test_a_page_says_no_more_than_there_is_and_not_much_less(now: int, wrong: list[str]) -> None:
    page = counts.table([counts.Count("tests", 1_345, "here")])
    assert counts.faults(page, [counts.Count("tests", now, "here")]) == wrong


def test_a_count_that_the_page_lacks_is_named() -> None:
    lacking = counts.faults("", [counts.Count("tests", 1, "here")])
    assert lacking == ["tests: not on the page: run scripts/counts.py"]


def test_functions_with_parameters_count_once() -> None:
    one = "@pytest.mark.parametrize('a', [1, 2])\ndef test_one(a): ...\n\n"
    text = one + "async def test_two(): ...\n\ndef other(): ...\n"
    assert counts.test_functions(text) == 2
