"""What the thesis's own scripts make of a log, appendices E to J, from intervals of a second.

A log has a line for each write of 1460 bytes, so a mean over lines is one weighted by bytes written, which
intervals hold. Nothing is left out: slow start, losses, the first seconds of the upload are in. The interval
in which the upload starts counts as time with both.
"""

from __future__ import annotations

import math
from typing import Any

import polars as pl
from rexmit import Results
from rexmit.analyse import over_span, two_way
from rexmit.analyse.both_ways import TwoWaySpans

PACKET = 1500
READINGS = {
    "performance_script": "(1.2) by the scripts: the smaller of both cwnd x 8 / RTT, over its rate",
    "performance_true": "(1.2) by its words: the smaller of both true goodputs, over its rate",
    "net_script": "net of appendix I, from the scripts' throughputs",
    "net_true": "net of appendix I, from true goodput",
    "down_script_all": "the download alone, by the scripts",
    "down_true": "the download alone, true goodput",
    "performance_written": "(1.2) from the log's last column: written since the first write",
}
"""What `performance` may be in the text (measures of `runs_of`), and in words."""
COMPARED = "performance_script"
"""Equation 1.2 of the throughputs that appendices E and F compute: the only ones that the thesis computes."""
SECOND = 10**9
WHOLE = 10**18


def runs_of(results: Results) -> pl.DataFrame:
    """One row per run of `two_way`, and beside its measures those of the scripts.

    `alone_rtt_log` (ms), `cwnd_down`, `cwnd_up` (bytes), `rtt_down_log`, `rtt_up_log` (ms), `rtt_sd_log`
    (ms, appendix J), `bdp_down` (bytes), the readings of :data:`READINGS` (shares), `window_down_log`,
    `window_up_log` (appendix G), `bound_log` (whole packets, appendix H, windows of whole logs), `bound_both`
    (windows from the upload's start on), `goodput_sd`, `goodput_variation` (of the download in intervals of
    a second while both run, bit/s and share of the mean), `timeouts_at_start` (of the download, 15 s).
    """
    runs = two_way(results)
    intervals = results.intervals()
    parts = {run: part for (run,), part in intervals.partition_by("run", as_dict=True).items()}
    spec = results.spec()
    rows = [
        {"run": row["run"]} | _of_run(parts[row["run"]], TwoWaySpans.of(spec.scenario_of(row["run"])), row)
        for row in runs.iter_rows(named=True)
    ]
    return runs.join(pl.DataFrame(rows, infer_schema_length=None), on="run")


def estimate(windows: tuple[int, int], rtt: float, up_rate: float) -> int:
    """Appendix H: whole numbers, each division rounded down. Windows in bytes, `rtt` in seconds, bit/s."""
    return ((windows[0] - windows[1]) // 2 - int(rtt * up_rate / 8)) // PACKET


def _of_run(intervals: pl.DataFrame, spans: TwoWaySpans, row: dict[str, Any]) -> dict[str, Any]:
    first_of_both = spans.upload // SECOND * SECOND
    alone = _by_host(intervals, 0, first_of_both)["server"]
    both = _by_host(intervals, first_of_both, spans.end + SECOND)
    whole = _by_host(intervals, 0, WHOLE)
    down = {name: math.nan if value is None else value for name, value in both["server"].items()}
    up = whole["client"]
    script = _throughput(down), _throughput(up)
    true = tuple(both[host]["bytes"] * 8e9 / (spans.end - spans.upload) for host in ("server", "client"))
    written = whole["server"]["written"] * 8e9 / spans.end, up["written"] * 8e9 / (spans.end - spans.upload)
    rates = row["down_rate"], row["up_rate"]
    logs = whole["server"]["cwnd_max"], up["cwnd_max"] or 0
    rtt = alone["srtt_mean_ns"] / 1e9
    per_second = _goodput(intervals, spans)
    return {
        "alone_rtt_log": rtt * 1e3,
        "cwnd_down": down["cwnd_mean"],
        "cwnd_up": up["cwnd_mean"] or 0.0,
        "rtt_down_log": down["srtt_mean_ns"] / 1e6,
        "rtt_up_log": (up["srtt_mean_ns"] or math.nan) / 1e6,
        "rtt_sd_log": down["srtt_sd_ns"] / 1e6,
        "bdp_down": down["srtt_mean_ns"] / 8e9 * rates[0],
        "bdp_excess": down["srtt_mean_ns"] / 8e9 * rates[0] - down["cwnd_mean"],
        "cwnd_ratio": down["cwnd_mean"] / (up["cwnd_mean"] or math.nan),
        "throughput_ratio": script[0] / (script[1] or math.nan),
        "throughput_down": script[0],
        "throughput_up": script[1],
        "goodput_down": true[0],
        "goodput_up": true[1],
        "performance_script": min(script[0] / rates[0], script[1] / rates[1]),
        "performance_true": min(true[0] / rates[0], true[1] / rates[1]),
        "net_script": sum(script) / sum(rates),
        "net_true": sum(true) / sum(rates),
        "down_script_all": script[0] / rates[0],
        "down_true": true[0] / rates[0],
        "performance_written": min(written[0] / rates[0], written[1] / rates[1]),
        "window_down_log": logs[0],
        "window_up_log": logs[1],
        "bound_log": estimate(logs, rtt, rates[1]),
        "bound_both": estimate((row["down_window"] or 0, row["up_window"] or 0), rtt, rates[1]),
        "goodput_sd": float(per_second.std() or 0),  # type: ignore[arg-type]
        "goodput_variation": float(per_second.std() or 0) / float(per_second.mean() or math.nan),  # type: ignore[arg-type]
        "timeouts_at_start": _timeouts(intervals, first_of_both),
        "growth": _growth(intervals, spans),
    }


def _throughput(row: dict[str, Any]) -> float:
    """Mean cwnd x 8 over mean RTT (appendices E and F), bit/s; 0 of a connection that never came to write."""
    return 8e9 * row["cwnd_mean"] / row["srtt_mean_ns"] if row["srtt_mean_ns"] else 0.0


def _by_host(intervals: pl.DataFrame, begin: int, end: int) -> dict[str, dict[str, Any]]:
    return {row["host"]: row for row in over_span(intervals, begin, end).iter_rows(named=True)}


def _goodput(intervals: pl.DataFrame, spans: TwoWaySpans) -> pl.Series:
    """Of the download, bit/s in each second of the time with both."""
    inside = (pl.col("from_ns") >= spans.upload) & (pl.col("to_ns") <= spans.end)
    return intervals.filter(inside & (pl.col("host") == "server"))["goodput_bit_s"]


def _timeouts(intervals: pl.DataFrame, begin: int) -> int:
    inside = pl.col("from_ns").is_between(begin, begin + 15 * SECOND, closed="left")
    return int(intervals.filter(inside & (pl.col("host") == "server"))["timeouts"].sum())


def _growth(intervals: pl.DataFrame, spans: TwoWaySpans) -> float:
    """By how many bytes a second the download's window grows where it grows, while both run (median)."""
    inside = (pl.col("from_ns") >= spans.both[0]) & (pl.col("to_ns") <= spans.both[1])
    steps = intervals.filter(inside & (pl.col("host") == "server")).sort("from_ns")["cwnd_mean"].diff()
    found = steps.filter(steps > 0).median()
    return math.nan if found is None else float(found)  # type: ignore[arg-type]
