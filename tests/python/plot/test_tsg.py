from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from rexmit import RexmitError, UsageError
from rexmit.plot import draw, style, tsg
from rexmit.plot.connections import read


def drawn(capture: Path, view: tsg.View | None = None) -> tuple[Axes, list[str]]:
    axes = Figure().add_subplot()
    entries = tsg.plot(axes, read(capture)[0], view or tsg.View())
    return axes, [str(entry.get_label()) for entry in entries]


def bars(axes: Axes, name: str) -> list[tuple[float, float, float]]:
    """Bars of that name as (seconds, low, high)."""
    found = [artist for artist in axes.collections if artist.get_gid() == name]
    assert all(isinstance(artist, LineCollection) for artist in found)
    return [(a[0], a[1], b[1]) for artist in found for a, b in artist.get_segments()]


def points(axes: Axes, name: str) -> list[tuple[float, float]]:
    """Points of all lines of that name as (seconds, sequence number)."""
    lines: list[Line2D] = [line for line in axes.lines if line.get_gid() == name]
    return [(x, y) for line in lines for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)]


def test_every_row_of_the_analysis_is_in_the_graph(lost_segment: Path) -> None:
    rows = read(lost_segment)[0].server
    axes, _ = drawn(lost_segment)
    data, again = rows.segments.len > 0, rows.segments.transmission > 1
    assert len(bars(axes, "segment")) == np.count_nonzero(data & ~again) == 5
    assert len(bars(axes, "retransmission")) == np.count_nonzero(data & again) == 1
    assert len(points(axes, "text-R")) == np.count_nonzero(again) == 1
    assert len(points(axes, "text-3")) == np.count_nonzero(rows.acks.duplicate == 3) == 1
    assert len(bars(axes, "sack")) == len(rows.sacks.left) == 3
    assert len(points(axes, "ack-tick")) == len(points(axes, "window-tick")) == len(rows.acks.ack) == 7
    assert len(points(axes, "empty")) == 1


def test_symbols_stand_at_their_time_and_sequence_number(lost_segment: Path) -> None:
    axes, _ = drawn(lost_segment)
    assert bars(axes, "retransmission") == [pytest.approx((0.046, 1001, 2001))]
    assert points(axes, "text-3") == [pytest.approx((0.045, 1001))]
    assert points(axes, "segment-push") == [pytest.approx((0.025, 5001))]
    assert points(axes, "segment-first")[0] == pytest.approx((0.021, 1))
    assert points(axes, "segment-last")[0] == pytest.approx((0.021, 1001))
    assert points(axes, "syn") == [pytest.approx((0.0001, 0))]
    assert points(axes, "fin") == [pytest.approx((0.061, 5002))]
    assert points(axes, "text-R") == [pytest.approx((0.046, 1501))]
    assert points(axes, "dropped") == [pytest.approx((0.022, 1501))]
    assert bars(axes, "sack")[0] == pytest.approx((0.043, 2001, 3001))


def test_levels_are_steps_of_acknowledgments_and_windows(lost_segment: Path) -> None:
    axes, _ = drawn(lost_segment)
    levels = {line.get_gid(): line for line in axes.lines if line.get_gid() in ("ack", "window")}
    assert all(line.get_drawstyle() == "steps-post" for line in levels.values())
    assert list(levels["ack"].get_ydata())[:3] == [1, 1001, 1001]
    assert list(levels["window"].get_ydata())[:2] == [7001, 8001]


def test_the_legend_names_what_is_there_and_no_more(
    lost_segment: Path, write_capture: Callable[[str], Path]
) -> None:
    _, labels = drawn(lost_segment)
    assert {"segment", "retransmission (R)", "SACK block", "third duplicate ACK", "PSH"} <= set(labels)
    assert "reordered on its way here (O)" not in labels
    plain = write_capture("0 s . 901+100 ack 101\n5 c . 101+0 ack 1001 win 50")
    _, labels = drawn(plain)
    assert labels == ["segment", "ACK level, a tick an ACK", "advertised window"]


def test_the_window_gets_room_only_near_the_data(write_capture: Callable[[str], Path]) -> None:
    script = "0 s . 901+1000 ack 101\n5 c . 101+0 ack 1901 win {}"
    axes, labels = drawn(write_capture(script.format(500)))
    assert axes.get_ylim()[1] > 1501
    axes, labels = drawn(write_capture(script.format(60_000)))
    assert axes.get_ylim()[1] < 2000
    assert "advertised window (above, from 61,001)" in labels


def test_a_segment_that_was_overtaken_is_marked(write_capture: Callable[[str], Path]) -> None:
    script = "0 s . 901+100 ack 101\n1 s . 2001+1000 ack 101\n1.1 s . 1001+1000 ack 101"
    axes, labels = drawn(write_capture(script))
    assert bars(axes, "late") == [pytest.approx((0.0011, 101, 1101))]
    assert len(points(axes, "text-O")) == 1
    assert "reordered on its way here (O)" in labels


def test_retransmissions_are_told_apart_by_cause(lost_segment: Path) -> None:
    axes, labels = drawn(lost_segment, tsg.View(causes=True))
    assert bars(axes, "retransmission-fast") == [pytest.approx((0.046, 1001, 2001))]
    assert points(axes, "text-F") == [pytest.approx((0.046, 1501))]
    assert bars(axes, "retransmission") == points(axes, "text-R") == []
    assert "fast retransmit (F)" in labels
    assert "retransmission (R)" not in labels


def test_a_range_of_time_fits_what_it_shows(lost_segment: Path) -> None:
    axes, _ = drawn(lost_segment, tsg.View(t=(0.02, 0.03)))
    assert axes.get_xlim() == pytest.approx((0.0198, 0.0302))
    assert 5001 < axes.get_ylim()[1] < 8000
    assert len(bars(axes, "segment")) == 5
    assert not any(points(axes, name) for name in ("text-3", "text-R", "fin", "syn", "empty"))
    assert bars(axes, "retransmission") == bars(axes, "sack") == []


def test_dropped_marks_can_be_left_out(lost_segment: Path) -> None:
    axes, labels = drawn(lost_segment, tsg.View(dropped=False))
    assert points(axes, "dropped") == []
    assert not any("dropped" in label for label in labels)


def test_files_are_svg_and_png_or_what_the_name_says(lost_segment: Path, tmp_path: Path) -> None:
    assert draw(lost_segment, tmp_path / "a") == [tmp_path / "a.svg", tmp_path / "a.png"]
    assert draw(lost_segment, tmp_path / "new" / "b.pdf", theme="dark") == [tmp_path / "new" / "b.pdf"]
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "new" / "b.pdf").read_bytes().startswith(b"%PDF")
    assert 'id="retransmission-fast"' in (tmp_path / "a.svg").read_text()


def test_the_file_of_a_long_capture_stays_small(write_capture: Callable[[str], Path], tmp_path: Path) -> None:
    packets = [f"{n} s . {901 + n}+1 ack 101" for n in range(tsg.MOST_VECTORS + 1)]
    packets.insert(1, "0.5 c . 101+0 ack 902")
    [svg] = draw(write_capture("\n".join(packets)), tmp_path / "a.svg")
    text = svg.read_text()
    assert "<image" in text
    assert len(text) < 300_000


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
def test_the_same_capture_gives_the_same_bytes(lost_segment: Path, tmp_path: Path, ending: str) -> None:
    [first], [second] = (draw(lost_segment, tmp_path / f"{name}.{ending}") for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"connection": 2}, "no connection 2 in '.*'; it has 1, counted from 1"),
        ({"connection": 0}, "no connection 0"),
        ({"direction": "down"}, "no side 'down'; choose 'client' or 'server'"),
        ({"t": (2.0, 1.0)}, "from 2 to 1 s is empty"),
        ({"t": (5.0, 6.0)}, "no packet from 5 to 6 s; the connection lasts 0.081 s"),
        ({"theme": "pink"}, "no theme 'pink'"),
    ],
)
def test_bad_input_is_one_clear_line(
    lost_segment: Path, tmp_path: Path, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        draw(lost_segment, tmp_path / "a.svg", **arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "a.svg").exists()


def test_a_file_that_is_no_capture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no capture '.*nothing\.pcap'"):
        draw(tmp_path / "nothing.pcap", tmp_path / "a.svg")
    (tmp_path / "text.pcap").write_text("hello")
    with pytest.raises(UsageError, match=r"text\.pcap: not a pcapng or pcap file"):
        draw(tmp_path / "text.pcap", tmp_path / "a.svg")


def test_a_capture_without_tcp_is_refused(write_capture: Callable[[str], Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no TCP connection in"):
        draw(write_capture(""), tmp_path / "a.svg")


def test_a_capture_that_breaks_off_is_drawn_with_a_warning(lost_segment: Path, tmp_path: Path) -> None:
    lost_segment.write_bytes(lost_segment.read_bytes()[:-20])
    with pytest.warns(UserWarning, match="byte .*ends within"):
        assert draw(lost_segment, tmp_path / "a.svg")


def test_a_file_appears_whole_or_not_at_all(
    lost_segment: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "a.svg"
    out.write_text("before")

    def full_disk(descriptor: int) -> None:
        assert os.fstat(descriptor).st_size > 0
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(RexmitError, match="no space left") as caught:
        draw(lost_segment, out)
    assert "\n" not in str(caught.value)
    assert out.read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svg", "server.pcapng"]


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=re.escape("cannot draw 'gif'")):
        style.save(Figure(), tmp_path / "a", ["gif"])
