"""Tags of the project, such as `EM-DN-3` or `P-000-7`: their form, where each is defined, who names it.

A tag is defined once, at a place with an anchor on the site:

- a rule (`EM-`, `FB-`, `LX-`, `LK-`, `RF-`, `SC-`) and its tests (`T-EM-`, ...) on a page of `docs/rules`, at
  the start of a paragraph (`EM-DN-3. `), an item of a list (`- **LK-IW-1** `) or a row of a table
  (`| T-SC-1 |`);
- a reading of a text (`A-`, `M-`) in the same ways;
- a published value (`P-000-`, `T-001-`) or statement (`S-000-`) in the column `id` of the study's
  `published.csv` or `statements.csv`; the site shows it on the page of the study.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

RULES = "docs/rules"
TABLES = ("published.csv", "statements.csv")
FOLDERS = [
    "docs",
    "studies",
    "profiles",
    "python",
    "crates",
    "tests",
    "examples",
    "benches",
    "fuzz",
    "scripts",
]
SUFFIXES = {".md", ".in", ".py", ".rs", ".toml", ".csv", ".json"}
BUILT = {"target", "build", ".venv", "node_modules", "__pycache__"}
# Tests of the checker make tags up.
INVENTED = {"scripts/tests"}

_SYSTEMS = "EM|FB|LX|LK|RF|SC"
TAG = re.compile(
    r"(?<![\w/.-])"
    rf"(?:(?:{_SYSTEMS})-[A-Z0-9]+-\d+[a-z]?|T-(?:{_SYSTEMS})-\d+|[PTAMS]-\d{{3}}-\w+(?:[.+-]\w+)*)"
    r"(?!\w)"
)
# `FB-WIN-7 or -8`, `P-000-5 to -8`: tags with only their last number written.
SHORT = re.compile(r"(?:,| and| or| to|, and| nor)\s+-(\d+[a-z]?)(?![\w%]|\.\d)")
_DEFINED = re.compile(rf"^(?:- \*\*|\| )?({TAG.pattern})(?:\. |\.$|\*\* | \|)")


@dataclass(frozen=True)
class Place:
    """A line of a file of the project."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


def definitions(root: Path) -> dict[str, list[Place]]:
    """Where each tag is defined: one place each, if all is well."""
    found: dict[str, list[Place]] = defaultdict(list)
    for page in sorted((root / RULES).glob("*.md")):
        where = page.relative_to(root).as_posix()
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if start := _DEFINED.match(line):
                found[start[1]].append(Place(where, number))
    for name in TABLES:
        for table in sorted((root / "studies").glob(f"*/{name}")):
            where = table.relative_to(root).as_posix()
            for number, tag in ids(table.read_text()):
                found[tag].append(Place(where, number))
    return dict(found)


def ids(text: str) -> Iterator[tuple[int, str]]:
    """The first line and the `id` of each row of a table in CSV that has such a column."""
    reader = csv.DictReader(io.StringIO(text))
    if "id" not in (reader.fieldnames or ()):
        return
    # Quoted cells may hold line breaks: a row begins after the last line of the one before.
    line = reader.line_num + 1
    for row in reader:
        if tag := row.get("id"):
            yield line, tag
        line = reader.line_num + 1


def resolve(tag: str, defined: Iterable[str]) -> str | None:
    """The tag that a mention leads to: itself, or the first of those that it stands for (`P-001-4`)."""
    if tag in defined:
        return tag
    behind = re.compile(re.escape(tag) + r"(?:[.-]|(?<=\d)[a-z])")
    return next((one for one in defined if behind.match(one)), None)


def uses(root: Path) -> Iterator[tuple[str, Place]]:
    """Every tag that a file of the project names, and where."""
    for path in sources(root):
        where = path.relative_to(root).as_posix()
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for tag in named(line):
                yield tag, Place(where, number)


def named(line: str) -> Iterator[str]:
    """The tags in a line, those written short in full."""
    for found in TAG.finditer(line):
        yield found[0]
        end = found.end()
        while short := SHORT.match(line, end):
            yield f"{found[0].rpartition('-')[0]}-{short[1]}"
            end = short.end()


def sources(root: Path) -> list[Path]:
    """The files in which a tag must be defined: what the project says about itself, none that was built."""
    found = [*root.glob("*.md")]
    for folder in FOLDERS:
        for above, folders, names in os.walk(root / folder):
            # The package links to the studies: each file is read once.
            folders[:] = [one for one in folders if one not in BUILT and not Path(above, one).is_symlink()]
            if Path(above).relative_to(root).as_posix() in INVENTED:
                folders[:], names = [], []
            found += [Path(above, name) for name in names if Path(name).suffix in SUFFIXES]
    return sorted(found)
