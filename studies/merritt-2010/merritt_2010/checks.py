"""The check of each published row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
from rexmit.analyse import OUTSIDE, RECORDED, Check, Published
from rexmit.models import drain_time

from .links import Evidence, Link, Uncovered

Function = Callable[[Published, Evidence], Check]
HARDLY = 0.1
"""What 'hardly changed' is taken for."""
TREND = 0.8
"""The rank correlation from which on a measure is said to follow the buffer."""
FALL = 0.1
"""The least decrease that the introduction speaks of."""


def _rtt(published: Published, evidence: Evidence) -> Check:
    link = _link(published, evidence)
    goodput = link.runs["alone_goodput"].mean()
    note = f"goodput alone {goodput / 1e3:.0f} kbit/s"  # type: ignore[operator]
    return Check.of_number(published, float(link.runs["alone_rtt_ms"].mean()), note)  # type: ignore[arg-type]


def _estimate(published: Published, evidence: Evidence) -> Check:
    link = _link(published, evidence).whole()
    bounds = ", ".join(
        f"{bound:.1f} at {buffer}" for buffer, bound in zip(link.buffers, link.means("bound"), strict=True)
    )
    found, none = link.estimate(), published.deviation == "none"
    note = f"(6.6) gives {bounds}"
    if found is None:
        return Check(published, RECORDED if none else OUTSIDE, "below 5, or none", note=note)
    plain = replace(published, deviation="", deviation_reason="") if none else published
    return replace(Check.of_number(plain, found, note), published=published)


def _performance(published: Published, evidence: Evidence) -> Check:
    """The download's goodput over its rate while both run, the reading of A-001-1; the others beside it."""
    link, buffer = _link(published, evidence), int(published.place["buffer"])
    low, high = link.range("down_share", buffer)
    note = f"single runs {low:.2f} to {high:.2f}; by the scripts {link.at('down_script', buffer):.2f}"
    note += f"; upload {link.at('up_share', buffer):.2f}"
    note += f", equation 1.2 {link.at('performance', buffer):.2f}"
    if buffer not in link.buffers:
        note += "; straight between the buffers that were run"
    return Check.of_number(published, link.at("down_share", buffer), note)


def _as_high_as(published: Published, evidence: Evidence) -> Check:
    found = []
    for link in evidence.links():
        estimate = link.estimate() or link.buffers[0]
        found += [
            (share, link.name, buffer)
            for buffer, share in zip(link.buffers, link.means("down_share"), strict=True)
            if buffer <= estimate
        ]
    best, name, buffer = max(found)
    return Check.of_number(published, best, f"at {name}, {buffer} packets")


def _halved(published: Published, evidence: Evidence) -> Check:
    falls, both = _falls(_link(published, evidence), int(published.place["buffer"]))
    note = f"to {both / 1e3:.0f} kbit/s; single runs {min(falls):.0f} to {max(falls):.0f}"
    return Check.of_number(published, sum(falls) / len(falls), note)


def _hardly(published: Published, evidence: Evidence) -> Check:
    falls, _ = _falls(_link(published, evidence), int(published.place["buffer"]))
    fall = sum(falls) / len(falls)
    return Check.of_statement(published, fall < 100 * HARDLY, f"falls by {fall:.1f} percent")


def _phase(expected: int) -> Function:
    """Which way the windows move together, by what section 5.1.1 says that phase is."""

    def check(published: Published, evidence: Evidence) -> Check:
        link, buffer = _link(published, evidence), int(published.place["buffer"])
        same, together = (link.at(name, buffer) for name in ("same_direction", "correlation"))
        ours = f"same less opposite {same:+.2f}"
        found = Check.of_statement(published, same * expected > 0, ours, f"correlation {together:+.2f}")
        return _recorded(found)

    return check


def _falls_with_buffer(published: Published, evidence: Evidence) -> Check:
    trends = {link.name: _trend(link, "down_share") for link in evidence.links()}
    other = {link.name: _trend(link, "performance") for link in evidence.links()}
    note = f"of the download; by equation 1.2 {_listed(other)}"
    return _recorded(Check.of_statement(published, max(trends.values()) <= -TREND, _listed(trends), note))


def _deviation_grows(published: Published, evidence: Evidence) -> Check:
    links = evidence.links()
    trends = {link.name: _trend(link, "down_rtt_sd_ms") for link in links}
    last = [link.at("down_rtt_sd_ms", 50) - link.at("down_rtt_sd_ms", 5) for link in links]
    holds = min(trends.values()) >= TREND and last == sorted(last)
    grown = ", ".join(f"{link.name} {more:.0f} ms" for link, more in zip(links, last, strict=True))
    return _recorded(Check.of_statement(published, holds, _listed(trends), f"from 5 to 50 packets: {grown}"))


def _any_larger(published: Published, evidence: Evidence) -> Check:
    counts, falls = [], []
    for link, estimate in zip(evidence.links(), (25, 17, 30), strict=True):
        at = link.at("down_share", estimate)
        larger = [1 - link.at("down_share", buffer) / at for buffer in link.buffers if buffer > estimate]
        counts.append(f"{link.name} {sum(fall >= FALL for fall in larger)} of {len(larger)}")
        falls += larger
    note = f"falls from {100 * min(falls):.0f} to {100 * max(falls):.0f} percent"
    note += ", from the published estimates"
    return _recorded(Check.of_statement(published, min(falls) >= FALL, ", ".join(counts), note))


def drain(published: Published, evidence: Evidence) -> Check:
    """A row of table 5.1, which is a calculation."""
    buffer, rate = int(published.place["buffer"]), int(published.place["up_kbit_s"]) * 1000
    return Check.of_number(published, float(drain_time(buffer, rate)), "a calculation: no run is needed")


def _link(published: Published, evidence: Evidence) -> Link:
    return evidence.link(published.place["down_kbit_s"], published.place["up_kbit_s"])


def _falls(link: Link, buffer: int) -> tuple[list[float], float]:
    """By how many percent the upload lowers the download, run by run, and to what goodput on average."""
    runs = link.runs.filter(link.runs["buffer"] == buffer)
    if runs.is_empty():
        raise Uncovered(f"these results have no run on {link.name} with {buffer} packets")
    pairs = runs.select("alone_goodput", "down_goodput").rows()
    return [100 * (1 - both / alone) for alone, both in pairs], float(runs["down_goodput"].mean())  # type: ignore[arg-type]


def _trend(link: Link, measure: str) -> float:
    """The rank correlation of a measure with the buffer."""
    frame = pl.DataFrame({"buffer": link.buffers, "measure": link.means(measure)})
    return float(frame.select(pl.corr("buffer", "measure", method="spearman")).item())


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:+.2f}" for name, value in values.items())


def _recorded(check: Check) -> Check:
    """A statement that does not hold, as recorded: what ours shows begins as the record says."""
    known = check.published.deviation
    if check.verdict == OUTSIDE and known and check.ours.startswith(known):
        return replace(check, verdict=RECORDED)
    return check


def _rows(ids: Sequence[str], function: Function) -> dict[str, Function]:
    return dict.fromkeys(ids, function)


CHECKS: dict[str, Function] = {
    **_rows(("P-001-1", "P-001-2", "P-001-3"), _rtt),
    **_rows(("P-001-4a", "P-001-5a", "P-001-6a"), _estimate),
    **_rows(("P-001-4b", "P-001-5b", "P-001-6b", "P-001-7", "P-001-8"), _performance),
    "P-001-9": _as_high_as,
    "P-001-10": _halved,
    "P-001-11": _hardly,
    "P-001-12": _phase(-1),
    "P-001-13": _phase(1),
    "P-001-14": _falls_with_buffer,
    "P-001-15": _deviation_grows,
    "P-001-16": _any_larger,
}
