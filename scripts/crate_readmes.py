"""Write the README of each public crate: `crate_readmes.py`, or `--check` to say which is out of date.

A registry shows a README and nothing else of a crate at first. It holds the description of `Cargo.toml`,
the example of `example.md` where the crate has one, and where the whole project is.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
REPOSITORY = "https://github.com/rexmit/rexmit"
FOLDERS = ["crates/*", "crates/adapters/*"]


def main() -> int:
    """Write the READMEs, or with `--check` only name those that differ; 1 if one does."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--check", action="store_true", help="write nothing; 1 if a README is out of date")
    check = options.parse_args().check
    old = [(path, text) for path, text in readmes(ROOT) if not path.is_file() or path.read_text() != text]
    for path, text in old:
        if check:
            print(f"{path.relative_to(ROOT)} is out of date: run scripts/crate_readmes.py")
        else:
            path.write_text(text)
    return 1 if check and old else 0


def readmes(root: Path) -> Iterator[tuple[Path, str]]:
    """The README of each public crate below `root`: its file and its text."""
    for manifest in sorted(path for folder in FOLDERS for path in root.glob(f"{folder}/Cargo.toml")):
        package = tomllib.loads(manifest.read_text())["package"]
        if package.get("publish", True) is not False:
            yield manifest.parent / "README.md", readme(package, manifest.parent / "example.md")


def readme(package: dict[str, Any], example: Path) -> str:
    """The text of one crate's README."""
    name = package["name"]
    parts = [f"# {name}", f"{package['description']}."]
    if example.is_file():
        parts.append(shown(example.read_text()))
    parts += [
        f"Part of [rexmit]({REPOSITORY}), a deterministic laboratory for transport protocols.\n"
        "Its crates carry one version and are released together. Before 1.0 a minor release may change\n"
        f"their interfaces; the [changelog]({REPOSITORY}/blob/main/CHANGELOG.md) says how.",
        "Licence: MIT.",
    ]
    return "\n\n".join(parts) + "\n"


def shown(example: str) -> str:
    """An example as rustdoc shows it: without the lines that it hides."""
    return re.sub(r"^#(?: .*)?\n", "", example, flags=re.MULTILINE).strip()


if __name__ == "__main__":
    sys.exit(main())
