"""The study's `averages.pl` (appendix C.1) as it is printed, with its error of units.

The script knows the units `Mbits/sec`, `KBits/sec` and so on, and keeps the value of a line in a global
variable. iperf 2 prints `Kbits/sec`, which is none of them: then the variable keeps the value of the line
before, which may be that of another log. And no rule of the script skips the heading of iperf's table: taken
literally, what the log before left enters the mean as one interval more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

MBIT = 1e6
"""iperf 2 counts in powers of 1000: it prints `Mbits/sec` from here on, `Gbits/sec` from 1000 times it."""


def averages_pl(logs: Iterable[Sequence[float]], *, heading: bool = False) -> list[float]:
    """The script's mean of each log, Mbit/s; `logs` are the reports of each, bit/s, in the script's order.

    `heading`: whether the heading of iperf's table enters, as it does by the printed script.
    """
    speed = 0.0
    means = []
    for reports in logs:
        values = [speed] if heading else []
        for rate in reports:
            speed = _read(rate, speed)
            values.append(speed)
        means.append(sum(values) / len(values))
        # The summary line is not added, but it is read.
        speed = _read(sum(reports) / len(reports), speed)
    return means


def printed(value: float) -> float:
    """A number as iperf 2 prints it: three digits."""
    return round(value, 2 if value < 9.995 else 1 if value < 99.95 else 0)


def _read(rate: float, before: float) -> float:
    """What a line leaves in the script's variable."""
    return printed(rate / MBIT) if MBIT <= rate < 1000 * MBIT else before
