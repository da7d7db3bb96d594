"""Two captures of the same flows, matched packet by packet by the native analysis."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexmit import _native
from rexmit.analyse.captures import PACKETS, Options, Progress, Summary, native_options, opened
from rexmit.analyse.quantities import duration
from rexmit.analyse.rows import RawTable, rows, values

PAIR_TABLES = ("pairs", "pair_retransmissions", "crossings")
"""One row per direction of a connection, a retransmission, a packet."""

SLACK_NS = 10_000
"""How early a packet may seem to arrive without a warning: captures and their clocks differ this much."""


@dataclass(frozen=True)
class PairOptions:
    """What is known of the two captures.

    `same_clock`: one clock made both. `whole`: both ran from before the first packet until after the last, so
    that what is in one of them only was lost. `crossings` asks for the table with one row per packet.
    """

    same_clock: bool = False
    whole: bool = False
    crossings: bool = False


@dataclass(frozen=True)
class Paired:
    """What came of two captures: tables, clocks, and connections that only one of them holds."""

    tables: dict[str, RawTable]
    captures: list[Summary]
    clock: dict[str, Any]
    unpaired: list[list[int]]

    @property
    def damaged(self) -> bool:
        """Whether a capture breaks off."""
        return any(summary.damaged for summary in self.captures)

    @property
    def matched(self) -> bool:
        """Whether the captures have a connection in common."""
        return bool(values(self.tables["pairs"], "pair"))

    @property
    def warnings(self) -> list[str]:
        """What makes the answers about both captures less than certain, a line each."""
        found = []
        clock = self.clock
        alike = (clock["offset_ns"], clock["round_trip_ns"], clock["skew_ppm"]) == (0, 0, 0)
        if clock["method"] == "both-ways" and alike:
            found.append(
                "both captures show the same times: one file twice, a copy, or captures of one place; "
                "a pair needs captures from two places"
            )
        if self.matched and any(summary.sctp for summary in self.captures):
            found.append(
                "packets of SCTP are not matched one by one; --separate shows them, each capture by itself"
            )
        for row in rows(self.tables["pairs"]):
            least = row["delay_min_ns"]
            if least is not None and least < -SLACK_NS:
                found.append(
                    f"pair {row['pair']}, from {row['side']}: packets seem to arrive up to "
                    f"{duration(-least)} before they were sent; the clocks are not known well enough"
                )
        return found


def read_pair(
    paths: Sequence[Path], options: Options, about: PairOptions, progress: Progress | None = None
) -> Paired:
    """Judges two captures with both views.

    Raises UsageError for a file that cannot be read or is not a capture, and for a wrong option.
    """
    first, second = (str(path) for path in paths)
    given = native_options(options)
    native = opened(
        paths,
        lambda: _native.PairAnalysis((first, second), given, about.same_clock, about.whole, about.crossings),
    )
    while native.step(PACKETS):
        if progress is not None:
            progress(*native.progress())
    tables = native.finish()
    told = json.loads(native.summary())
    summaries = [Summary.of(summary) for summary in told["captures"]]
    return Paired(dict(tables), summaries, told["clock"], told["unpaired"])
