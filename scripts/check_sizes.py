"""Hold files to the house's sizes: warn above 500 lines of code, fail above 800.

A file that must be longer says why in its first 30 lines, in a comment that starts with `size:`.
Blank lines and lines that are only a comment do not count.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["crates", "python", "scripts", "benches", "studies", "tests", "foreign", "fuzz", "web"]
COMMENTS = {".rs": ("//",), ".py": ("#",), ".cc": ("//",), ".go": ("//",), ".ts": ("//", "/*", "*")}
BUILT = {"target", "build", ".venv", "node_modules"}
WARN = 500
FAIL = 800
REASON = re.compile(r"^[ \t]*(//|#)[ \t]*size:[ \t]*\S", re.MULTILINE)


def main() -> int:
    """Measure every source file; 1 if one is too long without a reason."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--root", type=Path, default=ROOT, help="the project to measure")
    root = options.parse_args().root
    failed = False
    count = 0
    for path in sources(root):
        count += 1
        lines = lines_of_code(path)
        if lines <= WARN:
            continue
        excused = REASON.search("\n".join(path.read_text().splitlines()[:30])) is not None
        wrong = lines > FAIL and not excused
        failed |= wrong
        word = "error" if wrong else "note" if excused else "warning"
        print(f"{word}: {path.relative_to(root)} has {lines} lines of code (aim: {WARN}, limit: {FAIL})")
    print(f"file sizes: {count} files measured")
    return 1 if failed else 0


def sources(root: Path) -> list[Path]:
    """Every source file of the project, none that was built."""
    found = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.suffix in COMMENTS]
    return sorted(path for path in found if not BUILT & set(path.parts))


def lines_of_code(path: Path) -> int:
    """Lines that hold more than a comment or nothing."""
    marks = COMMENTS[path.suffix]
    stripped = (line.strip() for line in path.read_text().splitlines())
    return sum(bool(line) and not line.startswith(marks) for line in stripped)


if __name__ == "__main__":
    sys.exit(main())
