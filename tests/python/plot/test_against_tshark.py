"""The analysis beside Wireshark's, on real captures of our own runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import rexmit
from rexmit.plot.connections import ACK, Side, read

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

SCENARIO = {
    "hosts": {"server": {"stack": "freebsd-6.0"}, "client": {"stack": "freebsd-6.0"}},
    "path": {"rate": "2 Mbit/s", "delay": "20 ms", "queue": "10 packets"},
    "transfers": [{"from": "server", "to": "client", "bulk": "500 kB"}],
}
FIELDS = (
    "tcp.srcport",
    "tcp.seq",
    "tcp.ack",
    "tcp.len",
    "tcp.window_size",
    "tcp.flags",
    "tcp.options.sack_le",
)


@pytest.fixture(scope="module", params=["server", "client"])
def capture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tshark") / f"{request.param}.pcapng"
    row = rexmit.run_one(SCENARIO, options={f"capture_{request.param}": path})["row"]
    assert row["retransmits"] > 5
    return path


def tshark(capture: Path, *more: str) -> list[list[str]]:
    fields = [word for field in (*FIELDS, *more) for word in ("-e", field)]
    command = [
        "tshark",
        "-r",
        str(capture),
        "-o",
        "tcp.relative_sequence_numbers:TRUE",
        "-T",
        "fields",
        *fields,
    ]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split("\t") for line in lines]


def of_side(rows: list[list[str]], side: Side) -> list[list[str]]:
    port = side.address.rpartition(":")[2]
    return [row for row in rows if row[0] == port]


@pytest.mark.parametrize("name", ["server", "client"])
def test_numbers_windows_and_sack_blocks_are_those_of_wireshark(capture: Path, name: str) -> None:
    [seen] = read(capture)
    side, other = (seen.server, seen.client) if name == "server" else (seen.client, seen.server)
    rows = tshark(capture)
    theirs = of_side(rows, side)
    assert side.segments.seq.tolist() == [int(row[1]) for row in theirs]
    assert side.segments.len.tolist() == [int(row[3]) for row in theirs]
    assert side.segments.flags.tolist() == [int(row[5], 16) & 0xFF for row in theirs]
    acks = [row for row in of_side(rows, other) if int(row[5], 16) & ACK]
    assert side.acks.ack.tolist() == [int(row[2]) for row in acks]
    assert (side.acks.window_edge - side.acks.ack).tolist() == [int(row[4]) for row in acks]
    lefts = [int(edge) for row in acks for edge in row[6].split(",") if edge]
    assert len(lefts) == len(side.sacks.left)
    assert len(set(np.subtract(lefts, side.sacks.left).tolist())) <= 1  # Wireshark's are not relative


def test_every_retransmission_is_one_for_wireshark_too(capture: Path) -> None:
    [seen] = read(capture)
    rows = of_side(tshark(capture, "tcp.analysis.retransmission", "tcp.analysis.out_of_order"), seen.server)
    again = seen.server.segments.transmission > 1
    theirs = np.array([row[7] != "" for row in rows])
    if capture.stem == "server":
        assert again.sum() > 5
        assert (again & ~theirs).sum() == 0
    # At the receiver it is seen for the first time, into a hole, if the first one was lost on the way.
    late = seen.server.segments.late
    judged = theirs | np.array([row[8] != "" for row in rows])
    assert ((again | late) == judged).all()
