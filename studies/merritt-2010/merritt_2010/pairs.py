"""Uploads by hosts of their own beside the download of a pair of hosts: as section 1.2 names them."""

from __future__ import annotations

import polars as pl
from matplotlib.figure import Figure
from rexmit import Results, Study
from rexmit.analyse.over_time import flows_over_time, within

from . import linux
from .links import BUFFERS, LINKS

NAME = "merritt-2010/pairs"
BEGIN, END = 131, 240
"""What is measured, s: from 10 s after the last start of an upload on, in whole intervals."""
QUEUE = "links.line.from.near.queue"
SAME, ANOTHER = "the same pair", "another pair"
LOOKS = {
    SAME: ("#9a9a9a", "s"),
    ANOTHER: ("#0072b2", "o"),
    "2 other pairs": ("#d55e00", "^"),
    "4 other pairs": ("#009e73", "D"),
}
"""Colour and marker of the lines by who uploads."""


def shares(results: Results) -> pl.DataFrame:
    """One row per run: `host` (who uploads), `link`, `buffer`, `down_share` and `up_share`.

    A share is what applications read in the window, all uploads together, over the rate of its direction.
    """
    read = flows_over_time(results).filter(within(BEGIN, END))
    runs = results.table().select(
        "run",
        pl.col("uploads").alias("host"),
        pl.col("uplink").alias("link"),
        pl.col(QUEUE).str.extract(r"^(\d+) packets$").cast(pl.Int64).alias("buffer"),
    )
    for number, (transfer, share) in enumerate((("download", "down_share"), ("upload", "up_share"))):
        rate = pl.col("link").str.split("/").list.get(number).cast(pl.Float64) * 1000
        sums = read.filter(pl.col("transfer") == transfer).group_by("run").agg(pl.col("bytes").sum())
        # A transfer that stood still all the time has no interval with a byte.
        bits = pl.col("bytes").fill_null(0) * 8 / (END - BEGIN)
        runs = runs.join(sums, on="run", how="left").with_columns((bits / rate).alias(share)).drop("bytes")
    return runs.sort("run")


def share_table(frame: pl.DataFrame) -> str:
    """Both shares by link, who uploads, and buffer: the mean of the three runs of a cell."""
    return linux.share_table(frame, tuple(LOOKS))


def figure(frame: pl.DataFrame) -> Figure:
    """Shares against the uplink's buffer, as of the hosts on Linux."""
    title = "A download, and uploads of other hosts beside it: mean, least and most of three runs"
    return linux.figure(frame, LOOKS, title)


def best(frame: pl.DataFrame, link: str, who: str) -> tuple[int, float]:
    """The buffer at which the smaller of both shares is largest, and that share."""
    here = frame.filter((pl.col("link") == link) & (pl.col("host") == who))
    means = here.group_by("buffer").agg(pl.col("down_share", "up_share").mean()).sort("buffer")
    least = means.with_columns(pl.min_horizontal("down_share", "up_share").alias("least"))
    buffer, share = least.select("buffer", "least").row(int(least["least"].arg_max() or 0))
    return buffer, share


def words(frame: pl.DataFrame, exact: pl.DataFrame) -> str:
    """The paragraph under the table. Raises AssertionError for a claim that does not hold.

    `exact` has the shares of the first link behind a shaper without ticks.
    """
    cells = frame.group_by("host", "link", "buffer").agg(pl.col("down_share", "up_share").mean())
    for (who, link), part in cells.group_by("host", "link"):
        small, large = (part.filter(pl.col("buffer") == at)["down_share"].item() for at in (10, 50))
        assert large < small, f"{who} on {link}: the large buffer costs the download nothing"
    one, other = (cells.filter(pl.col("host") == who) for who in (SAME, ANOTHER))
    both = one.join(other, on=("link", "buffer"), suffix="_other")
    apart = (both["down_share"] - both["down_share_other"]).abs()
    near, most = int((apart <= 0.03).sum()), _apart(frame, "down_share")
    assert near * 2 > len(both) == len(BUFFERS) * len(LINKS)
    upload = both.select("link", "buffer", (pl.col("up_share_other") - pl.col("up_share")).alias("more"))
    where, size, more = upload.row(int(upload["more"].abs().arg_max() or 0))
    assert more > 0
    without = max(_apart(exact, share) for share in ("down_share", "up_share"))
    assert without < more / 5
    listed = "; ".join(_best_sizes(frame, f"{down}/{up}") for down, up in LINKS)
    slowest = cells.filter((pl.col("link") == "3000/100") & (pl.col("buffer") == 50))
    left = [slowest.filter(pl.col("host") == who)["down_share"].item() for who in (ANOTHER, "4 other pairs")]
    return linux.wrapped(f"""
It makes little difference which hosts upload, but much how many do. Between the same pair and another one
the download's share is within 0.03 in {near} of {len(both)} cells, and {most:.2f} apart at most: the
thesis' statements about the download hold for distinct pairs. An upload of another pair gets more than
one of the same pair, {more:.2f} at most on {where} with {size} packets; behind a shaper that sends bit
after bit the shares of that link are {without:.3f} apart at most. Sizing the buffer helps in every case:
with 50 packets the download has less than with 10. The buffer at which the smaller of both shares is
largest gets smaller with more uploads. With those of one, two and four other pairs it is {listed}. With
50 packets on 3000/100 one upload leaves the download {left[0]:.2f} of its rate, four leave {left[1]:.2f}.
Rule (6.6) considers only one upload.
""")


def tick(results: Results) -> str:
    """Why an upload of another pair gets more: how its packets come to the uplink, and what is dropped."""
    queue = 20
    cell = {"uplink": "{}/{}".format(*LINKS[0]), QUEUE: f"{queue} packets", "offset": "0 ms"}
    runs = results.table().filter(*(pl.col(name) == level for name, level in cell.items()))
    close, dropped = {}, {}
    for who in (SAME, ANOTHER):
        verdicts = results.trace(int(runs.filter(pl.col("uploads") == who)["run"].item()))["verdicts"]
        at_uplink = (pl.col("direction") == "line/near-far") & (pl.col("connection") == 1)
        packets = verdicts.filter(at_uplink & (pl.col("time_ns") > (BEGIN - 1) * 10**9)).sort("time_ns")
        gaps = packets["time_ns"].diff().drop_nulls()
        close[who] = float((gaps < 200_000).sum()) / len(gaps)
        dropped[who] = float(packets["dropped"].sum()) / len(packets)
    assert close[SAME] > 1.5 * close[ANOTHER]
    assert dropped[SAME] > dropped[ANOTHER]
    near, other = (f"{close[who]:.0%}" for who in (SAME, ANOTHER))
    return linux.wrapped(f"""
An upload of another pair gets more because of the routers' tick. If one host sends the download and
acknowledges the upload, both leave it in one order, and packets that a shaper releases in one tick arrive
together: on {cell["uplink"]} with {queue} packets {near} of the upload's packets follow another within
0.2 ms there, and {other} if another host acknowledges. The full queue drops more of such pairs:
{dropped[SAME]:.1%} of the upload's packets there, and {dropped[ANOTHER]:.1%} otherwise.
""")


def _best_sizes(frame: pl.DataFrame, link: str) -> str:
    """The best buffers of a link by the number of other pairs; AssertionError where one grows with it."""
    sizes = [best(frame, link, who)[0] for who in LOOKS if who != SAME]
    assert sizes == sorted(sizes, reverse=True), f"{link}: more uploads, a larger buffer: {sizes}"
    if len(set(sizes)) == 1:
        return f"{sizes[0]} packets, the smallest that was run, whatever their number on {link}"
    return f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]} packets on {link}"


def _apart(frame: pl.DataFrame, share: str) -> float:
    """How far a share of the same pair and one of another are apart at most."""
    means = frame.group_by("host", "link", "buffer").agg(pl.col(share).mean())
    one, other = (means.filter(pl.col("host") == who) for who in (SAME, ANOTHER))
    both = one.join(other, on=("link", "buffer"), suffix="_other")
    return float((both[share] - both[f"{share}_other"]).abs().max())  # type: ignore[arg-type]


def exactly(study: Study) -> Study:
    """The runs of the first link behind a shaper that sends bit after bit."""
    return study.set("uplink", "{}/{}".format(*LINKS[0])).set("links.line.shaper", "exact")
