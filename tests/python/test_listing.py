"""Packets one by one, as `rexmit analyze --packets` lists them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from rexmit import Study

from .conftest import Command

ROOT = Path(__file__).parents[2]
USRSCTP = ROOT / "tests" / "captures" / "usrsctp"
LINUX = ROOT / "tests" / "captures" / "linux"
HEAVY = USRSCTP / "thin-heavy-loss.sender.pcap.gz"


def lines(rexmit: Command, *arguments: object) -> list[str]:
    """The lines of a listing without the two of titles."""
    return rexmit("analyze", *map(str, arguments), "--packets").stdout.splitlines()[2:]


def test_the_guides_example_is_what_is_printed(rexmit: Command) -> None:
    text = (ROOT / "docs" / "guide" / "analyze.md").read_text()
    found = re.search(r"```console\n\$ rexmit analyze (\S+) (--packets .*)\n((?:.*\n)*?)```", text)
    assert found is not None
    name, options, expected = found.groups()
    assert rexmit("analyze", str(USRSCTP / name), *options.split()).stdout == expected


def test_around_a_retransmission_and_classes_of_sctp_trace(rexmit: Command) -> None:
    shown = lines(rexmit, HEAVY, "--around", 132, "--sctp-threshold", 4)
    # From its first transmission until it is acknowledged, and three packets on either side.
    assert [shown[0].split()[0], shown[-1].split()[0]] == ["121", "143"]
    assert "     124       17384.000  client  TSN 64" in shown
    assert "     132       18840.000  client  R1 64 (1456.000 ms) timeout" in shown
    assert "     138       19384.000  client  R2 64 (2000.000 ms) fast (of sctp_trace: timeout)" in shown
    assert "     140       19592.000  server  SACK 71" in shown


def test_every_chunk_is_listed_once(rexmit: Command) -> None:
    answer = json.loads(rexmit("analyze", str(HEAVY), "--packets", "--json").stdout)
    (association,) = answer["associations"]
    pieces = [piece for packet in answer["listing"] for piece in packet["data"]]
    assert len(pieces) == association["client"]["chunks"]
    assert sum(piece["number"] > 0 for piece in pieces) == association["client"]["retransmitted_chunks"]
    reports = [packet["report"] for packet in answer["listing"] if packet["report"]]
    assert len(reports) == association["server"]["sacks"] + association["client"]["sacks"]
    assert sum(bool(report["blocks"]) for report in reports) == association["server"]["gap_sacks"]
    times = [packet["time_ns"] for packet in answer["listing"]]
    assert times == sorted(times)


def test_tcp_is_listed_by_sequence_numbers(rexmit: Command) -> None:
    shown = lines(rexmit, LINUX / "thin-2ms.server.pcap.gz", "--seq", "401..500")
    assert shown == [
        "       9         305.909  client  ACK 301",
        "      10         453.738  server  seq 301:401",
        "      11         456.329  client  ACK 401",
        "      12         604.670  server  seq 401:501",
        "      13         766.792  server  seq 501:601",
        "      14         769.329  client  ACK 401, duplicate 1, SACK 501:601",
        "      15         769.351  server  R1 401:501 (164.681 ms) fast",
        "      16         771.766  client  ACK 601",
        "      17         916.973  server  seq 601:701",
        "      18         919.426  client  ACK 701",
        "      19        1071.537  server  seq 701:801",
    ]
    assert shown == lines(rexmit, LINUX / "thin-2ms.server.pcap.gz", "--around", 15)
    assert lines(rexmit, LINUX / "thin-2ms.server.pcap.gz")[0] == "       1           0.000  client  SYN"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--tsn", "1..2"], "--tsn does nothing without --packets; give both"),
        (["--packets", "--tsn", "9..2"], "'9..2' is not a span; write it as 1007..1011 or 1007"),
        (["--packets", "--tsn", "99999"], "no packet carries 99999 to 99999; --packets alone lists all"),
        (["--packets", "--around", "1"], "packet 1 carries no retransmission; --retransmissions lists them"),
        (["--packets", "--tsn", "1", "--connection", "1"], "choose one of the two"),
        (["--packets", "--tsn", "1", "--around", "20"], "choose one of them"),
        (["--packets", "--seq", "1"], "the capture has no packets of TCP"),
        (["--packets", "--association", "7"], "no association 7; the capture has 1 association"),
    ],
)
def test_what_cannot_be_listed_is_told(rexmit: Command, options: list[str], told: str) -> None:
    done = rexmit("analyze", str(HEAVY), *options)
    assert done.returncode != 0
    assert told in done.stderr
    assert "carries" not in done.stdout


def test_of_several_flows_one_is_chosen(rexmit: Command, tmp_path: Path) -> None:
    transfer = {"from": "server", "to": "client", "writes": "3 x 1000 bytes", "connections": 2}
    hosts = {"server": {"stack": "rfc"}, "client": {"stack": "rfc"}}
    study = Study.from_dict({"scenario": {"hosts": hosts, "transfers": [transfer]}}, "two")
    capture = tmp_path / "two.pcapng"
    study.run(progress=False).capture(0, server=capture)
    done = rexmit("analyze", capture, "--packets")
    assert "the capture has 2 connections; choose one with --connection N or --association N" in done.stderr
    assert rexmit("analyze", capture, "--packets", "--connection", 2).stdout.startswith("Connection 2: ")
