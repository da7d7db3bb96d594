"""Try everything of a release but publishing it: `make release-check`.

In this order, each step with its outcome at the end:

- versions: `scripts/check_release.py`
- digests: `scripts/digests.py check`
- citation: `CITATION.cff` against its schema, by cffconvert
- crates: `cargo publish --dry-run` of every public crate; with `--build`, each is compiled as it was packed
- semver: cargo-semver-checks against the last release, where it is installed and there is one
- package: a wheel and a source distribution, read by twine as the registry would

What the last and the third need is installed into `.cache/release`, from `scripts/release-tools.txt`.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pinned

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
TOOLS = ROOT / ".cache" / "release"
LIST = ROOT / "scripts" / "release-tools.txt"
DIST = ROOT / "build" / "release"
SKIPPED = "skipped: "


def main() -> int:
    """Run every step, or those that were named; 1 if one failed."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("steps", nargs="*", metavar="STEP", help=f"of {', '.join(STEPS)}; default: all")
    options.add_argument(
        "--build", action="store_true", help="compile each crate as it was packed: ten minutes"
    )
    chosen = options.parse_args()
    unknown = [name for name in chosen.steps if name not in STEPS]
    if unknown:
        options.error(f"{unknown[0]} is not a step; known: {', '.join(STEPS)}")
    outcomes = {name: STEPS[name](chosen.build) for name in chosen.steps or STEPS}
    for name, outcome in outcomes.items():
        print(f"{name:9} {outcome}")
    failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    print(f"release: {len(outcomes) - len(failed)} of {len(outcomes)} steps hold")
    return 1 if failed else 0


def versions(_: bool) -> str:
    """Every place says the same version."""
    return run([sys.executable, "scripts/check_release.py"])


def digests(_: bool) -> str:
    """Runs are what they were in the release, or differ for a stated reason."""
    return run([sys.executable, "scripts/digests.py", "check"])


def citation(_: bool) -> str:
    """The citation file keeps to its schema."""
    return run([tool("cffconvert"), "--validate", "-i", "CITATION.cff"])


def crates(build: bool) -> str:
    """Every public crate can be packed, and with `build` compiled from what was packed."""
    verify = [] if build else ["--no-verify"]
    command = ["cargo", "publish", "--workspace", "--dry-run", "--locked", "--allow-dirty", "--quiet"]
    outcome = run([*command, *verify])
    # A crate of its own, which no workspace holds.
    far = ["cargo", "publish", "--manifest-path", "rust/rexmitstack/Cargo.toml", "--target-dir", "target"]
    far += ["--dry-run", "--allow-dirty", "--quiet"]
    if outcome == "passed":
        outcome = run([*far, *verify])
    return f"passed: {len(list(public()))} crates" if outcome == "passed" else outcome


def semver(_: bool) -> str:
    """No public crate broke its interface without a version that says so."""
    if shutil.which("cargo-semver-checks") is None:
        return f"{SKIPPED}cargo-semver-checks is not installed: cargo install cargo-semver-checks --locked"
    tags = subprocess.run(
        ["git", "tag", "--list", "v*"], cwd=ROOT, capture_output=True, text=True
    ).stdout.split()
    if not tags:
        return f"{SKIPPED}nothing was released yet to compare with"
    last = max(tags, key=lambda tag: [int(part) for part in tag.removeprefix("v").split(".")])
    return run(["cargo", "semver-checks", "--workspace", "--baseline-rev", last])


def package(_: bool) -> str:
    """A wheel and a source distribution, as the registry reads them."""
    shutil.rmtree(DIST, ignore_errors=True)
    maturin = str(BIN / "maturin")
    for what in (["build", "--release", "--locked", "--quiet"], ["sdist", "--quiet"]):
        outcome = run([maturin, *what, "--out", str(DIST)])
        if outcome != "passed":
            return outcome
    return run([tool("twine"), "check", "--strict", *map(str, sorted(DIST.iterdir()))])


STEPS: dict[str, Callable[[bool], str]] = {
    "versions": versions,
    "digests": digests,
    "citation": citation,
    "crates": crates,
    "semver": semver,
    "package": package,
}
"""Each step of a release; its argument says whether crates are compiled."""


def public() -> Iterator[str]:
    """The names of the crates that are published, `rexmitstack` among them."""
    manifests = [
        path for pattern in ("crates/*", "crates/adapters/*") for path in ROOT.glob(f"{pattern}/Cargo.toml")
    ]
    for path in [*manifests, ROOT / "rust" / "rexmitstack" / "Cargo.toml"]:
        entry = tomllib.loads(path.read_text())["package"]
        if entry.get("publish") is not False:
            yield entry["name"]


def tool(name: str) -> str:
    """A program of `scripts/release-tools.txt`."""
    return str(pinned.programs(LIST, TOOLS) / name)


def run(command: Sequence[str]) -> str:
    """Run one step's command in the project's folder."""
    print(f"=== {' '.join(command)}", flush=True)
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL)
    return "passed" if done.returncode == 0 else "failed"


if __name__ == "__main__":
    sys.exit(main())
