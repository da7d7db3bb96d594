"""The near side of the protocol of stacks, for calls that no run makes: a program and a line to it."""

from __future__ import annotations

import json
import os
import shlex
import socket
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from rexmit import _native
from rexmit.errors import UsageError, one_line
from rexmit.run.processes import end_group

_NAMES = ("HELLO", "OPEN", "CONNECT", "PACKET", "TIMER", "WRITE", "READ", "CLOSE", "ABORT", "BYE")
_SECONDS = 10.0
_MTU = 1500
_LONGEST = 1 << 24
_START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.execvp(sys.argv[2], sys.argv[2:])"


class LineError(Exception):
    """What a program did that the protocol does not allow, in one line."""


@dataclass
class Answer:
    """The parts of an answer that matter here."""

    packets: list[bytes] = field(default_factory=list)
    timer: int | None = None
    forgets: bool = False
    datagrams: bool = False
    follows: bool = False


def words_of(command: str) -> list[str]:
    """The words of a command as a shell splits them.

    Raises UsageError where there are none, or a quote is open.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(
            f"the command {command!r} cannot be split into words: {one_line(error).lower()}"
        ) from None
    if not words:
        raise UsageError("the command is empty; name a program, such as './mine --fast'")
    return words


class Line:
    """A program that has been started, its clock led where that is said; it ends with the block."""

    def __init__(self, command: str, folder: Path, protocol: str, *, lead: bool = False) -> None:
        self.now = 0
        self._protocol = protocol
        self._ends = 0
        words = words_of(command)
        if "/" in words[0]:
            words[0] = str(folder / words[0])
        self._lead = _native.Lead(bytes(16)) if lead else None
        led = {} if self._lead is None else self._lead.environment()
        self._line, theirs = socket.socketpair()
        self._line.settimeout(_SECONDS)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-ISc", _START, str(theirs.fileno()), *words],
                cwd=folder,
                env={**os.environ, **led},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.close()
        end_group(self._process)

    def hello(self) -> Answer:
        """A run begins."""
        settings = {
            "host": "server",
            "protocol": self._protocol,
            "mtu": _MTU,
            "address": "10.0.2.1",
            "peer": "10.0.1.1",
            "profile": {},
            "settings": {},
        }
        self.now, self._ends = 0, 0
        return self._ask(1, struct.pack("<H", 1) + bytes(range(32)) + json.dumps(settings).encode())

    def open(self, *, active: bool) -> Answer:
        """The next end is made; the calls that follow are about it."""
        self._ends += 1
        port = struct.pack("<H", 5_000 + self._ends)
        ends = socket.inet_aton("10.0.2.1") + port + socket.inet_aton("10.0.1.1") + port
        return self._of_end(2, struct.pack("<BHB", not active, 1, 4) + ends)

    def connect(self) -> Answer:
        """The application connects."""
        return self._of_end(3)

    def packet(self, data: bytes) -> Answer:
        """A packet arrives."""
        return self._of_end(4, data)

    def timer(self) -> Answer:
        """The timer is due, or not."""
        return self._of_end(5)

    def close(self) -> Answer:
        """The application writes no more."""
        return self._of_end(8)

    def abort(self) -> Answer:
        """The application breaks it off."""
        return self._of_end(9)

    def bye(self) -> Answer:
        """The run is over."""
        return self._ask(10, b"")

    def _of_end(self, kind: int, body: bytes = b"") -> Answer:
        return self._ask(kind, struct.pack("<QI", self.now, self._ends - 1) + body)

    def _ask(self, kind: int, body: bytes) -> Answer:
        name = _NAMES[kind - 1]
        if self._lead is not None:
            self._lead.set_now(self.now)
        try:
            self._line.sendall(struct.pack("<IB", len(body) + 1, kind) + body)
            length = int.from_bytes(self._take(4), "little")
            if not 0 < length <= _LONGEST:
                raise LineError(f"{name}: it answered with a frame of {length} bytes")
            frame = self._take(length)
        except TimeoutError:
            raise LineError(f"{name}: no answer within {_SECONDS:g} s") from None
        except OSError as error:
            raise LineError(
                f"{name}: it ended instead of answering ({error.strerror or 'no more'})"
            ) from None
        if frame[0] == 255:
            raise LineError(f"{name}: it refuses: {frame[1:].decode(errors='replace')!r}")
        if frame[0] != kind + 128:
            raise LineError(f"{name}: it answered with the kind {frame[0]}")
        return _answer(name, frame[1:])

    def _take(self, length: int) -> bytes:
        data = b""
        while len(data) < length:
            if not (got := self._line.recv(length - len(data))):
                raise ConnectionResetError
            data += got
        return data


def _answer(name: str, rest: bytes) -> Answer:
    answer = Answer()
    while rest:
        if len(rest) < 5 or len(rest) < 5 + int.from_bytes(rest[1:5], "little"):
            raise LineError(f"{name}: it answered with an item that is cut off")
        end = 5 + int.from_bytes(rest[1:5], "little")
        kind, value, rest = rest[0], rest[5:end], rest[end:]
        if kind == 3:
            answer.packets.append(value[1:])
            if len(value) > _MTU + 1:
                raise LineError(f"{name}: it sent a packet of {len(value) - 1} bytes over an MTU of {_MTU}")
        elif kind == 6 and len(value) == 9:
            number = int.from_bytes(value[1:], "little")
            answer.timer = number if value[0] == 1 else None
        elif kind == 20:
            answer.forgets = True
        elif kind == 128 and name == "HELLO":
            answer.datagrams = True
        elif kind == 130 and name == "HELLO":
            answer.follows = True
    return answer
