#!/usr/bin/env python3
"""A TCP that keeps one segment in flight: stop and wait, with a timer of a second that doubles.

As the stack of a host: `hosts.server.stack = { program = "python3 stop_and_wait.py" }`.
"""

import socket
import struct

from rexmit.stack import End, Write, serve

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
SECOND, BUFFER, TRIES, MASK = 1_000_000_000, 65_536, 8, 0xFFFFFFFF


def checksum(data: bytes) -> int:
    """Of IP and TCP: the ones' complement of the sum of 16-bit words."""
    total: int = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class StopAndWait(End):
    """One end; IPv4 only."""

    def begin(self) -> None:
        self.state = "CLOSED" if self.active else "LISTEN"
        self.next = self.run.random.getrandbits(32)  # sequence number of what is sent next
        self.mss = self.run.mtu - 40
        self.expected = 0  # sequence number that the peer sends next
        self.waiting, self.inbox = b"", b""
        self.flight: tuple[int, int, bytes] | None = None  # number, flags and data that are not acknowledged
        self.closing = self.fin_sent = self.peer_done = self.short = False
        self.tries = 0

    def emit(self, number: int, flags: int, data: bytes = b"", why: str | None = None) -> None:
        window = min(BUFFER - len(self.inbox), 65_535)
        options = struct.pack("!BBH", 2, 4, self.mss) if flags & SYN else b""
        ports = (self.local[1], self.remote[1])
        offset = (20 + len(options)) // 4 << 12 | flags
        tcp = struct.pack("!HHIIHHHH", *ports, number, self.expected, offset, window, 0, 0) + options + data
        ends = socket.inet_aton(self.local[0]) + socket.inet_aton(self.remote[0])
        total = checksum(ends + struct.pack("!HH", 6, len(tcp)) + tcp)
        tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + ends
        self.send(ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:] + tcp, why)

    def start(self, now: int, flags: int, data: bytes = b"") -> None:
        """Sends what must be acknowledged."""
        self.flight, self.tries = (self.next, flags, data), 0
        self.next = (self.next + len(data) + bool(flags & (SYN | FIN))) & MASK
        self.emit(*self.flight)
        self.set_timer(now + SECOND)

    def push(self, now: int) -> None:
        """Sends the next segment, if none is in flight."""
        if self.flight is None and self.state not in ("CLOSED", "LISTEN"):
            if self.waiting:
                data, self.waiting = self.waiting[: self.mss], self.waiting[self.mss :]
                self.start(now, ACK | PSH, data)
                if self.short:
                    self.short = False
                    self.tell("writable")
            elif self.closing and not self.fin_sent:
                self.fin_sent = True
                self.start(now, ACK | FIN)
        self.set_state(self.state, cwnd=self.mss, send_queue=len(self.waiting), rto_ns=SECOND << self.tries)

    def end(self, event: str) -> None:
        self.state, self.flight, self.waiting = "CLOSED", None, b""
        self.set_timer(None)
        self.tell(event)

    def connect(self, now: int) -> None:
        self.state = "SYN-SENT"
        self.start(now, SYN)

    def packet(self, now: int, data: bytes) -> None:
        tcp = data[(data[0] & 15) * 4 : int.from_bytes(data[2:4], "big")] if len(data) >= 40 else b""
        if len(tcp) < 20 or self.state == "CLOSED":
            return
        number, ack, offset = struct.unpack_from("!IIH", tcp, 4)
        flags, payload = offset & 0x3F, tcp[(offset >> 12) * 4 :]
        if flags & RST:
            self.end("reset")
            return
        if flags & SYN:
            self.expected = (number + 1) & MASK
            if self.state == "LISTEN":
                self.state = "SYN-RECEIVED"
                self.start(now, SYN | ACK)
                return
            if not flags & ACK or self.state != "SYN-SENT":
                self.emit(*(self.flight or (self.next, ACK)))
                return
        if self.flight and flags & ACK and ack == self.next:
            self.flight = None
            self.set_timer(None)
            if self.state in ("SYN-SENT", "SYN-RECEIVED"):
                self.state = "ESTABLISHED"
                self.tell("connected")
        if number == self.expected and payload and len(self.inbox) + len(payload) <= BUFFER:
            self.inbox += payload
            self.expected = (number + len(payload)) & MASK
            self.set_readable(len(self.inbox))
            self.tell("readable")
        if flags & FIN and (number + len(payload)) & MASK == self.expected and not self.peer_done:
            self.expected, self.peer_done = (self.expected + 1) & MASK, True
            self.tell("end-of-stream")
        if payload or flags & (SYN | FIN):
            self.emit(self.next, ACK)
        self.push(now)
        if self.state == "ESTABLISHED" and self.peer_done and self.fin_sent and self.flight is None:
            self.state = "TIME-WAIT"
            self.tell("closed")

    def timer(self, now: int) -> None:
        if self.flight:
            self.tries += 1
            if self.tries <= TRIES:
                self.emit(*self.flight, why="timeout")
                self.set_timer(now + (SECOND << self.tries))
            else:
                self.end("timed-out")

    def write(self, now: int, data: bytes, how: Write) -> int:
        taken = 0 if self.closing or self.state == "CLOSED" else max(BUFFER - len(self.waiting), 0)
        self.short = taken < len(data)
        self.waiting += data[:taken]
        self.push(now)
        return min(taken, len(data))

    def read(self, now: int, most: int) -> bytes:
        full = len(self.inbox) + self.mss > BUFFER
        data, self.inbox = self.inbox[:most], self.inbox[most:]
        self.set_readable(len(self.inbox))
        if full and self.state == "ESTABLISHED":
            self.emit(self.next, ACK)  # the window is open again
        return data

    def close(self, now: int) -> None:
        self.closing = True
        if self.state in ("LISTEN", "CLOSED"):
            self.end("closed")
        self.push(now)

    def abort(self, now: int) -> None:
        if self.state not in ("LISTEN", "CLOSED"):
            self.emit(self.next, RST | ACK)
        self.end("closed")


if __name__ == "__main__":
    serve(StopAndWait, name="stop-and-wait", version="1", protocols="tcp")
