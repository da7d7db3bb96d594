"""The parts of deboer-2005 on Linux: what is measured of them, and what the page says of them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from itertools import pairwise

import polars as pl
from rexmit import Results, Study

from .charts import throughputs

SMALLER = ("linux-acks", "linux-queue", "linux-dummynet", "linux-writes", "linux-connections", "linux-again")
"""The smaller tests of chapters 4 and 5."""
NEWER = "6.12"
"""The kernel that all of them run on as well, with `--whole`."""
CONGESTION = "hosts.client.linux.congestion"
SETTLED_NS = 2_000_000_000
"""What is measured begins here: after slow start."""
OWN = "kernel's own"
WIDE = "4096 131072 33554432"
"""32 MB at most: of `tcp_wmem` the sender's, of `tcp_rmem` the receiver's buffer."""
LEVELS = {
    "wmem": ({"nagle": False, "sysctl": {"net.ipv4.tcp_wmem": WIDE}}, {}),
    "rmem": ({"nagle": False}, {"sysctl": {"net.ipv4.tcp_rmem": WIDE}}),
    "both": (
        {"nagle": False, "sysctl": {"net.ipv4.tcp_wmem": WIDE}},
        {"sysctl": {"net.ipv4.tcp_rmem": WIDE}},
    ),
}
"""Which limits of the kernel's own buffers are lifted: settings of the client and of the server."""


def steady(results: Results) -> pl.DataFrame:
    """The table of runs with `mbit_s`: what arrives from the third second on, until the writes end.

    Not what is written, as elsewhere: in so short a run a buffer that is filled at the start counts.
    """
    begin, end = SETTLED_NS, round(seconds(results) * 1e9)
    inside = (pl.col("from_ns") >= begin) & (pl.col("to_ns") <= end) & (pl.col("host") == "client")
    rate = pl.col("bytes").sum() * 8e9 / (end - begin) / 1e6
    arrived = results.intervals().filter(inside).group_by("run").agg(rate.alias("mbit_s"))
    return results.table().join(arrived, on="run", maintain_order="left")


def seconds(results: Results) -> float:
    """How long a run writes."""
    return float(results.study["scenario"]["transfers"][0]["bulk"].removesuffix(" s"))


def words(results: Mapping[str, Results]) -> dict[str, str]:
    """The paragraphs under the tables. Raises AssertionError for a claim that does not hold."""
    return {
        "linux-buffers-words": _buffers(results["linux-buffers"]),
        "linux-loss-words": _loss(results["linux-loss"]),
        "linux-smaller-words": _smaller({name: steady(results[name]) for name in SMALLER}),
    }


def versions(pairs: Mapping[str, tuple[Results, Results]]) -> str:
    """Of each part: its cells on both kernels, how many are alike, and where they are furthest apart."""
    head = ["part", "cells", "within 1 %", "within 10 %", "furthest apart", "6.1", NEWER]
    lines = [f"| {' | '.join(head)} |", "| --- | ---: | ---: | ---: | --- | ---: | ---: |"]
    for part, (older, newer) in pairs.items():
        factors = list(older.factors)
        both = _cells(older, factors).join(
            _cells(newer, factors), on=factors, suffix="_newer", maintain_order="left"
        )
        ratio = pl.max_horizontal("mbit_s", "mbit_s_newer") / pl.min_horizontal("mbit_s", "mbit_s_newer")
        both = both.with_columns(ratio.alias("ratio"))
        alike = [str(both.filter(pl.col("ratio") <= bound).height) for bound in (1.01, 1.1)]
        most = both.sort("ratio", descending=True).row(0, named=True)
        where = ", ".join(str(most[factor]) for factor in factors)
        rates = [f"{most[column]:.3g}" for column in ("mbit_s", "mbit_s_newer")]
        lines.append(f"| {' | '.join([part, str(both.height), *alike, where, *rates])} |")
    return "\n".join(lines) + "\n"


def _cells(results: Results, factors: list[str]) -> pl.DataFrame:
    """What arrives in each cell, Mbit/s, the mean of its runs."""
    return steady(results).group_by(factors, maintain_order=True).agg(pl.col("mbit_s").mean())


def _buffers(results: Results) -> str:
    frame = steady(results)
    assert frame["retransmits"].sum() == 0, "something was lost"

    def at(bufspace: str, rfc1323: int, latency: str) -> float:
        cell = (pl.col("bufspace") == bufspace) & (pl.col("rfc1323") == rfc1323)
        return float(frame.filter(cell, pl.col("latency") == latency)["mbit_s"][0])

    most = [at("16776960", 1, latency) for latency in frame["latency"].unique(maintain_order=True)]
    assert max(most) - min(most) < 1, "16 MB do not fill the link at every latency"
    own = {latency: at(OWN, 1, latency) for latency in ("10 ms", "50 ms", "100 ms")}
    assert own["10 ms"] > 0.99 * most[0]
    lifted = _lifted()
    assert lifted["both"] > 0.99 * most[0]
    window = own["100 ms"] * 0.1 / 8
    return _wrapped(f"""\
As on FreeBSD 5.4, the smaller of window and link decides, and without RFC 1323 no buffer helps beyond 64
kB. With 16 MB Linux fills the link at every latency, {most[-1]:.0f} Mbit/s at 100 ms. Buffers that the
kernel sizes automatically fill the link up to 10 ms; at 50 and 100 ms they give {own["50 ms"]:.0f} and
{own["100 ms"]:.0f} Mbit/s, a window of {window:.1f} MB. So without any setting, the study's limit is gone
on paths whose bandwidth-delay product is below that window, but not on others. The send buffer is the
limit: `tcp_wmem` allows 4 MiB, including the overhead of each packet. With 32 MB there, 100 ms give
{lifted["wmem"]:.0f} Mbit/s, which is the window that 6 MiB of `tcp_rmem` allow; with 32 MB in `tcp_rmem`
alone {lifted["rmem"]:.0f}; with both {lifted["both"]:.0f}.
""")


def _lifted() -> dict[str, float]:
    """Mbit/s at 100 ms with buffers that the kernel chooses, by which of their limits is lifted."""
    study = Study.load("deboer-2005/linux-buffers")
    study = study.set("vary.latency", {"labels": ["100 ms"], "together": {"path.delay": ["50 ms"]}})
    scaling = {"hosts.client.linux.window_scaling": [True]}
    study = study.set("vary.rfc1323", {"labels": [1], "together": scaling})
    client, server = (list(side) for side in zip(*LEVELS.values(), strict=True))
    hosts = {"hosts.client.linux": client, "hosts.server.linux": server}
    results = study.set("vary.bufspace", {"labels": list(LEVELS), "together": hosts}).run(
        backend="uml", progress=False
    )
    return dict(steady(results).select("bufspace", "mbit_s").iter_rows())


def _loss(results: Results) -> str:
    def gain(part: pl.DataFrame, which: Callable[[list[float]], float]) -> float:
        return which(part["gain"].to_list())

    frame = throughputs(results.table(), results.intervals(), 10.0)
    cell = ("loss", "latency", CONGESTION)
    sides = [frame.filter(pl.col("sack") == sack).select(*cell, "mbit_s", "timeouts") for sack in (0, 1)]
    both = sides[0].join(sides[1], on=cell, suffix="_sack", maintain_order="left")
    both = both.with_columns((pl.col("mbit_s_sack") / pl.col("mbit_s")).alias("gain"))
    near = both.filter(pl.col("latency") == "0 ms", pl.col("loss").is_in(["2 %", "5 %", "10 %"]))
    far = both.filter(pl.col("latency").is_in(["50 ms", "100 ms"]))
    assert gain(near, min) > 1.1, near
    for one in sides:
        for (_, _), part in one.group_by("latency", CONGESTION):
            rates = part["mbit_s"].to_list()
            assert all(b < 1.05 * a for a, b in pairwise(rates)), "there is a dip"
    five = {
        name: both.filter(pl.col("loss") == "5 %", pl.col("latency") == "0 ms", pl.col(CONGESTION) == name)
        for name in ("cubic", "reno")
    }
    told = {name: part.row(0, named=True) for name, part in five.items()}
    gains = ", ".join(
        f"{told[key]['gain']:.1f} with {name}" for key, name in (("cubic", "CUBIC"), ("reno", "Reno"))
    )
    reno = told["reno"]
    distant = both.filter(pl.col("latency") == "100 ms")
    return _wrapped(f"""\
There is no dip: throughput falls with loss in every column, with SACK and without. Linux keeps all
out-of-order data that fits its buffer; the dip of 2005 came from FreeBSD's limit on that
([above](#what-was-reproduced)). **SACK matters where the round trip is short**: at 0 ms it multiplies
throughput by {gain(near, min):.1f} to {gain(near, max):.1f} from 2 % on, at 5 % by {gains}. The reason is
the timer, whose minimum of 200 ms is a thousand round trips there: at 5 % Reno has {reno["timeouts"]}
timeouts without SACK, which take at least {0.2 * reno["timeouts"]:.0f} of the 10 s, and
{reno["timeouts_sack"]} with it. At 50 and 100 ms SACK's factor lies between {gain(far, min):.1f} and
{gain(far, max):.1f} without an order: a run has only a few hundred to a few thousand packets there, and
one run per cell is not conclusive. All cells at 100 ms together have {distant["timeouts"].sum()} timeouts
without SACK and {distant["timeouts_sack"].sum()} with it.
""")


def _smaller(frames: Mapping[str, pl.DataFrame]) -> str:
    lost = frames["linux-acks"].filter(pl.col("bufspace") == 16776960)
    acks = {
        key: lost.filter(pl.col("latency") == "100 ms", pl.col("path.down.loss") == key)["mbit_s"].item()
        for key in ("0 %", "10 %", "50 %")
    }
    assert frames["linux-acks"].filter(pl.col("path.down.loss") == "1 %")["retransmits"].sum() == 0
    others = frames["linux-acks"].filter((pl.col("bufspace") != 16776960) | (pl.col("latency") != "100 ms"))
    for _, part in others.group_by("bufspace", "latency"):
        assert part["mbit_s"].min() > 0.97 * part["mbit_s"].max(), part  # type: ignore[operator]
    queue = frames["linux-queue"].filter(pl.col("latency") == "100 ms")
    at = {
        key: queue.filter((pl.col(CONGESTION) == key[0]) & (pl.col("path.up.queue") == key[1]))[
            "mbit_s"
        ].item()
        for key in ((name, size) for name in ("cubic", "reno") for size in ("50 packets", "511 packets"))
    }
    assert all(at["cubic", size] > at["reno", size] for size in ("50 packets", "511 packets"))
    assert frames["linux-queue"]["timeouts"].sum() == 0
    tight = (
        (pl.col("rate") == "1 Gbit/s")
        & (pl.col("path.tick") == "0.5 ms")
        & (pl.col("path.queue") == "40 KiB")
    )
    short, else_ = frames["linux-dummynet"].filter(tight), frames["linux-dummynet"].filter(~tight)
    assert else_["retransmits"].sum() == 0
    assert else_["mbit_s"].min() > 940  # type: ignore[operator]
    worst = dict(short.select("latency", "mbit_s").iter_rows())
    for _, part in frames["linux-writes"].group_by("latency"):
        assert part["mbit_s"].max() < 1.005 * part["mbit_s"].min(), part  # type: ignore[operator]
    assert frames["linux-connections"]["mbit_s"].min() > 940  # type: ignore[operator]
    again = frames["linux-again"].group_by("recovery", "loss").agg(pl.col("mbit_s").mean())
    dip = {(one, loss): rate for one, loss, rate in again.iter_rows()}
    for one in ("NewReno", "SACK"):
        assert dip[one, "0.1 %"] > dip[one, "0.5 %"] > dip[one, "1 %"]
    for loss in ("0.1 %", "0.5 %", "1 %"):
        assert dip["SACK", loss] > dip["NewReno", loss]
    return _wrapped(f"""\
Lost ACKs cost nothing except where windows are largest: with 16 MB and 100 ms {acks["0 %"]:.0f} Mbit/s
become {acks["10 %"]:.0f} if 10 % are lost and {acks["50 %"]:.0f} if half are. FreeBSD's transfers that
lost the only ACK of their first window have no counterpart: a first window has ten packets today. **A
short first queue still costs most**: with 511 packets and 100 ms CUBIC has
{at["cubic", "511 packets"]:.0f} Mbit/s and Reno {at["reno", "511 packets"]:.0f}, with 50 packets
{at["cubic", "50 packets"]:.0f} and {at["reno", "50 packets"]:.0f}, in neither case because of timeouts.
Dummynet's queue matters where the study found that it matters, with 40 Kbytes, a rate and HZ 2000:
{worst["5 ms"]:.0f}, {worst["50 ms"]:.1f} and {worst["100 ms"]:.1f} Mbit/s at 5, 50 and 100 ms. Its 50
slots, which cost FreeBSD half, cost Linux nothing. Neither the size of writes nor the number of
connections makes a difference. SACK has no dip in ten runs, and is ahead at each loss.
""")


def _wrapped(text: str) -> str:
    """A paragraph in lines of a README's width."""
    return textwrap.fill(" ".join(text.split()), 110, break_long_words=False, break_on_hyphens=False) + "\n"
