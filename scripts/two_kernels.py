"""What changed in Linux's TCP from 6.1 to 6.12: writes docs/studies/two-kernels.md from a comparison of both.

Draws scenarios at random, runs each on both kernels as `rexmit diff` does, and puts tables and graphs into
the page; the readings in its template are by hand. Takes some five minutes for 10,000 scenarios on two cores.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rexmit.cli.diff_show import markdown_table
from rexmit.diff.graphs import overlay
from rexmit.diff.pages import cluster_words, state_words, summary, write_found
from rexmit.diff.search import LEVELS, Case, Found, search, smallest_cases
from rexmit.diff.systems import System
from rexmit.kernel import Kernel
from rexmit.run.progress import shown_progress
from rexmit.run.runner import Progress
from rexmit.study import draw_scenario

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = Path(__file__).with_name("two_kernels.md.in")
PAGE = ROOT / "docs" / "studies" / "two-kernels.md"
IMAGES = ROOT / "docs" / "img"
SYSTEMS = ("linux:6.1", "linux:6.12")
LINEAR = "linux:6.12,linux.sysctl.net.ipv4.tcp_syn_linear_timeouts=0"
"""The newer kernel with the older one's timeouts of SYNs."""

SEED = 7
KINDS_SHOWN = 15
CASES = 4
WINDOW = ", after another window"


def main() -> int:
    """Compare, and write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--scenarios", type=int, default=10_000, help="how many (default 10,000)")
    options.add_argument(
        "--out", type=Path, default=ROOT / "results" / "two-kernels", help="folder of the page"
    )
    chosen = options.parse_args()
    systems = (System.parse(SYSTEMS[0]), System.parse(SYSTEMS[1]))
    linear = (systems[0], System.parse(LINEAR))
    with shown_progress() as report:
        told = report or (lambda *_: None)
        found = compared(systems, chosen.scenarios, told)
        without = compared(linear, chosen.scenarios // 5, told)
        found = smallest_cases(found, draw, CASES, told)
    write_found(found, chosen.out, f"{chosen.scenarios} scenarios drawn at random: family tcp, seed {SEED}")
    few = Found(systems, {number: found.pairs[number] for number in without.pairs})
    parts = {
        "systems": " against ".join(words_of(one.kernel) for one in systems),
        "summary": summary(found),
        "levels": levels(found),
        "kinds": kinds(found),
        "windows": windows(found),
        "cases": "\n\n".join(case_text(case, number) for number, case in enumerate(found.cases, start=1)),
        "syn": f"{syns(few)} of {len(few.pairs):,} scenarios with it, {syns(without)} without",
    }
    text = TEMPLATE.read_text()
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    PAGE.write_text(text)
    for number, case in enumerate(found.cases, start=1):
        if case.pair.first is not None and case.mechanism is not None:
            svg = overlay(case.pair.first, case.mechanism.seen, ("6.1", "6.12"))
            (IMAGES / f"two-kernels-{number}.svg").write_text(svg)
    print(summary(found))
    return 0


def words_of(kernel: Kernel) -> str:
    """A kernel that is built, by what stays true of it: its hash changes with every patch of rexmit's."""
    return f"Linux {kernel.version} (HZ {kernel.hz}, built on {kernel.built[:10]})"


def draw(number: int) -> dict[str, object]:
    """The scenario of this number."""
    return draw_scenario(number, seed=SEED, family="tcp")


def compared(systems: tuple[System, System], count: int, told: Progress) -> Found:
    """What differs in so many scenarios."""
    return search(systems, ((number, draw(number)) for number in range(count)), count, told)


def levels(found: Found) -> str:
    """Scenarios by what differs at most."""
    total = len(found.pairs)
    rows = [
        [LEVELS[level], f"{found.levels[level]:,}", share(found.levels[level], total)] for level in LEVELS
    ]
    same = total - sum(found.levels.values())
    return markdown_table(["", "scenarios", ""], [*rows, ["nothing", f"{same:,}", share(same, total)]])


def kinds(found: Found) -> str:
    """The most frequent first differences."""
    rows = [[*cluster_words(one), str(one.pairs[0].number)] for one in found.clusters[:KINDS_SHOWN]]
    return markdown_table(
        ["scenarios", "what differs", "first difference", "time, median", "sent again", "such as"], rows
    )


def windows(found: Found) -> str:
    """How often a window differs before any packet does."""
    packets = [one for one in found.clusters if one.level == "packets"]
    after = sum(len(one.pairs) for one in packets if one.kind.endswith(WINDOW))
    return f"{after:,} of the {found.levels['packets']:,}"


def syns(found: Found) -> int:
    """Scenarios in which a SYN or SYN-ACK that is sent again is in the first difference."""
    return sum("SYN again" in pair.kind or "SYN-ACK again" in pair.kind for pair in found.pairs.values())


def case_text(case: Case, number: int) -> str:
    """A smallest case: the packets, the state before it, the graph."""
    lines = [
        f"### {number}. {case.cluster.kind}",
        f"Scenario {case.drawn}, {len(case.cluster.pairs):,} of its kind.",
    ]
    if case.pair.first is not None:
        first = case.pair.first
        told = zip(("6.1", "6.12"), first.texts, strict=True)
        lines.append("\n".join(f"- {name}: {text}" for name, text in told))
    if case.mechanism is not None and case.mechanism.changes:
        lines.append("Before it: " + "; ".join(map(state_words, case.mechanism.changes[:4])) + ".")
    lines.append(f"![Both kernels over each other](../img/two-kernels-{number}.svg)")
    return "\n\n".join(lines)


def share(part: int, whole: int) -> str:
    """Per cent."""
    return f"{100 * part / whole:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
