"""What the kernel says of itself: its counters, and each retransmission with the call that made it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from .network import inside

TRACING = Path("/sys/kernel/tracing")
EVENTS = ("tcp_retransmit_skb", "tcp_retransmit_synack", "tcp_cong_state_set")
LINE = re.compile(r"^.*\s(\d+\.\d+): (\w+): (.*)$")
STATES = {0: "open", 1: "disorder", 2: "cwr", 3: "recovery", 4: "loss"}
# The function nearest to the retransmission decides.
MECHANISMS = {
    "tcp_send_loss_probe": "tail probe",
    "tcp_retransmit_timer": "timer",
    "tcp_xmit_retransmit_queue": "queue",
}


@dataclass(frozen=True)
class Event:
    """A retransmission, or a change of the congestion state, at a time of the wall clock."""

    at: float
    what: str
    port: int
    state: str
    mechanism: str


class Tracer:
    """Records the events of one port while the context lasts."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._folder = TRACING / "instances" / f"rexmit-{port}"

    def __enter__(self) -> Tracer:
        """Switch the events on, in an instance of the tracer of our own."""
        self._folder.mkdir()
        (self._folder / "trace_clock").write_text("tai")
        for event in EVENTS:
            where = self._folder / "events" / "tcp" / event
            (where / "filter").write_text(f"sport=={self._port} || dport=={self._port}")
            if event == "tcp_retransmit_skb":
                (where / "trigger").write_text("stacktrace")
            (where / "enable").write_text("1")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Switch them off again."""
        for event in EVENTS:
            where = self._folder / "events" / "tcp" / event
            (where / "enable").write_text("0")
            if event == "tcp_retransmit_skb":
                (where / "trigger").write_text("!stacktrace")
        self._folder.rmdir()

    def events(self) -> list[Event]:
        """What was recorded so far, in the order of time."""
        offset = time.clock_gettime(time.CLOCK_TAI) - time.time()
        found = list(_parse((self._folder / "trace").read_text().splitlines(), round(offset)))
        return sorted(found, key=lambda event: event.at)


def _parse(lines: list[str], offset: int) -> Iterator[Event]:
    for number, line in enumerate(lines):
        match = LINE.match(line)
        if match is None or match[2] not in EVENTS:
            continue
        fields = dict(item.split("=", 1) for item in match[3].split() if "=" in item)
        stack = _stack(lines, number + 1)
        mechanism = next((MECHANISMS[name] for name in stack if name in MECHANISMS), "")
        state = fields.get("state", STATES.get(int(fields.get("cong_state", "-1")), ""))
        yield Event(float(match[1]) - offset, match[2], int(fields["sport"]), state, mechanism)


def _stack(lines: list[str], begin: int) -> list[str]:
    """The functions below an event, the innermost first, if a stack follows it."""
    if begin >= len(lines) or "<stack trace>" not in lines[begin]:
        return []
    found = []
    for line in lines[begin + 1 :]:
        if not line.startswith(" => "):
            break
        found.append(line[4:].split(".")[0].split("+")[0].strip())
    return found


def counters(side: str) -> dict[str, int]:
    """The counters of TCP in a side's namespace that are not zero; a new namespace begins at zero."""
    text = inside(side, "cat", "/proc/net/netstat", "/proc/net/snmp")
    found: dict[str, int] = {}
    lines = [line for line in text.splitlines() if line.startswith(("Tcp:", "TcpExt:"))]
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        group = names.split(":")[0].replace("Ext", "")
        for key, value in zip(names.split()[1:], values.split()[1:], strict=True):
            found[key if key.startswith("TCP") else group + key] = int(value)
    unwanted = ("TcpRto", "TcpMaxConn", "TcpCurrEstab", "TCPOrigDataSent", "TCPHystart", "TCPAuto")
    return {key: value for key, value in sorted(found.items()) if value and not key.startswith(unwanted)}
