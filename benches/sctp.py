"""Measure SCTP, rexmit's model beside each third party's code behind the same path: `make bench`.

One sender of 1400-byte messages on a link of 1 Gbit/s and 20 ms each way, without loss and with 1 % each way.
All run in turn, several times; what is printed is the median of packet deliveries (data and SACKs handed to
a host) for each second of wall time on one core, and whether it is what was asked: 2 million of the model,
150,000 of another's code. Everything is also written to `build/bench/sctp.json`.
"""

from __future__ import annotations

import argparse
import json
import sys

from bench import OUT, Line, build_ours, machine, median, run
from rexmit import _native
from rexmit.run.stacks import MODEL

ASKED_OF_MODEL = 2_000_000
ASKED_OF_OTHERS = 150_000
LOSSES = (0, 1)


def main() -> int:
    """Build, measure in turn, print."""
    options = argparse.ArgumentParser(description="Measure SCTP: rexmit's model beside other code.")
    options.add_argument("--rounds", type=int, default=3, help="times that each is run")
    options.add_argument("--seconds", type=int, default=20, help="virtual time of a run")
    chosen = options.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    program = build_ours()
    others = third_parties()
    asked = {MODEL: ASKED_OF_MODEL} | dict.fromkeys(others, ASKED_OF_OTHERS)
    lines: dict[tuple[str, int], list[Line]] = {}
    for _ in range(chosen.rounds):
        for loss in LOSSES:
            for name in asked:
                words = [f"seconds={chosen.seconds}", f"loss={loss}", f"code={name}"]
                lines.setdefault((name, loss), []).extend(run([str(program), "sctp", *words]))
    print(f"\n{machine()}\n")
    heads = ["SCTP in bulk", "deliveries", "deliveries/s", "asked", *(f"times {other}" for other in others)]
    print("| " + " | ".join(heads) + " |")
    print("|---" + "|---:" * (len(heads) - 1) + "|")
    for loss in LOSSES:
        rates = {name: _rate(lines[name, loss]) for name in asked}
        for name, least in asked.items():
            kept = f"{least:,}" + ("" if rates[name] >= least else " MISSED") if loss == 0 else ""
            count = lines[name, loss][0]["deliveries"]
            label = f"{'rexmit' if name == MODEL else name}, {loss} % lost each way"
            times = (f"{rates[name] / rates[other]:.1f}" for other in others)
            print("| " + " | ".join([label, f"{count:,}", f"{rates[name]:,.0f}", kept, *times]) + " |")
    facts = {"machine": machine(), "lines": {f"{name}, {loss} %": of for (name, loss), of in lines.items()}}
    (OUT / "sctp.json").write_text(json.dumps(facts, indent=1))
    return 0


def third_parties() -> list[str]:
    """The stacks other than the model that speak SCTP and are there on this machine."""
    stacks = json.loads(_native.stacks())
    of_sctp = [stack for stack in stacks if "sctp" in stack["protocols"] and stack["missing"] is None]
    return [stack["name"] for stack in of_sctp if stack["name"] != MODEL]


def _rate(lines: list[Line]) -> float:
    return median(line["deliveries"] / line["wall_s"] for line in lines)


if __name__ == "__main__":
    sys.exit(main())
