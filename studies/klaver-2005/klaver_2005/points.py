"""Rows about the points of table 5.1 and about what both switches do to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl
from rexmit import models
from rexmit.analyse import Check, Published, Uncovered

from .evidence import CASE, LOSS, Evidence, Seen

Function = Callable[[Published, Evidence], Check]
APART = 0.03
"""How far the curves must be apart for a point to be called nearer to one of them."""
LITTLE = 0.001
"""p below which the thesis calls loss low: where its figure shows the curves together."""
SHORT_BY_TIMER = "10 kbit/s, 2 kB, 0 ms"
FREQUENT = 0.5
"""The share of cases that "frequently" is taken for."""


def distance(row: dict[str, float], name: str = "p") -> float | None:
    """How far F lies from the formula of W's parity at this p, in percent; None outside its domain."""
    p, w = row[name], row["w"]
    if p > models.KLAVER_LARGEST_P * 1.0001:
        return None
    curves = {0: [models.klaver_even_window], 1: [models.klaver_odd_window]}
    both = [models.klaver_odd_window, models.klaver_even_window]
    chosen = curves[round(w) % 2] if abs(w - round(w)) < 0.1 else both
    expected = sum(float(curve(min(p, models.KLAVER_LARGEST_P))) for curve in chosen) / len(chosen)
    return 100 * (row["f"] / expected - 1)


def point(published: Published, evidence: Evidence) -> Check:
    """A point of table 5.1: how far the measured F lies from the formula for its W, at its p."""
    case = published.place["where"].replace("; ", ", ")
    return at_curve(published, evidence.point("controlled", case))


def at_curve(published: Published, row: dict[str, float]) -> Check:
    """How far a point lies from the curve, at p of (3.1); at that of chapter 4 in the note."""
    far, delivered = distance(row), distance(row, "p_delivered")
    if far is None:
        raise Uncovered(f"W = {row['w']:.0f} at p = {row['p']:.3f}: outside the formulas' domain")
    classic = float(models.mathis_window(row["p"])) / row["f"] - 1
    other = "outside the formulas' domain" if delivered is None else f"{delivered:+.2f} %"
    note = (
        f"p = {row['p']:.5f}, F = {row['f']:.2f}, W = {row['w']:.4g}, {row['window_cycles']:.0f} cycles; "
        f"by segments delivered {other}; the classic formula gives {100 * classic:+.1f} %"
    )
    return Check.of_number(published, far, note)


def no_cycle(published: Published, evidence: Evidence) -> Check:
    """The cell of one packet: the share of its loss events that only a timer ends."""
    points = evidence.points("controlled").filter(pl.col(CASE) == SHORT_BY_TIMER)
    if points.is_empty():
        raise Uncovered(f"these results of klaver-2005/controlled have no case '{SHORT_BY_TIMER}'")
    row = points.row(0, named=True)
    failed = [name for name in (row["failed_conditions"] or "").split(",") if name]
    ours = f"fails: {', '.join(failed)}" if failed else "a measurement"
    return Check.of_statement(published, not failed, ours, measure=float(len(failed)))


def nearer(published: Published, evidence: Evidence) -> Check:
    """Whether points lie nearer to the new curves than to the classic one, where these are apart."""
    checked, wrong = 0, []
    for case, row in evidence.cells("controlled").items():
        classic = row["f"] / float(models.mathis_window(row["p"])) - 1
        new = distance(row)
        if new is not None and abs(classic - new / 100) > APART:
            checked += 1
            wrong += [case] if abs(classic) < abs(new / 100) else []
    if not checked:
        raise Uncovered("no point of these results lies where the curves are apart")
    ours = f"{checked - len(wrong)} of {checked} points"
    return Check.of_statement(published, not wrong, ours, "; ".join(wrong), measure=float(len(wrong)))


def classic_at_little_loss(published: Published, evidence: Evidence) -> Check:
    """The classic formula against the measured F, of points with little loss."""
    far = {
        case: 100 * (float(models.mathis_window(row["p"])) / row["f"] - 1)
        for case, row in evidence.cells("controlled").items()
        if row["p"] < LITTLE
    }
    if not far:
        raise Uncovered("no point of these results has so little loss")
    worst = max(far, key=lambda case: abs(far[case]))
    return Check.of_number(published, far[worst], f"{worst}; {len(far)} points")


def large_rtt(published: Published, evidence: Evidence) -> Check:
    """Mean distance of points whose pipe is above the buffer, less that of those without delay."""
    near: list[float] = []
    far: list[float] = []
    for case, row in evidence.cells("controlled").items():
        off = distance(row)
        if off is None:
            continue
        rate, size, delay = _path(case)
        if delay == 0:
            near.append(abs(off))
        elif rate * delay / 8 > size:
            far.append(abs(off))
    if not near or not far:
        raise Uncovered("these results have no points of both kinds")
    more = float(np.mean(far) - np.mean(near))
    note = (
        f"{np.mean(far):.2f} % of {len(far)} points with the pipe above the buffer, {np.mean(near):.2f} % of "
        f"{len(near)} without delay"
    )
    return Check.of_number(published, more, note)


def _path(case: str) -> tuple[float, float, float]:
    """Bit/s, bytes and seconds of a label."""
    rate, size, delay = case.split(", ")
    unit = {"kbit/s": 1e3, "Mbit/s": 1e6}[rate.split()[1]]
    return float(rate.split()[0]) * unit, float(size.split()[0]) * 1024, float(delay.split()[0]) / 1e3


def several_lost(published: Published, evidence: Evidence) -> Check:
    """In which share of the cases cycles lose more than one segment."""
    found, cases = _several(evidence), len(evidence.cells("controlled"))
    share = len(found) / cases
    ours = f"{len(found)} of {cases} cases"
    return Check.of_statement(published, share >= FREQUENT, ours, "; ".join(sorted(found)), measure=share)


def _several(evidence: Evidence) -> list[str]:
    cells = evidence.cells("controlled")
    return [case for case, row in cells.items() if row["window_lost"] > 1.05 * row["window_cycles"]]


def cost_of_events(published: Published, evidence: Evidence) -> Check:
    """The farthest point of a case with several losses in each cycle."""
    cells = evidence.cells("controlled")
    far = {case: distance(cells[case]) for case in _several(evidence)}
    known = {case: value for case, value in far.items() if value is not None}
    if not known:
        raise Uncovered("no case of these results loses more than one segment in a cycle")
    worst = max(known, key=lambda case: abs(known[case]))
    return Check.of_number(published, known[worst], worst)


def by_twice(published: Published, evidence: Evidence) -> Check:
    """In how many runs events by appendix B's rule are not the times that cwnd was halved."""
    wrong = [
        f"{case}: {one.by_rule[0]} for {one.halvings}"
        for case, one in _measured(evidence)
        if abs(one.by_rule[0] - one.halvings) > 1
    ]
    ours = f"{len(wrong)} of {len(_measured(evidence))} runs differ"
    return Check.of_statement(published, not wrong, ours, "; ".join(wrong[:4]), measure=len(wrong))


def by_once(published: Published, evidence: Evidence) -> Check:
    """In how many runs the same rule with once the RTT counts other events than with twice."""
    wrong = [
        f"{case}: {one.by_rule[1]} for {one.by_rule[0]}"
        for case, one in _measured(evidence)
        if one.by_rule[1] != one.by_rule[0]
    ]
    ours = f"{len(wrong)} of {len(_measured(evidence))} runs differ"
    return Check.of_statement(published, bool(wrong), ours, "; ".join(wrong[:4]), measure=len(wrong))


def _measured(evidence: Evidence) -> list[tuple[str, Seen]]:
    cases = evidence.cells("controlled")
    return [(case, one) for case in cases for one in evidence.seen("controlled", case)]


def repeated(published: Published, evidence: Evidence) -> Check:
    """The spread of p over windows of equal cwnd: the median over the cases."""
    found = [one.equal.percent for one in evidence.seen("controlled") if one.equal is not None]
    if not found:
        raise Uncovered("needs measured runs")
    low, high = np.quantile(found, (0.1, 0.9))
    return Check.of_number(
        published, float(np.median(found)), f"from {low:.2f} to {high:.2f} % in eight of ten runs"
    )


def slope(published: Published, evidence: Evidence) -> Check:
    """How F goes with p over those windows."""
    found = [one.equal.slope for one in evidence.seen("controlled") if one.equal is not None]
    known = [value for value in found if not np.isnan(value)]
    if not known:
        raise Uncovered("needs measured runs")
    return Check.of_number(published, float(np.median(known)), "slope of ln F over ln p, median")


def worse_by_chance(published: Published, evidence: Evidence) -> Check:
    """The spread of p over any windows against that over windows with equal cwnd."""
    both = [
        (one.any.percent, one.equal.percent, one.any.cycles)
        for one in evidence.seen("controlled")
        if one.any is not None and one.equal is not None
    ]
    if len(both) < 3:
        raise Uncovered("needs measured runs of several cases")
    wider = sum(a > b for a, b, _ in both) / len(both)
    spread, cycles = ([row[at] for row in both] for at in (0, 2))
    found = float(np.corrcoef(np.log(spread), np.log(cycles))[0, 1])
    ours = (
        f"wider in {wider:.0%} of the runs; correlation with the number of cycles {found:+.2f} (logarithms)"
    )
    return Check.of_statement(published, wider > 0.5 and found < 0, ours, measure=found)


def absent(published: Published, evidence: Evidence) -> Check:
    """How many of the cells that table 5.1 leaves out fail a condition, or have less than three cycles."""
    frame = evidence.part("absent")
    failing = frame.filter((pl.col("applies") == "no") | pl.col("f").is_null())
    kept = frame.filter(~pl.col("run").is_in(failing["run"].to_list()))[CASE].to_list()
    shown = "; ".join(kept[:8]) + (f" and {len(kept) - 8} more" if len(kept) > 8 else "")
    return Check.of_number(
        published, failing.height, f"of {frame.height}; none fails at {shown}" if kept else ""
    )


def random_loss(published: Published, evidence: Evidence) -> Check:
    """F sqrt(p) of all cycles with random loss."""
    loss = published.place["where"].removesuffix(" of loss")
    values = [c for _, c in _with_random_loss(evidence, loss)]
    if not values:
        raise Uncovered(f"these results of klaver-2005/random have no loss of {loss}")
    note = f"{len(values)} runs, {min(values):.3f} to {max(values):.3f}"
    return replace(Check.of_number(published, float(np.mean(values)), note), values=values)


def random_limit(published: Published, evidence: Evidence) -> Check:
    """F sqrt(p) for p to 0: where the line of C over sqrt(p) through all runs meets p = 0."""
    pairs = _with_random_loss(evidence)
    if len({loss for loss, _ in pairs}) < 3:
        raise Uncovered("needs three rates of loss of klaver-2005/random")
    p, c = (np.array(column) for column in zip(*pairs, strict=True))
    fall, limit = np.polyfit(np.sqrt(p), c, 1)
    return Check.of_number(published, float(limit), f"C = {limit:.3f} {fall:+.2f} sqrt(p), {len(pairs)} runs")


def _with_random_loss(evidence: Evidence, loss: str | None = None) -> list[tuple[float, float]]:
    """The nominal loss and C of each run of `random`, or of those of one rate."""
    frame = evidence.part("random")
    runs = zip(frame[LOSS].cast(pl.String), evidence.seen("random"), strict=True)
    return [
        (
            float(level.removesuffix(" %")) / 100,
            one.complete.f.value * float(np.sqrt(one.complete.p_delivered.value)),
        )
        for level, one in runs
        if loss in (None, level) and one.complete is not None and one.complete.f is not None
    ]


def segments(parity: int) -> Function:
    """Segments delivered of a cycle against (4.3) or (4.4)."""

    def check(published: Published, evidence: Evidence) -> Check:
        of = [(row["w"], 1 / row["p_delivered"]) for row in evidence.whole_cycles() if row["w"] % 2 == parity]
        far = {w: n - float(models.klaver_cycle_segments(w)) for w, n in of}
        if not far:
            raise Uncovered("no W of this parity")
        note = "W of " + ", ".join(f"{w:.0f}" for w in sorted(far))
        return Check.of_number(published, max(far.values(), key=abs), note)

    return check


def cycle_window(large: bool) -> Function:
    """F of a cycle against (4.10) and (4.11); `large`: where the pipe is above the buffer."""

    def check(published: Published, evidence: Evidence) -> Check:
        rows = [row for row in evidence.whole_cycles() if str(row[CASE]).endswith("250 ms") == large]
        far = {row["w"]: 100 * (row["f"] / float(models.klaver_cycle_window(row["w"])) - 1) for row in rows}
        if not far:
            raise Uncovered("no such path")
        note = "W of " + ", ".join(f"{w:.0f}" for w in sorted(far))
        return Check.of_number(published, max(far.values(), key=abs), note)

    return check


def largest_constant(published: Published, evidence: Evidence) -> Check:
    """C of the cycles with the largest W."""
    row = evidence.whole_cycles()[-1]
    found = row["f"] * float(np.sqrt(row["p_delivered"]))
    return Check.of_number(published, found, f"{row[CASE]}, W = {row['w']:.0f}")


def round_trips(published: Published, evidence: Evidence) -> Check:
    """Length of a cycle in mean RTTs over W/2, of the largest W."""
    row = evidence.whole_cycles()[-1]
    trips = (row["window_segments"] - row["window_lost"]) / row["window_cycles"] / row["f"]
    return Check.of_number(published, trips / (row["w"] / 2), f"{trips:.1f} round trips, W = {row['w']:.0f}")


def _constants(evidence: Evidence, counts: str, policy: str) -> dict[str, float]:
    rows = evidence.policies(counts).get(policy, {})
    return {case: row["f"] * float(np.sqrt(row["p_delivered"])) for case, row in rows.items()}


def halved(published: Published, evidence: Evidence) -> Check:
    """C with every second segment acknowledged over C with each, of the largest W."""
    second, each = (_constants(evidence, "acks", name) for name in ("every-second", "immediate"))
    both = [case for case in each if case in second]
    if not both:
        raise Uncovered("these results of klaver-2005/acks have not both ways to acknowledge")
    case = both[-1]
    note = f"{case}: {second[case]:.3f} / {each[case]:.3f}; 1/sqrt(2) is 0.707"
    return Check.of_number(published, second[case] / each[case], note)


def growth_kept(single: bool) -> Function:
    """How delayed ACKs change p, segments counted; `single`: of paths with one loss a cycle alone."""

    def check(published: Published, evidence: Evidence) -> Check:
        rows = evidence.policies("segments")
        delayed, each = rows.get("quick-ack", {}), rows.get("immediate", {})
        far = {
            case: 100 * (row["p"] / each[case]["p"] - 1)
            for case, row in delayed.items()
            if case in each and (not single or row["window_lost"] == row["window_cycles"])
        }
        if not far:
            raise Uncovered("these results of klaver-2005/acks have not both ways to acknowledge")
        worst = max(far, key=lambda case: abs(far[case]))
        return Check.of_number(published, far[worst], f"{worst}; {len(far)} paths")

    return check


def constant_kept(published: Published, evidence: Evidence) -> Check:
    """C with Linux's delayed ACKs against C without them, segments counted: all paths."""
    delayed, each = (_constants(evidence, "segments", name) for name in ("quick-ack", "immediate"))
    far = {case: 100 * (delayed[case] / each[case] - 1) for case in delayed if case in each}
    if not far:
        raise Uncovered("these results of klaver-2005/acks have not both ways to acknowledge")
    worst = max(far, key=lambda case: abs(far[case]))
    return Check.of_number(published, far[worst], f"{worst}; {len(far)} paths")


def unpatched(published: Published, evidence: Evidence) -> Check:
    """How much lower C is if ACKs are counted and delayed, of the largest W."""
    plain, patched = (_constants(evidence, counts, "quick-ack") for counts in ("acks", "segments"))
    both = [case for case in plain if case in patched]
    if not both:
        raise Uncovered("these results of klaver-2005/acks have not both ways to count")
    case = both[-1]
    return Check.of_statement(
        published,
        plain[case] < 0.9 * patched[case],
        f"{plain[case]:.3f} against {patched[case]:.3f} ({case})",
        measure=plain[case] / patched[case],
    )


POINTS: dict[str, Function] = {
    "P-003-1.1": largest_constant,
    "P-003-2.*": random_loss,
    "P-003-2.4": random_limit,
    "P-003-3": segments(1),
    "P-003-4": segments(0),
    "P-003-5": cycle_window(large=False),
    "P-003-5.1": cycle_window(large=True),
    "P-003-9": repeated,
    "P-003-9.1": slope,
    "P-003-9.2": worse_by_chance,
    "P-003-10.1": no_cycle,
    "P-003-10.*": point,
    "P-003-10": nearer,
    "P-003-15": halved,
    "P-003-16": growth_kept(single=False),
    "P-003-16.1": growth_kept(single=True),
    "P-003-16.2": constant_kept,
    "P-003-16.3": unpatched,
    "P-003-23": round_trips,
    "P-003-24.1": several_lost,
    "P-003-24.2": cost_of_events,
    "P-003-24.3": by_twice,
    "P-003-24.4": by_once,
    "P-003-26": classic_at_little_loss,
    "P-003-27": large_rtt,
    "P-003-28": absent,
}
