"""Hold every Rust dependency, and those of the pages' script, to the licences and bans of `deny.toml`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Judge each package that the workspace is built from."""
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    allowed = set(rules["licenses"]["allow"])
    banned = {entry["crate"] for entry in rules["bans"]["deny"]}
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
        return 1
    packages: list[dict[str, Any]] = [*json.loads(done.stdout)["packages"], *of_pages(ROOT / "web")]
    wrong = [line for package in packages for line in faults(package, allowed, banned)]
    print("\n".join([*wrong, f"licences: {len(packages)} packages judged, {len(wrong)} refused"]))
    return 1 if wrong else 0


def of_pages(web: Path) -> list[dict[str, Any]]:
    """What the script of the pages is made of; the tools that make it are shipped to nobody."""
    locked: dict[str, dict[str, Any]] = json.loads((web / "package-lock.json").read_text())["packages"]
    return [
        {**entry, "name": name.removeprefix("node_modules/")}
        for name, entry in locked.items()
        if name and not entry.get("dev")
    ]


def faults(package: dict[str, Any], allowed: set[str], banned: set[str]) -> list[str]:
    """Why this package may not be used; empty if it may."""
    found = []
    if not satisfied(package.get("license") or "", allowed):
        found.append(f"error: {package['name']} {package['version']}: licence {package.get('license')}")
    if package["name"] in banned:
        found.append(f"error: {package['name']} {package['version']} is banned by deny.toml")
    return found


def satisfied(expression: str, allowed: set[str]) -> bool:
    """True if an SPDX expression of AND, OR, WITH and brackets can be met by `allowed`."""
    # The old form `MIT/Apache-2.0` means OR.
    words = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))
    return bool(words) and any_of(words, allowed) and not words


def any_of(words: list[str], allowed: set[str]) -> bool:
    """Parse `a OR b`, taking what it reads from the front of `words`."""
    result = all_of(words, allowed)
    while words and words[0] == "OR":
        words.pop(0)
        result = all_of(words, allowed) or result
    return result


def all_of(words: list[str], allowed: set[str]) -> bool:
    """Parse `a AND b`."""
    result = one(words, allowed)
    while words and words[0] == "AND":
        words.pop(0)
        result = one(words, allowed) and result
    return result


def one(words: list[str], allowed: set[str]) -> bool:
    """Parse a bracket, or one licence with its exception."""
    if not words:
        return False
    word = words.pop(0)
    if word == "(":
        inner = any_of(words, allowed)
        return bool(words) and words.pop(0) == ")" and inner
    if len(words) > 1 and words[0] == "WITH":
        word = " ".join([word, words.pop(0), words.pop(0)])
    return word in allowed


if __name__ == "__main__":
    sys.exit(main())
