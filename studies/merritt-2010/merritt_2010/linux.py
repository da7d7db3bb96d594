"""The cells of two-way on Linux, beside FreeBSD 7.2 of the model: shares of download and upload."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit import Results
from rexmit.plot import style

from .figures import with_buffer
from .links import BUFFERS, LINKS
from .scripts import runs_of

FREEBSD = "FreeBSD 7.2"
HOSTS = {"cubic": "Linux 6.1, CUBIC", "reno": "Linux 6.1, Reno"}
LOOKS = {FREEBSD: ("#9a9a9a", "s"), "Linux 6.1, CUBIC": ("#0072b2", "o"), "Linux 6.1, Reno": ("#d55e00", "^")}
"""Colour and marker of the lines of a host."""
NEWER = "6.12"
"""The kernel that the cells run on as well, with `--whole`."""
MEASURES = {"download": "down_share", "upload": "up_share"}


def shares(model: Results, linux: Results) -> pl.DataFrame:
    """One row per run of both: `host`, `link`, `buffer` and the measures of `runs_of`."""
    frames = [with_buffer(runs_of(model)).with_columns(pl.lit(FREEBSD).alias("host"))]
    hosts = linux.table().select("run", pl.col("congestion").replace_strict(HOSTS).alias("host"))
    frames.append(with_buffer(runs_of(linux)).join(hosts, on="run"))
    columns = ["host", "down_rate", "up_rate", "buffer", *MEASURES.values(), "performance_script"]
    columns += ["rtt_down_log", "cwnd_up", "growth", "timeouts_at_start"]
    link = pl.format("{}/{}", *((pl.col(rate) // 1000).cast(pl.Int64) for rate in ("down_rate", "up_rate")))
    return pl.concat([frame.select(columns) for frame in frames], how="vertical_relaxed").with_columns(
        link.alias("link")
    )


def share_table(frame: pl.DataFrame, hosts: Sequence[str] = tuple(LOOKS)) -> str:
    """Both shares by link, host and buffer, the mean of the three runs of a cell."""
    lines = [["link", "", *map(str, BUFFERS)], ["---", "---", *["---:"] * len(BUFFERS)]]
    for name, host, cells in cells_of(frame, hosts):
        lines.append([name, host, *cells])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def newer(frame: pl.DataFrame, model: Results, linux: Results) -> dict[str, str]:
    """The table of the newer kernel, and how far it is from the older one of `frame`.

    Raises AssertionError for a claim that does not hold there.
    """
    theirs = shares(model, linux).filter(pl.col("host") != FREEBSD)
    ours = frame.filter(pl.col("host") != FREEBSD)
    for (host, link), part in theirs.group_by("host", "link"):
        small, large = (part.filter(pl.col("buffer") == at)["down_share"].mean() for at in (10, 50))
        assert large < small, f"{host} on {link}: the large buffer costs the download nothing"  # type: ignore[operator]
    cell = ["host", "link", "buffer"]
    means = [one.group_by(cell).agg(pl.col("down_share").mean()) for one in (ours, theirs)]
    apart = means[0].join(means[1], on=cell, suffix="_newer")
    off = (apart["down_share_newer"] - apart["down_share"]).abs()
    most = apart.row(int(off.arg_max() or 0), named=True)
    named = theirs.with_columns(pl.col("host").str.replace("Linux 6.1", f"Linux {NEWER}", literal=True))
    timeouts = theirs["timeouts_at_start"].sum() or "no"
    shown = f"{most['down_share']:.2f} on 6.1 and {most['down_share_newer']:.2f}"
    words = wrapped(f"""
On Linux {NEWER} the findings hold: on every link a buffer of 50 packets leaves the download less than one
of 10, and as the upload begins the downloads of the 180 runs have {timeouts} timeouts. In
{(off < 0.02).sum()} of {len(off)} cells the download's share is within 0.02 of that on 6.1. The
difference is largest on {most["link"]} with {most["buffer"]} packets and
{most["host"].partition(", ")[2]}: {shown}.
""")
    hosts = [name.replace("Linux 6.1", f"Linux {NEWER}") for name in HOSTS.values()]
    return {"linux-newer": share_table(named, hosts), "linux-newer-words": words}


def cells_of(frame: pl.DataFrame, hosts: Sequence[str]) -> Iterator[tuple[str, str, list[str]]]:
    """Of each link and host: download / upload at each buffer."""
    for down, up in LINKS:
        for host in hosts:
            here = frame.filter(pl.col("link") == f"{down}/{up}", pl.col("host") == host)
            means = here.group_by("buffer").agg(pl.col(*MEASURES.values()).mean()).sort("buffer")
            pairs = means.select(MEASURES.values()).iter_rows()
            yield f"{down}/{up}", host, [f"{mine:.2f} / {other:.2f}" for mine, other in pairs]


TITLE = "Both ways at once, then and now: mean, least and most of three runs"


def figure(frame: pl.DataFrame, looks: Mapping[str, tuple[str, str]] = LOOKS, title: str = TITLE) -> Figure:
    """Shares against the uplink's buffer: one panel per link, the download above and the upload below.

    `looks` has the colour and the marker of each value of the column `host`.
    """
    with style.styled(style.LIGHT):
        sheet = Figure(figsize=(11.5, 6.2), layout="constrained")
        grid = sheet.subplots(2, len(LINKS), sharex=True, sharey=True)
        for row, (what, measure) in zip(grid, MEASURES.items(), strict=True):
            for axes, (down, up) in zip(row, LINKS, strict=True):
                for host, (colour, marker) in looks.items():
                    here = frame.filter(pl.col("link") == f"{down}/{up}", pl.col("host") == host)
                    means = here.group_by("buffer").agg(
                        pl.col(measure).mean(),
                        pl.col(measure).min().alias("least"),
                        pl.col(measure).max().alias("most"),
                    )
                    at, mean, least, most = means.sort("buffer").to_dict(as_series=False).values()
                    axes.fill_between(at, least, most, color=colour, alpha=0.18, linewidth=0)
                    axes.plot(at, mean, color=colour, marker=marker, markersize=4.5)
                axes.set_ylim(0, 1)
                if what == "download":
                    axes.set_title(f"{down}/{up} kbit/s", loc="left")
                else:
                    axes.set_xlabel("Uplink buffer (packets)")
            row[0].set_ylabel(f"Share of the rate, {what}")
        handles = [
            Line2D([], [], color=colour, marker=marker, label=host)
            for host, (colour, marker) in looks.items()
        ]
        style.legend_below(sheet, handles)
        sheet.suptitle(title, x=0.01, ha="left")
        return sheet


def words(frame: pl.DataFrame, model: Results, linux: Results) -> str:
    """The paragraph under the table. Raises AssertionError for a claim that does not hold."""
    slow = frame.filter(pl.col("link") == "3000/100", pl.col("buffer") == max(BUFFERS))
    names = ("down_share", "timeouts_at_start")
    means = {host: slow.filter(pl.col("host") == host).select(pl.col(names).mean()).row(0) for host in LOOKS}
    old, cubic, reno = (means[host] for host in LOOKS)
    assert old[0] < reno[0] < cubic[0]
    assert frame.filter(pl.col("host") != FREEBSD)["timeouts_at_start"].sum() == 0
    for (host, link), part in frame.group_by("host", "link"):
        small, large = (part.filter(pl.col("buffer") == at)["down_share"].mean() for at in (10, 50))
        assert isinstance(small, float)
        assert isinstance(large, float)
        assert large < small, f"{host} on {link}: the large buffer costs the download nothing"
    lost = {FREEBSD: _lost(model, None), **{name: _lost(linux, key) for key, name in HOSTS.items()}}
    before, with_cubic, with_reno = (lost[host] for host in LOOKS)
    assert with_cubic["window"] > with_reno["window"] > before["window"]
    assert with_cubic["losses"] > with_reno["losses"]
    return wrapped(f"""
The finding of 2010 still holds: on every link and with each host a buffer of 50 packets leaves the
download less than one of 10. How much less has changed most where the uplink is slowest. On 3000/100 with
50 packets the download keeps {old[0]:.2f} of its rate on FreeBSD 7.2, {reno[0]:.2f} with Reno of Linux
and {cubic[0]:.2f} with CUBIC. As the upload begins, FreeBSD's download has {old[1]:.1f} timeouts per run
there; in the 180 runs on Linux it has none. After that the larger window of the download decides, on
average {before["window"]:.0f} kB on FreeBSD, {with_reno["window"]:.0f} with Reno and
{with_cubic["window"]:.0f} with CUBIC, which grows with time and not with acknowledgments that take a
second to arrive. More of the download's acknowledgments then wait in the uplink's queue, each of them
occupies the place of a packet, and the upload loses more: in the last 110 s it retransmits
{with_cubic["losses"]:.0f} packets per run with CUBIC, {with_reno["losses"]:.0f} with Reno and
{before["losses"]:.0f} on FreeBSD. So the upload's window stays small, and the queue short.
""")


def _lost(results: Results, congestion: str | None) -> dict[str, float]:
    """On 3000/100 with 50 packets, with both: the download's mean window, kB, and the upload's resends."""
    here = (pl.col("link") == "3000/100") & (pl.col("path.up.queue") == "50 packets")
    here &= (pl.col("from_ns") >= 130 * 10**9) & (pl.col("to_ns") <= 240 * 10**9)
    if congestion is not None:
        here &= pl.col("congestion") == congestion
    both = results.intervals().filter(here)
    up = both.filter(pl.col("host") == "client")
    window = both.filter(pl.col("host") == "server")["cwnd_mean"].mean()
    assert isinstance(window, float)
    return {"window": window / 1e3, "losses": float(up["retransmits"].sum()) / up["run"].n_unique()}


def wrapped(text: str) -> str:
    """A paragraph in lines of a README's width."""
    return textwrap.fill(" ".join(text.split()), 110, break_long_words=False, break_on_hyphens=False) + "\n"
