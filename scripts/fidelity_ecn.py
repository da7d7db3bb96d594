"""Compare ECN and DCTCP of the model with a real kernel, packet by packet, and write the page of it."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rexmit.kernel import KernelError, find_kernel
from twins import ecn, page

ROOT = Path(__file__).resolve().parent.parent
SCENARIOS = 500


def main() -> int:
    """Run, compare and write; 2 where there is no kernel."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scenarios", type=int, default=SCENARIOS, help="how many, twice (default 500)")
    options.add_argument(
        "--out", type=Path, default=ROOT / "results" / "fidelity-ecn", help="folder of the table"
    )
    options.add_argument("--page", action="store_true", help="write docs/studies/fidelity-ecn.md")
    chosen = options.parse_args()
    try:
        find_kernel()
    except KernelError as error:
        print(f"fidelity_ecn: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="rexmit-fidelity-") as scratch:
        table = ecn.compare(chosen.scenarios, Path(scratch), lambda _name, _count: lambda _: None)
    chosen.out.mkdir(parents=True, exist_ok=True)
    table.write_parquet(chosen.out / "scenarios.parquet")
    if chosen.page:
        (ROOT / "docs" / "studies" / "fidelity-ecn.md").write_text(ecn.write(table))
    print(page.summary_text(table))
    return 0


if __name__ == "__main__":
    sys.exit(main())
