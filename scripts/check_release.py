"""Hold together what a release is made of: every place that says the version says the same one.

The version stands in `Cargo.toml` (`workspace.package.version`), from which the Python package takes it.
Held to it:

- the dependencies of the workspace on its own crates, and each crate, which inherits it;
- `CHANGELOG.md`, whose newest release it is, and `CITATION.cff`, with the date of that release;
- the manual pages, `SECURITY.md`, the Rust page of the documentation, and the golden digests of the
  release.

So are the oldest Rust and the Pythons that README, `pyproject.toml`, `scripts/setup.py` and the hosted CI
name. Each crate is public, with all that a registry shows and no private crate below it, or says `publish =
false`.

`--tag vX.Y.Z` asks for that version too, and for a changelog with nothing unreleased. `--notes` prints what
the changelog says of the release. Uses the standard library only: a release's workflow runs it on a bare
machine.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crate_readmes import readmes

ROOT = Path(__file__).resolve().parent.parent
# Kinds of changes, in the order in which keepachangelog.com has them.
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
# What a registry shows of a crate.
SHOWN = ["description", "license", "repository", "readme", "keywords", "categories", "rust-version"]
SECTION = re.compile(r"^## (?:Unreleased|(\d+\.\d+\.\d+), (\d{4}-\d{2}-\d{2}))$", re.MULTILINE)


def main() -> int:
    """Check the project, or the one under `--root`; 1 if something does not agree."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--root", type=Path, default=ROOT, help="the project to check")
    options.add_argument("--tag", help="the tag of the release, vX.Y.Z")
    options.add_argument("--notes", action="store_true", help="print the release's part of the changelog")
    chosen = options.parse_args()
    version = workspace(chosen.root)["package"]["version"]
    if chosen.notes:
        print(notes((chosen.root / "CHANGELOG.md").read_text(), version))
        return 0
    wrong = list(faults(chosen.root, version))
    if chosen.tag is not None:
        wrong += of_tag(chosen.root, version, chosen.tag)
    print("\n".join([*wrong, f"versions: {version}, {len(wrong)} places disagree"]))
    return 1 if wrong else 0


def workspace(root: Path) -> dict[str, Any]:
    """The table `workspace` of the project's `Cargo.toml`."""
    table: dict[str, Any] = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]
    return table


def faults(root: Path, version: str) -> Iterator[str]:
    """Everything that does not agree, a line each."""
    yield from of_crates(root, version)
    yield from of_changelog((root / "CHANGELOG.md").read_text(), version)
    yield from of_texts(root, version)
    yield from of_toolchains(root)
    for path, text in readmes(root):
        if not path.is_file() or path.read_text() != text:
            yield f"{path.relative_to(root)} is out of date: run scripts/crate_readmes.py"


def of_crates(root: Path, version: str) -> Iterator[str]:
    """What is wrong with the crates: their versions, what a registry shows, what they depend on."""
    shared = workspace(root)
    ours = {name: entry for name, entry in shared["dependencies"].items() if name.startswith("rexmit-")}
    for name, entry in ours.items():
        if entry.get("version") != version:
            yield f'Cargo.toml: {name} needs version = "{version}" beside its path'
    manifests = {m["package"]["name"]: (path, m) for path, m in members(root, shared)}
    private = {name for name, (_, m) in manifests.items() if m["package"].get("publish") is False}
    for name, (path, manifest) in manifests.items():
        place, package = path.relative_to(root), manifest["package"]
        if package.get("version") != {"workspace": True}:
            yield f"{place}: write version.workspace = true"
        if name in private:
            continue
        missing = [key for key in SHOWN if key not in package]
        if missing:
            yield f"{place}: {', '.join(missing)} missing; or, if it is for nobody else, publish = false"
        tables = [manifest, *manifest.get("target", {}).values()]
        used = {d for t in tables for kind in ("dependencies", "build-dependencies") for d in t.get(kind, {})}
        for below in sorted(used & private):
            yield f"{place}: {name} is public and depends on {below}, which is not"


def members(root: Path, shared: dict[str, Any]) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each crate of the workspace: its manifest's path and content."""
    excluded = {root / folder for folder in shared.get("exclude", [])}
    for pattern in shared["members"]:
        for folder in sorted(root.glob(pattern)):
            path = folder / "Cargo.toml"
            if folder not in excluded and path.is_file():
                yield path, tomllib.loads(path.read_text())


def of_changelog(text: str, version: str) -> Iterator[str]:
    """What is wrong with the changelog's versions and the kinds of changes in each."""
    heads = re.findall(r"^## .*$", text, re.MULTILINE)
    for head in heads:
        if not SECTION.match(head):
            yield f"CHANGELOG.md: {head!r} is neither '## Unreleased' nor '## X.Y.Z, YYYY-MM-DD'"
    if heads[:1] != ["## Unreleased"]:
        yield "CHANGELOG.md: begins with '## Unreleased', even where nothing is"
    released = [found[1] for found in SECTION.finditer(text) if found[1]]
    if released[:1] != [version]:
        yield f"CHANGELOG.md: the newest release is {(released or ['none'])[0]}, and not {version}"
    for head, part in zip(heads, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:], strict=True):
        kinds = re.findall(r"^### (.*)$", part, re.MULTILINE)
        for kind in kinds:
            if kind not in KINDS:
                yield f"CHANGELOG.md: {head[3:]}: '{kind}' is not one of {', '.join(KINDS)}"
        if kinds != [kind for kind in KINDS if kind in kinds]:
            yield f"CHANGELOG.md: {head[3:]}: each kind once, in the order {', '.join(KINDS)}"


def notes(text: str, version: str) -> str:
    """What the changelog says of one release."""
    found = re.search(rf"^## {re.escape(version)}, .*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def of_texts(root: Path, version: str) -> Iterator[str]:
    """Files that name the version, and do not name this one."""
    minor = version.rpartition(".")[0]
    dates = [
        found[2] for found in SECTION.finditer((root / "CHANGELOG.md").read_text()) if found[1] == version
    ]
    wanted = {
        "CITATION.cff": [f"version: {version}", *(f'date-released: "{date}"' for date in dates)],
        "SECURITY.md": [f"| {minor}.x |"],
        "docs/reference/rust.md": [f'rexmit-sim = "{minor}"'],
        "docs/explanation/promises.md": [f"tests/golden/digests-{version}.json"],
    }
    yield from lacking(root, wanted)
    for page in sorted((root / "man").rglob("*.1")):
        if f'"rexmit {version}"' not in page.read_text():
            yield f"{page.relative_to(root)} is of another version: run make schema"
    if not (root / "tests" / "golden" / f"digests-{version}.json").is_file():
        yield f"tests/golden/digests-{version}.json is missing: run scripts/digests.py record"


def of_toolchains(root: Path) -> Iterator[str]:
    """Files that name compilers and interpreters other than the manifests do."""
    rust = workspace(root)["package"]["rust-version"]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    oldest = project["requires-python"].removeprefix(">=")
    prefix = "Programming Language :: Python :: 3."
    pythons = [c.rpartition(" ")[2] for c in project["classifiers"] if c.startswith(prefix)]
    if pythons[:1] != [oldest]:
        first = (pythons or ["none"])[0]
        yield f"pyproject.toml: the classifiers begin with Python {first}, requires-python with {oldest}"
    listed = ", ".join(f'"{python}"' for python in pythons)
    wanted = {
        "README.md": [f"Rust {rust}", f"Python {oldest}"],
        "scripts/setup.py": [f"a Rust toolchain ({rust} or newer)", f"Python {oldest} or newer"],
        ".github/workflows/ci.yml": [f'RUSTUP_TOOLCHAIN: "{rust}.0"', f"python: [{listed}]"],
    }
    yield from lacking(root, wanted)


def lacking(root: Path, wanted: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Files that do not hold each of their texts."""
    for name, texts in wanted.items():
        content = (root / name).read_text() if (root / name).is_file() else ""
        yield from (f"{name}: does not say {text!r}" for text in texts if text not in content)


def of_tag(root: Path, version: str, tag: str) -> list[str]:
    """What keeps this tag from being released."""
    wrong = [] if tag == f"v{version}" else [f"the tag is {tag}, and the version {version}"]
    text = (root / "CHANGELOG.md").read_text()
    unreleased = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if unreleased and unreleased[1].strip():
        wrong.append("CHANGELOG.md: something is unreleased: move it to the release, or release what it says")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
