"""Numbers as people read them: three significant digits and a unit."""

from __future__ import annotations

from rexmit.units import NANOSECONDS

NOTHING = "-"
"""What stands where there is no value."""


def duration(ns: float | None) -> str:
    """Such as `12.3 ms`."""
    if ns is None:
        return NOTHING
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if abs(ns) >= scale * 0.9995:
            return f"{_digits(ns / scale)} {unit}"
    return f"{ns:.0f} ns" if ns else "0 s"


def size(count: float | None) -> str:
    """Bytes, such as `1.5 MB` (powers of ten)."""
    return NOTHING if count is None else _scaled(count, "B")


def rate(bit_s: float | None) -> str:
    """Such as `1.5 Mbit/s`."""
    return NOTHING if bit_s is None else _scaled(bit_s, "bit/s")


def share(value: float | None) -> str:
    """Per cent, such as `1.2 %`."""
    if value is None:
        return NOTHING
    return "0 %" if value == 0 else f"{_digits(100 * value)} %"


def percent(value: float) -> str:
    """A share of a whole, such as `12 %` or `1.2 %`: to a whole per cent from ten on, and to a tenth below.

    `percent` in `web/src/ui/units.ts` has the same rule.
    """
    hundredths = 100 * value
    if 0 < hundredths < 0.05:
        return "< 0.1 %"
    return f"{hundredths:.0f} %" if hundredths >= 9.95 or hundredths == 0 else f"{hundredths:.1f} %"


def count(number: float | None) -> str:
    """A whole number, thousands apart; others with three digits."""
    if number is None:
        return NOTHING
    return f"{number:,}" if isinstance(number, int) else _digits(number)


def quantity(value: float | None, unit: str | None) -> str:
    """A value of a response in this unit, such as `12.3 ms`."""
    if value is None:
        return NOTHING
    if unit in NANOSECONDS:
        return duration(value * NANOSECONDS[unit])
    if (write := {"ns": duration, "bytes": size, "bit/s": rate}.get(unit or "")) is not None:
        return write(value)
    number = count(int(value) if value == int(value) else value)
    return f"{number} {unit}" if unit and unit != "packets" else number


def _scaled(value: float, unit: str) -> str:
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= scale * 0.9995:
            return f"{_digits(value / scale)} {prefix}{unit}"
    return f"{_digits(value)} {unit}"


def _digits(value: float) -> str:
    size = abs(value)
    if size >= 99.95:
        return f"{value:,.0f}"
    if size >= 9.995:
        return f"{value:.1f}".removesuffix(".0")
    if size >= 0.01:
        return f"{value:.2f}".rstrip("0").removesuffix(".")
    return f"{value:.2g}"
