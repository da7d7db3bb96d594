"""Hostile captures through the command: memory stays within what is stated, and limits are told."""

from __future__ import annotations

import gzip
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from click.testing import CliRunner
from rexmit.analyse.captures import limits
from rexmit.cli import analyze, analyze_options, cli

from .conftest import Command, WriteCapture
from .test_analyze import many

FEW_INTERFACES = 4_096


def classic(packets: Iterable[bytes]) -> bytes:
    """A pcap file of raw IP, a packet a microsecond."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101)]
    for number, data in enumerate(packets):
        out += [struct.pack("<IIII", number // 1_000_000, number % 1_000_000, len(data), len(data)), data]
    return b"".join(out)


def sctp(port: int, chunk: bytes, tag: int = 0, host: int = 1) -> bytes:
    """A packet of SCTP over IPv4; its checksum is not looked at where none was right."""
    body = struct.pack(">HHII", port, 80, tag, 0) + chunk
    source, target = bytes([10, host >> 16 & 255, host >> 8 & 255, host & 255]), bytes([11, 0, 0, 1])
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, 132, 0) + source + target + body


def data(tsn: int) -> bytes:
    """A DATA chunk with a byte."""
    return struct.pack(">BBHIHHI", 0, 3, 17, tsn % 2**32, 0, 0, 0) + b"x\0\0\0"


def init(tag: int) -> bytes:
    """An INIT."""
    return struct.pack(">BBHIIHHI", 1, 0, 20, tag, 1_000, 1, 1, 1)


def interfaces(count: int) -> bytes:
    """A section with so many interfaces, and a packet of the first and of the last."""

    def block(kind: int, body: bytes) -> bytes:
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size

    section = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    packet = sctp(7, data(1), 1)
    packet += bytes(-len(packet) % 4)
    ends = [
        block(6, struct.pack("<IIIII", at, 0, 0, len(packet), len(packet)) + packet) for at in (0, count - 1)
    ]
    return section + block(1, struct.pack("<HHI", 101, 0, 0)) * count + b"".join(ends)


def peak(*arguments: object) -> int:
    """The largest resident memory of the command, bytes."""
    program = Path(sys.executable).parent / "rexmit"
    process = subprocess.Popen(
        [program, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, used = os.wait4(process.pid, 0)
    process.stderr.close()
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    return used.ru_maxrss * 1024


def test_a_limit_that_acts_is_told_in_words_and_in_json(rexmit: Command, tmp_path: Path) -> None:
    path = tmp_path / "bomb.pcapng"
    path.write_bytes(interfaces(FEW_INTERFACES + 12))
    done = rexmit("analyze", path)
    assert done.returncode == 0
    assert "warning: limit: 12 interfaces were passed over; a capture may have 4,096" in done.stdout
    found = json.loads(rexmit("analyze", path, "--json").stdout)
    assert found["limits"] == {"interfaces": 12, "interface_packets": 1}
    assert len(found["interfaces"]) == FEW_INTERFACES
    assert found["packets"] == 1


def test_a_capture_within_every_limit_tells_of_none(rexmit: Command, lost_segment: Path) -> None:
    found = json.loads(rexmit("analyze", lost_segment, "--json").stdout)
    assert (found["limits"], found["warnings"]) == ({}, [])


def test_two_captures_tell_of_limits_each(rexmit: Command, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(interfaces(FEW_INTERFACES + 1))
    found = json.loads(rexmit("analyze", tmp_path / "a", tmp_path / "b", "--json").stdout)
    assert [capture["limits"] for capture in found["captures"]] == 2 * [
        {"interfaces": 1, "interface_packets": 1}
    ]


@pytest.mark.parametrize(
    "packets",
    [
        pytest.param([sctp(7, data(-60_000 * n), 1) for n in range(400)], id="falling-tsns"),
        pytest.param([sctp(7, init(n), host=n) for n in range(100_000)], id="inits"),
        pytest.param(
            [sctp(7, bytes([11, 0, 0, 4]) * 16_000, 1, host=n % 50) for n in range(300)], id="chunks"
        ),
    ],
)
def test_memory_stays_within_what_is_stated(packets: list[bytes], tmp_path: Path) -> None:
    idle, hostile = tmp_path / "idle.pcap", tmp_path / "hostile.pcap.gz"
    idle.write_bytes(classic(packets[:1]))
    hostile.write_bytes(gzip.compress(classic(packets)))
    took = peak("analyze", hostile) - peak("analyze", idle)
    assert took <= 64_000_000 + 100 * hostile.stat().st_size


def test_json_holds_so_many_connections_unless_all_are_asked_for(
    write_capture: WriteCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (analyze, analyze_options):
        monkeypatch.setattr(module, "JSON_FLOWS", 3)
    path = write_capture(many(5))
    found = json.loads(CliRunner().invoke(cli, ["analyze", str(path), "--json"]).stdout)
    assert [row["connection"] for row in found["connections"]] == [3, 4, 5]
    assert found["warnings"] == ["limit: 2 connections beyond 3 not listed; --limit 0 lists all"]
    found = json.loads(CliRunner().invoke(cli, ["analyze", str(path), "--json", "--limit", "0"]).stdout)
    assert [row["connection"] for row in found["connections"]] == [1, 2, 3, 4, 5]
    assert found["warnings"] == []


def test_every_limit_has_a_rule_and_an_effect() -> None:
    found = limits()
    assert len({row["limit"] for row in found}) == len(found) > 15
    assert all(row["rule"] and row["effect"] and "\n" not in row["rule"] + row["effect"] for row in found)
