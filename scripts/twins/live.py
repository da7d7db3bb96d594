"""Real time, on the kernel of the machine, beside the same scenarios in virtual time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from twins.compare import first_difference, row_of
from twins.runs import LINUX, Ran, Told, on, on_kernel
from twins.scenarios import GROUPS, PHASES_NS, Drawn

LONGEST_MS = 2_500
FASTEST_BIT_S = 10_000_000
FULL_BITS = 1500 * 8
PHASES = 8
"""Phases of the timer wheel that virtual time is run at: real time begins at any."""

NAMES = ("uml", "kernel")

GROUP = "default"
"""Settings that both kernels have: newer ones know no recovery without RACK."""

TIMERS = {"syn", "syn-ack", "timeout", "go-back-n", "tail-probe", "window-probe"}
"""Causes that end a wait for a timer, whose ticks differ between the kernels."""


def choose(drawn: Sequence[Drawn], ran: Sequence[Ran], count: int) -> list[Drawn]:
    """The first scenarios that take neither long nor a high rate."""
    pairs = zip(drawn, ran, strict=True)
    fitting = [
        scenario
        for scenario, run in pairs
        if run.time_ns <= LONGEST_MS * 1e6 and scenario.rate_bit_s <= FASTEST_BIT_S
    ]
    return fitting[:count]


def compare(chosen: Sequence[Drawn], folder: Path, told: Told, jobs: int) -> pl.DataFrame:
    """One row per scenario: against the wheel's phase with the same packets, or else the nearest time."""
    real = on_kernel([one.table("linux-6.1", GROUPS[GROUP]) for one in chosen], folder, told, jobs)
    shifts = [n * PHASES_NS // PHASES for n in range(PHASES)]
    shifted = [replace(one, phase_ns=(one.phase_ns + s) % PHASES_NS) for one in chosen for s in shifts]
    virtual = on(LINUX, [one.table("linux-6.1", GROUPS[GROUP]) for one in shifted], folder, told)
    rows = []
    for n, (scenario, run) in enumerate(zip(chosen, real, strict=True)):
        twins = virtual[n * PHASES : (n + 1) * PHASES]
        rows.append(scenario.row() | _row(run, twins, round_trip_ns(scenario)))
    return pl.DataFrame(rows, infer_schema_length=None)


def round_trip_ns(scenario: Drawn) -> float:
    """Of a full packet and its answer, as the rule that flags a run has it: at least 1 ms."""
    return max(2e3 * scenario.delay_us + FULL_BITS * 1e9 / scenario.rate_bit_s, 1e6)


def _row(run: Ran, twins: Sequence[Ran], rtt_ns: float) -> dict[str, Any]:
    def off(twin: Ran) -> tuple[bool, int]:
        differs = first_difference(twin.seen, run.seen, NAMES) is not None
        return differs, abs(twin.time_ns - run.time_ns)

    nearest = min(twins, key=off)
    times = [twin.time_ns for twin in twins]
    beyond = max(min(times) - run.time_ns, run.time_ns - max(times), 0)
    first = first_difference(nearest.seen, run.seen, NAMES)
    shared = first.index if first else len(run.seen.times)
    lasted = float(run.seen.times[:shared].max(initial=0) - run.seen.times[:1].min(initial=0))
    apart = np.abs(nearest.seen.times[:shared] - run.seen.times[:shared])
    return row_of(nearest, run, NAMES) | {
        "shared_packets": shared,
        "shared_off_ms": float(apart.max(initial=0)) / 1e6,
        "shared_off_per_trip_us": float(apart.max(initial=0)) / 1e3 / max(lasted / rtt_ns, 1.0),
        "rtt_ms": rtt_ns / 1e6,
        "shared_has_timeout": any(
            cause in TIMERS and at < shared for at, cause in nearest.seen.causes.items()
        ),
        "timeouts": int(nearest.row["timeouts"]),
        "uml_least_ms": min(times) / 1e6,
        "uml_most_ms": max(times) / 1e6,
        "beyond_ms": beyond / 1e6,
        "late_max_ms": run.late_ns / 1e6,
    }
