"""Two runs of a scenario over each other: the time-sequence graph of the host's packets on both systems."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from rexmit.diff.packets import Packet, Seen
from rexmit.diff.pairs import First, start_of
from rexmit.plot.style import LIGHT, styled

LOOKS = ((LIGHT.mark, 2.6), (LIGHT.window, 1.3))
"""Colour and width of each system's marks: the second lies over the first, and both show."""

MOST_PACKETS = 3000
"""Packets that are drawn of each system."""

AROUND = 15
"""Packets of either run before the first difference, and after it, that the second graph shows."""


def overlay(first: First, by_host: Mapping[str, tuple[Seen, Seen]], names: tuple[str, str]) -> str:
    """The graph as SVG: what the busier host sends, and what is acknowledged, as seen at the host of `first`.

    The whole run, and what lies around the first packet that differs, which is marked. `by_host` is what each
    host shows on both systems. Times are since each run's first packet.
    """
    seen, sender = by_host[first.host], _busier(by_host[first.host])
    starts = [start_of(side) for side in zip(*by_host.values(), strict=True)]
    both = zip(seen, starts, strict=True)
    runs = [_lines(one[:MOST_PACKETS], start, sender) for one, start in both]
    at = min(time for time in first.times_ns if time is not None) / 1e6
    with styled(LIGHT):
        figure = Figure(figsize=(9.6, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        whole, around = figure.subplots(1, 2)
        for axis in (whole, around):
            for look, run, name in zip(LOOKS, runs, names, strict=True):
                _draw(axis, run, (*look, name))
            axis.axvline(at, color=LIGHT.retransmission, linewidth=0.8, linestyle=":")
            axis.set_xlabel(f"time at the {first.host} [ms]")
        whole.set_ylabel(f"what the {sender} sends [bytes; of SCTP, chunks]")
        whole.legend(loc="upper left")
        whole.set_title("the whole run")
        around.set_title("around the first difference")
        _zoom(around, runs, at)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
        return text.getvalue()


@dataclass(frozen=True)
class _Lines:
    """What is drawn of a run: data as (time in ms, begin, end), acknowledgments as (time in ms, up to)."""

    data: Sequence[tuple[float, int, int]]
    acked: Sequence[tuple[float, int]]


def _lines(packets: Sequence[Packet], start: int, sender: str) -> _Lines:
    data, acked = [], []
    for packet in packets:
        at = (packet.time_ns - start) / 1e6
        data += [(at, low, high) for low, high in data_of(packet, sender)]
        if (covers := ack_of(packet, sender)) is not None:
            acked.append((at, covers))
    return _Lines(data, acked)


def _draw(axis: Axes, lines: _Lines, look: tuple[str, float, str]) -> None:
    colour, width, name = look
    when, below, above = ([one[column] for one in lines.data] for column in (0, 1, 2))
    axis.vlines(when, below, above, color=colour, linewidth=width, label=f"{name}: data")
    when, covered = ([one[column] for one in lines.acked] for column in (0, 1))
    label = f"{name}: acknowledged"
    axis.step(when, covered, where="post", color=colour, linewidth=width / 2, alpha=0.7, label=label)


def _zoom(axis: Axes, runs: Sequence[_Lines], at: float) -> None:
    """Shows what lies around a time: some packets of either run before and after it."""
    times = sorted(one[0] for lines in runs for one in (*lines.data, *lines.acked))
    place = bisect_left(times, at)
    near = times[max(place - AROUND, 0) : place + AROUND]
    if not near or near[0] == near[-1]:
        return
    margin = (near[-1] - near[0]) * 0.03
    axis.set_xlim(near[0] - margin, near[-1] + margin)
    heights = [
        end for lines in runs for time, *ends in lines.data if near[0] <= time <= near[-1] for end in ends
    ]
    heights += [covers for lines in runs for time, covers in lines.acked if near[0] <= time <= near[-1]]
    if heights and max(heights) > min(heights):
        margin = (max(heights) - min(heights)) * 0.05
        axis.set_ylim(min(heights) - margin, max(heights) + margin)


def data_of(packet: Packet, sender: str) -> list[tuple[int, int]]:
    """Where the data that a packet of this host carries begins and ends."""
    _, side, *rest = packet.key
    if side != sender:
        return []
    if rest and isinstance(rest[0], tuple):
        return [(chunk[1], chunk[1] + 1) for chunk in rest if len(chunk) == 4 and isinstance(chunk[1], int)]
    seq, length = rest[0], rest[1]
    return [(seq, seq + length)] if length else []


def ack_of(packet: Packet, sender: str) -> int | None:
    """Up to where a packet of the other host acknowledges."""
    _, side, *rest = packet.key
    if side == sender:
        return None
    if rest and isinstance(rest[0], tuple):
        sacks = [chunk[1] for chunk in rest if str(chunk[0]).startswith("SACK")]
        return sacks[0] if sacks else None
    ack = rest[3]
    return ack if isinstance(ack, int) else None


def _busier(seen: tuple[Seen, Seen]) -> str:
    """The host that sends more data."""
    amounts = {
        side: sum(high - low for one in seen for packet in one for low, high in data_of(packet, side))
        for side in ("server", "client")
    }
    return max(amounts, key=lambda side: amounts[side])
