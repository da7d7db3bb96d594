"""A trace of a link: what its file says, whole and in spans of time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexmit import _native

SPANS = 600
"""Spans that a trace is cut into where nobody says how long they are."""

MS = 1_000_000
OPPORTUNITY_BITS = 1504 * 8

Values = list[float | None]


@dataclass(frozen=True)
class Bins:
    """A trace in spans of `span` ns, of which the last may be shorter (`lengths`, ns).

    Means of each: `rates` in bit/s, `delays` in ns, `losses` as shares. None where the trace does not say.
    """

    span: int
    lengths: list[int]
    rates: Values
    delays: Values
    losses: Values


@dataclass(frozen=True)
class Trace:
    """A file of a trace whose lines are all right. `about` is what the native code says of the whole."""

    path: Path
    about: dict[str, Any]

    @property
    def is_mahimahi(self) -> bool:
        """Whether its lines are mahimahi's opportunities; else it is a CSV."""
        return bool(self.about["format"] == "mahimahi")

    @property
    def duration(self) -> int:
        """The time of its last line, ns."""
        return int(self.about["last_ns"])

    def bins(self, span: int | None = None) -> Bins:
        """It in spans of so many ns; of at most 600 spans of 1, 2 or 5 times a power of ten ms by default.

        Raises ValueError of one line where they are too many.
        """
        span = span or self._round_span()
        bits, delays, losses, lengths = _native.trace_bins(str(self.path), span)
        rates: Values = [
            None if one is None else one * 1e9 / length for one, length in zip(bits, lengths, strict=True)
        ]
        return Bins(span, lengths, rates, delays, losses)

    def _round_span(self) -> int:
        """A round number of ms: changes of a trace, mostly at round times, then lie between two spans."""
        least = -(-self.duration // (SPANS * MS))
        power = int(10 ** (len(str(max(least, 1))) - 1))
        return next(step * power for step in (1, 2, 5, 10) if step * power >= least) * MS

    def facts(self, bins: Bins) -> dict[str, Any]:
        """What it is, for programs: means over the whole, and over the spans of `bins`."""
        facts: dict[str, Any] = {
            "format": self.about["format"],
            "lines": self.about["lines"],
            "duration_ns": self.duration,
            "sha256": self.about["sha256"],
            "bin_ns": bins.span,
        }
        rates = [rate for rate in bins.rates if rate is not None]
        if rates:
            facts["rate_mean_bit_s"] = self._mean_rate(bins)
            facts["rate_least_bit_s"], facts["rate_most_bit_s"] = min(rates), max(rates)
            still = sum(length for rate, length in zip(bins.rates, bins.lengths, strict=True) if rate == 0)
            facts["time_without_rate_ns"] = still
        for name, values in (("delay", bins.delays), ("loss", bins.losses)):
            known = [
                (value, length)
                for value, length in zip(values, bins.lengths, strict=True)
                if value is not None
            ]
            if known:
                unit = "_ns" if name == "delay" else ""
                mean = sum(value * length for value, length in known) / sum(length for _, length in known)
                facts[f"{name}_mean{unit}"] = mean
                facts[f"{name}_least{unit}"] = min(value for value, _ in known)
                facts[f"{name}_most{unit}"] = max(value for value, _ in known)
        return facts

    def _mean_rate(self, bins: Bins) -> float:
        if self.is_mahimahi:
            return float(self.about["lines"]) * OPPORTUNITY_BITS * 1e9 / self.duration
        bits = sum(
            (rate or 0.0) * length / 1e9 for rate, length in zip(bins.rates, bins.lengths, strict=True)
        )
        return bits * 1e9 / sum(bins.lengths)


def open_trace(path: Path) -> Trace:
    """Reads a trace whole, a piece at a time.

    Raises ValueError of one line: the file, the line in it that is wrong, and what to write.
    """
    return Trace(path, json.loads(_native.trace_about(str(path))))
