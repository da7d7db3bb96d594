"""Measure rexmit, beside ns-3 where it is installed: `make bench`.

Both programs run the same scenarios in turn, several times, on this machine; what is printed is the
median. A ratio compares packet deliveries for each second of wall time (data packets and ACKs handed
to a host), for the grid runs, for memory bytes. ns-3 is Debian's package `libns3-dev`, and
`ns3/scenarios.cc` is compiled against it with -O3. Everything is also written to
`build/bench/results.json`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rexmit
import trained

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "build" / "bench"
NS3_HEADER = Path("/usr/include/ns3/core-module.h")
NS3_LIBRARIES = [
    "applications",
    "point-to-point",
    "nix-vector-routing",
    "internet",
    "traffic-control",
    "network",
    "stats",
    "core",
]
# Bandwidth-delay product of 1 Gbit/s and 2 x 20 ms, in packets of 1500 bytes.
BDP = 3334
TODAY = "linux-6.1"
"""Linux with its defaults: RACK, tail loss probes, CUBIC, large packets, a receive buffer that grows."""
DRAWN = 20_000
"""Scenarios of the basic group of `make fidelity`: one transfer with one or two losses."""
FIDELITY_SEED = 2026
TRAINING_SEED = 61_987
Line = dict[str, Any]


@dataclass(frozen=True)
class Scenario:
    """One row of the table."""

    title: str
    name: str
    options: dict[str, int | str]
    # How often rexmit repeats it inside one process, to be long enough for the clock.
    repeat: int = 1
    beside_ns3: bool = True


def scenarios(seconds: int) -> list[Scenario]:
    """Everything that is measured."""
    rows = [
        Scenario("hurtig-2006/short, 1 core", "grid", {}, repeat=3),
        Scenario("hurtig-2006, 1 core", "study", {"jobs": 1}, beside_ns3=False),
        Scenario("hurtig-2006, 2 cores", "study", {"jobs": 2}, beside_ns3=False),
    ]
    for queue, words in ((100, "queue of 100"), (BDP, "queue of one BDP")):
        for flows in (1, 10, 100, 1000):
            options: dict[str, int | str] = {"flows": flows, "queue": queue, "seconds": seconds}
            rows.append(Scenario(f"bulk, {flows} flows, {words}", "bulk", options, repeat=3))
    for flows in (1, 1000):
        options = {"stack": TODAY, "flows": flows, "queue": BDP, "seconds": seconds}
        rows.append(Scenario(f"bulk, {TODAY}, {flows} flows", "bulk", options, repeat=3, beside_ns3=False))
    options = {"file": str(OUT / "drawn.jsonl"), "jobs": 2}
    rows.append(Scenario(f"{DRAWN:,} drawn at random, {TODAY}, 2 cores", "drawn", options, beside_ns3=False))
    for hosts in (2, 100, 1000, 10_000):
        rows.append(Scenario(f"dumbbell, {hosts:,} hosts", "dumbbell", {"hosts": hosts, "seconds": seconds}))
    rows.append(Scenario("parking lot, 3 links", "parking-lot", {"seconds": seconds}))
    rows.append(Scenario("20,000 short flows", "arrivals", {"flows": 20_000}))
    rows.append(Scenario("100,000 short flows", "arrivals", {"flows": 100_000}, beside_ns3=False))
    rows.append(Scenario("memory, 10,000 flows", "memory", {"flows": 10_000}))
    return rows


def main() -> int:
    """Build, measure in turn, print."""
    options = argparse.ArgumentParser(description="Measure rexmit, beside ns-3 where it is installed.")
    options.add_argument("--rounds", type=int, default=3, help="times that each program runs each scenario")
    options.add_argument("--seconds", type=int, default=2, help="virtual time of bulk flows")
    options.add_argument("--no-ns3", action="store_true", help="leave ns-3 out")
    options.add_argument(
        "--only", nargs="+", default=[""], metavar="WORD", help="rows whose title has one of these"
    )
    options.add_argument(
        "--trained", action="store_true", help="rexmit with profile-guided optimisation, as released"
    )
    chosen = options.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    ours = build_trained() if chosen.trained else build_ours()
    theirs = None if chosen.no_ns3 else build_ns3()
    lines: dict[str, dict[str, list[Line]]] = {}
    before = load()
    wanted = [row for row in scenarios(chosen.seconds) if any(word in row.title for word in chosen.only)]
    if any(row.name == "drawn" for row in wanted):
        (OUT / "drawn.jsonl").write_text("".join(map(draw, range(DRAWN))))
    for number in range(chosen.rounds):
        for scenario in wanted:
            print(f"\rround {number + 1} of {chosen.rounds}: {scenario.title:40}", end="", file=sys.stderr)
            seen = lines.setdefault(scenario.title, {"rexmit": [], "ns-3": []})
            seen["rexmit"] += run_ours(ours, scenario)
            if theirs is not None and scenario.beside_ns3:
                seen["ns-3"] += run_ns3(theirs, scenario)
    print(file=sys.stderr)
    print_table(lines, f"{machine()}; {load()} (before the first round: {before})")
    facts = {"machine": machine(), "rounds": chosen.rounds, "load_before": before, "lines": lines}
    (OUT / "results.json").write_text(json.dumps(facts, indent=1))
    return 0


def draw(number: int, seed: int = FIDELITY_SEED) -> str:
    """A scenario of the basic group of `make fidelity`, on the model of Linux, in a line."""
    return json.dumps(rexmit.draw_scenario(number, seed=seed, family="losses")) + "\n"


def build_ours() -> Path:
    """Compile the scenarios of rexmit for speed."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "rexmit-bench"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "scenarios"


def build_trained() -> Path:
    """The same with profile-guided optimisation."""
    drawn = OUT / "training.jsonl"
    drawn.write_text("".join(draw(number, seed=TRAINING_SEED) for number in range(2_000)))
    return trained.build(drawn)


def build_ns3() -> Path | None:
    """Compile the scenarios of ns-3, if it is installed."""
    compiler = shutil.which("g++")
    if not NS3_HEADER.exists() or compiler is None:
        print("ns-3 is not installed, so there are no ratios: apt-get install libns3-dev g++")
        return None
    program = OUT / "ns3-scenarios"
    source = ROOT / "benches" / "ns3" / "scenarios.cc"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
        command = [compiler, "-O3", "-std=c++17", "-o", str(program), str(source), *libraries]
        subprocess.run(command, check=True)
    return program


def run_ours(program: Path, scenario: Scenario) -> list[Line]:
    """One process of rexmit; a line for each repetition."""
    options = [f"{name}={value}" for name, value in scenario.options.items()]
    return run([str(program), scenario.name, *options, f"repeat={scenario.repeat}"])


def run_ns3(program: Path, scenario: Scenario) -> list[Line]:
    """One process of ns-3."""
    options = [f"--{name}={value}" for name, value in scenario.options.items()]
    return run([str(program), f"--scenario={scenario.name}", *options])


def run(command: list[str]) -> list[Line]:
    """The lines that a program printed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def print_table(lines: dict[str, dict[str, list[Line]]], where: str) -> None:
    """One row a scenario, in Markdown."""
    print(f"\n{where}\n")
    print("| scenario | rexmit | deliveries/s | ns a delivery | ns-3 | deliveries/s | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for title, seen in lines.items():
        print("| " + " | ".join([title, *cells(seen["rexmit"], seen["ns-3"])]) + " |")


def cells(ours: list[Line], theirs: list[Line]) -> list[str]:
    """The numbers of one row."""
    if ours[0]["scenario"] == "memory":
        sizes = [median(line["bytes_a_flow"] for line in lines) for lines in (ours, theirs)]
        texts = [f"{size:,.0f} bytes a flow" if size else "" for size in sizes]
        return [texts[0], "", "", texts[1], "", f"{sizes[1] / sizes[0]:.1f}" if theirs else ""]
    mine, rate = measure(ours)
    jobs = ours[0].get("jobs", 1)
    row = [words(ours[0], mine), f"{rate:,.0f}", f"{1e9 * jobs / rate:,.0f}"]
    if not theirs:
        return [*row, "", "", ""]
    other, other_rate = measure(theirs)
    ratio = other / mine if "runs" in ours[0] else rate / other_rate
    return [*row, words(theirs[0], other), f"{other_rate:,.0f}", f"{ratio:.1f}"]


def measure(lines: list[Line]) -> tuple[float, float]:
    """Median wall time in seconds, and packet deliveries a second."""
    return median(line["wall_s"] for line in lines), median(
        line["deliveries"] / line["wall_s"] for line in lines
    )


def words(line: Line, wall: float) -> str:
    """Wall time, and runs a second where the scenario is made of runs; of networks also hops and memory."""
    if "hops" in line:
        text = f"{wall:.3f} s, {line['hops'] / wall:,.0f} hops/s, {line['bytes_a_piece']:,} bytes each"
        if line.get("last_tenth_ns"):
            first, last = line["first_tenth_ns"], line["last_tenth_ns"]
            text += f", {first:.0f} ns a packet in the first tenth, {last:.0f} in the last"
        return text
    return f"{wall:.3f} s, {line['runs'] / wall:,.0f} runs/s" if "runs" in line else f"{wall:.3f} s"


def median(values: Iterable[float]) -> float:
    """The median; 0 of nothing."""
    found = list(values)
    return statistics.median(found) if found else 0.0


def load() -> str:
    """How many processes wanted a core in the last minute: with more than there are, times are too long."""
    return f"load {os.getloadavg()[0]:.1f}"


def machine() -> str:
    """What this was measured on."""
    try:
        text = Path("/proc/cpuinfo").read_text()
        names = [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")]
    except OSError:
        names = []
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


if __name__ == "__main__":
    sys.exit(main())
