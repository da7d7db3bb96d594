"""The pages on what section 6.2 of pedersen-2006 proposes come out again: the Eifel timer, the lowest RTO."""

from __future__ import annotations

from pathlib import Path

import pytest
from rexmit import Study
from rexmit.analyse.study_code import study_module

PAGES = Path(__file__).parents[2] / "docs" / "studies"
EIFEL, ADDRESSES, RTTS = (study_module("pedersen-2006", name) for name in ("eifel", "addresses", "rtts"))


def _shown(page: str, name: str) -> str:
    text = (PAGES / page).read_text()
    return text.partition(f"<!-- {name} -->\n")[2].partition(f"<!-- /{name} -->")[0]


def test_the_timers() -> None:
    results = Study.load("pedersen-2006/rto").run(progress=False)
    assert EIFEL.table(EIFEL.by_delay(results)) == _shown("pedersen-eifel.md", "timers")


@pytest.mark.long
def test_the_lowest_rto() -> None:
    events = ADDRESSES.events_of(ADDRESSES.study(200).run(progress=False))
    found = {(200, pair): ADDRESSES.outcomes(events, pair, 200) for pair in ((100, 400), (400, 100))}
    lines = ADDRESSES.table(found).splitlines()
    assert lines[2:] == _shown("pedersen-lowest-rto.md", "addresses").splitlines()[-2:]


def test_variance_rises_by_a_third_falls_by_a_ninth_and_stays_where_the_rtt_falls() -> None:
    assert EIFEL.eifel((200, 10), 230) == pytest.approx((210, 10 + 20 / 3))
    assert EIFEL.eifel((200, 40), 230) == pytest.approx((210, 40 - 10 / 9))
    assert EIFEL.eifel((200, 40), 170) == pytest.approx((190, 40))
    assert EIFEL.eifel_in_ticks((208, 40), 200) == (204, 40)
    assert EIFEL.eifel_in_ticks((200, 40), 200) == (200, 32)


def test_an_idle_address_is_measured_by_heartbeats_and_a_timeout_doubles() -> None:
    events = [ADDRESSES.Event(1000, 400.0), ADDRESSES.Event(2000, None), ADDRESSES.Event(3000, None)]
    used = ADDRESSES.Address(events, 208, 200, seed=1)
    used.until(1000, used=True)
    assert used.rto_ms == 400 + 4 * 200
    used.until(2500, used=True)
    assert used.rto_ms == 2 * 1200
    idle = ADDRESSES.Address(events, 208, 200, seed=1)
    idle.until(29_000, used=False)
    assert idle.rto_ms == 3000
    idle.until(30_000, used=False)
    assert idle.rto_ms in (208 + 4 * 104, 6000)
