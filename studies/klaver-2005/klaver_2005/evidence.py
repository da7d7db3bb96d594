"""What was measured of the runs: each part of the study as a table, and what is kept of each run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
import rexmit
from rexmit import TcpFriendly
from rexmit.analyse import Uncovered
from rexmit.analyse.friendly import Judged, Measured, Window, measure
from rexmit.analyse.friendly.direction import Direction, Floats, Integers

from .windows import Spread, random_windows

CASE, COUNTS = "case", "hosts.server.stack.congestion.counts"
POLICY = "hosts.client.stack.delayed_ack.policy"
LOSS = "path.down.loss"
KEPT = ("cycles", "window", "conditions", "enschede")
"""Parts of which the first run of each case is kept whole."""

NEAR = 0.85
"""Share of the median W above which cwnd is at a peak; of W = 6 and less that is W alone."""


@dataclass(frozen=True)
class Seen:
    """What is kept of the connection of a run that sent most."""

    events: int
    """Loss events."""
    halvings: int
    """Peaks of cwnd."""
    by_rule: tuple[int, int]
    """Events as appendix B counts them, a series within twice the RTT, and within once."""
    peaks: Floats
    """W of each cycle from when the connection has settled."""
    lost: Integers
    """Segments lost in each of them."""
    seconds: Floats
    """Length of each."""
    complete: Measured | None
    """Measures of all those cycles together, alike or not; None where there are fewer than three."""
    selected: Measured | None
    """Measures of the longest run of cycles that are alike."""
    rtt_ms: tuple[float, float, float]
    """Least, mean and greatest RTT sample."""
    rate_bit_s: float
    """Payload, each byte once, over the time from the first to the last segment."""
    again: int
    """Retransmissions."""
    failed: tuple[str, ...]
    """Conditions that fail."""
    equal: Spread | None
    """Random windows that begin and end at the same cwnd."""
    any: Spread | None
    """Random windows that do not."""

    @property
    def spread_of_peaks(self) -> float:
        """Standard deviation of W over its mean."""
        return float(np.std(self.peaks) / np.mean(self.peaks))


@dataclass(frozen=True)
class _Part:
    """A part measured: one row per run, what is kept of each, and the connections kept whole by case."""

    frame: pl.DataFrame
    seen: dict[int, Seen]
    judged: dict[str, Judged]


_MEASURED: WeakKeyDictionary[rexmit.Results, _Part] = WeakKeyDictionary()
"""By the results, so that parts in which a wrong system does not differ are measured once."""


def _measured(name: str, results: rexmit.Results) -> _Part:
    """Measures each run by a capture at its sender: the connection that sent most."""
    if results in _MEASURED:
        return _MEASURED[results]
    seen: dict[int, Seen] = {}
    judged: dict[str, Judged] = {}
    table = results.table()
    first = table.unique([CASE], keep="first", maintain_order=True) if CASE in table.columns else table
    firsts = dict(first.select("run", CASE).iter_rows()) if CASE in table.columns else {}

    def keep(run: int, found: TcpFriendly) -> None:
        every = [one for looked in found.looked for one in looked.judged]
        if not every:
            return
        most = max(every, key=lambda one: int(one.flow.sent.segments.sum()))
        seen[run] = see(most, with_windows=name == "controlled")
        if name in KEPT and run in firsts:
            judged[firsts[run]] = most

    frame = rexmit.tcp_friendly_runs(results, each=keep)
    most = frame.sort("sent_segments", descending=True, nulls_last=True).unique("run", keep="first")
    _MEASURED[results] = _Part(most.sort("run"), seen, judged)
    return _MEASURED[results]


class Evidence:
    """The results given: some of the parts of the study."""

    def __init__(self, results: Sequence[rexmit.Results]) -> None:
        self._results = {result.name.partition("/")[2]: result for result in results}

    def _part(self, name: str) -> _Part:
        if name not in self._results:
            raise Uncovered(f"needs a folder of klaver-2005/{name}")
        return _measured(name, self._results[name])

    def part(self, name: str) -> pl.DataFrame:
        """The measured runs of a part, the connection that sent most. Raises Uncovered without it."""
        return self._part(name).frame

    def points(self, name: str) -> pl.DataFrame:
        """Means over replications of what is measured in a part, and the parity and verdict of the first."""
        frame = self.part(name)
        by = [factor for factor in self._results[name].factors if factor in frame.columns]
        means = ("p", "p_delivered", "f", "w", "window_cycles", "window_lost", "window_segments", "rtt_ns")
        return frame.group_by(by or ["error"], maintain_order=True).agg(
            pl.col(*means).mean(), pl.col("parity", "failed_conditions", "applies").first()
        )

    def cells(self, name: str) -> dict[str, dict[str, float]]:
        """The means of each case that gave a measurement. Raises Uncovered where none did."""
        found = self.points(name).filter(pl.col("f").is_not_null())
        if found.is_empty():
            raise Uncovered(f"no case of these results of klaver-2005/{name} gave a measurement")
        return {row[CASE]: row for row in found.iter_rows(named=True)}

    def point(self, name: str, case: str) -> dict[str, float]:
        """The means of one case. Raises Uncovered where it is not there or gave no measurement."""
        found = self.points(name).filter(pl.col(CASE) == case)
        if found.is_empty():
            raise Uncovered(f"these results of klaver-2005/{name} have no case '{case}'")
        row = found.row(0, named=True)
        if row["f"] is None:
            raise Uncovered(f"no measurement: what fails is {row['failed_conditions']}")
        return row

    def seen(self, name: str, case: str | None = None) -> list[Seen]:
        """What is kept of each run of a part, or of a case. Raises Uncovered without it."""
        frame = self.part(name)
        if case is not None:
            frame = frame.filter(pl.col(CASE) == case)
        seen = self._part(name).seen
        found = [seen[run] for run in frame["run"] if run in seen]
        if not found:
            raise Uncovered(f"these results of klaver-2005/{name} have no case '{case}'")
        return found

    def judged(self, name: str, case: str) -> Judged:
        """The connection of a case's first run. Raises Uncovered without it."""
        judged = self._part(name).judged
        if case not in judged:
            raise Uncovered(f"these results of klaver-2005/{name} have no case '{case}'")
        return judged[case]

    def cases(self, name: str) -> list[str]:
        """The cases of a part, in its order."""
        found: list[str] = self.part(name)[CASE].unique(maintain_order=True).to_list()
        return found

    def policies(self, counts: str) -> dict[str, dict[str, dict[str, float]]]:
        """The points of `acks` for what the sender counts: by policy of the receiver, by case."""
        points = self.points("acks").filter((pl.col(COUNTS) == counts) & pl.col("f").is_not_null())
        found: dict[str, dict[str, dict[str, float]]] = {}
        for row in points.sort("w").iter_rows(named=True):
            found.setdefault(row[POLICY], {})[row[CASE]] = row
        return found

    def whole_cycles(self) -> list[dict[str, float]]:
        """Points of `acks` with each segment acknowledged and one loss in each cycle, by W."""
        rows = self.policies("segments").get("immediate", {}).values()
        chosen = [row for row in rows if row["window_lost"] == row["window_cycles"]]
        if not chosen:
            raise Uncovered("these results of klaver-2005/acks have no run with each segment acknowledged")
        return chosen


def see(one: Judged, with_windows: bool = False) -> Seen:
    """What is kept of a connection."""
    flow, cycles = one.flow, one.cycles
    sent = flow.sent
    first = _settled(cycles.peak)
    time = (int(sent.time[-1]) - int(sent.time[0])) / 1e9
    rtt = flow.rtt[flow.rtt > 0] / 1e6
    spreads = random_windows(one) if with_windows else (None, None)
    return Seen(
        events=len(flow.events.row),
        halvings=_halvings(flow, cycles.peak),
        by_rule=(_by_rule(flow, 2), _by_rule(flow, 1)),
        peaks=cycles.peak[first:],
        lost=cycles.lost[first:],
        seconds=cycles.time[first:] / 1e9,
        complete=measure(flow, cycles, Window(first, len(cycles), 1)) if len(cycles) - first >= 3 else None,
        selected=one.measured,
        rtt_ms=(float(rtt.min()), float(rtt.mean()), float(rtt.max())),
        rate_bit_s=8 * float(sent.bytes[sent.new].sum()) / time,
        again=int((~sent.new).sum()),
        failed=tuple(found.condition.name for found in one.failed),
        equal=spreads[0],
        any=spreads[1],
    )


def _settled(peaks: Floats) -> int:
    """The first cycle that is in equilibrium: after the one of slow start, W no more than in the second half.

    Section 5.1 measures from where the pattern has begun, with the cwnd that the measurement ends at.
    """
    if len(peaks) < 2:
        return 1
    most = float(peaks[len(peaks) // 2 :].max())
    return 1 + int(np.flatnonzero(peaks[1:] <= most)[0])


def _halvings(flow: Direction, peaks: Floats) -> int:
    """How often cwnd has come near its usual peak from below: the peaks that the thesis counted by eye."""
    if not len(peaks):
        return 0
    high = flow.level > NEAR * float(np.median(peaks))
    return int((high[1:] & ~high[:-1]).sum())


def _by_rule(flow: Direction, reach: int) -> int:
    """Events as appendix B counts them: retransmissions further apart than `reach` times the last RTT."""
    times = flow.sent.time[~flow.sent.new]
    arrived = flow.sent.time[flow.rtt_row] + flow.rtt
    order = np.argsort(arrived, kind="stable")
    last = np.searchsorted(arrived[order], times) - 1
    if not len(times) or not len(order):
        return 0
    near = reach * flow.rtt[order][np.maximum(last, 0)]
    return 1 + int((np.diff(times) > near[1:]).sum())
