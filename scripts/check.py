"""Run the project's checks and say what was skipped: `make test`.

Each check is a command with a reason to exist. One that keeps every core busy runs by itself and its output
is shown at once; those that keep one busy run side by side, and the output of each is shown when it ends.
The kernel compiles at the lowest priority from the start, in the time that the others leave.
At the end stands a table of what passed, failed and was skipped, with the reason of each skip, and for
each check how long it took and how long it kept processors busy; the first says little of one that ran
beside others. With `REXMIT_REQUIRE_ALL=1` (continuous integration) a skip counts as a failure.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PYTHON = sys.executable
NPM = ["npm", "run", "--silent", "--prefix", "web"]
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
# Targets of Rust's compiler.
WINDOWS = "x86_64-pc-windows-gnu"
MACOS = "aarch64-apple-darwin"
# In the time that others leave.
LAST = ["nice", "-n", "19"]
# Tests a file at a time, in one process more than there are cores: a tenth of the time is waiting.
SIDE_BY_SIDE = [f"--numprocesses={(os.cpu_count() or 1) + 1}", "--dist=loadfile"]
# One test, of one thread and most of a minute: it runs beside other checks.
MEMORY = "memory_stays_in_proportion_to_the_file"
# What `cargo test` leaves out: that, and a matrix that other tests run a sample of (`make long` has it all).
APART = [MEMORY, "all_captures_of_tcp_say_what_the_sender_did"]
# A test that cannot run here says so in one of these ways; each carries the reason.
PYTEST_SKIP = re.compile(r"^SKIPPED \[(\d+)\] (.*)$")
CARGO_SKIP = re.compile(r"^test (\S+) \.\.\. ignored(?:, (.*))?$")
SCRIPT_SKIP = re.compile(r"^SKIP (.*?): (.*)$")
NODE_SKIP = re.compile(r"^\s*ok \d+ - (.*?) # SKIP(?: (.*))?$")


@dataclass(frozen=True)
class Check:
    """One command that must succeed, the group it belongs to, and what some of its tests need.

    `uses` names programs without which a part of the check passes without having looked. `beside` is true for
    one that keeps about one core busy and may run beside others of its kind. `behind` is true for one that
    begins with the first check, takes what time the others leave, and has ended before the next begins.
    """

    name: str
    group: str
    command: Sequence[str]
    uses: Sequence[str] = ()
    environment: dict[str, str] = field(default_factory=dict)
    beside: bool = False
    behind: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one check."""

    check: Check
    state: str
    seconds: float
    processor: float  # CPU seconds: its own, and those of all that it started
    skips: list[str]


def cargo(command: str, *options: str) -> list[str]:
    """A command of cargo for the whole workspace."""
    return ["cargo", command, "--workspace", *options]


def pytest(folder: Path) -> list[str]:
    """A command of pytest that writes into `folder` and tells of skipped tests."""
    return [str(BIN / "pytest"), "-rs", f"--basetemp={folder}"]


def checks(scratch: Path) -> list[Check]:
    """Every check, the quickest first so that a slip is seen early."""
    return [*lints(), *documents(), *tests(scratch)]


def lints() -> list[Check]:
    """Formats, lints, types and rules of the house: nothing of rexmit is run."""
    sources = ["python", "scripts", "benches", "tests", "studies", "examples", "crates"]
    return [
        # The longest first: they run side by side.
        Check("mypy", LINT, [str(BIN / "mypy")], beside=True),
        Check("rustfmt", LINT, ["cargo", "fmt", "--all", "--check"], beside=True),
        Check("ruff format", LINT, [str(BIN / "ruff"), "format", "--check", *sources], beside=True),
        Check("ruff", LINT, [str(BIN / "ruff"), "check", *sources], beside=True),
        Check("import rules", LINT, [PYTHON, "scripts/check_imports.py"], beside=True),
        Check("circles of modules", LINT, [PYTHON, "scripts/check_modules.py"], beside=True),
        Check("writes", LINT, [PYTHON, "scripts/check_writes.py"], beside=True),
        Check("hosts", LINT, [PYTHON, "scripts/check_hosts.py"], beside=True),
        Check("tags", LINT, [PYTHON, "scripts/check_tags.py"], beside=True),
        Check("file sizes", LINT, [PYTHON, "scripts/check_sizes.py"], beside=True),
        Check("licences", LINT, [PYTHON, "scripts/check_licences.py"], beside=True),
        Check("counts are true", LINT, [PYTHON, "scripts/counts.py", "--check"], beside=True),
        Check("versions agree", LINT, [PYTHON, "scripts/check_release.py"], beside=True),
        Check(
            "workflows",
            LINT,
            [
                "go",
                "-C",
                "scripts/actionlint",
                "tool",
                "actionlint",
                "-shellcheck=",
                "-pyflakes=",
                *workflows(),
            ],
            uses=["go"],
            beside=True,
        ),
        Check("lock is current", LINT, [PYTHON, "scripts/lock.py", "--check"], beside=True),
        Check("pages: lint", LINT, [*NPM, "lint"], beside=True),
        Check("pages: types", LINT, [*NPM, "types"], beside=True),
        Check("clippy", LINT, cargo("clippy", "--all-targets", "--locked", "--", "-D", "warnings")),
    ]


def workflows() -> list[str]:
    """The files of the hosted CI."""
    return [str(path) for path in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]


def documents() -> list[Check]:
    """The documentation: a warning is an error, and what comes from the code is as the code has it."""
    return [
        Check(
            "rustdoc",
            DOCS,
            cargo("doc", "--no-deps", "--locked", "--document-private-items"),
            environment={"RUSTDOCFLAGS": "-D warnings"},
        ),
        Check("generated pages are current", DOCS, [PYTHON, "scripts/generate_docs.py", "--check"]),
    ]


def site() -> list[Check]:
    """The site, with the model as WebAssembly on its front page: a build of its own, which takes its time."""
    return [
        Check("live demo", DOCS, [*LAST, PYTHON, "scripts/live_demo.py"], behind=True),
        Check(
            "documentation",
            DOCS,
            [str(BIN / "mkdocs"), "build", "--strict"],
            # The theme would praise its successor at each build.
            environment={"NO_MKDOCS_2_WARNING": "1"},
            beside=True,
        ),
    ]


def tests(scratch: Path) -> list[Check]:
    """What runs rexmit. `scratch` is a folder for files of tests."""
    return [
        Check(
            "cargo test",
            TESTS,
            # The extension module links only inside an interpreter; pytest covers it.
            cargo(
                "test", "--exclude", "rexmit-python", "--locked", "--", *(f"--skip={name}" for name in APART)
            ),
            uses=["tshark", "go"],
        ),
        # Some two minutes with the build, on two cores; `cargo test` has run what failed in the past.
        Check("fuzz", TESTS, [PYTHON, "scripts/fuzz.py", "--seconds=30"]),
        # Where nothing may be skipped the kernel is built; elsewhere its absence is a skip.
        Check("kernel", TESTS, [*LAST, PYTHON, "scripts/kernel.py"], behind=True),
        # The programs around stacks of other languages, too.
        Check("stacks", TESTS, [*LAST, PYTHON, "scripts/programs.py"], uses=["go"], behind=True),
        # What wants a second kernel is in `make long`: few tests, a long build.
        Check(
            "pytest",
            TESTS,
            [
                *pytest(scratch / "pytest"),
                "-m",
                "not real_time and not long and not second_kernel",
                *SIDE_BY_SIDE,
            ],
        ),
        *site(),
        Check(
            "cargo test: memory",
            TESTS,
            cargo("test", "--exclude", "rexmit-python", "--locked", "--test=memory"),
            beside=True,
        ),
        Check("wheel alone", TESTS, [PYTHON, "scripts/wheel.py", "--quick"], beside=True),
        Check("pages: end to end", TESTS, [*NPM, "e2e"], uses=["chromium"], beside=True),
        Check("README examples", TESTS, [PYTHON, "scripts/readme_test.py", *EXECUTED], beside=True),
        Check("pages: unit tests", TESTS, [*NPM, "test"], beside=True),
        # What programs build on is in no workspace of ours.
        Check(
            "rexmitstack in Rust",
            TESTS,
            [
                *("cargo", "test", "--locked", "--manifest-path=rust/rexmitstack/Cargo.toml"),
                "--target-dir=target/rexmitstack",
            ],
            beside=True,
        ),
        Check(
            "rexmitstack in Go", TESTS, ["go", "-C", "go/rexmitstack", "test", "./..."], ["go"], beside=True
        ),
        # What needs no Linux, for systems that are not here: nothing of it is linked or run.
        Check("for Windows", TESTS, [*LAST, PYTHON, "scripts/check_targets.py", WINDOWS], behind=True),
        Check("for macOS", TESTS, [*LAST, PYTHON, "scripts/check_targets.py", MACOS], behind=True),
        # What runs in real time has the machine to itself.
        Check("pytest: real time", TESTS, [*pytest(scratch / "real-time"), "-m", "real_time"]),
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
        outcomes = list(perform_in_order(wanted))
    return report(outcomes, require_all=os.environ.get("REXMIT_REQUIRE_ALL") == "1")


def perform_in_order(wanted: Sequence[Check]) -> Iterator[Outcome]:
    """Run the checks; their outcomes in their order."""
    with ThreadPoolExecutor() as pool:
        waiting = {check.name: pool.submit(perform_quietly, check) for check in wanted if check.behind}
        for group in side_by_side(wanted):
            if group[0].behind:
                yield waiting[group[0].name].result()
            else:
                yield from perform_all(group)


def side_by_side(wanted: Sequence[Check]) -> list[list[Check]]:
    """The checks in their order; neighbours that may run beside each other are one group."""
    groups: list[list[Check]] = []
    for check in wanted:
        if check.beside and groups and groups[-1][0].beside:
            groups[-1].append(check)
        else:
            groups.append([check])
    return groups


def perform_all(group: Sequence[Check]) -> Iterator[Outcome]:
    """Run the checks of a group, as many at a time as there are cores; their outcomes in its order."""
    if len(group) == 1:
        yield perform(group[0])
        return
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(perform_quietly, group)


def perform_quietly(check: Check) -> Outcome:
    """Run one check and show its output when it has ended, in one piece."""
    lines: list[str] = []
    outcome = perform(check, lines.append)
    print("".join(lines), end="", flush=True)
    return outcome


def show(line: str) -> None:
    """Print what a check said, at once."""
    print(line, end="", flush=True)


def perform(check: Check, show: Callable[[str], None] = show) -> Outcome:
    """Run one check, giving what it prints to `show`, and note every test that it skipped."""
    show(f"\n=== {check.name}: {' '.join(check.command)}\n")
    missing = [program for program in check.uses if shutil.which(program) is None]
    skips = [
        f"what needs {program}, which is not on this machine (make setup says how)" for program in missing
    ]
    environment = {**os.environ, **check.environment}
    environment["PATH"] = f"{BIN}{os.pathsep}{environment['PATH']}"
    environment.setdefault("PYO3_PYTHON", str(BIN / "python"))
    # Tests start hundreds of commands, and each would compile the package again.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    # NumPy starts a thread for each core that nothing here uses, and each spins while a command starts.
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")
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
            show(line)
            reason = skipped_test(line.rstrip())
            if reason is not None:
                skips.append(reason)
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    state = "passed" if running.returncode == 0 else "failed"
    return Outcome(check, state, time.monotonic() - started, used.ru_utime + used.ru_stime, skips)


def skipped_test(line: str) -> str | None:
    """The reason, if this line of a test runner's output tells of a skipped test."""
    if found := PYTEST_SKIP.match(line):
        return f"{found[1]} x {found[2]}"
    if found := CARGO_SKIP.match(line) or NODE_SKIP.match(line) or SCRIPT_SKIP.match(line):
        return f"{found[1]}: {found[2] or 'no reason given'}"
    return None


def report(outcomes: list[Outcome], require_all: bool) -> int:
    """Print the closing table; 0 if nothing failed, and nothing was skipped where that counts."""
    print("\n=== summary: what became of each check, how long it took, how long it kept a processor busy")
    for outcome in outcomes:
        name = outcome.check.name
        print(f"{outcome.state:8} {outcome.seconds:6.1f} s  {outcome.processor:6.1f} s  {name}")
    print(f"processors were busy for {sum(outcome.processor for outcome in outcomes):.0f} s in all")
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
