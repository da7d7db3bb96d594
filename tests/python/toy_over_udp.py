"""A transport over UDP for tests, with streams: one datagram in flight, and a timer of a second.

A datagram is its number, that which it expects, the stream, whether it ends the stream (1) and all that the
sender has (2), and data. Where the application writes datagrams of QUIC, each leaves at once in a packet
without a number.
"""

import socket
import struct

from rexmit.stack import Data, End, Write, serve

HEAD = struct.Struct("!IIHB")
SECOND = 1_000_000_000
ALONE, ACK = 0xFFFE, 0xFFFF
"""What stands for the stream of a datagram of QUIC, and of an acknowledgment alone."""
MOST = 1_200
"""Bytes of a datagram of QUIC."""


class Toy(End):
    def begin(self) -> None:
        self.number = self.expected = 0
        self.waiting: list[tuple[int, int, bytes]] = []
        self.inbox: list[Data] = []
        self.used = {0}
        self.connected = self.closing = self.peer_done = self.over = self.flying = False

    def emit(self, stream: int, ends: int, data: bytes, why: str, *, datagram: bool = False) -> None:
        body = HEAD.pack(self.number, self.expected, stream, ends) + data
        ends_of = socket.inet_aton(self.local[0]) + socket.inet_aton(self.remote[0])
        udp = struct.pack("!HHHH", self.local[1], self.remote[1], 8 + len(body), 0) + body
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0) + ends_of
        total = sum(struct.unpack("!10H", ip))
        check = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        self.send(ip[:10] + struct.pack("!H", check) + ip[12:] + udp, why, datagram=datagram)

    def push(self, now: int, why: str = "new") -> None:
        if self.waiting:
            self.flying = True
            self.emit(*self.waiting[0], why)
            self.set_timer(now + SECOND)
        self.set_state("ESTABLISHED" if self.connected else "HANDSHAKE", send_queue=len(self.waiting))

    def connect(self, now: int) -> None:
        self.waiting.append((0, 0, b""))
        self.push(now)

    def packet(self, now: int, data: bytes) -> None:
        if len(data) < 28 + HEAD.size or data[0] != 0x45:
            return
        number, acked, stream, ends = HEAD.unpack_from(data, 28)
        payload = data[28 + HEAD.size :]
        if not self.connected:
            self.connected = True
            self.tell("connected")
        if self.flying and acked == self.number + 1:
            self.waiting.pop(0)
            self.number += 1
            self.flying = False
            self.set_timer(None)
            self.tell("writable")
        if stream == ALONE:
            self.inbox.append(Data(payload, datagram=True))
            self.set_readable(sum(map(len, [one.data for one in self.inbox])))
            self.tell("readable")
        elif stream != ACK:
            if number == self.expected:
                self.expected += 1
                if payload or ends:
                    self.inbox.append(Data(payload, stream, ends=bool(ends & 1)))
                    self.set_readable(sum(map(len, [one.data for one in self.inbox])) or 1)
                    self.tell("readable")
                    self.peer_done |= ends > 1
            if not self.waiting or self.flying:
                self.emit(ACK, 0, b"", "ack")
        if not self.flying:
            self.push(now)
        self.settle()

    def settle(self) -> None:
        if self.closing and not self.waiting and self.peer_done and not self.inbox and not self.over:
            self.over = True
            self.tell("closed")

    def timer(self, now: int) -> None:
        self.push(now, "timeout")

    def write(self, now: int, data: bytes, how: Write) -> int:
        if how.datagram:
            if len(data) > MOST:
                self.set_limit(MOST)
                return 0
            self.emit(ALONE, 0, data, "new", datagram=True)
            return len(data)
        if len(self.waiting) > 20:
            return 0
        self.used.add(how.stream)
        for at in range(0, len(data), 1000):
            self.waiting.append((how.stream, 0, data[at : at + 1000]))
        if not self.flying:
            self.push(now)
        return len(data)

    def read(self, now: int, most: int) -> Data | None:
        if not self.inbox:
            return None
        first = self.inbox.pop(0)
        if len(first.data) > most and not first.datagram:
            self.inbox.insert(0, Data(first.data[most:], first.stream, ends=first.ends))
            first = Data(first.data[:most], first.stream)
        self.set_readable(sum(map(len, [one.data for one in self.inbox])) or bool(self.inbox))
        if self.peer_done and not self.inbox:
            self.tell("end-of-stream")
        self.settle()
        return first

    def close(self, now: int) -> None:
        self.closing = True
        used = sorted(self.used)
        for stream in used:
            self.waiting.append((stream, 3 if stream == used[-1] else 1, b""))
        if not self.flying:
            self.push(now)

    def abort(self, now: int) -> None:
        self.over = True
        self.tell("closed")


if __name__ == "__main__":
    serve(Toy, name="toy", protocols="quic", datagrams=True)
