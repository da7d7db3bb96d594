"""ECN and DCTCP from a scenario to captures and tables, on the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import rexmit

ECE, CWR = 0x40, 0x80
NOT_ECT, ECT_0, CE = 0, 2, 3


def scenario(stack: dict[str, Any], **path: Any) -> dict[str, Any]:
    host = {"stack": {"inherits": "linux-6.1", **stack}}
    return {
        "hosts": {"server": host, "client": host},
        "path": {"rate": "5 Mbit/s", "delay": "10 ms", "queue": "200 packets", "aqm": "codel", **path},
        "transfers": [{"from": "server", "to": "client", "writes": "600 kB"}],
    }


Packets = list[tuple[int, int, int]]
"""Flags, bytes of data and ECN field of each packet that left or reached the client."""


def run(tmp_path: Path, stack: dict[str, Any], **path: Any) -> tuple[dict[str, Any], Packets]:
    capture = tmp_path / "client.pcapng"
    options = {"capture_client": capture, "state": True}
    answer = rexmit.run_one(scenario(stack, **path), options=options)
    packets, data, at = [], capture.read_bytes(), 0
    while at < len(data):
        kind, length = (int.from_bytes(data[at + n : at + n + 4], "little") for n in (0, 4))
        if kind == 6:
            ip = data[at + 28 :]
            header = (ip[32] >> 4) * 4
            packets.append((ip[33], int.from_bytes(ip[2:4], "big") - 20 - header, ip[1] & 3))
        at += length
    return answer, packets


def test_a_queue_marks_instead_of_dropping(tmp_path: Path) -> None:
    answer, packets = run(tmp_path, {"ecn": {"mode": "on"}, "congestion": {"algorithm": "reno"}})
    row = answer["row"]
    assert row["drops_down_aqm"] == 0
    assert row["retransmits"] == 0
    assert [flags & (ECE | CWR) for flags, _, _ in packets[:2]] == [ECE | CWR, ECE]
    assert {field for _, length, field in packets if length} == {ECT_0, CE}
    assert {field for _, length, field in packets if not length} == {NOT_ECT}
    assert any(flags & ECE for flags, _, _ in packets[2:])
    assert any(flags & CWR for flags, length, _ in packets[2:] if length)
    assert "cwr" in answer["state"]["phase"].to_list()


def test_without_it_the_queue_drops(tmp_path: Path) -> None:
    answer, packets = run(tmp_path, {"congestion": {"algorithm": "reno"}})
    assert answer["row"]["drops_down_aqm"] > 0
    assert {field for _, _, field in packets} == {NOT_ECT}
    assert not any(flags & (ECE | CWR) for flags, _, _ in packets)


def test_dctcp_keeps_the_queue_short(tmp_path: Path) -> None:
    """RED as the threshold of RFC 8257 section 3.1: what stands in the queue is marked, at once."""
    step = {"red": {"min": "8 packets", "max": "9 packets", "probability": 1, "weight": 1, "gentle": False}}

    def rates(algorithm: str) -> tuple[float, set[int]]:
        stack = {"ecn": {"mode": "on"}, "congestion": {"algorithm": algorithm}}
        answer, packets = run(tmp_path, stack, aqm=step, rate="20 Mbit/s", delay="1 ms")
        return answer["row"]["time_ns"], {field for _, length, field in packets if not length}

    time, fields = rates("dctcp")
    # Its SYN and its ACKs are ECN-capable as well.
    assert fields == {ECT_0}
    assert rates("reno")[1] == {NOT_ECT}
    assert time < 1.15 * (600_000 * 8 / 20e6) * 1e9


def test_slips_are_one_line() -> None:
    for stack, told in (
        ({"inherits": "linux-2.6.15", "ecn": {"mode": "on"}}, "state CWR of these kernels is not modelled"),
        ({"inherits": "rfc", "congestion": {"algorithm": "dctcp"}}, "inherit `linux-6.1`"),
        ({"inherits": "rfc", "ecn": {"quick_acks": 2}}, "delayed_ack.policy"),
        ({"inherits": "rfc", "ecn": {"mode": "maybe"}}, "maybe"),
    ):
        with pytest.raises(rexmit.StudyError) as caught:
            rexmit.run_one(scenario({}), hosts__server__stack=stack)
        text = str(caught.value)
        assert told in text
        assert "\n" not in text
