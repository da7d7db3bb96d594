"""The far side of rexmit's protocol for stacks that are programs, in one file without dependencies.

Copy it beside a program of yours or import it. A stack is a class of ends:

```python
from rexmit.stack import End, serve

class Mine(End):
    def packet(self, now, data): ...

serve(Mine, name="mine", version="1.0")
```

rexmit calls an end's handlers one at a time; `now` is the run's time in nanoseconds. While it is called,
an end says what it does: `send`, `tell`, `set_timer`, `set_readable`, `set_state`. It must read no clock
and draw random numbers from `self.run.random` alone, so that the same run is the same again.
"""

from __future__ import annotations

import json
import os
import random
import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

VERSION = 1
LINE = 3
"""The file descriptor that leads to rexmit."""

EVENTS = ("connected", "writable", "readable", "end-of-stream", "closed", "reset", "timed-out")
WHYS = (None, "new", "timeout", "loss", "probe", "ack", "control", "reset")
FIELDS = (
    "cwnd",
    "ssthresh",
    "in_flight",
    "snd_wnd",
    "send_queue",
    "recv_queue",
    "srtt_ns",
    "rttvar_ns",
    "rto_ns",
    "rexmt_due_ns",
    "phase",
    "timeouts",
    "fast_retransmits",
    "dup_acks",
)
PHASES = ("open", "disorder", "recovery", "loss")

HELLO, OPEN, CONNECT, PACKET, TIMER, WRITE, READ, CLOSE, ABORT, BYE, FOLLOWED = range(1, 12)
ANSWER = 0x80
REFUSAL = 0xFF

_NEVER = 2**64 - 1
_AT = struct.Struct("<QI")
_HOW = struct.Struct("<HBIQQ")
_DATA = struct.Struct("<HQB")
_FOLLOWED = struct.Struct("<BII")
_ENOUGH = 1 << 17
"""An answer of this many bytes is followed by no more reads."""


@dataclass
class Run:
    """What is known of a run: its settings, and a stream of random numbers that is the same each time."""

    seed: bytes
    settings: dict[str, Any]
    random: random.Random

    @property
    def mtu(self) -> int:
        """The longest IP packet."""
        return int(self.settings["mtu"])

    @property
    def qlog(self) -> bool:
        """Whether rexmit takes logs of connections: `End.add_qlog`."""
        return bool(self.settings.get("qlog"))


@dataclass(frozen=True)
class Write:
    """How what the application writes is to be delivered, and its `place` among all that it writes."""

    stream: int = 0
    unordered: bool = False
    max_retransmits: int | None = None
    lifetime_ns: int | None = None
    place: int = 0
    datagram: bool = False
    """Of QUIC: one DATAGRAM frame (RFC 9221), taken whole or not at all and never sent again."""


@dataclass(frozen=True)
class Data:
    """What a read gives, where that is more than bytes in order.

    The stream, the place of the first byte in what the peer's application wrote (None: after what was read
    before), whether the stream ends after it, and whether it is a datagram instead, which has no place and
    is given whole.
    """

    data: bytes
    stream: int = 0
    place: int | None = None
    ends: bool = False
    datagram: bool = False


class End:
    """One end of a connection. Override the handlers; call the other methods from them."""

    def __init__(
        self,
        run: Run,
        active: bool,
        streams: int,
        local: tuple[str, int],
        remote: tuple[str, int],
        datagrams: bool = False,
    ) -> None:
        self.run, self.active, self.streams, self.local, self.remote = run, active, streams, local, remote
        self.datagrams = datagrams
        """Of QUIC: what is written are datagrams."""
        self._items: list[bytes] = []
        self._readable = 0
        self._due: int | None = None
        self.begin()

    # Handlers

    def begin(self) -> None:
        """The end has been made: an active one will connect, a passive one waits."""

    def connect(self, now: int) -> None:
        """The application connects."""

    def packet(self, now: int, data: bytes) -> None:
        """An IP packet has arrived; its checksums are right."""

    def timer(self, now: int) -> None:
        """The time of `set_timer` has come; it is not set any more."""

    def write(self, now: int, data: bytes, how: Write) -> int:
        """The application writes; returns how many bytes were taken.

        Where that is fewer than all, tell "writable" once there is room. For a datagram too long for the
        connection, call `set_limit` and return 0.
        """
        return 0

    def read(self, now: int, most: int) -> bytes | Data | None:
        """The application reads."""
        return None

    def close(self, now: int) -> None:
        """The application writes no more: streams end once all that was written has left, datagrams too."""

    def abort(self, now: int) -> None:
        """The application breaks the connection off."""

    # What an end says

    def send(
        self,
        packet: bytes,
        why: str | None = None,
        *,
        new_data: bool = False,
        repeats: bool = False,
        datagram: bool = False,
    ) -> None:
        """An IP packet leaves; `why` is one of WHYS, or None for what its bytes show.

        For QUIC: whether it carries stream data for the first time, stream data that was sent before, and a
        datagram.
        """
        reason = WHYS.index(why) + 16 * new_data + 32 * repeats + 64 * datagram
        self._items.append(_item(3, bytes([reason]) + packet))

    def tell(self, event: str) -> None:
        """The application should know of one of EVENTS."""
        self._items.append(_item(4, bytes([EVENTS.index(event)])))

    def set_readable(self, count: int) -> None:
        """So many bytes wait for a read."""
        self._readable = count
        self._items.append(_item(5, struct.pack("<Q", count)))

    def set_limit(self, most: int) -> None:
        """The datagram that is written is too long: so many bytes would fit now."""
        self._items.append(_item(9, struct.pack("<I", most)))

    def set_timer(self, at: int | None) -> None:
        """Call `timer` at this time of the run, or no more."""
        self._due = at
        self._items.append(_item(6, struct.pack("<BQ", at is not None, at or 0)))

    def tick(self, every: int) -> None:
        """Call `timer` every so many nanoseconds."""
        self._due = 0
        self._items.append(_item(6, struct.pack("<BQ", 2, every)))

    def set_state(self, name: str, **values: int | str | None) -> None:
        """The end's state for tables: its name, and what is known of FIELDS; `phase` is one of PHASES."""
        packed = bytes([len(name)]) + name.encode()
        for key, value in values.items():
            if value is not None:
                number = PHASES.index(value) if isinstance(value, str) else value
                packed += struct.pack("<BQ", FIELDS.index(key), number)
        self._items.append(_item(7, packed))

    def add_secrets(self, lines: str) -> None:
        """Lines of NSS's key log, by which a capture can be decrypted."""
        self._items.append(_item(8, lines.encode()))

    def add_qlog(self, records: bytes) -> None:
        """Records of the connection's qlog (RFC 7464), each whole, where `Run.qlog` asks for them."""
        self._items.append(_item(10, records))

    def _answer(self, *items: bytes) -> list[bytes]:
        said, self._items = [*self._items, *items], []
        return said


@dataclass
class _Server:
    make: Callable[..., End]
    hello: list[bytes]
    forgets: bool
    run: Run | None = None
    ends: dict[int, End] = field(default_factory=dict)

    def answer(self, kind: int, body: bytes) -> list[bytes]:
        if kind == HELLO:
            seed, settings = body[2:34], json.loads(body[34:])
            self.run, self.ends = Run(seed, settings, random.Random(seed)), {}
            return self.hello
        if kind == BYE:
            self.ends = {}
            return []
        now, number = _AT.unpack_from(body)
        rest = body[_AT.size :]
        if kind == OPEN:
            assert self.run is not None
            more = {"datagrams": True} if rest[0] & 2 else {}
            self.ends[number] = end = self.make(self.run, *_opened(rest), **more)
            return end._answer()
        answer = _followed if kind == FOLLOWED else _called
        return answer(self.ends[number], kind, now, rest)


def _followed(end: End, kind: int, now: int, rest: bytes) -> list[bytes]:
    """Answers a call, and those that the application makes once it is told the one event of the answer.

    It reads until nothing is left, or it writes.
    """
    first, most, size = _FOLLOWED.unpack_from(rest)
    body, write = rest[_FOLLOWED.size :][:size], rest[_FOLLOWED.size + size :]
    items = _called(end, first, now, body)
    told = _told(items)
    if told == ["writable"] and write:
        return [*items, _item(11, bytes([WRITE])), *_called(end, WRITE, now, write)]
    goes_on = told == ["readable"] and most > 0
    while goes_on and end._readable > 0 and sum(map(len, items)) < _ENOUGH:
        part = _called(end, READ, now, struct.pack("<I", most))
        items += [_item(11, bytes([READ])), *part]
        # After what ends a stream, and after another event, the application may do something else.
        read = part and part[-1][0] == 2 and not part[-1][5 + _DATA.size - 1] & 1
        goes_on = bool(read) and set(_told(part)) <= {"readable"}
    return items


def _told(items: list[bytes]) -> list[str]:
    """The events among the items of an answer."""
    return [EVENTS[item[5]] for item in items if item[0] == 4]


def _called(end: End, kind: int, now: int, rest: bytes) -> list[bytes]:
    """Calls a handler of an end; the items of its answer."""
    if kind == PACKET:
        end.packet(now, rest)
    elif kind == TIMER:
        if end._due is not None and end._due <= now:
            end._due = None if end._due else 0  # a tick goes on
            end.timer(now)
    elif kind == WRITE:
        stream, flags, retransmits, lifetime, place = _HOW.unpack_from(rest)
        least = None if retransmits == 2**32 - 1 else retransmits
        most = None if lifetime == _NEVER else lifetime
        how = Write(stream, bool(flags & 1), least, most, place, bool(flags & 2))
        return end._answer(_item(1, struct.pack("<I", end.write(now, rest[_HOW.size :], how))))
    elif kind == READ:
        found = end.read(now, int.from_bytes(rest, "little"))
        data = Data(found) if isinstance(found, bytes) else found
        if data is None:
            return end._answer()
        place = _NEVER if data.place is None else data.place
        flags = data.ends + 2 * data.datagram
        return end._answer(_item(2, _DATA.pack(data.stream, place, flags) + data.data))
    elif kind == CONNECT:
        end.connect(now)
    elif kind == CLOSE:
        end.close(now)
    elif kind == ABORT:
        end.abort(now)
    else:
        raise ValueError(f"a call of the unknown kind {kind}")
    return end._answer()


def serve(
    make: Callable[..., End],
    *,
    name: str,
    version: str = "",
    protocols: str = "tcp",
    forgets: bool = True,
    datagrams: bool = False,
) -> None:
    """Answers rexmit until it is gone. `make` is the class of ends; `protocols` are separated by blanks.

    With `forgets`, one process serves one run after the other, which is faster; nothing of a run may then
    change the next. With `datagrams`, it knows those of QUIC, and `make` gets `datagrams=True` for an end
    whose application writes them.
    """
    line = socket.socket(fileno=os.dup(LINE))
    hello = [_item(16, struct.pack("<H", VERSION)), _item(17, name.encode()), _item(19, protocols.encode())]
    hello += [_item(18, version.encode())] if version else []
    hello += [_item(20, b"")] if forgets else []
    hello += [_item(128, b"")] if datagrams else []
    hello += [_item(130, b"")]
    server = _Server(make, hello, forgets)
    buffer = bytearray()
    while (call := _next(line, buffer)) is not None:
        items = server.answer(call[0], call[1:])
        whole = bytes([call[0] | ANSWER]) + b"".join(items)
        line.sendall(struct.pack("<I", len(whole)) + whole)


def _next(line: socket.socket, buffer: bytearray) -> bytes | None:
    """The next call without its length; None where rexmit is gone."""
    while len(buffer) < 4 or len(buffer) < 4 + int.from_bytes(buffer[:4], "little"):
        if not (got := line.recv(1 << 16)):
            return None
        buffer += got
    end = 4 + int.from_bytes(buffer[:4], "little")
    call = bytes(buffer[4:end])
    del buffer[:end]
    return call


def _item(kind: int, value: bytes) -> bytes:
    return struct.pack("<BI", kind, len(value)) + value


def _opened(rest: bytes) -> tuple[bool, int, tuple[str, int], tuple[str, int]]:
    """Whether an end is active, its streams, and the addresses of both ends."""
    passive, streams, family = struct.unpack_from("<BHB", rest)
    size = 4 if family == 4 else 16
    ends = []
    for at in (4, 4 + size + 2):
        port = int.from_bytes(rest[at + size : at + size + 2], "little")
        ends.append((str(ip_address(rest[at : at + size])), port))
    return not passive & 1, streams, ends[0], ends[1]
