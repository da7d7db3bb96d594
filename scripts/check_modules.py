"""Hold that the modules of a crate form no cycle: none uses, even through others, a module that uses it.

A file is a module, and what it names by `use`, `super::`, `crate::` or the name of a child is what it uses;
tests are left out. A declaration `mod child;` does not count. Only the crates of `HELD` are looked at.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Set
from pathlib import Path

from check_imports import ROOT, expand, without_comments, without_tests

# Crates whose modules form no cycle, and folders in them that count as one module.
HELD: dict[str, set[str]] = {"analysis": {"tables"}}

Module = tuple[str, ...]


def main() -> int:
    """Check the project, or the one under `--root`; 1 if there is a cycle."""
    options = argparse.ArgumentParser(description="Hold that modules form no circle.")
    options.add_argument("--root", type=Path, default=ROOT, help="the project to check")
    root = options.parse_args().root
    found = [
        f"crates/{crate}: {' -> '.join('::'.join(module) for module in circle)}"
        for crate, whole in HELD.items()
        for circle in circles(uses(root / "crates" / crate / "src", whole))
    ]
    for line in found:
        print(f"error: {line}")
    print(f"circles of modules: {len(found)}")
    return 1 if found else 0


def uses(source: Path, whole: set[str]) -> dict[Module, set[Module]]:
    """The modules of a crate, and those that each uses."""
    files = {module_of(path.relative_to(source)): path for path in source.rglob("*.rs")}
    files = {module: path for module, path in files.items() if "tests" not in module}
    found: dict[Module, set[Module]] = {}
    for module, path in files.items():
        code = without_tests(without_comments(path.read_text()))
        # A path in `pub(in ...)` says who may see, not who is used.
        code = re.sub(r"pub\s*\(\s*in\s[^)]*\)", "pub", code)
        own = joined(module, whole)
        named = {joined(other, whole) for other in named_by(code, module, files.keys())}
        found.setdefault(own, set()).update(named - {own})
    return found


def module_of(path: Path) -> Module:
    """The module of a file below `src`; the empty one is the crate."""
    parts = path.with_suffix("").parts
    return parts[:-1] if parts[-1] in ("mod", "lib") else parts


def joined(module: Module, whole: set[str]) -> Module:
    """The module as it counts."""
    return next((module[:end] for end in range(1, len(module)) if "::".join(module[:end]) in whole), module)


def named_by(code: str, module: Module, known: Set[Module]) -> Iterator[Module]:
    """The modules that the code of `module` names."""
    children = {other[-1] for other in known if other[:-1] == module and other}
    starts = "|".join(["super", "crate", "self", *map(re.escape, sorted(children))])
    for found in re.finditer(rf"(?<![\w:])(?:{starts})\s*::", code):
        for path in expand(code, found.start())[0]:
            other = resolved(path.split("::"), module, known)
            if other is not None and other != module:
                yield other


def resolved(path: list[str], module: Module, known: Set[Module]) -> Module | None:
    """The module that a path leads to or into."""
    base = list(module)
    while path and path[0] in ("super", "crate", "self"):
        base = [] if path[0] == "crate" else base[:-1] if path[0] == "super" else base
        path = path[1:]
    whole = (*base, *path)
    return next((whole[:end] for end in range(len(whole), 0, -1) if whole[:end] in known), None)


def circles(graph: dict[Module, set[Module]]) -> Iterator[list[Module]]:
    """One cycle for each module at which a walk through the graph comes back to where it is."""
    done: set[Module] = set()

    def walk(module: Module, way: list[Module]) -> Iterator[list[Module]]:
        if module in way:
            yield [*way[way.index(module) :], module]
        elif module not in done:
            for other in sorted(graph.get(module, set())):
                yield from walk(other, [*way, module])
            done.add(module)

    for module in sorted(graph):
        yield from walk(module, [])


if __name__ == "__main__":
    sys.exit(main())
