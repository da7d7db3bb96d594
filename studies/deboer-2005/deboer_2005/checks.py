"""What each published row asks of our runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from statistics import mean

from rexmit.analyse import Check, Published

from .throughput import Evidence, Uncovered

Function = Callable[[Published, Evidence], Check]

BUFFERS = (65535, 262140, 1048560, 4194240, 16776960)
ROUND_TRIP_MS = {"5 ms": 4, "10 ms": 10, "50 ms": 50, "100 ms": 100}
"""What the two pipes make of each latency: `ipfw` reads half of 5 ms as 2."""
LOSSES = ("0 %", "0.01 %", "0.1 %", "0.5 %", "1 %", "2 %", "5 %", "10 %")
LINE = 1000 * 1460 / 1538
"""Most that TCP can carry on the link, Mbit/s: 1460 bytes of 1538 without options."""
CLOSE = 0.95
"""Taken for 'close to' the line's rate."""
SAME = 0.01
"""Throughputs that differ by less than this part count as no difference."""


def _window_bound(published: Published, evidence: Evidence) -> Check:
    ours = evidence.of("buffers").received(rfc1323=0, bufspace=65535, latency="5 ms")
    return Check.of_number(published, ours, f"in the 5 ms that were meant it would be {ours * 4 / 5:.0f}")


def _independent(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    spreads, over = {}, []
    for latency, rtt in ROUND_TRIP_MS.items():
        values = [test.received(rfc1323=0, bufspace=size, latency=latency) for size in BUFFERS]
        spreads[latency] = max(values) / min(values) - 1
        over += [value for value in values if value > 65535 * 8 / rtt / 1e3]
    reported = test.written(rfc1323=0, bufspace=BUFFERS[-1], latency="100 ms")
    received = test.received(rfc1323=0, bufspace=BUFFERS[-1], latency="100 ms")
    worst = max(spreads, key=lambda latency: spreads[latency])
    differ = f"buffers differ by at most {100 * spreads[worst]:.1f} % ({worst})"
    ours = f"{differ}; {len(over)} points above the bound"
    note = (
        f"as received; iperf's client counts what it writes, {reported:.1f} instead of {received:.1f} Mbit/s "
        "at 100 ms with 16 MB, which it fills in the first moments"
    )
    return Check.of_statement(published, max(spreads.values()) < 0.05 and not over, ours, note)


def _close_to_line(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    values = [test.received(rfc1323=0, bufspace=size, latency="0 ms") for size in BUFFERS]
    ours = f"{min(values):.0f} to {max(values):.0f} of at most {LINE:.0f} Mbit/s"
    return Check.of_statement(published, min(values) >= CLOSE * LINE, ours)


def _fat(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    ours = test.written(rfc1323=1, bufspace=BUFFERS[-1], latency="100 ms")
    note = f"mean of {test.seconds:.0f} s, slow start from one segment included"
    if evidence.has("queue"):
        test = evidence.of("queue")
        sizes = [size for size in test.levels("path.up.queue") if size != "20000 packets"]
        lost = [test.written(queue=size, latency="100 ms") for size in sizes]
        note += f"; {min(lost):.0f} to {max(lost):.0f} where slow start ends in losses (queue.toml)"
    return Check.of_number(published, ours, note)


def _fat_bound(published: Published, evidence: Evidence) -> Check:
    size = evidence.of("buffers").levels("bufspace")[-1]
    if size != BUFFERS[-1]:
        raise Uncovered("needs the largest buffer")
    ours = BUFFERS[-1] * 8 / ROUND_TRIP_MS["100 ms"] * 1000 / 2**20
    return Check.of_number(published, ours, "of the buffer that is set, in units of 2^20 bit/s")


def _larger_helps(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    rows = {
        latency: [test.received(rfc1323=1, bufspace=size, latency=latency) for size in BUFFERS]
        for latency in ("50 ms", "100 ms")
    }
    grows = all(b > 1.2 * a for values in rows.values() for a, b in pairwise(values))
    told = "; ".join(f"{ms}: {', '.join(f'{v:.0f}' for v in values)}" for ms, values in rows.items())
    return Check.of_statement(published, grows, f"{told} Mbit/s for {', '.join(map(str, BUFFERS))} bytes")


def _drastic(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("sack")
    values = {loss: test.written(sack=0, loss=loss, latency="0 ms") for loss in LOSSES}
    odd = [b for a, b in pairwise(LOSSES) if values[b] > values[a]]
    note = f"but more at {', '.join(odd)} than one step before: see P-004-7" if odd else ""
    return Check.of_statement(published, values["0 %"] > 100 * values["10 %"], _row(values), note)


def _sack_dip(published: Published, evidence: Evidence) -> Check:
    values = _sack_values(evidence)
    held = max(values["0.1 %"], values["0.5 %"]) < values["1 %"]
    return Check.of_statement(published, held, _row(values))


def _sack_equal(published: Published, evidence: Evidence) -> Check:
    values = _sack_values(evidence)
    note = f"{values['0.1 %']:.0f} over {values['0.5 %']:.0f} Mbit/s"
    return Check.of_number(published, values["0.1 %"] / values["0.5 %"], note)


def _newreno_falls(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("newreno")
    values = {loss: test.written(newreno=1, loss=loss, latency="0 ms") for loss in LOSSES}
    falls = all(values[a] > values[b] for a, b in pairwise(LOSSES))
    return Check.of_statement(published, falls, _row(values))


def _newreno_irregular(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("newreno")
    far, heavy, light = ("50 ms", "100 ms"), ("5 %", "10 %"), ("0.01 %", "0.1 %", "0.5 %", "1 %")
    at = {
        (losses, latency): mean(test.spread(newreno=1, loss=loss, latency=latency) for loss in losses)
        for losses in (heavy, light)
        for latency in far
    }
    told = [
        f"{latency}: {100 * at[heavy, latency]:.0f} % of the mean at 5 and 10 % loss, "
        f"{100 * at[light, latency]:.0f} % from 0.01 to 1 %"
        for latency in far
    ]
    held = all(at[heavy, latency] > at[light, latency] for latency in far)
    note = "standard deviation over the intervals of a run"
    return Check.of_statement(published, held, "; ".join(told), note)


def _better_without(published: Published, evidence: Evidence) -> Check:
    sack, newreno = evidence.of("sack"), evidence.of("newreno")
    found = []
    for loss in LOSSES[1:]:
        at = {"loss": loss, "latency": "0 ms"}
        values = {"SACK": sack.written(sack=1, **at), "NewReno": newreno.written(newreno=1, **at)}
        if values["NewReno"] > 1.1 * values["SACK"]:
            found.append(f"{loss}: {values['NewReno']:.0f} against {values['SACK']:.0f}")
    ours = f"NewReno against SACK, Mbit/s: {'; '.join(found)}" if found else "nowhere"
    return Check.of_statement(published, bool(found), ours)


def _tick(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("tick")
    worst = 0.0
    for size in test.levels("bufspace"):
        for latency in test.levels("latency"):
            a, b = (test.written(bufspace=size, latency=latency, tick=t) for t in ("0.5 ms", "0.05 ms"))
            worst = max(worst, abs(a / b - 1))
    ours = f"at most {100 * worst:.2g} % between the two, at {len(test.frame) // 2} points"
    return Check.of_statement(published, worst < SAME, ours)


def _acks(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("acks")
    rows = []
    for size in test.levels("bufspace"):
        for latency in test.levels("latency"):
            a, b = (test.written(bufspace=size, latency=latency, ack_loss=p) for p in ("0 %", "1 %"))
            rows.append(b / a - 1)
    ours = f"1 % of ACKs lost changes throughput by {100 * min(rows):+.2g} to {100 * max(rows):+.2g} %"
    note = "the share that the study lost is not known; at 10 and 50 % a lost first ACK may end slow start"
    return Check.of_statement(published, max(map(abs, rows)) < SAME, ours, note)


def _input_queue(published: Published, evidence: Evidence) -> Check:
    raise Uncovered("hosts have neither a processor nor an input queue here")


def _sack_values(evidence: Evidence) -> dict[str, float]:
    test = evidence.of("sack")
    return {loss: test.written(sack=1, loss=loss, latency="0 ms") for loss in LOSSES}


def _row(values: dict[str, float]) -> str:
    return ", ".join(f"{loss}: {value:.3g}" for loss, value in values.items()) + " Mbit/s"


CHECKS: dict[str, Function] = {
    "P-004-1": _window_bound,
    "P-004-2": _independent,
    "P-004-3": _close_to_line,
    "P-004-4": _fat,
    "P-004-4b": _fat_bound,
    "P-004-5": _larger_helps,
    "P-004-6": _drastic,
    "P-004-7": _sack_dip,
    "P-004-7b": _sack_equal,
    "P-004-8": _newreno_falls,
    "P-004-8b": _newreno_irregular,
    "P-004-9": _better_without,
    "P-004-10": _tick,
    "P-004-11": _input_queue,
    "P-004-11b": _acks,
}
