"""Captures from packet scripts: one line per packet, in the manner of tcpdump.

MS SIDE FLAGS SEQ+LEN [ack N] [win N] [ws N] [sackok] [sack A-B,C-D] [port N] [# comment of the capture]
"""

from __future__ import annotations

import socket
import struct

HOSTS = {"c": ("10.0.1.1", 40000), "s": ("10.0.2.2", 80)}
BITS = {"F": 1, "S": 2, "R": 4, "P": 8, ".": 0}

LOST_SEGMENT = """
0 c S 100+0 win 60000 ws 0 sackok
0.1 s S 900+0 ack 101 win 60000 ws 0 sackok
20 c . 101+0 ack 901 win 7000
21 s . 901+1000 ack 101
22 s . 1901+1000 ack 101 # dropped by pattern at position 3
23 s . 2901+1000 ack 101
24 s . 3901+1000 ack 101
25 s P 4901+1000 ack 101
40 c . 101+0 ack 1901 win 7000
43 c . 101+0 ack 1901 win 7000 sack 2901-3901
44 c . 101+0 ack 1901 win 7000 sack 2901-4901
45 c . 101+0 ack 1901 win 7000 sack 2901-5901
46 s . 1901+1000 ack 101
60 c . 101+0 ack 5901 win 7000
61 s F 5901+0 ack 101
80 c F 101+0 ack 5902 win 7000
81 s . 5902+0 ack 102
"""
"""The second of five segments is lost and sent again at the third duplicate acknowledgment; at the server."""


def capture(script: str) -> bytes:
    """The packets of a script as a pcapng file."""
    return _section() + b"".join(map(_packet, filter(None, map(str.strip, script.splitlines()))))


def _section() -> bytes:
    nanoseconds = _option(9, b"\x09")
    interface = struct.pack("<HHI", 101, 0, 0) + _option(2, b"server") + nanoseconds + _option(0, b"")
    return _block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1)) + _block(1, interface)


def _packet(line: str) -> bytes:
    words, _, comment = line.partition(" # ")
    ms, side, flags, span, *rest = words.split()
    ns = int(float(ms) * 1e6) + 1_000_000_000_000_000_000
    data = _ip(side, _tcp(side, flags, span, rest))
    head = struct.pack("<IIIII", 0, ns >> 32, ns & 0xFFFFFFFF, len(data), len(data))
    tail = _option(1, comment.encode()) + _option(0, b"") if comment else b""
    return _block(6, head + data + bytes(-len(data) % 4) + tail)


def _tcp(side: str, flags: str, span: str, rest: list[str]) -> bytes:
    words = ("ack", "win", "ws", "sack", "port")
    given = {word: rest[at + 1] for at, word in enumerate(rest) if word in words}
    seq, length = map(int, span.split("+"))
    bits = sum(BITS[letter] for letter in flags) | (0x10 if "ack" in given else 0)
    options = b"\x01\x03\x03" + bytes([int(given["ws"])]) if "ws" in given else b""
    options += b"\x01\x01\x04\x02" if "sackok" in rest else b""
    if "sack" in given:
        edges = [int(edge) for block in given["sack"].split(",") for edge in block.split("-")]
        options += b"\x01\x01\x05" + struct.pack(f">B{len(edges)}I", 2 + 4 * len(edges), *edges)
    client = int(given.get("port", HOSTS["c"][1]))
    ports = (client, HOSTS["s"][1]) if side == "c" else (HOSTS["s"][1], client)
    numbers = seq, int(given.get("ack", 0)), (5 + len(options) // 4) << 4, bits, int(given.get("win", 1000))
    return struct.pack(">HHIIBBHHH", *ports, *numbers, 0, 0) + options + b"x" * length


def _ip(side: str, tcp: bytes) -> bytes:
    ends = [socket.inet_aton(HOSTS[host][0]) for host in (side, "s" if side == "c" else "c")]
    check = _checksum(b"".join(ends) + struct.pack(">HH", 6, len(tcp)) + tcp)
    tcp = tcp[:16] + struct.pack(">H", check) + tcp[18:]
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + b"".join(ends)
    return head[:10] + struct.pack(">H", _checksum(head)) + head[12:] + tcp


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)


def _block(kind: int, body: bytes) -> bytes:
    size = struct.pack("<I", len(body) + 12)
    return struct.pack("<I", kind) + size + body + size
