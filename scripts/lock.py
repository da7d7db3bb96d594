"""Write `requirements.lock`: every Python package at one version, with the hashes of its files.

`make lock` runs this after a change of the dependencies in `pyproject.toml`. The first line of the
lock remembers which dependencies it was made for, so that a check can tell when it is stale.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"


def main() -> int:
    """Write the lock, or with `--check` only say whether it is current."""
    if "--check" in sys.argv[1:]:
        return check()
    command = [sys.executable, "-m", "piptools", "compile", "--quiet", "--generate-hashes"]
    command += ["--strip-extras", "--allow-unsafe", "--no-emit-index-url", "--no-header"]
    command += ["--all-build-deps", "--group", "dev", "--output-file", str(LOCK), "pyproject.toml"]
    command += ["--newline", "lf", "--no-emit-trusted-host", "--no-emit-options"]
    if subprocess.run(command, cwd=ROOT).returncode != 0:
        return 1
    LOCK.write_text(f"{first_line()}\n{LOCK.read_text()}")
    return 0


def check() -> int:
    """Fail if the dependencies changed since the lock was written."""
    if LOCK.read_text().startswith(first_line()):
        return 0
    print("requirements.lock is older than the dependencies in pyproject.toml: make lock")
    return 1


def first_line() -> str:
    """A comment that names the dependencies by a hash."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = [project["build-system"]["requires"], project["project"].get("dependencies", [])]
    wanted.append(project.get("dependency-groups", {}))
    digest = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
    return f"# Made by `make lock`. Dependencies: {digest[:16]}"


if __name__ == "__main__":
    sys.exit(main())
