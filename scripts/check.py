"""Run the project's checks one after another and say what was skipped: `make test`.

Each check is a command with a reason to exist; its output is shown as it comes. At the end stands a
table of what passed, failed and was skipped, with the reason of each skip. With
`REXMIT_REQUIRE_ALL=1` (continuous integration) a skip counts as a failure.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
LINT = "lint"
DOCS = "docs"
TESTS = "tests"
# Pages whose examples are run.
EXECUTED = [
    "README.md",
    "docs/tutorials/first-study.md",
    "docs/tutorials/lose-the-last-packet.md",
    "docs/tutorials/size-a-buffer.md",
    "docs/tutorials/ask-a-capture.md",
    "docs/howto/own-response.md",
    "docs/guide/python.md",
    "docs/guide/tcp-friendly.md",
    "docs/guide/models.md",
]
# A test that cannot run here says so in one of these ways; each carries the reason.
PYTEST_SKIP = re.compile(r"^SKIPPED \[(\d+)\] (.*)$")
CARGO_SKIP = re.compile(r"^test (\S+) \.\.\. ignored(?:, (.*))?$")
NODE_SKIP = re.compile(r"^\s*ok \d+ - (.*?) # SKIP(?: (.*))?$")


@dataclass(frozen=True)
class Check:
    """One command that must succeed, the group it belongs to, and what some of its tests need.

    `uses` names programs without which a part of the check passes without having looked.
    """

    name: str
    group: str
    command: Sequence[str]
    uses: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of one check."""

    check: Check
    state: str
    seconds: float
    skips: list[str]


def cargo(command: str, *options: str) -> list[str]:
    """A command of cargo for the whole workspace."""
    return ["cargo", command, "--workspace", *options]


def pytest(folder: Path) -> list[str]:
    """A command of pytest that writes into `folder` and tells of skipped tests."""
    return [str(BIN / "pytest"), "-rs", f"--basetemp={folder}"]


def checks(scratch: Path) -> list[Check]:
    """Every check, the quickest first so that a slip is seen early."""
    python = sys.executable
    npm = ["npm", "run", "--silent", "--prefix", "web"]
    sources = ["python", "scripts", "benches", "tests"]
    return [
        Check("rustfmt", LINT, ["cargo", "fmt", "--all", "--check"]),
        Check("ruff format", LINT, [str(BIN / "ruff"), "format", "--check", *sources]),
        Check("ruff", LINT, [str(BIN / "ruff"), "check", *sources]),
        Check("import rules", LINT, [python, "scripts/check_imports.py"]),
        Check("file sizes", LINT, [python, "scripts/check_sizes.py"]),
        Check("licences", LINT, [python, "scripts/check_licences.py"]),
        Check("lock is current", LINT, [python, "scripts/lock.py", "--check"]),
        Check("mypy", LINT, [str(BIN / "mypy")]),
        Check("pages: lint", LINT, [*npm, "lint"]),
        Check("pages: types", LINT, [*npm, "types"]),
        Check("clippy", LINT, cargo("clippy", "--all-targets", "--locked", "--", "-D", "warnings")),
        Check(
            "rustdoc",
            DOCS,
            cargo("doc", "--no-deps", "--locked", "--document-private-items"),
            environment={"RUSTDOCFLAGS": "-D warnings"},
        ),
        Check("generated pages are current", DOCS, [python, "scripts/generate_docs.py", "--check"]),
        Check(
            "documentation",
            DOCS,
            [str(BIN / "mkdocs"), "build", "--strict"],
            # The theme would praise its successor at each build.
            environment={"NO_MKDOCS_2_WARNING": "1"},
        ),
        Check(
            "cargo test",
            TESTS,
            # The extension module links only inside an interpreter; pytest covers it.
            cargo("test", "--exclude", "rexmit-python", "--locked"),
            uses=["tshark"],
        ),
        Check("pages: unit tests", TESTS, [*npm, "test"]),
        # Where nothing may be skipped the kernel is built; elsewhere its absence is a skip.
        Check("kernel", TESTS, [python, "scripts/kernel.py"]),
        # What runs in real time has the machine to itself; the rest has one process for each core.
        Check("pytest: real time", TESTS, [*pytest(scratch / "real-time"), "-m", "real_time"]),
        Check(
            "pytest",
            TESTS,
            [*pytest(scratch / "pytest"), "-m", "not real_time", "--numprocesses=auto", "--dist=loadfile"],
        ),
        Check("README examples", TESTS, [python, "scripts/readme_test.py", *EXECUTED]),
        Check("pages: end to end", TESTS, [*npm, "e2e"], uses=["chromium"]),
        Check("wheel alone", TESTS, [python, "scripts/wheel.py"]),
    ]


def main() -> int:
    """Run what was asked for; 0 if all of it passed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--only", choices=[LINT, DOCS, TESTS], help="one group of checks")
    options.add_argument("--name", help="one check")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="rexmit-check-") as scratch:
        wanted = [c for c in checks(Path(scratch)) if chosen.only in (None, c.group)]
        wanted = [c for c in wanted if chosen.name in (None, c.name)]
        outcomes = [perform(check) for check in wanted]
    return report(outcomes, require_all=os.environ.get("REXMIT_REQUIRE_ALL") == "1")


def perform(check: Check) -> Outcome:
    """Run one check, showing its output, and note every test that it skipped."""
    print(f"\n=== {check.name}: {' '.join(check.command)}", flush=True)
    missing = [program for program in check.uses if shutil.which(program) is None]
    skips = [
        f"what needs {program}, which is not on this machine (make setup says how)" for program in missing
    ]
    environment = {**os.environ, **check.environment}
    environment["PATH"] = f"{BIN}{os.pathsep}{environment['PATH']}"
    environment.setdefault("PYO3_PYTHON", str(BIN / "python"))
    started = time.monotonic()
    with subprocess.Popen(
        check.command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            reason = skipped_test(line.rstrip())
            if reason is not None:
                skips.append(reason)
    state = "passed" if running.returncode == 0 else "failed"
    return Outcome(check, state, time.monotonic() - started, skips)


def skipped_test(line: str) -> str | None:
    """The reason, if this line of a test runner's output tells of a skipped test."""
    if found := PYTEST_SKIP.match(line):
        return f"{found[1]} x {found[2]}"
    if found := CARGO_SKIP.match(line) or NODE_SKIP.match(line):
        return f"{found[1]}: {found[2] or 'no reason given'}"
    return None


def report(outcomes: list[Outcome], require_all: bool) -> int:
    """Print the closing table; 0 if nothing failed, and nothing was skipped where that counts."""
    print("\n=== summary")
    for outcome in outcomes:
        print(f"{outcome.state:8} {outcome.seconds:6.1f} s  {outcome.check.name}")
    skips = [f"{outcome.check.name}: {skip}" for outcome in outcomes for skip in outcome.skips]
    for skip in skips:
        print(f"skipped: {skip}")
    failed = sum(outcome.state == "failed" for outcome in outcomes)
    if require_all and skips:
        print("REXMIT_REQUIRE_ALL=1: a skip is a failure")
        failed += 1
    passed = sum(outcome.state == "passed" for outcome in outcomes)
    print(f"checks: {passed} passed, {failed} failed, {len(skips)} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
