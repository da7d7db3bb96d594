"""Record FreeBSD's SCTP (usrsctp) in virtual time: `record_usrsctp.py --library FILE [--out DIR] [NAME ...]`.

Two endpoints of one process talk over a path that delays, limits the rate and loses. The library's timers are
driven by hand, and the clock that it asks is ours, so a minute takes a moment. A scenario leaves three files:
what passes at the sender and at the receiver, and a JSON with the truth: for each packet with DATA that the
sender sent, which of the library's counters rose meanwhile, and whether the path lost it.

FILE is libusrsctp.so.2 of Debian's package libusrsctp2, unpacked anywhere; a C compiler is needed too.
Recorded with 0.9.5.0-2.
"""

from __future__ import annotations

import argparse
import ctypes
import gzip
import heapq
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
START = 1_700_000_000_000_000
TICK = 10_000
SENDER, RECEIVER = 1, 2
AF_CONN, SOCK_STREAM, IPPROTO_SCTP, SCTP_NODELAY = 123, 1, 132, 4
# Places of counters in `struct sctpstat` of usrsctp.h, in 32-bit words.
COUNTERS = {
    "t3_expired": 68,
    "fast_retransmits": 44,
    "chunks_sent_again": 43,
}
CLOCK = """
#include <sys/time.h>
static long long now;
void set_clock(long long us) { now = us; }
int gettimeofday(struct timeval *tv, void *zone) {
    tv->tv_sec = now / 1000000;
    tv->tv_usec = now % 1000000;
    return 0;
}
"""


@dataclass(frozen=True)
class Scenario:
    """A path and what is sent over it; times in microseconds."""

    one_way: int
    loss: float
    size: int
    messages: int
    seconds: int
    pauses: tuple[int, ...] = (0,)
    rate: float | None = None
    jitter: int = 0


SCENARIOS = {
    # pedersen-2006: a message of 100 bytes every 256 ms; four of them and a pause.
    "thin": Scenario(52_000, 0.05, 100, 200, 60, (256_000,)),
    "thin-heavy-loss": Scenario(104_000, 0.2, 100, 200, 80, (256_000,)),
    "bursts-of-four": Scenario(25_000, 0.1, 100, 240, 90, (16_000, 16_000, 16_000, 1_004_000)),
    "thick": Scenario(52_000, 0.05, 1400, 400, 60, rate=10e6),
    "small-messages": Scenario(25_000, 0.03, 200, 1000, 60, rate=10e6),
    "reordering": Scenario(25_000, 0.02, 100, 600, 20, (10_000,), jitter=35_000),
}


@dataclass
class World:
    """The path while a scenario runs."""

    scenario: Scenario
    chance: random.Random
    captures: dict[int, list[tuple[int, int, bytes]]] = field(
        default_factory=lambda: {SENDER: [], RECEIVER: []}
    )
    truth: list[dict[str, Any]] = field(default_factory=list)
    arrivals: dict[int, int] = field(default_factory=dict)
    events: list[tuple[int, int, Callable[[], None]]] = field(default_factory=list)
    unsettled: list[dict[str, Any]] = field(default_factory=list)
    counted: tuple[int, ...] = ()
    free: dict[int, int] = field(default_factory=lambda: {SENDER: 0, RECEIVER: 0})
    now: int = 0
    order: int = 0
    accepted: int | None = None


class ConnAddress(ctypes.Structure):
    """`struct sockaddr_conn`."""

    _fields_ = (("family", ctypes.c_uint16), ("port", ctypes.c_uint16), ("address", ctypes.c_void_p))


class Recorder:
    """The library, and the world that it talks through."""

    def __init__(self, library: Path, clock: Path) -> None:
        self.lib = ctypes.CDLL(str(library))
        self.clock = ctypes.CDLL(str(clock))
        for name, kind in (
            ("socket", ctypes.c_void_p),
            ("accept", ctypes.c_void_p),
            ("sendv", ctypes.c_ssize_t),
        ):
            getattr(self.lib, f"usrsctp_{name}").restype = kind
        self.lib.usrsctp_recvv.restype = ctypes.c_ssize_t
        output: Any = ctypes.CFUNCTYPE(
            ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint8, ctypes.c_uint8
        )
        self.callback = output(self.send)
        self.lib.usrsctp_init_nothreads(0, self.callback, None)
        for address in (SENDER, RECEIVER):
            self.lib.usrsctp_register_address(ctypes.c_void_p(address))
        self.world = World(next(iter(SCENARIOS.values())), random.Random(0))

    def counters(self) -> tuple[int, ...]:
        """The counters of `COUNTERS`."""
        words = (ctypes.c_uint32 * 1024)()
        self.lib.usrsctp_get_stat(words)
        return tuple(words[at] for at in COUNTERS.values())

    def settle(self) -> None:
        """Say of the packets of the last call what rose meanwhile."""
        world, counted = self.world, self.counters()
        for name, before, after in zip(COUNTERS, world.counted, counted, strict=True):
            if after > before:
                for packet in world.unsettled:
                    packet[name] = after - before
        world.unsettled, world.counted = [], counted

    def send(self, address: int, buffer: int, size: int, _tos: int, _df: int) -> int:
        """Take a packet of the library: lose it, or deliver it later."""
        world, scenario = self.world, self.world.scenario
        packet = ctypes.string_at(buffer, size)
        world.captures[address].append((world.now, address, packet))
        number = len(world.captures[address])
        tsns = list(data_tsns(packet))
        lost = number > 4 and world.chance.random() < scenario.loss
        if address == SENDER and tsns:
            world.truth.append({"packet": number, "tsns": tsns, **({"lost": True} if lost else {})})
            world.unsettled.append(world.truth[-1])
        if lost:
            return 0
        begin = max(world.now, world.free[address])
        if scenario.rate is not None:
            begin += int(size * 8e6 / scenario.rate)
            world.free[address] = begin
        late = world.chance.random() * (scenario.jitter if world.chance.random() < 0.2 else 0)
        self.at(begin + scenario.one_way + int(late), lambda: self.deliver(address, packet, number))
        return 0

    def deliver(self, source: int, packet: bytes, number: int) -> None:
        """Give a packet to the other endpoint."""
        world, target = self.world, SENDER + RECEIVER - source
        world.captures[target].append((world.now, source, packet))
        if source == SENDER:
            world.arrivals[number] = len(world.captures[target])
        self.lib.usrsctp_conninput(
            ctypes.c_void_p(target), packet, ctypes.c_size_t(len(packet)), ctypes.c_uint8(0)
        )
        self.settle()

    def at(self, time: int, what: Callable[[], None]) -> None:
        """Do something later."""
        self.world.order += 1
        heapq.heappush(self.world.events, (time, self.world.order, what))

    def open(self, address: int, port: int) -> tuple[ctypes.c_void_p, ConnAddress]:
        """A bound socket, and its address."""
        socket = ctypes.c_void_p(
            self.lib.usrsctp_socket(AF_CONN, SOCK_STREAM, IPPROTO_SCTP, None, None, 0, None)
        )
        self.lib.usrsctp_set_non_blocking(socket, 1)
        one = ctypes.c_int(1)
        self.lib.usrsctp_setsockopt(socket, IPPROTO_SCTP, SCTP_NODELAY, ctypes.byref(one), 4)
        here = ConnAddress(AF_CONN, int.from_bytes(port.to_bytes(2, "big"), sys.byteorder), address)
        if self.lib.usrsctp_bind(socket, ctypes.byref(here), ctypes.sizeof(here)) != 0:
            raise OSError(f"cannot bind port {port}")
        return socket, here

    def run(self, scenario: Scenario, seed: int, port: int) -> World:
        """Run a scenario to its end."""
        begin = self.world.now
        world = self.world = World(scenario, random.Random(seed), now=begin, counted=self.counters())
        server, there = self.open(RECEIVER, port)
        self.lib.usrsctp_listen(server, 1)
        client, _ = self.open(SENDER, port + 1)
        there.address = SENDER
        self.lib.usrsctp_connect(client, ctypes.byref(there), ctypes.sizeof(there))
        self.at(begin + 1_000_000, lambda: self.write(client, 0))
        tick, end = begin + TICK, begin + scenario.seconds * 1_000_000
        while world.now < end:
            world.now = min(tick, world.events[0][0] if world.events else tick)
            self.clock.set_clock(ctypes.c_longlong(START + world.now))
            if world.events and world.events[0][0] <= world.now:
                heapq.heappop(world.events)[2]()
            else:
                tick += TICK
                self.lib.usrsctp_handle_timers(TICK // 1000)
            self.settle()
            self.read(server)
        return world

    def write(self, client: ctypes.c_void_p, sent: int) -> None:
        """Write messages with their pauses, or as many as fit."""
        scenario = self.world.scenario
        message = ctypes.create_string_buffer(scenario.size)
        while sent < scenario.messages:
            size = ctypes.c_size_t(scenario.size)
            if self.lib.usrsctp_sendv(client, message, size, None, 0, None, 0, 0, 0) < 0:
                self.at(self.world.now + 5_000, self.later(client, sent))
                return
            sent += 1
            pause = scenario.pauses[(sent - 1) % len(scenario.pauses)]
            if pause:
                self.at(self.world.now + pause, self.later(client, sent))
                return

    def later(self, client: ctypes.c_void_p, sent: int) -> Callable[[], None]:
        """Go on with the messages after `sent`."""
        return lambda: self.write(client, sent)

    def read(self, server: ctypes.c_void_p) -> None:
        """Accept, and read what is there."""
        if self.world.accepted is None:
            self.world.accepted = self.lib.usrsctp_accept(server, None, None)
            if self.world.accepted is not None:
                self.lib.usrsctp_set_non_blocking(ctypes.c_void_p(self.world.accepted), 1)
            return
        buffer, source = ctypes.create_string_buffer(65_536), ctypes.create_string_buffer(64)
        from_len, info_len = ctypes.c_uint32(64), ctypes.c_uint32(0)
        kind, flags = ctypes.c_uint(0), ctypes.c_int(0)
        rest = (ctypes.byref(info_len), ctypes.byref(kind), ctypes.byref(flags))
        socket, size = ctypes.c_void_p(self.world.accepted), ctypes.c_size_t(65_536)
        while self.lib.usrsctp_recvv(socket, buffer, size, source, ctypes.byref(from_len), None, *rest) > 0:
            pass


def data_tsns(packet: bytes) -> Iterator[int]:
    """The TSNs of DATA chunks."""
    at = 12
    while at + 4 <= len(packet):
        kind, _, length = struct.unpack_from(">BBH", packet, at)
        if kind == 0:
            yield struct.unpack_from(">I", packet, at + 4)[0]
        at += max(4, (length + 3) // 4 * 4)


def pcap(packets: list[tuple[int, int, bytes]]) -> bytes:
    """A capture of raw IPv4, as libpcap writes it."""
    out = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 101)]
    for time, source, packet in packets:
        addresses = bytes([10, 0, 0, source, 10, 0, 0, SENDER + RECEIVER - source])
        head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(packet), 0, 0x4000, 64, IPPROTO_SCTP, 0) + addresses
        total = sum(struct.unpack(">10H", head))
        total = (total & 0xFFFF) + (total >> 16)
        head = head[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xFFFF) + head[12:]
        seconds, micros = divmod(START + time, 1_000_000)
        size = len(head) + len(packet)
        out.append(struct.pack("<IIII", seconds, micros, size, size) + head + packet)
    return b"".join(out)


def main() -> int:
    """Record what was asked for."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("names", nargs="*", metavar="NAME", help="scenarios; all without")
    options.add_argument("--library", type=Path, required=True, help="libusrsctp.so.2")
    options.add_argument("--out", type=Path, default=ROOT / "tests" / "captures" / "usrsctp")
    chosen = options.parse_args()
    if unknown := [name for name in chosen.names if name not in SCENARIOS]:
        options.error(f"no scenario {unknown[0]}; choose from {', '.join(SCENARIOS)}")
    clock = os.environ.get("LD_PRELOAD")
    if clock is None:
        return each_in_a_process(chosen.names or list(SCENARIOS))
    recorder = Recorder(chosen.library, Path(clock))
    chosen.out.mkdir(parents=True, exist_ok=True)
    name = chosen.names[0]
    world = recorder.run(SCENARIOS[name], list(SCENARIOS).index(name) + 1, 6000)
    for side, address in (("sender", SENDER), ("receiver", RECEIVER)):
        path = chosen.out / f"{name}.{side}.pcap.gz"
        path.write_bytes(gzip.compress(pcap(world.captures[address]), mtime=0))
    truth = {"packets": world.truth, "arrivals": world.arrivals}
    text = json.dumps(truth, separators=(",", ":"))
    (chosen.out / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(world.truth)} packets with data")
    return 0


def each_in_a_process(names: list[str]) -> int:
    """Record each in a process of its own, so that no timer of one ends in another.

    The library asks the C library for the time; ours answers in its place.
    """
    options = [option for option in sys.argv[1:] if option not in SCENARIOS]
    with tempfile.TemporaryDirectory() as folder:
        clock = str(Path(folder) / "clock.so")
        compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", clock]
        subprocess.run(compiler, input=CLOCK.encode(), check=True)
        environment = {**os.environ, "LD_PRELOAD": clock}
        for name in names:
            subprocess.run([sys.executable, __file__, *options, name], env=environment, check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
