"""The check of each published row: tables, chapters 1 and 6. Chapter 5 has its own in `dynamics`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

from rexmit.analyse import Check, Published, Uncovered, load_published
from rexmit.analyse.compare import OUTSIDE
from rexmit.models import drain_time

from .links import BUFFERS, LINKS, Evidence, Link
from .scripts import COMPARED

Function = Callable[[Published, Evidence], Check]
PUBLISHED = Path(__file__).parent.parent / "published.csv"
TREND = 0.8
"""The rank correlation from which on a measure is said to follow the buffer. Ours."""
FALL = 0.1
"""The least decrease that the introduction speaks of."""
TICK = 0.004
"""Tc of table 4.3, s."""


@cache
def printed_estimates() -> dict[str, int]:
    """The buffers that table 6.2 prints, by link."""
    return {
        f"{row.place['down_kbit_s']}/{row.place['up_kbit_s']}": int(row.value)
        for row in load_published(PUBLISHED)
        if row.quantity.startswith("estimated buffer")
    }


def link_of(published: Published, evidence: Evidence) -> Link:
    """The link of a row."""
    return evidence.link(published.place["down_kbit_s"], published.place["up_kbit_s"])


def counted(published: Published, holds: Iterable[bool], note: str = "") -> Check:
    """A statement of several comparisons, all of which must hold; their number is the measure."""
    found = list(holds)
    ours = f"{sum(found)} of {len(found)}"
    return Check.of_statement(published, all(found), ours, note, measure=sum(found))


def listed(values: dict[str, float], form: str = "+.2f") -> str:
    """Links and their values."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def _rtt(published: Published, evidence: Evidence) -> Check:
    """Mean of the log's RTT up to the upload, one buffer's run as good as another's (section 6.3): all."""
    link = link_of(published, evidence)
    values = [float(value) for value in link.runs["alone_rtt_log"]]
    note = f"from 10 s on {float(link.runs['alone_rtt_ms'].mean()):.1f}"  # type: ignore[arg-type]
    return _number(published, sum(values) / len(values), note, values)


def _number(published: Published, ours: float, note: str, values: list[float]) -> Check:
    found = Check.of_number(published, ours, note)
    return Check(found.published, found.verdict, found.ours, found.difference, found.note, values)


def _rtt_order(published: Published, evidence: Evidence) -> Check:
    first, middle, last = (float(evidence.link(*rates).runs["alone_rtt_log"].mean()) for rates in LINKS)  # type: ignore[arg-type]
    ours = f"{first:.1f} < {last:.1f} < {middle:.1f} ms"
    gap = min(last - first, middle - last)
    return Check.of_statement(published, gap > 0, ours, measure=gap)


def _rtt_alike(published: Published, evidence: Evidence) -> Check:
    """One buffer's measurement serves its link: the RTT alone does not depend on the uplink's buffer."""
    spread = max(
        max(link.means("alone_rtt_log")) - min(link.means("alone_rtt_log")) for link in evidence.links()
    )
    return Check.of_statement(published, spread < 5, f"{spread:.2f} ms apart at most", measure=spread)


def _estimate(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence).whole()
    found, late = link.estimate(), link.estimate("bound_both")
    bounds = ", ".join(f"{bound:.1f}" for bound in link.means("bound_log"))
    after = "none" if late is None else f"{late:.1f}"
    note = f"(6.6) at 5, 10, ... 50: {bounds}; with the largest windows from the upload's start on: {after}"
    if found is None:
        return Check(published, OUTSIDE, "below 5, or none", note=note)
    return Check.of_number(published, found, note)


def _estimate_order(published: Published, evidence: Evidence) -> Check:
    found = [link.estimate() or 0 for link in evidence.links()]
    gap = min(found[0] - found[1], found[2] - found[0])
    return Check.of_statement(published, gap > 0, listed(_by_link(found), ".1f"), measure=gap)


def _by_link(values: Iterable[float]) -> dict[str, float]:
    return {f"{down}/{up}": value for (down, up), value in zip(LINKS, values, strict=True)}


def _configured(published: Published, evidence: Evidence) -> Check:
    """Figure 6.2, read at the buffers that were run: the estimate above the buffer up to 17 packets only."""
    link = link_of(published, evidence).whole()
    pairs = zip(link.buffers, link.means("bound_log"), strict=True)
    return counted(published, ((bound > buffer) == (buffer <= 17) for buffer, bound in pairs))


def _spread(published: Published, evidence: Evidence) -> Check:
    """Step 2 of the procedure: the buffer may be any while the windows are measured."""
    spreads = {}
    for link in evidence.links():
        bounds = link.means("bound_log")
        spreads[link.name] = max(bounds) - min(bounds)
    worst = max(spreads.values())
    return Check.of_statement(published, worst < 5, listed(spreads, ".0f"), measure=worst)


def _performance(published: Published, evidence: Evidence) -> Check:
    """Equation 1.2 of the throughputs that the scripts compute; at 17 packets, never run, of 15."""
    link = link_of(published, evidence)
    wanted = int(published.place["buffer"])
    buffer = link.near(wanted)
    if abs(buffer - wanted) > 2:
        raise Uncovered(f"these results have no run on {link.name} near {wanted} packets")
    values = link.single(COMPARED, buffer)
    note = f"single runs {min(values):.2f} to {max(values):.2f}"
    note += f"; by true goodput {link.at('performance_true', buffer):.2f}"
    note += f"; the download alone {link.at('down_true', buffer):.2f}"
    if buffer != wanted:
        note += f"; at {buffer} packets, the nearest that was run"
    return _number(published, sum(values) / len(values), note, values)


def _as_high_as(published: Published, evidence: Evidence) -> Check:
    found = [
        (value, f"{link.name}, {buffer} packets")
        for link in evidence.links()
        for buffer, value in zip(link.buffers, link.means(COMPARED), strict=True)
        if buffer < printed_estimates()[link.name]
    ]
    best, where = max(found)
    return Check.of_number(published, best, f"at {where}")


def _as_low_as(published: Published, evidence: Evidence) -> Check:
    found = [
        (value, f"{link.name}, {buffer} packets")
        for link in evidence.links()
        for buffer, value in zip(link.buffers, link.means(COMPARED), strict=True)
    ]
    least, where = min(found)
    return Check.of_number(published, 100 * least, f"at {where}")


def _at_estimates(evidence: Evidence) -> dict[str, float]:
    return {
        link.name: link.at(COMPARED, link.near(printed_estimates()[link.name])) for link in evidence.links()
    }


def _at_least(published: Published, evidence: Evidence) -> Check:
    found = _at_estimates(evidence)
    return Check.of_number(published, min(found.values()), listed(found, ".2f"))


def _performance_order(published: Published, evidence: Evidence) -> Check:
    found = _at_estimates(evidence)
    steep, middle, flat = found["3000/1000"], found["2400/196"], found["3000/100"]
    gap = min(middle - steep, steep - flat)
    return Check.of_statement(published, gap > 0, listed(found, ".2f"), measure=gap)


def _worst(published: Published, evidence: Evidence) -> Check:
    """What is left of the performance at the estimate at 50 packets, on 3000/100."""
    link = evidence.link(3000, 100)
    return Check.of_number(published, link.at(COMPARED, 50) / link.at(COMPARED, 30))


def _falls(link: Link, buffer: int) -> list[float]:
    """By how many percent the upload lowers the download, run by run."""
    both, alone = link.single("goodput_down", buffer), link.single("alone_goodput", buffer)
    return [100 * (1 - late / early) for late, early in zip(both, alone, strict=True)]


def _halved(published: Published, evidence: Evidence) -> Check:
    falls = _falls(link_of(published, evidence), 50)
    note = f"single runs {min(falls):.0f} to {max(falls):.0f}"
    return _number(published, sum(falls) / len(falls), note, falls)


def _hardly(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence)
    pairs = list(zip(_falls(link, 15), _falls(link, 50), strict=True))
    most = max(small / large for small, large in pairs)
    falls = ", ".join(f"{small:.0f}" for small, _ in pairs)
    return Check.of_statement(
        published, most <= 0.2, f"{most:.2f} of it at most", f"falls by {falls} percent", measure=most
    )


def _varies_less(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence)
    pairs = zip(link.single("goodput_sd", 15), link.single("goodput_sd", 50), strict=True)
    most = max(small / large for small, large in pairs)
    return Check.of_statement(published, most < 1, f"{most:.2f} of it at most", measure=most)


def _falls_with_buffer(published: Published, evidence: Evidence) -> Check:
    trends = {link.name: link.trend(COMPARED) for link in evidence.links()}
    other = listed({link.name: link.trend("down_true") for link in evidence.links()})
    worst = max(trends.values())
    note = f"of the download alone {other}"
    return Check.of_statement(published, worst <= -TREND, listed(trends), note, measure=worst)


def _larger(link: Link) -> list[float]:
    """By how much performance falls from the printed estimate to each larger buffer that was run."""
    estimate = printed_estimates()[link.name]
    at = link.at(COMPARED, link.near(estimate))
    return [1 - link.at(COMPARED, buffer) / at for buffer in link.buffers if buffer > estimate]


def _any_larger(least: float) -> Function:
    """A fall by at least so much at each buffer larger than the printed estimate."""

    def check(published: Published, evidence: Evidence) -> Check:
        falls = {link.name: _larger(link) for link in evidence.links()}
        held = {
            name: f"{sum(fall >= least for fall in found)} of {len(found)}" for name, found in falls.items()
        }
        together = [fall for found in falls.values() for fall in found]
        note = ", ".join(f"{name} {text}" for name, text in held.items())
        note += f"; falls from {100 * min(together):.0f} to {100 * max(together):.0f} percent"
        return counted(published, (fall >= least for fall in together), note)

    return check


def _up_to(published: Published, evidence: Evidence) -> Check:
    falls = [fall for link in evidence.links() for fall in _larger(link)]
    return Check.of_number(published, 100 * max(falls))


def _continuous(published: Published, evidence: Evidence) -> Check:
    """From 15 packets, the nearest to 17, each larger buffer has less than the one before."""
    link = link_of(published, evidence).whole()
    values = [link.at(COMPARED, buffer) for buffer in BUFFERS if buffer >= 15]
    shown = ", ".join(f"{value:.2f}" for value in values)
    return counted(published, (after < before for before, after in pairwise(values)), shown)


def _broken(published: Published, evidence: Evidence) -> Check:
    """Performance stays up to the estimate and falls fast above it: a steeper slope above than below."""
    held, shown = [], {}
    for link in evidence.links():
        estimate, values = printed_estimates()[link.name], link.means(COMPARED)
        below = [(b, v) for b, v in zip(link.buffers, values, strict=True) if b <= estimate]
        above = [(b, v) for b, v in zip(link.buffers, values, strict=True) if b >= below[-1][0]]
        slopes = _slope(below), _slope(above)
        held.append(slopes[1] < slopes[0] and slopes[1] < 0)
        shown[link.name] = f"{100 * slopes[0]:+.1f} and {100 * slopes[1]:+.1f}"
    note = "points a packet, below and above: " + ", ".join(f"{k} {v}" for k, v in shown.items())
    return counted(published, held, note)


def _slope(points: list[tuple[int, float]]) -> float:
    """Of the straight line that fits best."""
    at, value = (sum(column) / len(points) for column in zip(*points, strict=True))
    return float(sum((x - at) * (y - value) for x, y in points) / sum((x - at) ** 2 for x, _ in points))


def _best(published: Published, evidence: Evidence) -> Check:
    """Proper sizing optimises both directions: the best buffer by (1.2) is at or below the estimate."""
    best = {}
    for link in evidence.links():
        best[link.name] = max(link.buffers, key=lambda buffer: link.at(COMPARED, buffer))
    held = (buffer <= printed_estimates()[name] for name, buffer in best.items())
    return counted(
        published, held, "best at " + ", ".join(f"{name} {buffer}" for name, buffer in best.items())
    )


def _strategy(published: Published, evidence: Evidence) -> Check:
    """At the estimate the download has more and its RTT varies less than at 50 packets."""
    held = []
    for link in evidence.links():
        near = link.near(printed_estimates()[link.name])
        held.append(link.at("goodput_down", near) > link.at("goodput_down", 50))
        held.append(link.at("rtt_sd_log", near) < link.at("rtt_sd_log", 50))
    return counted(published, held)


def _variability_below(published: Published, evidence: Evidence) -> Check:
    """Below the estimate the RTT varies less than at any larger buffer."""
    held = []
    for link in evidence.links():
        estimate = printed_estimates()[link.name]
        pairs = list(zip(link.buffers, link.means("rtt_sd_log"), strict=True))
        below = [value for buffer, value in pairs if buffer < estimate]
        held.append(max(below) < min(value for buffer, value in pairs if buffer > estimate))
    return counted(published, held)


def _drain(published: Published, evidence: Evidence) -> Check:
    """A row of table 5.1, which is a calculation."""
    buffer, rate = int(published.place["buffer"]), int(published.place["up_kbit_s"]) * 1000
    return Check.of_number(published, float(drain_time(buffer, rate)))


def _burst(published: Published, evidence: Evidence) -> Check:
    """A row of table 4.3: the shaper's burst is its rate times its interval (4.3)."""
    direction = "down_kbit_s" if published.quantity.startswith("R1") else "up_kbit_s"
    return Check.of_number(published, int(published.place[direction]) * 1000 * TICK)


def _weights(published: Published, evidence: Evidence) -> Check:
    """What the upload weighs in net goodput: its rate's share of both."""
    weights = [up / (down + up) for down, up in LINKS]
    ours = listed(_by_link(weights), ".2f")
    falls = all(after < before for before, after in pairwise(weights))
    return Check.of_statement(published, falls and max(weights) < 0.5, ours, measure=max(weights))


TABLES: dict[str, Function] = {
    **dict.fromkeys(("P-001-1", "P-001-2", "P-001-3"), _rtt),
    **dict.fromkeys(("P-001-4a", "P-001-5a", "P-001-6a"), _estimate),
    **dict.fromkeys(("P-001-4b", "P-001-5b", "P-001-6b", "P-001-7", "P-001-8"), _performance),
    "P-001-9": _as_high_as,
    "P-001-10": _halved,
    "P-001-11": _hardly,
    "P-001-14": _falls_with_buffer,
    "P-001-16": _any_larger(FALL),
    "P-001-17": _rtt_order,
    "P-001-18": _estimate_order,
    "P-001-19": _configured,
    "P-001-20": _as_low_as,
    "P-001-21": _at_least,
    "P-001-22": _worst,
    "P-001-23": _varies_less,
    "P-001-39": _broken,
    "P-001-40": _any_larger(1e-9),
    "P-001-41": _up_to,
    "P-001-42": _continuous,
    "P-001-43": _performance_order,
    "P-001-44": _variability_below,
    "P-001-45": _best,
    "P-001-46": _strategy,
    "P-001-47": _spread,
    "P-001-53": _rtt_alike,
    "P-001-56": _weights,
    "T-001-4.3-*": _burst,
    "T-001-5.1-*": _drain,
}
