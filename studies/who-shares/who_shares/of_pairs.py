"""Checks of what is said of Reno and CUBIC in pairs, of the model and of Linux alike."""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl
from rexmit.analyse import Check, Published, Uncovered

from .evidence import Evidence
from .pairs import chosen

Function = Callable[[Published, Evidence], Check]


def checks(study: str, mark: str) -> dict[str, Function]:
    """Those of the pairs of one study, their tags with a mark behind."""

    def of(check: Callable[[Published, pl.DataFrame], Check]) -> Function:
        return lambda published, evidence: check(published, evidence.frame(study))

    found = {
        "P-006-1": of(_cubic_share),
        "P-006-2": of(_cubic_share),
        "P-006-3": of(_same_rtt),
        "P-006-4": of(_exponent(measured=False)),
        "P-006-5": of(_exponent(measured=True)),
    }
    return {f"{tag}{mark}": check for tag, check in found.items()}


def _cubic_share(published: Published, found: pl.DataFrame) -> Check:
    """CUBIC's share beside Reno, the mean of both orders of starting."""
    shares = []
    for pair, cubic in (("Reno, CUBIC", "far"), ("CUBIC, Reno", "near")):
        runs = chosen(found, pair=pair, rtt="1", buffer="1", aqm="none")
        if runs.is_empty():
            raise Uncovered(f"no run of {pair} with FIFO, equal round-trip times and 1 BDP")
        shares.append(float(runs.select(pl.col(cubic) / (pl.col("near") + pl.col("far"))).item()))
    told = f"{shares[1]:.2f} where CUBIC begins, {shares[0]:.2f} where Reno does"
    return Check.of_number(published, sum(shares) / 2, told)


def _same_rtt(published: Published, found: pl.DataFrame) -> Check:
    runs = chosen(found, pair="CUBIC, CUBIC", rtt="1", buffer="1", aqm="none")
    if runs.is_empty():
        raise Uncovered("no run of CUBIC beside CUBIC with FIFO, equal round-trip times and 1 BDP")
    return Check.of_number(published, float(runs["jain"].item()))


def _exponent(measured: bool) -> Callable[[Published, pl.DataFrame], Check]:
    """The slope through the origin of log(ratio) over log(RTT ratio): of two CUBIC flows, FIFO, 1 BDP."""

    def check(published: Published, found: pl.DataFrame) -> Check:
        runs = chosen(found, pair="CUBIC, CUBIC", buffer="1", aqm="none").filter(pl.col("rtt") != "1")
        if len(runs) < 3:
            raise Uncovered("needs three ratios of round-trip times")
        pairs = [
            (math.log(rtt_ratio if measured else float(rtt)), math.log(ratio))
            for rtt, rtt_ratio, ratio in runs.select("rtt", "rtt_ratio", "ratio").rows()
        ]
        slope = sum(x * y for x, y in pairs) / sum(x * x for x, _ in pairs)
        told = ", ".join(f"{math.exp(y):.1f} for {math.exp(x):.1f}" for x, y in pairs)
        return Check.of_number(published, slope, f"throughput ratios {told}")

    return check
