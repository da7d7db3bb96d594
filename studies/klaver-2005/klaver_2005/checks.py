"""The check of each published row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
from rexmit import models
from rexmit.analyse import Check, Published

from .evidence import CASE, COUNTS, POLICY, Evidence, Uncovered

Function = Callable[[Published, Evidence], Check]
APART = 0.03
"""How far the curves must be apart for a point to be called nearer to one of them."""


def point(published: Published, evidence: Evidence) -> Check:
    """A point of table 5.1: how far the measured F lies from the formula for its W, at its p."""
    return _distance(published, evidence.point("controlled", published.place["where"].replace("; ", ", ")))


def _distance(published: Published, row: dict[str, float]) -> Check:
    if row["error_klaver"] is None:
        raise Uncovered(f"W = {row['w']:.0f} at p = {row['p_delivered']:.3f}: outside the formulas' domain")
    classic = float(models.mathis_window(row["p_delivered"])) / row["f"] - 1
    note = (
        f"p = {row['p_delivered']:.5f}, F = {row['f']:.2f}, W = {row['w']:.4g}, "
        f"{row['window_cycles']:.0f} cycles; "
        f"the classic formula gives {100 * classic:+.1f} %"
    )
    return Check.of_number(published, 100 * (1 / (1 + row["error_klaver"]) - 1), note)


def _classic(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, models.MATHIS_C, "sqrt(3/2)")


def _random(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, models.OTT_C, "Ott's own value is 1.31")


def _segments(parity: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        cycles = evidence.whole_cycles()
        of = [(w, 1 / p) for w, p in cycles.select("w", "p_delivered").iter_rows() if w % 2 == parity]
        far = {w: 100 * (n / float(models.klaver_cycle_segments(w)) - 1) for w, n in of}
        note = "W of " + ", ".join(f"{w:.0f}" for w in sorted(far))
        return Check.of_number(published, max(far.values(), key=abs), note)

    return check


def _cycle_window(published: Published, evidence: Evidence) -> Check:
    cycles = evidence.whole_cycles().filter(~pl.col(CASE).str.ends_with("250 ms"))
    rows = cycles.select("w", "f").iter_rows()
    far = {w: 100 * (f / float(models.klaver_cycle_window(w)) - 1) for w, f in rows}
    note = "W of " + ", ".join(f"{w:.0f}" for w in sorted(far))
    return Check.of_number(published, max(far.values(), key=abs), note)


def _cycle(case: str) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        row = evidence.point("cycles", case)
        note = f"{row['window_cycles']:.0f} cycles of W = {row['w']:.4g}, each with one dropped segment more"
        return Check.of_number(published, 1 / row["p_delivered"], note)

    return check


def _just_above_one(published: Published, evidence: Evidence) -> Check:
    odd, even = (float(f(0.1)) for f in (models.klaver_odd_window, models.klaver_even_window))
    return Check.of_statement(published, 1 < odd < even < 2, f"{odd:.2f} (odd), {even:.2f} (even)")


def _repeated(published: Published, evidence: Evidence) -> Check:
    p = evidence.part("controlled").filter(pl.col("p").is_not_null())
    spread = p.group_by(CASE).agg((pl.col("p").max() / pl.col("p").min() - 1).alias("spread"), pl.len())
    if spread["len"].max() == 1:
        raise Uncovered("needs more than one replication")
    return Check.of_number(published, 100 * float(spread["spread"].max()))  # type: ignore[arg-type]


def _nearer(published: Published, evidence: Evidence) -> Check:
    points = evidence.points("controlled").filter(pl.col("error_klaver").is_not_null())
    checked, wrong = 0, []
    for case, p, f, error in points.select(CASE, "p_delivered", "f", "error_klaver").iter_rows():
        classic = float(models.mathis_window(p)) / f - 1
        if abs(classic - error) > APART:
            checked += 1
            wrong += [case] if abs(classic) < abs(error) else []
    if not checked:
        raise Uncovered("no point of these results lies where the curves are apart")
    return Check.of_statement(
        published, not wrong, f"{checked - len(wrong)} of {checked} points", "; ".join(wrong)
    )


def _differ_at_high_p(published: Published, evidence: Evidence) -> Check:
    def apart(p: float) -> list[float]:
        curves = (models.klaver_odd_window, models.klaver_even_window)
        return [float(curve(p) / models.mathis_window(p)) - 1 for curve in curves]

    low = max(abs(x) for p in np.geomspace(1e-5, 1e-3, 21) for x in apart(float(p)))
    high = min(abs(x) for p in np.geomspace(1e-2, 1e-1, 21) for x in apart(float(p)))
    ours = f"at most {100 * low:.1f} % from 0.00001 to 0.001; at least {100 * high:.0f} % from 0.01 to 0.1"
    return Check.of_statement(published, low < 0.05 and high > 0.1, ours)


def _line_rate(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, float(evidence.part("enschede")["rate_bit_s"].mean()) / 1e6, "payload")  # type: ignore[arg-type]


def _line_rtt(which: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        return Check.of_number(published, evidence.rtt("enschede")[which])

    return check


def _line_cycle(published: Published, evidence: Evidence) -> Check:
    row = evidence.part("enschede").row(0, named=True)
    seconds = (row["window_end_ns"] - row["window_start_ns"]) / 1e9 / row["window_cycles"]
    return Check.of_number(published, seconds, f"W = {row['w']:.4g}")


def _line_cycles(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, float(evidence.part("enschede")["cycles"][0]))


def _line_point(published: Published, evidence: Evidence) -> Check:
    return _distance(published, evidence.points("enschede").row(0, named=True))


def _shared_line(published: Published, evidence: Evidence) -> Check:
    raise Uncovered("an Internet path whose bottleneck was shared with traffic that is not known")


def _halved(published: Published, evidence: Evidence) -> Check:
    points = evidence.points("acks").filter(pl.col(COUNTS) == "acks")
    constant = pl.col("f") * pl.col("p_delivered").sqrt()
    policies = (points.filter(pl.col(POLICY) == name) for name in ("every-second", "immediate"))
    second, each = (dict(own.select(CASE, constant.alias("c")).iter_rows()) for own in policies)
    both = points.filter(pl.col(CASE).is_in(list(second)) & pl.col(CASE).is_in(list(each))).sort("w")
    if both.is_empty():
        raise Uncovered("these results of klaver-2005/acks have not both ways to acknowledge")
    case = both[CASE][-1]
    note = f"{case}: {second[case]:.3f} / {each[case]:.3f}; 1/sqrt(2) is 0.707"
    return Check.of_number(published, second[case] / each[case], note)


def _growth_kept(published: Published, evidence: Evidence) -> Check:
    single = pl.col("window_lost") == pl.col("window_cycles")
    points = evidence.points("acks").filter((pl.col(COUNTS) == "segments") & single)
    delayed, each = (
        dict(points.filter(pl.col(POLICY) == name).select(CASE, "p_delivered").iter_rows())
        for name in ("quick-ack", "immediate")
    )
    far = {case: 100 * (delayed[case] / each[case] - 1) for case in delayed if case in each}
    if not far:
        raise Uncovered("these results of klaver-2005/acks have not both ways to acknowledge")
    worst = max(far, key=lambda case: abs(far[case]))
    return Check.of_number(published, far[worst], f"{worst}; {len(far)} paths")


CHECKS: dict[str, Function] = {
    "P-003-1": _classic,
    "P-003-2": _random,
    "P-003-3": _segments(1),
    "P-003-4": _segments(0),
    "P-003-5": _cycle_window,
    "P-003-6": _cycle("W = 11"),
    "P-003-7": _cycle("W = 12"),
    "P-003-8": _just_above_one,
    "P-003-9": _repeated,
    "P-003-10": _nearer,
    "P-003-11": _differ_at_high_p,
    "P-003-12": _line_rate,
    "P-003-12.1": _line_rtt(0),
    "P-003-12.2": _line_rtt(1),
    "P-003-12.3": _line_cycle,
    "P-003-12.4": _line_cycles,
    "P-003-12.5": _line_point,
    "P-003-13": _shared_line,
    "P-003-14": _shared_line,
    "P-003-15": _halved,
    "P-003-16": _growth_kept,
}
