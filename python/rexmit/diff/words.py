"""The values of changes as people read them."""

from __future__ import annotations

from rexmit.analyse import quantities
from rexmit.analyse.quantities import quantity


def change_of(before: float | None, after: float | None, unit: str | None) -> str:
    """From one mean to another, such as `+1.3 %`; as a difference where the first is nothing."""
    if before is None or after is None:
        return quantities.NOTHING
    if before == after:
        return "0"
    if before == 0:
        return _signed(after, quantity(abs(after), unit))
    share = (after - before) / abs(before)
    return _signed(share, quantities.share(abs(share)))


def interval_of(low: float | None, high: float | None, before: float | None, unit: str | None) -> str:
    """The interval of a difference, relative to `before` where that is something: `+1.1 % to +1.5 %`."""
    if low is None or high is None or before is None:
        return quantities.NOTHING
    return f"{change_of(before, before + low, unit)} to {change_of(before, before + high, unit)}"


def _signed(value: float, text: str) -> str:
    return f"{'+' if value > 0 else '-'}{text}"


__all__ = ["change_of", "interval_of", "quantity"]
