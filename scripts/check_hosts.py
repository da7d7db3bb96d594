"""Forbid arithmetic on hosts, ends and links: who is whose peer is known in the crate `network` alone.

A host that is 0 or 1 and a peer that is 1 minus it cannot be three. So in every Rust file but those of
`HOME`, tests and examples too:

- no number is made from another one's parity: `PATTERNS` lists the ways that there once were;
- no table is read at place 0 or 1 where `HostId`, `LinkId` or `EndIndex` say which place it is.

And in the library code of `CRATES`, those that know hosts, no host is made from a number or named by a
literal: `rexmit_network::two_hosts` has numbers and names. (Elsewhere "client" and "server" are the sides
of a connection in a capture, and a test writes scenario files, which name hosts.)

A pair `[T; 2]` that says which two things it is of, such as two captures in the order in which they were
given, is taken apart (`let [a, b] = pair`) and not indexed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from check_imports import line_of, without_comments, without_tests

ROOT = Path(__file__).resolve().parent.parent

# Where Rust is, and the crate that may count.
FOLDERS = ["crates", "foreign", "benches", "examples", "fuzz"]
HOME = Path("crates/network")
# The crates that know hosts.
CRATES = ["traffic", "scenario", "sim", "live", "python"]

_ONE = r"(?:host|side|peer|end|direction|link|opener|sender|which|index|connection)"
_FEW = rf"(?:{_ONE}|from|to|i|n|port)"
_ALL = r"(?:hosts|ends|ports|links|directions|captures|sockets|apps|addresses|taps|programs|phases|mtus?)"

# What is looked for in code without comments and literals, and what to write instead.
PATTERNS: dict[str, str] = {
    rf"(?<![\w.])(?<!- )1 - \*?(?:\w+\.)*{_FEW}\b(?!\.\d)": "ask for the peer: two_hosts::peer",
    rf"\b{_FEW} \^ 1\b": "ask for the peer: EndIndex::peer",
    rf"\b(?:\w+\.)*{_ONE} [/%] 2\b": "ask EndIndex::connection, Ends::host or Network::link",
    rf"\b2 \* \(?\*?{_ONE}\b": "look in Ends, by EndId",
    rf"\b{_ALL}(?:\(\))?\[[01]\]": "index by HostId, LinkId or EndIndex, or take the pair apart",
}
MAKERS: dict[str, str] = {
    r"\b(?:HostId|LinkId)::(?:new|from_index)\b": "take the constants of two_hosts, or what Network gives",
    r"@(?:server|client)@": "two_hosts has the names",
}
# A literal that names a host; it is marked before literals are blanked.
NAME = re.compile(r'(?<!\\)"(server|client)"')


def main() -> int:
    """Check the project, or the one under `--root`; 1 if a host is a number somewhere."""
    options = argparse.ArgumentParser(description="Forbid arithmetic on hosts, ends and links.")
    options.add_argument("--root", type=Path, default=ROOT, help="the project to check")
    root = options.parse_args().root
    wrong = list(faults(root))
    for line in wrong:
        print(f"error: {line}")
    print(f"hosts: {len(wrong)} places that count them")
    return 1 if wrong else 0


def faults(root: Path) -> Iterator[str]:
    """Every place where a host, an end or a link is a number."""
    files = (path.relative_to(root) for folder in FOLDERS for path in (root / folder).rglob("*.rs"))
    for path in sorted(files):
        if path.is_relative_to(HOME) or "target" in path.parts:
            continue
        code = without_comments(NAME.sub(r"@\1@", (root / path).read_text()))
        yield from found(path, code, PATTERNS)
        if is_library(path):
            yield from found(path, without_tests(code), MAKERS)


def found(path: Path, code: str, patterns: Mapping[str, str]) -> Iterator[str]:
    """Every place where a pattern is."""
    for pattern, instead in patterns.items():
        for at in re.finditer(pattern, code):
            text = at[0].replace("@", '"')
            yield f"{path.as_posix()}:{line_of(code, at.start())}: {text}; {instead}"


def is_library(path: Path) -> bool:
    """Whether a file is of a crate that knows hosts, and no test."""
    inside = path.parts[:1] == ("crates",) and path.parts[1] in CRATES and path.parts[2] == "src"
    return inside and "tests" not in path.parts and path.name != "tests.rs"


if __name__ == "__main__":
    sys.exit(main())
