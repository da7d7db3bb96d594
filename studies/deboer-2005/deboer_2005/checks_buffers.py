"""Buffers and latency: sections 5.2 and 5.3, figures 5.1 and 5.2."""

from __future__ import annotations

from itertools import pairwise

from rexmit.analyse import Check, Published

from .throughput import Evidence

BUFFERS = (65535, 262140, 1048560, 4194240, 16776960)
ROUND_TRIP_MS = {"5 ms": 4, "10 ms": 10, "50 ms": 50, "100 ms": 100}
"""What the two pipes make of each latency: `ipfw` reads half of 5 ms as 2."""
FAR = ("50 ms", "100 ms")
LINE = 1000 * 1460 / 1538
"""Most that TCP can carry on the link, Mbit/s: 1460 bytes of 1538 without options."""
LINE_TIMESTAMPS = 1000 * 1448 / 1538
"""The same with timestamps."""
HALF = 0.5
"""What parts 'reasonably approached' from 'by far not', of the line's rate: the text names no number."""
SAME = 0.01
"""Throughputs that differ by less than this part count as no difference."""
SLOW_START = 0.05
"""The part of 60 s that slow start may cost: some 15 round trips of 0.1 s."""


def _window_bound(published: Published, evidence: Evidence) -> Check:
    ours = evidence.of("buffers").written(rfc1323=0, bufspace=65535, latency="5 ms")
    return Check.of_number(published, ours, f"in the 5 ms that were meant it would be {ours * 4 / 5:.0f}")


def _window_sum(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, 64 * 1024 * 8 / 0.005 / 2**20, "64 x 1024 x 8 bits in 5 ms, over 2^20")


def _fat_sum(published: Published, evidence: Evidence) -> Check:
    ours = BUFFERS[-1] * 8 / 0.1 / 2**20
    return Check.of_number(published, ours, "of the 16776960 bytes that the script sets, over 2^20")


def _independent(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    spreads, over = {}, []
    for latency, rtt in ROUND_TRIP_MS.items():
        values = [test.received(rfc1323=0, bufspace=size, latency=latency) for size in BUFFERS]
        spreads[latency] = max(values) / min(values) - 1
        over += [value for value in values if value > 65535 * 8 / rtt / 1e3]
    worst = max(spreads, key=lambda latency: spreads[latency])
    differ = f"buffers differ by at most {100 * spreads[worst]:.1f} % ({worst})"
    ours = f"{differ}; {len(over)} points above the bound"
    held = spreads[worst] < SAME and not over
    return Check.of_statement(published, held, ours, "as received", measure=spreads[worst])


def _independent_written(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    spreads = {}
    for latency in ROUND_TRIP_MS:
        values = [test.written(rfc1323=0, bufspace=size, latency=latency) for size in BUFFERS]
        spreads[latency] = max(values) / min(values) - 1
    told = ", ".join(f"{latency}: {100 * spread:.1f} %" for latency, spread in spreads.items())
    worst = max(spreads.values())
    return Check.of_statement(published, worst < SAME, f"buffers differ by {told}", measure=worst)


def _near_line(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    values = [test.written(rfc1323=0, bufspace=size, latency="0 ms") for size in BUFFERS]
    ours = f"{min(values):.0f} to {max(values):.0f} of at most {LINE:.0f} Mbit/s"
    return Check.of_statement(published, min(values) >= HALF * LINE, ours, measure=min(values) / LINE)


def _far_from_line(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    most = max(
        test.written(rfc1323=0, bufspace=size, latency=latency)
        for size in BUFFERS
        for latency in ROUND_TRIP_MS
    )
    ours = f"at most {most:.0f} of {LINE:.0f} Mbit/s"
    return Check.of_statement(published, most < HALF * LINE, ours, measure=most / LINE)


def _falls(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    falls = 0
    for size in BUFFERS:
        values = [test.written(rfc1323=0, bufspace=size, latency=ms) for ms in ("0 ms", *ROUND_TRIP_MS)]
        falls += sum(a > b for a, b in pairwise(values))
    return Check.of_statement(published, falls == 20, f"less at {falls} of 20 steps", measure=falls)


def _fat(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    ours = test.written(rfc1323=1, bufspace=BUFFERS[-1], latency="100 ms")
    return Check.of_number(published, ours, f"mean of {test.seconds:.0f} s, caches empty")


def _suffices(published: Published, evidence: Evidence) -> Check:
    last = evidence.of("buffers").reports(rfc1323=1, bufspace=BUFFERS[-1], latency="100 ms")[-1]
    ours = f"the last report has {last:.0f} of {LINE_TIMESTAMPS:.0f} Mbit/s"
    share = last / LINE_TIMESTAMPS
    return Check.of_statement(published, share > 1 - SAME, ours, measure=share)


def _larger_helps(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    rows = {
        latency: [test.written(rfc1323=1, bufspace=size, latency=latency) for size in BUFFERS]
        for latency in FAR
    }
    steps = [b / a for values in rows.values() for a, b in pairwise(values)]
    told = "; ".join(f"{ms}: {', '.join(f'{v:.0f}' for v in values)}" for ms, values in rows.items())
    ours = f"{told} Mbit/s for {', '.join(map(str, BUFFERS))} bytes"
    return Check.of_statement(published, min(steps) > 1, ours, measure=min(steps))


def _product(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    shares = []
    for size in BUFFERS:
        for latency, rtt in ROUND_TRIP_MS.items():
            most = min(LINE_TIMESTAMPS, size * 8 / rtt / 1e3)
            shares.append(test.received(rfc1323=1, bufspace=size, latency=latency) / most)
    ours = f"{min(shares):.3f} to {max(shares):.3f} of it at {len(shares)} points"
    held = min(shares) > 1 - SLOW_START and max(shares) <= 1
    return Check.of_statement(published, held, ours, "as received", measure=min(shares))


def _scaling_helps(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    gains = []
    for size in BUFFERS[1:]:
        for latency in ROUND_TRIP_MS:
            off, on = (test.written(rfc1323=k, bufspace=size, latency=latency) for k in (0, 1))
            gains.append(on / off)
    ours = (
        f"more at {sum(gain > 1 for gain in gains)} of {len(gains)} points, {min(gains):.1f} times and more"
    )
    return Check.of_statement(published, min(gains) > 1, ours, measure=min(gains))


def _drastic_latency(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("buffers")
    values = [test.written(rfc1323=1, bufspace=BUFFERS[-1], latency=ms) for ms in ("0 ms", *FAR)]
    ours = f"{', '.join(f'{value:.0f}' for value in values)} Mbit/s at 0, 50 and 100 ms"
    share = max(values[1:]) / values[0]
    return Check.of_statement(published, share < HALF, ours, "caches empty", measure=share)


CHECKS = {
    "P-004-1": _window_bound,
    "P-004-1b": _window_sum,
    "P-004-2": _independent,
    "P-004-2b": _independent_written,
    "P-004-3": _near_line,
    "P-004-3b": _far_from_line,
    "P-004-3c": _falls,
    "P-004-4": _fat,
    "P-004-4b": _fat_sum,
    "P-004-4f": _suffices,
    "P-004-5": _larger_helps,
    "P-004-5b": _product,
    "P-004-5c": _scaling_helps,
    "P-004-14": _drastic_latency,
}
