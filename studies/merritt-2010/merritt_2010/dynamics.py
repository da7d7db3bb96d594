"""The check of each row of chapters 3 and 5: phase, ACK compression, interference, tracking of the BDP."""

from __future__ import annotations

from itertools import pairwise

from rexmit.analyse import Check, Published
from rexmit.models import drain_time

from .checks import TREND, Function, counted, link_of, listed
from .links import BUFFERS, LINKS, Evidence, Link, rank_correlation
from .phase import CHANCE

SHOWN = (5, 20, 25, 50)
"""The buffers of figures 5.2 to 5.5 and 5.8 to 5.11."""


def _phase(out: bool) -> Function:
    """Out of phase, or in phase: as few shifts as chance allows agree as little, or as much."""

    def check(published: Published, evidence: Evidence) -> Check:
        link, buffer = link_of(published, evidence), int(published.place["buffer"])
        phase = evidence.phase(link, buffer)
        holds = phase.rank <= CHANCE if out else phase.rank >= 1 - CHANCE
        ours = f"{phase.rank:.0%} of shifts agree less"
        return Check.of_statement(published, holds, ours, phase.text(), measure=phase.rank)

    return check


def _excess(link: Link, evidence: Evidence) -> list[float]:
    return [evidence.phase(link, buffer).excess for buffer in BUFFERS]


def _drift(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence).whole()
    excess = _excess(link, evidence)
    trend = rank_correlation(BUFFERS, excess)
    holds = trend >= TREND and excess[0] < 0 < excess[-1]
    note = f"agreement beyond chance {excess[0]:+.2f} at 5, {excess[-1]:+.2f} at 50"
    return Check.of_statement(published, holds, f"rank correlation {trend:+.2f}", note, measure=trend)


def _pays(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence).whole()
    trend = rank_correlation(_excess(link, evidence), link.means("goodput_down"))
    return Check.of_statement(published, trend <= -TREND, f"rank correlation {trend:+.2f}", measure=trend)


def _compression(who: str) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        link = link_of(published, evidence).whole()
        shares = [evidence.packets(link, buffer)[f"compressed_{who}"] for buffer in BUFFERS]
        trend = rank_correlation(BUFFERS, shares)
        note = f"share of ACKs {shares[0]:.2f} at 5, {shares[-1]:.2f} at 50"
        return Check.of_statement(
            published, trend >= TREND, f"rank correlation {trend:+.2f}", note, measure=trend
        )

    return check


def _occurs(published: Published, evidence: Evidence) -> Check:
    """More of the upload's ACKs come compressed at 50 packets than at 5, where none need wait long."""
    link = link_of(published, evidence)
    least, most = (evidence.packets(link, buffer)["compressed_up"] for buffer in (5, 50))
    ours = f"{most:.2f} of its ACKs, {least:.2f} at 5 packets"
    return Check.of_statement(published, most > least, ours, measure=most - least)


def _stalls(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence)
    few, many = (evidence.packets(link, buffer)["stalls"] for buffer in (5, 50))
    return Check.of_statement(published, many > few, f"{many} at 50, {few} at 5", measure=many - few)


def _steps(measure: str, falls: bool = False, packets: bool = False, form: str = ".2f") -> Function:
    """A measure that grows, or falls, from each of the four buffers of the figures to the next."""

    def check(published: Published, evidence: Evidence) -> Check:
        link = link_of(published, evidence)
        values = [
            evidence.packets(link, buffer)[measure] if packets else link.at(measure, buffer)
            for buffer in SHOWN
        ]
        shown = ", ".join(f"{value:{form}} at {b}" for b, value in zip(SHOWN, values, strict=True))
        return counted(
            published,
            ((after < before) if falls else (after > before) for before, after in pairwise(values)),
            shown,
        )

    return check


def _periodic(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence)
    peaks = {buffer: evidence.packets(link, buffer)["periodic"] for buffer in SHOWN}
    gap = min(peaks[25], peaks[50]) - max(peaks[5], peaks[20])
    ours = ", ".join(f"{peak:.2f} at {buffer}" for buffer, peak in peaks.items())
    periods = ", ".join(f"{evidence.packets(link, buffer)['period']:.1f} s" for buffer in SHOWN)
    return Check.of_statement(published, gap > 0, ours, f"at {periods}", measure=gap)


def _marginal(published: Published, evidence: Evidence) -> Check:
    """What the upload gains from 5 to 50 packets, of what the download loses."""
    link = link_of(published, evidence)
    lost = link.at("goodput_down", 5) - link.at("goodput_down", 50)
    gained = link.at("goodput_up", 50) - link.at("goodput_up", 5)
    relative = gained / link.at("goodput_up", 5)
    note = f"{gained / 1e3:+.0f} kbit/s against {-lost / 1e3:+.0f}; of its own {relative:+.0%}"
    share = gained / lost
    return Check.of_statement(published, 0 < share < 0.1, f"{share:.3f} of it", note, measure=share)


def _potential(published: Published, evidence: Evidence) -> Check:
    """The greatest RTT exceeds that alone by no more than the buffer, and one packet, needs to drain."""
    link = link_of(published, evidence).whole()
    found = []
    for buffer in BUFFERS:
        packets = evidence.packets(link, buffer)
        more = packets["rtt_both_max"] - packets["rtt_alone_max"]
        found.append((more, float(drain_time(buffer + 1, link.up_kbit_s * 1000, 1514))))
    note = f"at 50 {found[-1][0]:.2f} s of {found[-1][1]:.2f}"
    return counted(published, (more <= allowed for more, allowed in found), note)


def _idle_order(published: Published, evidence: Evidence) -> Check:
    idle = {}
    for rates in LINKS:
        link = evidence.link(*rates)
        idle[link.name] = evidence.packets(link, 50)["idle_down"]
    values = list(idle.values())
    gap = min(after - before for before, after in pairwise(values))
    return Check.of_statement(published, gap > 0, listed(idle, ".2f"), measure=gap)


def _deviation_grows(published: Published, evidence: Evidence) -> Check:
    trends = {link.name: link.trend("rtt_sd_log") for link in evidence.links()}
    least = min(trends.values())
    return Check.of_statement(published, least >= TREND, listed(trends), measure=least)


def _faster(published: Published, evidence: Evidence) -> Check:
    slopes = {}
    for link in evidence.links():
        values = link.means("rtt_sd_log")
        at, mean = sum(link.buffers) / len(values), sum(values) / len(values)
        rise = sum((b - at) * (v - mean) for b, v in zip(link.buffers, values, strict=True))
        slopes[link.name] = rise / sum((b - at) ** 2 for b in link.buffers)
    gap = min(after - before for before, after in pairwise(slopes.values()))
    return Check.of_statement(published, gap > 0, f"{listed(slopes, '.1f')} ms a packet", measure=gap)


def _growth(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence)
    ratio = link.at("growth", 50) / link.at("growth", 5)
    return Check.of_statement(published, ratio < 1, f"{ratio:.2f} of it", measure=ratio)


def _timeouts(published: Published, evidence: Evidence) -> Check:
    link = link_of(published, evidence)
    few, many = link.at("timeouts_at_start", 5), link.at("timeouts_at_start", 50)
    ours = f"{many:.1f} a run at 50, {few:.1f} at 5"
    return Check.of_statement(published, many > few, ours, measure=many - few)


def _with_queue(published: Published, evidence: Evidence) -> Check:
    found = evidence.packets(link_of(published, evidence), 50)["rtt_queue_correlation"]
    return Check.of_statement(published, found > TREND, f"{found:+.2f}", measure=found)


def _each_other(published: Published, evidence: Evidence) -> Check:
    """Each connection's data make a router drop the other's ACKs."""
    link = link_of(published, evidence).whole()
    lost = [
        sum(evidence.packets(link, buffer)[f"lost_acks_{way}"] for buffer in BUFFERS)
        for way in ("up", "down")
    ]
    ours = f"{lost[0]:,} at R2, {lost[1]:,} at R1"
    return Check.of_statement(published, min(lost) > 0, ours, "over ten runs", measure=min(lost))


def _empty(published: Published, evidence: Evidence) -> Check:
    shares = {}
    for rates in LINKS:
        link = evidence.link(*rates)
        shares[link.name] = evidence.packets(link, 50)["queued_alone"]
    most = max(shares.values())
    return Check.of_statement(published, most < 0.01, listed(shares, ".3f"), "share of time", measure=most)


def _one_way(published: Published, evidence: Evidence) -> Check:
    """At 10 packets the uplink is idle more than the downlink, at 50 the other way round."""
    link = link_of(published, evidence)
    gaps = []
    for buffer, sign in ((10, 1), (50, -1)):
        packets = evidence.packets(link, buffer)
        gaps.append(sign * (packets["idle_up"] - packets["idle_down"]))
    ours = f"{gaps[0]:+.2f} at 10, {-gaps[1]:+.2f} at 50"
    return Check.of_statement(
        published, min(gaps) > 0, ours, "idle uplink less idle downlink", measure=min(gaps)
    )


def _alternate(published: Published, evidence: Evidence) -> Check:
    found = evidence.packets(link_of(published, evidence), 50)["queues_correlation"]
    return Check.of_statement(published, found < 0, f"correlation {found:+.2f}", measure=found)


DYNAMICS: dict[str, Function] = {
    "P-001-12": _phase(out=True),
    "P-001-13": _phase(out=False),
    "P-001-15": _deviation_grows,
    "P-001-24": _phase(out=True),
    "P-001-25": _drift,
    "P-001-26": _pays,
    "P-001-27": _occurs,
    "P-001-28": _compression("up"),
    "P-001-28d": _compression("down"),
    "P-001-29": _stalls,
    "P-001-30": _steps("goodput_variation"),
    "P-001-31": _periodic,
    "P-001-32": _steps("goodput_down", falls=True, form=".3g"),
    "P-001-33": _marginal,
    "P-001-34": _potential,
    "P-001-35": _steps("bdp_excess", form=".3g"),
    "P-001-36": _steps("idle_down", packets=True),
    "P-001-37": _idle_order,
    "P-001-38": _faster,
    "P-001-48": _growth,
    "P-001-49": _timeouts,
    "P-001-50": _with_queue,
    "P-001-51": _each_other,
    "P-001-52": _empty,
    "P-001-54": _one_way,
    "P-001-55": _alternate,
}
