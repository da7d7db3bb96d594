"""What tcptrace reports of a capture."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

THERE = shutil.which("tcptrace") is not None
# Both columns of a line of the long output: label, value and perhaps a unit, twice.
LINE = re.compile(r"^ {5}(\S[^:]*):\s+(.*?)\s{2,}(\S[^:]*):\s+(.*?)\s*$")


@dataclass
class Connection:
    """A connection: endpoints as `address:port`, and each side's lines of the long output."""

    hosts: list[str] = field(default_factory=list)
    sides: tuple[dict[str, str], dict[str, str]] = field(default_factory=lambda: ({}, {}))

    def number(self, side: int, label: str) -> float | None:
        """The number of a line; None where it has none (`NA`) or is missing."""
        text = self.sides[side].get(label, "NA").split()[0].replace(",", "")
        return None if text in ("NA", "N") else float(text)


def connections(path: Path) -> list[Connection]:
    """The connections of a capture, in the order of tcptrace."""
    # -l: all lines, -r: round-trip times, -W: estimated windows, -n: no names.
    command = ["tcptrace", "-l", "-r", "-W", "-n", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", timeout=60)
    found: list[Connection] = []
    for line in done.stdout.splitlines():
        if re.match(r"^TCP connection \d+:", line):
            found.append(Connection())
        elif found and (host := re.match(r"^\thost \w+:\s+(\S+)", line)):
            found[-1].hosts.append(host[1])
        elif found and (pair := LINE.match(line)) and pair[1] == pair[3]:
            # The initial window stands there in bytes and in packets, under one label.
            label = f"{pair[1]} pkts" if pair[2].endswith("pkts") and pair[1] == "initial window" else pair[1]
            found[-1].sides[0][label], found[-1].sides[1][label] = pair[2], pair[4]
    return found
