"""Compare the model with a real kernel over the wide set of scenarios, in groups: `fidelity_wide.py`.

Draws scenarios from two seeds, one of which nobody looks at while the model is worked on, runs each on `uml`
and on the model, and writes tables and the section of docs/studies/fidelity.md on the wide set. Others are of
paced senders.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import rexmit
from rexmit.kernel import KernelError, find_kernel
from twins import wide, wide_page

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "studies" / "fidelity.md"
SCENARIOS, PACED = 2000, 1000


def main() -> int:
    """Run, compare and write; 2 where there is no kernel."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument(
        "--scenarios", type=int, help="how many of each seed (default 2000, and 1000 of paced senders)"
    )
    options.add_argument("--group", help="one group alone")
    options.add_argument(
        "--out", type=Path, default=ROOT / "results" / "fidelity", help="folder of the tables"
    )
    options.add_argument("--page", action="store_true", help="write the section of docs/studies/fidelity.md")
    chosen = options.parse_args()
    try:
        groups = wide.chosen_groups(chosen.group)
        find_kernel()
    except (KernelError, rexmit.RexmitError) as error:
        print(f"fidelity_wide: {error}", file=sys.stderr)
        return 2
    if chosen.page and chosen.group:
        print("fidelity_wide: the page is of all groups; leave out --group or --page", file=sys.stderr)
        return 2
    chosen.out.mkdir(parents=True, exist_ok=True)
    parts = {"wide": (groups, chosen.scenarios or SCENARIOS), "paced": (["paced"], chosen.scenarios or PACED)}
    if chosen.group:
        parts.pop("wide" if chosen.group == "paced" else "paced")
    tables = {}
    for part, (those, count) in parts.items():
        for name, seed in (("seen", wide.SEED), ("apart", wide.APART)):
            with tempfile.TemporaryDirectory(prefix="rexmit-fidelity-") as scratch:
                drawn = wide.draw(those, count, seed)
                table = wide.compare(drawn, Path(scratch), shown(f"{part}, {name}", count))
            table.write_parquet(chosen.out / f"{part}-{name}.parquet")
            print(f"{part}, {name}, seed {seed}:\n{wide_page.summary_text(table)}\n")
            tables[part, name] = table
        if not tables[part, "seen"]["identical"].all():
            print(wide_page.clusters_text(tables[part, "seen"]))
    if chosen.page:
        of = {part: (tables[part, "seen"], tables[part, "apart"]) for part in parts}
        section = wide_page.section(of["wide"], of["paced"])
        PAGE.write_text(wide_page.with_section(PAGE.read_text(), section))
    return 0


def shown(name: str, total: int) -> wide.Told:
    """Shows on a terminal how many scenarios are done."""

    def told(done: int) -> None:
        if sys.stderr.isatty():
            print(f"\r{name}: {done} of {total} ", end="\n" if done == total else "", file=sys.stderr)

    return told


if __name__ == "__main__":
    sys.exit(main())
