"""Whether a program keeps to the protocol of stacks: runs with a peer, and calls that no run would make."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexmit.errors import RexmitError, one_line
from rexmit.run.backends import open_backend
from rexmit.run.repeats import Repeats, repeats
from rexmit.run.stack_line import Answer, Line, LineError, words_of
from rexmit.run.stack_programs import FAILURE, asked_programs
from rexmit.run.stacks import MODEL
from rexmit.study import StudySpec
from rexmit.study.spec import parse_spec

PEERS = {"tcp": "linux-6.1", "sctp": "rfc9260", "quic": None}
"""The model that a program of each protocol is checked against; QUIC has none, so it meets itself."""

NO_ANSWER = "no answer within"
"""What an error says of a program that does not answer in time."""

LOST = 12
"""How many packets from either side are lost, each in a run of its own."""
PAUSE = "2 ms"
"""Real time that passes before each call where a check looks whether a program reads a clock."""


@dataclass(frozen=True)
class Check:
    """One line of a check. `found` is `passed`, `failed`, or `told` for a fact that is not a fault."""

    name: str
    found: str
    text: str


@dataclass(frozen=True)
class _Asked:
    command: str
    protocol: str
    folder: Path
    lead: bool

    def spec(self, host: str, transfers: list[dict[str, Any]], **more: Any) -> StudySpec:
        """A study of one run with the program at a host."""
        own: dict[str, Any] = {"program": self.command, "protocol": self.protocol, "folder": str(self.folder)}
        own |= {"lead": True} if self.lead else {}
        own |= more.pop("stack", {})
        peer = PEERS[self.protocol] or own
        other = "client" if host == "server" else "server"
        scenario = {
            "hosts": {host: {"stack": own}, other: {"stack": peer}},
            "path": {"rate": "10 Mbit/s", "delay": "10 ms"} | more.pop("path", {}),
            "transfers": transfers,
            "limit": "20 min",
        }
        return parse_spec({"title": "check", "scenario": scenario} | more, "check", None)

    def line(self) -> Line:
        """The program, started for calls that no run makes."""
        return Line(self.command, self.folder, self.protocol, lead=self.lead)


ALONE = {"pause": "1 ns"}
"""With a pause before each call, each is made by itself: none follows another."""
BULKS = [
    {"from": "server", "to": "client", "bulk": "300 kB"},
    {"from": "client", "to": "server", "bulk": "300 kB"},
]
DOWN = {"from": "server", "to": "client", "writes": "20 x 1000 bytes"}
UP = {"from": "client", "to": "server", "writes": "20 x 1000 bytes"}


def check_program(command: str, protocol: str, folder: Path, *, lead: bool = False) -> Iterator[Check]:
    """Checks a program, which starts in this folder, with its clock led or not.

    Ends early where it does not start, or gives no answer. Raises UsageError for a command without words.
    """
    words_of(command)
    asked = _Asked(command, protocol, folder, lead)
    started, hello = _starts(asked)
    yield started
    if hello is None:
        return
    for name, spec in _runs(asked):
        found = _run(name, spec)
        yield found
        if NO_ANSWER in found.text:
            yield Check("the rest", "told", "not tried: the program may not answer")
            return
    if hello.datagrams and asked.protocol == "quic":
        for name, spec in _runs_of_datagrams(asked):
            yield _run(name, spec)
        yield _too_long(asked)
    for name, calls in _CALLS.items():
        if calls is _twice and asked.lead:
            yield Check(name, "told", "one that is led is started for each run")
        else:
            yield _called(asked, name, calls)
    if hello.follows:
        yield _followed(asked)
    yield from _again(asked)


def _starts(asked: _Asked) -> tuple[Check, Answer | None]:
    """Whether it starts, and what it says of itself if it does."""
    spec = asked.spec("server", [DOWN])
    if asked.lead:
        try:
            open_backend(MODEL, spec).check(lambda done, total: None)
        except (RexmitError, ValueError) as error:
            return Check("starts", "failed", one_line(error)), None
    told: dict[str, Any] = next(iter(asked_programs(spec)), {})
    if FAILURE in told:
        return Check("starts", "failed", told[FAILURE]), None
    name, version = told.get("name"), told.get("version")
    try:
        with asked.line() as line:
            hello = line.hello()
    except LineError as error:
        return Check("starts", "failed", str(error)), None
    kept = "serves one run after the other" if hello.forgets and not asked.lead else "is started for each run"
    text = f"{name or 'without a name'} {version or ''}".strip() + f"; {kept}"
    datagrams = hello.datagrams and asked.protocol == "quic"
    return Check("starts", "passed", text + ("; supports datagrams" if datagrams else "")), hello


def _runs(asked: _Asked) -> Iterator[tuple[str, StudySpec]]:
    """Runs that must complete."""
    yield "waits, and sends", asked.spec("server", [{**DOWN, "opened_by": "client"}])
    yield "connects, and sends", asked.spec("server", [{**DOWN, "opened_by": "server"}])
    yield "connects, and receives", asked.spec("client", [{**DOWN, "opened_by": "client"}])
    yield "waits, and receives", asked.spec("client", [{**DOWN, "opened_by": "server"}])
    yield "two connections at once", asked.spec("server", [DOWN, UP])
    for way in ("down", "up"):
        name = f"path.{way}.drop"
        lost = asked.spec("server", [DOWN], vary={name: {"position": f"0..{LOST}"}})
        yield f"each of the first {LOST} packets {way} lost in turn", lost
    often = {"position": "3", "period": 5}
    effects = {"duplicates": {"duplicate": often}, "damaged packets": {"corrupt": often}}
    effects["packets out of order"] = {"reorder": {**often, "past": 2}}
    for what, effect in effects.items():
        yield what, asked.spec("server", [DOWN, UP], path={"down": effect, "up": effect})


def _runs_of_datagrams(asked: _Asked) -> Iterator[tuple[str, StudySpec]]:
    """Runs that must complete, whatever of their writes is lost."""
    down, up = {**DOWN, "datagrams": True}, {**UP, "datagrams": True}
    yield "datagrams both ways", asked.spec("server", [down, up])
    lost = asked.spec("server", [down], vary={"path.down.drop": {"position": f"0..{LOST}"}})
    yield f"datagrams, each of the first {LOST} packets down lost in turn", lost
    often = {"position": "3", "period": 5}
    effects = {"duplicate": often, "reorder": {**often, "past": 2}}
    yield "datagrams twice and out of order", asked.spec("server", [down], path={"down": effects})


def _too_long(asked: _Asked) -> Check:
    """A datagram for which no packet has room: the run must fail with the size that fits."""
    name = "a datagram that does not fit"
    wrong = asked.spec("server", [{**DOWN, "datagrams": True, "writes": "1 x 60000 bytes"}])
    found = _run(name, wrong).text
    if "is not a datagram of this connection" in found:
        return Check(name, "passed", "is refused, with the size that fits")
    return Check(name, "failed", f"WRITE of 60,000 bytes needs the answer `limit`; the run was: {found}")


def _run(name: str, spec: StudySpec) -> Check:
    backend = open_backend(MODEL, spec)
    failed: list[str] = []
    try:
        backend.check(lambda done, total: None)
        for runs, table in backend.sweep(range(spec.design.runs), 1, lambda: False):
            for run, row in zip(runs, table.to_pylist(), strict=True):
                if row["error"] is not None:
                    failed.append((f"run {run}: " if spec.design.runs > 1 else "") + row["error"])
    except (RexmitError, ValueError) as error:
        failed.append(one_line(error))
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        return Check(name, "failed", failed[0] + more)
    runs_of = f"{spec.design.runs} runs" if spec.design.runs > 1 else "1 run"
    return Check(name, "passed", f"complete in {runs_of}")


def _garbage(line: Line) -> str:
    line.hello()
    line.open(active=False)
    drawn = random.Random(1)
    packets = [b"", b"\x45", bytes(20), bytes(65_535)]
    packets += [drawn.randbytes(drawn.randrange(1, 1_600)) for _ in range(60)]
    # Headers that announce more than there is.
    packets += [bytes([0x45, 0, 255, 255]) + drawn.randbytes(drawn.randrange(60)) for _ in range(20)]
    for packet in packets:
        line.packet(packet)
    return f"{len(packets)} packets of any bytes, up to 65,535 of them"


def _early(line: Line) -> str:
    line.hello()
    line.open(active=True)
    answer = line.connect()
    if not answer.packets:
        raise LineError("CONNECT sent nothing")
    if answer.timer is None:
        return "its first packet has no timer"
    for part in (1, 2, 3):
        line.now = answer.timer * part // 4
        if line.timer().packets:
            raise LineError(f"TIMER at {line.now} ns sent a packet, and it was due at {answer.timer} ns")
    line.now = answer.timer
    line.timer()
    return "a timer that is not due does nothing"


def _aborts(line: Line) -> str:
    line.hello()
    for active in (True, False):
        line.open(active=active)
        if active:
            line.connect()
        line.abort()
        line.packet(b"")
        line.close()
        line.timer()
    return "and is called after that"


def _twice(line: Line) -> str:
    for _ in range(2):
        if not line.hello().forgets:
            return "it says that it does not"
        line.open(active=True)
        line.connect()
        line.bye()
    return "HELLO after BYE"


_CALLS: Mapping[str, Callable[[Line], str]] = {
    "survives garbage packets": _garbage,
    "is asked too early": _early,
    "breaks off": _aborts,
    "forgets a run": _twice,
}
"""What is called beside a run."""


def _called(asked: _Asked, name: str, calls: Callable[[Line], str]) -> Check:
    try:
        with asked.line() as line:
            return Check(name, "passed", calls(line))
    except LineError as error:
        return Check(name, "failed", str(error))


def _followed(asked: _Asked) -> Check:
    """Whether a run with calls that follow others is the same as with each call by itself."""
    name = "answers calls that follow"
    path = {"down": {"drop": "7,19"}, "up": {"drop": "8"}}
    plain = open_backend(MODEL, asked.spec("server", BULKS, path=path))
    alone = open_backend(MODEL, asked.spec("server", BULKS, path=path, stack=ALONE))
    try:
        same = repeats(0, ("server", "client"), plain.capture)
        turns = iter((plain.capture, alone.capture))
        found = repeats(0, ("server", "client"), lambda run, files: next(turns)(run, files))
    except (RexmitError, ValueError) as error:
        return Check(name, "failed", one_line(error))
    if same.level == "none":
        return Check(name, "told", "cannot be judged of a run that does not repeat")
    if found.level != same.level:
        return Check(
            name, "failed", found.why or "the bytes of packets differ from those with each call by itself"
        )
    return Check(name, "passed", "the same as with each call by itself")


def _again(asked: _Asked) -> Iterator[Check]:
    """How far a run is the same again, and whether that depends on how fast the machine is."""
    path = {"down": {"drop": "3,7"}}
    plain = open_backend(MODEL, asked.spec("server", [DOWN], path=path))
    paused = open_backend(MODEL, asked.spec("server", [DOWN], path=path, stack={"pause": PAUSE}))
    try:
        same = repeats(0, ("server", "client"), plain.capture)
        turns = iter((plain.capture, paused.capture))
        slow = repeats(0, ("server", "client"), lambda run, files: next(turns)(run, files))
    except (RexmitError, ValueError) as error:
        yield Check("is the same again", "failed", one_line(error))
        return
    yield Check("is the same again", "told", _words(same))
    advice = (
        "it reads or draws what cannot be led" if asked.lead else "stack.lead or --lead may lead its clock"
    )
    late = f"with {PAUSE} of real time before each call"
    if same.level == "none":
        yield Check("reads no clock", "failed", f"it reads one, or draws random numbers of its own; {advice}")
    elif slow.level == "none":
        yield Check("reads no clock", "failed", f"{late}, {slow.why}; {advice}")
    else:
        yield Check(
            "reads no clock", "passed", ("its clock is led: " if asked.lead else "") + f"the same {late}"
        )


def _words(told: Repeats) -> str:
    if told.level == "bytes":
        return "to the byte"
    if told.level == "sizes-and-times":
        return "in the sizes and times of its packets, not in their bytes"
    return f"no: {told.why}"
