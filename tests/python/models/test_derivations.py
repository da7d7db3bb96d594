"""The formulas, derived again by SymPy from the sums and equations that their sources start from."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy as sp
from rexmit import models

W, n, x, p = sp.symbols("W n x p", positive=True)
ODD, EVEN = 2 * n + 1, 2 * n
"""An odd and an even W, so that the limits of the thesis's sums are whole."""


def total(term: sp.Expr, first: sp.Expr, last: sp.Expr) -> sp.Expr:
    return sp.summation(term, (x, first, last))


def same(one: sp.Expr, other: sp.Expr) -> bool:
    return bool(sp.simplify(one - other) == 0)


def test_the_classic_formula_2_1_to_2_4() -> None:
    half = W / 2
    segments = half**2 + half**2 / 2  # rectangle and triangle, (2.1)
    assert same(segments, sp.Rational(3, 8) * W**2)
    (peak,) = sp.solve(sp.Eq(segments, 1 / p), W)
    assert same(peak, sp.sqrt(8 / (3 * p)))  # (2.2)
    per_round = (segments / half).subs(W, peak)  # (2.3) times RTT/MSS
    assert same(per_round, sp.sqrt(sp.Rational(3, 2)) / sp.sqrt(p))  # (2.4)
    assert math.isclose(models.MATHIS_C, math.sqrt(3 / 2))


def test_delayed_acks_divide_the_constant_by_the_root_of_2_not_by_2() -> None:
    b = 2  # segments an ACK: the window takes b rounds for a step
    rounds = b * W / 2
    segments = rounds * (W / 2 + W) / 2
    (peak,) = sp.solve(sp.Eq(segments, 1 / p), W)
    constant = sp.simplify((segments / rounds).subs(W, peak) * sp.sqrt(p))
    assert same(constant, sp.sqrt(sp.Rational(3, 4)))
    assert math.isclose(models.MATHIS_C_DELAYED, models.MATHIS_C / math.sqrt(2))


def test_segments_of_a_cycle_4_3_and_4_4() -> None:
    # To the retransmission W + 3; in fast recovery (W - 2)/2, rounded down; then the steps, (4.1) and (4.2).
    odd = ODD + 3 + (ODD - 3) / 2 + 1 + total(x + 2, (ODD + 1) / 2, ODD - 1)
    even = EVEN + 3 + (EVEN - 2) / 2 + total(x + 2, EVEN / 2 + 1, EVEN - 1)
    assert same(odd, (sp.Rational(3, 8) * W**2 + 2 * W + sp.Rational(13, 8)).subs(W, ODD))
    assert same(even, (sp.Rational(3, 8) * W**2 + sp.Rational(7, 4) * W).subs(W, EVEN))
    for value in range(2, 40):
        assert models.klaver_cycle_segments(2 * value + 1) == int(odd.subs(n, value))
        assert models.klaver_cycle_segments(2 * value) == int(even.subs(n, value))


def test_average_window_of_a_cycle_4_10_and_4_11() -> None:
    low = (ODD + 1) / 2
    above = (
        (ODD - 1) + total(x, low, ODD - 2) + 2 * (ODD - 1) / 2 + total(x * (x + 2), low, ODD - 1) - (ODD - 1)
    )
    below = 1 + (ODD - 3) / 2 + 1 + 1 + total(x + 2, low, ODD - 1) - 1
    printed = (7 * W**3 + 15 * W**2 - 31 * W + 9) / (9 * W**2 + 24 * W - 9)
    assert same(above / below, printed.subs(W, ODD))

    low = EVEN / 2 + 1
    above = (EVEN - 1) + total(x, EVEN / 2, EVEN - 2) + 2 * EVEN / 2 + total(x * (x + 2), low, EVEN - 1)
    above += -(EVEN / 2 + 1) - (EVEN - 1)
    below = 1 + EVEN / 2 - 1 + 1 + 1 + total(x + 2, low, EVEN - 1) - 1 - 1
    printed = (7 * W**3 + 12 * W**2 - 52 * W) / (9 * W**2 + 18 * W - 48)
    assert same(above / below, printed.subs(W, EVEN))
    for value in range(2, 40):
        expected = float((above / below).subs(n, value))
        assert models.klaver_cycle_window(2 * value) == pytest.approx(expected, rel=1e-12)


PEAK_ODD = sp.sqrt(sp.Rational(25, 9) + 24 / (9 * p)) - sp.Rational(8, 3)
PEAK_EVEN = sp.sqrt(sp.Rational(49, 9) + 24 / (9 * p)) - sp.Rational(7, 3)


def test_the_maximum_window_4_5_and_4_6_solves_4_3_and_4_4() -> None:
    odd = sp.Rational(3, 8) * W**2 + 2 * W + sp.Rational(13, 8)
    even = sp.Rational(3, 8) * W**2 + sp.Rational(7, 4) * W
    assert same(odd.subs(W, PEAK_ODD), 1 / p)
    assert same(even.subs(W, PEAK_EVEN), 1 / p)
    for rate in (0.001, 0.02, 0.1):
        assert models.klaver_peak_odd(rate) == pytest.approx(float(PEAK_ODD.subs(p, rate)), rel=1e-12)
        assert models.klaver_peak_even(rate) == pytest.approx(float(PEAK_EVEN.subs(p, rate)), rel=1e-12)


def test_the_first_line_of_4_5_as_printed_is_not_the_second_that_of_4_6_is() -> None:
    printed_odd = (-8 * p - sp.sqrt(25 * p**2 + 24 * p)) / (3 * p)
    corrected_odd = (-8 * p + sp.sqrt(25 * p**2 + 24 * p)) / (3 * p)
    assert float(printed_odd.subs(p, 0.01)) < 0
    assert same(corrected_odd, PEAK_ODD)
    assert same(-(7 * p - sp.sqrt(49 * p**2 + 24 * p)) / (3 * p), PEAK_EVEN)


def test_substitution_gives_4_12_and_4_13() -> None:
    window_odd = (7 * W**3 + 15 * W**2 - 31 * W + 9) / (9 * W**2 + 24 * W - 9)
    root = sp.sqrt(25 * p**2 + 24 * p)
    above = (65 * p + 21) * root - 163 * p**2 - 369 * p
    printed = above / (54 * p**2 + 81 * p - 27 * p * root)
    assert same(window_odd.subs(W, (root - 8 * p) / (3 * p)), printed)
    check_function(models.klaver_odd_window, printed)

    window_even = (7 * W**3 + 12 * W**2 - 52 * W) / (9 * W**2 + 18 * W - 48)
    root = sp.sqrt(49 * p**2 + 24 * p)
    above = (200 * p + 84) * root - 1400 * p**2 - 1332 * p
    printed = above / (108 * p**2 + 324 * p - 108 * p * root)
    assert same(window_even.subs(W, (root - 7 * p) / (3 * p)), printed)
    check_function(models.klaver_even_window, printed)


def check_function(function, expression: sp.Expr) -> None:  # type: ignore[no-untyped-def]
    rates = np.geomspace(1e-6, 0.1, 40)
    expected = [float(expression.subs(p, sp.Float(repr(rate), 40))) for rate in rates.tolist()]
    np.testing.assert_allclose(function(rates), expected, rtol=1e-9)


def test_both_curves_have_a_pole_above_the_range() -> None:
    odd = 54 * p**2 + 81 * p - 27 * p * sp.sqrt(25 * p**2 + 24 * p)
    even = 108 * p**2 + 324 * p - 108 * p * sp.sqrt(49 * p**2 + 24 * p)
    assert sp.solve(odd, p) == [sp.Rational(3, 7)]
    assert [same(found, (sp.sqrt(57) - 3) / 16) for found in sp.solve(even, p)] == [True]


def test_for_small_p_both_are_7_9_over_3_4_of_the_classic_formula() -> None:
    rates = np.array([1e-12])
    for function in (models.klaver_odd_window, models.klaver_even_window):
        np.testing.assert_allclose(function(rates) / models.mathis_window(rates), 28 / 27, rtol=1e-5)


def test_pftk_peak_window_from_the_segments_and_rounds_of_a_period() -> None:
    b = sp.Symbol("b", positive=True)
    rounds = b * W / 2  # E[W] = (2/b) E[X], (11)
    segments = (1 - p) / p + W  # of a period, (5)
    # X rounds from W/2 up to W - 1 on average, and half a window in the last one.
    balance = sp.Eq(segments, rounds / 2 * (W / 2 + W - 1) + W / 2)
    solution = max(sp.solve(balance, W), key=lambda one: one.subs({b: 2, p: sp.Rational(1, 100)}))
    for rate, ack in ((0.001, 1), (0.03, 2), (0.5, 2)):
        expected = float(solution.subs({p: rate, b: ack}))
        assert models.pftk_peak_window(rate, ack) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("window", [4, 10, 33])
@pytest.mark.parametrize("rate", [0.001, 0.05, 0.4])
def test_pftk_timeout_share_is_its_sum(rate: float, window: int) -> None:
    """The paper's sum: k segments of the round before the last arrive, then m of those k that follow."""

    def first(k: int) -> float:
        return (1 - rate) ** k * rate / (1 - (1 - rate) ** window)

    def then(m: int, k: int) -> float:
        return (1 - rate) ** m * (rate if m < k else 1)

    share = sum(first(k) for k in range(3))
    share += sum(first(k) * sum(then(m, k) for m in range(3)) for k in range(3, window))
    assert models.pftk_timeout_share(rate, window) == pytest.approx(min(1, share), rel=1e-9)


def test_pftk_full_is_segments_over_time_of_a_period_with_its_timeouts() -> None:
    rate, rtt, rto, b = 0.03, 0.2, 0.9, 2

    def length(timeouts: int) -> float:  # of a run of timeouts, doubled up to 64
        return rto * sum(min(2**k, 64) for k in range(timeouts))

    backoff = sum(rate ** (k - 1) * (1 - rate) * length(k) for k in range(1, 400))
    peak = float(models.pftk_peak_window(rate, b))
    share = float(models.pftk_timeout_share(rate, peak))
    segments = (1 - rate) / rate + peak + share / (1 - rate)
    time = rtt * (b * peak / 2 + 1) + share * backoff
    assert models.pftk_full_window(rate, rtt, rto, b=b) == pytest.approx(segments / time * rtt, rel=1e-12)


def test_pftk_with_the_window_at_its_limit_is_segments_over_the_rounds_of_such_a_period() -> None:
    rate, rtt, rto, b, most = 0.0002, 0.2, 0.9, 2, 8
    # From most/2 to most in b most/2 rounds, then flat for V rounds; X = U + V and Y = (1-p)/p + most.
    climb = b * most / 2
    flat = ((1 - rate) / rate + most - climb / 2 * (most / 2 + most)) / most
    share = float(models.pftk_timeout_share(rate, most))
    backoff = sum(
        rate ** (k - 1) * (1 - rate) * rto * sum(min(2**j, 64) for j in range(k)) for k in range(1, 99)
    )
    segments = (1 - rate) / rate + most + share / (1 - rate)
    time = rtt * (climb + flat + 1) + share * backoff
    assert models.pftk_full_window(rate, rtt, rto, most, b) == pytest.approx(segments / time * rtt, rel=1e-12)


def test_cubic_from_its_cycle_without_sums() -> None:
    """RFC 9438, appendix C: the window is W_max - C (K - t)^3 for K seconds, and carries 1/p segments."""
    c, beta, rtt, t, span, top = sp.symbols("c beta rtt t K W_max", positive=True)
    carried = sp.integrate(top - c * (span - t) ** 3, (t, 0, span)) / rtt
    carried = sp.simplify(carried.subs(top, c * span**3 / (1 - beta)))
    values = {c: 0.4, beta: 0.7, rtt: 0.1, p: 1e-6}
    (length,) = [
        root for root in sp.solve(sp.Eq(carried, 1 / p).subs(values), span) if root.is_real and root > 0
    ]
    average = float((1 / p).subs(values) / (length / 0.1))
    assert models.cubic_window(1e-6, 0.1, friendly=False) == pytest.approx(average, rel=1e-9)


def test_cubics_increase_in_the_friendly_region_gives_renos_window() -> None:
    beta = 0.7
    alpha = 3 * (1 - beta) / (1 + beta)
    assert models.aimd_window(0.001, alpha, beta) == pytest.approx(
        float(models.aimd_window(0.001)), rel=1e-12
    )
    assert models.aimd_window(0.001) == pytest.approx(float(models.mathis_window(0.001)), rel=1e-12)
