"""Judge captures of foreign senders against what they say themselves: `make judge`.

Compiles `foreign/` for speed and runs its random scenarios, block after block, until of each sender

- `--judged` retransmissions (50,000) were judged at each place: the sender, the middle, the receiver;
- `--certain` judgements (50,000) were certain at the sender;
- `--certain-everywhere` judgements (none) were certain at each place.

Away from its sender a retransmission is seldom certain, so that the third takes hours where the others
take minutes. A column of the table says what the count of certain ones shows there: with n certain and none
wrong, the share of wrong ones is below 3 / n, at 95 %, with two wrong below 6.3 / n.

What was counted is kept in `.cache/judge`, so a run that was ended goes on where it was, and one that asks
for no more than there is writes what there is; it counts for the program that made it and no other.
Progress goes to stderr. With `--page` the table goes into docs/explanation/foreign-senders.md. If something
certain was wrong, the exit code is 1 and the page stays as it was. A sender that cannot be run here is
named in one line and left out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from decimal import ROUND_UP, Context, Decimal
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "foreign-senders.md"
# The table stands between these lines of the page.
BEGIN, END = "<!-- measured by make judge -->\n", "<!-- end -->\n"
SENDERS = ["smoltcp", "ns-3", "gvisor"]
PLACES = ["sender", "middle", "receiver"]
# What the program prints of a place, in this order.
NUMBERS = ["in_truth", "open", "missed", "extra", "family", "exact", "certain", "family_wrong", "exact_wrong"]
# Scenarios between two looks at what was counted, some 15 s: what is lost where a run is ended.
BLOCKS = {"smoltcp": 10_000, "ns-3": 400, "gvisor": 300}
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

    def is_enough(self, judged: int, certain: int, everywhere: int) -> bool:
        """Whether so many were judged at each place, certain at the sender, and certain at each place."""
        places = self.places.values()
        return self.places["sender"]["certain"] >= certain and all(
            place["in_truth"] >= judged and place["certain"] >= everywhere for place in places
        )

    def wrong(self) -> int:
        """Certain judgements that were wrong."""
        return sum(place["family_wrong"] + place["exact_wrong"] for place in self.places.values())


def main() -> int:
    """Run, show and write."""
    options = argparse.ArgumentParser(description="Judge captures of foreign senders.")
    options.add_argument("--sender", action="append", choices=SENDERS, help="one of them (default: all)")
    options.add_argument(
        "--judged", type=int, default=50_000, help="retransmissions judged at each place (50,000)"
    )
    options.add_argument(
        "--certain", type=int, default=50_000, help="certain judgements at the sender (50,000)"
    )
    options.add_argument(
        "--certain-everywhere", type=int, default=0, help="certain judgements at each place (0)"
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
    """Run scenarios of a sender until it is enough; None if it cannot be run here."""
    kept = (
        ROOT / ".cache" / "judge" / hashlib.sha256(program.read_bytes()).hexdigest()[:16] / f"{sender}.json"
    )
    counted = Counted(**json.loads(kept.read_text())) if kept.exists() else Counted(sender)
    enough = (chosen.judged, chosen.certain, chosen.certain_everywhere)
    while not counted.is_enough(*enough) and counted.scenarios < chosen.scenarios:
        count = min(BLOCKS[sender], chosen.scenarios - counted.scenarios)
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
        print(progress(counted), file=sys.stderr)
    return counted


def progress(counted: Counted) -> str:
    """How far it is, in one line."""
    places = [
        f"{place} {numbers['certain']:,} certain of {numbers['in_truth']:,}"
        for place, numbers in counted.places.items()
    ]
    seconds = f"{counted.seconds:.0f} s"
    return f"{counted.version}: {counted.scenarios:,} scenarios, {seconds}: {', '.join(places)}"


def table(counted: list[Counted]) -> str:
    """What was measured, in Markdown."""
    lines = []
    for one in counted:
        broken = (
            f", of which it aborted {one.broken_off:,} because of a bug of its own" if one.broken_off else ""
        )
        lines.append(f"- {one.version}: {one.scenarios:,} scenarios{broken}")
    lines += [
        "",
        "| sender, place | in truth | no reason | missed | extra | family right | exact | certain "
        "| certain, family wrong | certain, cause wrong | of certain ones wrong, at most |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for one in counted:
        for place, numbers in one.places.items():
            shares = [
                f"{100 * numbers[name] / max(numbers['in_truth'], 1):.1f} %" for name in ("family", "exact")
            ]
            whole = [f"{numbers[name]:,}" for name in ("in_truth", "open", "missed", "extra")]
            certain = [f"{numbers[name]:,}" for name in ("certain", "family_wrong", "exact_wrong")]
            bound = at_most(numbers["certain"], numbers["exact_wrong"])
            cells = [f"{one.sender}, {place}", *whole, *shares, *certain, bound]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def at_most(certain: int, wrong: int) -> str:
    """The share of wrong ones among the certain that these counts leave possible, at 95 %."""
    if certain < 3:
        return "-"
    share = Context(prec=2, rounding=ROUND_UP).divide(Decimal(100 * most_expected(wrong)), Decimal(certain))
    return f"{min(share, Decimal(100)):f} %"


def most_expected(wrong: int) -> float:
    """How many may be expected where so few occur in 1 of 20 cases: 3 for none, the rule of three."""
    expected = 3.0
    # The count follows Poisson's distribution: rare events among many.
    while sum(expected**k / math.factorial(k) for k in range(wrong + 1)) > 0.05 * math.exp(expected):
        expected += 0.01
    return round(expected, 2)


def with_table(page: str, measured: str) -> str:
    """The page with what was measured in the place of what was measured before."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{measured.strip()}\n\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
