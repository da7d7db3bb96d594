"""What two captures of one flow say in words: clocks, what each missed, and what cannot be matched."""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from rexmit.analyse.captures import Options
from rexmit.analyse.pairs import Paired, PairOptions, read_pair
from rexmit.cli import cli
from rexmit.report.terminal_pair import clock_lines, exact, print_pair, unseen_lines
from rich.console import Console

CAPTURES = Path(__file__).parents[1] / "captures"
CLIENT, SERVER = (CAPTURES / "linux" / f"alternate.{side}.pcap.gz" for side in ("client", "server"))

Packet = tuple[int, bytes]
"""Microseconds, and the rest of a record of pcap."""


def rewritten(path: Path, to: Path, change: Callable[[list[Packet]], list[Packet]]) -> Path:
    """A capture with other packets."""
    data = gzip.decompress(path.read_bytes())
    packets, at = [], 24
    while at < len(data):
        second, micro, kept = struct.unpack_from("<III", data, at)
        packets.append((second * 10**6 + micro, data[at + 8 : at + 16 + kept]))
        at += 16 + kept
    parts = [struct.pack("<II", *divmod(time, 10**6)) + rest for time, rest in change(packets)]
    to.write_bytes(data[:24] + b"".join(parts))
    return to


def pair(first: Path, second: Path) -> Paired:
    """What both say."""
    return read_pair([first, second], Options(), PairOptions())


def printed(paired: Paired, width: int = 200) -> str:
    """The text of a terminal so wide."""
    console = Console(width=width, record=True, file=io.StringIO())
    print_pair(console, paired, ("a.pcap", "b.pcap"))
    return console.export_text()


def column(paired: Paired, name: str) -> list[int]:
    """Of both directions."""
    from rexmit.analyse.rows import values

    return list(values(paired.tables["pairs"], name))


def test_segments_that_were_lost_together_are_counted_each() -> None:
    ends = (CAPTURES / "linux" / f"offload.{side}.pcap.gz" for side in ("server", "client"))
    found = pair(*ends)
    # By the kernel's counters it sent 12 segments again, and the client got 210 packets of 222.
    assert [column(found, name)[1] for name in ("packets", "arrived", "lost", "lost_between")] == [
        222,
        210,
        12,
        12,
    ]


def test_a_capture_of_a_tap_with_two_ports(tmp_path: Path) -> None:
    """Each packet twice changes neither clocks nor losses."""

    def doubled(packets: list[Packet]) -> list[Packet]:
        return sorted([*packets, *((time + 5, rest) for time, rest in packets)], key=lambda packet: packet[0])

    right, found = pair(SERVER, CLIENT), pair(rewritten(SERVER, tmp_path / "d.pcap", doubled), CLIENT)
    assert sum(column(right, "lost"))
    for name in ("packets", "lost", "arrived", "duplicated", "delay_min_ns", "delay_max_ns"):
        assert column(found, name) == column(right, name)
    assert "nothing is known" not in printed(found)


@pytest.mark.parametrize("seconds", [10, -10])
def test_a_clock_that_is_set(tmp_path: Path, seconds: int) -> None:
    """It is said, and delays are as before."""

    def stepped(packets: list[Packet]) -> list[Packet]:
        half = len(packets) // 2
        return [(time + (at >= half) * seconds * 10**6, rest) for at, (time, rest) in enumerate(packets)]

    right, found = pair(CLIENT, SERVER), pair(CLIENT, rewritten(SERVER, tmp_path / "s.pcap", stepped))
    text = printed(found)
    assert text.count("A clock was set") == 1
    assert f"B's shows 10 s {'more' if seconds > 0 else 'less'}" in text.replace("\n", " ")
    for name in ("delay_min_ns", "delay_p50_ns", "delay_max_ns"):
        assert column(found, name) == pytest.approx(column(right, name), abs=2e6)


def test_a_capture_that_misses_packets_for_a_time(tmp_path: Path) -> None:
    """What went to it then is not lost, and what came from there was missed."""

    def blind(packets: list[Packet]) -> list[Packet]:
        half = len(packets) // 2
        return packets[: half - 10] + packets[half + 10 :]

    right, found = pair(SERVER, CLIENT), pair(rewritten(SERVER, tmp_path / "h.pcap", blind), CLIENT)
    assert sum(column(found, "lost")) <= sum(column(right, "lost"))
    assert "seen at B only: missed by A" in printed(found)


def test_a_slope_that_nothing_bounds_is_not_known() -> None:
    """A capture so short says nothing of how fast a clock runs."""
    clock = pair(SERVER, CLIENT).clock
    unknown = {**clock, "skew_ppm": 0.0, "skew_low_ppm": -1000.0, "skew_high_ppm": 1000.0}
    assert "how fast it runs is not known" in next(clock_lines(unknown, matched=True))
    known = {**clock, "skew_ppm": 109.2, "skew_low_ppm": 90.0, "skew_high_ppm": 121.0}
    assert "runs +109 ppm (between +90 and +121)" in next(clock_lines(known, matched=True))


def test_an_offset_has_digits_down_to_what_is_uncertain() -> None:
    """An hour and a half second, known to 25 ms."""
    values = [3600.5e9, 3600.475e9, 3600.525e9]
    assert exact(values) == ["3,600.500 s", "3,600.475 s", "3,600.525 s"]
    assert exact([-value for value in values])[0] == "-3,600.500 s"
    assert exact([42_800, -25e6, 25e6]) == ["42.8 us", "-25 ms", "25 ms"]
    assert exact([5_000_000]) == ["5 ms"]


def test_no_clock_is_said_as_it_is() -> None:
    """Matched packets of which none is the only one of its kind are in both captures all the same."""
    clock = {"method": "unknown"}
    assert next(clock_lines(clock, matched=False)).startswith("No packet is in both captures;")
    assert "in both captures;" in (line := next(clock_lines(clock, matched=True)))
    assert line.startswith("No packet is unique in both captures")


def test_delays_below_zero_are_warned_of(tmp_path: Path) -> None:
    """As with captures said to have one clock that have not."""
    late = rewritten(SERVER, tmp_path / "l.pcap", lambda packets: [(t + 10**7, rest) for t, rest in packets])
    found = read_pair([CLIENT, late], Options(), PairOptions(same_clock=True))
    assert any("before they were sent" in text for text in found.warnings)
    assert pair(CLIENT, late).warnings == []


def test_a_narrow_terminal_shows_everything() -> None:
    """Eighty columns hold lines, not a table of which half is missing."""
    text = printed(pair(SERVER, CLIENT), 80)
    assert max(map(len, text.splitlines())) <= 80
    for word in ("delay min / median / p95:", "sent again", "lost before A..B", "connections 1:1"):
        assert word in text
    assert "…" not in text


def test_captures_of_sctp_are_judged_by_themselves() -> None:
    """Both analyses are shown, and why."""
    files = sorted((CAPTURES / "usrsctp").glob("*.pcap.gz"))[:2]
    result = CliRunner().invoke(cli, ["analyze", *map(str, files)])
    assert result.exit_code == 0
    assert "Packets of SCTP are not matched one by one" in result.output
    assert result.output.count("1 SCTP association") == 2


def test_captures_of_different_flows() -> None:
    """One line says so; JSON ends with exit code 1."""
    files = [str(SERVER), str(CAPTURES / "public" / "dpkt-http.pcap")]
    result = CliRunner().invoke(cli, ["analyze", *files])
    assert "no TCP connection in common: each capture is judged by itself" in result.output
    assert result.output.count("TCP retransmissions") == 2
    result = CliRunner().invoke(cli, ["analyze", *files, "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["pairs"] == []


def test_one_capture_twice() -> None:
    """A hint, as nothing can be learnt from it."""
    found = pair(SERVER, SERVER)
    assert "captures from two places" in printed(found)
    assert replace(found, clock=pair(SERVER, CLIENT).clock).warnings == []


def test_what_a_capture_missed_is_named() -> None:
    """By the capture that missed it."""
    row = {"pair": 1, "side": "client", "near_sender": "b", "not_sent": 1, "not_comparable": 0}
    assert list(unseen_lines(row)) == ["pair 1, from client: 1 packet seen at A only: missed by B"]
