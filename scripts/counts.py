"""Count what holds rexmit, and write it into "What rexmit promises": `counts.py`, or `--check`.

Everything is counted in the repository and nothing is run, so that a reader can count it again. Numbers above
a hundred are rounded down to two digits: `--check` fails where the page says more than there is, or less than
three quarters of it.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rexmit.analyse.power import STUDIES, read_power
from study_page import between_marks
from tags import definitions

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "promises.md"
MARK = "counts"
FALLEN_BEHIND = 0.75


@dataclass(frozen=True)
class Count:
    """One line of the table: how many of what, and where they are."""

    what: str
    number: int
    where: str

    @property
    def rounded(self) -> int:
        """The number as the page says it."""
        digits = max(0, len(str(self.number)) - 2)
        return self.number if self.number <= 100 else self.number // 10**digits * 10**digits


def main() -> int:
    """Write the table, or with `--check` say whether the page still tells the truth."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--check", action="store_true", help="write nothing; 1 if the page is out of date")
    counts = list(counted(ROOT))
    if options.parse_args().check:
        wrong = faults(PAGE.read_text(), counts)
        print("\n".join([*wrong, f"counts: {len(counts)} numbers, {len(wrong)} out of date"]))
        return 1 if wrong else 0
    PAGE.write_text(between_marks(PAGE.read_text(), MARK, table(counts), PAGE))
    return 0


def table(counts: list[Count]) -> str:
    """The counts as a table of Markdown."""
    rows = ["| what | at least | where |", "|---|---:|---|"]
    return "\n".join([*rows, *(f"| {c.what} | {c.rounded:,} | {c.where} |" for c in counts), ""])


def faults(page: str, counts: list[Count]) -> list[str]:
    """Numbers of the page that are no longer so."""
    said = {
        found[1]: int(found[2].replace(",", ""))
        for found in re.finditer(r"^\| (.+?) \| ([\d,]+) \| ", page, re.MULTILINE)
    }
    wrong = []
    for count in counts:
        number = said.get(count.what)
        if number is None:
            wrong.append(f"{count.what}: not on the page: run scripts/counts.py")
        elif not FALLEN_BEHIND * count.number <= number <= count.number:
            wrong.append(
                f"{count.what}: {count.number:,}, and the page says {number:,}: run scripts/counts.py"
            )
    return wrong


# What is counted


def counted(root: Path) -> Iterator[Count]:
    """Every count, in the order of the table."""
    folders = ["crates", "foreign", "fuzz", "rust"]
    rust = [text for folder in folders for text in texts(root / folder, "rs")]
    yield Count(
        "tests in Rust",
        sum(len(re.findall(r"^\s*#\[test\]", text, re.MULTILINE)) for text in rust),
        "beside the code and in `crates/*/tests`, some of them over hundreds of random cases",
    )
    python = [*texts(root / "tests", "py"), *texts(root / "scripts" / "tests", "py")]
    yield Count(
        "test functions in Python", sum(map(test_functions, python)), "`tests/python`, `scripts/tests`"
    )
    pages = [*texts(root / "web" / "tests", "ts"), *texts(root / "web" / "e2e", "ts")]
    yield Count(
        "tests of pages, in Node and in Chromium",
        sum(len(re.findall(r"^\s*(?:test|it)\(", text, re.MULTILINE)) for text in pages),
        "`web/tests`, `web/e2e`",
    )
    archives = sorted((root / "fuzz" / "corpus").glob("*.tar.gz"))
    yield Count("fuzz targets", len(archives), "`fuzz/bodies`: every parser of foreign bytes")
    yield Count("inputs in their stored corpora", sum(map(members, archives)), "`fuzz/corpus`")
    failed = [path for path in (root / "fuzz" / "regressions").rglob("*") if path.is_file()]
    yield Count("inputs that failed once, run in each test", len(failed), "`fuzz/regressions`")
    yield Count("inputs tried at length", tried(root), "`fuzz/README.md`, where the run is described")
    captures = [
        p for p in (root / "tests" / "captures").rglob("*") if re.search(r"\.pcap(ng)?(\.gz)?$", p.name)
    ]
    yield Count(
        "captures that are judged in tests",
        len(captures),
        "`tests/captures`: Linux with its own account of why it sent, an SCTP, other projects, hard cases",
    )
    kept = [json.loads(path.read_text()) for path in (root / "tests" / "golden").glob("digests-*.json")]
    yield Count("golden digests of a release", max(map(digests, kept), default=0), "`tests/golden`")
    rules = [tag for tag, places in definitions(root).items() if places[0].file.startswith("docs/rules")]
    yield Count("rules and readings that tests and code name", len(rules), "[Rules](../rules/index.md)")
    published = list((root / "studies").glob("*/published.csv"))
    yield Count(
        "published values with ours beside them",
        sum(len(path.read_text().splitlines()) - 1 for path in published),
        "`studies/*/published.csv`",
    )
    judged = [read_power(name, root / "studies" / name) for name in STUDIES]
    yield Count(
        "wrong systems run through the comparisons",
        sum(len(power.systems) for power in judged),
        "`studies/*/power.csv`; how many are caught is on [the page of the studies](../studies/index.md)",
    )


def texts(folder: Path, ending: str) -> Iterator[str]:
    """The text of every file of a kind below a folder."""
    for path in sorted(folder.rglob(f"*.{ending}")):
        if not {"target", "node_modules"} & {*path.parts}:
            yield path.read_text()


def test_functions(text: str) -> int:
    """How many functions of a file pytest would run; one with parameters counts once."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return sum(
        isinstance(node, kinds) and node.name.startswith("test_") for node in ast.walk(ast.parse(text))
    )


def members(archive: Path) -> int:
    """How many inputs a corpus holds."""
    with tarfile.open(archive) as packed:
        return len(packed.getnames())


def digests(release: dict[str, Any]) -> int:
    """How many digests the file of a release holds."""
    parts = (held for held in release.values() if isinstance(held, dict))
    return sum(len(named) for part in parts for named in part.values())


def tried(root: Path) -> int:
    """The inputs of the long run that the fuzz page describes."""
    found = re.search(r"([\d,]+) inputs in all", (root / "fuzz" / "README.md").read_text())
    return int(found[1].replace(",", "")) if found else 0


if __name__ == "__main__":
    sys.exit(main())
