"""Section 6.2, second half: two addresses, and data sent to the one with the lowest RTO.

An open loop on runs of one address each: what each address measures comes from a run of its own. Samples and
timeouts of that run count while data go to the address; an idle address is measured by its heartbeats alone,
whose answers no delayed SACK holds back. What other data on the other path would change is not modelled.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import polars as pl
from matplotlib.figure import Figure
from rexmit import Results, Study
from rexmit.analyse.stats import t_quantile
from rexmit.plot import style

from .parts import markdown
from .rtts import Estimate, in_ticks, samples

HEARTBEAT_MS = 30_000
LOST = 1 - 0.95**2
"""The share of heartbeats that are lost, or their answers."""
STEP_MS = 256
"""How often a message is sent, and the address chosen."""
END_MS = 1_790_000
RTTS = {100: 104, 200: 208, 400: 408}
"""The RTT of each path as netem gives it, ms."""
PAIRS = ((200, 200), (100, 400), (400, 100))
"""RTTs of the primary address and the other."""
SHOWN_MS = range(300_000, 600_000)
LEAST = (1000, 200)
"""Least values of the RTO, ms: lksctp's and the thesis's."""


@dataclass(frozen=True)
class Event:
    """What an address learns while data go there: an RTT sample, or that its timer expired (None)."""

    at_ms: float
    rtt_ms: float | None


class Address:
    """One address: what a run of it measured, and its RTO."""

    def __init__(self, events: Sequence[Event], rtt_ms: float, least_ms: float, seed: int) -> None:
        self._events, self._next = events, 0
        self._rtt_ms, self._least_ms = rtt_ms, least_ms
        self._now: Estimate | None = None
        self._random = random.Random(seed)
        self._heartbeat_ms = float(HEARTBEAT_MS)
        self.rto_ms = 3000.0

    def until(self, now_ms: float, used: bool) -> None:
        """Takes what happened up to now, data going here or not."""
        while self._next < len(self._events) and self._events[self._next].at_ms <= now_ms:
            if used:
                self._take(self._events[self._next].rtt_ms)
            self._next += 1
        if used:
            self._heartbeat_ms = now_ms + HEARTBEAT_MS + self.rto_ms
        elif now_ms >= self._heartbeat_ms:
            self._take(None if self._random.random() < LOST else self._rtt_ms)
            self._heartbeat_ms = now_ms + HEARTBEAT_MS + self.rto_ms

    def _take(self, rtt_ms: float | None) -> None:
        if rtt_ms is None:
            self.rto_ms = min(2 * self.rto_ms, 60_000)
        else:
            self._now = in_ticks(self._now, rtt_ms)
            self.rto_ms = max(self._now[0] + 4 * self._now[1], self._least_ms)


@dataclass(frozen=True)
class Outcome:
    """One association: time-averages of half an hour."""

    fixed_ms: float
    """Mean RTO of the primary address if all data go there."""
    chosen_ms: float
    """Mean RTO of the address that is chosen."""
    on_other: float
    """The share of messages to the other address."""
    changes: float
    """Changes of address a minute."""


def study(least_ms: int) -> Study:
    """Thin streams at each RTT, ten of each, with this least RTO."""
    found = Study.load("pedersen-2006/thin").set("rtt", [f"{rtt} ms" for rtt in RTTS])
    if least_ms < max(LEAST):
        found = found.set("hosts.client.stack.thin.threshold", 5)
        found = found.set("hosts.client.stack.thin.min_rto", f"{least_ms} ms")
    return found


def events_of(results: Results) -> dict[int, list[list[Event]]]:
    """What each run's address learns, by RTT."""
    found: dict[int, list[list[Event]]] = {rtt: [] for rtt in RTTS}
    for run, label in results.table().select("run", "rtt").iter_rows():
        taken = samples(results, run).select(pl.col("time_ns", "rtt_ns") / 1e6).rows()
        sent = results.trace(run)["transmissions"]
        timers = sent.filter((pl.col("reason") == "timeout") & (pl.col("chunk") == 0))["time_ns"] / 1e6
        both = [Event(at, rtt) for at, rtt in taken] + [Event(at, None) for at in timers.to_list()]
        found[int(str(label).split()[0])].append(sorted(both, key=_time))
    return found


def _time(event: Event) -> float:
    return event.at_ms


def outcomes(found: dict[int, list[list[Event]]], pair: tuple[int, int], least_ms: int) -> list[Outcome]:
    """Each run of the primary's RTT beside the next run of the other's."""
    results = []
    for number, own in enumerate(found[pair[0]]):
        others = found[pair[1]]
        other = others[(number + 1) % len(others)]
        alone = [rto for rto, _ in _followed([own], pair, least_ms, number)]
        both = list(_followed([own, other], pair, least_ms, number))
        used = [at for _, at in both]
        changed = sum(a != b for a, b in pairwise(used))
        minutes = len(used) * STEP_MS / 60_000
        chosen = statistics.fmean(rto for rto, _ in both)
        results.append(Outcome(statistics.fmean(alone), chosen, statistics.fmean(used), changed / minutes))
    return results


def _followed(
    events: Sequence[Sequence[Event]], pair: tuple[int, int], least_ms: int, seed: int
) -> Iterator[tuple[float, int]]:
    """The RTO and the address of each message: the lowest RTO; where both are equal, the address stays."""
    addresses = [
        Address(own, RTTS[rtt], least_ms, 2 * seed + at)
        for at, (own, rtt) in enumerate(zip(events, pair, strict=False))
    ]
    used = 0
    for step in range(END_MS // STEP_MS):
        for at, address in enumerate(addresses):
            address.until(step * STEP_MS, at == used)
        used = min(range(len(addresses)), key=lambda at: (addresses[at].rto_ms, at != used))
        yield addresses[used].rto_ms, used


def table(found: dict[tuple[int, tuple[int, int]], list[Outcome]]) -> str:
    """Means over runs by least RTO and pair of paths."""
    rows = []
    for (least_ms, (first, second)), own in found.items():
        fixed, chosen = ([getattr(one, name) for one in own] for name in ("fixed_ms", "chosen_ms"))
        other, changes = ([getattr(one, name) for one in own] for name in ("on_other", "changes"))
        shown = [f"{statistics.fmean(fixed):.0f}", f"{statistics.fmean(chosen):.0f}"]
        shown += [f"{100 * statistics.fmean(other):.0f}", f"{statistics.fmean(changes):.1f}"]
        gained = [one.fixed_ms - one.chosen_ms for one in own]
        half = t_quantile(0.975, len(own) - 1) * statistics.stdev(gained) / len(own) ** 0.5
        shown.insert(2, f"{statistics.fmean(gained):.0f} ± {half:.0f}")
        rows.append([f"{least_ms} ms", f"{first} and {second} ms", *shown])
    head = ["least RTO", "RTT of the primary and the other", "mean RTO of the primary, ms"]
    return markdown(
        [*head, "lowest RTO, ms", "gained, ms", "messages to the other, %", "changes a minute"], rows
    )


def draw(found: dict[int, dict[int, list[list[Event]]]], out: Path) -> list[Path]:
    """Which address is used and both least RTOs over five minutes, two paths of RTT 200 ms."""
    pair = (200, 200)
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(9, 4.4), layout="constrained")
        axes = sheet.subplots(len(LEAST), 1, sharex=True)
        colours = style.family(style.LIGHT, 3)
        for plot, least_ms in zip(axes, LEAST, strict=True):
            runs_of = found[least_ms][200]
            both = list(_followed([runs_of[0], runs_of[1]], pair, least_ms, 0))
            shown = [
                (n * STEP_MS / 1000, *one) for n, one in enumerate(both) if 300_000 <= n * STEP_MS < 600_000
            ]
            plot.step([at for at, *_ in shown], [rto for _, rto, _ in shown], color=colours[0], linewidth=0.8)
            for used, label in enumerate(("to the primary address", "to the other")):
                some = [(at, rto) for at, rto, on in shown if on == used]
                plot.plot(
                    [at for at, _ in some],
                    [rto for _, rto in some],
                    color=colours[1 + used],
                    marker=style.MARKERS[used],
                    markersize=2.5,
                    linestyle="none",
                    label=label,
                )
            plot.set_title(f"Least RTO {least_ms} ms", loc="left")
            plot.set_ylabel("RTO chosen (ms)")
        axes[-1].set_xlabel("Time (s)")
        sheet.suptitle("Data to the address with the lowest RTO: two paths of RTT 200 ms", fontweight="bold")
        style.legend_below(sheet, axes[0].get_legend_handles_labels()[0])
        return style.save(sheet, out, ["png"])
