"""Section 6.2, first half: the Eifel retransmission timer on the RTT samples of thin streams.

An open loop: the samples are those that lksctp took with its least RTO of 1 s in force, and each estimator is
given the same. A chunk that is timed would have been sent again needlessly if its SACK came later after it
than the RTO that the samples before it give, the timer being restarted less the chunk's age (4.3.3).

Formulas of Ludwig and Sklower, The Eifel Retransmission Timer, CCR 30(3), 2000: a gain of 1/3; RTTVAR takes
the gain where it rises and its square where it falls, and stays where the RTT falls; RTO = SRTT + 3 RTTVAR,
at least the last sample and two ticks.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from rexmit import Results
from rexmit.plot import style

from .parts import markdown
from .rtts import TICK_MS, Estimate, Update, estimates, in_ticks, samples

GAIN = 1 / 3
SETTLED = 40
"""Samples of a run that are left out: the first begin with half an RTT of variance."""
DELAYS = {"200 ms": "SACKs delayed by up to 200 ms", "0 ns": "SACKs at once"}
AT_LEAST_1_S = 1000
MULTIPLES = tuple(step / 4 for step in range(2, 33))


def eifel(now: Estimate | None, rtt: float) -> Estimate:
    """The estimate of the Eifel timer after one more sample, ms."""
    if now is None:
        return rtt, rtt / 2
    srtt, rttvar = now
    delta = rtt - srtt
    if delta >= 0:
        rttvar += (GAIN if delta >= rttvar else GAIN**2) * (delta - rttvar)
    return srtt + GAIN * delta, rttvar


def eifel_in_ticks(now: Estimate | None, rtt: float) -> Estimate:
    """The same on whole ticks, each term rounded down, ms."""
    sample = int(rtt) // TICK_MS
    if now is None:
        return float(sample * TICK_MS), float(sample // 2 * TICK_MS)
    srtt, rttvar = (int(value) // TICK_MS for value in now)
    delta = sample - srtt
    if delta >= 0:
        rttvar += (delta - rttvar) // (3 if delta >= rttvar else 9)
    return float((srtt + delta // 3) * TICK_MS), float(max(rttvar, 1) * TICK_MS)


def smaller(now: Estimate | None, rtt: float) -> Estimate:
    """Gains of 1/16 and 1/8, half of lksctp's, as section 4.3.2 considers, ms."""
    if now is None:
        return rtt, rtt / 2
    srtt, rttvar = now
    return srtt + (rtt - srtt) / 16, rttvar + (abs(rtt - srtt) - rttvar) / 8


@dataclass(frozen=True)
class Timer:
    """A way to calculate the RTO."""

    update: Update
    multiple: float
    """What RTTVAR is multiplied with."""
    least_ms: float = 0
    least_over_sample_ms: float | None = None
    """How much above the last sample the RTO is at least; None: it need not be."""

    def rto(self, estimate: Estimate, rtt: float, multiple: float | None = None) -> float:
        """The RTO in force after this sample, ms."""
        found = estimate[0] + (self.multiple if multiple is None else multiple) * estimate[1]
        if self.least_over_sample_ms is not None:
            found = max(found, rtt + self.least_over_sample_ms)
        return max(found, self.least_ms)


LKSCTP = Timer(in_ticks, 4, least_ms=200)
TIMERS: Mapping[str, Timer] = {
    "lksctp, at least 1 s": Timer(in_ticks, 4, least_ms=AT_LEAST_1_S),
    "lksctp, at least 200 ms": LKSCTP,
    "half the gains, at least 200 ms": Timer(smaller, 4, least_ms=200),
    "Eifel timer, whole ticks": Timer(eifel_in_ticks, 3, least_over_sample_ms=2 * TICK_MS),
    "Eifel timer, exact": Timer(eifel, 3, least_over_sample_ms=2 * TICK_MS),
}


def by_delay(results: Results) -> dict[str, list[list[float]]]:
    """The samples of each run of `rto`, ms, by the delay of SACKs."""
    runs = results.table().select("hosts.server.stack.sack.delay", "run")
    found: dict[str, list[list[float]]] = {delay: [] for delay in DELAYS}
    for delay, run in runs.iter_rows():
        found[delay].append((samples(results, run)["rtt_ns"] / 1e6).to_list())
    return found


def outcome(timer: Timer, runs: Sequence[Sequence[float]], multiple: float | None = None) -> pl.DataFrame:
    """Of each timed chunk the RTO in force and whether its SACK came later: `rto`, `late`."""
    rows = []
    for rtts in runs:
        known = zip(estimates(timer.update, list(rtts)), rtts, strict=True)
        rtos = [timer.rto(estimate, rtt, multiple) for estimate, rtt in known]
        later = list(zip(rtos[:-1], rtts[1:], strict=True))[SETTLED:]
        rows += [(rto, after > rto) for rto, after in later]
    return pl.DataFrame(rows, schema=["rto", "late"], orient="row")


def table(found: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """Mean and greatest RTO, and how many chunks would be sent again needlessly, by SACK delay and timer."""
    rows = []
    for delay, runs in found.items():
        curve = [_point(LKSCTP, runs, multiple) for multiple in MULTIPLES]
        for name, timer in TIMERS.items():
            chunks = outcome(timer, runs)
            rto = chunks["rto"].to_list()
            most = statistics.quantiles(rto, n=100)[98]
            shown = [f"{value:.0f}" for value in (statistics.fmean(rto), statistics.median(rto), most)]
            needless = f"{100 * sum(chunks['late']) / len(chunks):.2f}"
            rows.append([DELAYS[delay], name, *shown, needless, _at(curve, statistics.fmean(rto))])
    head = ["", "timer", "mean RTO, ms", "median", "99 % below", "sent again needlessly, %"]
    head.append("lksctp's estimate at this mean RTO, %")
    return markdown(head, rows)


def _at(curve: Sequence[tuple[float, float]], mean_ms: float) -> str:
    """A curve's needless retransmissions at a mean RTO, in a straight line between its points."""
    for (low, first), (high, second) in pairwise(curve):
        if low <= mean_ms <= high:
            return f"{first + (second - first) * (mean_ms - low) / (high - low):.2f}"
    return "-"


def draw(found: Mapping[str, Sequence[Sequence[float]]], out: Path) -> list[Path]:
    """Needless retransmissions against the mean RTO, each timer with other multiples of RTTVAR."""
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(9, 4.2), layout="constrained")
        axes = sheet.subplots(1, len(found), sharex=True, sharey=True)
        colours = style.family(style.LIGHT, len(TIMERS))
        for plot, (delay, runs) in zip(axes, found.items(), strict=True):
            for at, (name, timer) in enumerate(TIMERS.items()):
                colour, marker = colours[at], style.MARKERS[at]
                if timer.least_ms < AT_LEAST_1_S:
                    points = [_point(timer, runs, multiple) for multiple in MULTIPLES]
                    plot.plot(*zip(*points, strict=True), color=colour, linewidth=1)
                plot.plot(*_point(timer, runs), color=colour, marker=marker, linestyle="none", label=name)
            plot.set_title(DELAYS[delay], loc="left")
            plot.set_xlabel("Mean RTO (ms)")
        axes[0].set_ylabel("Sent again needlessly (% of timed chunks)")
        axes[0].set_ylim(0, 10)
        axes[0].set_xlim(200, 1300)
        sheet.suptitle("The Eifel timer on a thin stream, RTT 200 ms, 5 % loss each way", fontweight="bold")
        style.legend_below(sheet, axes[0].get_legend_handles_labels()[0])
        return style.save(sheet, out, ["png"])


def _point(
    timer: Timer, runs: Sequence[Sequence[float]], multiple: float | None = None
) -> tuple[float, float]:
    chunks = outcome(timer, runs, multiple)
    return statistics.fmean(chunks["rto"].to_list()), 100 * sum(chunks["late"]) / len(chunks)
