"""The parts of deboer-2005 on Linux 6.1: what is measured of them, and what the page says of them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from itertools import pairwise

import polars as pl
from rexmit import Results, Study

from .charts import throughputs

CONGESTION = "hosts.client.linux.congestion"
STEADY_NS = (2_000_000_000, 5_000_000_000)
"""What is measured of `linux-buffers`: after slow start, and before the writes end."""
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
    """The table of runs with `mbit_s`: what arrives in the steady seconds.

    Not what is written, as elsewhere: in so short a run a buffer that is filled at the start counts.
    """
    begin, end = STEADY_NS
    inside = (pl.col("from_ns") >= begin) & (pl.col("to_ns") <= end) & (pl.col("host") == "client")
    rate = pl.col("bytes").sum() * 8e9 / (end - begin) / 1e6
    arrived = results.intervals().filter(inside).group_by("run").agg(rate.alias("mbit_s"))
    return results.table().join(arrived, on="run", maintain_order="left")


def words(buffers: Results, loss: Results) -> dict[str, str]:
    """The paragraphs under both tables. Raises AssertionError for a claim that does not hold."""
    return {"linux-buffers-words": _buffers(buffers), "linux-loss-words": _loss(loss)}


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
As on FreeBSD 5.4, the smaller of window and link decides, and without RFC 1323 no buffer helps
beyond 64 kB. With 16 MB Linux fills the link at every latency, {most[-1]:.0f} Mbit/s at 100 ms.
Buffers that the kernel chooses by itself fill it up to 10 ms; at 50 and 100 ms they give
{own["50 ms"]:.0f} and {own["100 ms"]:.0f} Mbit/s, a window of {window:.1f} MB. So the study's limit
is gone without a setting as long as a path's product stays below that, and no further. What is full
is the send buffer: `tcp_wmem` allows 4 MiB, the overhead of each packet counted. With 32 MB there,
100 ms give {lifted["wmem"]:.0f} Mbit/s, which is the window that 6 MiB of `tcp_rmem` allow; with 32
MB in `tcp_rmem` alone {lifted["rmem"]:.0f}; with both {lifted["both"]:.0f}.
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
    near = both.filter(pl.col("latency") == "0 ms", pl.col("loss").is_in(["1 %", "2 %", "5 %", "10 %"]))
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
There is no dip: throughput falls with loss in every column, with SACK and without. Linux keeps out
of order whatever fits its buffer; the dip of 2005 was FreeBSD's limit on that
([above](#what-came-out-again)). **SACK matters where the round trip is short**: at 0 ms it
multiplies throughput by {gain(near, min):.1f} to {gain(near, max):.1f} from 1 % on, at 5 % by
{gains}. The reason is the timer, whose least value of 200 ms is a thousand round trips there: at 5
% Reno has {reno["timeouts"]} timeouts without SACK, {0.2 * reno["timeouts"]:.0f} of the 10 s at
least, and {reno["timeouts_sack"]} with it. At 50 and 100 ms SACK's factor lies between
{gain(far, min):.1f} and {gain(far, max):.1f} without an order: a run is a few hundred to a
few thousand packets there, and one a cell does not tell. All cells at 100 ms together have
{distant["timeouts"].sum()} timeouts without SACK and {distant["timeouts_sack"].sum()} with it.
""")


def _wrapped(text: str) -> str:
    """A paragraph in lines of a README's width."""
    return textwrap.fill(" ".join(text.split()), 110, break_long_words=False, break_on_hyphens=False) + "\n"
