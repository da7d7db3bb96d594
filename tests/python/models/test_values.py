"""The formulas beside values that others have published or calculated."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from rexmit import models
from rexmit.models import FORMULAS, Flow, ModelError

CYCLES = """\
W,segments,p,window,classic
5,21,0.047619,3.286,5.612
6,24,0.041667,4.250,6.000
7,34,0.029412,4.880,7.141
8,38,0.026316,5.857,7.550
9,50,0.020000,6.462,8.660
10,55,0.018182,7.442,9.083
11,69,0.014493,8.036,10.173
12,75,0.013333,9.016,10.607
13,91,0.010989,9.605,11.683
14,98,0.010204,10.585,12.124
15,116,0.008621,11.172,13.191
16,124,0.008065,12.151,13.638
17,144,0.006944,12.736,14.697
18,153,0.006536,13.714,15.149
20,185,0.005405,15.276,16.658
25,286,0.003497,18.981,20.712
30,390,0.002564,23.073,24.187
40,670,0.001493,30.860,31.702
50,1025,0.000976,38.643,39.211
75,2261,0.000442,57.906,58.237
100,3925,0.000255,77.544,76.730
"""
"""klaver-2005's cycle by its formulas, calculated apart from this package."""


@pytest.mark.parametrize("row", list(csv.DictReader(io.StringIO(CYCLES))), ids=lambda row: f"W={row['W']}")
def test_a_cycle_of_klaver(row: dict[str, str]) -> None:
    w = int(row["W"])
    segments = float(models.klaver_cycle_segments(w))
    assert segments == int(row["segments"])
    assert float(models.klaver_cycle_window(w)) == pytest.approx(float(row["window"]), abs=5e-4)
    assert float(models.mathis_window(1 / segments)) == pytest.approx(float(row["classic"]), abs=5e-4)
    peak, window = (
        (models.klaver_peak_odd, models.klaver_odd_window)
        if w % 2
        else (models.klaver_peak_even, models.klaver_even_window)
    )
    assert float(peak(1 / segments)) == pytest.approx(w, rel=1e-9)
    assert float(window(1 / segments)) == pytest.approx(float(row["window"]), abs=5e-4)


def test_a_trace_counts_the_dropped_transmission_too() -> None:
    widths = [8, 9, 11, 12, 16, 17, 21, 22, 31, 32]
    counted = models.klaver_cycle_segments(widths, with_dropped=True)
    np.testing.assert_array_equal(counted, [39, 51, 70, 76, 125, 145, 210, 221, 425, 441])
    np.testing.assert_allclose(models.loss_of_delivered(1 / counted), 1 / (counted - 1))


CURVES = """\
p,classic,odd,even
0.0001,122.474,124.526,124.979
0.001,38.730,37.673,38.145
0.01,12.247,10.191,10.713
0.02,8.660,6.462,7.005
0.05,5.477,3.145,3.704
0.1,3.873,1.469,1.958
"""


def test_klavers_curves_beside_the_classic_one() -> None:
    rows = [[float(cell) for cell in row] for row in list(csv.reader(io.StringIO(CURVES)))[1:]]
    p, classic, odd, even = np.array(rows).T
    np.testing.assert_allclose(models.mathis_window(p), classic, atol=5e-4)
    np.testing.assert_allclose(models.klaver_odd_window(p), odd, atol=5e-4)
    np.testing.assert_allclose(models.klaver_even_window(p), even, atol=5e-4)


def test_the_average_at_the_end_of_klavers_range_is_just_above_1() -> None:
    """P-003-8: klaver-2005, chapter 5."""
    for function in (models.klaver_odd_window, models.klaver_even_window):
        assert 1 < function(0.1) < 2


def test_the_constants_of_mathis_1997() -> None:
    published = (1.22, 0.87, 1.31, 0.93)
    ours = (models.MATHIS_C, models.MATHIS_C_DELAYED, models.OTT_C, models.OTT_C_DELAYED)
    np.testing.assert_allclose(ours, published, atol=0.005)
    assert models.mathis_window(0.01, delayed_acks=True) == pytest.approx(8.66, abs=0.005)
    assert models.ott_window(0.01) == pytest.approx(13.1)


@pytest.mark.parametrize(
    ("rate", "scaled"),
    [
        # Linux's net/dccp/ccids/lib/tfrc_equation.c: 1e6 f(p), X = s / (R f(p)), with t_RTO = 4R and b = 1.
        (0.0001, 8172),
        (0.0005, 18339),
        (0.001, 26052),
        (0.002, 37172),
        (0.01, 89021),
        (0.05, 271305),
        (0.2, 1863717),
        (0.998, 241651183),
        (1.0, 243315981),
    ],
)
def test_tfrc_beside_the_table_of_linux(rate: float, scaled: int) -> None:
    assert 1e6 / float(models.tfrc_window(rate)) == pytest.approx(scaled, abs=1, rel=0)


def test_tfrc_is_the_approximate_model_of_pftk_while_its_min_is_below_1() -> None:
    rates = np.geomspace(1e-5, 0.29, 30)  # 3 sqrt(3p/8) reaches 1 at p = 8/27
    np.testing.assert_allclose(models.tfrc_window(rates, 0.1, 0.4), models.pftk_window(rates, 0.1, 0.4, b=1))
    assert models.tfrc_window(0.5, 0.1, 0.4) < models.pftk_window(0.5, 0.1, 0.4, b=1)


CUBIC_TABLES = {
    # RFC 9438, tables 1 and 2: for p = 1e-2 ... 1e-8, C = 0.04, 0.4, 4.
    0.1: [
        (12, 12, 12),
        (38, 38, 59),
        (120, 187, 333),
        (593, 1054, 1874),
        (3332, 5926, 10538),
        (18740, 33325, 59261),
        (105383, 187400, 333250),
    ],
    0.01: [
        (12, 12, 12),
        (38, 38, 38),
        (120, 120, 120),
        (379, 379, 379),
        (1200, 1200, 1874),
        (3795, 5926, 10538),
        (18740, 33325, 59261),
    ],
}


@pytest.mark.parametrize("rtt", CUBIC_TABLES)
def test_cubic_beside_the_tables_of_rfc_9438(rtt: float) -> None:
    for power, row in enumerate(CUBIC_TABLES[rtt], start=2):
        for c, published in zip((0.04, 0.4, 4.0), row, strict=True):
            alone = float(models.cubic_window(10.0**-power, rtt, c, friendly=False))
            # The tables take Reno's window from RFC 3649, 1.2/sqrt(p).
            reno = 1.2 * 10 ** (power / 2)
            assert max(alone, reno) == pytest.approx(published, abs=0.5001)
            ours = float(models.cubic_window(10.0**-power, rtt, c))
            assert ours == pytest.approx(max(alone, float(models.aimd_window(10.0**-power))))


def test_cubic_needs_the_loss_rates_of_rfc_9438_table_3() -> None:
    window = np.array([83.3, 833.3, 8333.3, 83333.3])  # 10 Mbit/s to 10 Gbit/s, 1500 bytes, 0.1 s
    published = np.array([2.9e-4, 1.4e-5, 6.3e-7, 2.9e-8])
    np.testing.assert_allclose(models.cubic_window(published, 0.1), window, rtol=0.03)
    np.testing.assert_allclose(models.bandwidth(window, 1500, 0.1), [1e7, 1e8, 1e9, 1e10], rtol=1e-3)


def test_pftk_falls_below_the_root_where_timeouts_rule_and_meets_it_where_they_do_not() -> None:
    small, large = 1e-6, 0.1
    assert models.pftk_full_window(small, 0.1, 0.4, b=1) == pytest.approx(
        float(models.mathis_window(small)), rel=0.01
    )
    assert models.pftk_full_window(large, 0.1, 1.0) < 0.5 * models.mathis_window(large, delayed_acks=True)


def test_pftk_is_limited_by_the_receivers_window() -> None:
    rates = np.geomspace(1e-7, 1e-5, 9)
    assert np.all(models.pftk_window(rates, 0.1, 0.4, 20) == 20)
    limited = models.pftk_full_window(rates, 0.1, 0.4, 20)
    assert np.all(limited < 20)
    assert limited[0] == pytest.approx(20, rel=1e-3)


def test_the_approximate_model_of_pftk_is_near_the_full_one_up_to_3_per_cent() -> None:
    rates = np.geomspace(1e-5, 0.03, 30)
    for rto in (1, 2.5):
        full = models.pftk_full_window(rates, 0.25, rto)
        np.testing.assert_allclose(models.pftk_window(rates, 0.25, rto), full, rtol=0.03)


@pytest.mark.parametrize("name", FORMULAS)
def test_every_formula_takes_arrays_falls_with_p_and_gives_numbers_for_numbers(name: str) -> None:
    flow = Flow(mss=1448, rtt=0.1, rto=0.5, delayed_acks=True, max_window=500)
    formula = FORMULAS[name]
    rates = np.geomspace(1e-4, formula.domain, 50).reshape(5, 10)
    rates.flat[-1] = formula.domain
    windows = formula.window(rates, flow)
    assert windows.shape == (5, 10)
    assert np.all(np.diff(windows.ravel()) < 1e-12)
    one = formula.window(0.01, flow)
    assert isinstance(one, np.float64)
    assert float(one) == pytest.approx(float(formula.window(np.array([0.01]), flow)[0]))
    assert float(formula.bandwidth(0.01, flow)) == pytest.approx(float(one) * 8 * 1448 / 0.1)
    assert list(formula.takes([0.0, 0.01, 1.5])) == [False, True, False]
    assert not formula.holds_at(formula.holds_to * 1.01)


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("wrong", [0, -0.1, 1.01, float("nan"), "much", [0.01, 2.0]])
def test_a_loss_rate_outside_the_domain_is_one_line(name: str, wrong: object) -> None:
    with pytest.raises(ModelError, match=r"^p: .* must be at least 1e-15 and at most (1|0\.1)$") as raised:
        FORMULAS[name].window(wrong, Flow(mss=1448, rtt=0.1))  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Flow(mss=0, rtt=0.1), "mss: 0 is outside"),
        (lambda: Flow(mss=1448, rtt=-1), "rtt: -1 is outside"),
        (lambda: Flow(mss=1448, rtt=1, rto=0), "rto: 0"),
        (lambda: Flow(mss=1448, rtt=1, max_window=float("inf")), "max_window: inf"),
        (lambda: models.pftk_window(0.1, 0.1, 0.4, 0), "max_window: 0"),
        (lambda: models.pftk_full_window(0.1, 0.1, 0.4, 9, -2), "b: -2"),
        (lambda: models.aimd_window(0.1, 1, 1), "beta: 1 .* above 0 and below 1"),
        (lambda: models.cubic_window(0.1, 0.1, c=0), "c: 0"),
        (lambda: models.klaver_cycle_segments(3), "w: 3 .* a whole number of at least 4"),
        (lambda: models.klaver_cycle_window([11, 11.5]), "w: 11.5"),
        (lambda: models.klaver_peak_odd(0.2), "p: 0.2 .* at most 0.1"),
        (lambda: models.loss_of_delivered(1), "p: 1 .* below 1"),
        (lambda: models.bandwidth(10, 1448, 0), "rtt: 0"),
    ],
)
def test_every_argument_has_its_domain(call, message: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelError, match=f"^{message}"):
        call()
