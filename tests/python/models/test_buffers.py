"""merritt-2010's rule for the buffer of an uplink, its tables, and the classic rules."""

from __future__ import annotations

import numpy as np
import pytest
from rexmit import models
from rexmit.models import ModelError, UplinkMeasures

LINK = UplinkMeasures(up_rate=196e3, rtt=0.2, max_window_down=73_000, max_window_up=10_000)
"""2400/196 kbit/s with the RTT of table 6.1 and windows as large as a model's (the study prints none)."""


def test_table_5_1() -> None:
    packets = np.arange(5, 51, 5)
    seconds = [0.306, 0.612, 0.918, 1.224, 1.531, 1.837, 2.143, 2.449, 2.755, 3.061]
    np.testing.assert_allclose(models.drain_time(packets, 196e3), seconds, atol=5e-4)


def test_table_6_2_for_2400_196() -> None:
    assert LINK.bound() == pytest.approx(17.73, abs=0.01)
    assert LINK.packets() == 17  # P-001-5


@pytest.mark.parametrize(
    ("up_rate", "rtt", "packets"), [(1e6, 0.14, 25), (196e3, 0.2, 17), (100e3, 0.16, 30)]
)
def test_table_6_2_turned_round(up_rate: float, rtt: float, packets: int) -> None:
    """P-001-4 to P-001-6: the difference of windows that (6.5) needs for an estimate gives it by (6.6)."""
    difference = 2 * (rtt * up_rate / 8 + (packets + 0.5) * 1500)
    link = UplinkMeasures(up_rate, rtt, max_window_down=10_000 + difference, max_window_up=10_000)
    assert link.packets() == packets
    assert link.out_of_phase(packets)
    assert not link.out_of_phase(packets + 1)


def test_the_buffer_is_strictly_below_the_bound() -> None:
    link = UplinkMeasures(up_rate=8000, rtt=1.5, max_window_down=33_000, max_window_up=0)
    assert link.bound() == 10
    assert link.packets() == 9
    assert not link.out_of_phase(10)


def test_no_buffer_says_why() -> None:
    link = UplinkMeasures(up_rate=1e6, rtt=0.14, max_window_down=40_000, max_window_up=20_000)
    assert link.bound() < 0
    with pytest.raises(
        ModelError, match=r"^the rule gives no buffer: the download's maximum window, 40000 bytes"
    ):
        link.packets()
    # One packet more than nothing is not a buffer either: it must be below the bound.
    with pytest.raises(ModelError, match="gives no buffer"):
        UplinkMeasures(up_rate=8000, rtt=1, max_window_down=5000, max_window_up=0).packets()


def test_the_window_that_the_error_asks_for_is_the_least() -> None:
    link = UplinkMeasures(up_rate=196e3, rtt=0.2, max_window_down=1, max_window_up=10_000)
    with pytest.raises(ModelError) as raised:
        link.packets()
    needed = float(str(raised.value).split("above ")[1].split()[0])
    assert UplinkMeasures(196e3, 0.2, needed + 1, 10_000).packets() == 1
    with pytest.raises(ModelError):
        UplinkMeasures(196e3, 0.2, needed, 10_000).packets()


def test_the_classic_rules() -> None:
    assert models.bdp_buffer(2.4e6, 0.2) == pytest.approx(40)  # (2.2)
    assert models.many_flows_buffer(2.4e6, 0.2, 100) == pytest.approx(4)  # (2.3)
    assert models.many_flows_buffer(2.4e6, 0.2, 1) == models.bdp_buffer(2.4e6, 0.2)


def test_arrays_give_arrays() -> None:
    bounds = models.uplink_buffer_bound(np.array([20_000, 73_000]), 10_000, 0.2, 196e3)
    np.testing.assert_allclose(bounds, [0.0667, 17.733], atol=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"up_rate": 0}, "up_rate: 0"),
        ({"rtt": -0.1}, "rtt: -0.1"),
        ({"max_window_down": 0}, "max_window_down: 0"),
        ({"max_window_up": -1}, "max_window_up: -1"),
        ({"packet": float("nan")}, "packet: nan"),
    ],
)
def test_every_input_has_its_domain(change: dict[str, float], message: str) -> None:
    given = {"up_rate": 196e3, "rtt": 0.2, "max_window_down": 73e3, "max_window_up": 1e4, **change}
    with pytest.raises(ModelError, match=f"^{message} is outside"):
        UplinkMeasures(**given)


def test_flows_are_counted() -> None:
    with pytest.raises(ModelError, match=r"^flows: 2.5 .* a whole number of at least 1$"):
        models.many_flows_buffer(1e6, 0.1, 2.5)
