"""An SCTP for tests: one chunk in flight, a timer of a second that doubles, no gaps reported. IPv4 only."""

import socket
import struct

from rexmit.stack import Data, End, Write, serve

DATA, INIT, INIT_ACK, SACK, HEARTBEAT, HEARTBEAT_ACK, ABORT, SHUTDOWN, SHUTDOWN_ACK = range(9)
COOKIE_ECHO, COOKIE_ACK, SHUTDOWN_COMPLETE = 10, 11, 14
SECOND, WINDOW, MASK = 1_000_000_000, 65_536, 0xFFFFFFFF

TABLE = []
for number in range(256):
    for _ in range(8):
        number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(data: bytes) -> int:
    crc = MASK
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ MASK


def chunk(kind: int, value: bytes = b"", flags: int = 0) -> bytes:
    return struct.pack("!BBH", kind, flags, 4 + len(value)) + value + bytes(-len(value) % 4)


class Toy(End):
    def begin(self) -> None:
        self.state = "CLOSED" if self.active else "LISTEN"
        self.tag, self.tsn = self.run.random.getrandbits(32) | 1, self.run.random.getrandbits(32)
        self.peer_tag = self.cumulative = 0
        self.flight: tuple[int, bytes] | None = None
        self.tries = self.partial = 0
        self.waiting: list[tuple[int, int, bytes]] = []
        self.ssns: dict[int, int] = {}
        self.inbox: list[Data] = []
        self.closing = self.peer_done = False

    def emit(self, *chunks: bytes, tag: int | None = None, why: str | None = None) -> None:
        tag = self.peer_tag if tag is None else tag
        head = struct.pack("!HHI", self.local[1], self.remote[1], tag)
        body = b"".join(chunks)
        sctp = head + struct.pack("<I", crc32c(head + bytes(4) + body)) + body
        ends = socket.inet_aton(self.local[0]) + socket.inet_aton(self.remote[0])
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(sctp), 0, 0, 64, 132, 0) + ends
        total = sum(struct.unpack("!10H", ip))
        check = ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF
        self.send(ip[:10] + struct.pack("!H", check) + ip[12:] + sctp, why)

    def start(self, now: int, kind: int, what: bytes) -> None:
        self.flight, self.tries = (kind, what), 0
        self.emit(what, tag=0 if kind == INIT else None)
        self.set_timer(now + SECOND)

    def landed(self) -> None:
        self.flight = None
        self.set_timer(None)

    def push(self, now: int) -> None:
        if self.flight is None and self.state in ("ESTABLISHED", "SHUTDOWN-RECEIVED"):
            if self.waiting:
                stream, place, data = self.waiting.pop(0)
                self.ssns[stream] = ssn = self.ssns.get(stream, -1) + 1
                head = struct.pack("!IHHI", self.tsn, stream, ssn & 0xFFFF, place & MASK)
                self.tsn = (self.tsn + 1) & MASK
                self.start(now, DATA, chunk(DATA, head + data, 3))
            elif self.state == "SHUTDOWN-RECEIVED":
                self.state = "SHUTDOWN-ACK-SENT"
                self.start(now, SHUTDOWN_ACK, chunk(SHUTDOWN_ACK))
            elif self.closing:
                self.state = "SHUTDOWN-SENT"
                self.start(now, SHUTDOWN, chunk(SHUTDOWN, struct.pack("!I", self.cumulative)))
        self.set_state(self.state, cwnd=self.run.mtu, send_queue=sum(len(one[2]) for one in self.waiting))

    def end(self, event: str) -> None:
        self.state = "CLOSED"
        self.landed()
        if event == "closed" and not self.peer_done:
            self.peer_done = True
            self.tell("end-of-stream")
        self.tell(event)

    def init(self, cookie: bytes = b"") -> bytes:
        return struct.pack("!IIHHI", self.tag, WINDOW, 100, 100, self.tsn) + cookie

    def connect(self, now: int) -> None:
        self.state = "COOKIE-WAIT"
        self.start(now, INIT, chunk(INIT, self.init()))

    def packet(self, now: int, data: bytes) -> None:
        rest = data[32:] if len(data) >= 32 and data[0] == 0x45 else b""
        sacks = False
        while len(rest) >= 4:
            kind, flags, length = struct.unpack_from("!BBH", rest)
            value, rest = rest[4:length], rest[max(length, 4) + -length % 4 :]
            if self.state != "CLOSED" or kind == SHUTDOWN_ACK:
                sacks |= self.take(now, kind, flags, value)
        if sacks:
            self.emit(chunk(SACK, struct.pack("!IIHH", self.cumulative, WINDOW, 0, 0)))
        self.push(now)

    def take(self, now: int, kind: int, flags: int, value: bytes) -> bool:
        """Takes a chunk; whether it is to be acknowledged by a SACK."""
        flying = self.flight[0] if self.flight else None
        if kind in (INIT, INIT_ACK) and len(value) >= 16:
            if kind == INIT or flying == INIT:
                self.peer_tag, _, _, _, first = struct.unpack_from("!IIHHI", value)
                self.cumulative = (first - 1) & MASK
            if kind == INIT:
                cookie = struct.pack("!HH", 7, 8) + b"cook"
                self.emit(chunk(INIT_ACK, self.init(cookie)))
            elif flying == INIT:
                self.state = "COOKIE-ECHOED"
                at = value.find(struct.pack("!H", 7), 16)
                size = int.from_bytes(value[at + 2 : at + 4], "big")
                self.start(now, COOKIE_ECHO, chunk(COOKIE_ECHO, value[at + 4 : at + size]))
        elif kind == COOKIE_ECHO:
            self.emit(chunk(COOKIE_ACK))
            if self.state == "LISTEN":
                self.state = "ESTABLISHED"
                self.tell("connected")
        elif kind == COOKIE_ACK and flying == COOKIE_ECHO:
            self.landed()
            self.state = "ESTABLISHED"
            self.tell("connected")
        elif kind == DATA and len(value) >= 12:
            self.data(flags, value)
            return True
        elif kind in (SACK, SHUTDOWN) and len(value) >= 4:
            if flying == DATA and int.from_bytes(value[:4], "big") == (self.tsn - 1) & MASK:
                self.landed()
                self.tell("writable")
            if kind == SHUTDOWN:
                self.shutdown()
        elif kind == HEARTBEAT:
            self.emit(chunk(HEARTBEAT_ACK, value))
        elif kind == ABORT:
            self.end("reset")
        elif kind == SHUTDOWN_ACK:
            self.emit(chunk(SHUTDOWN_COMPLETE))
            if self.state != "CLOSED":
                self.end("closed")
        elif kind == SHUTDOWN_COMPLETE and flying == SHUTDOWN_ACK:
            self.end("closed")
        return False

    def shutdown(self) -> None:
        if self.state == "SHUTDOWN-SENT":
            self.landed()
        if not self.peer_done:
            self.peer_done = True
            self.tell("end-of-stream")
        if self.state in ("ESTABLISHED", "SHUTDOWN-SENT"):
            self.state = "SHUTDOWN-RECEIVED"

    def data(self, flags: int, value: bytes) -> None:
        tsn, stream, _, place = struct.unpack_from("!IHHI", value)
        if tsn == (self.cumulative + 1) & MASK:
            self.cumulative = tsn
            self.partial = 0 if flags & 2 else self.partial
            self.inbox.append(Data(value[12:], stream, place + self.partial))
            self.partial += len(value) - 12
            self.set_readable(sum(len(one.data) for one in self.inbox))
            self.tell("readable")

    def timer(self, now: int) -> None:
        if self.flight and self.tries < 8:
            self.tries += 1
            self.emit(self.flight[1], tag=0 if self.flight[0] == INIT else None, why="timeout")
            self.set_timer(now + (SECOND << self.tries))
        elif self.flight:
            self.end("timed-out")

    def write(self, now: int, data: bytes, how: Write) -> int:
        if self.closing or len(self.waiting) > 40 or len(data) > self.run.mtu - 48:
            return 0
        self.waiting.append((how.stream, how.place, data))
        self.push(now)
        return len(data)

    def read(self, now: int, most: int) -> Data | None:
        if not self.inbox:
            return None
        first = self.inbox.pop(0)
        if len(first.data) > most:
            assert first.place is not None
            self.inbox.insert(0, Data(first.data[most:], first.stream, first.place + most))
            first = Data(first.data[:most], first.stream, first.place)
        self.set_readable(sum(len(one.data) for one in self.inbox))
        if self.inbox:
            self.tell("readable")
        return first

    def close(self, now: int) -> None:
        self.closing = True
        if self.state in ("LISTEN", "CLOSED"):
            self.end("closed")
        self.push(now)

    def abort(self, now: int) -> None:
        if self.state not in ("LISTEN", "CLOSED"):
            self.emit(chunk(ABORT))
        self.end("closed")


if __name__ == "__main__":
    serve(Toy, name="toy", protocols="sctp")
