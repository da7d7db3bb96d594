"""Time-sequence graphs of SCTP: what is drawn is what the tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import rexmit
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from rexmit.analyse.captures import SMALL, Options, Reading
from rexmit.analyse.listing import OF_SCTP, Listing, Window
from rexmit.errors import UsageError
from rexmit.plot import sctp, style, xplot

CAPTURE = Path(__file__).parents[2] / "captures" / "usrsctp" / "thin-heavy-loss.sender.pcap.gz"


@pytest.fixture(scope="module")
def seen() -> sctp.Sequenced:
    listing = Listing("association", 1)
    for tables in Reading([CAPTURE], Options(tables=(*SMALL, *OF_SCTP))):
        listing.add(tables)
    return sctp.Sequenced(listing.flow[1], listing.packets(Window()))


@pytest.fixture(scope="module")
def tables() -> rexmit.Analysis:
    return rexmit.analyze(CAPTURE)


def points(axes: Axes, name: str) -> np.ndarray:
    [line] = [line for line in axes.lines if line.get_gid() == name]
    return np.asarray(line.get_ydata())


def test_chunks_sacks_and_causes_are_drawn(seen: sctp.Sequenced, tables: rexmit.Analysis) -> None:
    axes = Figure().add_subplot()
    labels = [str(entry.get_label()) for entry in sctp.plot(axes, seen, style.LIGHT)]
    again = tables.sctp_retransmissions
    assert points(axes, "chunk").size == tables.chunks.height - again.height
    for cause in ("fast", "timeout", "bundled-reported-missing"):
        drawn = sum(
            np.asarray(line.get_ydata()).size
            for line in axes.lines
            if line.get_gid() == f"retransmission-{cause}"
        )
        assert drawn == again.filter(cause=cause).height > 0
    sacks = tables.sctp_sacks.filter(side="server")
    assert points(axes, "sack").tolist() == sacks["cumulative"].to_list()
    [bars] = [one for one in axes.collections if isinstance(one, LineCollection) and one.get_gid() == "gap"]
    assert len(bars.get_segments()) == sum(len(gaps.split()) for gaps in sacks["gaps"])
    assert labels[:3] == ["DATA chunk", "cumulative TSN, a tick a SACK", "gap block"]
    assert "fast retransmit (F)" in labels


def test_xplot_reads_the_graph(seen: sctp.Sequenced, tables: rexmit.Analysis) -> None:
    text = sctp.xplot(seen)
    assert xplot.check(text) > tables.chunks.height
    assert text.count("R F") == tables.sctp_retransmissions.filter(cause="fast", need="needed").height
    assert text.startswith("dtime signed")


def test_files_are_named_after_the_association(tmp_path: Path) -> None:
    found = sctp.draw_associations(CAPTURE, tmp_path, [1], ["svg", "xplot", "html"], Options())
    assert [path.name for path in found] == ["association-1-tsg.svg", "association-1-tsg.xpl"]
    with pytest.raises(UsageError, match="no packets"):
        sctp.draw_associations(CAPTURE, tmp_path, [9], ["svg"], Options())
