"""The page of hard cases says what the programs say."""

from __future__ import annotations

import pytest

from .peers import hard_cases


def test_our_column_is_current() -> None:
    rows = hard_cases.shown()
    assert len(rows) >= 20
    columns = [(row[2], row[5]) for row in rows]
    assert columns == [(line.truth, line.ours) for line in hard_cases.ours()]


def test_what_is_certain_is_right() -> None:
    wrong = [line for line in hard_cases.ours() if "certain" in line.ours and not line.right]
    assert wrong == []


def test_most_is_right() -> None:
    assert sum(not line.right for line in hard_cases.ours()) <= 1


@pytest.mark.skipif(not hard_cases.there(), reason="needs tshark and tcptrace (make setup says how)")
def test_the_page_is_current() -> None:
    assert hard_cases.PAGE.read_text() == hard_cases.page()
