"""A download, and later an upload beside it: what each gets, alone and together, from measured intervals.

The measures of merritt-2010, each in the readings that its text allows; they hold for any such scenario.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rexmit import _native
from rexmit.errors import UsageError
from rexmit.models import FULL_PACKET, uplink_buffer_bound
from rexmit.run import Results
from rexmit.run.columns import design_columns
from rexmit.study.settings import path_setting

SETTLE_NS = 10_000_000_000
"""What is left out after each start: slow start and the recovery from its losses."""


@dataclass(frozen=True)
class TwoWaySpans:
    """When one run's download is alone and when both transfers run, ns from the start of the run."""

    upload: int
    """Where the upload is started."""
    end: int
    """Where the first of the two ends."""
    settle: int = SETTLE_NS

    @property
    def alone(self) -> tuple[int, int]:
        """The download alone, without the time it needs to settle."""
        return self.settle, self.upload

    @property
    def both(self) -> tuple[int, int]:
        """Both, without the time the upload needs to settle."""
        return self.upload + self.settle, self.end

    @property
    def together(self) -> tuple[int, int]:
        """Both, from the upload's first moment."""
        return self.upload, self.end

    @classmethod
    def of(cls, scenario: dict[str, Any], settle: int = SETTLE_NS) -> TwoWaySpans:
        """The spans of a scenario with a download from the server and a later upload from the client.

        Raises UsageError where it does not have one of each, each a `bulk` for a time.
        """
        starts, ends = {}, {}
        for transfer in scenario.get("transfers", []):
            side = transfer.get("from", "server")
            if side in starts or int(transfer.get("connections", 1)) != 1:
                raise UsageError(f"has several transfers from the {side}; two-way measures are for one each")
            starts[side] = _native.parse_duration(transfer.get("start", "0 s"))
            try:
                ends[side] = starts[side] + _native.parse_duration(str(transfer.get("bulk")))
            except ValueError:
                raise UsageError(f'the transfer from the {side} needs a time: bulk = "240 s"') from None
        if set(starts) != {"server", "client"}:
            raise UsageError("needs a download from the server and an upload from the client")
        if starts["client"] <= starts["server"] + settle:
            raise UsageError("the upload has to start later, so that the download is seen alone")
        return cls(starts["client"], min(ends.values()), settle)


def over_span(intervals: pl.DataFrame, begin_ns: int, end_ns: int, by: Sequence[str] = ()) -> pl.DataFrame:
    """Intervals (:meth:`rexmit.Results.intervals`) that lie wholly within a span, put together.

    A row for each run and sender, and for each value of the columns `by`, with `from_ns`, `to_ns`, `bytes`,
    `goodput_bit_s`, `written`, `data_segments`, `retransmits`, `timeouts`, `fast_retransmits`, and of the
    state after writes, weighted by their bytes as in the intervals: `cwnd_mean`, `cwnd_max`, `srtt_mean_ns`,
    `srtt_sd_ns`. Intervals must not overlap.
    """
    inside = intervals.filter((pl.col("from_ns") >= begin_ns) & (pl.col("to_ns") <= end_ns))
    weight = pl.when(pl.col("srtt_mean_ns").is_not_null()).then(pl.col("written"))
    mean = (weight * pl.col("srtt_mean_ns")).sum() / weight.sum()
    square = (weight * (pl.col("srtt_mean_ns") ** 2 + pl.col("srtt_sd_ns") ** 2)).sum() / weight.sum()
    sums = ("bytes", "written", "data_segments", "retransmits", "timeouts", "fast_retransmits")
    seconds = (pl.col("to_ns") - pl.col("from_ns")).sum() / 1e9
    return inside.group_by([*by, "run", "host"], maintain_order=True).agg(
        pl.col("from_ns").min(),
        pl.col("to_ns").max(),
        *(pl.col(name).sum() for name in sums),
        (pl.col("bytes").sum() * 8 / seconds).alias("goodput_bit_s"),
        ((weight * pl.col("cwnd_mean")).sum() / weight.sum()).alias("cwnd_mean"),
        pl.col("cwnd_max").max(),
        mean.alias("srtt_mean_ns"),
        (square - mean**2).clip(lower_bound=0).sqrt().alias("srtt_sd_ns"),
    )


def two_way(results: Results, settle: int = SETTLE_NS) -> pl.DataFrame:
    """What download and upload got in each run of results with `intervals` of a second or so.

    One row per run: `run`, `replication`, the factors, and

    - `down_rate`, `up_rate`: of the path, bit/s; `up_queue`: its buffer there as written, null for none
    - `alone_goodput` (bit/s), `alone_rtt_ms`: of the download before the upload starts
    - `down_goodput`, `up_goodput` (bit/s), `down_share`, `up_share` (of the rate): while both run
    - `performance`: the smaller share, merritt-2010 (1.2)
    - `down_script`, `up_script`: shares as its scripts take them, mean cwnd over mean RTT of log lines
    - `down_rtt_ms`, `up_rtt_ms`, `down_rtt_sd_ms`: smoothed RTT, weighted by what was written
    - `down_window`, `up_window`: largest cwnd, bytes, from the upload's start on (W_D, W_U)
    - `bound`: what (6.6) allows for these windows and the RTT alone, packets
    - `same_direction`, `correlation`: how the two windows move together, :func:`window_phase`

    `settle` (ns) is left out after each start, except for the windows. Raises UsageError for results without
    intervals, or with another kind of scenario.
    """
    intervals = results.intervals()
    table = results.table()
    spec = results.spec()
    runs = {number: part for (number,), part in intervals.partition_by("run", as_dict=True).items()}
    rows = []
    for levels in table.select(design_columns(table.columns)).iter_rows(named=True):
        scenario = spec.scenario_of(levels["run"])
        try:
            spans = TwoWaySpans.of(scenario, settle)
        except UsageError as error:
            raise UsageError(f"{results.name}: {error}") from None
        rows.append(levels | _measures(runs[levels["run"]], spans, scenario, results.name))
    return pl.DataFrame(rows, infer_schema_length=None)


def window_phase(intervals: pl.DataFrame) -> tuple[float, float]:
    """How the windows of two senders move together in intervals of one run: two numbers from -1 to 1.

    The first is the share of steps from one interval to the next in which both mean windows move in the same
    direction, less the share in which they move in opposite directions: what merritt-2010, section 5.1.1,
    calls in phase and out of phase. It is high for windows that climb most of the time, however their losses
    fall. The second is the correlation of the two, each less its straight line through the span: above zero
    where they are high together. A window without a write keeps its value. NaN where a sender has none.
    """
    series = {}
    for host in ("server", "client"):
        column = intervals.filter(pl.col("host") == host).sort("from_ns")["cwnd_mean"]
        series[host] = column.fill_null(strategy="forward").fill_null(strategy="backward").to_numpy()
    down, up = series["server"], series["client"]
    if len(down) < 3 or len(down) != len(up) or not (np.isfinite(down).all() and np.isfinite(up).all()):
        return float("nan"), float("nan")
    same = np.sign(np.diff(down)) * np.sign(np.diff(up))
    down, up = _level(down), _level(up)
    spread = float(np.sqrt((down @ down) * (up @ up)))
    return float(same.mean()), float(down @ up) / spread if spread else float("nan")


def crossing(points: Sequence[tuple[float, float]]) -> float | None:
    """Where an estimate meets the buffer that it was measured with (merritt-2010, figure 6.2), in packets.

    `points` are buffers, ascending, each with the bound that (6.6) gives there. Straight between them; None
    where the estimate lies below the smallest buffer, the largest buffer where it never comes down to it.
    """
    before: tuple[float, float] | None = None
    for buffer, bound in points:
        if bound <= buffer:
            if before is None:
                return None
            above, below = before[1] - before[0], buffer - bound
            return before[0] + (buffer - before[0]) * above / (above + below)
        before = buffer, bound
    return None if before is None else before[0]


def _measures(
    intervals: pl.DataFrame, spans: TwoWaySpans, scenario: dict[str, Any], name: str
) -> dict[str, Any]:
    alone, both, together = (
        {row["host"]: row for row in over_span(intervals, *span).iter_rows(named=True)}
        for span in (spans.alone, spans.both, spans.together)
    )
    if "server" not in alone or set(both) != {"server", "client"}:
        raise UsageError(f'{name}: no interval lies within the spans; give the scenario intervals = "1 s"')
    down_rate, up_rate = (_rate(scenario, direction) for direction in ("down", "up"))
    down, up, first = both["server"], both["client"], alone["server"]
    shares = down["goodput_bit_s"] / down_rate, up["goodput_bit_s"] / up_rate
    windows = together["server"]["cwnd_max"], together["client"]["cwnd_max"]
    inside = intervals.filter((pl.col("from_ns") >= spans.both[0]) & (pl.col("to_ns") <= spans.both[1]))
    same, correlation = window_phase(inside)
    return {
        "down_rate": down_rate,
        "up_rate": up_rate,
        "up_queue": path_setting(scenario, "up", "queue"),
        "alone_goodput": first["goodput_bit_s"],
        "alone_rtt_ms": first["srtt_mean_ns"] / 1e6,
        "down_goodput": down["goodput_bit_s"],
        "up_goodput": up["goodput_bit_s"],
        "down_share": shares[0],
        "up_share": shares[1],
        "performance": min(shares),
        "down_script": _script(down) / down_rate,
        "up_script": _script(up) / up_rate,
        "down_rtt_ms": _ms(down["srtt_mean_ns"]),
        "up_rtt_ms": _ms(up["srtt_mean_ns"]),
        "down_rtt_sd_ms": _ms(down["srtt_sd_ns"]),
        "down_window": windows[0],
        "up_window": windows[1],
        "bound": _bound(windows, first["srtt_mean_ns"] / 1e9, up_rate),
        "same_direction": same,
        "correlation": correlation,
    }


def _bound(windows: tuple[int | None, int | None], rtt: float, up_rate: float) -> float:
    if None in windows:
        return float("nan")
    return float(uplink_buffer_bound(windows[0] or 0, windows[1] or 0, rtt, up_rate, FULL_PACKET))


def _script(row: dict[str, Any]) -> float:
    """Throughput as the download averaging script has it (appendices E and F): mean cwnd x 8 / mean RTT."""
    if row["srtt_mean_ns"] is None:
        return float("nan")
    return float(row["cwnd_mean"]) * 8e9 / float(row["srtt_mean_ns"])


def _ms(nanoseconds: float | None) -> float:
    return float("nan") if nanoseconds is None else nanoseconds / 1e6


def _level(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values less the straight line that fits them best."""
    at = np.arange(len(values)) - (len(values) - 1) / 2
    values = values - values.mean()
    return values - at * float(at @ values) / float(at @ at)


def _rate(scenario: dict[str, Any], direction: str) -> float:
    given = path_setting(scenario, direction, "rate")
    if given is None:
        raise UsageError(f"path.{direction}.rate: is missing; shares of it cannot be computed")
    return float(_native.parse_rate(given))
