"""Forbid arithmetic on hosts, ends and links: who is whose peer is known in the crate `network` alone.

A host that is 0 or 1 and a peer that is 1 minus it cannot be three. So in the `src` of `CRATES`:

- no number is made from another one's oddness: `PATTERNS` lists the ways that there once were;
- no table is read at place 0 or 1 where `HostId`, `LinkId` or `EndIndex` say which place it is;
- no host is made from a number or named by a literal: `rexmit_network::two_hosts` has numbers and names.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from check_imports import line_of, without_comments, without_tests

ROOT = Path(__file__).resolve().parent.parent

CRATES = ["traffic", "scenario", "sim", "live", "python"]

_ONE = r"(?:host|side|peer|end|from|to|port|direction|link|opener|sender|which|index|connection|n)"
_ALL = r"(?:hosts|ends|ports|links|directions|captures|sockets|apps|addresses|taps|programs|phases|mtus?)"

# What is looked for in code without comments and literals, and what to write instead.
PATTERNS: dict[str, str] = {
    rf"\b1 - \*?(?:\w+\.)*{_ONE}\b": "ask for the peer: two_hosts::peer, ConnectionPlan::peer",
    r"\^ 1\b": "ask for the peer: EndIndex::peer",
    rf"\b(?:\w+\.)*{_ONE} [/%] 2\b": "ask EndIndex::connection, Ends::host or Network::link",
    rf"\b2 \* \(?\*?{_ONE}\b": "look in Ends, by EndId",
    rf"\b{_ALL}(?:\(\))?\[[01]\]": "index by HostId, LinkId or EndIndex",
    r"\b(?:HostId|LinkId)::(?:new|from_index)\b": "take the constants of two_hosts, or what Network gives",
}
# A literal that names a host; it is marked before literals are blanked.
NAME = re.compile(r'(?<!\\)"(server|client)"')
MARK = re.compile(r"@(server|client)@")


def main() -> int:
    """Check the project, or the one under `--root`; 1 if a host is a number somewhere."""
    options = argparse.ArgumentParser(description="Forbid arithmetic on hosts, ends and links.")
    options.add_argument("--root", type=Path, default=ROOT, help="the project to check")
    root = options.parse_args().root
    wrong = [fault for crate in CRATES for fault in faults(root, root / "crates" / crate / "src")]
    for line in wrong:
        print(f"error: {line}")
    print(f"hosts: {len(wrong)} places that count them")
    return 1 if wrong else 0


def faults(root: Path, folder: Path) -> Iterator[str]:
    """Every place in the sources of a crate where a host, an end or a link is a number."""
    for path in sorted(folder.rglob("*.rs")):
        if "tests" in path.relative_to(folder).parts or path.name == "tests.rs":
            continue
        where = path.relative_to(root).as_posix()
        code = without_tests(without_comments(NAME.sub(r"@\1@", path.read_text())))
        for pattern, instead in PATTERNS.items():
            for found in re.finditer(pattern, code):
                yield f"{where}:{line_of(code, found.start())}: {found[0]}; {instead}"
        for found in MARK.finditer(code):
            yield f'{where}:{line_of(code, found.start())}: "{found[1]}"; two_hosts has the names'


if __name__ == "__main__":
    sys.exit(main())
