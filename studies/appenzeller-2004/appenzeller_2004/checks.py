"""The check of each published row, by its tag."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import fmean, median, stdev

import numpy as np
import polars as pl
from rexmit.analyse import Check, Published, Uncovered

from .evidence import PACKET, Evidence, between, least_buffer, line_of
from .sawtooth import PIPE, Sawtooth, buffers

Function = Callable[[Published, Evidence], Check]
CELLS = [(flows, multiple) for flows in (100, 200, 300, 400) for multiple in ("0.5", "1", "2", "3")]
SYSTEMS = ("Reno", "NewReno", "SACK")
FEW = 167.0
"""RTT x C of the part `few`, packets."""
OC3_80 = 155e6 * 0.080 / PACKET
"""RTT x C of the part `least`, packets."""
PRINTED = 1291
"""RTT x C of figure 15, packets."""
QUEUE, MIN_RTO = "links.line.from.left.queue", "hosts.sender.stack.rtt.min_rto"
HANDSHAKE = 100.0
"""The handshake's round trip in `completion`, ms: a completion time begins with the first data."""
PACKETS = {
    **{(100, m): p for m, p in zip(("0.5", "1", "2", "3"), (64, 129, 258, 387), strict=True)},
    **{(200, m): p for m, p in zip(("0.5", "1", "2", "3"), (46, 91, 182, 273), strict=True)},
    **{(300, m): p for m, p in zip(("0.5", "1", "2", "3"), (37, 74, 148, 222), strict=True)},
    **{(400, m): p for m, p in zip(("0.5", "1", "2", "3"), (32, 64, 128, 192), strict=True)},
}
MODEL = dict(
    zip(
        CELLS,
        (96.9, 99.9, 100, 100, 98.8, 99.9, 100, 100, 99.5, 100, 100, 100, 99.7, 100, 100, 100),
        strict=True,
    )
)


def _simulated(flows: int, multiple: str) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        found = {
            system: evidence.at("table", cell=f"{flows} flows, {multiple} x", system=system)["utilisation"]
            for system in SYSTEMS
        }
        return Check.of_number(
            published, found["Reno"], f"NewReno {found['NewReno']:.1f}, SACK {found['SACK']:.1f}"
        )

    return check


def _real(flows: int, multiple: str) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        return Check.of_number(
            published, evidence.at("hosts", cell=f"{flows} flows, {multiple} x")["utilisation"]
        )

    return check


def _one_least(published: Published, evidence: Evidence) -> Check:
    results = evidence.results("one")
    points = [(size, Sawtooth.of(results, size).utilisation) for size in buffers(results)]
    told = ", ".join(f"{size / PIPE:.2g}: {percent:.2f}" for size, percent in points)
    frame = pl.DataFrame(points, schema=["buffer", "utilisation"], orient="row")
    return _ratio(published, least_buffer(frame, 99.9), PIPE, f"percent by buffer {told}")


def _ratio(published: Published, packets: float | None, pipe: float, note: str) -> Check:
    if packets is None:
        raise Uncovered("the utilisation asked for lies outside the buffers that were run")
    return Check.of_number(published, packets / pipe, note)


def _idles(published: Published, evidence: Evidence) -> Check:
    used = Sawtooth.of(evidence.results("one"), 71).utilisation
    return Check.of_statement(published, used < 99, f"{used:.2f} %", measure=used)


def _never_empty(published: Published, evidence: Evidence) -> Check:
    least = Sawtooth.of(evidence.results("one"), 284).least()
    return Check.of_statement(published, least > 0, f"{least:.0f} packets at least", measure=least)


def _period(buffer: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        found = Sawtooth.of(evidence.results("one"), buffer)
        return Check.of_number(published, found.period, f"{len(found.events) - 1} cycles")

    return check


def _formula_10(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, Sawtooth.of(evidence.results("one"), 142).from_formula())


def _few_least(flows: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        points = evidence.used("few").filter(pl.col("hosts.sender.count") == flows).sort("buffer")
        told = ", ".join(f"{b / FEW:.2g}: {u:.2f}" for b, u in points.select("buffer", "utilisation").rows())
        return _ratio(published, least_buffer(points, 99.9), FEW, f"percent by buffer {told}")

    return check


def _villamizar(published: Published, evidence: Evidence) -> Check:
    chosen = evidence.used("few").filter(pl.col("hosts.sender.count").is_in([1, 4, 8]))
    full = chosen.filter(pl.col("buffer") == 167)["utilisation"].to_list()
    part = chosen.filter(pl.col("buffer") == 42)["utilisation"].to_list()
    if not full or not part:
        raise Uncovered("needs the buffers of 42 and 167 packets")
    listed = [", ".join(f"{one:.1f}" for one in found) for found in (full, part)]
    holds = sum([one >= 99 for one in full] + [one < 97 for one in part])
    total = len(full) + len(part)
    ours = f"{listed[0]} % with RTT x C, {listed[1]} % with a quarter"
    return Check.of_statement(published, holds == total, ours, measure=holds)


def _of_flows(evidence: Evidence, flows: int, system: str = "Reno") -> pl.DataFrame:
    points = evidence.used("least").filter((pl.col("flows") == str(flows)) & (pl.col("system") == system))
    if points.is_empty():
        raise Uncovered(f"needs the runs of {flows} flows")
    return points


def _at_one(published: Published, evidence: Evidence) -> Check:
    buffer = OC3_80 / math.sqrt(400)
    found = {system: between(_of_flows(evidence, 400, system), buffer) for system in ("Reno", "NewReno")}
    return Check.of_number(published, found["Reno"], f"{buffer:.0f} packets; NewReno {found['NewReno']:.1f}")


def _twice(published: Published, evidence: Evidence) -> Check:
    ratios = {}
    for system in ("Reno", "NewReno"):
        points = _of_flows(evidence, 400, system)
        large, small = least_buffer(points, 99.9), least_buffer(points, 98)
        ratios[system] = None if large is None or small is None else large / small
    if ratios["Reno"] is None:
        raise Uncovered("98 or 99.9 % lies outside the buffers that were run")
    other = "out of reach" if ratios["NewReno"] is None else f"{ratios['NewReno']:.2f}"
    return Check.of_number(published, ratios["Reno"], f"NewReno {other}")


def slope(evidence: Evidence, system: str, percent: float = 98) -> tuple[float, dict[int, float]] | None:
    """Of log(least buffer) over log(flows), from 100 flows on, and those buffers; None of too few."""
    found = {n: least_buffer(_of_flows(evidence, n, system), percent) for n in (50, 100, 200, 400)}
    least = {n: packets for n, packets in found.items() if packets is not None}
    many = [n for n in least if n >= 100]
    if len(many) < 3:
        return None
    fit = np.polyfit(np.log(many), np.log([least[n] for n in many]), 1)
    return float(fit[0]), least


def _slope(published: Published, evidence: Evidence) -> Check:
    told, ours = [], None
    for system in ("Reno", "NewReno", "NewReno, equal RTTs"):
        found = slope(evidence, system)
        if found is None:
            told.append(f"{system}: out of reach")
            continue
        packets = ", ".join(f"{least:.0f} of {n}" for n, least in found[1].items())
        told.append(f"{system}: {found[0]:.2f} ({packets} flows)")
        ours = found[0] if system == "Reno" else ours
    if ours is None:
        raise Uncovered("98 % lies outside the buffers that were run")
    return Check.of_number(published, ours, "; ".join(told))


def _loss_and_window(published: Published, evidence: Evidence) -> Check:
    used = evidence.used("table").filter(pl.col("system") == "Reno")
    if len(used) < len(CELLS):
        raise Uncovered("says something about all cells of figure 15")
    window = pl.col("goodput_bit_s") * pl.col("rtt_mean_ms") / 1000 / 8 / 1460
    windows = evidence.results("table").transfers().group_by("run").agg(window.mean().alias("window"))
    values = used.join(windows, on="run").select(pl.col("loss") * pl.col("window") ** 2).to_series()
    all_of_them = sorted(float(value) for value in values)
    spread = f"{all_of_them[0]:.2f} to {all_of_them[-1]:.2f}"
    return Check.of_number(published, median(all_of_them), spread)


def _loss_ratio(published: Published, evidence: Evidence) -> Check:
    points = _of_flows(evidence, 100)
    losses = [points.filter(pl.col("buffer") == size)["loss"].item() for size in (16, 1024)]
    note = f"{100 * losses[0]:.2f} % with 16 packets, {100 * losses[1]:.2f} % with 1024"
    return Check.of_number(published, losses[0] / losses[1], note)


def mean_queue(evidence: Evidence, part: str) -> pl.DataFrame:
    """The queue of the line, in full packets: the time that it takes to drain, times the rate."""
    results = evidence.results(part)
    rows = line_of(results.links(), "line")
    rates = pl.lit(80.0)
    if "rate" in rows.columns:
        rates = pl.col("rate").str.extract(r"^(\d+)").cast(pl.Float64)
    scale = rates * 1000 / PACKET
    return rows.with_columns(
        *(pl.col(f"queue_{what}_ms").mul(scale).alias(what) for what in ("mean", "p95", "p99"))
    )


def queues(evidence: Evidence, size: int, what: str = "mean") -> list[float]:
    """A measure of each replication."""
    found = mean_queue(evidence, "short").filter(pl.col("flow") == f"{size} packets")[what]
    if found.is_empty():
        raise Uncovered(f"no run with flows of {size} packets")
    return [float(one) for one in found]


def _queue_of(size: int) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        runs = queues(evidence, size)
        note = f"runs {', '.join(f'{one:.2f}' for one in runs)}; the work of M/G/1 is {work(size):.2f}"
        return Check.of_number(published, fmean(runs), note)

    return check


def bursts(size: int) -> list[int]:
    """What slow start sends of a flow of so many packets: 2, 4, 8 and so on, and what is left."""
    found, left, burst = [], size, 2
    while left:
        found.append(min(burst, left))
        left -= found[-1]
        burst *= 2
    return found


def work(size: int, load: float = 0.8) -> float:
    """The mean unfinished work of M/G/1 with these bursts, in packets (Pollaczek and Khinchine)."""
    sizes = bursts(size)
    mean, square = sum(sizes) / len(sizes), sum(one * one for one in sizes) / len(sizes)
    return load / (2 * (1 - load)) * square / mean


def _rates(published: Published, evidence: Evidence) -> Check:
    found = mean_queue(evidence, "completion").filter(
        (pl.col(QUEUE) == "100000 packets") & (pl.col(MIN_RTO) == "1 s")
    )
    values = dict(found.select("rate", "mean").rows())
    told = ", ".join(f"{rate}: {value:.2f}" for rate, value in values.items())
    return Check.of_number(published, max(values.values()) / min(values.values()), told)


def _fourteen(published: Published, evidence: Evidence) -> Check:
    more, less = queues(evidence, 14), queues(evidence, 16)
    apart = fmean(more) - fmean(less)
    error = math.hypot(*(stdev(runs) / math.sqrt(len(runs)) for runs in (more, less)))
    ours = f"{fmean(more):.2f} and {fmean(less):.2f}, {apart / error:.1f} standard errors apart"
    return Check.of_statement(published, apart > 2 * error, ours, measure=apart / error)


def _tail(what: str) -> Function:
    return lambda published, evidence: Check.of_number(published, fmean(queues(evidence, 14, what)))


def completion(evidence: Evidence) -> pl.DataFrame:
    """Mean completion times by rate and buffer, over those without a limit, the handshake left out."""
    keys = ["rate", MIN_RTO]
    means = evidence.results("completion").transfers().group_by(*keys, QUEUE, maintain_order=True)
    found = means.agg((pl.col("time_ns").mean() / 1e6 - HANDSHAKE).alias("afct_ms"))
    free = found.filter(pl.col(QUEUE) == "100000 packets").select(*keys, pl.col("afct_ms").alias("free_ms"))
    return found.join(free, on=keys).with_columns((pl.col("afct_ms") / pl.col("free_ms")).alias("ratio"))


def _completion(queue: str, most: bool) -> Function:
    def check(published: Published, evidence: Evidence) -> Check:
        found = completion(evidence).filter(pl.col(QUEUE) == queue)
        told, chosen = [], {}
        for rto, part in found.partition_by(MIN_RTO, as_dict=True, maintain_order=True).items():
            ratios = part["ratio"].to_list()
            chosen[rto[0]] = (max if most else min)(ratios)
            told.append(f"least RTO {rto[0]}: {', '.join(f'{one:.3f}' for one in ratios)}")
        if "1 s" not in chosen:
            raise Uncovered(f"no run with {queue}")
        return Check.of_number(published, chosen["1 s"], "; ".join(told))

    return check


def equation_6(flows: float, multiple: float) -> float:
    """The lower bound (6) of the utilisation, percent, with B a multiple of RTT x C / sqrt(n)."""
    root = math.sqrt(flows)
    pipe_and_buffer = 1 + multiple / root
    return 100 * math.erf(3 * math.sqrt(3) / (2 * math.sqrt(2)) * multiple / pipe_and_buffer)


def _printed_packets(published: Published, evidence: Evidence) -> Check:
    far = max(abs(PRINTED * float(m) / math.sqrt(n) - PACKETS[n, m]) for n, m in CELLS)
    return Check.of_number(published, far)


def _of_6(multiple: float) -> Function:
    return lambda published, evidence: Check.of_number(
        published, equation_6(10_000, multiple), f"{equation_6(10_000, multiple):.7f}"
    )


def _model_column(published: Published, evidence: Evidence) -> Check:
    far = {cell: MODEL[cell] - equation_6(cell[0], float(cell[1])) for cell in CELLS}
    half = [f"{equation_6(n, 0.5):.1f}" for n in (100, 200, 300, 400)]
    return Check.of_number(published, max(map(abs, far.values())), f"(6) at 0.5 x: {', '.join(half)}")


def _removed(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, 100 * (1 - 1 / math.sqrt(10_000)))


def _left(published: Published, evidence: Evidence) -> Check:
    return Check.of_number(published, 0.25 * 10e9 / math.sqrt(50_000) / 1e6)


CHECKS: dict[str, Function] = {
    **{f"P-005-15.{n}.{m}s": _simulated(n, m) for n, m in CELLS},
    **{f"P-005-15.{n}.{m}e": _real(n, m) for n, m in CELLS},
    "P-005-1": _one_least,
    "P-005-2": _idles,
    "P-005-3": _never_empty,
    "P-005-4": _period(142),
    "P-005-5": _formula_10,
    "P-005-6": _period(213),
    "P-005-7": _period(284),
    **{f"P-005-8.{n}": _few_least(n) for n in (1, 2, 4, 8)},
    "P-005-9": _villamizar,
    "P-005-10": _at_one,
    "P-005-11": _twice,
    "P-005-12": _slope,
    "P-005-13": _loss_and_window,
    "P-005-14": _loss_ratio,
    **{f"P-005-16.{size}": _queue_of(size) for size in (6, 14, 16, 30, 62)},
    "P-005-17": _rates,
    "P-005-18": _fourteen,
    "P-005-19": _tail("p95"),
    "P-005-20": _tail("p99"),
    "P-005-21": _completion("44 packets", most=True),
    "P-005-22": _completion("11 packets", most=False),
    "P-005-23": _printed_packets,
    "P-005-24": _of_6(1),
    "P-005-25": _of_6(1.5),
    "P-005-26": _of_6(2),
    "P-005-27": _model_column,
    "P-005-28": _removed,
    "P-005-29": _left,
}
