"""Measure the analysis of captures, beside tcptrace and tshark where they are installed: `make bench`.

All programs read the same files in turn, several times, on this machine; what is printed is the median
of the wall time of a whole process, and its largest resident memory. The captures are made by
`captures.rs`: bulk flows in virtual time, seen at the sender, 96 bytes a packet. tshark is so much
slower that it runs once. Everything is also written to `build/bench/analysis.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import OUT, ROOT, machine

MILLION = 1_000_000


@dataclass(frozen=True)
class Capture:
    """What a capture holds."""

    packets: int
    flows: int = 20
    loss: float = 1.0

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return OUT / f"{self.packets}-packets-{self.flows}-flows-{self.loss:g}-percent.pcap"


@dataclass(frozen=True)
class Program:
    """A command that reads a capture, named last."""

    title: str
    command: Sequence[str]
    rounds: int


@dataclass(frozen=True)
class Measured:
    """What a program needs for a capture."""

    program: str
    capture: Capture
    wall_s: float
    cpu_s: float
    peak_mib: float

    @property
    def rate(self) -> float:
        """Packets a second."""
        return self.capture.packets / self.wall_s

    @property
    def cost(self) -> float:
        """Nanoseconds of processor time a packet."""
        return 1e9 * self.cpu_s / self.capture.packets


def main() -> int:
    """Build, make captures, measure in turn, print."""
    options = argparse.ArgumentParser(description="Measure the analysis, beside tcptrace and tshark.")
    options.add_argument("--rounds", type=int, default=3, help="times that each program reads each capture")
    options.add_argument("--packets", type=int, default=10 * MILLION, help="packets of the long capture")
    options.add_argument("--no-tshark", action="store_true", help="leave tshark out")
    options.add_argument("--keep", action="store_true", help="keep the captures in build/bench")
    chosen = options.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    binaries = build()
    ours, theirs = programs(binaries, chosen.rounds, tshark=not chosen.no_tshark)
    whole = Capture(chosen.packets)
    short = min(MILLION, chosen.packets)
    costs = [Capture(short, flows=flows) for flows in (1, 20, 2_000)]
    costs += [Capture(short, loss=loss) for loss in (0.0, 5.0)]
    captures = [whole, *costs]
    try:
        for capture in captures:
            make(binaries, capture)
        compared = [measure(program, whole) for program in [*ours, *theirs]]
        beside = [program for program in [ours[0], *theirs] if program.title != "tshark"]
        each = [[measure(program, capture) for program in beside] for capture in captures]
    finally:
        for capture in captures:
            if not chosen.keep:
                capture.path.unlink(missing_ok=True)
    print_comparison(compared)
    print_costs(each)
    facts = {"machine": machine(), "rounds": chosen.rounds}
    rows = [asdict(row) for row in compared + [row for line in each for row in line]]
    (OUT / "analysis.json").write_text(json.dumps({**facts, "rows": rows}, indent=1))
    return 0


def build() -> Path:
    """Compile for speed; the folder of the programs."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "rexmit-bench"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def programs(binaries: Path, rounds: int, *, tshark: bool) -> tuple[list[Program], list[Program]]:
    """Ours, the plainest first, and others that are installed."""
    analysis = str(binaries / "analysis")
    ours = [
        Program(f"rexmit, {what}, {jobs} thread{'s' * (jobs > 1)}", [analysis, part, f"jobs={jobs}"], rounds)
        for part, what in (("causes", "causes"), ("tables", "causes and tables"))
        for jobs in (1, 2)
    ]
    command = Path(sys.executable).parent / "rexmit"
    if command.exists():
        ours.append(Program("rexmit analyze", [str(command), "analyze"], rounds))
    theirs = []
    for name, arguments, times in (("tcptrace", [], rounds), ("tshark", ["-q", "-z", "conv,tcp", "-r"], 1)):
        if name == "tshark" and not tshark:
            continue
        if shutil.which(name) is None:
            print(f"{name} is not installed, so there is no ratio: apt-get install {name}")
            continue
        theirs.append(Program(name, [name, *arguments], times))
    return ours, theirs


def make(binaries: Path, capture: Capture) -> None:
    """Write the capture, unless it is there."""
    if capture.path.exists():
        return
    print(f"making {capture.path.name}", file=sys.stderr)
    words = [f"packets={capture.packets}", f"flows={capture.flows}", f"loss={capture.loss:g}"]
    partial = capture.path.with_suffix(".partial")
    subprocess.run([str(binaries / "captures"), str(partial), *words], check=True)
    partial.rename(capture.path)


def measure(program: Program, capture: Capture) -> Measured:
    """The medians of a program for a capture."""
    print(f"{program.title}: {capture.path.name}", file=sys.stderr)
    runs = [run([*program.command, str(capture.path)]) for _ in range(program.rounds)]
    wall, cpu, peak = (statistics.median(column) for column in zip(*runs, strict=True))
    return Measured(program.title, capture, wall, cpu, peak)


def run(command: Sequence[str]) -> tuple[float, float, float]:
    """Seconds of wall time and of processor time, and MiB, of a process."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit code {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def print_comparison(rows: Sequence[Measured]) -> None:
    """One row per program, in Markdown; a ratio above 1 says that rexmit's row is faster."""
    peers = [row for row in rows if row.program in ("tcptrace", "tshark")]
    heads = [f"over {peer.program}" for peer in peers]
    print(f"\n{machine()}; {rows[0].capture.packets:,} packets, 20 flows, 1 % loss\n")
    print("| " + " | ".join(["program", "wall", "packets/s", "peak memory", *heads]) + " |")
    print("|---|" + "---:|" * (3 + len(heads)))
    for row in rows:
        ratios = [f"{row.rate / peer.rate:.2f}" for peer in peers]
        cells = [row.program, f"{row.wall_s:.2f} s", f"{row.rate:,.0f}", f"{row.peak_mib:,.0f} MiB", *ratios]
        print("| " + " | ".join(cells) + " |")


def print_costs(lines: Sequence[Sequence[Measured]]) -> None:
    """One row per capture: what a packet costs each program."""
    names = [row.program for row in lines[0]]
    print("\n| packets | flows | loss | " + " | ".join(f"{name}, ns a packet | MiB" for name in names) + " |")
    print("|---:|---:|---:|" + "---:|---:|" * len(names))
    for line in lines:
        capture = line[0].capture
        cells = [f"{capture.packets:,}", f"{capture.flows:,}", f"{capture.loss:g} %"]
        for row in line:
            cells += [f"{row.cost:,.0f}", f"{row.peak_mib:,.0f}"]
        print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    sys.exit(main())
