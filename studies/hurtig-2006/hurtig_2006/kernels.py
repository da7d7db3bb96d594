"""Linux 6.12 beside 6.1 on the flows of hurtig-2006: which runs differ, by how much, and with which packet.

Both kernels run with the same draws: the levels of a run are the same, and what is drawn follows from them.
So a difference is the kernel's alone. Which packet it begins with comes from captures at the server.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import polars as pl
import rexmit
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from rexmit.plot import style
from rexmit.plot.figures import Factor

from .linux import DELAY, POSITION, RATE, STACK

KEYS = (RATE, DELAY, POSITION, STACK, "replication")
CONTROLS = ("cubic", "reno", "bbr")
FIN = 1
HELD, SOONER, CUT, ELSE = "FIN held back", "acknowledged sooner", "cut elsewhere", "else"
"""What the first packet that differs shows: 6.1 sends the last segment, with the FIN, and 6.12 does not yet;
the client of 6.12 acknowledges and that of 6.1 does not yet; a segment has another length; anything else."""
KINDS = (HELD, SOONER, CUT, ELSE)


def differences(old: rexmit.Results, new: rexmit.Results) -> pl.DataFrame:
    """Each run on both kernels: `KEYS`, `run`, `ms` (how much longer the new one takes), counters of both."""
    columns = ("time_ns", "timeouts_server", "data_segments", "completed")
    sizes = (f"{RATE}_bit_s", f"{DELAY}_ns")
    sides = [results.table().select(*KEYS, *sizes, "run", *columns) for results in (old, new)]
    both = sides[0].join(sides[1].drop("run", *sizes), on=KEYS, suffix="_new", maintain_order="left")
    assert both.height == sides[0].height == sides[1].height, "the kernels did not have the same runs"
    assert both["completed"].all()
    assert both["completed_new"].all()
    longer = pl.col("time_ns_new").cast(pl.Int64) - pl.col("time_ns").cast(pl.Int64)
    return both.with_columns((longer / 1e6).alias("ms"))


def positions_that_differ(frame: pl.DataFrame) -> list[int]:
    """Positions at which any run differs."""
    positions: list[int] = frame.filter(pl.col("ms") != 0)[POSITION].unique().sort().to_list()
    return positions


def difference_table(frame: pl.DataFrame) -> str:
    """By position, for each congestion control with its defaults: runs that differ, and by how much."""
    lines = [["lost", *CONTROLS], ["---", *["---:"] * len(CONTROLS)]]
    for position in positions_that_differ(frame.filter(pl.col(STACK).is_in(CONTROLS))):
        cells = []
        for control in CONTROLS:
            here = frame.filter(pl.col(STACK) == control, pl.col(POSITION) == position)["ms"].to_list()
            cells.append(_told([ms for ms in here if ms], len(here)))
        lines.append([str(position), *cells])
    return _markdown(lines)


def _told(changed: Sequence[float], runs: int) -> str:
    if not changed:
        return "-"
    least, median, most = min(changed), float(np.median(changed)), max(changed)
    return f"{len(changed)} of {runs}: {least:+,.0f}, {median:+,.0f}, {most:+,.0f} ms"


def first_table(pairs: Sequence[tuple[str, rexmit.Results, rexmit.Results]]) -> str:
    """What the first packet that differs shows, for runs with captures on both kernels."""
    lines = [["runs with captures", "differ", *KINDS], ["---", *["---:"] * (1 + len(KINDS))]]
    for name, old, new in pairs:
        counts = first_packets(old, new)
        cells = [f"{counts[kind]:,}" for kind in KINDS]
        lines.append([f"{name}, {len(old):,}", f"{counts.total():,}", *cells])
    return _markdown(lines)


def first_packets(old: rexmit.Results, new: rexmit.Results) -> Counter[str]:
    """How many of the runs that differ begin to differ so."""
    frame = differences(old, new).filter(pl.col("ms") != 0)
    return Counter(first_packet(old, new, run) for run in frame["run"].to_list())


def first_packet(old: rexmit.Results, new: rexmit.Results, run: int) -> str:
    """What the first packet shows in which a run differs, seen at the server: one of `KINDS`."""
    mine, other = (_packets(results, run) for results in (old, new))
    for one, two in zip(mine, other, strict=False):
        if one != two:
            return _kind(one, two)
    return ELSE


Packet = tuple[int, str, int, int, bool]
"""Time, `sent` or `ack`, sequence or acknowledged number, length, whether it ends the data."""


def _packets(results: rexmit.Results, run: int) -> list[Packet]:
    """What the server sent with data and what it was told, in order."""
    assert results.folder is not None
    (connection,) = rexmit.read_capture(results.folder / "captures" / f"run-{run:08d}-server.pcapng")
    sent, acks = connection.server.segments, connection.server.acks
    data = sent.len > 0
    columns = (column[data].tolist() for column in (sent.time_ns, sent.seq, sent.len, sent.flags))
    found: list[Packet] = [
        (time, "sent", seq, length, bool(flags & FIN))
        for time, seq, length, flags in zip(*columns, strict=True)
    ]
    found += [
        (time, "ack", ack, 0, False)
        for time, ack in zip(acks.time_ns.tolist(), acks.ack.tolist(), strict=True)
    ]
    # What arrived at an instant was there before what it made the server send.
    return sorted(found, key=lambda packet: (packet[0], packet[1], packet[2]))


def _kind(one: Packet, two: Packet) -> str:
    if one[1] == two[1] == "sent" and one[0] == two[0] and one[2] == two[2] and one[3] != two[3]:
        return CUT
    if one[4] and one[0] <= two[0]:
        return HELD
    if two[1] == "ack" and two[0] <= one[0]:
        return SOONER
    return ELSE


def maps(frame: pl.DataFrame) -> Figure:
    """How much longer CUBIC takes on the new kernel with packet 3 or 19 lost, on every path."""
    rates, delays = Factor.of(frame, RATE), Factor.of(frame, DELAY)
    sheet = Figure(figsize=(11.5, 4.6), layout="constrained")
    grid = sheet.subplots(1, 2, sharey=True)
    image = None
    for axes, position in zip(grid, (3, 19), strict=True):
        here = frame.filter(pl.col(STACK) == "cubic", pl.col(POSITION) == position)
        means = here.group_by(RATE, DELAY).agg(pl.col("ms").mean())
        cells = np.zeros((len(rates.levels), len(delays.levels)))
        for rate, delay, ms in means.iter_rows():
            cells[rates.levels.index(rate), delays.levels.index(delay)] = ms
        image = _map(axes, cells)
        axes.set_xticks(range(len(delays.levels)), [f"{n:g}" for n in delays.numbers])
        axes.set_yticks(range(len(rates.levels)), [f"{n:,.0f}" for n in rates.numbers])
        axes.set_xlabel("One-way delay (ms)")
        axes.set_title(f"Packet {position} lost", loc="left")
    grid[0].set_ylabel("Bandwidth (kbit/s)")
    assert image is not None
    sheet.colorbar(image, ax=grid, shrink=0.85, pad=0.01, label="6.12 takes longer (ms)", extend="both")
    sheet.suptitle("CUBIC on Linux 6.12 against 6.1, mean of three runs", x=0.01, ha="left")
    return sheet


def _map(axes: Axes, cells: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> AxesImage:
    image = axes.imshow(cells, origin="lower", aspect="auto", cmap="RdBu_r", norm=TwoSlopeNorm(0, -600, 600))
    axes.grid(visible=False)
    for (row, column), ms in np.ndenumerate(cells):
        ink = "white" if abs(ms) > 350 else style.LIGHT.ink
        text = f"{ms:+.0f}" if round(ms) else "0"
        axes.text(column, row, text, ha="center", va="center", fontsize=7.5, color=ink)
    return image


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
