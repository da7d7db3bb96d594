"""Judge captures of foreign senders against what they say themselves: `make judge`.

Compiles `foreign/` for speed, runs its random scenarios until enough judgements were certain, and prints the
table. With `--page` the table goes into docs/explanation/foreign-senders.md. If something certain was wrong,
the exit code is 1 and the page stays as it was.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "foreign-senders.md"
# The table stands between these lines of the page.
BEGIN, END = "<!-- measured by make judge -->\n", "<!-- end -->\n"


def main() -> int:
    """Run, show and write."""
    options = argparse.ArgumentParser(description="Judge captures of foreign senders.")
    options.add_argument("--certain", type=int, default=50_000, help="how many certain judgements (50,000)")
    options.add_argument("--page", action="store_true", help=f"write {PAGE.relative_to(ROOT)}")
    chosen = options.parse_args()
    command = ["cargo", "run", "--release", "--locked", "--package=rexmit-foreign", "--"]
    command += ["--certain", str(chosen.certain)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    print(done.stdout, end="")
    if done.returncode != 0:
        print("judge: something certain was wrong; --wrong certain shows the packets", file=sys.stderr)
        return 1
    if chosen.page:
        PAGE.write_text(with_table(PAGE.read_text(), done.stdout))
    return 0


def with_table(page: str, measured: str) -> str:
    """The page with what was measured in the place of what was measured before."""
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{measured.strip()}\n\n{END}{after}"


if __name__ == "__main__":
    sys.exit(main())
