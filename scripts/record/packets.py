"""IP packets of TCP as the relay and the captures hold them: the few fields that rules and truth need."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

FIN, SYN, RST, ACK = 1, 2, 4, 16
ETHERNET = 14
PCAP_HEADER = 24


@dataclass(frozen=True)
class Segment:
    """What of a TCP packet is looked at; `offset` is where its IP header begins."""

    offset: int
    source: str
    sport: int
    dport: int
    seq: int
    ack: int
    flags: int
    length: int

    @property
    def kind(self) -> str:
        """One of the kinds that rules name."""
        if self.flags & SYN:
            return "syn-ack" if self.flags & ACK else "syn"
        if self.flags & RST:
            return "rst"
        if self.length:
            return "data"
        return "fin" if self.flags & FIN else "ack"


def parse(frame: bytes, offset: int) -> Segment | None:
    """The TCP segment in `frame`, whose IP header begins at `offset`; None if it is something else."""
    version = frame[offset] >> 4
    if version == 4 and frame[offset + 9] == 6:
        header = (frame[offset] & 15) * 4
        total = struct.unpack_from(">H", frame, offset + 2)[0]
        source = frame[offset + 12 : offset + 16].hex()
    elif version == 6 and frame[offset + 6] == 6:
        header = 40
        total = 40 + struct.unpack_from(">H", frame, offset + 4)[0]
        source = frame[offset + 8 : offset + 24].hex()
    else:
        return None
    sport, dport, seq, ack, bits, flags = struct.unpack_from(">HHIIBB", frame, offset + header)
    length = total - header - (bits >> 4) * 4
    return Segment(offset, source, sport, dport, seq, ack, flags, length)


def read_pcap(path: Path) -> list[tuple[float, Segment | None]]:
    """Time in seconds and segment of each packet of a capture that tcpdump wrote on this machine."""
    data = path.read_bytes()
    magic, link = struct.unpack_from("<I16xI", data)
    unit = {0xA1B2C3D4: 1e-6, 0xA1B23C4D: 1e-9}[magic]
    offset = {1: ETHERNET, 12: 0, 101: 0, 113: 16, 276: 20}[link]
    found = []
    at = PCAP_HEADER
    while at < len(data):
        seconds, fraction, kept, _ = struct.unpack_from("<IIII", data, at)
        frame = data[at + 16 : at + 16 + kept]
        found.append((seconds + fraction * unit, parse(frame, offset)))
        at += 16 + kept
    return found


def segmented(frame: bytes, offset: int, size: int) -> list[bytes]:
    """A super-packet of IPv4 as the packets of `size` bytes of data that a network card would make of it."""
    header = offset + (frame[offset] & 15) * 4
    body = header + (frame[header + 12] >> 4) * 4
    data = frame[body:]
    size = size or max(len(data), 1)
    starts = range(0, max(len(data), 1), size)
    return [_cut(frame, (offset, header, body), at, data[at : at + size], at == starts[-1]) for at in starts]


def _cut(frame: bytes, places: tuple[int, int, int], at: int, data: bytes, last: bool) -> bytes:
    """The packet that carries `data`, which lies `at` bytes after the first byte of the super-packet."""
    offset, header, body = places
    out = bytearray(frame[:body] + data)
    struct.pack_into(">H", out, offset + 2, len(out) - offset)
    ident = struct.unpack_from(">H", out, offset + 4)[0]
    struct.pack_into(">H", out, offset + 4, (ident + at // max(len(data), 1)) & 0xFFFF)
    struct.pack_into(">H", out, offset + 10, 0)
    struct.pack_into(">H", out, offset + 10, _checksum(bytes(out[offset:header])))
    seq = struct.unpack_from(">I", out, header + 4)[0]
    struct.pack_into(">I", out, header + 4, (seq + at) & 0xFFFFFFFF)
    if not last:
        out[header + 13] &= ~(FIN | 8)
    struct.pack_into(">H", out, header + 16, 0)
    pseudo = bytes(out[offset + 12 : offset + 20]) + struct.pack(">BBH", 0, 6, len(out) - header)
    struct.pack_into(">H", out, header + 16, _checksum(pseudo + bytes(out[header:])))
    return bytes(out)


def _checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total: int = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
