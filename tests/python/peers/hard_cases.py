"""The page of hard cases: one packet each, what it was, and what tshark, tcptrace and we call it."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rexmit

from . import linux, tshark

CAPTURES = linux.CAPTURES
HARD = CAPTURES / "hard"
PAGE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "hard-cases.md"
# The model's words that are not ours.
WORDS = {"syn-ack-answer": "syn-ack"}
MARK = re.compile(r"^atext ([\d.]+) (\d+)\n([RO])$", re.MULTILINE)
MARKS = {"R": "retransmission", "O": "out of order"}


@dataclass(frozen=True)
class Case:
    """A packet of a capture: the `index`-th that was sent again, or the one with a number."""

    what: str
    source: str
    name: str
    place: str
    index: int = 0
    number: int | None = None
    truth: str = ""


@dataclass(frozen=True)
class Line:
    """A case with everybody's answer."""

    case: Case
    packet: int
    truth: str
    tshark: str
    tcptrace: str
    ours: str
    right: bool


CASES = (
    Case("one loss, RTT 300 ms, seen at the receiver", "linux", "single-300ms", "client"),
    Case("one loss, RTT 1 ms, seen at the receiver", "model", "short-rtt", "client"),
    Case("a further hole of a window, no SACK", "model", "partial-acks", "server", 1),
    Case("a further hole of a window, SACK", "model", "sack-holes", "server", 1),
    Case("the fast retransmit is lost too", "model", "lost-retransmission", "server", 1),
    Case("the second expiry of a timer", "model", "backoff", "server", 1),
    Case("a window sent again after a timeout", "model", "go-back-n", "server", 3),
    Case("the last segment: tail loss probe", "linux", "tail-1", "server"),
    Case("the same without probes", "linux", "tail-1-noprobe", "server"),
    Case("the probe is lost as well", "linux", "tail-probe-lost", "server", 1),
    Case("three last ones: SACK of the probe starts recovery", "linux", "tail-3", "server", 1),
    Case("a thin stream, timer before three duplicates", "model", "thin-timeout", "server"),
    Case("a thin stream, RACK after one SACK", "linux", "thin-2ms", "server"),
    Case("a thin stream, seen at the receiver", "linux", "thin-300ms", "client", 1),
    Case("small segments sent again as one", "linux", "thin-collapse-nosack", "server"),
    Case(
        "overtaken by two, nothing sent again",
        "model",
        "reordering-by-two",
        "client",
        number=29,
        truth="overtaken on its way",
    ),
    Case(
        "overtaken by one, nothing sent again",
        "linux",
        "reordered-little",
        "client",
        number=44,
        truth="overtaken on its way",
    ),
    Case("overtaken by five: spurious fast retransmit", "model", "reordering-by-five", "server"),
    Case("the same without SACK and timestamps", "model", "reordering-unprovable", "server"),
    Case("the path stands still: spurious timeout", "linux", "spike", "server"),
    Case("all ACKs of a window are lost", "model", "acks-lost", "server"),
    Case("the network copies a segment", "model", "network-duplicate", "client", number=19, truth="a copy"),
    Case("a closed window is probed", "model", "zero-window", "server"),
    Case("an idle connection is probed", "linux", "keep-alive", "server", number=10, truth="keep-alive"),
    Case("the SYN-ACK is lost", "model", "syn-ack-lost", "server", 1),
    Case("the handshake's last ACK is lost", "linux", "handshake-ack-lost", "server"),
    Case("a FIN sent again", "model", "fin-lost", "client"),
    Case("the receiver takes back what it reported by SACK", "model", "sack-reneging", "server", 1),
)


def lines() -> list[Line]:
    """Every case with everybody's answer. Needs tshark and tcptrace."""
    return [_line(case, *_truth(case), full=True) for case in CASES]


def ours() -> list[Line]:
    """The same without the answers of the others."""
    return [_line(case, *_truth(case), full=False) for case in CASES]


def page() -> str:
    """The page as it should be."""
    head, _, _ = PAGE.read_text().partition("| Case |")
    return head + "\n".join(_table(lines())) + "\n"


def shown() -> list[list[str]]:
    """The rows of the table on the page, a text a cell."""
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def _table(found: list[Line]) -> Iterator[str]:
    yield "| Case | Capture, packet | What it was | tshark | tcptrace | rexmit |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for line in found:
        where = f"{line.case.source} `{line.case.name}`, {line.case.place}, {line.packet}"
        cells = [line.case.what, where, line.truth, line.tshark, line.tcptrace, line.ours]
        yield "| " + " | ".join(cells) + " |"


def capture(case: Case) -> Path:
    """The capture of a case."""
    if case.source == "linux":
        return linux.capture(case.name, case.place)
    return HARD / f"{case.name}.{case.place}.pcapng.gz"


def _truth(case: Case) -> tuple[int, str]:
    """Number of the packet, and what it was."""
    if case.number is not None:
        return case.number, case.truth
    if case.source == "linux":
        rows = [
            (row, row["packet"] if row["side"] == case.place else (row["arrivals"] or [None])[0])
            for row in linux.truth(case.name)["retransmissions"]
        ]
        found = [(n, row["cause"], row["needed"]) for row, n in rows if n is not None]
    else:
        text = (HARD / f"{case.name}.truth.jsonl").read_text()
        records = [json.loads(line) for line in text.splitlines()]
        key = f"packet_at_{case.place}"
        found = [
            (r[key], _word(r), r["earlier_copies"] == "lost")
            for r in records
            if r[key] is not None and r["reason"] != "new"
        ]
    number, cause, needed = found[case.index]
    return number, cause if needed or cause.endswith("probe") else f"{cause}, not needed"


def _word(record: dict[str, Any]) -> str:
    """The model's reason in our words: a timer that sends a bare FIN has a name of its own."""
    if record["reason"] == "timeout" and record["flags"] & tshark.FIN and not record["len"]:
        return "fin"
    return WORDS.get(record["reason"], str(record["reason"]))


def _line(case: Case, packet: int, truth: str, *, full: bool) -> Line:
    path = capture(case)
    mine, right = _ours(path, packet, truth)
    if not full:
        return Line(case, packet, truth, "", "", mine, right)
    seen = next(p for s in tshark.streams(path) for p in s.packets if p.number == packet)
    label = ", ".join(sorted(seen.labels)).replace("_", " ") or "-"
    return Line(case, packet, truth, label, _tcptrace(path, seen), mine, right)


def _ours(path: Path, packet: int, truth: str) -> tuple[str, bool]:
    analysis = rexmit.analyze(path, tables="segments")
    rows: list[dict[str, Any]] = analysis.retransmissions.to_dicts()
    row = next((row for row in rows if row["number"] == packet), None)
    if row is None:
        kinds = {r["number"]: r["kind"] for r in analysis.segments.to_dicts()}
        words = {"reordered": "overtaken on its way", "copy": "a copy"}
        kind = words.get(kinds[packet], kinds[packet])
        return kind, kind == truth
    text = str(row["cause"])
    if row["need"] in ("spurious", "unnecessary"):
        text += ", not needed"
    causes = [truth.removesuffix(", not needed")]
    # What recorded the kernel does not tell an acknowledgment from RACK's timer.
    causes += ["reordering-timer"] if causes == ["fast"] else []
    right = row["cause"] in causes
    return f"{text} ({row['confidence']})", right


def _tcptrace(path: Path, seen: tshark.Packet) -> str:
    """What tcptrace writes beside the packet in its time-sequence graph, its only word for one packet."""
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "capture.pcap"
        if path.name.endswith(".pcap.gz"):
            plain.write_bytes(gzip.decompress(path.read_bytes()))
        else:
            command = ["editcap", "-F", "pcap", str(path), str(plain)]
            subprocess.run(command, check=True, capture_output=True)
        subprocess.run(["tcptrace", "-S", "-n", str(plain)], cwd=folder, capture_output=True, check=False)
        marks = [m for graph in Path(folder).glob("*_tsg.xpl") for m in MARK.findall(graph.read_text())]
    found = [mark for time, _, mark in marks if abs(float(time) - seen.time) < 1.5e-6]
    return MARKS[found[0]] if found else "-"


def there() -> bool:
    """True if the other programs are on this machine."""
    return all(shutil.which(program) is not None for program in ("tshark", "tcptrace", "editcap"))
