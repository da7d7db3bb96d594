"""Measure third parties' stacks beside the models, in virtual time on one core.

Each sends 200 MB over 1 Gbit/s, or 2 GB if that takes less than a second, and 20 kB of which each of the
first 30 packets is lost in turn. A short run comes first and does not count. What is printed is the median of
packets, and of runs, for each second of processor time: `python benches/stacks.py [STACK ...]`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
from pathlib import Path
from typing import Any

import rexmit
from bench import machine
from rexmit.run.stacks import LINUX, lacking, third_parties

PROFILES = {"tcp": "rfc-2014", "sctp": "rfc9260", "quic": "rfc9000"}
LOST = 30
LONG = {"bulk": "200 MB"}
LONGER = {"bulk": "2 GB"}
QUICK = 1.0
"""Who sends LONG in less processor time, in seconds, sends LONGER."""


def main() -> int:
    """Measure in turn, print."""
    options = argparse.ArgumentParser(description="Measure third parties' stacks beside the models.")
    options.add_argument("stacks", nargs="*", metavar="STACK", help="by its name, or `model` (default: all)")
    options.add_argument("--rounds", type=int, default=5, help="times that each is run")
    chosen = options.parse_args()
    stacks = [("model", "tcp"), ("model", "sctp")]
    for name, stack in third_parties().items():
        if name != LINUX and lacking(stack) is None:
            stacks.append((name, stack.protocols[0]))
    there = [code for code, _ in stacks]
    for name in chosen.stacks:
        if name not in there:
            options.error(f"{name} is not a stack that is there: {', '.join(dict.fromkeys(there))}")
    stacks = [(code, protocol) for code, protocol in stacks if code in (chosen.stacks or there)]
    for code, protocol in stacks:
        timed(bulk_of(code, protocol, {"bulk": "100 kB"}))
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for _ in range(chosen.rounds):
        for code, protocol in stacks:
            found.setdefault((code, protocol), []).append((packets(code, protocol), runs(code, protocol)))
    print(f"\n{machine()}\n\n| stack | packets/s | runs/s |\n|---|---:|---:|")
    for (code, protocol), all_of in found.items():
        bulk, short = (statistics.median(column) for column in zip(*all_of, strict=True))
        print(f"| {code} ({protocol.upper()}) | {bulk:,.0f} | {short:,.0f} |")
    return 0


def packets(code: str, protocol: str) -> float:
    """Packets of a bulk transfer for each second of processor time."""
    table, spent = timed(bulk_of(code, protocol, LONG))
    if spent < QUICK:
        table, spent = timed(bulk_of(code, protocol, LONGER))
    return float((table["packets_down"] + table["packets_up"]).sum()) / spent


def bulk_of(code: str, protocol: str, bulk: Any) -> rexmit.Study:
    """A bulk transfer without losses."""
    path = {"rate": "1 Gbit/s", "delay": "1 ms", "queue": "1000 packets"}
    return study(code, protocol, path, bulk)


def runs(code: str, protocol: str) -> float:
    """Short runs for each second of processor time."""
    path = {"rate": "10 Mbit/s", "delay": "50 ms"}
    design = {"vary": {"path.down.drop": list(range(1, LOST + 1))}, "design": {"replications": 20}}
    table, spent = timed(study(code, protocol, path, {"writes": "20 x 1000 bytes"}, **design))
    return float(table.height) / spent


def study(code: str, protocol: str, path: Any, workload: Any, **rest: Any) -> rexmit.Study:
    """One transfer between hosts with this code."""
    host = {"stack": PROFILES[protocol], "code": code}
    transfer = {"from": "server", "to": "client", **workload}
    scenario = {"hosts": {"server": host, "client": dict(host)}, "path": path, "transfers": [transfer]}
    return rexmit.Study.from_dict({"title": code, "scenario": scenario, **rest})


def timed(what: rexmit.Study) -> tuple[Any, float]:
    """The runs of a study, and the processor time that they took, here and in stacks that are programs."""
    begun = time.process_time() + of_programs()
    table = what.run(progress=False, jobs=1).table()
    return table, time.process_time() + of_programs() - begun


def of_programs() -> float:
    """The processor time of the programs that this process has started."""
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid():
                total += sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    return total


if __name__ == "__main__":
    raise SystemExit(main())
