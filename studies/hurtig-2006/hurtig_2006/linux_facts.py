"""What the page about hurtig-2006 on Linux says: tables, numbers, and claims checked on the results."""

from __future__ import annotations

import tempfile
from pathlib import Path

import polars as pl
import rexmit
from rexmit.analyse import PositionCosts

from .figures import reference_of
from .linux import PATH, POSITION, STACK, reference_costs, shares
from .repairs import PROBE, RECOVERY, TIMER, additional_at, average_at, repairs

FREEBSD = "FreeBSD 6.0"
CONTROLS = ("cubic", "reno", "bbr")
SHOWN = ("cubic", "cubic, no TLP", "cubic, no TLP, no RACK", "cubic, no SACK", "reno", "bbr")
PATHS = ((160, 5), (160, 300), (1000, 10), (1000, 100), (10000, 5), (10000, 10), (10000, 300))
REPLICATIONS = 3
COIN = (40, 60)
"""The one path, kbit/s and ms, on which replications differ in whether the timer expires."""
Times = dict[tuple[int, int], dict[int, float]]


def collect(short: rexmit.Results, packets: rexmit.Results, window: rexmit.Results) -> dict[str, str]:
    """What the template names of the short flows. Raises AssertionError for a claim that does not hold."""
    sides = Sides(short)
    facts = {
        "runs_short": f"{len(short):,}",
        "kernel": str(short.study["kernel"]),
        "paths": str(sides.all_paths),
        "late": late_table(sides),
        "positions": positions_table(sides),
        "ranges": ranges_table(sides),
        "packets": packets_table(packets),
        "syn_ack": syn_ack_table(sides),
        "silent": silent_table(sides),
    }
    facts |= numbers(sides)
    facts |= replications(short, sides)
    facts |= reordering_timer(packets)
    facts["probe_new"] = early_probe(short)
    four = repairs(window.table(), POSITION, [*PATH, STACK]).filter(pl.col("position") == 19)
    facts["window_four"] = _ms(four.filter(pl.col(STACK).str.contains("initial_window"))["extra_ms"][0])
    whole = short.table().filter((pl.col(POSITION) == 0) & (pl.col("timeouts_server") > 0))
    assert whole["retransmits"].unique().to_list() == [1], "a timer without loss sends more than one segment"
    claims(sides)
    return facts


class Sides:
    """A study on Linux and FreeBSD 6.0 of the model on the same paths, by stack."""

    def __init__(self, results: rexmit.Results) -> None:
        frame, model = results.table(), reference_of(results).table()
        self.costs = {_path(cost): cost for cost in reference_costs(model)}
        self.repaired = {FREEBSD: repairs(model, POSITION, PATH)}
        mine = repairs(frame, POSITION, [*PATH, STACK])
        self.stacks: tuple[str, ...] = tuple(frame[STACK].unique(maintain_order=True))
        for stack in self.stacks:
            self.repaired[stack] = mine.filter(pl.col(STACK) == stack)
        self.all_paths = frame.select(PATH).n_unique()
        self.times = {stack: _times(part, "time_ms") for stack, part in self.repaired.items()}
        self.extra = {stack: _times(part, "extra_ms") for stack, part in self.repaired.items()}

    def percent(self, stack: str, path: tuple[int, int]) -> float | None:
        """Additional time of a late loss, at the positions at which FreeBSD 6.0 waits."""
        return self._relative(stack, path, additional_at)

    def average(self, stack: str, path: tuple[int, int]) -> float | None:
        """The same of a loss anywhere."""
        return self._relative(stack, path, average_at)

    def _relative(self, stack: str, path: tuple[int, int], measure: object) -> float | None:
        cost, times = self.costs.get(path), self.times[stack].get(path)
        if cost is None or times is None or not callable(measure):
            return None
        value = measure(cost, times)
        return None if value is None else 100 * float(value)

    def by_repair(self, stack: str, repair: str, share: float = 0.5) -> list[int]:
        """Positions whose loss is repaired so on more than that share of the paths."""
        parts = shares(self.repaired[stack])
        return [position for position, kinds in parts.items() if kinds.get(repair, 0) > share]


def _times(repaired: pl.DataFrame, column: str) -> Times:
    answer: Times = {}
    means = repaired.group_by(*PATH, "position").agg(pl.col(column).mean()).sort(*PATH, "position")
    for rate, delay, position, value in means.iter_rows():
        answer.setdefault((rate // 1000, delay // 1_000_000), {})[position] = value
    return answer


def _path(cost: PositionCosts) -> tuple[int, int]:
    rate, delay = (int(str(cost.group[name])) for name in PATH)
    return rate // 1000, delay // 1_000_000


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown, numbers to the right."""
    marks = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, marks, *rows])


def late_table(sides: Sides) -> str:
    """Time beyond that without loss, for the last three packets with data."""
    rows = []
    for stack in (FREEBSD, *SHOWN):
        for at in (17, 18, 19):
            name = stack if at == 17 else ""
            extra = sides.extra[stack]
            cells = [_ms(extra[path][at]) if path in extra else "-" for path in PATHS]
            rows.append([name, str(at), *cells])
    return table(["stack", "lost", *[f"{a:,} kbit/s, {b} ms" for a, b in PATHS]], rows)


def positions_table(sides: Sides) -> str:
    """Which positions wait for what on more than half of the paths."""
    rows = []
    for stack in (FREEBSD, *sides.stacks):
        kinds = [span(sides.by_repair(stack, repair)) for repair in (RECOVERY, PROBE, TIMER)]
        rows.append([stack, *kinds])
    return table(["stack", "fast, or by SACK and RACK", "tail loss probe", "timer"], rows)


def ranges_table(sides: Sides) -> str:
    """Least and greatest additional times over all paths."""
    rows = []
    for stack in (FREEBSD, *sides.stacks):
        late = [v for path in sides.costs if (v := sides.percent(stack, path)) is not None]
        anywhere = [v for path in sides.costs if (v := sides.average(stack, path)) is not None]
        rows.append([stack, str(len(late)), *(_range(values) for values in (late, anywhere))])
    return table(["stack", "paths", "a late loss (%)", "a loss anywhere (%)"], rows)


def syn_ack_table(sides: Sides) -> str:
    """What losing the SYN-ACK costs."""
    rows = []
    for stack in (FREEBSD, "cubic", "reno", "bbr"):
        values = sorted(times[1] for times in sides.extra[stack].values())
        rows.append([stack, _ms(values[0]), _ms(values[len(values) // 2]), _ms(values[-1])])
    return table(["stack", "least (ms)", "median (ms)", "most (ms)"], rows)


def silent_table(sides: Sides) -> str:
    """On how many paths the timer expires without any loss, in every run and in some."""
    rows = []
    for stack in (FREEBSD, *sides.stacks):
        calm = sides.repaired[stack].filter(pl.col("position") == 0)
        runs = calm.group_by(PATH).len()["len"].to_list()
        some = sum(1 for count in runs if count < REPLICATIONS)
        rows.append([stack, str(sides.all_paths - len(runs)), str(some)])
    return table(["stack", f"of {sides.all_paths} paths, in every run", "in some runs"], rows)


def replications(results: rexmit.Results, sides: Sides) -> dict[str, str]:
    """What differs between the replications of a run: by how much, and whether in kind."""
    by = [*PATH, STACK, "position"]
    repaired = pl.concat(sides.repaired[stack] for stack in sides.stacks)
    whole = repaired.group_by(by).agg(
        (pl.col("time_ms").max() - pl.col("time_ms").min()).alias("spread"),
        pl.col("repair").n_unique().alias("kinds"),
        pl.len(),
    )
    on_coin = (pl.col(PATH[0]) == COIN[0] * 1000) & (pl.col(PATH[1]) == COIN[1] * 1_000_000)
    assert whole.filter(pl.col("len") < REPLICATIONS, ~on_coin).is_empty(), "another path is a toss"
    mixed = whole.filter((pl.col("kinds") > 1) | (pl.col("len") < REPLICATIONS), pl.col("position") > 0)
    elsewhere = mixed.filter(~on_coin)
    assert elsewhere[STACK].str.contains("no SACK|no RACK").all()

    def middle(*positions: int) -> str:
        spread = whole.filter(pl.col("position").is_in(positions))["spread"].median()
        assert isinstance(spread, float)
        return f"{spread:.1f}" if spread < 10 else f"{spread:.0f}"

    return {
        "replications": str(REPLICATIONS),
        "spread_none": middle(0),
        "spread_fast": middle(*range(2, 17)),
        "spread_syn_ack": middle(1),
        "spread_last": middle(19),
        "cells": f"{whole.filter(pl.col('position') > 0).height:,}",
        "mixed_coin": f"{mixed.height - elsewhere.height:,}",
        "mixed_else": f"{elsewhere.height:,}",
        "coin": f"{COIN[0]} kbit/s and {COIN[1]} ms",
    }


def packets_table(results: rexmit.Results) -> str:
    """How each loss was repaired on one path, from the captures at the server."""
    assert results.folder is not None
    frame = results.table()
    stacks = SHOWN[:4]
    rows = []
    for position in range(2, 20):
        cells = []
        for stack in stacks:
            row = frame.filter((pl.col(POSITION) == position) & (pl.col(STACK) == stack)).row(0, named=True)
            capture = results.folder / "captures" / f"run-{row['run']:08d}-server.pcapng"
            cells.append(_told(capture, int(row["timeouts_server"])))
        rows.append([str(position), *cells])
    return table(["lost", *stacks], rows)


def reordering_timer(results: rexmit.Results) -> dict[str, str]:
    """The least and the longest wait of RACK's timer after a report, on the path of the captures."""
    waits = [float(word.split()[-3]) for word in packets_table(results).split("|") if "ms later" in word]
    return {"rack_least": f"{min(waits):.1f}", "rack_most": f"{max(waits):.1f}"}


def early_probe(results: rexmit.Results) -> str:
    """When a probe of new data follows the first ten segments, at 80 kbit/s and 5 ms without loss."""
    levels = {"path__rate": "80 kbit/s", "path__delay": "5 ms", "path__down__drop": 0}
    run = results.run_number(**levels, hosts__server__linux="cubic")
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "server.pcapng"
        row = results.capture(run, server=capture)
        sent = rexmit.read_capture(capture)[0].server.segments
    assert row["timeouts_server"] == 1, "the timer is silent at 80 kbit/s and 5 ms"
    times = sent.time_ns[sent.len > 0]
    assert times[9] == times[0], "the first window is not of ten segments"
    return f"{(int(times[10]) - int(times[9])) / 1e6:.0f}"


def _told(capture: Path, timeouts: int) -> str:
    """The first retransmission of the server's data in a few words."""
    again = rexmit.analyze(capture).retransmissions.filter((pl.col("side") == "server") & (pl.col("len") > 0))
    first = again.row(0, named=True)
    wait = (first["since_ack_ns"] or 0) / 1e6
    if timeouts:
        return f"timer, {wait:.0f} ms"
    if first["cause"] == "tail-probe":
        return f"probe, {wait:.0f} ms"
    if first["duplicates"] >= 3 or first["sacked"] >= 3:
        return "third report"
    count = f"{first['sacked']} reported"
    return f"RACK, {count}" if wait < 0.5 else f"RACK, {count}, {wait:.1f} ms later"


def numbers(sides: Sides) -> dict[str, str]:
    """Numbers that the prose names."""
    extra = sides.extra
    near, middle, far = (10000, 5), (1000, 10), (10000, 300)
    facts = {
        "freebsd_worst": f"{sides.percent(FREEBSD, near):.0f}",
        "linux_worst_there": f"{sides.percent('cubic', near):.0f}",
        "no_tlp_worst_there": f"{sides.percent('cubic, no TLP', near):.0f}",
        "no_sack_worst_there": f"{sides.percent('cubic, no SACK', near):.0f}",
        "probe_near": _ms(extra["cubic"][near][19]),
        "timer_near": _ms(extra["cubic, no TLP"][near][19]),
        "probe_middle": _ms(extra["cubic"][middle][19]),
        "timer_middle": _ms(extra["cubic, no TLP"][middle][19]),
        "freebsd_middle": _ms(extra[FREEBSD][middle][19]),
        "rack_middle": _ms(extra["cubic"][middle][18]),
        "freebsd_18_middle": _ms(extra[FREEBSD][middle][18]),
        "probe_far": _ms(extra["cubic"][far][19]),
        "timer_far": _ms(extra["cubic, no TLP"][far][19]),
        "freebsd_far": _ms(extra[FREEBSD][far][19]),
    }
    times = sides.times
    facts |= {
        "bbr_far": _ms(times["bbr"][far][0] - times["cubic"][far][0]),
        "whole_far": _ms(times["cubic"][far][0]),
        "bbr_eight": _ms(times["bbr"][1000, 300][8]),
        "cubic_eight": _ms(times["cubic"][1000, 300][8]),
    }
    gains = _gains(sides)
    facts["gain_none"] = str(sum(1 for gain in gains if gain < 0.1))
    facts["gain_half"] = str(sum(1 for gain in gains if gain > 0.5))
    facts["gain_paths"] = str(len(gains))
    facts["slower_than_freebsd"] = str(
        sum(
            1
            for path, times in extra["cubic"].items()
            if path in sides.costs and times[19] > extra[FREEBSD][path][19]
        )
    )
    return facts


def _gains(sides: Sides) -> list[float]:
    """The part of a wait at 19 that the probe saves, on each path."""
    with_probe, without = sides.extra["cubic"], sides.extra["cubic, no TLP"]
    return [1 - with_probe[path][19] / without[path][19] for path in with_probe if path in without]


def claims(sides: Sides) -> None:
    """What the prose says of the short flows without a number."""
    with_probe, without = (sides.extra[stack][10000, 10][19] for stack in ("cubic", "cubic, no TLP"))
    assert abs(with_probe / without - 1) < 0.05, "the probe wins at 10,000 kbit/s and 10 ms"
    assert (80, 5) in sides.times["cubic, no TLP"], "the timer expires without loss and without probes"
    for control in CONTROLS:
        whole = sides.repaired[control]
        assert not whole.filter(pl.col("repair") == TIMER).height, f"{control}: a loss waits for the timer"
        assert sides.by_repair(control, PROBE, 0) == [19], control
        beyond = [times[18] - 2.5 * ms for (_, ms), times in sides.extra[control].items()]
        assert max(beyond) < 30, f"{control}: {max(beyond)} ms more than a round trip and a quarter"
        assert sides.by_repair(f"{control}, no TLP", TIMER) == [19], control
        assert sides.by_repair(f"{control}, no TLP, no RACK", TIMER) == [17, 18, 19], control
        assert sides.by_repair(f"{control}, no SACK", TIMER) == [17, 18, 19], control


def long_claims(far: Sides) -> None:
    """What the prose says of the long flows without a number."""
    for control in CONTROLS:
        assert far.by_repair(control, PROBE) == [99], control
        assert far.by_repair(f"{control}, no SACK", TIMER)[-3:] == [97, 98, 99], control
    for stack in far.stacks:
        found = set(waits_in_the_middle(far, stack))
        if stack == "reno, no SACK":
            assert {rate for rate, _ in found} == {40, 80, 160, 500, 1000}, found
        elif stack == "cubic, no SACK":
            assert (
                {(500, 100), (1000, 60)}
                <= found
                <= {(500, 100), (1000, 60), (500, 20), (1000, 10), (1000, 20)}
            )
        elif stack == "bbr, no SACK":
            assert found <= {(500, 200), (1000, 100)}, found
        else:
            assert not found, f"{stack} waits in the middle of long flows: {found}"


def waits_in_the_middle(far: Sides, stack: str) -> dict[tuple[int, int], int]:
    """Runs that lose one of the packets 20 to 90 and wait for the timer, by path; but for `COIN`."""
    waits = far.repaired[stack].filter((pl.col("repair") == TIMER) & pl.col("position").is_between(20, 90))
    counts = waits.group_by(PATH).len().sort(PATH)
    found = {(rate // 1000, delay // 1_000_000): count for rate, delay, count in counts.iter_rows()}
    return {path: count for path, count in found.items() if path != COIN}


def span(positions: list[int]) -> str:
    """Such as `2-18`; a dash for none."""
    runs: list[list[int]] = []
    for at in positions:
        if runs and at == runs[-1][1] + 1:
            runs[-1][1] = at
        else:
            runs.append([at, at])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs) or "-"


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}" if values else "-"


def _ms(value: float) -> str:
    return f"{value + 0.0:,.0f}".replace("-0", "0")
