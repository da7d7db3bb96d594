"""The parts of record_linux.py that need neither root nor a kernel."""

from __future__ import annotations

import importlib
import struct
import sys

from .conftest import SCRIPTS

sys.path.insert(0, str(SCRIPTS))
packets = importlib.import_module("record.packets")
rules = importlib.import_module("record.rules")
scenarios = importlib.import_module("record.scenarios")


def frame(seq: int, data: bytes, flags: int = 16) -> bytes:
    """A packet of IPv4 and TCP without options; checksums are of no account here."""
    length = 40 + len(data)
    addresses = bytes([10, 9, 0, 2, 10, 9, 0, 1])
    head = struct.pack(">BBHHHBBH", 0x45, 0, length, 7, 0x4000, 64, 6, 0) + addresses
    return head + struct.pack(">HHIIBBHHH", 5001, 35001, seq, 1, 0x50, flags, 100, 0, 0) + data


def segment(seq: int, length: int, flags: int = 16) -> object:
    return packets.parse(frame(seq, bytes(length), flags), 0)


def test_a_super_packet_is_split_as_a_network_card_would() -> None:
    data = bytes(range(250)) * 10
    parts = packets.segmented(frame(2**32 - 1000, data, 16 | 8 | 1), 0, 1000)
    found = [packets.parse(part, 0) for part in parts]
    assert [part.length for part in found] == [1000, 1000, 500]
    assert [part.seq for part in found] == [2**32 - 1000, 0, 1000]
    assert [part.flags for part in found] == [16, 16, 16 | 8 | 1]
    assert b"".join(part[40:] for part in parts) == data
    for part in parts:
        assert packets._checksum(part[:20]) == 0
        pseudo = part[12:20] + struct.pack(">BBH", 0, 6, len(part) - 20)
        assert packets._checksum(pseudo + part[20:]) == 0


def test_a_rule_names_a_transmission_of_a_position() -> None:
    judge = rules.Judge((rules.Rule("drop", positions=(2,), transmissions=(1, 3)),), 1)
    seen = [(1, 100), (101, 100), (201, 100), (101, 100), (101, 100)]
    verdicts = [judge.decide("down", segment(*one)) for one in seen]
    assert [(position, transmission) for _, position, transmission in verdicts] == [
        (1, 1),
        (2, 1),
        (3, 1),
        (2, 2),
        (2, 3),
    ]
    assert [rule is not None for rule, _, _ in verdicts] == [False, True, False, False, True]


def test_chance_is_the_same_each_time() -> None:
    rule = rules.Rule("drop", probability=0.3)
    first, second = rules.Judge((rule,), 5), rules.Judge((rule,), 5)
    seen = [segment(1 + 100 * n, 100) for n in range(200)]
    dropped = [[judge.decide("down", s)[0] is not None for s in seen] for judge in (first, second)]
    assert dropped[0] == dropped[1]
    assert 30 < sum(dropped[0]) < 90


def test_every_scenario_has_a_recording() -> None:
    folder = SCRIPTS.parent / "tests" / "captures" / "linux"
    names = {scenario.name for scenario in scenarios.scenarios()}
    assert names == {path.stem for path in folder.glob("*.json")}
    for name in names:
        for side in ("client", "server"):
            assert (folder / f"{name}.{side}.pcap.gz").is_file()
