"""Checks of what is said of BBR beside loss-based flows, in runs of Linux."""

from __future__ import annotations

from statistics import median

import polars as pl
from rexmit.analyse import Check, Published, Uncovered
from rexmit.analyse.over_time import within

from . import groups
from .evidence import BBR, LINUX, SHALLOW, Evidence
from .of_pairs import Function
from .pairs import chosen

CUBIC_BUFFERS = ("1", "2", "4", "8", "16", "32")
"""The buffers, in BDP, of which the model says something."""
NUMBERS = (1, 2, 4)
CONGESTION = "transfers.1.congestion"


def _share(evidence: Evidence, flows: str, buffer: str) -> float:
    found = evidence.frame(BBR).filter((pl.col("flows") == flows) & (pl.col("buffer") == buffer))
    if found.is_empty():
        raise Uncovered(f"no run of {flows} with {buffer} BDP")
    return float(found["share"].item())


def _modelled(number: int, buffer: str) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        reno = _share(evidence, f"{number} BBR, 1 Reno", buffer)
        ours = _share(evidence, f"{number} BBR, 1 CUBIC", buffer)
        return Check.of_number(published, ours, f"beside Reno {reno:.2f}")

    return check


def _error(other: str) -> Function:
    """The median distance of the model from our shares, over numbers of BBR flows and buffers."""

    def check(published: Published, evidence: Evidence) -> Check:
        cells = [(number, buffer) for number in NUMBERS for buffer in CUBIC_BUFFERS]
        apart = [
            abs(_share(evidence, f"{n} BBR, 1 {other}", x) - groups.modelled(n, float(x))) for n, x in cells
        ]
        return Check.of_number(published, 100 * median(apart), f"greatest {100 * max(apart):.0f}")

    return check


def _crowds(evidence: Evidence, buffer: str) -> dict[int, float]:
    """The share of one BBR flow, by the number of CUBIC flows beside it."""
    return {k: _share(evidence, f"1 BBR, {k} CUBIC", buffer) for k in (1, 2, 4, 8, 16)}


def _independent(published: Published, evidence: Evidence) -> Check:
    found = _crowds(evidence, "32")
    told = ", ".join(f"{share:.2f} beside {k}" for k, share in found.items())
    return Check.of_number(published, max(found.values()) - min(found.values()), told)


def _beside_16(published: Published, evidence: Evidence) -> Check:
    found = {buffer: _share(evidence, "1 BBR, 16 CUBIC", buffer) for buffer in CUBIC_BUFFERS}
    told = ", ".join(f"{share:.2f} with {buffer} BDP" for buffer, share in found.items())
    return Check.of_number(published, found["32"], told)


def _small(published: Published, evidence: Evidence) -> Check:
    found = {buffer: _share(evidence, "1 BBR, 1 CUBIC", buffer) for buffer in ("0.5", "1")}
    told = ", ".join(f"{share:.2f} with {buffer} BDP" for buffer, share in found.items())
    return Check.of_number(published, min(found.values()), told)


def _shallow(evidence: Evidence, other: str, buffer: str) -> dict[str, float]:
    found = evidence.frame(SHALLOW).filter((pl.col(CONGESTION) == other) & (pl.col("buffer") == buffer))
    if found.is_empty():
        raise Uncovered(f"no run of BBR and {other} with {buffer} BDP")
    return found.row(0, named=True)


def _most_dropped(published: Published, evidence: Evidence) -> Check:
    buffers = ("0.1", "0.2", "0.5", "0.8", "1", "1.4")
    found = {buffer: 100 * _shallow(evidence, "bbr", buffer)["dropped"] for buffer in buffers}
    told = ", ".join(f"{percent:.1f} with {buffer} BDP" for buffer, percent in found.items())
    return Check.of_number(published, max(found.values()), told)


def _dropped_at_2(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, 100 * _shallow(evidence, "bbr", "2")["dropped"])


def _two_beside_two(buffer: str) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        return Check.of_number(published, _shallow(evidence, "cubic", buffer)["share"])

    return check


def _cycle(published: Published, evidence: Evidence) -> Check:
    run = int(_shallow(evidence, "cubic", "1.75")["run"])
    seconds = evidence.over_time(SHALLOW).filter((pl.col("run") == run) & within(*groups.WINDOWS[SHALLOW]))
    return Check.of_number(published, groups.cycle(seconds))


def _pair(evidence: Evidence, pair: str, rtt: str, buffer: str, aqm: str = "none") -> dict[str, float]:
    found = chosen(evidence.frame(LINUX), pair=pair, rtt=rtt, buffer=buffer, aqm=aqm)
    if found.is_empty():
        raise Uncovered(f"no run of {pair} with a ratio of round-trip times of {rtt} and {buffer} BDP")
    return found.row(0, named=True)


def _least_beside(published: Published, evidence: Evidence) -> Check:
    """The least share of one BBR flow beside one other, FIFO, equal round-trip times, up to 1 BDP."""
    shares = {}
    for pair in ("BBR, CUBIC", "CUBIC, BBR", "BBR, Reno", "Reno, BBR"):
        for buffer in ("0.25", "0.5", "1"):
            run = _pair(evidence, pair, "1", buffer)
            mine = run["near" if pair.startswith("BBR") else "far"]
            shares[f"{pair}, {buffer} BDP"] = mine / (run["near"] + run["far"])
    least = min(shares, key=lambda name: shares[name])
    return Check.of_number(published, shares[least], f"least of 12: {least}")


def _loss_ratio(published: Published, evidence: Evidence) -> Check:
    bbr, cubic = (_pair(evidence, pair, "1", "0.5")["dropped"] for pair in ("BBR, BBR", "CUBIC, CUBIC"))
    return Check.of_number(published, bbr / cubic, f"{100 * bbr:.2f} % and {100 * cubic:.2f} %")


def _standing(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, _pair(evidence, "BBR, BBR", "1", "8")["queue_bdp"])


def _longer(published: Published, evidence: Evidence) -> Check:
    """What the flow of the longer round-trip time has over the other of BBR: the least of three."""
    found = {rtt: 1 / _pair(evidence, "BBR, BBR", rtt, "8")["ratio"] for rtt in ("2", "4", "8")}
    told = ", ".join(f"{ratio:.1f} for {rtt}" for rtt, ratio in found.items())
    return Check.of_number(published, min(found.values()), told)


def _fair_queues(published: Published, evidence: Evidence) -> Check:
    found = chosen(evidence.frame(LINUX), rtt="1", aqm="fq-codel")
    if found["pair"].n_unique() < 9:
        raise Uncovered("needs all nine pairs with FQ-CoDel and equal round-trip times")
    pair, buffer, least = found.sort("jain").select("pair", "buffer", "jain").row(0)
    return Check.of_number(published, least, f"least of {len(found)}: {pair}, {buffer} BDP")


CHECKS: dict[str, Function] = {
    **{f"P-006-6.{n}.{x}": _modelled(n, x) for n in NUMBERS for x in CUBIC_BUFFERS},
    "P-006-7": _independent,
    "P-006-8": _error("CUBIC"),
    "P-006-9": _error("Reno"),
    "P-006-10": _beside_16,
    "P-006-11": _small,
    "P-006-12": _most_dropped,
    "P-006-13": _dropped_at_2,
    "P-006-14": _two_beside_two("0.5"),
    "P-006-15": _two_beside_two("5"),
    "P-006-16": _cycle,
    "P-006-17": _least_beside,
    "P-006-18": _loss_ratio,
    "P-006-19": _standing,
    "P-006-20": _longer,
    "P-006-21": _fair_queues,
}
