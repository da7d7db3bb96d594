"""Searches for what would explain a recorded difference: definitions, subsets, other systems, other draws."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import mean, median
from typing import Any

import polars as pl
from rexmit import Study
from rexmit.analyse import Check, PositionCosts, load_published, position_costs
from rexmit.analyse.score import score

from .captions import table
from .charts import POSITION
from .earlier import PATH
from .flows import Flow, Pair
from .systems import both, client, server

Times = Mapping[int, float]
"""Total times of one path by position, ms."""

Reference = Callable[[Times, PositionCosts], float]

REFERENCES: dict[str, Reference] = {
    "last repaired fast": lambda time, cost: time[cost.last_fast],
    "mean repaired fast": lambda time, cost: mean(_fast(time, cost)),
    "median repaired fast": lambda time, cost: median(_fast(time, cost)),
    "cheapest repaired fast": lambda time, cost: min(_fast(time, cost)),
    "no loss": lambda time, cost: time[0],
}
"""What a position that waits is compared with."""

SPANS = {"1 to N": (1, 0), "2 to N": (2, 0), "1 to N-1": (1, -1), "2 to N-1": (2, -1), "0 to N": (0, 0)}
"""The positions that an average is taken over: the first, and how many beyond the last."""

LATE = (17, 18, 19)
PUBLISHED = Path(__file__).parent.parent / "published.csv"


@dataclass(frozen=True)
class Definition:
    """The average additional time by one definition: the values that the text states of it, percent."""

    name: str
    at_1000: float
    """At 1000 kbit/s and 5 ms: P-000-5, 20.4."""
    worst: Pair
    """The path of the greatest value: 1000 kbit/s, 5 ms."""
    second_least: float
    """At 5 ms: P-000-6, about 20."""
    within: int
    """Bandwidths with 5 to 10 percent at 300 ms: P-000-7, at least 6."""
    slow: tuple[float, float]
    """Least and greatest at 40 kbit/s: P-000-8, 10 to 20."""
    long: tuple[float, float, float]
    """Long flows: least (P-000-33, 0.3), greatest (-25, at most 4), greatest at 300 ms (-26, below 1)."""

    def meets(self) -> list[bool]:
        """Which of the statements it meets, in the order of the fields, with the tolerances of the rows.

        The first has ±0.2, the tolerance of the row before the strict reading.
        """
        least, most, far = self.long
        return [
            abs(self.at_1000 - 20.4) <= 0.2,
            self.worst == (1000, 5),
            abs(self.second_least - 20) <= 2,
            self.within >= 6,
            self.slow[0] >= 10 and self.slow[1] <= 20,
            abs(least - 0.3) <= 0.05,
            most <= 4.5,
            far < 1,
        ]


def definitions(short: Flow, long: Flow) -> Iterator[Definition]:
    """The 25 definitions: five references and five spans of positions."""
    for reference, of in REFERENCES.items():
        for span, (first, beyond) in SPANS.items():
            values = _averages(short, of, first, beyond)
            longer = _averages(long, of, first, beyond)
            near = sorted(value for path, value in values.items() if path[1] == 5)
            far = [value for path, value in values.items() if path[1] == 300]
            slow = [value for path, value in values.items() if path[0] == 40]
            yield Definition(
                f"{reference}, {span}",
                values[1000, 5],
                max(values, key=lambda path: values[path]),
                near[1],
                sum(4.5 <= value < 10.5 for value in far),
                (min(slow), max(slow)),
                (
                    min(longer.values()),
                    max(longer.values()),
                    max(value for path, value in longer.items() if path[1] == 300),
                ),
            )


def definitions_table(short: Flow, long: Flow) -> str:
    """The definitions as a Markdown table, each value with a mark where it meets its row."""
    titles = ("1000 kbit/s, 5 ms", "worst at", "second least, 5 ms", "5 to 10 %, 300 ms", "40 kbit/s")
    head = ["compared with, over", *titles, "long: least", "long: greatest", "long, 300 ms", "met"]
    published = ("20.4", "1000 kbit/s, 5 ms", "about 20", "most of 10", "10 to 20", "0.3", "<=4", "<1")
    lines = [["published", *published, ""]]
    for one in definitions(short, long):
        met = one.meets()
        texts = [
            f"{one.at_1000:.2f}",
            f"{one.worst[0]} kbit/s, {one.worst[1]} ms",
            f"{one.second_least:.1f}",
            str(one.within),
            f"{one.slow[0]:.1f} to {one.slow[1]:.1f}",
            *(f"{value:.2f}" for value in one.long),
        ]
        marked = [f"{text} ✓" if holds else text for text, holds in zip(texts, met, strict=True)]
        lines.append([one.name, *marked, f"{sum(met)} of {len(met)}"])
    return table(head, lines)


def subsets_table(flow: Flow) -> str:
    """The subsets as a Markdown table."""
    rows = [[", ".join(map(str, at)), f"{near:.1f}", f"{far:.1f}"] for at, near, far in subsets(flow)]
    return table(["late positions", "5 ms", "300 ms"], [["published", "117", "47"], *rows])


def _averages(flow: Flow, of: Reference, first: int, beyond: int) -> dict[Pair, float]:
    """The average of each path, over the positions from `first` to so many beyond the last, percent."""
    values = {}
    for path, cost in flow.costs.items():
        time = {at: flow.time(*path, at) for at in range(flow.packets + 1)}
        instead, over = of(time, cost), range(first, flow.packets + 1 + beyond)
        replaced = sum(instead if at in cost.inhibited else time[at] for at in over)
        values[path] = 100 * (sum(time[at] for at in over) / replaced - 1)
    return values


def subsets(flow: Flow) -> Iterator[tuple[tuple[int, ...], float, float]]:
    """The additional time at 80 kbit/s, at 5 and at 300 ms, by subset of 17 to 19, percent."""
    for size in (1, 2, 3):
        for chosen in combinations(LATE, size):
            near, far = (
                100 * (mean(flow.time(80, ms, at) for at in chosen) / flow.time(80, ms, 16) - 1)
                for ms in (5, 300)
            )
            yield chosen, near, far


_WRITES = {"scenario.transfers": [{"from": "server", "to": "client", "writes": "10 x 2500 bytes"}]}

PERTURBED: dict[str, Mapping[str, Any]] = {
    "nothing changed": {},
    "RTT samples without the kernel's extra tick": server("rtt_source", "timestamps"),
    "RTT of one packet at a time": server("rtt_source", "segment"),
    "RTO by RFC 6298": server("rtt.estimator", "rfc6298"),
    "slop of 0 ms": server("rtt.slop", "0 ms"),
    "slop of 190 ms": server("rtt.slop", "190 ms"),
    "slop of 230 ms": server("rtt.slop", "230 ms"),
    "delayed ACKs of 40 ms": client("delayed_ack.timeout", "40 ms"),
    "delayed ACKs of 50 ms": client("delayed_ack.timeout", "50 ms"),
    "delayed ACKs of 90 ms": client("delayed_ack.timeout", "90 ms"),
    "delayed ACKs of 110 ms": client("delayed_ack.timeout", "110 ms"),
    "delayed ACKs of 200 ms": client("delayed_ack.timeout", "200 ms"),
    "no delayed ACKs": client("delayed_ack.policy", "immediate"),
    "an ACK for every second segment at once": client("delayed_ack.policy", "every-second"),
    "window updates after one segment": client("window.update_segments", 1),
    "an emulator that counts Ethernet headers": {"path.overhead": "14 bytes"},
    "an exact shaper": {"path.shaper": "exact"},
    "links of 100 Mbit/s": {"path.link": "100 Mbit/s"},
    "no timestamps": both("options.timestamps", False),
    "no SACK": both("options.sack", False),
    "no limited transmit": server("recovery.limited_transmit", 0),
    "window updates count as duplicates": server("recovery.changed_window_is_no_duplicate", False),
    "three segments at first": server("handshake.third_segment_opens_cwnd", False),
    "window limiting on": server("congestion.inflight.on", True),
    "Nagle off": server("output.nagle", "off"),
    "ten writes of 2500 bytes": _WRITES,
}
"""Changes of the short flows, one at a time."""

PERTURBED_AT: tuple[Pair, ...] = ((80, 5), (80, 300), (10000, 5), (10000, 300))
"""P-000-3, P-000-4, P-000-1, P-000-2."""


def perturbed(settings: Mapping[str, Any]) -> list[float | None]:
    """The additional time on each path of PERTURBED_AT with these settings, percent; None: none waits."""
    study = Study.load("hurtig-2006/short").set("vary.path.rate", ["80 kbit/s", "10000 kbit/s"])
    study = study.set("vary.path.delay", ["5 ms", "300 ms"])
    for name, value in settings.items():
        study = study.set(name, value)
    costs = Flow(study.run(progress=False)).costs
    found = [costs[path].additional for path in PERTURBED_AT]
    return [None if value is None else 100 * value for value in found]


def perturbed_table() -> str:
    """The additional time with one change at a time, as a Markdown table."""
    rows = []
    for name, settings in PERTURBED.items():
        rows.append([name, *("none waits" if v is None else f"{v:.1f}" for v in perturbed(settings))])
    paths = [f"{kbit_s} kbit/s, {ms} ms" for kbit_s, ms in PERTURBED_AT]
    return table(["short flows with", *paths], rows)


EARLIER: dict[str, Mapping[str, Any]] = {
    "nothing changed": {},
    "receive buffer of 16384 bytes": both("buffers.receive", "16384 bytes"),
    "receive buffer of 65536 bytes": both("buffers.receive", "65536 bytes"),
    "SACK": both("options.sack", True),
    "limited transmit": server("recovery.limited_transmit", 2),
    "no delayed ACKs": client("delayed_ack.policy", "immediate"),
    "initial window of 1": server("initial_window", 1),
    "initial window of 2": server("initial_window", 2),
    "initial window of 3": server("initial_window", 3),
    "no window scaling": both("options.window_scaling", False),
    "window updates count as duplicates": server("recovery.changed_window_is_no_duplicate", False),
    "ten writes of 2500 bytes": _WRITES,
}
"""Changes of figure 4.25, one at a time."""


def earlier_ends(settings: Mapping[str, Any]) -> tuple[int, ...]:
    """The positions at the end that wait in figure 4.25 with these settings."""
    study = Study.load("hurtig-2006/earlier").set("vary.path.rate", [f"{PATH[0]} kbit/s"])
    study = study.set("vary.path.delay", [f"{PATH[1]} ms"])
    for name, value in settings.items():
        study = study.set(name, value)
    return Flow(study.run(progress=False)).costs[PATH].inhibited


def earlier_table() -> str:
    """The positions that wait in figure 4.25 with one change at a time, as a Markdown table."""
    rows = [[name, ", ".join(map(str, earlier_ends(settings)))] for name, settings in EARLIER.items()]
    return table(["figure 4.25 with", "positions that wait"], rows)


TRIPLES = 100
"""Other draws of three replications."""

REPLICATED = {
    "P-000-1": ("short", 10000, 5),
    "P-000-2": ("short", 10000, 300),
    "P-000-3": ("short", 80, 5),
    "P-000-4": ("short", 80, 300),
    "P-000-5": ("short", 1000, 5),
    "P-000-23": ("long", 10000, 5),
}
"""The numbers that the text prints of one path, and their paths."""

AVERAGES = ("P-000-5",)
"""Those that are averages over all positions."""


def score_text() -> str:
    """How well other draws of three foretell the numbers that the text prints of one path."""
    checks = []
    for row in load_published(PUBLISHED):
        if row.id in REPLICATED:
            part, kbit_s, ms = REPLICATED[row.id]
            draws = replicated(part, (kbit_s, ms), TRIPLES)
            checks.append(Check(row, "", "", values=[draw[row.id in AVERAGES] for draw in draws]))
    return f"{score(checks).text()}\n"


def replicates_table() -> str:
    """Additional and average additional time of other draws of three, as a Markdown table."""
    rows = []
    for part, kbit_s, ms in REPLICATED.values():
        found = replicated(part, (kbit_s, ms), TRIPLES)
        cells = (f"{mean(v):.2f}, {min(v):.2f} to {max(v):.2f}" for v in zip(*found, strict=True))
        rows.append([f"{part}, {kbit_s} kbit/s, {ms} ms", str(len(found)), *cells])
    head = ["path", "draws", "additional time, %: mean, range", "average additional time, %"]
    whole = ["additional, of whole ms", "average, of whole ms", "additional, a ms more"]
    return table([*head, *whole], rows)


@cache
def replicated(part: str, path: Pair, triples: int) -> list[tuple[float, ...]]:
    """Additional and average additional time, percent, of so many other draws of three replications.

    Then both again of times that are cut to whole ms, as the client of the thesis prints them, and the
    first of such times and a ms more.
    """
    study = Study.load(f"hurtig-2006/{part}").set("vary.path.rate", [f"{path[0]} kbit/s"])
    study = study.set("vary.path.delay", [f"{path[1]} ms"]).set("design.replications", 3 * triples)
    table = study.run(progress=False).table()
    first: int = table["replication"].min()  # type: ignore[assignment]
    grouped = table.with_columns(((pl.col("replication") - first) // 3).alias("triple"))
    cut = grouped.with_columns(pl.col("time_ns") // 1_000_000 * 1_000_000)
    later = cut.with_columns(pl.col("time_ns") + 1_000_000)
    rows = []
    for a, b, c in zip(
        *(position_costs(frame, POSITION, ["triple"]) for frame in (grouped, cut, later)), strict=True
    ):
        found = (a.additional, a.average, b.additional, b.average, c.additional)
        rows.append(tuple(100 * value for value in found if value is not None))
    return rows


def _fast(time: Times, cost: PositionCosts) -> Sequence[float]:
    return [time[at] for at in range(2, cost.last_fast + 1)]
