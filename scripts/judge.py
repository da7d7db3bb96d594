"""Judge captures of foreign senders against what they say themselves: `make judge`.

Compiles `foreign/` for speed and runs its random scenarios, block after block, until enough judgements
were certain at each place of each sender. What was counted is kept in `.cache/judge`, so a run that was
ended goes on where it was; it counts for the program that made it and no other. Progress goes to stderr.
With `--page` the table goes into docs/explanation/foreign-senders.md. If something certain was wrong, the
exit code is 1 and the page stays as it was. A sender that cannot be run here is named in one line and left
out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "foreign-senders.md"
# The table stands between these lines of the page.
BEGIN, END = "<!-- measured by make judge -->\n", "<!-- end -->\n"
SENDERS = ["smoltcp", "ns-3", "gvisor"]
PLACES = ["sender", "middle", "receiver"]
# What the program prints of a place, in this order.
NUMBERS = ["in_truth", "open", "missed", "extra", "family", "exact", "certain", "family_wrong", "exact_wrong"]
# Scenarios between two looks at what is certain.
BLOCK = 2_000
# The program's exit code where a sender cannot be run.
CANNOT_RUN = 3


@dataclass
class Counted:
    """What was counted of a sender so far."""

    sender: str
    version: str = ""
    scenarios: int = 0
    broken_off: int = 0
    places: dict[str, dict[str, int]] = field(
        default_factory=lambda: {place: dict.fromkeys(NUMBERS, 0) for place in PLACES}
    )
    seconds: float = 0.0

    def add(self, printed: str, scenarios: int) -> None:
        """Add a block, as the program printed it."""
        self.version, broken_off, *lines = printed.splitlines()
        self.broken_off += int(broken_off.removeprefix("broken-off "))
        for line in lines:
            place, *numbers = line.split()
            for name, number in zip(NUMBERS, numbers, strict=True):
                self.places[place][name] += int(number)
        self.scenarios += scenarios

    def least_certain(self) -> int:
        """Certain judgements at the place that has the fewest."""
        return min(place["certain"] for place in self.places.values())

    def wrong(self) -> int:
        """Certain judgements that were wrong."""
        return sum(place["family_wrong"] + place["exact_wrong"] for place in self.places.values())


def main() -> int:
    """Run, show and write."""
    options = argparse.ArgumentParser(description="Judge captures of foreign senders.")
    options.add_argument("--sender", action="append", choices=SENDERS, help="one of them (default: all)")
    options.add_argument(
        "--certain", type=int, default=50_000, help="certain judgements at each place (50,000)"
    )
    options.add_argument("--scenarios", type=int, default=10_000_000, help="scenarios at the most")
    options.add_argument("--threads", type=int, default=os.cpu_count(), help="how many threads")
    options.add_argument("--page", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    chosen = options.parse_args()
    program = build()
    every = [judged(program, name, chosen) for name in chosen.sender or SENDERS]
    counted = [counts for counts in every if counts is not None]
    measured = table(counted)
    print(measured)
    if any(counts.wrong() for counts in counted):
        print("judge: something certain was wrong; --wrong certain shows the packets", file=sys.stderr)
        return 1
    if chosen.page:
        PAGE.write_text(with_table(PAGE.read_text(), measured))
    return 0


def build() -> Path:
    """Compile the program for speed."""
    subprocess.run(
        ["cargo", "build", "--release", "--locked", "--package=rexmit-foreign"], cwd=ROOT, check=True
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release" / "judge"


def judged(program: Path, sender: str, chosen: argparse.Namespace) -> Counted | None:
    """Run scenarios of a sender until enough is certain everywhere; None if it cannot be run here."""
    kept = (
        ROOT / ".cache" / "judge" / hashlib.sha256(program.read_bytes()).hexdigest()[:16] / f"{sender}.json"
    )
    counted = Counted(**json.loads(kept.read_text())) if kept.exists() else Counted(sender)
    while counted.least_certain() < chosen.certain and counted.scenarios < chosen.scenarios:
        count = min(BLOCK, chosen.scenarios - counted.scenarios)
        command = [str(program), "--sender", sender, "--from", str(counted.scenarios)]
        command += ["--scenarios", str(count), "--threads", str(chosen.threads)]
        began = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if done.returncode == CANNOT_RUN:
            return None
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(command)}: exit code {done.returncode}")
        counted.add(done.stdout, count)
        counted.seconds += time.monotonic() - began
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(asdict(counted)))
        certain = ", ".join(f"{counted.places[place]['certain']:,} {place}" for place in PLACES)
        seconds = f"{counted.seconds:.0f} s"
        print(
            f"{counted.version}: {counted.scenarios:,} scenarios, {seconds}, certain: {certain}",
            file=sys.stderr,
        )
    return counted


def table(counted: list[Counted]) -> str:
    """What was measured, in Markdown."""
    lines = []
    for one in counted:
        broken = f", of which it broke off {one.broken_off:,} by a fault of its own" if one.broken_off else ""
        lines.append(f"- {one.version}: {one.scenarios:,} scenarios{broken}")
    lines += [
        "",
        "| sender, place | in truth | no reason | missed | extra | family right | exact | certain "
        "| certain, family wrong | certain, cause wrong |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in counted:
        for place, numbers in one.places.items():
            shares = [
                f"{100 * numbers[name] / max(numbers['in_truth'], 1):.1f} %" for name in ("family", "exact")
            ]
            whole = [f"{numbers[name]:,}" for name in ("in_truth", "open", "missed", "extra")]
            certain = [f"{numbers[name]:,}" for name in ("certain", "family_wrong", "exact_wrong")]
            lines.append("| " + " | ".join([f"{one.sender}, {place}", *whole, *shares, *certain]) + " |")
    return "\n".join(lines)


def with_table(page: str, measured: str) -> str:
    """The page with what was measured in the place of what was measured before."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{measured.strip()}\n\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
