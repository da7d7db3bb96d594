"""What the study tried to find its bottleneck: sections 4.4.1 and 5.1."""

from __future__ import annotations

from rexmit.analyse import Check, Published

from .averages_pl import averages_pl
from .throughput import Evidence, Test

BIG = 16776960
SAME = 0.01
"""Throughputs that differ by less than this part count as no difference."""
HALF = 0.5
"""Less than this part is taken for 'drastically' and 'very negatively': the text names no number."""
NEARLY = 0.95
"""Taken for 'nearly completely'."""
NO_SIGN = 1e-3
"""More than this part of the segments sent again would show in the statistics of TCP."""
RATES = {"P-004-12": "none", "P-004-12b": "1 Gbit/s", "P-004-13": "none", "P-004-13b": "1 Gbit/s"}
"""The rate of the pipes of each row."""
FAR = "bufspace-16776960-1-100"
MIDDLE = "bufspace-16776960-1-50"
NEAR = "bufspace-16776960-1-0"
"""Tests of order.toml: 16 MB with RFC 1323 at 100, 50 and 0 ms."""


def _fat_cached(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("order")
    ours = test.written(connections=1, test=FAR)
    return Check.of_number(published, ours, f"mean of {test.seconds:.0f} s")


def _fat_last(published: Published, evidence: Evidence) -> Check:
    reports = evidence.of("order").reports(connections=1, test=FAR)
    told = ", ".join(f"{report:.0f}" for report in reports)
    return Check.of_number(published, reports[-1], f"reports of 5 s: {told}")


def _fat_script(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("order")
    logs = [[1e6 * x for x in test.reports(connections=1, test=name)] for name in (MIDDLE, FAR)]
    return Check.of_number(published, averages_pl(logs, heading=True)[-1], "after the test at 50 ms")


def _fat_queue(published: Published, evidence: Evidence) -> Check:
    ours = evidence.of("queue").written(queue="511 packets", latency="100 ms")
    return Check.of_number(published, ours)


def _fat_queue_last(published: Published, evidence: Evidence) -> Check:
    reports = evidence.of("queue").reports(queue="511 packets", latency="100 ms")
    told = ", ".join(f"{report:.0f}" for report in reports)
    return Check.of_number(published, reports[-1], f"reports of 5 s: {told}")


def _drastic_cached(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("order")
    values = [test.written(connections=1, test=name) for name in (NEAR, MIDDLE, FAR)]
    ours = f"{', '.join(f'{value:.0f}' for value in values)} Mbit/s at 0, 50 and 100 ms"
    share = max(values[1:]) / values[0]
    return Check.of_statement(published, share < HALF, ours, measure=share)


def _several(published: Published, evidence: Evidence) -> Check:
    return _sums(published, evidence.of("connections"), {"latency": "50 ms"})


def _several_cached(published: Published, evidence: Evidence) -> Check:
    return _sums(published, evidence.of("order"), {"test": MIDDLE})


def _sums(published: Published, test: Test, levels: dict[str, object]) -> Check:
    """Whether two and four connections have more than one."""
    sums = [test.received(connections=n, **levels) for n in (1, 2, 4)]
    ours = f"{', '.join(f'{value:.0f}' for value in sums)} Mbit/s by 1, 2 and 4"
    least = min(sums[1:]) / sums[0]
    return Check.of_statement(published, least > 1 + SAME, ours, "as received", measure=least)


def _full(published: Published, evidence: Evidence) -> Check:
    least = evidence.of("order").fill(25, connections=1, test=MIDDLE) / BIG
    ours = f"{100 * least:.0f} % at least at the ends of the reports"
    return Check.of_statement(published, least > NEARLY, ours, measure=least)


def _no_sign(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("order")
    return _sent_again(published, test, {"connections": 1, "test": FAR})


def _no_sign_queue(published: Published, evidence: Evidence) -> Check:
    return _sent_again(published, evidence.of("queue"), {"queue": "1000 packets", "latency": "100 ms"})


def _sent_again(published: Published, test: Test, levels: dict[str, object]) -> Check:
    again, sent = (test.count(name, **levels) for name in ("retransmits", "data_segments"))
    ours = f"{again:.0f} of {sent:.0f} segments sent again"
    return Check.of_statement(published, again < NO_SIGN * sent, ours, measure=again / sent)


def _pipes_same(published: Published, evidence: Evidence) -> Check:
    values = _pipes(published, evidence)
    worst = max(abs(values["100 KiB", ms] / values["4000 KiB", ms] - 1) for ms in ("50 ms", "100 ms"))
    return Check.of_statement(published, worst < SAME, _told(values), measure=worst)


def _pipe_small(published: Published, evidence: Evidence) -> Check:
    values = _pipes(published, evidence)
    most = max(values["40 KiB", ms] / values["100 KiB", ms] for ms in ("50 ms", "100 ms"))
    return Check.of_statement(published, most < HALF, _told(values), measure=most)


def _pipes(published: Published, evidence: Evidence) -> dict[tuple[str, str], float]:
    test = evidence.of("dummynet")
    rate = RATES[published.id]
    return {
        (size, latency): test.written(pipe=size, rate=rate, latency=latency, tick="0.5 ms")
        for size in ("40 KiB", "100 KiB", "4000 KiB")
        for latency in ("50 ms", "100 ms")
    }


def _told(values: dict[tuple[str, str], float]) -> str:
    rows: dict[str, list[str]] = {}
    for (size, _), value in values.items():
        rows.setdefault(size, []).append(f"{value:.0f}")
    told = "; ".join(f"{size}: {', '.join(row)}" for size, row in rows.items())
    return f"{told} Mbit/s at 50 and 100 ms"


def _tick(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("dummynet")
    worst, told = 0.0, []
    for size in ("100 KiB", "4000 KiB"):
        for latency in ("50 ms", "100 ms"):
            coarse, fine = (
                test.written(pipe=size, rate="1 Gbit/s", latency=latency, tick=tick)
                for tick in ("0.5 ms", "0.05 ms")
            )
            worst = max(worst, abs(coarse / fine - 1))
            told.append(f"{coarse:.0f} and {fine:.0f} Mbit/s at {latency} and {size}")
    return Check.of_statement(published, worst < SAME, "; ".join(told), measure=worst)


def _acks(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("acks")
    lost = published.place["where"].rpartition(": ")[2]
    changes = {}
    for size in test.levels("bufspace"):
        for latency in test.levels("latency"):
            a, b = (test.written(bufspace=size, latency=latency, ack_loss=p) for p in ("0 %", lost))
            changes[size, latency] = b / a - 1
    low, high = min(changes.values()), max(changes.values())
    ours = f"changes throughput by {100 * low:+.3g} to {100 * high:+.3g} %, at {len(changes)} points"
    return Check.of_statement(published, max(high, -low) < SAME, ours, measure=max(high, -low))


def _writes(published: Published, evidence: Evidence) -> Check:
    test = evidence.of("writes")
    told, worst = [], 0.0
    for latency in test.levels("latency"):
        values = {size: test.received(write_size=size, latency=latency) for size in test.levels(_WRITE_SIZE)}
        best = max(values, key=lambda size: values[size])
        worst = max(worst, values[best] / values["4096 bytes"] - 1)
        told.append(f"{latency}: best {best}, {values[best]:.0f} against {values['4096 bytes']:.0f} Mbit/s")
    return Check.of_statement(published, worst == 0, "; ".join(told), "as received", measure=worst)


_WRITE_SIZE = "transfers.0.write_size"

CHECKS = {
    "P-004-4c": _fat_cached,
    "P-004-4d": _fat_last,
    "P-004-4e": _fat_script,
    "P-004-4g": _fat_queue,
    "P-004-4h": _fat_queue_last,
    "P-004-10": _tick,
    "P-004-11b": _acks,
    "P-004-11c": _acks,
    "P-004-11d": _acks,
    "P-004-12": _pipes_same,
    "P-004-12b": _pipes_same,
    "P-004-13": _pipe_small,
    "P-004-13b": _pipe_small,
    "P-004-14b": _drastic_cached,
    "P-004-15": _several,
    "P-004-15b": _several_cached,
    "P-004-16": _full,
    "P-004-17": _no_sign,
    "P-004-17b": _no_sign_queue,
    "P-004-18": _writes,
}
