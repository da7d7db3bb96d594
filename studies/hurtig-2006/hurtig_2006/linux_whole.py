"""What the page about hurtig-2006 on Linux says of Linux 6.12 and of the long flows: tables, numbers, claims.

It takes the whole of both studies on both kernels, and captures of a sample of their runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl
import rexmit
from rexmit import Study

from . import kernels
from .bursts import MSS
from .kernels import CUT, HELD, SOONER, difference_table, differences, first_packets, first_table
from .linux import DELAY, PATH, POSITION, RATE, STACK
from .linux_facts import (
    COIN,
    CONTROLS,
    FREEBSD,
    Sides,
    long_claims,
    numbers,
    table,
    waits_in_the_middle,
)

KERNEL = "6.12"
"""The kernel that stands beside the default one."""
SAMPLES: dict[str, dict[str, object]] = {
    "short": {"path.delay": ["5 ms", "60 ms", "300 ms"], "path.down.drop": {"position": "2..8,19"}},
    "long": {"path.delay": ["5 ms", "300 ms"], "path.down.drop": {"position": "0,3,20,31,99"}},
}
"""Of which runs captures tell with which packet they begin to differ."""
EXAMPLES = (("10000 kbit/s", "60 ms", 3), ("10000 kbit/s", "5 ms", 19))
"""Short flows with CUBIC whose packets the page shows: path and position."""


SYSCTL = "hosts.client.linux.sysctl"
MIDDLE: dict[str, object] = {
    "design.replications": 1,
    "path.rate": "1000 kbit/s",
    "path.delay": "5 ms",
    "path.down.drop": {"position": "36"},
    "vary.hosts.server.linux": {
        "levels": [{"congestion": "reno", "sack": False}],
        "labels": ["reno, no SACK"],
    },
    f"vary.{SYSCTL}": [{}, {"net.ipv4.tcp_adv_win_scale": 2}],
}
"""A loss in the middle of a long flow that waits on 6.12 and not on 6.1, unless its window is wider."""
LOSS_NS = 430_000_000
"""An instant between the last acknowledgment before that loss shows and the first duplicate."""


@dataclass(frozen=True)
class Pair:
    """The same runs on Linux 6.1 and on the kernel beside it."""

    old: rexmit.Results
    new: rexmit.Results


def sample(flow: str) -> Study:
    """The runs of a flow that are captured: one replication of `SAMPLES`."""
    study = Study.load(f"hurtig-2006/linux-{flow}").set("design.replications", 1)
    for key, levels in SAMPLES[flow].items():
        study = study.set(key, levels)
    return study


def in_the_middle() -> Study:
    """The runs of `MIDDLE`."""
    study = Study.load("hurtig-2006/linux-long")
    for key, value in MIDDLE.items():
        study = study.set(key, value)
    return study


def collect(short: Pair, long: Pair, captured: Mapping[str, Pair], middle: Pair) -> dict[str, str]:
    """Everything that the template of the whole names. Raises AssertionError for a claim that does not hold.

    `captured` are the runs of :func:`sample` with captures, `middle` those of :func:`in_the_middle`.
    """
    frame, far_frame = differences(short.old, short.new), differences(long.old, long.new)
    near = Sides(short.new)
    far = {"6.1": Sides(long.old), KERNEL: Sides(long.new)}
    claims(frame, captured["short"])
    for sides in far.values():
        long_claims(sides)
    beyond = numbers(near)
    facts = {
        "kernel_new": str(short.new.study["kernel"]),
        "runs_short": f"{frame.height:,}",
        "runs_long": f"{far_frame.height:,}",
        "same_short": _share(frame),
        "same_long": _share(far_frame),
        "differences": difference_table(frame),
        "first": first_table([(f"{flow} flows", pair.old, pair.new) for flow, pair in captured.items()]),
        "held": held_table(captured["short"]),
        "sooner": sooner_table(captured["short"]),
        "mean_last": _mean(frame, 19),
        "gain_half_new": beyond["gain_half"],
        "gain_none_new": beyond["gain_none"],
        "gain_paths_new": beyond["gain_paths"],
        "probe_near_new": beyond["probe_near"],
        "timer_near_new": beyond["timer_near"],
        "long": long_table(far),
        "longer": longer_table(long),
        "coin": f"{COIN[0]} kbit/s and {COIN[1]} ms",
        "cubic_waits": _paths(far["6.1"], "cubic, no SACK", 20),
    }
    return facts | _cut(captured["long"]) | _middle(middle) | _flights(long.old)


def claims(frame: pl.DataFrame, captured: Pair) -> None:
    """What the prose says of the short flows on the two kernels without a number."""
    assert (frame["timeouts_server"] == frame["timeouts_server_new"]).all(), (
        "a timer expires on one kernel alone"
    )
    assert set(kernels.positions_that_differ(frame)) <= {2, 3, 4, 5, 6, 7, 8, 19}
    counts = first_packets(captured.old, captured.new)
    assert set(counts) == {HELD, SOONER}, f"short flows begin to differ otherwise: {counts}"
    cubic = frame.filter(pl.col(STACK) == "cubic", pl.col(POSITION) == 19).group_by(RATE, DELAY)
    slower = cubic.agg(pl.col("ms").mean()).filter(pl.col("ms") > 0)
    assert set(slower.select(RATE, DELAY).iter_rows()) == {("8000 kbit/s", "5 ms"), ("10000 kbit/s", "5 ms")}


def held_table(pair: Pair) -> str:
    """When the last segments leave with packet 3 lost, on both kernels."""

    def moments(connection: rexmit.Connection) -> dict[str, float]:
        sent, acks = connection.server.segments, connection.server.acks
        fin, before = int(sent.end.max()), sorted(set(sent.seq[sent.len > 0].tolist()))[-2:]
        first = [float(sent.time_ns[(sent.seq == seq) & (sent.len > 0)].min()) for seq in before]
        return {
            "the last segment but one leaves": first[0],
            "the last segment, with the FIN, leaves": first[1],
            "everything is acknowledged": float(acks.time_ns[acks.ack >= fin].min()),
        }

    return _moments(pair, EXAMPLES[0], moments)


def sooner_table(pair: Pair) -> str:
    """When the last packets are acknowledged and sent again with packet 19 lost, on both kernels."""

    def moments(connection: rexmit.Connection) -> dict[str, float]:
        sent, acks = connection.server.segments, connection.server.acks
        last = int(sent.seq[sent.len > 0].max())
        times = sent.time_ns[(sent.seq == last) & (sent.len > 0)]
        return {
            "packets 18 and 19 leave": float(times[0]),
            "17 is acknowledged": float(acks.time_ns[acks.ack >= last - MSS].min()),
            "18 is acknowledged": float(acks.time_ns[acks.ack >= last].min()),
            "19 is sent again, by the probe": float(times[1]),
        }

    return _moments(pair, EXAMPLES[1], moments)


def _moments(pair: Pair, example: tuple[str, str, int], moments: object) -> str:
    assert callable(moments)
    columns = []
    for results in (pair.old, pair.new):
        rate, delay, position = example
        levels = {"path__rate": rate, "path__delay": delay, "path__down__drop": position}
        run = results.run_number(**levels, hosts__server__linux="cubic")
        assert results.folder is not None
        (connection,) = rexmit.read_capture(results.folder / "captures" / f"run-{run:08d}-server.pcapng")
        columns.append({name: (at - connection.start_ns) / 1e6 for name, at in moments(connection).items()})
    rows = [[name, *(f"{column[name]:,.1f} ms" for column in columns)] for name in columns[0]]
    return table(["", "6.1", KERNEL], rows)


def long_table(far: Mapping[str, Sides]) -> str:
    """Ranges over paths on both kernels, and how many losses in the middle wait for the timer."""
    rows = []
    old, new = far.values()
    for stack in (FREEBSD, *old.stacks):
        sides = (old,) if stack == FREEBSD else (old, new)
        cells = [_ranges(one, stack) for one in sides]
        late, anywhere = ([cell[at] for cell in cells] for at in (1, 2))
        waits = (
            ["-"] if stack == FREEBSD else [f"{sum(waits_in_the_middle(s, stack).values()):,}" for s in sides]
        )
        rows.append([stack, cells[0][0], *(_two(pair) for pair in (late, anywhere, waits))])
    head = ["stack", "paths", "a late loss (%)", "a loss anywhere (%)", "waits at 20 to 90, runs"]
    return table(head, rows)


def _ranges(sides: Sides, stack: str) -> tuple[str, str, str]:
    late = [v for path in sides.costs if (v := sides.percent(stack, path)) is not None]
    anywhere = [v for path in sides.costs if (v := sides.average(stack, path)) is not None]
    texts = [f"{min(values):.1f} to {max(values):.1f}" for values in (late, anywhere)]
    return str(len(late)), texts[0], texts[1]


def _two(cells: list[str]) -> str:
    return cells[0] if len(set(cells)) == 1 else "; ".join(cells)


def longer_table(long: Pair) -> str:
    """On how many paths a stack cuts the stream into one segment more, without loss."""
    rows = []
    for control in CONTROLS:
        cells = []
        for results in (long.old, long.new):
            whole = results.table().filter(pl.col(STACK) == control, pl.col(POSITION) == 0)
            counts = whole.group_by(PATH).agg(pl.col("data_segments").max())["data_segments"]
            assert set(counts.unique()) <= {98, 99}, counts.unique()
            cells.append(f"{(counts == 99).sum()} of {len(counts)}")
        rows.append([control, *cells])
    return table(["99 segments with data instead of 98", "6.1", KERNEL], rows)


def _cut(pair: Pair) -> dict[str, str]:
    """The first segment that has another length, on the slowest path without loss, with CUBIC."""
    levels = {"path__rate": "40 kbit/s", "path__delay": "5 ms", "path__down__drop": 0}
    run = pair.old.run_number(**levels, hosts__server__linux="cubic")
    assert kernels.first_packet(pair.old, pair.new, run) == CUT
    lengths = []
    for results in (pair.old, pair.new):
        assert results.folder is not None
        (connection,) = rexmit.read_capture(results.folder / "captures" / f"run-{run:08d}-server.pcapng")
        sent = connection.server.segments
        lengths.append(sent.len[sent.len > 0].tolist())
    at = next(i for i, (one, two) in enumerate(zip(*lengths, strict=False)) if one != two)
    return {"cut_at": str(at + 1), "cut_old": str(lengths[0][at]), "cut_new": f"{lengths[1][at]:,}"}


def _middle(pair: Pair) -> dict[str, str]:
    """The timer of `MIDDLE` before it decides, on both kernels, and on 6.1 with the wider window."""
    found = []
    for results in (pair.old, pair.new):
        for run, sysctl, timeouts in results.table().select("run", SYSCTL, "timeouts_server").iter_rows():
            states = results.trace(run)["state"].filter(pl.col("host") == "server")
            before = states.filter(pl.col("time_ns") < LOSS_NS)
            found.append((sysctl != "{}", timeouts, before["rto_ns"][-1] // 1_000_000))
    (plain, wide), (new, _) = found[:2], found[2:]
    assert [timeouts for _, timeouts, _ in (plain, wide, new)] == [0, 1, 1], found
    return {"rto_old": str(plain[2]), "rto_wide": str(wide[2]), "rto_new": str(new[2])}


def _flights(results: rexmit.Results) -> dict[str, str]:
    """Most segments in flight without loss, CUBIC without SACK: where it waits, and nearer."""
    found = []
    for paths in (
        (("500 kbit/s", "60 ms"), ("1000 kbit/s", "40 ms")),
        (("500 kbit/s", "100 ms"), ("1000 kbit/s", "60 ms")),
    ):
        most = []
        for rate, delay in paths:
            levels = {"path__rate": rate, "path__delay": delay, "path__down__drop": 0}
            run = results.run_number(**levels, hosts__server__linux="cubic, no SACK")
            states = results.trace(run)["state"].filter(pl.col("host") == "server")
            most.append(int(states["in_flight"].max()) // MSS)  # type: ignore[arg-type]
        found.append(" and ".join(str(one) for one in most))
    assert found[0] < found[1]
    return {"flights_nearer": found[0], "flights_there": found[1]}


def _paths(far: Sides, stack: str, least: int) -> str:
    """The paths on which at least so many of these runs wait."""
    found = [path for path, count in waits_in_the_middle(far, stack).items() if count >= least]
    return " and ".join(f"{rate:,} kbit/s with {ms} ms" for rate, ms in found)


def _share(frame: pl.DataFrame) -> str:
    same = (frame["ms"] == 0).sum() / frame.height
    return f"{100 * same:.0f}"


def _mean(frame: pl.DataFrame, position: int) -> str:
    here = frame.filter(pl.col(STACK) == "cubic", pl.col(POSITION) == position)
    mean = here["ms"].mean()
    assert isinstance(mean, float)
    return f"{abs(mean):.0f}"
