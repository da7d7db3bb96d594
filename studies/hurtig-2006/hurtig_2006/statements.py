"""Checks of published statements that a table of runs answers."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean, median

from rexmit.analyse import Check, Published

from .flows import Evidence, Flow

Function = Callable[[Published, Evidence], Check]
PATHOLOGICAL = (5, 10, 20)
"""Delays in ms at which the thesis saw spurious timeouts at 40 kbit/s."""
LOW = (5, 10)
"""Delays in ms taken for the thesis's 'low delay'."""


def _slow_and_peaked(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    delays = [ms for _, ms in flow.paths(kbit_s=[40])]
    level = {ms: mean(flow.time(40, ms, position) for position in range(2, 21)) for ms in delays}
    bad = [ms for ms in delays if ms in PATHOLOGICAL]
    slower = all(level[ms] > level[40] for ms in bad)
    peaks = {ms: _peaks(flow, ms) for ms in bad}
    shown = "; ".join(f"{ms} ms: {', '.join(map(str, found)) or 'none'}" for ms, found in peaks.items())
    means = ", ".join(f"{level[ms]:.0f}" for ms in bad)
    ours = f"mean time {means} ms against {level[40]:.0f} at 40 ms; peaks {shown}"
    return Check.of_statement(published, slower and all(found == [14, 20] for found in peaks.values()), ours)


def _peaks(flow: Flow, ms: int) -> list[int]:
    """Positions after the SYN-ACK whose loss takes over a quarter longer than the median position's."""
    times = {position: flow.time(40, ms, position) for position in range(2, 21)}
    usual = median(times.values())
    return [position for position, time in times.items() if time > 1.25 * usual]


def _three_inhibited(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    paths = flow.paths(kbit_s=[80], ms=LOW) + flow.paths(kbit_s=[40], ms=[40, 60])
    return _inhibited(published, flow, paths, (17, 18, 19))


def _four_inhibited(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    paths = [path for path in flow.paths(ms=LOW) if path[0] >= 160]
    return _inhibited(published, flow, paths, (16, 17, 18, 19))


def _inhibited(
    published: Published, flow: Flow, paths: list[tuple[int, int]], expected: tuple[int, ...]
) -> Check:
    held = [path for path in paths if flow.costs[path].inhibited == expected]
    others = [
        f"{path[0]} kbit/s, {path[1]} ms: {', '.join(map(str, flow.costs[path].inhibited)) or 'none'}"
        for path in paths
        if path not in held
    ]
    ours = f"on {len(held)} of {len(paths)} paths"
    return Check.of_statement(published, len(held) == len(paths), ours, "; ".join(others))


def _early_loss_worse(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    early = flow.time(160, 300, 4)
    late = [flow.time(160, 300, position) for position in (17, 18, 19)]
    ours = f"{early:.0f} ms at position 4, {', '.join(f'{t:.0f}' for t in late)} ms at 17 to 19 (300 ms)"
    return Check.of_statement(published, early > max(late), ours)


def _spurious(published: Published, evidence: Evidence) -> Check:
    flow = evidence.short
    timed_out = sorted(ms for kbit_s, ms in flow.paths(kbit_s=[40]) if flow.timeouts(kbit_s, ms, 0) > 0)
    elsewhere = [path for path in flow.paths() if path[0] != 40 and flow.timeouts(*path, 0) > 0]
    expected = [ms for _, ms in flow.paths(kbit_s=[40]) if ms in PATHOLOGICAL]
    ours = f"timeouts without loss at {', '.join(map(str, timed_out)) or 'no'} ms"
    note = f"and elsewhere: {elsewhere}" if elsewhere else ""
    return Check.of_statement(published, timed_out == expected and not elsewhere, ours, note)


STATEMENTS: dict[str, Function] = {
    "P-000-9": _slow_and_peaked,
    "P-000-12": _three_inhibited,
    "P-000-13": _four_inhibited,
    "P-000-14": _early_loss_worse,
    "P-000-20": _spurious,
}
