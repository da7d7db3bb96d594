"""What `rexmit trace show` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rexmit.links import Trace
from rexmit.units import plural


def table_of(trace: Trace, facts: dict[str, Any]) -> Iterator[str]:
    """Lines for people: what the trace is, and its least, mean and largest values."""
    unit = "opportunity" if trace.is_mahimahi else "row"
    count = facts["lines"]
    many = f"{count:,} opportunities" if trace.is_mahimahi and count != 1 else f"{plural(count, unit)}"
    kind = "mahimahi's lines" if trace.is_mahimahi else "a CSV"
    yield f"{trace.path}: {kind}, {many}, {_seconds(facts['duration_ns'])} s"
    rows = []
    if "rate_mean_bit_s" in facts:
        rows.append(["rate (Mbit/s)", *(_scaled(facts, f"rate_{one}_bit_s", 1e6) for one in _ONES)])
    if "delay_mean_ns" in facts:
        rows.append(["delay (ms)", *(_scaled(facts, f"delay_{one}_ns", 1e6) for one in _ONES)])
    if "loss_mean" in facts:
        rows.append(["loss (%)", *(_scaled(facts, f"loss_{one}", 0.01) for one in _ONES)])
    span = f"over {facts['bin_ns'] / 1e6:g} ms"
    head = [span, *_ONES]
    widths = [max(len(row[n]) for row in [head, *rows]) for n in range(4)]
    for row in [head, *rows]:
        cells = [row[0].ljust(widths[0]), *(row[n].rjust(widths[n]) for n in (1, 2, 3))]
        yield "  ".join(cells).rstrip()
    if facts.get("time_without_rate_ns"):
        share = 100 * facts["time_without_rate_ns"] / max(facts["duration_ns"], 1)
        yield f"nothing passes for {_seconds(facts['time_without_rate_ns'])} s of it ({share:.1f} %)"
    yield f"sha256 {facts['sha256']}"


_ONES = ("least", "mean", "most")


def _scaled(facts: dict[str, Any], key: str, scale: float) -> str:
    return f"{facts[key] / scale:.3f}"


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:g}"
