"""Hold every tag to one definition: a rule, a reading or a published value that is named must be found.

What a tag is and where it is defined stands in `tags.py`. A tag with more behind it may be named alone:
`P-001-4` stands for `P-001-4a` and `P-001-4b`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tags import definitions, resolve, uses

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Check the project, or the one under `--root`; 1 if a tag is defined nowhere or twice."""
    options = argparse.ArgumentParser(description="Fail on tags that are defined nowhere or twice.")
    options.add_argument("--root", type=Path, default=ROOT, help="the project to check")
    root = options.parse_args().root
    wrong = list(faults(root))
    for line in wrong:
        print(f"error: {line}")
    print(f"tags: {len(definitions(root))} defined, {len(wrong)} wrong")
    return 1 if wrong else 0


def faults(root: Path) -> Iterator[str]:
    """Every tag that is defined twice, every mention of one that is defined nowhere; with file and line."""
    defined = definitions(root)
    for tag, places in defined.items():
        for again in places[1:]:
            yield f"{again}: {tag} is defined already, in {places[0]}"
    missing: dict[str, bool] = {}
    for tag, place in uses(root):
        if tag not in missing:
            missing[tag] = resolve(tag, defined) is None
        if missing[tag]:
            yield f"{place}: {tag} is defined nowhere (docs/rules, ids of studies/*/published.csv)"


if __name__ == "__main__":
    sys.exit(main())
