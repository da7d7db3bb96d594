"""Recordings of a real kernel: what was judged of each retransmission, beside what the kernel did."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import rexmit

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
LINUX = CAPTURES / "linux"
NAMES = sorted(path.stem for path in LINUX.glob("*.json"))
# What another packet of the same data is, too: the kernel has no event for probes of a closed window.
PROBES = ("window-probe", "keep-alive")


@dataclass(frozen=True)
class Pair:
    """A retransmission: what the kernel did, and what was judged from one of the captures."""

    scenario: str
    place: str
    packet: int
    truth: dict[str, Any] | None
    judged: dict[str, Any] | None

    @property
    def right(self) -> bool:
        """True if the cause is the kernel's."""
        if self.truth is None or self.judged is None:
            return False
        if self.truth["cause"] == self.judged["cause"]:
            return True
        # The kernel's account says that a recovery began, not whether an ACK or RACK's timer did it.
        if self.truth["cause"] == "fast" and self.judged["cause"] == "reordering-timer":
            return True
        # The kernel may send a bare FIN by the timer of its probes; ours is a FIN by either timer.
        return self.judged["cause"] == "fin" and self.truth["cause"] == "tail-probe" and not self.truth["len"]

    def __str__(self) -> str:
        truth = "-" if self.truth is None else self.truth["cause"]
        judged = self.judged or {"cause": "-", "confidence": "-"}
        return (
            f"{self.scenario}.{self.place} packet {self.packet}: the kernel's reason is {truth}, "
            f"judged {judged['confidence']} {judged['cause']}"
        )


@cache
def truth(name: str) -> dict[str, Any]:
    """The JSON beside the captures of a scenario."""
    found: dict[str, Any] = json.loads((LINUX / f"{name}.json").read_text())
    return found


def capture(name: str, place: str) -> Path:
    """The capture of a scenario made at `place`, server or client."""
    return LINUX / f"{name}.{place}.pcap.gz"


@cache
def pairs(name: str, place: str) -> list[Pair]:
    """Retransmissions that the capture shows, by the kernel's account or by the judgement."""
    with warnings.catch_warnings():
        # The captures keep 96 bytes of a packet: over IPv6 that is a part of the options.
        warnings.filterwarnings("ignore", ".*TCP options")
        rows = rexmit.analyze(capture(name, place)).retransmissions.to_dicts()
    judged = {row["number"]: row for row in rows if row["cause"] not in PROBES}
    known = {n: row for n, row, visible in _shown(name, place) if visible or n in judged}
    numbers = sorted(known.keys() | judged.keys())
    return [Pair(name, place, n, known.get(n), judged.get(n)) for n in numbers]


def _shown(name: str, place: str) -> Iterator[tuple[int, dict[str, Any], bool]]:
    """Number in this capture, truth, and whether it can be seen to be one, of each retransmission."""
    for row in truth(name)["retransmissions"]:
        if row["side"] == place:
            yield row["packet"], row, True
        elif row["arrivals"]:
            yield row["arrivals"][0], row, row["visible"]
