"""Measure the live emulator between two hosts of this machine: `make bench`, as root.

Each part runs several times in turn; the table shows the median, the lowest and the highest, and the target.
UDP has a peer in the same session, bare reads and writes of the same TUN devices: what is lost against
that is the emulator's own cost. Everything is also written to `build/bench/live.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"
Line = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """One row of the table."""

    title: str
    command: str
    value: Callable[[Line], float]
    unit: str
    # What it is to reach, at least or at most; none for a peer.
    least: float | None = None
    most: float | None = None


def _error(key: str) -> Callable[[Line], float]:
    return lambda line: float(line["error"][key])


def _number(key: str, scale: float = 1.0) -> Callable[[Line], float]:
    return lambda line: float(line[key]) * scale


PARTS = [
    Part("TCP, 10 Gbit/s, 10 ms", "bulk kind=1 rate=10000 delay=10 warm=2", _number("gbit_s"), "Gbit/s", 9),
    Part("TCP, 10 Gbit/s, 100 ms", "bulk kind=1 rate=10000 delay=100 warm=6", _number("gbit_s"), "Gbit/s", 8),
    Part(
        "TCP, 1 Gbit/s, 100 ms", "bulk kind=1 rate=1000 delay=100 warm=5", _number("gbit_s"), "Gbit/s", 0.93
    ),
    Part("UDP, 64 bytes, TUN", "packets bytes=64", _number("packets_s"), "packets/s", 350_000),
    Part("the same, bare reads and writes", "floor bytes=64", _number("packets_s"), "packets/s"),
    Part("UDP, 64 bytes, veth", "packets bytes=64 kind=2", _number("packets_s"), "packets/s"),
    Part("UDP, 1500 bytes, TUN", "packets bytes=1500", _number("packets_s"), "packets/s"),
    Part("delay, busy-poll, 1,000/s, p50", "delay mode=0 pps=1000", _error("p50_us"), "us", most=5),
    Part("delay, busy-poll, 1,000/s, p99", "delay mode=0 pps=1000", _error("p99_us"), "us", most=30),
    Part("delay, busy-poll, 50,000/s, p50", "delay mode=0 pps=50000", _error("p50_us"), "us"),
    Part("delay, busy-poll, 50,000/s, p99", "delay mode=0 pps=50000", _error("p99_us"), "us"),
    Part("delay, hybrid, 1,000/s, p99", "delay mode=1 pps=1000", _error("p99_us"), "us", most=150),
    Part("delay, sleep, 1,000/s, p99", "delay mode=2 pps=1000", _error("p99_us"), "us"),
    Part("rate of 100 Mbit/s", "rate", _number("rate_error", 100), "% off"),
]


def main() -> int:
    """Build, measure in turn, print; 0 also where a target is missed, which the table says."""
    options = argparse.ArgumentParser(description="Measure the live emulator.")
    options.add_argument("--rounds", type=int, default=3, help="times that each part runs")
    chosen = options.parse_args()
    if os.geteuid() != 0:
        print("the live emulator is not measured: that needs root")
        return 0
    program = build()
    lines: dict[str, list[Line]] = {}
    for number in range(chosen.rounds):
        for command in dict.fromkeys(part.command for part in PARTS):
            print(f"\rround {number + 1} of {chosen.rounds}: {command:50}", end="", file=sys.stderr)
            lines.setdefault(command, []).append(run(program, command))
    print(file=sys.stderr)
    print_table(lines)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "live.json").write_text(json.dumps({"rounds": chosen.rounds, "lines": lines}, indent=1))
    return 0


def build() -> Path:
    """Compile the example that measures."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "rexmit-live", "--example", "emulator"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "examples" / "emulator"


def run(program: Path, command: str) -> Line:
    """What one part printed."""
    done = subprocess.run([str(program), *command.split()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{command}: {done.stderr.strip()}")
    found: Line = json.loads(done.stdout)
    return found


def print_table(lines: dict[str, list[Line]]) -> None:
    """One row a part, in Markdown."""
    print(f"\nload of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| what | median | lowest ... highest | target | |\n|---|---:|---:|---:|---|")
    for part in PARTS:
        values = [part.value(line) for line in lines[part.command]]
        median = statistics.median(values)
        cells = [
            part.title,
            f"{_text(median)} {part.unit}",
            f"{_text(min(values))} ... {_text(max(values))}",
            _target(part),
            _verdict(part, median),
        ]
        print("| " + " | ".join(cells) + " |")
    runs = [line for each in lines.values() for line in each]
    faults = [line.get("invalid") or line.get("error", {}).get("invalid") for line in runs]
    bad = [fault for fault in faults if fault]
    ours, bare = (_median(lines, command) for command in ("packets bytes=64", "floor bytes=64"))
    print(f"\nUDP, 64 bytes: {ours / bare:.2f} of bare reads and writes")
    print(f"{len(bad)} of {len(faults)} runs were called invalid by the emulator itself")
    for fault in sorted(set(bad)):
        print(f"- {fault}")


def _median(lines: dict[str, list[Line]], command: str) -> float:
    return statistics.median(float(line["packets_s"]) for line in lines[command])


def _text(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def _target(part: Part) -> str:
    if part.least is not None:
        return f"at least {_text(part.least)}"
    return f"at most {_text(part.most)}" if part.most is not None else ""


def _verdict(part: Part, value: float) -> str:
    if part.least is None and part.most is None:
        return ""
    missed = (part.least is not None and value < part.least) or (part.most is not None and value > part.most)
    return "MISSED" if missed else "reached"


if __name__ == "__main__":
    sys.exit(main())
