"""Generators of traces: small models of links that change, each with the source of its numbers.

The same seed and duration give the same lines: all that is random is `random.Random.random`, whose numbers
are the same in every release of Python. `docs/guide/traces.md` says what none of them models.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from random import Random

MS = 1_000_000
Maker = Callable[[int, int], Iterator[str]]
"""Takes a duration in ns and a seed, and gives lines with their ends."""


def leo_handover(duration: int, seed: int) -> Iterator[str]:
    """A link through a low-orbit satellite that is another one every 15 s."""
    random = Random(seed)
    yield f"# rexmit trace make leo-handover, seed {seed}\n"
    yield "time (ms),rate (Mbit/s),delay (ms),loss (%)\n"
    last = duration // MS
    # The first of the handovers, which are at the same moments for everybody, is at any time.
    handover = 1 + int(random.random() * SLOT_MS)
    rate, delay = _satellite(random)
    yield f"0,{rate},{delay:.1f},0\n"
    while handover < last:
        rate, delay = _satellite(random)
        spike = _between(random, *SPIKE_MS)
        loss = _between(random, *HANDOVER_LOSS)
        yield f"{handover},{rate},{delay + spike:.1f},{loss:.1f}\n"
        if handover + HANDOVER_MS < last:
            yield f"{handover + HANDOVER_MS},{rate},{delay:.1f},0\n"
        handover += SLOT_MS
    yield f"{last},{rate},{delay:.1f},0\n"


SLOT_MS = 15_000
"""A terminal gets another satellite after 15 s [Huston, A transport protocol's view of Starlink, 2024]."""
RATE_MBIT_S = (100, 250)
"""Downlink of a satellite: ours, within the 10 to 370 Mbit/s of users [Huston 2024]."""
DELAY_MS = (20.0, 30.0)
"""One way: half of the quartiles of the round trip, 40 and 60 ms [APNIC blog, 28 Nov 2022]."""
SPIKE_MS = (15.0, 25.0)
"""Added at a handover: half of 30 to 50 ms of the round trip [Huston 2024]."""
HANDOVER_LOSS = (0.0, 50.0)
"""Per cent lost at a handover: up to 50 [Kassem et al., A browser-side view of Starlink, IMC 2022]."""
HANDOVER_MS = 200
"""How long a handover is felt: ours, since the sources tell of a moment only."""


def _satellite(random: Random) -> tuple[int, float]:
    return round(_between(random, *RATE_MBIT_S)), _between(random, *DELAY_MS)


def cellular(duration: int, seed: int) -> Iterator[str]:
    """A cellular downlink: a Poisson process of packets whose rate is in Brownian motion, with outages."""
    random = Random(seed)
    last = duration // MS
    rate = MOST_PACKETS / 2
    step = BROWNIAN * math.sqrt(TICK_MS / 1000)
    for ms in range(1, last):
        if ms % TICK_MS == 0:
            rate = _moved(random, rate, step)
        for _ in range(_poisson(random, rate / 1000)):
            yield f"{ms}\n"
    # The last line is the length of the trace.
    yield f"{last}\n"


# The model of a link of Winstein, Sivaraman and Balakrishnan, Stochastic forecasts achieve high throughput
# and low delay over cellular networks (Sprout), NSDI 2013; its constants as in keithw/sprout, receiver.hh.
BROWNIAN = 200.0
"""Packets per second per square root of a second."""
OUTAGE_ENDS = 1.0
"""Per second: an outage lasts 1 s in the mean."""
MOST_PACKETS = 1000.0
"""Packets per second, 11 Mbit/s or so."""
TICK_MS = 20
"""Time between two steps."""


def _moved(random: Random, rate: float, step: float) -> float:
    if rate == 0.0 and random.random() >= OUTAGE_ENDS * TICK_MS / 1000:
        return 0.0
    # Twelve uniform numbers: a normal one of variance 1, but for its tails.
    normal = sum(random.random() for _ in range(12)) - 6.0
    moved = abs(normal) * step if rate == 0.0 else rate + normal * step
    if moved > MOST_PACKETS:
        return 2 * MOST_PACKETS - moved
    return max(moved, 0.0)


def _poisson(random: Random, mean: float) -> int:
    if mean == 0.0:
        return 0
    draw, count = random.random(), 0
    part = math.exp(-mean)
    while draw >= part and count < 20:
        draw -= part
        count += 1
        part *= mean / count
    return count


def wifi(duration: int, seed: int) -> Iterator[str]:
    """A wireless LAN that adapts its rate, and shares the air with a slow station now and then."""
    random = Random(seed)
    yield f"# rexmit trace make wifi, seed {seed}\n"
    yield "time (ms),rate (kbit/s)\n"
    last = duration // MS
    index, shared, before = len(MCS_KBIT_S) - 2, False, 0
    for ms in range(0, last, INTERVAL_MS):
        draw = random.random()
        index += (draw < MOVES) - (MOVES <= draw < 2 * MOVES)
        index = min(max(index, 0), len(MCS_KBIT_S) - 1)
        changes = INTERVAL_MS / (SHARED_MS if shared else ALONE_MS)
        shared ^= random.random() < changes
        rate = MCS_KBIT_S[index]
        if shared:
            # Equal turns, whatever their length: the slow station's take most of the time.
            rate = rate * SLOW_KBIT_S // (rate + SLOW_KBIT_S)
        rate = rate * USED // 100
        if rate != before:
            yield f"{ms},{rate}\n"
        before = rate
    yield f"{last},{before}\n"


MCS_KBIT_S = (6_500, 13_000, 19_500, 26_000, 39_000, 52_000, 58_500, 65_000)
"""MCS 0 to 7: one stream, 20 MHz, guard interval 800 ns [IEEE 802.11-2012, table 20-30]."""
INTERVAL_MS = 50
"""Time between two choices of a rate [Linux net/mac80211/rc80211_minstrel_ht.c: HZ / 20]."""
SLOW_KBIT_S = 1_000
"""The other station's rate: that of 802.11's first rate, so that all have little [Heusse et al., Performance
anomaly of 802.11b, INFOCOM 2003: stations get equal turns, and the slowest decides]."""
MOVES = 0.15
"""Chance of the next higher and of the next lower rate: ours."""
USED = 65
"""Per cent of the rate that is left for IP packets, with aggregation: ours."""
ALONE_MS, SHARED_MS = 8_000, 2_000
"""How long the slow station is silent and how long it sends, in the mean: ours."""


def _between(random: Random, least: float, most: float) -> float:
    return least + (most - least) * random.random()


MAKERS: dict[str, Maker] = {"leo-handover": leo_handover, "cellular": cellular, "wifi": wifi}
"""Generators by the names of their links."""
