"""Measure SCTP, rexmit's model beside FreeBSD's code (usrsctp) behind the same path: `make bench`.

One sender of 1400-byte messages on a link of 1 Gbit/s and 20 ms each way, without loss and with 1 % each way.
Both run in turn, several times; what is printed is the median of packet deliveries (data and SACKs handed to
a host) for each second of wall time on one core, and whether it is what was asked: 2 million of the model,
150,000 of usrsctp. Everything is also written to `build/bench/sctp.json`.
"""

from __future__ import annotations

import argparse
import json
import sys

from bench import OUT, Line, build_ours, machine, median, run

ASKED = {"rexmit": 2_000_000, "usrsctp": 150_000}
CODES = {"rexmit": "model", "usrsctp": "usrsctp"}
LOSSES = (0, 1)


def main() -> int:
    """Build, measure in turn, print."""
    options = argparse.ArgumentParser(description="Measure SCTP: rexmit's model beside usrsctp.")
    options.add_argument("--rounds", type=int, default=3, help="times that each is run")
    options.add_argument("--seconds", type=int, default=20, help="virtual time of a run")
    chosen = options.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    program = build_ours()
    lines: dict[tuple[str, int], list[Line]] = {}
    for _ in range(chosen.rounds):
        for loss in LOSSES:
            for name in ASKED:
                words = [f"seconds={chosen.seconds}", f"loss={loss}", f"code={CODES[name]}"]
                lines.setdefault((name, loss), []).extend(run([str(program), "sctp", *words]))
    print(f"\n{machine()}\n")
    print("| SCTP in bulk | deliveries | deliveries/s | asked | times usrsctp |")
    print("|---|---:|---:|---:|---:|")
    for loss in LOSSES:
        rates = {name: _rate(lines[name, loss]) for name in ASKED}
        for name, asked in ASKED.items():
            kept = f"{asked:,}" + ("" if rates[name] >= asked else " MISSED") if loss == 0 else ""
            count = lines[name, loss][0]["deliveries"]
            cells = [f"{name}, {loss} % lost each way", f"{count:,}", f"{rates[name]:,.0f}", kept]
            print("| " + " | ".join([*cells, f"{rates[name] / rates['usrsctp']:.1f}"]) + " |")
    facts = {"machine": machine(), "lines": {f"{name}, {loss} %": of for (name, loss), of in lines.items()}}
    (OUT / "sctp.json").write_text(json.dumps(facts, indent=1))
    return 0


def _rate(lines: list[Line]) -> float:
    return median(line["deliveries"] / line["wall_s"] for line in lines)


if __name__ == "__main__":
    sys.exit(main())
